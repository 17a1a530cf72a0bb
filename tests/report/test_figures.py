"""The charts of a study in print: what they show against the results, and that they can be read."""

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import tdlambda as td
from tdlambda import charts
from tdlambda.lab.report.figures import DrawnFigures, chart, drawn, write_figures
from tdlambda.lab.report.overview import Overview, overview
from tdlambda.lab.studies import compare, summary


@pytest.fixture(scope="module")
def view(ring: Path) -> Overview:
    return overview(ring)


@pytest.fixture(scope="module")
def made(view: Overview) -> DrawnFigures:
    return drawn(view)


def shown(made: DrawnFigures, figure: str, **choice: Any) -> list[dict[str, Any]]:
    return made.figures[figure].chosen(made.choice() | choice, made.cells)


def words(svg: str) -> list[str]:
    return re.findall(r"<text[^>]*>([^<]*)</text>", svg)


def test_every_error_is_that_of_the_results(ring: Path, made: DrawnFigures) -> None:
    results = td.studies.load_results(ring)
    for measure in ("tail", "area"):
        rows = shown(made, "u", measure=measure)
        assert len(rows) == 3 * (2 + 1 + 1 + 1)  # each fixed λ, greedy, META, the best fixed λ
        for row in rows:
            mine = results.filter(pl.col("method") == row["method"])
            for axis in ("alpha", "lam", "kappa"):
                mine = mine if row[axis] is None else mine.filter(pl.col(axis) == row[axis])
            found = summary(mine[measure].to_numpy())
            numbers = [row[name] for name in ("mean", "low", "high", "std", "n", "diverged")]
            assert numbers == pytest.approx([found.mean, found.low, found.high, found.std, 8, 0])
        for alpha in (1e-3, 1e-2, 5e-2):
            here = {row["key"]: row["mean"] for row in rows if row["alpha"] == alpha}
            assert here["envelope"] == min(here["fixed 0"], here["fixed 0.9"])


def test_curves_and_lambdas_are_those_of_the_results(ring: Path, made: DrawnFigures) -> None:
    results = td.studies.load_results(ring).filter(pl.col("method") == "greedy_published", pl.col("alpha") == 0.01)
    curve = np.array(results["curve"].to_list()).mean(axis=0)
    steps = made.view.curve_steps.tolist()
    rows = [row for row in shown(made, "learning", alpha=0.01) if row["key"] == "greedy_published"]
    assert [row["step"] for row in rows][-1] == 2000
    assert [row["mean"] for row in rows] == pytest.approx([curve[steps.index(row["step"])] for row in rows], rel=1e-5)
    assert all(row["low"] < row["mean"] < row["high"] for row in rows)
    lams = [row for row in shown(made, "lambda", alpha=0.01) if row["key"] == "greedy_published"]
    mean = np.array(results["lambdas"].to_list()).mean(axis=0)
    assert [row["state"] for row in lams] == list(range(1, 10))
    assert [row["lam"] for row in lams] == pytest.approx(mean[1:-1], abs=1e-3)


def test_comparisons_go_both_ways(made: DrawnFigures) -> None:
    view = made.view
    (row,) = (row for row in shown(made, "paired") if row["method"] == "META")
    wanted = view.compare(view.best("META"), view.best("fixed"))
    assert [row[name] for name in ("ratio", "ratio_low", "ratio_high", "share", "n")] == pytest.approx(
        [wanted.ratio, wanted.ratio_low, wanted.ratio_high, wanted.better, wanted.n]
    )
    (back,) = (row for row in shown(made, "paired", reference="META") if row["method"] == "fixed")
    assert back["ratio"] == pytest.approx(
        compare(view.best("fixed").runs["tail"], view.best("META").runs["tail"]).ratio
    )


def test_stretches_are_those_of_the_statistics(made: DrawnFigures) -> None:
    for row in shown(made, "sensitivity"):
        assert row["decades"] == pytest.approx(made.view.sensitivity(row["method"]))
        assert np.log10(row["high"] / row["low"]) == pytest.approx(row["decades"], abs=1e-6)
        assert row["low"] <= row["mid"] <= row["high"]


def test_lambda_in_time_is_as_it_was_kept(ring: Path, made: DrawnFigures) -> None:
    results = td.studies.load_results(ring).filter(pl.col("seed") == 0)
    rows = shown(made, "motion")
    assert {row["method"] for row in rows} == {"greedy_published", "META"}
    for method in ("greedy_published", "META"):
        best = made.view.best(method)
        last = results.filter(pl.col("method") == method, pl.col("alpha") == best.alpha)
        last = last.filter(pl.col("kappa") == best.settings["kappa"]) if "kappa" in best.settings else last
        mine = [row for row in rows if row["method"] == method]
        end = [row["lam"] for row in mine if row["step"] == 2000]
        assert end == pytest.approx(last["lambdas"][0].to_numpy()[1:-1], abs=1 / 255)
        assert {row["lam"] for row in mine if row["step"] <= 150} == {1.0}  # in the warm-up
        assert mine[0]["begin"] == 0
        assert mine[-1]["end"] == 2000


def test_runs_that_diverged_are_counted(made: DrawnFigures) -> None:
    assert shown(made, "diverged") == []
    view = made.view
    cells = [replace(c, diverged=3) if c.method == "META" and c.alpha == 0.05 else c for c in view.cells]
    lost = drawn(replace(view, cells=cells))
    rows = shown(lost, "diverged")
    assert [(row["method"], row["alpha"], row["diverged"], row["runs"]) for row in rows] == [("META", 0.05, 6, 16)]
    said = words(_svg(lost.chart("diverged", lost.choice())))
    assert "38%" in said


def _svg(chart: Any) -> str:
    import vl_convert

    from tdlambda.charts.saving import VERSION, still

    text: str = vl_convert.vegalite_to_svg(still(chart.to_dict()), vl_version=VERSION)
    return text


@pytest.mark.parametrize("drawn", [r"as-published(-tail)?\.", pytest.param("", marks=pytest.mark.slow)])
def test_all_of_them_are_written(view: Overview, drawn: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All files; those whose names match `drawn` are drawn, and the others are empty."""
    save = charts.save

    def save_some(made: Any, path: Path) -> Path:
        if re.search(drawn, path.name):
            return save(made, path)
        path.touch()
        return path

    monkeypatch.setattr(charts, "save", save_some)
    paths = write_figures(view, tmp_path, "svg")
    names = {path.stem for path in paths}
    both = ("u-curves", "learning-curves", "error-table", "lambda-states", "sensitivity", "paired", "alpha-sensitivity")
    assert {f"{name}-as-published-{measure}" for name in both for measure in ("tail", "area")} <= names
    assert {"lambda-in-time-as-published", "u-curves-like-for-like-tail", "u-curves-all-methods-area"} <= names
    of_charts = [path for path in paths if re.search(drawn, path.name)]
    assert len(of_charts) >= 8
    for path in of_charts:
        text = path.read_text(encoding="utf-8")
        assert text.startswith("<svg")
        assert "_published" not in text  # names are those that a person reads
        assert "NaN" not in text
    assert "λ-greedy, as published" in words((tmp_path / "u-curves-as-published-tail.svg").read_text())


def test_names_of_lines_do_not_overlap(view: Overview, tmp_path: Path) -> None:
    text = charts.save(chart(view, "u", group="All methods"), tmp_path / "u.svg").read_text()
    ends = re.findall(r'text-anchor="start" transform="translate\(([\d.]+),([\d.]+)\)"[^>]*>([^<]+)<', text)
    heights = sorted(float(y) for x, y, _ in ends if float(x) > 400)
    assert len(heights) == 7
    assert min(np.diff(heights)) > 12


@pytest.mark.parametrize(("suffix", "begins"), [("svg", b"<svg"), ("pdf", b"%PDF"), ("png", b"\x89PNG")])
def test_a_chart_is_one_specification_for_every_format(
    view: Overview, tmp_path: Path, suffix: str, begins: bytes
) -> None:
    made = chart(view, "learning")
    for name in ("one", "two"):
        assert charts.save(made, tmp_path / f"{name}.{suffix}").read_bytes().startswith(begins)
    if suffix != "pdf":  # which has a date
        assert (tmp_path / f"one.{suffix}").read_bytes() == (tmp_path / f"two.{suffix}").read_bytes()
    wide = made.properties(width=900)
    assert wide.to_dict()["width"] == 900
    assert made.to_dict()["width"] == 560


def test_control_has_costs_a_map_and_the_points_of_the_figure(car: Path) -> None:
    view = overview(car)
    made = drawn(view)
    rows = shown(made, "lambda", alpha=1e-4)
    assert len(rows) == 2 * 64
    assert [row["state"] for row in rows[:2]] == ["-1.2, -0.07", "-1.2, -0.05"]  # the second is the first to change
    assert rows[0]["right"] - rows[0]["left"] == pytest.approx(1.8 / 7)
    moved = shown(made, "motion")
    assert all(0 <= row["low"] <= row["mean"] <= row["high"] <= 1 for row in moved)
    printed = {
        (row["method"], row["alpha"]): (row["published"], row["off"]) for row in shown(made, "u") if row["published"]
    }
    assert printed["META", view.alphas[0]] == (107.1, 0.5)
    said = words(_svg(chart(view, "u")))
    assert "final cost (minus the return)" in said
    assert {"position", "velocity"} <= set(words(_svg(chart(view, "lambda"))))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda view, _: chart(view, "no"), "figure must be one of best, u, learning"),
        (lambda view, _: chart(view, measure="mean"), "measure must be one of tail, area"),
        (lambda view, _: chart(view, group="Some"), "group must be one of As published"),
        (lambda view, _: chart(view, "diverged"), "no data for the figure 'diverged'"),
        (lambda view, out: write_figures(view, out, "gif"), "format must be one of pdf"),
        (lambda view, out: charts.save(chart(view, "paired"), out / "u.gif"), "path must end in .pdf, .svg, .png"),
    ],
)
def test_what_cannot_be_is_refused_by_name(view: Overview, tmp_path: Path, call: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call(view, tmp_path)
    assert not list(tmp_path.iterdir())


def test_bands_of_diverged_runs_do_not_stretch_the_axis() -> None:
    calm = [{"series": "calm", "x": x, "mean": 0.1, "low": 0.05, "high": 0.2} for x in (1, 2, 3)]
    wild = [{"series": "wild", "x": x, "mean": 1e7, "low": 1e5, "high": 1e9, "diverged": 4} for x in (1, 2, 3)]
    said = words(_svg(charts.lines(calm + wild, log=(False, True))))
    assert "0.1" in said
    assert [word for word in said if word.startswith("10") and word != "10"] == []

"""The page's data against the results, its words against the statistics, and that it is one safe file."""

import json
import re
from dataclasses import astuple, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy.stats import t as student

import tdlambda as td
from tdlambda.published import mountaincar_figure
from tdlambda.report import motion
from tdlambda.report.findings import agreement, findings, groups, held_out, z_of
from tdlambda.report.overview import CellView, Measured, Overview, overview
from tdlambda.report.page import embedded, page
from tdlambda.report.page_data import page_data
from tdlambda.studies import compare, summary
from tdlambda.studies.reproduction import methods_of, reproduce


@pytest.fixture(scope="module")
def view(ring: Path) -> Overview:
    return overview(ring)


@pytest.fixture(scope="module")
def data(view: Overview) -> dict[str, Any]:
    return page_data(view)


def made(errors: dict[str, Any], **over: Any) -> Overview:
    """A study whose methods have these errors at one α: "META" tunes λ, any other name is a fixed one."""
    methods = {
        name: td.Method("TrueOnlineTD", "Meta") if name == "META" else td.Method("TrueOnlineTD", options={"lam": 0})
        for name in errors
    }
    seeds = len(next(iter(errors.values())))
    study = td.Study("made", task="RandomWalk-v0", steps=100, points=10, seeds=seeds, methods=methods)
    cells = []
    for name, runs in errors.items():
        some = np.asarray(runs, dtype=np.float64)
        found = summary(some)
        measured = Measured(found.mean, found.low, found.high, found.std)
        by_seed = {"seed": np.arange(some.size, dtype=np.float64), "tail": some, "area": some}
        curve = np.full(10, found.mean)
        cells.append(
            CellView(name, {}, some.size, found.diverged, measured, measured, curve, curve / 10, np.ones(21), by_seed)
        )
    n = study.seeds * len(methods)
    return replace(Overview(study, list(study.numbers), n, n, study.read_at[study.kept], cells, []), **over)


def test_every_cell_has_the_numbers_of_the_results(ring: Path, data: dict[str, Any]) -> None:
    results = td.load_results(ring)
    assert len(data["cells"]) == 3 * (2 + 1 + 1 + 2 + 1)
    for cell in data["cells"]:
        rows = results.filter(pl.col("method") == cell["m"]).sort("seed")
        for name, value in cell["s"].items():
            rows = rows.filter(pl.col(name) == value)
        assert (cell["n"], cell["d"]) == (8, 0)
        for measure in ("tail", "area"):
            found = summary(rows[measure].to_numpy())
            assert cell[measure] == pytest.approx([found.mean, found.low, found.high, found.std], rel=1e-5)
        curves = np.array(rows["curve"].to_list())
        steps = json.loads((ring / "manifest.json").read_text())["curve_steps"]
        places = [steps.index(step) for step in data["curveSteps"]]
        assert steps[-1] == data["curveSteps"][-1] == 2000
        assert cell["c"] == pytest.approx(curves.mean(axis=0)[places], rel=1e-4)
        half = student.ppf(0.975, 7) * curves.std(axis=0, ddof=1) / np.sqrt(8) / curves.mean(axis=0)
        assert cell["e"] == pytest.approx(half[places], rel=1e-2)
        if cell["m"] != "fixed":
            lambdas = np.array(rows["lambdas"].to_list()).mean(axis=0)
            assert cell["l"] == pytest.approx(lambdas[1:-1], abs=1e-3)
        else:
            assert cell["l"] == []


def test_comparisons_and_stretches_are_those_of_the_statistics(view: Overview, data: dict[str, Any]) -> None:
    for row in data["comparisons"]:
        one, two = (view.best(row[side], row["alpha"], row["measure"]) for side in "ab")
        n, lost, *rest = astuple(view.compare(one, two, row["measure"]))
        assert (row["n"], row["d"]) == (n, lost)
        assert row["r"] == pytest.approx(rest, rel=1e-3)
    assert len(data["comparisons"]) == 2 * 4 * 10  # measures, α and the best of them, pairs
    for row in data["stretches"]:
        assert row["decades"] == pytest.approx(view.sensitivity(row["m"], row["measure"]), abs=1e-3)
        assert np.log10(row["last"] / row["first"]) == pytest.approx(row["decades"], abs=1e-3)
        assert row["first"] <= row["best"] <= row["last"]


def test_agreement_with_print_is_that_of_reproduce(ring: Path, view: Overview) -> None:
    table = reproduce("ringworld_04_035", "published", view.study, td.load_results(ring))
    mine = [z_of(view, printed) for printed in view.published]
    under = methods_of("ringworld_04_035", "published")
    wanted = {(c.alpha, under[c.method], c.lam): c.z for c in table.compared}
    found = {(p.alpha, p.method, p.lam): pair[1] for p, pair in zip(view.published, mine, strict=True) if pair}
    assert found == pytest.approx(wanted, rel=1e-5)
    assert agreement(view) == (table.agree, len(table.compared))


def test_groups_are_the_protocols_and_all(view: Overview) -> None:
    assert groups(view) == {
        "As published": ["fixed", "greedy_published", "META"],
        "Like for like": ["fixed", "greedy", "META_default"],
        "All methods": ["fixed", "greedy", "greedy_published", "META", "META_default"],
    }


def test_the_headline_says_what_the_statistics_say(view: Overview) -> None:
    found = findings(view, ["fixed", "greedy_published", "META"])
    best, main = view.best("fixed"), view.best("META")
    compared = view.compare(main, best)
    assert (found.best, found.main, found.rival, found.compared) == (best, main, best, compared)
    words = [f"{compared.ratio:.3g} ×", f"{compared.ratio_low:.3g} to {compared.ratio_high:.3g}", "META"]
    words += [f"better in {100 * compared.better:.0f} % of runs", f"λ = {best.settings['lam']:g}"]
    for word in words:
        assert word in found.headline
    assert found.question == "Did META match it?"
    assert "None of 120 runs diverged" in found.sure[1]
    assert "1,000,000 steps, not 2,000" in found.sure[1]


rng = np.random.default_rng(0)
PLAIN = rng.uniform(0.9, 1.1, 20)


@pytest.mark.parametrize(
    ("meta", "verdict", "short", "sure"),
    [
        (0.5 * PLAIN, "better", "Better: 0.5 × its error", "Sure"),
        (0.5 * PLAIN[:8], "better", "Better: 0.5 × its error", "Fairly sure"),
        (0.5 * PLAIN[:3], "better", "Better: 0.5 × its error", "Not sure"),
        (2.0 * PLAIN, "worse", "No: 2 × its error", "Sure"),
        (1.05 * PLAIN, "nearly", "Nearly: 1.05 × its error", "Sure"),
        (PLAIN[::-1], "matched", "Yes: 1 × its error", "Sure"),
        (np.where(np.arange(20) % 2, 3.0, 0.2) * PLAIN, "undecided", "Cannot say yet", "Not sure"),
        (0 * PLAIN, "undecided", "Cannot say yet", "Errors of 0"),
    ],
)
def test_verdicts(meta: Any, verdict: str, short: str, sure: str) -> None:
    found = findings(made({"fixed": PLAIN[: len(meta)], "META": meta}), ["fixed", "META"])
    assert found.verdict == verdict
    assert found.matched[0].startswith(short)
    assert found.sure[0] == sure


def test_what_cannot_be_compared_is_said() -> None:
    alone = findings(made({"fixed": PLAIN}), ["fixed"])
    assert (alone.verdict, alone.matched[0]) == ("alone", "Nothing to compare")
    zero = findings(made({"fixed": 0 * PLAIN, "META": 0 * PLAIN}), ["fixed", "META"])
    assert "the errors are 0" in zero.headline
    once = findings(made({"fixed": [1.0], "META": [2.0]}), ["fixed", "META"])
    assert "too few runs" in once.headline
    lost = findings(made({"fixed": [1.0, 1.0, np.inf], "META": [np.inf] * 3}), ["fixed", "META"])
    assert "4 of 6 runs diverged" in lost.sure[1]
    json.dumps(page_data(made({"fixed": [1.0, 1.0, np.inf], "META": [np.inf] * 3})), allow_nan=False)


def test_held_out_chooses_on_a_quarter_and_compares_on_the_rest() -> None:
    lucky = np.r_[np.full(5, 0.1), np.full(15, 4.0)]  # best where it is chosen, worst where it is judged
    view = made({"fixed": PLAIN, "META": 2 * PLAIN, "other": lucky})
    found = held_out(view, "other", "fixed")
    assert found == compare(lucky[5:], PLAIN[5:])
    assert held_out(made({"fixed": PLAIN[:7], "META": PLAIN[:7]}), "META", "fixed") is None


def test_lambda_in_time_ends_where_the_results_say(ring: Path, view: Overview, data: dict[str, Any]) -> None:
    results = td.load_results(ring)
    assert [m["m"] for m in data["motions"]] == ["greedy", "greedy_published", "META", "META_default"]
    for moved in data["motions"]:
        best = view.best(moved["m"])
        rows = results.filter((pl.col("method") == moved["m"]) & (pl.col("seed") == moved["seed"]))
        for name, value in best.settings.items():
            rows = rows.filter(pl.col(name) == value)
        assert moved["steps"][-1] == 2000
        assert moved["l"][-1] == pytest.approx(rows["lambdas"][0].to_numpy()[1:-1], abs=1e-3)
        assert set(moved["l"][0]) == {1.0}  # in the warm-up


def test_lambda_in_time_keeps_to_its_budget(view: Overview) -> None:
    some = motion.motions(view.study, [view.best("META"), view.best("greedy")], [1, 2], budget=1500)
    assert [m.steps[-1] for m in some] == [500, 500]
    assert some[0].lambdas.shape == (len(some[0].steps), 2)


@pytest.mark.parametrize(("rows", "columns"), [(["SFF", "FHG"], 3), (["SF", "HF", "FG"], 2), ("4x4", 4), ("8x8", 8)])
def test_lakes_are_drawn_as_they_lie(rows: Any, columns: int) -> None:
    study = td.Study("lake", "FrozenLake-v0", {"META": td.Method("TrueOnlineTD", "Meta")}, task_options={"map": rows})
    n = study.environment.mdp.n_states
    found = motion.layout(study, "META", n)
    assert (found.kind, found.columns) == ("grid", columns)
    letters = "".join(rows) if isinstance(rows, list) else None
    if letters:
        assert found.live == [k for k, letter in enumerate(letters) if letter in "SF"]


def test_mountain_car_is_a_map(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = np.array([[-0.5, 0.0], [0.3, 0.02], [-1.0, -0.01]])
    truth = td.engine.Truth(seen, np.zeros(3), np.ones(3), np.zeros(3))
    monkeypatch.setattr(motion, "prepared", lambda *_: ([], truth))
    found = motion.layout(td.Study("car", "MountainCar-v0", {"META": td.Method("TrueOnlineTD", "Meta")}), "META", 3)
    assert (found.kind, found.axes) == ("map", ("position", "velocity"))
    np.testing.assert_array_equal(found.points, seen)


def test_control_says_cost_has_a_map_and_counts_no_reading_of_a_figure(car: Path) -> None:
    view = overview(car)
    data = page_data(view)
    assert (data["quantity"], data["measures"]["tail"], data["explained"]) == (
        "cost", "final cost", " (minus the return)"
    )  # fmt: skip
    found = findings(view, ["fixed", "META"])
    words = " ".join([*found.which, *found.matched, *found.sure, found.headline])
    assert "error" not in words
    assert "final cost (minus the return)" in words
    assert "printed cells agree" not in words
    assert agreement(view) == (0, 0)
    readings = {
        (r.alpha, r.method, r.lam): [-r.value, r.uncertainty]
        for r in mountaincar_figure()
        if r.figure == "fig_mountaincar" and r.alpha in view.alphas
    }
    assert {(p["alpha"], p["m"], p["lam"]): [p["mean"], p["spread"]] for p in data["published"]} == readings
    assert (data["byEye"], {p["z"] for p in data["published"]}) == (True, {None})
    assert data["printedSteps"] == data["steps"]
    where = data["layout"]
    assert (where["kind"], where["axes"]) == ("map", ("position", "velocity"))
    assert where["points"][1] == pytest.approx([-1.2, -0.05], abs=1e-3)  # the second number is the first to change
    assert where["tile"] == pytest.approx((1.8 / 7, 0.14 / 7))


def test_lambda_in_time_of_agents_ends_where_the_results_say(car: Path) -> None:
    view, results = overview(car), td.load_results(car)
    for method in ("greedy", "META"):
        cell = view.best(method)
        (moved,) = motion.motions(view.study, [cell], range(64))
        rows = results.filter(pl.col("method") == method, pl.col("alpha") == cell.alpha, pl.col("seed") == moved.seed)
        assert moved.steps[-1] == 4000
        np.testing.assert_array_equal(moved.lambdas[-1].astype(np.float32), rows["lambdas"][0].to_numpy())
        assert (moved.lambdas[moved.steps <= 2000] == 1).all()
        assert (moved.lambdas[-1] < 1).any()


def test_a_task_that_is_not_here_any_more_still_makes_a_page(view: Overview) -> None:
    plain = page_data(replace(view, study=replace(view.study, task="Gone-v0", modules=("no_such_module",))))
    assert (plain["layout"]["kind"], plain["motions"]) == ("bars", [])


def test_the_page_is_one_file_that_asks_for_nothing(view: Overview) -> None:
    text = page(view)
    assert "://" not in text
    assert "default-src &#x27;none&#x27;" in text
    assert "connect-src" not in text
    assert "unsafe" not in text
    for _, target in re.findall(r"\b(src|href|action)\s*=\s*[\"']([^\"']*)", text):
        assert target.startswith(("#", "data:"))


def test_names_cannot_get_out_of_the_data() -> None:
    wild = "</script><script>alert(1)</script>&<!--\u2028\u2029"
    text = embedded({"title": wild, wild: wild})
    assert not set("<>&\u2028\u2029") & set(text)
    assert json.loads(text) == {"title": wild, wild: wild}
    view = made({"fixed": PLAIN, "META": PLAIN})
    whole = page(replace(view, study=replace(view.study, title=wild)), manifests=[{"source": wild}])
    assert whole.count("<script") == whole.count("</script") == 2
    assert "alert(1)</script" not in whole


def test_a_full_study_is_small_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tdlambda.report.page_data.motions", lambda *_: [])
    study, some = td.Study.load("ringworld-0.40-0.35"), np.random.default_rng(1)
    at = study.read_at[study.kept]
    cells = []
    for method in study.methods:
        for settings in study.cells(method):
            tail, area = (Measured(*np.exp(some.normal(-9, 3, 4))) for _ in range(2))
            runs = {"seed": np.arange(20), "tail": np.exp(some.normal(size=20)), "area": np.exp(some.normal(size=20))}
            curve = np.exp(some.normal(-9, 3, (2, at.size)))
            cells.append(CellView(method, settings, 20, 0, tail, area, curve[0], curve[1], some.random(11), runs))
    text = page(Overview(study, list(range(240)), 1440, 1440, at, cells, []))
    assert len(cells) > 600
    assert len(text.encode()) < 1_500_000

"""Figures against the results they are drawn from, and against what a reader of a paper can read."""

import itertools
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import polars as pl
import pytest
from matplotlib.figure import Figure
from matplotlib.text import Text
from scipy.stats import t as student

import tdlambda as td
from tdlambda.engine.truth import sampled_truth
from tdlambda.report import figures
from tdlambda.report.figures.style import SMALL, save
from tdlambda.report.overview import Overview, overview
from tdlambda.report.palette import colour
from tdlambda.reproduction.published import mountaincar_figure
from tdlambda.reproduction.tables import colours
from tdlambda.studies import compare, sensitivity, summary

ALPHAS, LAMS, KAPPAS = [0.01, 0.05, 0.1], [0.0, 0.9], [1e-4, 1e-2]
METHODS = {
    "fixed": td.Method("TrueOnlineTD", over=("alpha", "lam")),
    "greedy": td.Method("TrueOnlineTD", rule="Greedy", over=("alpha",)),
    "META": td.Method("TrueOnlineTD", rule="Meta", over=("alpha", "kappa")),
}
SIZE: dict[str, Any] = {"seeds": 4, "steps": 2000, "points": 40, "warm_up": 0.1}
Seen = tuple[Overview, pl.DataFrame]


def seen(study: td.Study, out: Path) -> Seen:
    td.run_study(study, out, progress=False)
    return overview(out), td.load_results(out)


@pytest.fixture(scope="module")
def ring(tmp_path_factory: pytest.TempPathFactory) -> Seen:
    grid = {"alpha": ALPHAS, "lam": LAMS, "kappa": KAPPAS}
    study = td.Study("ringworld-0.40-0.35", "RingWorld-v0", METHODS, preset="0.4/0.35", grid=grid, **SIZE)
    return seen(study, tmp_path_factory.mktemp("ring"))


@pytest.fixture(scope="module")
def lost(tmp_path_factory: pytest.TempPathFactory) -> Seen:
    """A study in which some cells diverge, one method in all of them; and one method has no α."""
    methods = {
        "fixed": td.Method("TD", over=("alpha", "lam")),
        "greedy": td.Method("TD", rule="Greedy", over=("alpha",)),
        "lstd": td.Method("LSTD"),
    }
    study = td.Study(
        "lost", "RandomWalk-v0", methods, grid={"alpha": [0.1, 2.5, 50.0], "lam": [0.0, 0.9]}, **SIZE | {"seeds": 3}
    )
    return seen(study, tmp_path_factory.mktemp("lost"))


def means(results: pl.DataFrame, measure: str, method: str, **settings: float) -> dict[float, float]:
    """The mean by α of what has these settings; of several cells the least."""
    some = results.filter(pl.col("method") == method, *(pl.col(k) == v for k, v in settings.items()))
    axes = [axis for axis in ("alpha", "lam", "kappa") if axis in some.columns]
    cells = some.group_by(axes).agg(pl.col(measure).mean())
    return {a: cells.filter(pl.col("alpha") == a)[measure].min() for a in sorted(set(cells["alpha"]))}  # type: ignore[misc]


def line(ax: Any, label: str) -> Any:
    (found,) = [some for some in ax.lines if some.get_label() == label]
    return found


@pytest.mark.parametrize("measure", ["tail", "area"])
def test_u_curves_are_the_means_of_the_results(ring: Seen, measure: str) -> None:
    view, results = ring
    (ax,) = figures.u_curves(view, measure).axes
    assert (ax.get_xscale(), ax.get_yscale()) == ("log", "log")
    assert ax.get_ylabel() == {"tail": "final error", "area": "area under the curve"}[measure]
    wanted = {f"λ = {lam:g}": means(results, measure, "fixed", lam=lam) for lam in LAMS}
    wanted["fixed, best λ*"] = means(results, measure, "fixed")
    wanted |= {"greedy": means(results, measure, "greedy"), "META, best κ*": means(results, measure, "META")}
    for label, by_alpha in wanted.items():
        x, y = line(ax, label).get_data()
        assert list(x) == list(by_alpha)
        assert list(y) == pytest.approx(list(by_alpha.values()), rel=1e-12)
    assert line(ax, "META, best κ*").get_color() == colour("META")
    some = results.filter((pl.col("method") == "greedy") & (pl.col("alpha") == 0.05))
    found = summary(some[measure].to_numpy())
    bands: list[Any] = [band.get_paths()[0].vertices for band in ax.collections if band.get_paths()]
    heights = [set(band[band[:, 0] == 0.05, 1].round(12)) for band in bands]
    assert {round(found.low, 12), round(found.high, 12)} in heights


def test_numbers_in_print_are_open_markers_where_runs_are_as_long(ring: Seen) -> None:
    view, _ = ring
    printed = replace(view, study=view.study.but(steps=10**6))
    (ax,) = figures.u_curves(printed).axes
    open_ones = [some for some in ax.lines if some.get_label() == "_printed"]
    points = {xy for some in open_ones for xy in zip(*np.array(some.get_data()).tolist(), strict=True)}
    cells = [c for c in view.published if c.lam in (None, *LAMS) and c.method != "greedy_published"]  # that is not here
    assert len(cells) == 3 * 3
    assert points == {(c.alpha, c.mean) for c in cells}
    assert {str(some.get_markerfacecolor()) for some in open_ones} == {"none"}
    for figure in (figures.u_curves(view), figures.u_curves(printed, "area")):
        assert not [some for some in figure.axes[0].lines if some.get_label() == "_printed"]


def test_learning_curves_are_the_mean_curves_with_the_warm_up_shaded(ring: Seen) -> None:
    view, results = ring
    (ax,) = figures.learning_curves(view, alpha=0.05).axes
    best = min(LAMS, key=lambda lam: means(results, "tail", "fixed", lam=lam)[0.05])
    of = results.filter((pl.col("method") == "fixed") & (pl.col("alpha") == 0.05) & (pl.col("lam") == best))
    curves = np.array(of["curve"].to_list())
    x, y = line(ax, f"fixed, λ = {best:g}").get_data()
    assert list(x) == list(range(50, 2001, 50))
    assert list(y) == pytest.approx(list(curves.mean(axis=0)), rel=1e-6)
    (shaded,) = ax.patches
    assert shaded.get_extents().transformed(ax.transData.inverted()).width == pytest.approx(200)
    with pytest.raises(ValueError, match="alpha: the study has no 3"):
        figures.learning_curves(view, alpha=3.0)


def test_the_heat_table_has_the_thesis_colours_and_the_best_in_bold(ring: Seen) -> None:
    view, results = ring
    (ax,) = figures.heat_table(view).axes
    columns = [means(results, "tail", "fixed", lam=lam) for lam in LAMS]
    columns += [means(results, "tail", "greedy"), means(results, "tail", "META")]
    table = np.array([[column[alpha] for column in columns] for alpha in ALPHAS])
    picture = np.asarray(ax.images[0].get_array())
    assert (picture * 255).round().astype(int).reshape(-1, 3).tolist() == [list(c) for c in colours(table.ravel())]  # type: ignore[arg-type]
    cells = {(round(t.get_position()[1]), round(t.get_position()[0])): t for t in ax.texts}
    for (i, j), text in cells.items():
        assert float(text.get_text()) == pytest.approx(table[i, j], rel=0.06)
        assert (text.get_fontweight() == "bold") == (table[i, j] == table[i].min())


def test_comparisons_and_kappa_are_paired_by_seed(ring: Seen) -> None:
    view, results = ring

    def runs(method: str, alpha: float, **settings: float) -> pl.Series:
        some = [pl.col(k) == v for k, v in settings.items()]
        return results.filter(pl.col("method") == method, pl.col("alpha") == alpha, *some).sort("seed")["tail"]

    def best(method: str, alpha: float, axis: str, values: list[float]) -> pl.Series:
        return min((runs(method, alpha, **{axis: value}) for value in values), key=lambda s: float(s.mean()))  # type: ignore[arg-type]

    fixed = {alpha: best("fixed", alpha, "lam", LAMS) for alpha in ALPHAS}
    upper, lower = figures.comparisons(view).axes
    found = [compare(best("META", alpha, "kappa", KAPPAS), fixed[alpha]) for alpha in ALPHAS]
    x, ratio = line(upper, "META, best κ*").get_data()
    assert list(x) == pytest.approx(ALPHAS, rel=0.03)
    assert list(ratio) == [c.ratio for c in found]
    assert list(line(lower, "META, best κ*").get_ydata()) == [c.better for c in found]
    bars: Any = upper.collections[1]
    assert [(low, high) for (_, low), (_, high) in bars.get_segments()] == [(c.ratio_low, c.ratio_high) for c in found]
    (ax,) = figures.kappa_sensitivity(view).axes
    for drawn, alpha in zip(ax.lines, ALPHAS, strict=False):
        assert np.asarray(drawn.get_xdata()).tolist() == KAPPAS
        assert np.asarray(drawn.get_ydata()).tolist() == [
            compare(runs("META", alpha, kappa=k), fixed[alpha]).ratio for k in KAPPAS
        ]


def test_alpha_sensitivity_is_in_decades(ring: Seen, lost: Seen) -> None:
    view, results = ring
    (ax,) = figures.alpha_sensitivity(view).axes
    wanted = [sensitivity(ALPHAS, list(means(results, "tail", method).values())) for method in METHODS]
    assert [bar.get_width() for bar in ax.patches] == wanted  # type: ignore[attr-defined]
    large = replace(lost[0], cells=[c for c in lost[0].cells if c.method == "fixed" or (c.alpha or 0) > 1])
    (ax,) = figures.alpha_sensitivity(large).axes
    assert [text.get_text() for text in ax.texts] == ["0.0", "all runs diverged"]


def test_divergence_by_method_and_alpha_and_none(ring: Seen, lost: Seen) -> None:
    (ax,) = figures.divergence(ring[0]).axes
    assert [text.get_text() for text in ax.texts] == [f"None of {len(ring[1])} runs diverged."]
    view, results = lost
    (ax,) = figures.divergence(view).axes
    shares = {(round(t.get_position()[1]), round(t.get_position()[0])): t.get_text() for t in ax.texts}
    for i, method in enumerate(view.study.methods):
        for j, alpha in enumerate([0.1, 2.5, 50.0, None]):
            same = pl.col("alpha").is_null() if alpha is None else pl.col("alpha") == alpha
            some = results.filter((pl.col("method") == method) & same)["diverged_at"].to_numpy()
            assert shares.get((i, j)) == (f"{100 * (some >= 0).mean():.0f}" if some.size else None)
    assert (shares[1, 0], shares[1, 1], shares[2, 3]) == ("33", "100", "0")


def test_final_lambdas_on_a_chain_and_on_the_lake(ring: Seen, tmp_path: Path) -> None:
    view, results = ring
    axes = figures.lambda_states(view, alpha=0.05).axes
    mean = np.array(results.filter(pl.col("method") == "greedy", pl.col("alpha") == 0.05)["lambdas"].to_list()).mean(0)
    assert [bar.get_height() for bar in axes[0].patches] == pytest.approx(mean[1:10].tolist())  # type: ignore[attr-defined]
    lake = td.Study("lake", "FrozenLake-v0", {"m": td.Method("TrueOnlineGTD", rule="Meta", options={"alpha": 0.01})},
                    **SIZE | {"seeds": 2})  # fmt: skip
    view, results = seen(lake, tmp_path)
    ax = figures.lambda_states(view).axes[0]
    table: Any = np.ma.asarray(ax.images[0].get_array()).filled(np.nan)
    mean = np.array(results["lambdas"].to_list()).mean(0).reshape(4, 4)
    holes = np.isnan(table)
    assert np.argwhere(holes).tolist() == [[1, 1], [1, 3], [2, 3], [3, 0], [3, 3]]
    np.testing.assert_allclose(table[~holes], mean[~holes], rtol=1e-6)


def test_final_lambdas_of_a_car(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tdlambda.studies.study.build_truth", lambda task, *_: sampled_truth(task, 30, 5000))
    study = td.Study("car", "MountainCar-v0", {"m": td.Method("TD", rule="Meta", options={"alpha": 0.01})},
                     **SIZE | {"seeds": 1})  # fmt: skip
    view, results = seen(study, tmp_path)
    dots = figures.lambda_states(view).axes[0].collections[0]
    np.testing.assert_array_equal(dots.get_offsets(), view.study.truth("m").observations)
    assert np.asarray(dots.get_array()).tolist() == pytest.approx(results["lambdas"][0].to_list())
    ax = figures.lambda_motion(view).axes[0]
    assert line(ax, "median").get_ydata()[-1] == pytest.approx(np.median(results["lambdas"][0].to_list()))


def test_a_study_of_control_is_of_costs_with_a_map_of_lambda_and_the_figure_in_print(car: Path) -> None:
    view, results = overview(car), td.load_results(car)
    (ax,) = figures.u_curves(view).axes
    assert ax.get_ylabel() == "final cost (minus the return)"
    assert figures.learning_curves(view).axes[0].get_ylabel() == "cost (minus the return)"
    assert "error" not in " ".join(t.get_text() for figure in every(view).values() for t in figure.findobj(Text))
    wanted = {
        (r.alpha, -r.value, r.uncertainty)
        for r in mountaincar_figure()
        if r.figure == "fig_mountaincar" and r.alpha in (1e-5, 1e-4) and r.lam in (None, 0.9)
    }
    assert len(wanted) == 2 * 3
    open_ones = [some for some in ax.lines if some.get_label() == "_printed"]
    points = {xy for some in open_ones for xy in zip(*np.array(some.get_data()).tolist(), strict=True)}
    assert points == {(alpha, cost) for alpha, cost, _ in wanted}
    bars = [bar for bar in ax.collections if bar.get_label() == "_uncertainty"]
    ends = {(x, low, high) for bar in bars for (x, low), (_, high) in bar.get_segments()}  # type: ignore[attr-defined]
    assert ends == {(alpha, cost - off, cost + off) for alpha, cost, off in wanted}
    assert "read off the\npublished figure" in [t.get_text() for t in ax.figure.legends[0].get_texts()]
    best = view.best("META")
    rows = results.filter(pl.col("method") == "META", pl.col("alpha") == best.alpha)
    mean = np.array(rows["lambdas"].to_list()).mean(axis=0).reshape(8, 8)  # [position, velocity]
    axes = figures.lambda_states(view).axes
    tiles = next(ax for ax in axes if ax.get_title(loc="left").startswith("META")).collections[0]
    np.testing.assert_allclose(np.asarray(tiles.get_array()).reshape(8, 8), mean.T)
    middles: Any = tiles.get_coordinates()  # type: ignore[attr-defined]
    assert middles[:, :, 0].min() < -1.2 < -1.1 < middles[0, 1, 0]


def test_bands_of_learning_curves_are_those_of_the_page(ring: Seen) -> None:
    view, _ = ring
    (ax,) = figures.learning_curves(view, alpha=0.05).axes
    cell = view.best("greedy", 0.05)
    half = student.ppf(0.975, cell.n - 1) * cell.curve_error / cell.curve
    bands: list[Any] = [band.get_paths()[0].vertices for band in ax.collections]
    heights = [set(band[band[:, 0] == 1000, 1].round(12)) for band in bands]
    k = list(view.curve_steps).index(1000)
    assert {round(cell.curve[k] * np.exp(sign * half[k]), 12) for sign in (-1, 1)} in heights


def test_motion_is_what_following_the_best_cell_shows(ring: Seen) -> None:
    view, _ = ring
    ax = figures.lambda_motion(view, steps=500).axes[0]
    task, alpha = td.make("RingWorld-v0", "0.4/0.35"), view.best("greedy").alpha
    assert alpha is not None
    greedy = td.TrueOnlineTD(task.features, alpha, td.Greedy(warm_up=0.1, length=2000))
    x, y = line(ax, "s = 3").get_data()
    assert (x[0], x[-1], len(x)) == (4, 700, 200)
    history = td.follow(task, greedy, steps=700, points=[int(step) for step in x])
    np.testing.assert_array_equal(y, history.lambdas[:, 3])


def every(view: Overview) -> dict[str, Figure]:
    names = [n for n in figures.__all__ if n not in ("NothingToDrawError", "write_figures")]
    out = {}
    for name in names:
        try:
            out[name] = getattr(figures, name)(view)
        except figures.NothingToDrawError:
            continue
    return out


def test_all_can_be_read_and_nothing_lies_on_anything_else(ring: Seen) -> None:
    unfinished = replace(ring[0], wanted=100)  # a long title
    for name, figure in every(unfinished).items():
        figure.draw_without_rendering()
        inside = figure.bbox.padded(1)
        written = [t for t in figure.findobj(Text) if isinstance(t, Text) and t.get_visible() and t.get_text()]
        assert all(float(t.get_fontsize()) >= SMALL for t in written), name
        for ax in figure.axes:
            for axis in (ax.xaxis, ax.yaxis):
                labels = [t for t in axis.get_ticklabels(which="both") if t.get_visible() and t.get_text()]
                boxes = [t.get_window_extent() for t in labels]
                here = [b for b in boxes if b.width and inside.contains(b.x0, b.y0) and inside.contains(b.x1, b.y1)]
                slanted = any(t.get_rotation() for t in labels)
                assert slanted or not any(a.overlaps(b) for a, b in itertools.combinations(here, 2)), name
        for legend in figure.legends:
            box = legend.get_window_extent()
            assert inside.contains(box.x0, box.y0), name
            assert inside.contains(box.x1, box.y1), name
            assert not any(box.overlaps(ax.get_window_extent()) for ax in figure.axes), name
        legends = [part for legend in figure.legends for part in legend.findobj(Text)]
        titles = [t for t in written if t not in legends and "RingWorld" in t.get_text()]
        assert len(titles) == 1, name
        for title in titles:
            box = title.get_window_extent()
            assert "unfinished: 12 of 100 units" in title.get_text().replace("\n", " "), name
            assert inside.contains(box.x1, box.y1), name
            assert not any(box.overlaps(legend.get_window_extent()) for legend in figure.legends), name


def test_any_study_can_be_drawn(lost: Seen, tmp_path: Path) -> None:
    assert {"u_curves", "comparisons", "heat_table", "divergence"} <= every(lost[0]).keys()
    (ax,) = figures.u_curves(lost[0]).axes
    crosses = [some for some in ax.lines if some.get_label() == "_diverged"]
    assert {x for some in crosses for x in some.get_xdata()} == {0.1, 2.5, 50.0}  # type: ignore[union-attr]
    methods = {"lstd": td.Method("LSTD"), "mc": td.Method("MonteCarlo", over=("alpha",))}
    plain = td.Study("plain", "RandomWalk-v0", methods, grid={"alpha": [0.1]}, seeds=1, steps=200, points=5)
    view, _ = seen(plain, tmp_path / "one seed")
    assert set(every(view)) == {"u_curves", "learning_curves", "heat_table", "divergence"}
    methods = {"greedy": td.Method("TrueOnlineTD", rule="Greedy", over=("variance",), options={"alpha": 0.1})}
    grid = {"variance": ["direct", "vtd"]}
    names = td.Study("names", "RandomWalk-v0", methods, grid=grid, seeds=2, steps=200, points=5)
    view, results = seen(names, tmp_path / "no alpha")
    (ax,) = figures.u_curves(view).axes
    least = results.group_by("variance").agg(pl.col("tail").mean())["tail"].min()
    assert list(line(ax, "greedy, best variance*").get_ydata()) == [pytest.approx(least)]
    assert not {"comparisons", "kappa_sensitivity", "alpha_sensitivity"} & every(view).keys()


def test_a_method_that_is_not_yet_begun_is_left_out(ring: Seen) -> None:
    view, _ = ring
    some = replace(view, cells=[c for c in view.cells if c.method != "greedy"])
    (ax,) = figures.u_curves(some).axes
    assert "greedy" not in [drawn.get_label() for drawn in ax.lines]
    apart = replace(view, cells=[  # no seed in common
        replace(c, runs={k: v + 10 if k == "seed" else v for k, v in c.runs.items()}) if c.method == "META" else c
        for c in view.cells
    ])  # fmt: skip
    assert np.isnan(np.asarray(line(figures.comparisons(apart).axes[0], "META, best κ*").get_ydata())).all()


def test_files_are_the_same_each_time_and_from_every_thread(ring: Seen, tmp_path: Path) -> None:
    view, before = replace(ring[0], cells=[c for c in ring[0].cells if c.method == "fixed"]), dict(mpl.rcParams)
    paths = figures.write_figures(view, tmp_path / "all", "SVG")
    assert [path.name for path in paths] == [
        "u-curves-tail.svg", "u-curves-area.svg", "learning-curves-tail.svg", "learning-curves-area.svg",
        "heat-table-tail.svg", "heat-table-area.svg", "alpha-sensitivity-tail.svg", "alpha-sensitivity-area.svg",
        "divergence.svg",
    ]  # fmt: skip

    def draw(k: int) -> None:
        save(figures.alpha_sensitivity(view), tmp_path / f"{k}.svg")

    threads = [threading.Thread(target=draw, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    once = (tmp_path / "all" / "alpha-sensitivity-tail.svg").read_bytes()
    assert all((tmp_path / f"{k}.svg").read_bytes() == once for k in range(4))
    assert dict(mpl.rcParams) == before
    with pytest.raises(ValueError, match="format must be one of pdf, svg, png; got 'gif'"):
        figures.write_figures(view, tmp_path, "gif")
    with pytest.raises(ValueError, match="measure must be one of tail, area; got 'final'"):
        figures.u_curves(view, "final")


def test_pdf_letters_stay_letters(ring: Seen, tmp_path: Path) -> None:
    path = save(figures.alpha_sensitivity(ring[0]), tmp_path / "a.pdf")
    content = path.read_bytes()
    assert content.startswith(b"%PDF")
    assert b"/Type3" not in content
    assert b"CreationDate" not in content

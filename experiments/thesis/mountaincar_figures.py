"""The figures of the MountainCar page: costs are drawn as returns."""

from collections.abc import Sequence
from typing import Any

import altair as alt

from tdlambda.charts.lines import lines
from tdlambda.charts.style import finished, setting
from tdlambda.lab.report.overview import CellView, Overview
from tdlambda.lab.report.series import ENVELOPE, look, series_of
from tdlambda.lab.reproduction.published import FigureReading, mountaincar_figure

METAS, RIVALS = ("META", "META_derived", "META_default"), ("fixed", "greedy")
SIZE = (330, 300)


def of_here(view: Overview, names: Sequence[str]) -> list[str]:
    """Those of the methods that were run."""
    return [name for name in names if view.of(name)]


def readings(figure: str) -> list[FigureReading]:
    """The points of one of the two published figures."""
    return [reading for reading in mountaincar_figure() if reading.figure == figure]


def as_return(cell: CellView) -> dict[str, Any]:
    """Minus the cost of a cell, with its interval."""
    found = cell.tail
    return {"mean": -found.mean, "low": -found.high, "high": -found.low, "n": cell.n, "diverged": cell.diverged}


def over_alpha(view: Overview) -> Any:
    """The return over α; where there is a published figure, that beside it."""
    points = readings("fig_mountaincar") if view.by_eye else []
    methods = of_here(view, ["fixed", "greedy", *METAS])
    here, there = [], []
    for one in (one for one in series_of(view, methods) if one.key != ENVELOPE):
        line = {"series": one.label, "label": one.label, **one.look}
        cells = {alpha: one.at(alpha, "tail") for alpha in view.alphas}
        here += [line | {"x": alpha} | as_return(cell) for alpha, cell in cells.items() if cell is not None]
        lam = one.cells[0].settings.get("lam")
        there += [
            line | {"x": r.alpha, "mean": r.value, "low": r.value - r.uncertainty, "high": r.value + r.uncertainty}
            for r in points
            if (r.method, r.lam) == (one.method, lam)
        ]
    plain: dict[str, Any] = {"log": (True, False), "size": SIZE, "fade": False}
    parts = [lines(here, "step size α", "return at the end; a cross: runs diverged", **plain)]
    if there:
        parts.append(lines(there, "step size α", "read by eye off the published figure", **plain))
    return _headed(parts, f"{view.study.title}: mean of {len(view.seeds)} runs, 95 % interval")


def over_time(view: Overview) -> Any:
    """The return over learning, of each method at its best α; and the published curves, which are over episodes."""
    points = readings("fig_curves_mountaincar") if view.by_eye else []
    here, there = [], []
    for name in of_here(view, [*RIVALS, *METAS]):
        cell = view.best(name)
        line = {"series": view.named(name), "label": f"{view.named(name)}, {cell.described()}", **look(view, name)}
        high, low = (-bound for bound in cell.curve_band(log=True))
        here += [
            line | {"x": step, "mean": -mean, "low": a, "high": b}
            for step, mean, a, b in zip(view.curve_steps.tolist(), cell.curve, low, high, strict=True)
        ]
        published = [r for r in points if r.method == name]
        if published:  # of several λ the one that ends best
            best = max(published, key=lambda r: (r.episode or 0, r.value)).lam
            line |= {"label": view.named(name)}
            there += [line | {"x": r.episode, "mean": r.value} for r in published if r.lam == best]
    plain: dict[str, Any] = {"log": (False, False), "dots": False, "size": SIZE, "fade": False}
    parts = [lines(here, "steps", "return", **plain)]
    if there:
        said = f"read by eye off the published figure, α = {setting(points[0].alpha)}"
        parts.append(lines(there, "episodes", said, **plain))
    return _headed(parts, f"{view.study.title}: each method at its best, in hindsight")


def _headed(parts: list[Any], title: str) -> Any:
    return finished(alt.hconcat(*parts, title=title))

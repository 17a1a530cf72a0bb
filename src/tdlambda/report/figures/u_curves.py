"""The error over the step size: a line for each fixed λ, and for every other method."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from tdlambda.report.figures.choice import (
    along,
    alphas_of,
    best_at_each,
    chosen_truth,
    finished,
    hindsight,
    is_fixed,
    named,
    painted,
    where,
)
from tdlambda.report.figures.style import PAGE, beside, check_measure, cross, logarithmic, paper
from tdlambda.report.overview import CellView, Overview
from tdlambda.report.palette import colour, shades
from tdlambda.report.wording import explained


def u_curves(view: Overview, measure: str = "tail", truth: str | None = None) -> Figure:
    """Mean error over α with its 95 % interval, both axes logarithmic.

    A line for each fixed λ and, dashed, the best of them at each α; one for every other method, with the best of its
    other parameters at each α (in hindsight: the legend says so); what is in print, or was read off a figure in print,
    as open markers. A method without an α is a level line. A cross marks runs that diverged; the mean there is that of
    the others.

    Parameters
    ----------
    view
        The study's results.
    measure
        "tail" or "area".
    truth
        Of the methods, those measured against this; by default what the first is measured against.
    """
    words, against = check_measure(view.study, measure), chosen_truth(view, truth)
    methods = finished(view, against)
    with paper(PAGE, 3.6) as figure:
        ax: Any = figure.add_subplot()
        if any(alphas_of(view, method) for method in methods):
            handles = _curves(ax, view, methods, measure)
            ax.set(xlabel="step size α")
            logarithmic(ax.xaxis)
        else:
            handles = _dots(ax, view, methods, measure)
        ax.set(ylabel=explained(view.study, words))
        logarithmic(ax.yaxis)
        ax.set_title(where(view))
        beside(figure, handles + hindsight(view, methods))
    return figure


def _curves(ax: Any, view: Overview, methods: list[str], measure: str) -> list[Any]:
    handles: list[Any] = []
    marks: dict[tuple[str, float | None], str] = {}
    first = next((method for method in methods if is_fixed(view, method) and alphas_of(view, method)), None)
    crossed = False
    if first is not None:
        lams = sorted({cell.settings["lam"] for cell in view.of(first)})
        for lam, shade in zip(lams, shades(lams), strict=True):
            for k, cells in enumerate(_lines(view, first, lam)):
                crossed |= draw_cells(ax, cells, measure, shade, linewidth=1.0, label=f"λ = {lam:g}" if not k else None)
            handles.append(Line2D([], [], color=shade, linewidth=1.4, label=f"λ = {lam:g}"))
            marks[first, lam] = shade
        black = colour("envelope")
        style: dict[str, Any] = {"linestyle": (0, (4, 2)), "linewidth": 1.2, "label": named(view, first), "zorder": 4}
        draw_cells(ax, best_at_each(view, first, measure), measure, black, band=False, **style)
        handles.append(Line2D([], [], color=black, linestyle=(0, (4, 2)), linewidth=1.2, label=named(view, first)))
    for k, method in enumerate(m for m in methods if m != first):
        paint, marker = painted(view, method), "os^Dv<>P"[k % 8]
        marks[method, None] = paint
        line: dict[str, Any] = {
            "linestyle": (0, (1, 1)) if is_fixed(view, method) else "-",
            "label": named(view, method),
        }
        if alphas_of(view, method):
            line |= {"marker": marker, "linewidth": 1.6}
            crossed |= draw_cells(ax, best_at_each(view, method, measure), measure, paint, zorder=5, place=k, **line)
        else:
            _level(ax, view.best(method, None, measure), measure, paint, line)
        handles.append(Line2D([], [], color=paint, **line))
    if measure == "tail" and view.study.steps == view.printed_steps and _printed(ax, view, marks):
        label = "read off the\npublished figure" if view.by_eye else "in print"
        handles.append(mark("o", label, markerfacecolor="none"))
    if crossed:
        handles.append(mark("x", "some runs diverged"))
    return handles


def _lines(view: Overview, method: str, lam: float) -> list[list[CellView]]:
    """The cells of a fixed λ along α: a line for each value of what else its method varies."""
    others = [
        {k: v for k, v in cell.settings.items() if k != "alpha"}
        for cell in view.of(method)
        if cell.settings["lam"] == lam
    ]
    return [along(view, method, setting) for k, setting in enumerate(others) if setting not in others[:k]]


def draw_cells(
    ax: Any,
    cells: Sequence[CellView],
    measure: str,
    paint: str,
    band: bool = True,
    zorder: int = 3,
    place: int = 0,
    **line: Any,
) -> bool:
    """A line through cells over their α with its band; whether runs of any diverged, which gets a cross."""
    x = np.array([cell.alpha for cell in cells], dtype=np.float64)
    mean, low, high = (
        np.array([getattr(c.measured(measure), part) for c in cells]) for part in ("mean", "low", "high")
    )
    there = np.isfinite(mean)
    alone = there & ~np.append(there[1:], False) & ~np.append(False, there[:-1])  # between gaps: no line shows it
    dots = {"marker": ".", "markevery": np.flatnonzero(alone).tolist()} if alone.any() and "marker" not in line else {}
    ax.plot(x, np.where(there, mean, np.nan), color=paint, zorder=zorder, **line, **dots)
    if band and np.isfinite(low).any():
        ax.fill_between(x, low, high, color=paint, alpha=0.18, linewidth=0, zorder=zorder - 1)
        ax.vlines(x[alone], low[alone], high[alone], color=paint, linewidth=1.0, zorder=zorder)
    lost = np.array([cell.diverged > 0 for cell in cells])
    if lost.any():
        cross(ax, x[lost], mean[lost], paint, place)
    return bool(lost.any())


def _level(ax: Any, cell: CellView, measure: str, paint: str, line: dict[str, Any]) -> None:
    found = cell.measured(measure)
    if np.isfinite(found.mean):
        ax.axhline(found.mean, color=paint, **line)
    if np.isfinite(found.low):
        ax.axhspan(found.low, found.high, color=paint, alpha=0.18, linewidth=0)


def _dots(ax: Any, view: Overview, methods: list[str], measure: str) -> list[Any]:
    """Where nothing is a function of α: each method's best cell."""
    handles = []
    for k, method in enumerate(methods):
        found, paint = view.best(method, None, measure).measured(measure), painted(view, method)
        if np.isfinite(found.mean):
            ax.plot([k], [found.mean], "o", color=paint, label=named(view, method))
        if np.isfinite(found.low):
            ax.plot([k, k], [found.low, found.high], color=paint)
        handles.append(Line2D([], [], color=paint, marker="o", label=named(view, method)))
    ax.set_xticks(range(len(methods)), methods, rotation=20 if len(methods) > 4 else 0)
    ax.set_xlim(-0.5, len(methods) - 0.5)
    return handles


def _printed(ax: Any, view: Overview, marks: dict[tuple[str, float | None], str]) -> bool:
    """What is in print, in the colours of the lines it belongs to; with bars for how far off a reading may be."""
    points: dict[str, list[tuple[float, float, float]]] = {}
    for cell in view.published:
        paint = marks.get((cell.method, cell.lam))
        if paint is not None:
            points.setdefault(paint, []).append((cell.alpha, cell.mean, cell.uncertainty))
    open_ones: dict[str, Any] = {"markerfacecolor": "none", "markersize": 4.5, "markeredgewidth": 0.8}
    for paint, some in points.items():
        x, y, off = np.array(sorted(some)).T
        ax.plot(x, y, "o", color=paint, label="_printed", **open_ones)
        if off.any():
            ax.vlines(x, y - off, y + off, color=paint, linewidth=0.8, label="_uncertainty")
    return bool(points)


def mark(marker: str, label: str, **how: Any) -> Line2D:
    """A line of a legend for a marker."""
    return Line2D([], [], color="#555555", linestyle="none", marker=marker, markersize=5, label=label, **how)

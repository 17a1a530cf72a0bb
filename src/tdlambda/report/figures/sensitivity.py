"""How much a parameter matters: κ, and α."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from tdlambda.report.figures.choice import (
    alphas_of,
    best_alpha,
    finished,
    named,
    painted,
    rival,
    searched,
    symbol,
    where,
)
from tdlambda.report.figures.comparing import paired
from tdlambda.report.figures.style import (
    COLUMN,
    PAGE,
    SMALL,
    NothingToDrawError,
    beside,
    check_measure,
    cross,
    heading,
    logarithmic,
    panels,
    paper,
    ratios,
    shape,
)
from tdlambda.report.overview import CellView, Overview
from tdlambda.report.palette import shades

_LINES = 6
"""As many α as can be told apart."""


def kappa_sensitivity(view: Overview, measure: str = "tail", parameter: str = "kappa") -> Figure:
    """The error over κ, or over another parameter of the grid, at some α: a panel for each method that varies it.

    Errors are multiples of those of the best fixed λ at the same α (in hindsight), paired by run with their 95 %
    intervals, where the study has one; else as they are. Of parameters beside α and κ the best is taken.

    Parameters
    ----------
    view
        The study's results.
    measure
        "tail" or "area".
    parameter
        Its name in the grid; its values must be numbers.
    """
    words = check_measure(view.study, measure)
    methods = [m for m in finished(view) if parameter in searched(view, m)]
    if not methods or any(isinstance(value, str | bool) for value in view.study.grid[parameter]):
        raise NothingToDrawError(f"parameter: no method varies a number called {parameter!r}")
    relative = all(rival(view, m) is not None and alphas_of(view, m) for m in methods)
    alphas = _some(sorted({a for m in methods for a in alphas_of(view, m)}), best_alpha(view, methods, measure))
    paints = dict(zip(alphas, shades(alphas), strict=True)) if alphas else {None: "#000000"}
    with paper(PAGE, 0.8 + 1.8 * shape(len(methods))[0]) as figure:
        label = f"{words} /\nbest fixed λ's*" if relative else words
        axes = panels(figure, len(methods), symbol(parameter), label)
        for ax, method in zip(axes, methods, strict=True):
            for alpha, paint in paints.items():
                cells = _best_for_each(view, method, alpha, parameter, measure)
                if cells:
                    _line(ax, view, cells, parameter, measure, relative, paint)
            ax.set_title(method)
            if relative:
                ax.axhline(1, color="black", linewidth=0.8, zorder=1)
        if min(view.study.grid[parameter]) > 0:
            logarithmic(axes[0].xaxis, 9 if len(methods) == 1 else 4)
        (ratios if relative else logarithmic)(axes[0].yaxis)
        handles: list[Any] = [
            Line2D([], [], color=p, marker="o", label=f"α = {a:g}") for a, p in paints.items() if a is not None
        ]
        if any(cell.diverged for method in methods for cell in view.of(method) if cell.alpha in paints):
            handles.append(Line2D([], [], color="#555555", linestyle="none", marker="x", label="some runs\ndiverged"))
        if relative:
            handles.append(Line2D([], [], linestyle="none", label="* at that α,\nin hindsight"))
        if handles:
            beside(figure, handles)
        heading(figure, where(view))
    return figure


def alpha_sensitivity(view: Overview, measure: str = "tail") -> Figure:
    """Over how many decades of α each method stays within twice its own best; the longer the less α matters.

    Other parameters are the best at each α, in hindsight. A bar that has no length: at its best α alone.

    Parameters
    ----------
    view
        The study's results.
    measure
        "tail" or "area".
    """
    words = check_measure(view.study, measure)
    methods = [m for m in finished(view) if alphas_of(view, m) and min(alphas_of(view, m)) > 0]
    if not methods or len(view.alphas) < 2:
        raise NothingToDrawError("alpha: no method varies it")
    with paper(1.5 * COLUMN, 0.9 + 0.24 * len(methods)) as figure:
        ax: Any = figure.add_subplot()
        good = [np.isfinite(view.best(method, None, measure).measured(measure).mean) for method in methods]
        decades = [view.sensitivity(m, measure) if fine else 0.0 for m, fine in zip(methods, good, strict=True)]
        ax.barh(range(len(methods)), decades, color=[painted(view, m) for m in methods], height=0.7)
        for k, length in enumerate(decades):
            text = f"{length:.1f}" if good[k] else "all runs diverged"
            ax.annotate(text, (length, k), (3, 0), textcoords="offset points", va="center", fontsize=SMALL)
        ax.set_yticks(range(len(methods)), [named(view, method) for method in methods])
        ax.set_ylim(len(methods) - 0.5, -0.5)
        whole = float(np.log10(view.alphas[-1] / view.alphas[0]))
        ax.set_xlim(0, 1.08 * whole)
        ax.axvline(whole, color="#888888", linewidth=0.8, linestyle=":")
        ax.grid(visible=False, axis="y")
        star = "; *: in hindsight" if any(searched(view, m) for m in methods) else ""
        ax.set_xlabel(f"decades of α, {words} within twice the best\n(dotted: all tried{star})")
        heading(figure, where(view))
    return figure


def _some(alphas: list[float], best: float | None) -> list[float]:
    """At most so many α, evenly, the best among them."""
    if len(alphas) <= _LINES:
        return alphas
    places = np.linspace(0, len(alphas) - 1, _LINES).round().astype(int)
    if best in alphas:
        at = alphas.index(best)
        places[np.argmin(abs(places - at))] = at
    return [alphas[k] for k in sorted(set(places.tolist()))]


def _best_for_each(view: Overview, method: str, alpha: float | None, parameter: str, measure: str) -> list[CellView]:
    """For each value of the parameter at this α the best cell."""
    found: dict[Any, CellView] = {}
    cells = view.of(method, alpha)
    for cell in sorted(cells, key=lambda c: c.rank(measure), reverse=True):
        found[cell.settings[parameter]] = cell  # the best comes last, and stays
    return [found[value] for value in sorted(found)]


def _line(
    ax: Any, view: Overview, cells: list[CellView], parameter: str, measure: str, relative: bool, paint: str
) -> None:
    x = [cell.settings[parameter] for cell in cells]
    if relative:
        fixed = rival(view, cells[0].method)
        assert fixed is not None
        found = [paired(view, cell, view.best(fixed, cell.alpha, measure), measure) for cell in cells]
        middle, low, high = (np.array([getattr(c, f"ratio{end}") for c in found]) for end in ("", "_low", "_high"))
    else:
        measured = [cell.measured(measure) for cell in cells]
        middle, low, high = (np.array([getattr(m, end) for m in measured]) for end in ("mean", "low", "high"))
    ax.plot(x, np.where(np.isfinite(middle), middle, np.nan), color=paint, marker="o")
    if np.isfinite(low).any():
        ax.fill_between(x, low, high, color=paint, alpha=0.18, linewidth=0)
    lost = np.array([cell.diverged > 0 for cell in cells])
    if lost.any():
        cross(ax, np.array(x)[lost], middle[lost], paint)

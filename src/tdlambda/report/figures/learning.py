"""The error over time."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from tdlambda.report.figures.choice import (
    alphas_of,
    best_alpha,
    chosen_truth,
    finished,
    is_adaptive,
    is_fixed,
    painted,
    searched,
    where,
)
from tdlambda.report.figures.style import PAGE, beside, check_measure, logarithmic, paper
from tdlambda.report.overview import CellView, Overview
from tdlambda.report.wording import explained

WARM_UP = "#e8e8e8"


def learning_curves(
    view: Overview, measure: str = "tail", truth: str | None = None, alpha: float | None = None
) -> Figure:
    """Mean error over time at one α with a 95 % interval: the best fixed λ, and every other method.

    Of each method the cell with the least tail or area at that α, in hindsight. The warm-up, in which rules that adapt
    leave λ as it is, is shaded. After runs have diverged the mean is that of the others.

    Parameters
    ----------
    view
        The study's results.
    measure
        "tail" or "area": by which cells are chosen.
    truth
        Of the methods, those measured against this; by default what the first is measured against.
    alpha
        The step size; by default that of the best cell of the first rule that adapts, or else of the first method.
    """
    check_measure(view.study, measure)
    methods = finished(view, chosen_truth(view, truth))
    if alpha is None:
        first = [m for m in methods if is_adaptive(view, m)] or methods
        alpha = best_alpha(view, first + methods, measure)
    elif alpha not in view.alphas:
        raise ValueError(f"alpha: the study has no {alpha:g}; it has {', '.join(f'{a:g}' for a in view.alphas)}")
    with paper(PAGE, 3.3) as figure:
        ax: Any = figure.add_subplot()
        handles: list[Any] = []
        for method in methods:
            at = alpha if alphas_of(view, method) else None
            if at is None or view.of(method, at):
                handles.append(_curve(ax, view, view.best(method, at, measure)))
        if view.study.warm_up:
            end = view.study.warm_up * view.study.steps
            ax.axvspan(0, end, color=WARM_UP, linewidth=0, zorder=0)
            handles.append(Patch(color=WARM_UP, label="warm-up"))
        ax.set(xlim=(0, view.study.length), xlabel=view.study.unit, ylabel=explained(view.study, view.study.quantity))
        ax.xaxis.set_major_formatter(lambda x, _: f"{x:,.0f}")
        ax.xaxis.get_major_locator().set_params(nbins=6)
        logarithmic(ax.yaxis)
        lines = np.concatenate([np.asarray(line.get_ydata(), dtype=np.float64) for line in ax.lines])
        lines = lines[np.isfinite(lines) & (lines > 0)]
        if lines.size:  # a wide band must not flatten the lines
            ax.set_ylim(max(0.4 * lines.min(), ax.get_ylim()[0]), min(2.5 * lines.max(), ax.get_ylim()[1]))
        logarithmic(ax.yaxis)
        ax.set_title(where(view, "" if alpha is None else f"α = {alpha:g}"))
        if any(searched(view, method) for method in methods):
            handles.append(Line2D([], [], linestyle="none", label="the best, in hindsight"))
        beside(figure, handles)
    return figure


def _curve(ax: Any, view: Overview, cell: CellView) -> Line2D:
    """A cell's curve and its band."""
    paint = painted(view, cell.method)
    label = cell.method + (f", {cell.label}" if cell.label else "")
    label += f"\n({cell.diverged} of {cell.n} diverged)" if cell.diverged else ""
    steps, half = view.curve_steps, cell.curve_half
    style = {"linestyle": (0, (4, 2)) if is_fixed(view, cell.method) else "-", "label": label}
    (line,) = ax.plot(steps, cell.curve, color=paint, zorder=3, **style)
    if np.isfinite(half).any():
        low, high = cell.curve * np.exp(-half), cell.curve * np.exp(half)
        ax.fill_between(steps, low, high, color=paint, alpha=0.18, linewidth=0, zorder=2)
    found: Line2D = line
    return found

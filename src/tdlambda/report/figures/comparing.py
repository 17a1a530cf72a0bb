"""Methods against the best fixed λ, run by run."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from tdlambda.arrays import Floats
from tdlambda.report.figures.choice import (
    alphas_of,
    best_at_each,
    chosen_truth,
    finished,
    hindsight,
    named,
    painted,
    rival,
    where,
)
from tdlambda.report.figures.style import (
    PAGE,
    NothingToDrawError,
    beside,
    check_measure,
    cross,
    logarithmic,
    paper,
    ratios,
)
from tdlambda.report.overview import CellView, Overview
from tdlambda.studies.statistics import Comparison


def comparisons(view: Overview, measure: str = "tail", truth: str | None = None) -> Figure:
    """Every method against the best fixed λ at each α, on the same trajectories, with 95 % intervals.

    Above, the ratio of the mean errors: below 1 the method is better. Below, the share of runs in which it is better.
    Pairs in which a run diverged do not count; a cross says where.
    A method's other parameters and the fixed λ are the best at that α in hindsight, on the runs shown.

    Parameters
    ----------
    view
        The study's results.
    measure
        "tail" or "area".
    truth
        Of the methods, those measured against this; by default what the first is measured against.
    """
    words, methods = check_measure(view.study, measure), finished(view, chosen_truth(view, truth))
    fixed = rival(view, methods[0])
    others = [method for method in methods if method != fixed and alphas_of(view, method)]
    if fixed is None or not others or not alphas_of(view, fixed):
        raise NothingToDrawError("comparisons: the study has no fixed λ over α with another method beside it")
    with paper(PAGE, 4.2) as figure:
        upper, lower = figure.subplots(2, 1, sharex=True, height_ratios=(3, 2))
        handles: list[Any] = []
        crossed = False
        for k, method in enumerate(others):
            cells = [cell for cell in best_at_each(view, method, measure) if view.of(fixed, cell.alpha)]
            found = [paired(view, cell, view.best(fixed, cell.alpha, measure), measure) for cell in cells]
            aside = 1.018 ** (k - (len(others) - 1) / 2)  # intervals at one α stand beside one another
            x = aside * np.array([cell.alpha for cell in cells], dtype=np.float64)
            handles.append(_line(upper, lower, x, found, painted(view, method), named(view, method), k))
            lost = np.array([cell.diverged > 0 for cell in cells], dtype=bool)
            if lost.any():
                cross(
                    upper,
                    x[lost],
                    [c.ratio for c, out in zip(found, lost, strict=True) if out],
                    painted(view, method),
                    k,
                )
                crossed = True
        upper.axhline(1, color="black", linewidth=0.8, zorder=1)
        lower.axhline(0.5, color="black", linewidth=0.8, zorder=1)
        upper.set(ylabel=f"{words}\nas a multiple of fixed λ's")
        lower.set(ylim=(-0.04, 1.04), xlabel="step size α", ylabel="better in\nthis share of runs")
        upper.set_title(where(view))
        logarithmic(upper.xaxis)
        upper.set_xlim(view.alphas[0] / 1.3, view.alphas[-1] * 1.3)
        logarithmic(upper.xaxis)
        ratios(upper.yaxis)
        handles.append(Line2D([], [], color="black", linewidth=0.8, label=f"as good as\n{named(view, fixed)}"))
        if crossed:
            handles.append(Line2D([], [], color="#555555", linestyle="none", marker="x", label="some runs diverged"))
        beside(figure, handles + hindsight(view, [*others, fixed]))
    return figure


def paired(view: Overview, a: CellView, b: CellView, measure: str) -> Comparison:
    """Two cells, seed by seed; of a single seed the ratio alone, of none nothing."""
    both = sorted(set(a.runs["seed"].tolist()) & set(b.runs["seed"].tolist()))
    if len(both) > 1:
        with np.errstate(all="ignore"):  # a rival without any error has no ratio
            return view.compare(a, b, measure)
    ratio = better = float("nan")
    if both:
        x, y = (cell.runs[measure][cell.runs["seed"] == both[0]][0] for cell in (a, b))
        if np.isfinite(x) and np.isfinite(y) and y > 0:
            ratio, better = float(x / y), float(x < y) + 0.5 * float(x == y)
    nan = float("nan")
    return Comparison(len(both), 0, ratio, nan, nan, better, nan, nan)


def _line(upper: Any, lower: Any, x: Floats, found: list[Comparison], paint: str, label: str, k: int) -> Line2D:
    """A method's line in both panels, its intervals as bars."""
    how: dict[str, Any] = {"color": paint, "marker": "os^Dv<>P"[k % 8], "label": label, "linewidth": 1.2}
    for ax, part in ((upper, "ratio"), (lower, "better")):
        middle, low, high = (np.array([getattr(c, part + end) for c in found]) for end in ("", "_low", "_high"))
        ax.plot(x, middle, **how)
        ax.vlines(x, low, high, color=paint, linewidth=1.0)
    return Line2D([], [], **how)

"""λ itself: what it came to in each state, and how it got there."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator

from tdlambda.arrays import integer
from tdlambda.report.figures.choice import finished, is_adaptive, painted, rival, where
from tdlambda.report.figures.learning import WARM_UP
from tdlambda.report.figures.style import (
    PAGE,
    SMALL,
    NothingToDrawError,
    below,
    check_measure,
    heading,
    panels,
    paper,
    shape,
)
from tdlambda.report.motion import Layout, layout, motions
from tdlambda.report.overview import CellView, Overview
from tdlambda.report.palette import shades

_STATES = 9
"""As many states as can be told apart."""
_MOMENTS = 200
"""At which λ is read."""
_MOST = (0.1, 0.9)
"""Between these shares are most of many places."""


def lambda_states(view: Overview, measure: str = "tail", alpha: float | None = None) -> Figure:
    """The final λ in each state, a panel for each rule that adapts: of its best cell (in hindsight), mean over runs.

    Bars over the states; on FrozenLake the map itself; where observations are two numbers (MountainCar), a map over
    them: at the observations that errors were read at or, in control, in tiles.

    Parameters
    ----------
    view
        The study's results.
    measure
        "tail" or "area": by which cells are chosen.
    alpha
        The step size; by default that of each method's best cell.
    """
    check_measure(view.study, measure)
    cells = _cells(view, measure, alpha)
    lies = layout(view.study, cells[0].method, cells[0].lambdas.size)
    if lies.kind == "bars":
        return _bars(view, cells, lies, measure)
    return _on_lake(view, cells, lies) if lies.kind == "grid" else _over_two(view, cells, lies)


def lambda_motion(view: Overview, measure: str = "tail", steps: int = 200_000) -> Figure:
    """How λ moved in some states, on the first seed: the best cell (in hindsight) of each rule that adapts, run again.

    Where states are not finite, the median of λ over the observations where it is looked at, and where most of them
    are.

    Parameters
    ----------
    view
        The study's results.
    measure
        "tail" or "area": by which cells are chosen.
    steps
        As many at most, after the warm-up; fewer if the study's runs are shorter, or if many methods are followed.
    """
    check_measure(view.study, measure)
    study, cells = view.study, _cells(view, measure, None)
    lies, warm = layout(study, cells[0].method, cells[0].lambdas.size), round(study.warm_up * study.steps)
    last = warm + integer(steps, "steps", 1)
    try:
        moved = motions(study, cells, lies.live, moments=_MOMENTS, last=last)
    except (TypeError, ValueError) as error:  # its task or learner is not to be had here
        raise NothingToDrawError(f"λ over time: {error}") from error
    last = int(moved[0].steps[-1])
    some = np.unique(np.linspace(0, len(lies.live) - 1, _STATES).round().astype(int)).tolist()
    names = [f"s = {lies.live[k]}" for k in some]
    with paper(PAGE, 1.1 + 1.5 * shape(len(moved))[0]) as figure:
        thousands = last >= 10_000
        axes = panels(figure, len(moved), "steps / 1000" if thousands else "steps", "λ(s)")
        for ax, motion in zip(axes, moved, strict=True):
            if lies.kind == "map":
                low, middle, high = np.quantile(motion.lambdas, (_MOST[0], 0.5, _MOST[1]), axis=1)
                ax.fill_between(motion.steps, low, high, color="black", alpha=0.18, linewidth=0)
                ax.plot(motion.steps, middle, color="black", label="median")
            else:
                for k, paint, name in zip(some, shades(some), names, strict=True):
                    ax.plot(motion.steps, motion.lambdas[:, k], color=paint, linewidth=1.1, label=name)
            if warm:
                ax.axvspan(0, warm, color=WARM_UP, linewidth=0, zorder=0)
            _entitle(ax, motion.cell)
        axes[0].set(ylim=(-0.04, 1.04), xlim=(0, last))
        axes[0].xaxis.set_major_locator(MaxNLocator(3, steps=[1, 2, 5, 10]))
        axes[0].xaxis.set_major_formatter(lambda x, _: f"{x / 1000 if thousands else x:g}")
        handles: list[Any] = list(axes[0].get_legend_handles_labels()[0])
        handles += [Patch(color="black", alpha=0.18, label="most observations")] * (lies.kind == "map")
        below(figure, handles + [Patch(color=WARM_UP, label="warm-up")] * (warm > 0), 6)
        heading(figure, "λ over time, " + where(view, f"seed {moved[0].seed} alone", runs=False))
    return figure


def _cells(view: Overview, measure: str, alpha: float | None) -> list[CellView]:
    """The best cell of each rule that adapts."""
    methods = [m for m in finished(view) if is_adaptive(view, m) and view.of(m, alpha)]
    if not methods:
        raise NothingToDrawError(
            "λ: no method has a rule that adapts it" + ("" if alpha is None else f" at α = {alpha:g}")
        )
    return [view.best(method, alpha, measure) for method in methods]


def _bars(view: Overview, cells: list[CellView], lies: Layout, measure: str) -> Figure:
    """λ over the states that are not terminal, and the best fixed λ as a line."""
    states = np.array(lies.live)
    dashed: dict[str, Any] = {"color": "black", "linestyle": (0, (4, 2)), "linewidth": 1}
    with paper(PAGE, 0.9 + 1.45 * shape(len(cells))[0]) as figure:
        axes, seen = panels(figure, len(cells), "state", "λ(s)"), False
        for ax, cell in zip(axes, cells, strict=True):
            ax.bar(states, cell.lambdas[states], color=painted(view, cell.method), width=0.8 if states.size < 40 else 1)
            fixed = rival(view, cell.method)
            if fixed is not None:
                best = view.best(fixed, cell.alpha if view.of(fixed, cell.alpha) else None, measure)
                ax.axhline(best.settings["lam"], **dashed)
                seen = True
            ax.grid(visible=False, axis="x")
            _entitle(ax, cell)
        axes[0].set_ylim(0, 1.04)
        axes[0].xaxis.set_major_locator(MaxNLocator(6, integer=True))
        if seen:
            below(figure, [Line2D([], [], label="best fixed λ at that α, in hindsight", **dashed)], 1)
        heading(figure, f"Final λ, {where(view)}")
    return figure


def _on_lake(view: Overview, cells: list[CellView], lies: Layout) -> Figure:
    """λ on FrozenLake's map; holes and the goal, which end an episode, by their letters."""
    letters = np.array(list(lies.letters)).reshape(-1, lies.columns)
    ends = (letters == "H") | (letters == "G")
    rows, columns = shape(len(cells))
    with paper(PAGE, 0.4 + (0.4 + min(2.4, 5.8 / columns) * letters.shape[0] / letters.shape[1]) * rows) as figure:
        axes: list[Any] = panels(figure, len(cells))
        for ax, cell in zip(axes, cells, strict=True):
            table = np.where(ends, np.nan, cell.lambdas.reshape(letters.shape))
            picture = ax.imshow(table, cmap="cividis", vmin=0, vmax=1)
            for i, j in np.ndindex(*letters.shape):
                known = "–" if np.isnan(table[i, j]) else f"{table[i, j]:.2f}" * (letters.shape[1] < 6)
                paint = "white" if not ends[i, j] and table[i, j] < 0.5 else "black"
                ax.text(
                    j, i, letters[i, j] if ends[i, j] else known, ha="center", va="center", fontsize=SMALL, color=paint
                )
            ax.set(xticks=[], yticks=[])
            ax.grid(visible=False)
            ax.spines[:].set_visible(False)
            _entitle(ax, cell)
        figure.colorbar(picture, ax=axes, label="λ(s)", fraction=0.04)
        heading(figure, f"Final λ, {where(view)}")
    return figure


def _over_two(view: Overview, cells: list[CellView], lies: Layout) -> Figure:
    """λ where observations are two numbers: dots, or tiles where they fill a rectangle."""
    assert lies.points is not None
    x, y = lies.points.T
    shades: dict[str, Any] = {"cmap": "cividis", "vmin": 0, "vmax": 1}
    with paper(PAGE, 0.7 + 2.0 * shape(len(cells))[0]) as figure:
        axes = panels(figure, len(cells), *lies.axes)
        for ax, cell in zip(axes, cells, strict=True):
            if min(lies.tile) > 0:
                columns, rows = np.unique(x), np.unique(y)
                table = np.empty((rows.size, columns.size))
                table[np.searchsorted(rows, y), np.searchsorted(columns, x)] = cell.lambdas
                picture = ax.pcolormesh(columns, rows, table, shading="nearest", **shades)
                ax.grid(visible=False)
            else:
                picture = ax.scatter(x, y, c=cell.lambdas, s=14, **shades)
            _entitle(ax, cell)
        figure.colorbar(picture, ax=axes, label="λ", fraction=0.04)
        heading(figure, f"Final λ, {where(view)}")
    return figure


def _entitle(ax: Any, cell: CellView) -> None:
    """The method, and under it its settings."""
    alpha = "" if cell.alpha is None else f"α = {cell.alpha:g}"
    ax.set_title(f"{cell.method}\n{', '.join(filter(None, (alpha, cell.label)))}", fontsize=SMALL)

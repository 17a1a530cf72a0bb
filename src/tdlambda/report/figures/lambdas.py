"""λ itself: what it came to in each state, and how it got there."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from gymnasium.envs.toy_text.frozen_lake import MAPS
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator

from tdlambda.arrays import Ints, integer
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
from tdlambda.report.history import History, follow
from tdlambda.report.overview import CellView, Overview
from tdlambda.report.palette import shades
from tdlambda.studies.building import build_learner
from tdlambda.studies.study import Study
from tdlambda.tasks import TASKS, TabularTask

_STATES = 9
"""As many states as can be told apart."""
_MOMENTS = 200
"""At which λ is read."""
_TRIAL = 2000
"""Steps by which speed is measured."""


def lambda_states(view: Overview, measure: str = "tail", alpha: float | None = None) -> Figure:
    """The final λ in each state, a panel for each rule that adapts: of its best cell (in hindsight), mean over runs.

    Bars over the states; on FrozenLake the map itself; where observations are two numbers (MountainCar), dots at the
    observations that errors were read at.

    Parameters
    ----------
    view
        The study's results.
    measure
        "tail" or "area": by which cells are chosen.
    alpha
        The step size; by default that of each method's best cell.
    """
    check_measure(measure)
    cells = _cells(view, measure, alpha)
    mdp = view.study.environment.mdp
    if _map(view.study) is not None:
        figure = _on_map(view, cells)
    else:
        figure = _bars(view, cells, np.flatnonzero(~mdp.terminal), measure) if mdp is not None else _dots(view, cells)
    return figure


def lambda_motion(view: Overview, measure: str = "tail", steps: int = 200_000, seconds: float = 3.0) -> Figure:
    """How λ moved in some states, on one seed: the best cell (in hindsight) of each rule that adapts, run again.

    Parameters
    ----------
    view
        The study's results; its task must be finite.
    measure
        "tail" or "area": by which cells are chosen.
    steps
        As many at most, after the warm-up; fewer if the study's runs are shorter.
    seconds
        As long at most for each method, about: a slow learner is followed for fewer steps.
    """
    check_measure(measure)
    study = view.study
    if not isinstance(study.environment, TabularTask):
        raise NothingToDrawError(f"lambda_motion: {study.task} is not finite")
    cells, warm = _cells(view, measure, None), round(study.warm_up * study.steps)
    most = min(warm + integer(steps, "steps", 1), study.steps)
    histories = [_followed(study, cell, view.seeds[0], most, seconds) for cell in cells]
    live = np.flatnonzero(~study.environment.mdp.terminal)
    states = live[np.unique(np.linspace(0, live.size - 1, _STATES).round().astype(int))].tolist()
    paints = dict(zip(states, shades(states), strict=True))
    with paper(PAGE, 1.1 + 1.5 * shape(len(cells))[0]) as figure:
        thousands = most >= 10_000
        axes = panels(figure, len(cells), "steps / 1000" if thousands else "steps", "λ(s)")
        for ax, cell, history in zip(axes, cells, histories, strict=True):
            for state, paint in paints.items():
                ax.plot(history.steps, history.lambdas[:, state], color=paint, linewidth=1.1, label=f"s = {state}")
            if warm:
                ax.axvspan(0, warm, color=WARM_UP, linewidth=0, zorder=0)
            _entitle(ax, cell)
        axes[0].set(ylim=(-0.04, 1.04), xlim=(0, most))
        axes[0].xaxis.set_major_locator(MaxNLocator(3, steps=[1, 2, 5, 10]))
        axes[0].xaxis.set_major_formatter(lambda x, _: f"{x / 1000 if thousands else x:g}")
        handles: list[Any] = [Line2D([], [], color=paint, label=f"s = {state}") for state, paint in paints.items()]
        below(figure, handles + [Patch(color=WARM_UP, label="warm-up")] * (warm > 0), 6)
        heading(figure, "λ over time, " + where(view, f"seed {view.seeds[0]} alone", runs=False))
    return figure


def _cells(view: Overview, measure: str, alpha: float | None) -> list[CellView]:
    """The best cell of each rule that adapts."""
    methods = [m for m in finished(view) if is_adaptive(view, m) and view.of(m, alpha)]
    if not methods:
        raise NothingToDrawError(
            "λ: no method has a rule that adapts it" + ("" if alpha is None else f" at α = {alpha:g}")
        )
    return [view.best(method, alpha, measure) for method in methods]


def _followed(study: Study, cell: CellView, seed: int, steps: int, seconds: float) -> History:
    """A learner of the cell, run again on a seed; as many steps as there is time for."""

    def learner() -> Any:
        declared = study.methods[cell.method]
        options = {**declared.options, **cell.settings}
        return build_learner(study.environment, declared.learner, declared.rule, options, (study.warm_up, study.steps))

    def took(n: int) -> float:
        begun = time.perf_counter()
        follow(study.environment, learner(), steps=n, points=[n], seed=seed)
        return time.perf_counter() - begun

    trial = min(_TRIAL, steps)
    took(1)  # compiles
    each = max(took(trial) - took(1), 1e-9) / trial
    fits = min(steps, max(trial, int(seconds / each)))
    moments = np.unique(np.linspace(0, fits, min(fits, _MOMENTS) + 1).round().astype(int)).tolist()
    return follow(study.environment, learner(), steps=fits, points=moments, seed=seed)


def _bars(view: Overview, cells: list[CellView], states: Ints, measure: str) -> Figure:
    """λ over the states that are not terminal, and the best fixed λ as a line."""
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


def _on_map(view: Overview, cells: list[CellView]) -> Figure:
    """λ on FrozenLake's map; holes and the goal, which end an episode, by their letters."""
    letters = np.array([list(row) for row in _map(view.study) or []])
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


def _dots(view: Overview, cells: list[CellView]) -> Figure:
    """λ where observations are numbers: over two of them, or else in their order."""
    sampled = [np.asarray(view.study.truth(cell.method).observations, dtype=np.float64) for cell in cells]
    flat = all(points.ndim == 2 and points.shape[1] == 2 for points in sampled)
    names = ("position", "velocity") if view.study.task == "MountainCar-v0" else ("first number", "second number")
    x, y = names if flat else ("sampled observation", "λ")
    with paper(PAGE, 0.7 + 2.0 * shape(len(cells))[0]) as figure:
        axes = panels(figure, len(cells), x, y)
        for ax, cell, points in zip(axes, cells, sampled, strict=True):
            if flat:
                picture = ax.scatter(points[:, 0], points[:, 1], c=cell.lambdas, cmap="cividis", vmin=0, vmax=1, s=14)
            else:
                ax.plot(cell.lambdas, "o", color=painted(view, cell.method))
            _entitle(ax, cell)
        if flat:
            figure.colorbar(picture, ax=axes, label="λ", fraction=0.04)
        heading(figure, f"Final λ, {where(view)}")
    return figure


def _entitle(ax: Any, cell: CellView) -> None:
    """The method, and under it its settings."""
    alpha = "" if cell.alpha is None else f"α = {cell.alpha:g}"
    ax.set_title(f"{cell.method}\n{', '.join(filter(None, (alpha, cell.label)))}", fontsize=SMALL)


def _map(study: Study) -> list[str] | None:
    """FrozenLake's map, of a study on it."""
    if study.task.removeprefix("tdlambda/") != "FrozenLake-v0":
        return None
    presets = TASKS["FrozenLake-v0"].presets
    chosen = {**presets.get(study.preset or next(iter(presets)), {}), **study.task_options}.get("map", "4x4")
    return MAPS[chosen] if isinstance(chosen, str) else [str(row) for row in chosen]

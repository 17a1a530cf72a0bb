"""Where λ was learned, and how it moved in time: runs of a study done again, and looked at on the way."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tdlambda.arrays import Floats, Ints
from tdlambda.control.lane import Lane
from tdlambda.control.worlds import observation_grid, world_of
from tdlambda.report.overview import CellView
from tdlambda.studies.running import prepared
from tdlambda.studies.study import Study
from tdlambda.tasks.frozen_lake import FrozenLake

BUDGET = 4_000_000
"""Updates to make in all: a few seconds."""
MOMENTS = 48


@dataclass(frozen=True)
class Layout:
    """How the observations at which λ is known lie.

    Attributes
    ----------
    kind
        "bars": side by side; "grid": in rows of `columns`; "map": at `points`, [observation, 2].
    live
        Places in `CellView.lambdas` that are worth showing: terminal states have no λ of their own.
    columns, letters
        Of a grid; what is at each of its places.
    points, axes
        Of a map, and the names of its axes.
    tile
        Width and height of the tile around each point, where they fill a rectangle; else 0.
    """

    kind: str
    live: list[int]
    columns: int = 0
    letters: str = ""
    points: Floats | None = None
    axes: tuple[str, str] = ("", "")
    tile: tuple[float, float] = (0.0, 0.0)


@dataclass(frozen=True)
class Motion:
    """The λ of one cell on one seed: after `steps`, [moment], at each live place, [moment, place]."""

    cell: CellView
    seed: int
    steps: Ints
    lambdas: Floats


def layout(study: Study, method: str, n: int) -> Layout:
    """How to draw `n` values of λ. A task that cannot be built any more is drawn as bars."""
    try:
        task: Any = study.environment
        at = np.asarray(_observations(study, method))
    except (ImportError, TypeError, ValueError):
        return Layout("bars", list(range(n)))
    if task.mdp is None and at.shape == (n, 2):
        names = ("position", "velocity") if task.id == "MountainCar-v0" else ("x₁", "x₂")
        return Layout("map", list(range(n)), points=at, axes=names, tile=_tile(at))
    if task.mdp is None:
        return Layout("bars", list(range(n)))
    live = np.flatnonzero(~task.mdp.terminal).tolist()
    if isinstance(task, FrozenLake):
        return Layout("grid", live, columns=len(task.rows[0]), letters="".join(task.rows))
    return Layout("bars", live)


def motions(
    study: Study,
    cells: Sequence[CellView],
    live: Sequence[int],
    budget: int = BUDGET,
    moments: int = MOMENTS,
    last: int | None = None,
) -> list[Motion]:
    """Follow each cell on the study's first seed to its `last` step or the end, or as far as the budget goes.

    The moments lie evenly, or evenly on a logarithmic axis where λ moves from the first step on. A learner or a rule of
    somebody's own is not followed: a report imports no modules.
    """
    cells = [cell for cell in cells if study.trusted or not study.methods[cell.method].modules]
    if not cells:
        raise ValueError("a learner or a rule from a module of yours is not run to look at results")
    last = min(last or study.run_steps, study.run_steps)
    if last * len(cells) > budget:
        last = next(10**k * m for k in range(9, 0, -1) for m in (5, 2, 1) if 10**k * m * len(cells) <= budget)
    evenly = np.linspace(last / moments, last, moments)
    at = np.unique((evenly if study.warm_up else np.geomspace(max(1, last / 1000), last, moments)).round())
    return [_followed(study, cell, at.astype(np.int64), live) for cell in cells]


def _followed(study: Study, cell: CellView, moments: Ints, live: Sequence[int]) -> Motion:
    key = (study.key(cell.method), tuple(cell.settings.items()), study.seed, moments.tobytes())
    if key not in _FOLLOWED:
        built = prepared(study, cell.method)[0][study.cells(cell.method).index(cell.settings)]
        at = _observations(study, cell.method)
        learners = (_acting if study.kind == "control" else _predicting)(study, built, moments)
        _FOLLOWED[key] = np.array([learner.lambdas(at) for learner in learners])
    return Motion(cell, study.seed, moments, _FOLLOWED[key][:, list(live)])


_FOLLOWED: dict[tuple[Any, ...], Floats] = {}
"""What was followed once in this process: a page that is served is made again and again."""


def _predicting(study: Study, built: Any, moments: Ints) -> Iterator[Any]:
    """The learner at each of the moments."""
    learner, sampler = built.clone(), study.environment.sampler(study.seed)
    for steps in np.diff(moments, prepend=0).tolist():
        learner.update_many(sampler.take(steps))
        yield learner


def _acting(study: Study, built: Any, moments: Ints) -> Iterator[Any]:
    """The critic at each of the moments."""
    lane = Lane(built, world_of(study.environment), study.seed, moments)
    for steps in np.diff(moments, prepend=0).tolist():
        lane.advance(steps, np.zeros((steps, 3)))
        agent: Any = lane.snapshot()
        yield getattr(agent, "critic", agent)


def _observations(study: Study, method: str) -> Any:
    """Those at which λ is known."""
    task = study.environment
    if study.kind == "control":
        return observation_grid(task)
    return prepared(study, method)[1].observations if task.mdp is None else np.arange(task.mdp.n_states)


def _tile(points: Floats) -> tuple[float, float]:
    x, y = (np.unique(column) for column in points.T)
    if min(x.size, y.size) < 2 or x.size * y.size != len(points):
        return 0.0, 0.0
    return float(np.ptp(x)) / (x.size - 1), float(np.ptp(y)) / (y.size - 1)

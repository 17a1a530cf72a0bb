"""Where λ was learned, and how it moved in time: runs of a study done again, and looked at on the way."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tdlambda.arrays import Floats, Ints
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
    columns, points, axes
        Of a grid; of a map, and the names of its axes.
    """

    kind: str
    live: list[int]
    columns: int = 0
    points: Floats | None = None
    axes: tuple[str, str] = ("", "")


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
        if task.mdp is None:
            seen = np.asarray(prepared(study, method)[1].observations)
            if seen.ndim == 2 and seen.shape == (n, 2):
                names = ("position", "velocity") if task.id == "MountainCar-v0" else ("x₁", "x₂")
                return Layout("map", list(range(n)), points=seen, axes=names)
            return Layout("bars", list(range(n)))
    except (ImportError, TypeError, ValueError):
        return Layout("bars", list(range(n)))
    live = np.flatnonzero(~task.mdp.terminal).tolist()
    if isinstance(task, FrozenLake):
        return Layout("grid", live, columns=_columns(task))
    return Layout("bars", live)


def motions(study: Study, cells: Sequence[CellView], live: Sequence[int], budget: int = BUDGET) -> list[Motion]:
    """Follow each cell on the study's first seed to the end, or as far as the budget goes.

    The moments lie evenly, or evenly on a logarithmic axis where λ moves from the first step on.
    """
    last = study.steps
    if last * len(cells) > budget:
        last = next(10**k * m for k in range(9, 0, -1) for m in (5, 2, 1) if 10**k * m * len(cells) <= budget)
    evenly = np.linspace(last / MOMENTS, last, MOMENTS)
    moments = np.unique((evenly if study.warm_up else np.geomspace(max(1, last / 1000), last, MOMENTS)).round())
    return [_followed(study, cell, moments.astype(np.int64), live) for cell in cells]


def _followed(study: Study, cell: CellView, moments: Ints, live: Sequence[int]) -> Motion:
    key = (study.key(cell.method), tuple(cell.settings.items()), study.seed, moments.tobytes())
    if key not in _FOLLOWED:
        learners, truth = prepared(study, cell.method)
        learner: Any = learners[study.cells(cell.method).index(cell.settings)].clone()
        task, done, seen = study.environment, 0, []
        at = np.arange(task.mdp.n_states) if task.mdp is not None else truth.observations
        sampler = task.sampler(study.seed)
        for moment in moments.tolist():
            learner.update_many(sampler.take(moment - done))
            done = moment
            seen.append(learner.lambdas(at))
        _FOLLOWED[key] = np.array(seen)
    return Motion(cell, study.seed, moments, _FOLLOWED[key][:, list(live)])


_FOLLOWED: dict[tuple[Any, ...], Floats] = {}
"""What was followed once in this process: a page that is served is made again and again."""


def _columns(lake: FrozenLake) -> int:
    """How wide the lake is: the longest move is one row down, or along the only row."""
    o, n = lake.mdp.outcomes, lake.mdp.n_actions
    state = np.repeat(np.arange(o.indptr.size - 1), np.diff(o.indptr)) // n
    return int(np.abs(o.next_state - state).max())

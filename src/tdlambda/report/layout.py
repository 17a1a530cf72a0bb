"""How the observations at which λ is known lie."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tdlambda.arrays import Floats
from tdlambda.control.worlds import observation_grid
from tdlambda.studies.running import prepared
from tdlambda.studies.study import Study
from tdlambda.tasks.frozen_lake import FrozenLake


@dataclass(frozen=True)
class Layout:
    """How the observations at which λ is known lie.

    Attributes
    ----------
    kind
        "states": side by side; "map": tiles in a plane.
    live
        Places in `CellView.lambdas` that are worth showing: terminal states have no λ of their own.
    tiles
        Of a map: left, right, low, high of each tile; of a grid of states also of those where episodes end.
    names
        Of each tile, or of each live state.
    axes
        The names of the plane's dimensions; a grid of states has none.
    """

    kind: str
    live: list[int]
    names: list[Any]
    tiles: Floats | None = None
    axes: tuple[str, str] | None = None

    def values(self, lambdas: Any) -> list[float | None]:
        """λ of each tile or live state; None where episodes end."""
        if self.tiles is None or self.axes is not None:
            return [float(lambdas[s]) for s in self.live]
        return [float(lambdas[s]) if s in self.live else None for s in range(len(self.tiles))]


def layout(study: Study, method: str, n: int) -> Layout:
    """How to draw `n` values of λ. A task that cannot be built any more is drawn state by state."""
    plain = Layout("states", list(range(n)), list(range(n)))
    try:
        task: Any = study.environment
        at = np.asarray(_observations(study, method))
    except (ImportError, TypeError, ValueError):
        return plain
    if task.mdp is None and at.shape == (n, 2):
        axes = ("position", "velocity") if task.id == "MountainCar-v0" else ("x₁", "x₂")
        names = [f"{x:.3g}, {y:.3g}" for x, y in at]
        return Layout("map", list(range(n)), names, _around(at), axes)
    if task.mdp is None:
        return plain
    live = np.flatnonzero(~task.mdp.terminal).tolist()
    if isinstance(task, FrozenLake):
        rows, columns = np.divmod(np.arange(task.mdp.n_states), len(task.rows[0]))
        tiles = np.array([columns, columns + 1, rows, rows + 1], dtype=np.float64).T
        return Layout("map", live, list(range(task.mdp.n_states)), tiles)
    return Layout("states", live, live)


def _observations(study: Study, method: str) -> Any:
    """Those at which λ is known."""
    task = study.environment
    if study.kind == "control":
        return observation_grid(task)
    return prepared(study, method)[1].observations if task.mdp is None else np.arange(task.mdp.n_states)


def _around(points: Floats) -> Floats:
    """A tile around each point: they fill a rectangle, or are small squares."""
    sides = []
    for column in points.T:
        some = np.unique(column)
        filled = some.size > 1 and np.unique(points[:, 0]).size * np.unique(points[:, 1]).size == len(points)
        sides.append(np.ptp(column) / (some.size - 1) if filled else np.ptp(column) / 30 or 1.0)
    (w, h), (x, y) = sides, points.T
    return np.array([x - w / 2, x + w / 2, y - h / 2, y + h / 2]).T

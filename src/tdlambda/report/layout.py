"""Layout of the observations at which λ is known."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from tdlambda.arrays import Floats
from tdlambda.charts.control_policy import on_map
from tdlambda.control.worlds import GRID, action_names, observation_grid, plane_of
from tdlambda.studies.running import prepared
from tdlambda.studies.study import Study


@dataclass(frozen=True)
class Layout:
    """The layout of the observations at which λ is known.

    Attributes
    ----------
    kind
        "states": side by side; "map": tiles in a plane; "observations": neither.
    live
        Places in `CellView.lambdas` that are worth showing: terminal states have no λ of their own.
    tiles
        Of a map: left, right, low, high of each tile; of a grid of states also of those where nothing is decided.
    names
        Of each tile, or of each live state; on a grid of states, the states.
    axes
        The names of the plane's dimensions; a grid of states has none.
    ends
        Of a grid of states: what is written where nothing is decided.
    actions
        In a study of control, what they are called.
    """

    kind: str
    live: list[int]
    names: list[Any]
    tiles: Floats | None = None
    axes: tuple[str, str] | None = None
    ends: list[str] | None = None
    actions: list[str] = field(default_factory=list)

    def values(self, some: Any) -> list[Any]:
        """Of each tile or live state its value, λ or an action; None where nothing is decided."""
        if self.ends is None:
            return [some[s] for s in self.live]
        return [some[s] if s in self.live else None for s in self.names]

    @property
    def height(self) -> int:
        """Of a map, in pixels, 250 wide: cells of a grid are a little wider than high."""
        if self.ends is None or self.tiles is None:
            return 210
        width, height = np.ptp(self.tiles[:, :2]), np.ptp(self.tiles[:, 2:])
        return int(np.clip(210 * height / width, 70, 300))


def layout(study: Study, method: str, n: int) -> Layout:
    """How to draw `n` values of λ, or actions. A task that cannot be built any more is drawn state by state."""
    plain = Layout("states", list(range(n)), list(range(n)))
    try:
        task: Any = study.environment
        at = np.asarray(_observations(study, method))
    except (ImportError, TypeError, ValueError):
        return plain
    found = _lying(task, at, n) or plain
    return replace(found, actions=action_names(task)) if study.kind == "control" else found


def _lying(task: Any, at: Any, n: int) -> Layout | None:
    """How a task's observations lie; None if nothing is known."""
    if (plane := plane_of(task)) is not None and at.shape == (n, 2):
        names = [f"{x:.3g}, {y:.3g}" for x, y in at]
        return Layout("map", list(range(n)), names, _around(at), plane.axes)
    letters = getattr(task, "rows", ())
    if sum(map(len, letters)) == n:
        cells = on_map(letters)
        tiles = np.array(
            [[cell[side] for side in ("left", "right", "low", "high")] for cell in cells], dtype=np.float64
        )
        live = [cell["state"] for cell in cells if cell["live"]]
        return Layout("map", live, [cell["state"] for cell in cells], tiles, ends=[cell["ends"] for cell in cells])
    if task.mdp is None:
        return None if at.ndim == 1 else Layout("observations", list(range(n)), list(range(n)))
    live = np.flatnonzero(~task.mdp.terminal).tolist()
    return Layout("states", live, live)


def _observations(study: Study, method: str) -> Any:
    """Those at which λ is known; of a plane, the points."""
    task = study.environment
    if study.kind == "control":
        plane = plane_of(task)
        return observation_grid(task) if plane is None else plane.points(GRID)
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

"""Layout of the observations at which λ is known."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from tdlambda.arrays import Floats
from tdlambda.charts.control_policy import on_map
from tdlambda.control.worlds import GRID, action_names, observation_grid, plane_of
from tdlambda.lab.studies.execution import prepared
from tdlambda.lab.studies.study import Study


@dataclass(frozen=True)
class ObservationLayout:
    """The layout of the observations at which λ is known.

    Attributes
    ----------
    kind
        "states": in a row; "map": tiles in a plane; "observations": without a layout.
    live
        Indices in `CellView.lambdas` to show; terminal states, which have no λ, are left out.
    tiles
        Left, right, low and high of each tile of a map; a grid of states includes those without an action.
    names
        Names of the tiles, or of the live states; on a grid of states, the states.
    axes
        Labels of the plane's dimensions; None for a grid of states.
    ends
        On a grid of states: texts of the tiles without an action.
    actions
        Names of the actions, in a control study.
    """

    kind: str
    live: list[int]
    names: list[Any]
    tiles: Floats | None = None
    axes: tuple[str, str] | None = None
    ends: list[str] | None = None
    actions: list[str] = field(default_factory=list)

    def values(self, some: Any) -> list[Any]:
        """The value (λ or an action) of each tile or live state; None where no action is chosen."""
        if self.ends is None:
            return [some[s] for s in self.live]
        return [some[s] if s in self.live else None for s in self.names]

    @property
    def height(self) -> int:
        """Height in pixels of a map 250 pixels wide; the cells of a grid are slightly wider than high."""
        if self.ends is None or self.tiles is None:
            return 210
        width, height = np.ptp(self.tiles[:, :2]), np.ptp(self.tiles[:, 2:])
        return int(np.clip(210 * height / width, 70, 300))


def layout(study: Study, method: str, n: int) -> ObservationLayout:
    """The layout of `n` values of λ, or actions; states in a row if the task can no longer be built."""
    plain = ObservationLayout("states", list(range(n)), list(range(n)))
    try:
        task: Any = study.environment
        at = np.asarray(_observations(study, method))
    except (ImportError, TypeError, ValueError):
        return plain
    found = _lying(task, at, n) or plain
    return replace(found, actions=action_names(task)) if study.kind == "control" else found


def _lying(task: Any, at: Any, n: int) -> ObservationLayout | None:
    """The layout of a task's observations; None if it is unknown."""
    if (plane := plane_of(task)) is not None and at.shape == (n, 2):
        names = [f"{x:.3g}, {y:.3g}" for x, y in at]
        return ObservationLayout("map", list(range(n)), names, _around(at), plane.axes)
    letters = getattr(task, "rows", ())
    if sum(map(len, letters)) == n:
        cells = on_map(letters)
        tiles = np.array(
            [[cell[side] for side in ("left", "right", "low", "high")] for cell in cells], dtype=np.float64
        )
        live = [cell["state"] for cell in cells if cell["live"]]
        return ObservationLayout(
            "map", live, [cell["state"] for cell in cells], tiles, ends=[cell["ends"] for cell in cells]
        )
    if task.mdp is None:
        return None if at.ndim == 1 else ObservationLayout("observations", list(range(n)), list(range(n)))
    live = np.flatnonzero(~task.mdp.terminal).tolist()
    return ObservationLayout("states", live, live)


def _observations(study: Study, method: str) -> Any:
    """The observations at which λ is known; in a plane, its points."""
    task = study.environment
    if study.kind == "control":
        plane = plane_of(task)
        return observation_grid(task) if plane is None else plane.points(GRID)
    return prepared(study, method)[1].observations if task.mdp is None else np.arange(task.mdp.n_states)


def _around(points: Floats) -> Floats:
    """A tile around each point: the tiles fill a rectangle if the points form a grid, else they are small."""
    sides = []
    for column in points.T:
        some = np.unique(column)
        filled = some.size > 1 and np.unique(points[:, 0]).size * np.unique(points[:, 1]).size == len(points)
        sides.append(np.ptp(column) / (some.size - 1) if filled else np.ptp(column) / 30 or 1.0)
    (w, h), (x, y) = sides, points.T
    return np.array([x - w / 2, x + w / 2, y - h / 2, y + h / 2]).T

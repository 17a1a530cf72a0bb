"""Environments inside compiled code, chosen by a code; each is the mathematics of a task's own file.

A world is numbers P that it never changes and a state s, which is the observation too. To add one: a code, a line in
`begin` and in `move`, and a line in `world_of`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tdlambda.arrays import Floats
from tdlambda.compiled import inlined
from tdlambda.tasks import mountain_car
from tdlambda.tasks.base import Task
from tdlambda.tasks.mountain_car import GOAL, MountainCar

MOUNTAIN_CAR = 0
"""Codes."""

_start, _perturbed, _move = mountain_car.start, mountain_car.perturbed, mountain_car.move


@dataclass(frozen=True)
class World:
    """An environment as compiled code knows it: its code, numbers, size of its state, actions, and limit (0: none)."""

    code: int
    numbers: Floats
    size: int
    actions: int
    limit: int


def world_of(task: Task[Any]) -> World:
    """The compiled world of a task; an error if there is none.

    >>> import tdlambda as td
    >>> world_of(td.make("MountainCar-v0", limit=500)).limit
    500
    """
    if type(task) is MountainCar:
        return World(MOUNTAIN_CAR, np.array([task.noise]), 2, 3, task.limit or 0)
    raise ValueError(f"task: {task!r} has no compiled world yet; td.train runs it step by step")


@inlined
def begin(code: int, P: Floats, s: Floats, u: float) -> None:
    """A new episode, drawn by one uniform number."""
    if code == MOUNTAIN_CAR:
        s[0], s[1] = _start(u), 0.0


@inlined
def move(code: int, P: Floats, s: Floats, action: int, u: float, w: float) -> tuple[float, float, bool]:
    """One step, drawn by two uniform numbers: s becomes s'; the reward, γ', and whether it is an end."""
    s[0], s[1] = _move(s[0], s[1], _perturbed(action, P[0], u, w))
    over = s[0] >= GOAL
    return 0.0 if over else -1.0, 0.0 if over else 1.0, over

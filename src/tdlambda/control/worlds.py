"""The compiled worlds of tasks."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np

from tdlambda.tasks import TASKS, WORLDS, make
from tdlambda.tasks.world import World, WorldEnv

GRID = 8
"""Two dimensions are looked at on a grid of so many values along each; more dimensions, with fewer."""


def world_of(task: Any) -> World:
    """The compiled world of a task, of an id, or of itself; an error if there is none.

    >>> import tdlambda as td
    >>> world_of(td.make("MountainCar-v0", limit=500)).limit, world_of("CartPole-v1").actions
    (500, 2)
    """
    if isinstance(task, World):
        return task
    if isinstance(task, WorldEnv):
        return task.world
    if isinstance(task, str):
        if task.removeprefix("tdlambda/") not in TASKS and task in WORLDS:
            return WORLDS[task]()
        task = make(task)
    if not isinstance(task, gym.Env):
        raise TypeError(f"task must be a task, a td.World or the id of one; got {task!r}")
    if not hasattr(task, "world"):
        raise ValueError(f"task: {task!r} has no compiled world; td.train runs it step by step")
    found: World = task.world()
    return found


def observation_grid(world: World | gym.Env[Any, Any]) -> Any:
    """Observations at which λ and the policy are looked at: all states, or a grid, the last dimension first to change.

    Where a space has no bounds, there are none.
    """
    space: Any = world.space if isinstance(world, World) else world.observation_space
    if isinstance(space, gym.spaces.Discrete):
        return np.arange(int(space.n))
    if not (np.isfinite(space.low).all() and np.isfinite(space.high).all()):
        return np.zeros((0, space.low.size))
    n = max(2, round((GRID**2) ** (1 / max(space.low.size, 2))))
    axes = [np.linspace(low, high, n) for low, high in zip(space.low, space.high, strict=True)]
    return np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, len(axes))

"""The compiled worlds of tasks."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np

from tdlambda.tasks import TASKS, WORLDS, make
from tdlambda.tasks.world import World, WorldEnv


class EnvTask(gym.Env[Any, Any]):
    """An environment of Gymnasium by its id and options: what a study needs to know of it."""

    mdp = None

    def __init__(self, name: str, options: dict[str, Any] | None = None) -> None:
        env = gym.make(name, **(options or {}))
        self.id, self.options = name, dict(options or {})
        self.observation_space, self.action_space = env.observation_space, env.action_space
        env.close()


def in_processes(task: Any) -> EnvTask | None:
    """The environment of Gymnasium that runs step by step; None if there is a compiled world."""
    if isinstance(task, EnvTask):
        return task
    known = isinstance(task, str) and (task.removeprefix("tdlambda/") in TASKS or task in WORLDS)
    return EnvTask(task) if isinstance(task, str) and not known and task in gym.registry else None


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
        raise TypeError(f"task must be a task, a td.tasks.World or the id of one; got {task!r}")
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

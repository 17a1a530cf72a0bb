"""Compiled worlds of tasks."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium.envs.toy_text.frozen_lake import FrozenLakeEnv

from tdlambda.arrays import fraction
from tdlambda.tasks import TASKS, WORLDS, make
from tdlambda.tasks.frozen_lake import FrozenLake, map_of
from tdlambda.tasks.world import Plane, World, WorldEnv

NO_DISCOUNT = "{} has no discount of its own; give one: gamma=0.99, or in a study task_options={{'discount': 0.99}}"


class EnvTask(gym.Env[Any, Any]):
    """A Gymnasium environment by its id and options, as a study needs it; `discount` is γ if it reports none."""

    mdp = None

    def __init__(self, name: str, discount: float | None = None, **options: Any) -> None:
        env = gym.make(name, **options)
        self.id, self.options = name, options
        self.discount = None if discount is None else fraction(discount, "discount")
        if discount is None and not _reports_discount(env):
            raise ValueError(NO_DISCOUNT.format(name))
        self.observation_space, self.action_space = env.observation_space, env.action_space
        lake: Any = env.unwrapped
        if isinstance(lake, FrozenLakeEnv):
            self.rows, self.action_names = map_of(lake), FrozenLake.action_names
        env.close()


def _reports_discount(env: gym.Env[Any, Any]) -> bool:
    """Whether a step of an environment reports `info["discount"]`."""
    env.reset(seed=0)
    env.action_space.seed(0)
    return "discount" in env.step(env.action_space.sample())[4]


def in_processes(task: Any, gamma: float | None = None) -> EnvTask | None:
    """The Gymnasium environment, if the task must run step by step; None if it has a compiled world."""
    if isinstance(task, EnvTask):
        return task
    known = isinstance(task, str) and (task.removeprefix("tdlambda/") in TASKS or task in WORLDS)
    return EnvTask(task, gamma) if isinstance(task, str) and not known and task in gym.registry else None


GRID = 8
"""Number of grid points along each of two dimensions; with more dimensions, there are fewer along each."""


def world_of(task: Any, gamma: float | None = None) -> World:
    """The compiled world of a task, an id, or a world itself; ValueError or TypeError if there is none.

    >>> import tdlambda as td
    >>> world_of(td.make("MountainCar-v0", limit=500)).limit, world_of("CartPole-v1", 0.99).actions
    (500, 2)
    """
    if isinstance(task, str) and task.removeprefix("tdlambda/") not in TASKS and task in WORLDS:
        if gamma is None:
            raise ValueError(NO_DISCOUNT.format(task))
        return WORLDS[task](fraction(gamma, "gamma"))
    if gamma is not None:
        raise ValueError(f"gamma: {task!r} has a discount of its own; leave gamma out")
    if isinstance(task, World):
        return task
    if isinstance(task, WorldEnv):
        return task.world
    if isinstance(task, str):
        task = make(task)
    if not isinstance(task, gym.Env):
        raise TypeError(f"task must be a task, a td.tasks.World or the id of one; got {task!r}")
    if not hasattr(task, "world"):
        raise ValueError(f"task: {task!r} has no compiled world; use td.train, which runs it step by step")
    found: World = task.world()
    return found


def plane_of(world: Any) -> Plane | None:
    """The two dimensions over which λ and the policy are shown: the world's own, or a bounded 2-D box."""
    space: Any = world.space if isinstance(world, World) else world.observation_space
    own: Plane | None = getattr(world, "plane", None)
    flat = isinstance(space, gym.spaces.Box) and space.shape == (2,) and np.isfinite([space.low, space.high]).all()
    return Plane(("x₁", "x₂"), space.low, space.high) if own is None and flat else own


def action_names(env: Any) -> list[str]:
    """The names of an environment's actions; by default their numbers."""
    return list(getattr(env, "action_names", ())) or [str(action) for action in range(int(env.action_space.n))]


def observation_grid(world: World | gym.Env[Any, Any]) -> Any:
    """The observations at which λ and the policy are read: all states, or a grid in C order.

    A space with neither a plane nor bounds has no such observations.
    """
    space: Any = world.space if isinstance(world, World) else world.observation_space
    if isinstance(space, gym.spaces.Discrete):
        return np.arange(int(space.n))
    if (plane := plane_of(world)) is not None:
        return plane.observations(GRID)
    if not isinstance(space, gym.spaces.Box):
        return np.zeros(0)
    if not (np.isfinite(space.low).all() and np.isfinite(space.high).all()):
        return np.zeros((0, space.low.size))
    n = max(2, round((GRID**2) ** (1 / max(space.low.size, 2))))
    axes = [np.linspace(low, high, n) for low, high in zip(space.low, space.high, strict=True)]
    return np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, len(axes))

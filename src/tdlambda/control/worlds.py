"""Compiled worlds of tasks."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium.envs.registration import load_env_creator
from gymnasium.envs.toy_text.frozen_lake import FrozenLakeEnv

from tdlambda.arrays import fraction
from tdlambda.runner.environments import OWN_DISCOUNT
from tdlambda.showing import wrong_arguments
from tdlambda.tasks import TASKS, WORLDS, make
from tdlambda.tasks.frozen_lake import FrozenLake, map_of
from tdlambda.tasks.task_registry import NAMESPACE
from tdlambda.tasks.world import Plane, World

NO_DISCOUNT = "{} has no discount of its own; pass gamma=0.99, or in a study task_options = {{ discount = 0.99 }}"


class EnvTask(gym.Env[Any, Any]):
    """A Gymnasium environment by its id and options, as a study needs it.

    An option `discount` that the environment itself does not take is γ. Without it, the environment must report γ.
    """

    mdp = None

    def __init__(self, name: str, options: Mapping[str, Any]) -> None:
        self.id, self.options = name, dict(options)
        gamma = None if _takes_discount(name) else self.options.pop("discount", None)
        self.discount = None if gamma is None else fraction(gamma, "discount")
        env = gym.make(name, **self.options)
        if gamma is None and not _reports_discount(env):
            raise ValueError(NO_DISCOUNT.format(name))
        self.observation_space, self.action_space = env.observation_space, env.action_space
        lake: Any = env.unwrapped
        if isinstance(lake, FrozenLakeEnv):
            self.rows, self.action_names = map_of(lake), FrozenLake.action_names
        env.close()


def _takes_discount(name: str) -> bool:
    """Whether the constructor of an environment has a parameter `discount`."""
    build: Any = gym.spec(name).entry_point
    return "discount" in inspect.signature(load_env_creator(build) if isinstance(build, str) else build).parameters


def _reports_discount(env: gym.Env[Any, Any]) -> bool:
    """Whether a step of an environment reports `info["discount"]`."""
    env.reset(seed=0)
    env.action_space.seed(0)
    return "discount" in env.step(env.action_space.sample())[4]


def in_processes(task: Any, gamma: float | None = None) -> EnvTask | None:
    """The Gymnasium environment, if the task must run step by step; None if it has a compiled world."""
    if isinstance(task, EnvTask):
        return task
    if not isinstance(task, str) or _is_ours(task) or task in WORLDS or task not in gym.registry:
        return None
    return EnvTask(task, {} if gamma is None else {"discount": gamma})


def _is_ours(name: str) -> bool:
    """Whether this is the id of a task of the library, with or without its namespace."""
    return name.removeprefix(f"{NAMESPACE}/") in TASKS


GRID = 8
"""Number of grid points along each of two dimensions; with more dimensions, there are fewer along each."""


def world_of(task: Any, gamma: float | None = None) -> World:
    """The compiled world of a task, an id, or a world itself; ValueError or TypeError if there is none.

    >>> import tdlambda as td
    >>> world_of(td.make("MountainCar-v0", limit=500)).limit, world_of("CartPole-v1", 0.99).actions
    (500, 2)
    """
    if isinstance(task, str) and task in WORLDS and not _is_ours(task):
        return classic_world(task, {} if gamma is None else {"discount": gamma})
    if isinstance(task, str):
        task = make(task)
    if not isinstance(task, World | gym.Env):
        raise TypeError(f"task must be a task, a td.tasks.World or the id of one; got {task!r}")
    found: World | None = task if isinstance(task, World) else getattr(task, "world", None)
    if found is None:
        raise ValueError(f"task: {task!r} has no compiled world; use td.train, which runs it step by step")
    if gamma is not None:
        raise ValueError(OWN_DISCOUNT.format(task))
    return found if isinstance(found, World) else found()


def classic_world(name: str, options: Mapping[str, Any]) -> World:
    """The compiled world of one of Gymnasium's environments; options are `discount` and `limit`."""
    if "discount" not in options:
        raise ValueError(NO_DISCOUNT.format(name))
    if wrong := wrong_arguments(name, WORLDS[name], options):
        raise TypeError(wrong)
    return WORLDS[name](**options)


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

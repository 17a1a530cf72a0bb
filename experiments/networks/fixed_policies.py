"""Streams of three classic worlds under fixed policies, and the values of these policies by rollouts."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

import tdlambda as td
from tdlambda.control.actor_modules import HEAD, Parts
from tdlambda.control.interaction import same
from tdlambda.control.lane import streams
from tdlambda.control.worlds import world_of
from tdlambda.randomness import uniform

if TYPE_CHECKING:
    from tdlambda.tasks.classic import begin_cart as begin_
    from tdlambda.tasks.classic import move_cart as move_
    from tdlambda.tasks.classic import observe_acrobot as observe_

GAMMA = 0.99


def pump(s: Any, random: Any) -> int:
    """Push the car in the direction of its motion; 28 % of the actions are random."""
    u = uniform(random)
    return int(u / 0.28 * 3) if u < 0.28 else (2 if s[1] >= 0 else 0)


def balance(s: Any, random: Any) -> int:
    """Push the cart under the pole; 60 % of the actions are random."""
    u = uniform(random)
    return int(u / 0.6 * 2) if u < 0.6 else (1 if s[2] + 0.3 * s[3] + 0.02 * s[0] + 0.05 * s[1] > 0 else 0)


def swing(s: Any, random: Any) -> int:
    """Push with the motion of the second link; 20 % of the actions are random."""
    u = uniform(random)
    return int(u / 0.2 * 3) if u < 0.2 else (2 if s[3] >= 0 else 0)


POLICIES = {"MountainCar": pump, "CartPole": balance, "Acrobot": swing}


def sample(
    numbers: Any, random: Any, s: Any, obs: Any, reward: Any, next_obs: Any, terminated: Any, states: Any
) -> None:
    """Fill the columns with consecutive transitions; s is the first state's buffer."""
    begin_(numbers, s, random)
    for t in range(reward.size):
        observe_(numbers, s, obs[t])
        same(numbers, s, states[t])
        r, _, end = move_(numbers, s, policy_(s, random), random)  # type: ignore[name-defined]  # noqa: F821
        observe_(numbers, s, next_obs[t])
        reward[t], terminated[t] = r, end
        if end:
            begin_(numbers, s, random)


def rollouts(numbers: Any, random: Any, s: Any, states: Any, values: Any, each: int, gamma: float) -> None:
    """Write the mean discounted return of `each` rollouts from each state."""
    for i in range(states.shape[0]):
        values[i] = 0.0
        for _ in range(each):
            same(numbers, states[i], s)
            discount, end = 1.0, False
            while discount > 1e-4 and not end:
                r, _, end = move_(numbers, s, policy_(s, random), random)  # type: ignore[name-defined]  # noqa: F821
                values[i] += discount * r / each
                discount *= gamma


class Stream(NamedTuple):
    """Columns of transitions."""

    obs: Any
    reward: Any
    next_obs: Any
    gamma: Any
    terminated: Any
    states: Any


@cache
def compiled(name: str) -> tuple[Any, Any]:
    """The world, and the module with `sample` and `rollouts` for it."""
    world = world_of(td.make("MountainCar-v0") if name == "MountainCar" else f"{name}-v1", *[GAMMA] * (name[0] != "M"))
    parts = Parts(HEAD.format(title=f"{name} under a fixed policy"), "sample", "rollouts")
    functions = {"begin_": world.begin, "move_": world.move, "observe_": world.observe or same}
    for called, function in (functions | {"policy_": POLICIES[name]}).items():
        parts.copy(function, called)
    for function in (sample, rollouts):
        parts.copy(function, function.__name__, how="kernel")
    return world, parts.load(f"fixed_policy_{name}")


def stream(name: str, steps: int, seed: int) -> Stream:
    """Transitions of a world under its policy."""
    world, module = compiled(name)
    obs, next_obs = np.zeros((2, steps, world.width))
    states, reward, terminated = np.zeros((steps, world.size)), np.zeros(steps), np.zeros(steps, dtype=bool)
    buffer = np.zeros(world.size)
    module.sample(world.numbers, streams(seed)[0], buffer, obs, reward, next_obs, terminated, states)
    return Stream(obs, reward, next_obs, np.full(steps, GAMMA), terminated, states)


@cache
def truth(name: str, states: int = 300, each: int = 400) -> tuple[Any, Any]:
    """Observations on the policy's path, and their values by rollouts; the seed is none of those learned from."""
    world, module = compiled(name)
    test, values = stream(name, 97 * states, 10**6), np.zeros(states)
    random, buffer = streams(10**6 + 1)[0], np.zeros(world.size)
    module.rollouts(world.numbers, random, buffer, np.ascontiguousarray(test.states[::97]), values, each, GAMMA)
    return test.obs[::97], values

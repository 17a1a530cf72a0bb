"""Environments as streams of events, one generator for each kind: a single environment, or a vector of copies.

An event is (copy, obs, step). `step` is None if an episode begins at `obs`; otherwise it is the transition that led to
`obs`: reward, γ', terminated, truncated. A generator is sent the action to take at `obs`; what it is sent at the end of
an episode is ignored.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Any, TypeAlias

import gymnasium as gym
import numpy as np

from tdlambda.arrays import fraction
from tdlambda.tasks import TASKS, Task, make

Env: TypeAlias = gym.Env[Any, Any]
VectorEnv: TypeAlias = gym.vector.VectorEnv[Any, Any, Any]
OWN_DISCOUNT = "gamma: {!r} has a discount of its own; leave gamma out"


Step: TypeAlias = tuple[float, float, bool, bool]
"""Reward, γ', terminated, truncated; a plain tuple, because a named one takes as long as an update."""
Events: TypeAlias = Generator[tuple[int, Any, Step | None], Any, None]


def env_named(name: str) -> Env:
    """A Gymnasium environment by its id; an id that Gymnasium does not know may be a task of this library."""
    return make(name) if name in TASKS and name not in gym.registry else gym.make(name)


def events_of(env: Any, seed: int | None, gamma: float | None, convert: Callable[[Any], Any]) -> Events:
    """The events of an environment or a vector of environments; `convert` converts actions for its action space."""
    kind = _copies if isinstance(env, gym.vector.VectorEnv) else _single
    return kind(env, seed, gamma, convert)


def _single(env: Env, seed: int | None, gamma: float | None, convert: Callable[[Any], Any]) -> Events:
    action = yield 0, _copied(_first(env.reset(seed=seed))), None
    while True:
        raw, reward, terminated, truncated, info = env.step(convert(action))
        action = yield 0, _copied(raw), (float(reward), discount_of(info, gamma), bool(terminated), bool(truncated))
        if terminated or truncated:
            action = yield 0, _copied(_first(env.reset())), None


def _copies(env: VectorEnv, seed: int | None, gamma: float | None, convert: Callable[[Any], Any]) -> Events:
    mode = env.metadata.get("autoreset_mode")
    same_step, by_hand = mode == gym.vector.AutoresetMode.SAME_STEP, mode == gym.vector.AutoresetMode.DISABLED
    actions, begins = [], [False] * env.num_envs
    for i, obs in enumerate(_first(env.reset(seed=seed))):
        actions.append((yield i, _copied(obs), None))
    while True:
        raw, rewards, terminated, truncated, info = env.step(np.array([convert(a) for a in actions]))
        for i in range(env.num_envs):
            if begins[i]:  # this step only reset the copy, whatever the action was
                begins[i] = False
                actions[i] = yield i, _copied(raw[i]), None
                continue
            ended = bool(terminated[i] or truncated[i])
            reported = info["final_info"] if same_step and ended else info
            discount = {"discount": reported["discount"][i]} if _reports_discount(reported, i) else {}
            step = (float(rewards[i]), discount_of(discount, gamma), bool(terminated[i]), bool(truncated[i]))
            action = yield i, _copied(info["final_obs"][i] if same_step and ended else raw[i]), step
            if not ended:
                actions[i] = action
            elif same_step:
                actions[i] = yield i, _copied(raw[i]), None
            else:
                begins[i] = not by_hand
        over = terminated | truncated
        if by_hand and over.any():
            raw = _first(env.reset(options={"reset_mask": over}))
            for i in np.flatnonzero(over).tolist():
                actions[i] = yield i, _copied(raw[i]), None


def _reports_discount(info: dict[str, Any], i: int) -> bool:
    """Whether copy i reported its discount in this step; Gymnasium fills in 0 for those that did not."""
    return "discount" in info and bool(info.get("_discount", {i: True})[i])


def check_gamma(env: Any, gamma: float | None) -> float | None:
    """Validate γ in [0, 1]; a task reports its own, which no other may replace."""
    if gamma is None:
        return None
    one = getattr(env, "envs", [env])[0]
    one = getattr(one, "unwrapped", one)
    spec = getattr(env, "spec", None)  # of a vector environment whose copies are in other processes
    if isinstance(one, Task) or getattr(spec, "namespace", None) == "tdlambda":
        raise ValueError(OWN_DISCOUNT.format(one))
    return fraction(gamma, "gamma")


def discount_of(info: dict[str, Any], gamma: float | None) -> float:
    """γ' of a step: the one that was given, or the one that the environment reports."""
    if gamma is None and "discount" not in info:
        raise ValueError('gamma: this environment reports no info["discount"]; pass gamma=, such as gamma=0.99')
    return fraction(info["discount"], 'info["discount"]') if gamma is None else gamma


def _first(found: Any) -> Any:
    """The observation after a reset."""
    if not isinstance(found, tuple) or len(found) != 2:
        raise TypeError(f"env: reset must return (observation, info), as in Gymnasium; got {found!r}")
    return found[0]


def _copied(obs: Any) -> Any:
    """A copy of an observation, in case the environment reuses its array; an integer state becomes a Python int."""
    if isinstance(obs, np.integer):
        return int(obs)
    return obs.copy() if isinstance(obs, np.ndarray) else obs

"""Policies given by probabilities: as functions of the observation, and as the behaviour of a learner."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import gymnasium as gym
import numpy as np
from numpy.typing import ArrayLike

from tdlambda.arrays import Floats, integer, real
from tdlambda.learners.learner import OnlineLearner, needs_behavior
from tdlambda.tasks import Task

Policy: TypeAlias = Callable[[Any], ArrayLike] | ArrayLike


class Predictor:
    """A learner of a policy's values as an agent: it acts by the behaviour policy and learns with ρ = π(a|s)/b(a|s)."""

    takes_next_action = False

    def __init__(
        self, learner: OnlineLearner, env: gym.Env[Any, Any], policy: Policy | None, behavior: Policy | None
    ) -> None:
        space = env.action_space
        if not isinstance(space, gym.spaces.Discrete):
            raise TypeError(f"env must have discrete actions; got {space}")
        self.n, self.start = int(space.n), int(space.start)
        if policy is None:
            task = env.unwrapped
            if not isinstance(task, Task):
                raise TypeError("policy is required, unless env is a Task, which has a target policy")
            policy = task.target
            behavior = task.behavior if behavior is None else behavior
        self.on_policy = behavior is None or behavior is policy
        self.target = as_function(policy, self.n, "policy")
        self.behavior = self.target if behavior is None else as_function(behavior, self.n, "behavior")
        self.learner: Any = learner
        self.needs_behavior, self.rho, self.probability = needs_behavior(learner), 1.0, 1.0

    def reset(self) -> None:
        """Begin a new episode."""
        self.learner.reset()

    def act(self, obs: Any, rng: np.random.Generator) -> int:
        """Draw an action for the environment; keep its ρ and its b(a|s)."""
        b = self.behavior(obs)
        a = drawn(b, rng.random())
        self.probability = float(b[a])
        if not self.on_policy:
            pi = self.target(obs)
            check_coverage(pi, b, obs, self.start)
            self.rho = float(pi[a] / b[a])
        return a + self.start

    def update(
        self, obs: Any, action: int, reward: float, next_obs: Any, next_action: None, gamma: float,  # noqa: ARG002
        terminated: bool, truncated: bool,
    ) -> None:  # fmt: skip
        """Learn from the transition after the last action."""
        if self.needs_behavior:
            b = self.probability
            self.learner.update(obs, reward, next_obs, gamma, self.rho, terminated, truncated, behavior=b)
        else:
            self.learner.update(obs, reward, next_obs, gamma, self.rho, terminated, truncated)


def drawn(probabilities: Floats, u: float) -> int:
    """The action whose probability interval contains u; never one of probability 0."""
    sums = np.cumsum(probabilities)
    return int(np.searchsorted(sums, u * sums[-1], side="right"))


def check_coverage(pi: ArrayLike, b: Floats, obs: Any, first: int = 0) -> None:
    """Validate that b takes every action that π takes at an observation; actions are numbered from `first`."""
    missed = (np.asarray(pi) > 0) & (b == 0)
    if missed.any():
        raise ValueError(
            f"behavior never takes action {int(np.argmax(missed)) + first} at observation {obs!r}, but policy does; "
            "give that action a positive probability, or its value cannot be learned"
        )


def as_function(policy: Policy, n: int, name: str) -> Callable[[Any], Floats]:
    """A policy as a function that returns validated probabilities."""

    def checked(probabilities: Any, where: str) -> Floats:
        row = real(probabilities, f"{name}{where}")
        if row.shape != (n,) or not (row >= 0).all() or abs(row.sum() - 1) > 1e-6:
            raise ValueError(f"{name}{where} must be {n} probabilities that sum to 1; got {probabilities!r}")
        return row

    if callable(policy):
        return lambda obs: checked(policy(obs), f" at observation {obs!r}")
    table = real(policy, name)
    if table.ndim == 1:
        same = checked(table, "")
        return lambda _: same
    if table.ndim != 2:
        raise ValueError(f"{name} must be a function, an array [state, action] or one row; got shape {table.shape}")
    rows = [checked(row, f" of state {state}") for state, row in enumerate(table)]
    return lambda obs: rows[integer(obs, f"observation (of {name}, a table over states)", 0, len(rows) - 1)]

"""Small MDPs, every path through them, and a critic that knows the values: to take expectations without sampling."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

import tdlambda as td
from tdlambda.learners.learner import check_numbers

Array = NDArray[Any]


class KnownValues(td.Learner):
    """A critic that is given its values and learns nothing."""

    def __init__(self, values: Any, lam: Any = 0.0) -> None:
        self.values = np.asarray(values, dtype=np.float64)
        super().__init__(td.features.OneHot(self.values.size), lam)

    def predict(self, obs: Any) -> float:
        return float(self.values[obs])

    def update(
        self,
        obs: Any,
        reward: float,
        next_obs: Any,
        gamma: float = 1.0,
        rho: float = 1.0,
        terminated: bool = False,  # noqa: ARG002
        truncated: bool = False,  # noqa: ARG002
    ) -> None:
        check_numbers(reward, gamma, rho)
        self.features.encode(obs), self.features.encode(next_obs)

    @property
    def weights(self) -> Array:
        return self.values

    def reset(self) -> None:
        pass

    def get_params(self) -> dict[str, Any]:
        return {"values": self.values.tolist(), "lam": self.rule}

    def _state(self) -> dict[str, Array]:
        return {}

    def _restore(self, state: dict[str, Array]) -> None:
        pass


@dataclass
class Small:
    """P[s, a, s'], r(s, a, s'), γ(s'), features X[s]; episodes begin in state 0 and end in the last."""

    P: Array
    R: Array
    gamma: Array
    X: Array

    @property
    def n(self) -> int:
        return len(self.gamma)

    @property
    def actions(self) -> int:
        return int(self.P.shape[1])

    def mdp(self) -> td.FiniteMDP:
        return td.FiniteMDP(self.P, self.R, discount=self.gamma, terminal=[self.n - 1], start=0)

    def table(self, theta: Array) -> Array:
        """π[s, a] of a softmax."""
        h = self.X @ theta.T
        e = np.exp(h - h.max(axis=1, keepdims=True))
        return e / e.sum(axis=1, keepdims=True)

    def visits(self, policy: Array, discount: Array) -> Array:
        """Σ_t E[γ₁⋯γ_t; S_t = s] of each state that is not terminal; with discount 1, expected visits."""
        last = self.n - 1
        step = np.einsum("sa,sat->st", policy, self.P)[:last, :last] * discount[:last]
        return np.append(np.linalg.solve(np.eye(last) - step.T, np.eye(last)[0]), 0.0)

    def paths(self, policy: Array) -> Iterator[tuple[float, list[tuple[int, int, int]]]]:
        """Every episode under a policy, with its probability; for layered ones."""

        def onward(s: int) -> Iterator[tuple[float, list[tuple[int, int, int]]]]:
            if s == self.n - 1:
                yield 1.0, []
                return
            for a in range(self.actions):
                for t in np.flatnonzero(self.P[s, a]):
                    for p, rest in onward(int(t)):
                        yield p * policy[s, a] * self.P[s, a, t], [(s, a, int(t)), *rest]

        return onward(0)


def small(seed: int, n: int = 5, actions: int = 2, size: int = 3, layered: bool = False) -> Small:
    """A random one. `layered`: to higher states only. γ < 1 differs from state to state; fewer features than states."""
    rng = np.random.default_rng(seed)
    P = rng.random((n, actions, n)) * (rng.random((n, actions, n)) < 0.7)
    if layered:
        P *= np.arange(n) > np.arange(n)[:, None, None]
    P[:, :, -1] += 0.1 + 0.3 * rng.random((n, actions))
    P /= P.sum(axis=2, keepdims=True)
    P[-1] = 0.0
    gamma = np.append(rng.uniform(0.3, 1.0, n - 1), 0.0)
    return Small(P, rng.normal(size=P.shape), gamma, rng.normal(size=(n, size)))


def numerical_gradient(function: Callable[[Array], float], at: Array, step: float = 1e-5) -> Array:
    """Central differences."""
    gradient = np.zeros_like(at)
    for index in np.ndindex(*at.shape):
        away = np.zeros_like(at)
        away[index] = step
        gradient[index] = (function(at + away) - function(at - away)) / (2 * step)
    return gradient


def change(agent: td.ActorCritic, *step: Any, **more: Any) -> Array:
    """What one update adds to θ, which then is put back: a sum of these is over steps with θ held."""
    before = agent.theta.copy()
    agent.update(*step, **more)
    after = agent.theta.copy()
    agent.actor.memory.rows[: agent.policy.rows, : agent.features.size] = before
    return after - before

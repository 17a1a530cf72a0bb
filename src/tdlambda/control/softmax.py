"""The softmax policy, linear in the features (Sutton & Barto 2018, equations 13.2 and 13.3).

    π(a|s) = exp(θ_a·x) / Σ_b exp(θ_b·x)
    ∇_{θ_b} log π(a|s) = (1[b = a] - π(b|s)) x
    ∇_{θ_b} H(π(·|s))  = -π(b|s) (log π(b|s) + H) x,    H = -Σ_a π(a|s) log π(a|s)

x is x(s), and θ has a row for each action.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import gymnasium as gym
import numpy as np
from numpy.typing import ArrayLike

from tdlambda.arrays import Floats, integer
from tdlambda.control.exploration import draw, softmax
from tdlambda.control.policy import Behavior, Policy, PolicyKernel
from tdlambda.features import Encoder, Network
from tdlambda.runner.behavior import as_function, check_coverage, drawn


def distribution(s: Any, out: Floats) -> None:
    """Replace the preferences in `out` by π(·|s)."""
    n = out.size // 2
    softmax(out[:n], 1.0, out[:n])


def choose(out: Floats, u: float) -> int:
    """The action that a uniform random number u selects."""
    return draw(out[: out.size // 2], u)


def score(s: Any, action: int, point: Floats, out: Floats) -> None:
    """Replace π(·|s) in `out` by the gradients of log π(action|s), then of H, with respect to the preferences.

    The latter are 0 if τ = 0.
    """
    n, entropy = out.size // 2, 0.0
    for b in range(n):
        out[n + b] = 0.0
        if s.tau > 0.0 and out[b] > 0.0:  # logarithms are slow
            out[n + b] = math.log(out[b])
            entropy -= out[b] * out[n + b]
    for b in range(n):
        if s.tau > 0.0:
            out[n + b] = -out[b] * (out[n + b] + entropy)
        out[b] = (1.0 if b == action else 0.0) - out[b]


class Softmax(Policy):
    """A softmax policy over preferences that are linear in the features; θ is [action, feature].

    Equal rows of θ give the uniform policy.

    Parameters
    ----------
    actions
        Number of actions, at least 1; actions are the integers 0, 1, ….
    features, initial
        See `Policy`.

    Examples
    --------
    >>> import tdlambda as td
    >>> agent = td.ActorCritic(td.TrueOnlineTD(td.features.OneHot(2), alpha=0.1), td.control.Softmax(3), eta=0.1)
    >>> agent.policy_at(0).round(3)
    array([0.333, 0.333, 0.333])
    >>> agent.update(0, 2, 1.0, 1, gamma=1.0, terminated=True)        # action 2 was better than expected
    >>> agent.policy_at(0).round(3)
    array([0.322, 0.322, 0.356])
    """

    kernel = PolicyKernel("softmax", distribution, score, choose)

    def __init__(self, actions: int, features: Encoder | Network | None = None, initial: ArrayLike = 0.0) -> None:
        super().__init__(features, initial)
        self.actions = self.rows = integer(actions, "actions", 1)
        self._no_point = np.zeros(0)

    def validated(self, action: Any) -> tuple[int, Floats]:
        """The action as an integer, validated."""
        if type(action) is not int or not 0 <= action < self.actions:
            action = integer(action, "action", 0, self.actions - 1)
        return action, self._no_point

    def distribution(self, out: Floats) -> Floats:
        """The probability of each action."""
        return out[: self.actions].copy()

    def draw(self, distribution: Floats, rng: np.random.Generator) -> int:
        """Draw an action."""
        return drawn(distribution, rng.random())

    def mode(self, distribution: Floats) -> int:
        """The most probable action; the first one if there are ties."""
        return int(np.argmax(distribution))

    def log_density(self, distribution: Floats, action: Any) -> float:
        """Log π(action|s)."""
        with np.errstate(divide="ignore"):
            return float(np.log(distribution[self.validated(action)[0]]))

    def behavior(self, given: Behavior) -> Callable[[Any], Floats]:
        """Build a behaviour policy from a row of probabilities, a table [state, action] or a function."""
        function = as_function(given, self.actions, "behavior")  # type: ignore[arg-type]  # a pair is not probabilities

        def positive(obs: Any) -> Floats:
            row = function(obs)
            check_coverage(1.0, row, obs)
            return row

        return positive

    def for_space(self, space: gym.Space[Any]) -> Callable[[Any], Any]:
        """Convert actions to a `Discrete` space of the same size."""
        if not isinstance(space, gym.spaces.Discrete):
            raise TypeError(
                f"env: its actions are {space}, but a softmax policy needs Discrete actions; for a Box, use "
                "td.control.Gaussian"
            )
        if space.n != self.actions:
            raise ValueError(
                f"env has {space.n} actions, but the policy has {self.actions}; use td.control.Softmax({space.n})"
            )
        first = int(space.start)
        return lambda action: action + first

"""Policies derived from action values: ε-greedy and softmax, with a constant or decreasing level.

    ε-greedy     π(a|s) = ε/n + (1 - ε) 1[a is best]/#best        n actions; the best ones share 1 - ε
    softmax      π(a|s) ∝ exp(q(s,a)/τ)

The functions below are plain Python: `control.value_modules` copies their source into generated modules.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, ClassVar, Literal, TypeAlias

import numpy as np

from tdlambda.arrays import Floats, choice, finite, fraction, integer, positive
from tdlambda.parameters import ByParameters
from tdlambda.showing import says_arguments

LEVEL = {"start": "f8", "end": "f8", "after": "i8", "over": "i8", "episodes": "i8"}
"""Numbers of a decreasing level, as compiled code reads them."""


def level(start: float, end: float, after: int, over: int, n: int) -> float:
    """The level after n steps or episodes: `start` up to `after`, then linear to `end`."""
    if n < after:
        return start
    if n >= after + over:
        return end
    return start + (end - start) * (n - after) / over


def epsilon_greedy(q: Floats, epsilon: float, out: Floats) -> None:
    """Write the probability of each action into `out`; `epsilon` is in [0, 1]."""
    best, count = q[0], 0
    for a in range(q.size):
        best = max(best, q[a])
    for a in range(q.size):
        count += q[a] == best
    share = 1.0 - epsilon
    if count > 1:
        share /= count
    for a in range(q.size):
        out[a] = epsilon / q.size
        if q[a] == best:
            out[a] += share


def softmax(q: Floats, temperature: float, out: Floats) -> None:
    """Write the probability of each action into `out`; `temperature` is positive.

    The largest value is subtracted to avoid overflow.
    """
    best, total = q[0], 0.0
    for a in range(q.size):
        best = max(best, q[a])
    for a in range(q.size):
        out[a] = math.exp((q[a] - best) / temperature)
        total += out[a]
    for a in range(q.size):
        out[a] /= total


def draw(probabilities: Floats, u: float) -> int:
    """The action whose interval of [0, 1) contains u; never one of probability 0."""
    total, last = 0.0, 0
    for k in range(probabilities.size):
        if probabilities[k] > 0:
            total += probabilities[k]
            if u < total:
                return k
            last = k
    return last


@says_arguments
class Falling(ByParameters):
    """A level that decreases linearly from `start` to `end` over a number of steps or episodes.

    Parameters
    ----------
    start, end
        Initial and final level: in [0, 1] for ε, positive for a temperature.
    over
        Duration of the decrease in units of `by`, at least 0; with 0 it is immediate.
    by
        Unit of time: "steps" or "episodes".
    after
        Time for which the level first stays at `start`, in units of `by`, at least 0.

    Examples
    --------
    >>> import tdlambda as td
    >>> td.control.EpsilonGreedy(td.control.Falling(1.0, 0.1, over=10_000))
    EpsilonGreedy(Falling(1, 0.1, over=10000))
    """

    def __init__(
        self, start: float, end: float, over: int, by: Literal["steps", "episodes"] = "steps", after: int = 0
    ) -> None:
        self.start, self.end = finite(start, "start"), finite(end, "end")
        self.over, self.after = integer(over, "over", 0), integer(after, "after", 0)
        self.by = choice(by, "by", "steps", "episodes")

    def at(self, steps: int, episodes: int = 0) -> float:
        """The level at this time.

        Parameters
        ----------
        steps, episodes
            Number of updates and of finished episodes so far, at least 0.
        """
        return level(self.start, self.end, self.after, self.over, episodes if self.by == "episodes" else steps)

    def __repr__(self) -> str:
        """The call that builds this level."""
        more = f", by={self.by!r}" * (self.by != "steps") + f", after={self.after}" * (self.after > 0)
        return f"Falling({self.start:g}, {self.end:g}, over={self.over}{more})"


Level: TypeAlias = float | Falling
"""A constant level, or one that decreases."""


class GreedyPolicy(ByParameters):
    """A policy derived from action values with one parameter, its level."""

    kernel: ClassVar[Any]
    name: ClassVar[str]
    """Name of the level."""

    def __init__(self, given: Level, check: Callable[[Any, str], float]) -> None:
        if isinstance(given, Falling):
            check(given.start, f"{self.name}.start"), check(given.end, f"{self.name}.end")
            self.level: Level = given
        else:
            self.level = check(given, self.name)

    def numbers(self) -> dict[str, float]:
        """The level as compiled code reads it."""
        one = self.level if isinstance(self.level, Falling) else Falling(self.level, self.level, 0)
        found = {name: getattr(one, name) for name in ("start", "end", "after", "over")}
        return found | {"episodes": one.by == "episodes"}

    def at(self, steps: int, episodes: int = 0) -> float:
        """The level at this time: see `Falling.at`."""
        return self.level.at(steps, episodes) if isinstance(self.level, Falling) else self.level

    def probabilities(self, q: Floats, steps: int = 0, episodes: int = 0) -> Floats:
        """π(·|s) from the action values."""
        values, out = np.ascontiguousarray(q, dtype=np.float64), np.empty(len(q))
        type(self).kernel(values, self.at(steps, episodes), out)
        return out

    def __repr__(self) -> str:
        """The call that builds this policy."""
        return f"{type(self).__name__}({self.level!r})"


@says_arguments
class EpsilonGreedy(GreedyPolicy):
    """ε-greedy: a greedy action, or with probability ε a random one; ties are broken uniformly.

    Parameters
    ----------
    epsilon
        ε, a number in [0, 1] or a `td.control.Falling` level.

    Examples
    --------
    >>> import numpy as np, tdlambda as td
    >>> td.control.EpsilonGreedy(0.3).probabilities(np.array([1.0, 2.0, 2.0])).round(3)
    array([0.1 , 0.45, 0.45])
    """

    kernel, name, kept_as = staticmethod(epsilon_greedy), "epsilon", {"epsilon": "level"}

    def __init__(self, epsilon: Level = 0.1) -> None:
        super().__init__(epsilon, fraction)


@says_arguments
class Boltzmann(GreedyPolicy):
    """The softmax of action values, π(a|s) ∝ exp(q(s,a)/τ).

    (`td.control.Softmax` is an actor's policy, with its own parameters θ.)

    Parameters
    ----------
    temperature
        τ > 0, in the unit of the values: a number or a `td.control.Falling` level.

    Examples
    --------
    >>> import numpy as np, tdlambda as td
    >>> td.control.Boltzmann(1.0).probabilities(np.array([0.0, 1.0])).round(3)
    array([0.269, 0.731])
    """

    kernel, name, kept_as = staticmethod(softmax), "temperature", {"temperature": "level"}

    def __init__(self, temperature: Level = 1.0) -> None:
        super().__init__(temperature, positive)

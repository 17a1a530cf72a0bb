"""Rules that do not learn: one λ for all, or one for each state."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from tdlambda.arrays import Floats, integer, per_state, real
from tdlambda.rules.lambda_rule import Rule


class Fixed(Rule):
    """The same λ everywhere.

    Parameters
    ----------
    lam
        Trace decay λ, in [0, 1].

    Examples
    --------
    >>> Fixed(0.9).at(3)
    0.9
    """

    def __init__(self, lam: float) -> None:
        self.lam = float(per_state(lam, 1, "lam", 0, 1)[0])

    def at(self, obs: Any) -> float:  # noqa: ARG002, the same everywhere
        """The same λ at every observation."""
        return self.lam

    def at_many(self, observations: Any, n: int) -> Floats:  # noqa: ARG002
        """An array of n times λ."""
        return np.full(n, self.lam)


class PerState(Rule):
    """One λ for each state; observations are state numbers.

    Parameters
    ----------
    lam
        Trace decay λ of each state, in [0, 1].

    Examples
    --------
    >>> PerState([1.0, 0.5, 0.0]).at(1)
    0.5
    """

    def __init__(self, lam: ArrayLike) -> None:
        array = np.atleast_1d(real(lam, "lam"))
        self.lam = per_state(array, array.size, "lam", 0, 1)

    def at(self, obs: Any) -> float:
        """The λ of this state."""
        return float(self.lam[integer(obs, "obs (a state, because lam is per state)", 0, self.lam.size - 1)])

    def at_many(self, observations: Any, n: int) -> Floats:
        """The λ of each of these states."""
        states = np.asarray(observations) if n else np.zeros(0, dtype=np.int64)
        if not np.issubdtype(states.dtype, np.integer) or states.shape != (n,):
            raise TypeError(
                f"obs must be integers, states, because lam is per state; got {states.dtype} of shape {states.shape}"
            )
        if n and (states.min() < 0 or states.max() >= self.lam.size):
            raise ValueError(
                f"obs: lam has states 0 to {self.lam.size - 1}; got states from {states.min()} to {states.max()}"
            )
        return self.lam[states]

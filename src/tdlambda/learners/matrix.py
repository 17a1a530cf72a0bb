"""Base classes of learners with a dense matrix over the features: size limit, traces, emphasis, state.

    e = ρ (γλ e + M x)                                        the trace, with M = 1 unless it is emphatic
    F = ρ⁻ γ F⁻ + i,   M = λ i + (1-λ) F                      emphatic: Sutton, Mahmood & White (2016)

γ and λ belong to x, ρ to this step, ρ⁻ to the step before; i is the interest in x. An episode starts with e = 0, F = i.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar, Literal, SupportsIndex

import numpy as np
from numpy.typing import ArrayLike

from tdlambda.arrays import Floats, Ints, flag, integer, not_negative, positive, read_only, real
from tdlambda.compiled import inlined
from tdlambda.features import Encoder
from tdlambda.learners.episode import BatchLearner, record
from tdlambda.learners.learner import Array
from tdlambda.rules import Lam

TINY = 1e-200
"""Smaller traces are set to 0: arithmetic with subnormal numbers is very slow."""
MOST = 1e300
"""Cap on the follow-on trace F, because (1-λ) F must be finite at λ = 1."""


@inlined
def largest(start: float, values: Floats) -> float:
    """The largest of `start` and |values|; NaN if any of them is NaN."""
    for j in range(values.size):
        size = abs(values[j])
        if not size <= start:
            start = size
            if start != start:
                break
    return start


@inlined
def add_rows(A: Floats, e: Floats, factor: float, index: Ints, value: Floats) -> None:
    """Compute A += factor x eᵀ, for x given by its active features."""
    for j in range(index.size):
        by = factor * value[j]
        if by != 0:
            row = A[index[j]]
            for f in range(e.size):
                row[f] += by * e[f]


@inlined
def fade(e: Floats, keep: float) -> None:
    """Compute e *= keep."""
    for f in range(e.size):
        decayed = e[f] * keep
        e[f] = decayed if abs(decayed) > TINY else 0.0


@inlined
def step_trace(e: Floats, keep: float, new: float, x: Ints, xv: Floats) -> None:
    """Compute e = keep e + new x."""
    fade(e, keep)
    for j in range(x.size):
        e[x[j]] += new * xv[j]


@inlined
def follow_on(keep: float, F: float, interest: float) -> float:
    """The follow-on trace F = keep F⁻ + i, with keep = ρ⁻γ."""
    return min(keep * F + interest, MOST)


class MatrixLearner(BatchLearner):
    """Base class of learners with a dense matrix over the features: size² numbers, and a limit on `size`."""

    state_power: ClassVar[int] = 2
    """The state grows with the square of the number of features."""
    numbers: ClassVar[str] = "gamma lam rho follow_on"
    """Names of its numbers, none of them negative; γ, λ and ρ of the last step first."""
    parts: ClassVar[str]
    """Names of its arrays: `_A` is "A"."""

    def __init__(
        self,
        features: Encoder,
        lam: Lam,
        *,
        max_size: SupportsIndex = 5000,
        bound: float = 1e100,
        on_divergence: Literal["raise", "flag"] = "raise",
    ) -> None:
        super().__init__(features, lam, bound, on_divergence)
        self.max_size, size = integer(max_size, "max_size", 1), features.size
        if size > self.max_size:
            raise ValueError(
                f"features: {type(self).__name__} keeps a dense {size} × {size} matrix ({8e-9 * size**2:.1f} GB), but "
                f"max_size is {self.max_size} features. Use fewer features, another learner, or a larger max_size"
            )
        self._e: Floats = np.zeros(size)
        self._number = record("f8", self.numbers)

    @property
    def trace(self) -> Array:
        """The eligibility trace e, as a read-only view."""
        return read_only(self._e)

    def reset(self) -> None:
        """Set the trace to 0, as at the start of an episode; keep everything learned."""
        with self._guard:
            self._e[:] = 0.0
            self._number["follow_on"] = 0.0

    def _state(self) -> dict[str, Array]:
        own = {"numbers": self._number.view(np.float64), "counts": self._count.view(np.int64)}
        return {name: getattr(self, f"_{name}") for name in self.parts.split()} | own

    def _restore(self, state: dict[str, Array]) -> None:
        new = self._fitted(state, {name: (array.shape, str(array.dtype)) for name, array in self._state().items()})
        number, count = new["numbers"].view(self._number.dtype), new["counts"].view(self._count.dtype)
        if not (np.isfinite(new["numbers"]) & (new["numbers"] >= 0)).all() or number["gamma"] > 1 or number["lam"] > 1:
            raise ValueError(
                "state 'numbers' does not fit this learner: all must be finite and not negative, γ and λ in [0, 1]"
            )
        names = self.parts.split()
        if count["diverged_at"] < 0 and not all(np.isfinite(new[name]).all() for name in names):
            raise ValueError(f"state: {', '.join(names)} must be finite")
        self._number, self._count = number, count
        for name in names:
            setattr(self, f"_{name}", new[name])


class LeastSquares(MatrixLearner):
    """Base class of learners of the linear system of TD(λ) or ETD(λ): ridge, forgetting, emphasis.

    Parameters
    ----------
    features
        Encoder of observations.
    lam
        Trace decay λ: a number in [0, 1], one for each state, or a rule.
    ridge
        Number ≥ 0 added to A's diagonal.
    forgetting
        Factor μ, in (0, 1], on the weight of all earlier data at each step. 1 forgets nothing; μ < 1 remembers about
        1/(1-μ) steps and tracks a moving target.
    emphatic
        Whether the trace is emphatic: the fixed point is then that of ETD(λ), not of TD(λ).
    interest
        Interest i ≥ 0 of an emphatic learner: one number for all observations, or one for each feature,
        i(x) = interest·x (with one-hot features, one for each state).
    max_size
        Largest number of features accepted, at least 1.
    bound
        Positive number: the learner has diverged when a trace, or a term of A or b, exceeds it. Off-policy, traces may
        grow without bound.
    on_divergence
        "raise" raises `Diverged` once; "flag" only sets `diverged_at`. In both cases A and b are kept and learning
        stops.
    """

    def __init__(
        self,
        features: Encoder,
        lam: Lam = 0.9,
        ridge: float = 1e-6,
        *,
        forgetting: float = 1.0,
        emphatic: bool = False,
        interest: ArrayLike = 1.0,
        max_size: SupportsIndex = 5000,
        bound: float = 1e100,
        on_divergence: Literal["raise", "flag"] = "raise",
    ) -> None:
        super().__init__(features, lam, max_size=max_size, bound=bound, on_divergence=on_divergence)
        self.ridge, self.forgetting = not_negative(ridge, "ridge"), positive(forgetting, "forgetting")
        self.emphatic, self.interest = flag(emphatic, "emphatic"), real(interest, "interest")
        if self.forgetting > 1:
            raise ValueError(f"forgetting must be in (0, 1], 1 to forget nothing; got {forgetting}")
        given = self.interest
        if given.shape not in ((), (features.size,)) or not ((given >= 0) & (given <= self.bound)).all():
            raise ValueError(
                f"interest must be a number from 0 to bound, or {features.size} of them, one for each feature; got "
                f"{interest!r}"
            )
        if not self.emphatic and (given != 1).any():
            raise ValueError(f"interest needs emphatic=True; got interest={interest!r} with emphatic=False")
        self._allocate(features.size)

    @abstractmethod
    def _allocate(self, size: int) -> None:
        """Allocate the other arrays in their initial state."""

    def _interests(self, x: Ints, xv: Floats) -> Floats:
        """The interest i(x) of each row, validated; empty if not emphatic."""
        if not self.emphatic:
            return np.empty(0)
        if self.interest.ndim == 0:
            return np.full(len(x), float(self.interest))
        found: Floats = (xv * self.interest[x]).sum(axis=1)
        if found.min() < 0:
            row = int(np.argmin(found))
            raise ValueError(f"interest: interest·x must not be negative; got {found[row]} (row {row})")
        return found

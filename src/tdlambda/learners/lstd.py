"""LSTD(λ): Bradtke & Barto (1996), Boyan (2002); off-policy: Yu (2010).

    e  = ρ (γλ e + x)
    A += e (x - γ' x')ᵀ
    b += e r'
    w  = (A + ridge I)⁻¹ b

γ and λ belong to x, ρ to this step. A and b are sums over the stream, so the ridge matters less with every step.
"""

from typing import Any, ClassVar, Literal, SupportsIndex

import numpy as np
import scipy

from tdlambda.arrays import Bools, Floats, Ints, integer, not_negative
from tdlambda.compiled import inlined, kernel
from tdlambda.features import Encoder
from tdlambda.learners.base import Array
from tdlambda.learners.episode import BatchLearner, record

_RANK_TOLERANCE = 1e-10
TINY = 1e-200
"""A trace below this is 0: numbers so small that the processor keeps them with fewer digits are very slow."""


@inlined
def _largest(start: float, values: Floats) -> float:
    for j in range(values.size):
        start = max(start, abs(values[j]))
    return start


@inlined
def _add_rows(A: Floats, e: Floats, factor: float, index: Ints, value: Floats) -> None:
    """A += factor x eᵀ, for x given by its active features."""
    for j in range(index.size):
        by = factor * value[j]
        if by != 0:
            row = A[index[j]]
            for f in range(e.size):
                row[f] += by * e[f]


@kernel
def learn_rows(
    A: Floats, b: Floats, e: Floats, number: Array, count: Array, bound: float,
    x: Ints, xv: Floats, y: Ints, yv: Floats, reward: Floats, gamma: Floats, rho: Floats, lam: Floats,
    terminated: Bools, truncated: Bools,
) -> bool:  # fmt: skip
    """Transitions in order. A is kept transposed: each active feature adds a multiple of e to a row, not a column."""
    at_x, c = number[0], count[0]
    for t in range(reward.size):
        c.seen += 1
        gamma_next = 0.0 if terminated[t] else gamma[t]
        keep = rho[t] * at_x.gamma * at_x.lam
        for f in range(e.size):
            decayed = e[f] * keep
            e[f] = decayed if abs(decayed) > TINY else 0.0
        for j in range(x.shape[1]):
            e[x[t, j]] += rho[t] * xv[t, j]
        largest = _largest(_largest(max(1.0, abs(reward[t])), xv[t]), yv[t])
        if not largest * _largest(0.0, e) <= bound:
            c.diverged_at = c.seen
            return False
        for f in range(e.size):
            b[f] += reward[t] * e[f]
        _add_rows(A, e, 1.0, x[t], xv[t])
        _add_rows(A, e, -gamma_next, y[t], yv[t])
        at_x.gamma, at_x.lam = gamma_next, lam[t]
        if terminated[t] or truncated[t]:
            e[:] = 0.0
    return True


def _solve(A: Floats, b: Floats, exact: bool) -> Floats:
    """W with A w = b; the least of those that come nearest where A is singular or not `exact`."""
    if exact:
        try:
            return np.asarray(np.linalg.solve(A, b), dtype=np.float64)
        except np.linalg.LinAlgError:
            pass
    return np.asarray(scipy.linalg.lstsq(A, b, cond=_RANK_TOLERANCE)[0], dtype=np.float64)


class LSTD(BatchLearner):
    """Least-squares TD(λ), on- and off-policy: the fixed point of TD(λ) for the data so far, with no step size.

    A is a dense matrix of size² numbers. A step costs O(active · size), O(size²) with dense features. Weights are
    solved for when they are asked for, at O(size³), and kept until the next step: learn many, then predict.

    Parameters
    ----------
    features
        Encoder of observations.
    lam
        λ: a number, one for each state, or a rule.
    ridge
        Added to A's diagonal. With 0, or where the system is singular all the same, w is the least of the
        least-squares solutions.
    max_size
        The most features it accepts.
    bound
        A trace beyond this, or a term of A or b, is divergence, and A and b stay as they were: off-policy, traces may
        grow without limit.
    on_divergence
        "raise" `Diverged` once, or "flag" it: see `diverged_at`. Either way the learner then learns no more.

    Examples
    --------
    >>> import tdlambda as td
    >>> boyan = td.make("BoyanChain-v0")
    >>> v = LSTD(boyan.features, lam=0.4)
    >>> v.update_many(boyan.sampler(seed=1).take(10_000))
    >>> bool(abs(v.weights - [-24, -16, -8, 0]).max() < 0.05)
    True
    """

    state_power: ClassVar[int] = 2
    """The state grows with the square of the features."""

    def __init__(
        self,
        features: Encoder,
        lam: Any = 0.9,
        ridge: float = 1e-6,
        *,
        max_size: SupportsIndex = 5000,
        bound: float = 1e100,
        on_divergence: Literal["raise", "flag"] = "raise",
    ) -> None:
        super().__init__(features, lam, bound, on_divergence)
        self.ridge, self.max_size, size = not_negative(ridge, "ridge"), integer(max_size, "max_size", 1), features.size
        if size > self.max_size:
            raise ValueError(
                f"features: LSTD keeps a dense {size} × {size} matrix ({8e-9 * size**2:.1f} GB) and solves it; "
                f"it accepts {self.max_size} features. Take fewer, another learner, or a larger max_size"
            )
        self._A: Floats = np.zeros((size, size))
        self._b: Floats = np.zeros(size)
        self._e: Floats = np.zeros(size)
        self._number = record("f8", "gamma lam")  # of x_t
        self._w: Floats | None = None

    @property
    def weights(self) -> Array:
        """The weights w, solved for if there was a step since they were asked for last; they cannot be written."""
        w = self._w
        if w is None:
            with self._guard.quiet:
                w = _solve(self._A.T + self.ridge * np.eye(self.features.size), self._b, exact=self.ridge > 0)
                w.flags.writeable = False
                self._w = w
        return w

    @property
    def trace(self) -> Array:
        """The eligibility trace e, as a view that cannot be written."""
        view = self._e.view()
        view.flags.writeable = False
        return view

    def reset(self) -> None:
        """Set the trace to 0, as at an episode's start; keep what was learnt."""
        with self._guard:
            self._e[:] = 0.0

    def get_params(self) -> dict[str, Any]:
        """The constructor's arguments."""
        own = {"features": self.features, "lam": self.rule, "ridge": self.ridge, "max_size": self.max_size}
        return own | {"bound": self.bound, "on_divergence": self.on_divergence}

    def _take(
        self, x: Ints, xv: Floats, y: Ints, yv: Floats, reward: Floats, gamma: Floats, rho: Floats, lam: Floats,
        terminated: Bools, truncated: Bools,
    ) -> bool:  # fmt: skip
        self._w = None
        numbers = (reward, gamma, rho, lam, terminated, truncated)
        return learn_rows(self._A, self._b, self._e, self._number, self._count, self.bound, x, xv, y, yv, *numbers)

    def _state(self) -> dict[str, Array]:
        own = {"numbers": self._number.view(np.float64), "counts": self._count.view(np.int64)}
        return {"A": self._A, "b": self._b, "e": self._e} | own

    def _restore(self, state: dict[str, Array]) -> None:
        new = self._fitted(state, {name: (array.shape, str(array.dtype)) for name, array in self._state().items()})
        count = new["counts"].view(self._count.dtype)
        if not ((new["numbers"] >= 0) & (new["numbers"] <= 1)).all():
            raise ValueError("state 'numbers' does not fit this learner: γ and λ must be in [0, 1]")
        if count["diverged_at"] < 0 and not all(np.isfinite(new[name]).all() for name in "Abe"):
            raise ValueError("state: A, b and e must be finite")
        self._A, self._b, self._e = (new[name] for name in "Abe")
        self._number, self._count, self._w = new["numbers"].view(self._number.dtype), count, None

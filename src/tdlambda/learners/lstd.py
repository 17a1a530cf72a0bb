"""LSTD(λ): Bradtke & Barto (1996), Boyan (2002); off-policy: Yu (2010); emphatic: Sutton, Mahmood & White (2016).

    e  = ρ (γλ e + M x)                       M = 1, or the emphasis of ETD(λ): see `learners.matrix`
    A  = μ A + e (x - γ' x')ᵀ
    b  = μ b + e r'
    w  = (A + ridge I)⁻¹ b

γ and λ belong to x, ρ to this step. Without forgetting (μ = 1), A and b are sums over the stream, so the ridge matters
less with every step.
"""

from typing import Any, ClassVar

import numpy as np
import scipy

from tdlambda.arrays import Floats
from tdlambda.compiled import kernel
from tdlambda.learners.episode import Columns
from tdlambda.learners.learner import Array
from tdlambda.learners.matrix import LeastSquares, add_rows, follow_on, largest, step_trace

_RANK_TOLERANCE = 1e-10
_SMALL = 1e-30
"""The common factor of A and b, μ to the number of steps, is multiplied into them when it falls below this."""


@kernel
def learn_rows(
    A: Floats, b: Floats, e: Floats, number: Array, count: Array, bound: float, forgetting: float, interest: Floats,
    columns: Columns,
) -> bool:  # fmt: skip
    """Learn from transitions in order. A is kept transposed: each active feature adds a multiple of e to a row."""
    x, xv, y, yv, reward, gamma, rho, lam, terminated, truncated = columns
    s, c = number[0], count[0]
    for t in range(reward.size):
        c.seen += 1
        gamma_next = 0.0 if terminated[t] else gamma[t]
        new = rho[t]
        if interest.size:
            s.follow_on = follow_on(s.rho * s.gamma, s.follow_on, interest[t])
            new *= s.lam * interest[t] + (1 - s.lam) * s.follow_on
        step_trace(e, rho[t] * s.gamma * s.lam, new, x[t], xv[t])
        most = largest(largest(max(1.0, abs(reward[t])), xv[t]), yv[t])
        if not most * largest(0.0, e) <= bound:
            c.diverged_at = c.seen
            return False
        s.scale *= forgetting
        if s.scale < _SMALL:
            for f in range(b.size):
                b[f] *= s.scale
                for k in range(b.size):
                    A[f, k] *= s.scale
            s.scale = 1.0
        weight = 1.0 / s.scale
        for f in range(e.size):
            b[f] += weight * reward[t] * e[f]
        add_rows(A, e, weight, x[t], xv[t])
        add_rows(A, e, -weight * gamma_next, y[t], yv[t])
        s.gamma, s.lam, s.rho = gamma_next, lam[t], rho[t]
        if terminated[t] or truncated[t]:
            s.follow_on = 0.0
            e[:] = 0.0
    return True


def solve(A: Floats, b: Floats, exact: bool) -> Floats:
    """The solution w of A w = b; the minimum-norm least-squares solution if A is singular or not `exact`."""
    if exact:
        try:
            return np.asarray(np.linalg.solve(A, b), dtype=np.float64)
        except np.linalg.LinAlgError:
            pass
    return np.asarray(scipy.linalg.lstsq(A, b, cond=_RANK_TOLERANCE)[0], dtype=np.float64)


class LSTD(LeastSquares):
    """Least-squares TD(λ), on- and off-policy: computes the fixed point of TD(λ) for the data so far; no step size.

    A is a dense matrix of size² numbers. A step costs O(active · size), or O(size²) with dense features. The weights
    are solved for when they are read, at O(size³), and cached until the next step, so learn from many transitions
    between predictions. If you need weights after every step, use `RecursiveLSTD`.

    Parameters
    ----------
    features, lam, forgetting, emphatic, interest, max_size, bound, on_divergence
        See `LeastSquares`.
    ridge
        Number ≥ 0 added to A's diagonal. If the system is singular, as it may be with 0, w is the minimum-norm
        least-squares solution.

    Examples
    --------
    >>> import tdlambda as td
    >>> boyan = td.make("BoyanChain-v0")
    >>> v = LSTD(boyan.features, lam=0.4)
    >>> v.update_many(boyan.sampler(seed=1).take(10_000))
    >>> bool(abs(v.weights - [-24, -16, -8, 0]).max() < 0.05)
    True
    """

    parts: ClassVar[str] = "A b e"
    numbers: ClassVar[str] = f"{LeastSquares.numbers} scale"
    """A and b are stored divided by `scale`, so that forgetting does not cost O(size²) per step."""

    def _allocate(self, size: int) -> None:
        self._A: Floats = np.zeros((size, size))
        self._b: Floats = np.zeros(size)
        self._number["scale"] = 1.0
        self._w: Floats | None = None

    @property
    def weights(self) -> Array:
        """The weights w, read-only; solved for if there was a step since they were last read."""
        w = self._w
        if w is None:
            with self._guard.quiet:
                scale = float(self._number["scale"][0])
                A = scale * self._A.T + self.ridge * np.eye(self.features.size)
                w = solve(A, scale * self._b, exact=self.ridge > 0)
                w.flags.writeable = False
                self._w = w
        return w

    def _take(self, *columns: Any) -> bool:
        own = (self.bound, self.forgetting, self._interests(*columns[:2]))
        self._w = None
        return learn_rows(self._A, self._b, self._e, self._number, self._count, *own, columns)

    def _restore(self, state: dict[str, Array]) -> None:
        super()._restore(state)
        self._w = None

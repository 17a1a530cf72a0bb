"""LSPE(λ), least-squares policy evaluation: Nedić & Bertsekas (2003); Bertsekas, Borkar & Nedić (2004).

    e  = ρ (γλ e + x)
    A += e (x - γ' x')ᵀ
    b += e r'
    G -= (G x)(G x)ᵀ / (1 + xᵀ G x)           G = (Σ x xᵀ + ridge I)⁻¹
    w += step G (b - A w)

A step applies the operator of TD(λ) to V and projects the result onto the features, by least squares over the
observations so far. On-policy this is a contraction, and w converges to the solution of A w = b, as in LSTD, for any
step in (0, 1]. The ridge enters G only, so it does not change the limit of w. Off-policy w may diverge, because A need
not be positive definite.
"""

from __future__ import annotations

from typing import Any, ClassVar, Literal, SupportsIndex

import numpy as np
from numpy.typing import ArrayLike

from tdlambda.arrays import Floats, positive, read_only
from tdlambda.compiled import kernel
from tdlambda.core.runtime import LARGEST, dot
from tdlambda.features import Encoder
from tdlambda.learners.episode import Columns
from tdlambda.learners.learner import Array
from tdlambda.learners.matrix import MatrixLearner, add_rows, largest, step_trace
from tdlambda.learners.step_size import initial_weights
from tdlambda.rules import Lam


@kernel
def learn_rows(
    A: Floats, G: Floats, b: Floats, w: Floats, e: Floats, gap: Floats, move: Floats, number: Array, count: Array,
    bound: float, step: float,
    columns: Columns,
) -> bool:  # fmt: skip
    """Learn from transitions in order. A is kept transposed, as in LSTD; G is symmetric."""
    x, xv, y, yv, reward, gamma, rho, lam, terminated, truncated = columns
    s, c, size = number[0], count[0], e.size
    for t in range(reward.size):
        c.seen += 1
        gamma_next = 0.0 if terminated[t] else gamma[t]
        step_trace(e, rho[t] * s.gamma * s.lam, rho[t], x[t], xv[t])
        most = largest(largest(max(1.0, abs(reward[t])), xv[t]), yv[t])
        if not most * largest(0.0, e) <= bound:
            c.diverged_at = c.seen
            return False
        for f in range(size):
            b[f] += reward[t] * e[f]
        add_rows(A, e, 1.0, x[t], xv[t])
        add_rows(A, e, -gamma_next, y[t], yv[t])
        move[:] = 0.0
        for j in range(x.shape[1]):  # computes G x
            if xv[t, j] != 0:
                of_j = G[x[t, j]]
                for f in range(size):
                    move[f] += xv[t, j] * of_j[f]
        denominator = 1.0 + dot(move, x[t], xv[t], x.shape[1])
        for j in range(size):
            by = move[j] / denominator
            if by != 0:
                of_j = G[j]
                for f in range(size):
                    of_j[f] -= by * move[f]
        for f in range(size):
            gap[f] = b[f]
        for j in range(size):  # computes b - A w
            if w[j] != 0:
                of_j = A[j]
                for f in range(size):
                    gap[f] -= w[j] * of_j[f]
        move[:] = 0.0
        for j in range(size):
            if gap[j] != 0:
                of_j = G[j]
                for f in range(size):
                    move[f] += step * gap[j] * of_j[f]
        if not largest(0.0, w) + largest(0.0, move) <= bound:
            c.diverged_at = c.seen
            return False
        for f in range(size):
            w[f] += move[f]
        s.gamma, s.lam = gamma_next, lam[t]
        if terminated[t] or truncated[t]:
            e[:] = 0.0
    return True


class LSPE(MatrixLearner):
    """Least-squares policy evaluation, LSPE(λ): one step of projected value iteration over all data per transition.

    It converges to the same weights as LSTD(λ), starting from `initial`. Its weights change little from one step to the
    next even where LSTD's matrix is nearly singular. A step costs O(size²), and the learner keeps two matrices.

    Parameters
    ----------
    features
        Encoder of observations.
    lam
        Trace decay λ: a number in [0, 1], one for each state, or a rule.
    step
        Positive step size; 1 as published. Smaller ones are safer off-policy.
    ridge
        Number > 0; G before the first step is I / ridge.
    initial
        Initial weights, finite: one number or one for each feature.
    max_size
        Largest number of features accepted, at least 1.
    bound
        Positive number: the learner has diverged when a weight, a trace, or a term of A or b exceeds it.
    on_divergence
        "raise" raises `Diverged` once; "flag" only sets `diverged_at`. In both cases the last weights are kept and
        learning stops.

    Examples
    --------
    >>> import tdlambda as td
    >>> boyan = td.make("BoyanChain-v0")
    >>> v = LSPE(boyan.features, lam=0.4)
    >>> v.update_many(boyan.sampler(seed=1).take(10_000))
    >>> bool(abs(v.weights - [-24, -16, -8, 0]).max() < 0.1)
    True
    """

    parts: ClassVar[str] = "A G b w e"

    def __init__(
        self,
        features: Encoder,
        lam: Lam = 0.9,
        step: float = 1.0,
        ridge: float = 1e-3,
        *,
        initial: ArrayLike = 0.0,
        max_size: SupportsIndex = 5000,
        bound: float = 1e100,
        on_divergence: Literal["raise", "flag"] = "raise",
    ) -> None:
        super().__init__(features, lam, max_size=max_size, bound=bound, on_divergence=on_divergence)
        self.step, self.ridge, size = positive(step, "step"), positive(ridge, "ridge"), features.size
        self.initial = initial_weights(initial, size, "float64")
        if 1 / self.ridge > LARGEST["float64"]:
            raise ValueError(f"ridge must be large enough for 1/ridge to be finite; got {ridge}")
        self._A: Floats = np.zeros((size, size))
        self._G: Floats = np.eye(size) / self.ridge
        self._b, self._gap, self._move = (np.zeros(size) for _ in range(3))
        self._w: Floats = np.zeros(size) + self.initial

    @property
    def weights(self) -> Array:
        """The weights w, as a read-only view."""
        return read_only(self._w)

    def _take(self, *columns: Any) -> bool:
        own = (self._A, self._G, self._b, self._w, self._e, self._gap, self._move, self._number, self._count)
        return learn_rows(*own, self.bound, self.step, columns)

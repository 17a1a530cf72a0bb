"""Recursive LSTD(λ): Bradtke & Barto (1996); with traces: Xu, He & Hu (2002); off-policy: Yu (2010).

    e  = ρ (γλ e + M x)                       M = 1, or the emphasis of ETD(λ): see `learners.matrix`
    y  = x - γ' x'
    k  = B e / (μ + yᵀ B e)
    w += k (r' + γ' w·x' - w·x)
    B  = (B - k yᵀ B) / μ                     B = I / ridge before the first step

B is the inverse of S = μ S + e yᵀ (Sherman & Morrison 1950), and w = B b with b = μ b + e r'. Without forgetting
(μ = 1), w is exactly (A + ridge I)⁻¹ b. With μ < 1 the ridge would fade with the data, and B would grow without bound
for features that are no longer active. So each step renews the ridge of one feature f, in turn, by a rank-one update:

    S_ff += ridge (1 - μ^n)                   n = size, or fewer in the first turn: steps since f's ridge was whole

which keeps that feature's ridge between ridge μ^size and ridge.

S is not symmetric, and each step multiplies its determinant by (μ + yᵀBe) μ^(size-1). Where this denominator passes 0,
S is singular: the data so far have no fixed point, or a very distant one. Near 0 the formula permanently loses digits,
and so does the next step. Therefore S and b are kept as well. B and w are recomputed from them, at O(size³), when more
than four digits would be lost, again `size` steps after such a loss, and in any case after size, 2 size, 4 size, …
steps. While S cannot be inverted, w does not change.
"""

from typing import Any, ClassVar

import numpy as np

from tdlambda.arrays import Floats, Ints, positive, read_only
from tdlambda.compiled import inlined, kernel
from tdlambda.core.runtime import LARGEST, dot
from tdlambda.learners.episode import Columns
from tdlambda.learners.learner import Array
from tdlambda.learners.matrix import LeastSquares, add_rows, follow_on, largest, step_trace

_CANCELLED = 1e-4
"""A denominator that is smaller than this, relative to its terms, has lost too many digits to cancellation."""
_RESIDUAL = 1e-6
"""An inverse B of S is accepted if no entry of SB - I is larger than this."""
_SELDOM = 10**6
"""Largest number of steps between two computations of B from S."""
_MOST = LARGEST["float64"]


@inlined
def deflate(Q: Floats, w: Floats, row: Floats, gain: Floats, whole: float, part: float, error: float) -> bool:
    """Update w += k error, Q = (Q - row kᵀ) / whole, k = gain / (whole + part); change nothing if digits are lost.

    Return whether the update was made.
    """
    denominator = whole + part
    if not (abs(denominator) > _CANCELLED * (whole + abs(part)) and abs(denominator) < _MOST):
        return False
    step = error / denominator
    if not abs(step) * largest(0.0, gain) + largest(0.0, w) <= _MOST:
        return False
    for f in range(w.size):
        w[f] += step * gain[f]
    for j in range(row.size):
        by = row[j] / denominator
        if by != 0 or whole != 1.0:
            of_j = Q[j]
            for f in range(w.size):
                of_j[f] = (of_j[f] - by * gain[f]) / whole
    return True


@inlined
def direct(Q: Floats, e: Floats, gain: Floats) -> None:
    """Compute gain = Qᵀ e."""
    gain[:] = 0.0
    for j in range(e.size):
        if e[j] != 0:
            of_j = Q[j]
            for f in range(e.size):
                gain[f] += e[j] * of_j[f]


@inlined
def add_product(row: Floats, Q: Floats, factor: float, index: Ints, value: Floats) -> None:
    """Compute row += factor Q x, for x given by its active features."""
    for j in range(row.size):
        row[j] += factor * dot(Q[j], index, value, index.size)


@kernel
def learn_rows(
    system: tuple[Floats, ...], number: Array, count: Array, bound: float, ridge: float, forgetting: float, start: int,
    interest: Floats, columns: Columns,
) -> int:  # fmt: skip
    """Learn from `start` up to a transition after which Q must be recomputed from S (`due`); return the next row.

    S and Q = S⁻¹ are kept transposed, so that active features add multiples of e to rows of S, and rows of Q to the
    gain.
    """
    S, Q, b, w, e, gain, row = system
    x, xv, y, yv, reward, gamma, rho, lam, terminated, truncated = columns
    s, c, size = number[0], count[0], e.size
    for t in range(start, reward.size):
        c.seen += 1
        gamma_next = 0.0 if terminated[t] else gamma[t]
        new = rho[t]
        if interest.size:
            s.follow_on = follow_on(s.rho * s.gamma, s.follow_on, interest[t])
            new *= s.lam * interest[t] + (1 - s.lam) * s.follow_on
        step_trace(e, rho[t] * s.gamma * s.lam, new, x[t], xv[t])
        most, alive = largest(largest(max(1.0, abs(reward[t])), xv[t]), yv[t]), largest(0.0, e)
        if not most * alive <= bound:
            c.diverged_at = c.seen
            return t
        changed = alive > 0 or forgetting < 1.0
        if changed:
            if forgetting < 1.0:
                for f in range(size):
                    b[f] *= forgetting
                    of_f = S[f]
                    for k in range(size):
                        of_f[k] *= forgetting
            add_rows(S, e, 1.0, x[t], xv[t])
            add_rows(S, e, -gamma_next, y[t], yv[t])
            for f in range(size):
                b[f] += reward[t] * e[f]
        if changed and not c.due:
            direct(Q, e, gain)
            part = dot(gain, x[t], xv[t], x.shape[1]) - gamma_next * dot(gain, y[t], yv[t], y.shape[1])
            error = reward[t] - dot(w, x[t], xv[t], x.shape[1]) + gamma_next * dot(w, y[t], yv[t], y.shape[1])
            row[:] = 0.0
            add_product(row, Q, 1.0, x[t], xv[t])
            add_product(row, Q, -gamma_next, y[t], yv[t])
            c.due = not deflate(Q, w, row, gain, forgetting, part, error)
            if c.due or abs(part) > 1 / _CANCELLED:
                c.renewal = min(c.renewal, c.seen + size)
        if forgetting < 1.0:
            f = (c.seen - 1) % size
            more = ridge * (1 - forgetting ** min(c.seen, size))
            S[f, f] += more
            if not c.due:
                for k in range(size):
                    gain[k], row[k] = more * Q[f, k], Q[k, f]
                c.due = not deflate(Q, w, row, gain, 1.0, gain[f], -w[f])
        s.gamma, s.lam, s.rho = gamma_next, lam[t], rho[t]
        if terminated[t] or truncated[t]:
            s.follow_on = 0.0
            e[:] = 0.0
        if c.seen >= c.renewal:
            c.renewal = c.seen + min(max(c.seen, size), _SELDOM)
            c.due, changed = 1, True
        if c.due and changed:
            return t + 1
    return reward.size


class RecursiveLSTD(LeastSquares):
    """Recursive LSTD(λ): updates the weights at every step in O(size²), where `LSTD` would solve in O(size³).

    Without forgetting, it agrees with `LSTD` at every step, up to rounding. It keeps three matrices of size² numbers.
    With forgetting it tracks a moving target; the ridge is then renewed feature by feature, as the module explains.

    Parameters
    ----------
    features, lam, forgetting, emphatic, interest, max_size, bound, on_divergence
        See `LeastSquares`.
    ridge
        Number > 0 added to A's diagonal.

    Examples
    --------
    >>> import tdlambda as td
    >>> boyan = td.make("BoyanChain-v0")
    >>> v = RecursiveLSTD(boyan.features, lam=0.4)
    >>> steps = boyan.sampler(seed=1).take(1000)
    >>> v.update_many(steps)
    >>> batch = td.LSTD(boyan.features, lam=0.4)
    >>> batch.update_many(steps)
    >>> bool(abs(v.weights - batch.weights).max() < 1e-9)
    True
    """

    parts: ClassVar[str] = "S Q b w e"
    counted: ClassVar[str] = "seen diverged_at due renewal solves"
    """In addition to `BatchLearner`'s: whether Q must be recomputed from S (`due`), the step at which it is recomputed
    in any case (`renewal`), and how often it was recomputed (`solves`)."""

    def _allocate(self, size: int) -> None:
        positive(self.ridge, "ridge")
        self._S: Floats = self.ridge * np.eye(size)
        self._Q: Floats = np.eye(size) / self.ridge
        if not np.isfinite(self._Q).all():
            raise ValueError(f"ridge must be large enough for 1/ridge to be finite; got {self.ridge}")
        self._b, self._w, self._gain, self._row = (np.zeros(size) for _ in range(4))
        self._count["renewal"] = size

    @property
    def weights(self) -> Array:
        """The weights w, as a read-only view."""
        return read_only(self._w)

    @property
    def singular(self) -> bool:
        """Whether the system is currently singular, so that the weights cannot be computed."""
        return bool(self._count["due"][0])

    @property
    def solves(self) -> int:
        """Number of times the inverse was computed from the full matrix."""
        return int(self._count["solves"][0])

    def _take(self, *columns: Any) -> bool:
        start, count = 0, self._count
        system = (self._S, self._Q, self._b, self._w, self._e, self._gain, self._row)
        own = (system, self._number, count, self.bound, self.ridge, self.forgetting)
        interests = self._interests(*columns[:2])
        while start < len(columns[0]):
            start = learn_rows(*own, start, interests, columns)
            if count["diverged_at"] >= 0:
                return False
            if count["due"]:
                self._invert()
        return True

    def _invert(self) -> None:
        """Compute Q and w from S and b, if S can be inverted."""
        self._count["solves"] += 1
        self._count["due"] = 1
        with np.errstate(all="ignore"):
            try:
                Q = np.linalg.inv(self._S)
                w = np.linalg.solve(self._S.T, self._b)
            except np.linalg.LinAlgError:
                return
            off = np.abs(Q @ self._S - np.eye(len(Q))).max()
            if off <= _RESIDUAL and np.isfinite(Q).all() and (np.abs(w) <= _MOST).all():
                self._Q[:], self._w[:], self._count["due"] = Q, w, 0

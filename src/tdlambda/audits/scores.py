"""Scores of critics whose differences estimate differences of squared value errors.

For any reference u, with c = V - u, δ = ρ (R + γ'u' - u) and z_t = ρ_{t-1} γ_t z_{t-1} + c_t,

    E Σ c² - 2δz  =  E Σ (V - v)² - (u - v)²                                       (docs: AutoTD, "The signal")

for every critic V that is a function of the past, linear or not. All critics share u, so the scores of two differ by
the difference of their squared errors. Two forms have the same c and δ:

    raw       z itself: unbiased for any u. On-policy over whole episodes it is (V - G)² - (u - G)².
    expected  ẑ(s), linear in x, with E[x (x - γ'x')ᵀ] dual to c: the bias is a product of the errors of u and of ẑ

The absolute error is E[ab - δ_B ẑ^a - δ_A ẑ^b], a = V - u_A, b = V - u_B, plus E[(u_A - v)(u_B - v)], which is left
out: as u_A and u_B come from disjoint episodes, that is the squared bias of the reference, so the estimate is too low.

u and ẑ are fitted by ridge LSTD(0) in x = (1, whitened values of the critics and features), on other folds of episodes.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tdlambda.arrays import Bools, Floats, Ints
from tdlambda.audits.data import AuditedSteps
from tdlambda.audits.sums import add_scores, add_systems

FOLDS = 5
SEGMENTS = 8
"""Contiguous segments of a stream for each fold."""
RIDGE = 3.0
"""Added to each singular value of the system, in observations."""
FEWEST = 20
"""With fewer episodes, the stream is divided into this many blocks."""
_RANK = 1e-6
"""Directions of the whitened basis whose variance is smaller than this, relative to the largest, are dropped."""


@dataclass
class Scores:
    """Sums over the steps of each unit, an episode or a block of a stream."""

    raw: Floats
    expected: Floats
    absolute: Floats
    with_a: Floats
    with_b: Floats
    """Each [critic, unit]; the last two are as expected, with references u_A and u_B from halves of the other data."""
    steps: Floats
    ratios: Floats
    """Mean weight of a unit's steps by importance sampling, relative to on-policy steps; 1 on-policy."""
    episodes: int
    blocks: bool
    """Whether units are blocks of a stream, because there are few episodes."""


def scores(data: AuditedSteps) -> Scores:
    """The scores of all critics, in two passes over the steps after one for the moments of the basis."""
    unit, fold, ends, blocks = _divided(data)
    mean, P = _basis(data)
    systems = _Systems(len(P) + 1, data.critics)
    for part in data.parts():
        systems.add(data.columns(part), data.numbers(part), fold[part], mean, P)
    u, zhat = systems.references(mean, P)
    K, units = data.critics, int(unit[-1]) + 1
    sums, ratios, steps = np.zeros((5, K, units)), np.zeros(units), np.zeros(units)
    z, weight = np.zeros(K), np.zeros(2)
    for part in data.parts():
        columns = (*data.columns(part), *data.numbers(part))
        add_scores(columns, ends[part], fold[part], unit[part], u, zhat, z, weight, sums, ratios, steps)
    raw, expected, absolute, with_a, with_b = sums
    return Scores(raw, expected, absolute, with_a, with_b, steps, ratios / steps, data.episodes, blocks)


def _divided(data: AuditedSteps) -> tuple[Ints, Ints, Bools, bool]:
    """Unit and fold of each step, and where traces end: at the ends of episodes, or of a stream's segments."""
    n, ends = data.size, data.ends
    if data.episodes >= FEWEST:
        unit = np.concatenate(([0], np.cumsum(ends[:-1])))
        fold = np.arange(data.episodes) % FOLDS
        np.random.default_rng(0).shuffle(fold)
        return unit, fold[unit], ends, False
    at = np.arange(n)
    fold = (at * (SEGMENTS * FOLDS) // n) % FOLDS
    return at * FEWEST // n, fold, ends | np.append(fold[1:] != fold[:-1], True), True


def _basis(data: AuditedSteps) -> tuple[Floats, Floats]:
    """Mean of the columns, and the matrix P that whitens them; constant and dependent directions are left out."""
    columns = data.width
    total, square = np.zeros(columns), np.zeros((columns, columns))
    for part in data.parts():
        total += data.columns(part)[0].sum(axis=1)
    mean = total / data.size
    for part in data.parts():
        centred = data.columns(part)[0] - mean[:, None]
        square += centred @ centred.T
    deviation = np.sqrt(np.diag(square) / data.size)
    varies = deviation > 1e-12 * (np.abs(mean) + deviation)
    scale = np.where(varies, 1 / np.where(varies, deviation, 1.0), 0.0)
    size, directions = np.linalg.eigh(square * np.outer(scale, scale) / data.size)
    kept = size > _RANK * max(size[-1], 1e-300)
    if not varies.any():
        kept[:] = False
    return mean, (directions[:, kept] / np.sqrt(size[kept])).T * scale


class _Systems:
    """The equations of LSTD(0), for each fold."""

    def __init__(self, d: int, critics: int) -> None:
        self.A, self.S = np.zeros((FOLDS, d, d)), np.zeros((FOLDS, d, d))
        self.b, self.VX = np.zeros((FOLDS, d)), np.zeros((FOLDS, critics, d))
        self.count, self.scratch = np.zeros(FOLDS), np.zeros((2, d))

    def add(
        self,
        columns: tuple[Floats, Floats],
        numbers: tuple[Floats, Floats, Floats],
        fold: Ints,
        mean: Floats,
        P: Floats,
    ) -> None:
        """Add steps."""
        sums = (self.A, self.b, self.S, self.VX, self.count)
        add_systems((*columns, *numbers), fold, mean, P, self.scratch[0], self.scratch[1], sums)

    def references(self, mean: Floats, P: Floats) -> tuple[Floats, Floats]:
        """Coefficients of u, u_A and u_B, and of ẑ of every critic with each, on (1, columns), for each fold."""
        K = self.VX.shape[1]
        u, zhat = np.zeros((3, FOLDS, 1 + mean.size)), np.zeros((3, FOLDS, K, 1 + mean.size))
        for fold in range(FOLDS):
            others = [(fold + k) % FOLDS for k in range(1, FOLDS)]
            for r, used in enumerate((others, others[: FOLDS // 2], others[FOLDS // 2 :])):
                w, W = self._fit(used)
                u[r, fold] = _unwhitened(w, mean, P)
                zhat[r, fold] = np.array([_unwhitened(row, mean, P) for row in W])
        return u, zhat

    def _fit(self, used: list[int]) -> tuple[Floats, Floats]:
        """Weights of u, and of ẑ for each critic, from some folds."""
        A, S, b = self.A[used].sum(0), self.S[used].sum(0), self.b[used].sum(0)
        ridge = RIDGE * np.trace(S) / max(1.0, self.count[used].sum()) / len(b)
        U, size, V = np.linalg.svd(A)
        inverse = (V.T / (size + ridge)) @ U.T  # not (A + ridge)⁻¹: off-policy and at time limits A may be indefinite
        w = inverse @ b
        return w, (self.VX[used].sum(0) - w @ S) @ inverse


def _unwhitened(w: Floats, mean: Floats, P: Floats) -> Floats:
    """Coefficients on (1, columns) of a function with weights w on (1, P (columns - mean))."""
    of_columns = w[1:] @ P
    return np.concatenate(([w[0] - of_columns @ mean], of_columns))

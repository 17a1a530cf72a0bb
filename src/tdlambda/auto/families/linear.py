"""Learners with eligibility traces: one algorithm with several step sizes and λ, as the lanes of one block.

A *lane* is one learner. Step sizes are divided by the largest |x|² so far. After a ratio ρ > 1, λ' is divided by ρ (as
Retrace cuts its traces, Munos et al. 2016), so that no trace grows by products of ratios. If most of the weight is at
one end of the range of step sizes, the lanes at the other end become copies of those, with a step size further out. A
lane that diverges is dropped.

`learn_lanes` and `clear_lanes`, the learners' own functions, and the numbers in capitals depend on the algorithm:
`auto.modules` puts them into the generated module.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

from tdlambda.arrays import Array, Floats, Ints
from tdlambda.auto.mixture import Mixture, inherit, leave

if TYPE_CHECKING:  # other names in the generated module
    given: Any = None
    dot_lanes = set_scaled = squared = learn_lanes = clear_lanes = sync = given
    # Numbers of leading rows: step sizes in N, all of the learner's own rows in N, weights in F
    SIZES = NUMBER_ROWS = WEIGHTS = 1
    # The rows of N with bounds on weights and traces (-1: no such row); whether weights of x' change too
    WEIGHT_TOP, TRACE_TOP, MOVES_NEXT = 1, 1, True

ALPHAS, LAMBDAS = (0.3, 0.1, 0.03, 0.01, 0.003, 0.001), (0.0, 0.4, 0.8, 0.95)
"""Step sizes for |x|² = 1, and λ."""
PAIRS = tuple((alpha, lam) for alpha in ALPHAS for lam in LAMBDAS)
"""(α, λ) of each lane."""
BEYOND, LEAST_ALPHA, LARGEST_ALPHA = 3.0, 1e-7, 1.0
"""The factor by which the grid of step sizes moves, and the smallest and largest step size."""
LEADING, IDLE, SERIOUS = 0.5, 0.01, 0.05
"""The grid moves if one end has more than LEADING of the learners' weight, the other end less than IDLE, and all
learners together more than SERIOUS of the total weight."""
BEST_LAMBDA, BEST_ALPHA, PACE = 0.4, 0.1, 2.0
"""The prior prefers averaged copies, this λ, and α = PACE / √(steps/features), at most BEST_ALPHA."""
RAW, FAR_ALPHA, FAR_LAMBDA = 2.0, 2.0, 8.0
"""Prior penalties: for experts that are not averaged; for each factor e in α; for a difference of 1 in λ."""
BOUND = 1e100
"""A learner with a weight beyond this is dropped."""
ALPHA, LAM, LAM_NEXT, AGE, ROWS = range(5)
"""Rows of `lane`: α (0 once dropped), λ, λ' of this step, updates since the averaged copy began."""
NORM, UPDATES, DROPS, MOVES, COUNTS = range(5)
"""Entries of `counts`: the largest |x|² so far, updates of averaged copies, dropped lanes, moves of the grid."""


class Lanes(NamedTuple):
    """The arrays of the lanes. Those up to `state` are a block's: see `core.schedules.lanes`."""

    F: Floats
    N: Floats
    U: Floats
    order: Ints
    listed: Ints
    state: Array
    lane: Floats
    """[ROWS, lane]"""
    counts: Floats
    """[COUNTS]"""
    copies: Floats
    """The learners' weights averaged over time, [feature, 1, lane]."""
    synced: Floats
    """The update up to which each feature's copies are averaged."""
    visits: Floats
    """Unused by the lanes' algorithms; of length 0."""


def values(q: Lanes, x: Ints, xv: Floats, out: Floats) -> None:
    """Each lane's prediction."""
    dot_lanes(out, q.F, 0, x, xv, x.size)


def learn(
    q: Lanes, m: Mixture, first: int, x: Ints, xv: Floats, y: Ints, yv: Floats, reward: float, gamma: float, rho: float,
    terminated: bool, truncated: bool,
) -> None:  # fmt: skip
    """Update all lanes; `first` is the expert of the first one."""
    q.counts[NORM] = max(q.counts[NORM], squared(xv, x.size))
    for size in range(SIZES):
        set_scaled(q.N[size], q.lane[ALPHA], 1.0 / q.counts[NORM] if q.counts[NORM] > 0.0 else 1.0)
    set_scaled(q.lane[LAM_NEXT], q.lane[LAM], 1.0 / rho if rho > 1.0 else 1.0)
    for j in range(x.size):
        sync(q, x[j])
    if MOVES_NEXT:
        for j in range(y.size):
            sync(q, y[j])
    beyond = learn_lanes(
        q.F, q.N, q.U, q.order, q.listed, q.state, q.visits, x, xv, y, yv, y, yv, q.lane[LAM_NEXT], reward, gamma, rho,
        terminated, truncated, False,
    )  # fmt: skip
    if beyond > 0:
        drop(q, m, first)


def end(q: Lanes) -> None:
    """End the episode."""
    clear_lanes(q.F, q.N, q.U, q.order, q.listed, q.state)


def larger(a: float, b: float) -> float:
    """The larger of two numbers; NaN if either is NaN."""
    return b if b > a or b != b else a


def take_tops(q: Lanes, lane: int) -> float:
    """Set the bounds on a learner's weights and traces to the largest |weight| and |trace|; return the former."""
    weight, trace = 0.0, 0.0
    for f in range(q.F.shape[0]):
        for row in range(q.F.shape[1]):
            size = abs(q.F[f, row, lane])
            if row < WEIGHTS:
                weight = larger(weight, size)
            else:
                trace = larger(trace, size)
    q.N[WEIGHT_TOP, lane] = weight
    if TRACE_TOP >= 0:
        q.N[TRACE_TOP, lane] = trace
    return weight


def drop(q: Lanes, m: Mixture, first: int) -> None:
    """Drop learners beyond the bound, with their averaged copies."""
    lanes = q.lane.shape[1]
    for k in range(lanes):
        if m.absent[first + k] == 0.0 and not take_tops(q, k) <= BOUND:
            q.counts[DROPS] += 1.0
            q.lane[ALPHA, k] = 0.0
            q.F[:, :, k] = 0.0
            q.copies[:, 0, k] = 0.0
            q.N[:NUMBER_ROWS, k] = 0.0
            leave(m, first + k)
            leave(m, first + lanes + k)


def prefer(q: Lanes, m: Mixture, first: int) -> None:
    """Set the prior penalties of the learners and their averaged copies."""
    lanes, features = q.lane.shape[1], q.F.shape[0]
    best = min(BEST_ALPHA, PACE / math.sqrt(max(1.0, m.number[0].window / features)))
    for k in range(lanes):
        if q.lane[ALPHA, k] > 0.0:
            far = FAR_ALPHA * abs(math.log(q.lane[ALPHA, k] / best)) + FAR_LAMBDA * abs(q.lane[LAM, k] - BEST_LAMBDA)
            m.prior[0, first + lanes + k] = far
            m.prior[0, first + k] = far + RAW


def move_grid(q: Lanes, m: Mixture, first: int) -> None:
    """Move the range of step sizes if most of the learners' weight is at one end."""
    alpha, lam, lanes = q.lane[ALPHA], q.lane[LAM], q.lane.shape[1]
    low, high, at_low, at_high, total = math.inf, 0.0, 0.0, 0.0, 0.0
    for k in range(lanes):
        if alpha[k] > 0.0:
            low, high = min(low, alpha[k]), max(high, alpha[k])
    for k in range(lanes):
        share = m.weight[first + k] + m.weight[first + lanes + k]
        total += share
        at_low += share if alpha[k] == low else 0.0
        at_high += share if alpha[k] == high else 0.0
    down = at_low > LEADING * total and at_high < IDLE * total and low / BEYOND >= LEAST_ALPHA
    up = at_high > LEADING * total and at_low < IDLE * total and high * BEYOND <= LARGEST_ALPHA
    if total > SERIOUS and (up or down):
        edge, idle = (low, high) if down else (high, low)
        for k in range(lanes):
            for other in range(lanes):
                if alpha[k] == idle and alpha[other] == edge and lam[k] == lam[other]:
                    move_lane(q, k, other)
                    inherit(m, first + k, first + other)
                    inherit(m, first + lanes + k, first + lanes + other)
                    alpha[k] = edge / BEYOND if down else edge * BEYOND
        q.counts[MOVES] += 1.0


def move_lane(q: Lanes, k: int, other: int) -> None:
    """Copy another learner and its averaged copy into a lane."""
    for f in range(q.synced.size):
        sync(q, f)
        q.copies[f, 0, k] = q.copies[f, 0, other]
        for row in range(q.F.shape[1]):
            q.F[f, row, k] = q.F[f, row, other]
    for row in range(q.N.shape[0]):
        q.N[row, k] = q.N[row, other]
    q.lane[AGE, k] = q.lane[AGE, other]


def convert(q: Lanes, f: int, factor: float, shift: float) -> None:
    """Convert weights and traces to x_f = factor · old x_f + shift; feature 0 is the constant."""
    sync(q, f)
    sync(q, 0)
    for k in range(q.lane.shape[1]):
        for row in range(q.F.shape[1]):
            if row < WEIGHTS:
                q.F[f, row, k] /= factor
                q.F[0, row, k] -= shift * q.F[f, row, k]
            else:
                q.F[f, row, k] = factor * q.F[f, row, k] + shift * q.F[0, row, k]
        q.copies[f, 0, k] /= factor
        q.copies[0, 0, k] -= shift * q.copies[f, 0, k]

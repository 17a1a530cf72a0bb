"""How a learner's state lies in memory: three arrays, so that one update is one cheap call into compiled code.

    F [row, feature]   blocks, one for each estimate that is learnt: its weights, then its traces; last, if step sizes
                       go by visits, the visit counts
    M [slot]           numbers: step sizes and limits; then for each block what belongs to x_t; then a rule's own
    I [slot]           integers: counters, codes, and the list of features with a live trace

Most learners are one block. Learners of a variance, and learners whose λ tunes itself, learn further estimates beside
the value, with the same algorithm on rewards and discounts of their own: one block each.

Rows are a little wider than the features: few features fill up whole vectors of four, and many avoid rows whose
addresses differ by a multiple of 4096 bytes, which would push each other out of the processor's cache.

With few features every feature is live. With more than `DENSE_SIZE`, the live ones are listed: `I[LIVE + k]` is the
k-th live feature, and `I[LIVE + size + f]` says whether feature f is in the list.
"""

from typing import Any, TypeAlias

import numpy as np

from tdlambda.arrays import Floats, Ints
from tdlambda.compiled import inlined, kernel

Index: TypeAlias = Any
"""Active features: an array of integers or, for one-hot states, a tuple of one, which is compiled on its own."""
Value: TypeAlias = Any
"""Their values, likewise."""

# M: numbers for all. BOUND is the largest size of a weight. A prediction is divergence beyond FACTOR times what START,
# the largest initial weight, and the largest reward, discount and importance ratio so far allow
ALPHA, BETA, TOLERANCE, BOUND, OFFSET, POWER, FACTOR, START, MOST_REWARD, MOST_GAMMA, MOST_RHO = range(11)
# M: numbers of block k, from FIRST_BLOCK + k * SLOTS. What it keeps: γλ of x_t, w·x_t from before the last update, ρ of
# the last step, δ; and what each step hands it: reward, discount, importance ratio, λ'
DECAY, V_OLD, RHO_PREV, DELTA, CUMULANT, DISCOUNT, RATIO, LAM_NEXT = range(8)
FIRST_BLOCK, SLOTS, MOST_BLOCKS = 11, 8, 4
RULE = FIRST_BLOCK + SLOTS * MOST_BLOCKS
"""M: the first number of a rule's or a variance learner's own."""
RULE_SLOTS = 16
# M, from RULE: the factor on α of the blocks beside the value; λ of their own traces; κ; the least variance that META
# acts on; ρ₀⋯ρ_t since the episode began, and its bound; then, for a trace of meta-gradients, what the
# λ-returns under way would gain from the mean and from the variance of the one at x_t, c = γλ of x_t, and δ of the step
# before
PACE, TRACE_LAM, KAPPA, FLOOR, RHO_ACC, RHO_CLIP, MEAN_WORTH, VARIANCE_WORTH, C_PREV, DELTA_PREV = range(
    RULE, RULE + 10
)
LAST_DISCOUNT = RULE + 10
"""M: γ' that the gradient correction and META take where γ' is 0: see `TrueOnlineGTD`."""
# M, for `ValueErrorGreedy`: the least weight of a visit in its mean, times α|x|²; the longest stretch that noise is
# summed over; the factor on α of the mean's learner at this step
FORGETTING, STRETCH, MEAN_PACE = range(RULE + 11, RULE + 14)
LAMBDA = RULE + RULE_SLOTS
"""M: the first weight of λ(x)."""
# I: integers
N_LIVE, DENSE, UNDER_WAY, STEPS, DIVERGED_AT, SCHEDULE, OPTION = range(7)
WEIGHT_ROWS, TRACE_ROWS, BLOCKS, BUNDLE, CORRECTED, GRADIENT, NEWTON, HORIZON, IN_RANGE, UNIT_TRACE = range(7, 17)
WARM_UP, RING, SIZE, ALGORITHM, VALUE_DELTA, ABSOLUTE, LAM_SIZE = range(17, 24)
# I: counters. Steps of `ValueErrorGreedy`'s stretch so far; steps of this episode and of the longest; and whether
# a thread is at work without the interpreter's lock
SINCE, LENGTH, LONGEST, BUSY = range(24, 28)
LIVE = 28

DENSE_SIZE = 128
"""Up to this many features, going through all of them is faster than keeping a list (benchmarks/online.py)."""

PRUNED_EVERY = 16
"""Steps between looks for traces that have died out, where the live features are listed."""

CONSTANT, BY_STEPS, BY_VISITS = range(3)
TD, TRUE_ONLINE_TD, GTD, TRUE_ONLINE_GTD = range(4)
"""Codes of the algorithms."""
ALONE, DIRECT_VTD, VTD, GREEDY, GREEDY_VTD, META, COUNTING, VALUE_ERROR = range(8)
"""Codes of what is learnt beside the value. From `DIRECT_VTD` to `META`, the last block has the unit of reward²."""

_LARGEST = {"float64": 1e300, "float32": 1e38}


def largest_weight(dtype: str) -> float:
    """A weight beyond this is about to leave the numbers that its type has."""
    return _LARGEST[dtype]


@inlined
def horizon(gamma: float, longest: float) -> float:
    """How many rewards of the largest size a return may hold: 1/(1 - γ), or ten episodes like the longest so far."""
    return min(10.0 * longest, 1.0 / (1.0 - gamma)) if gamma < 1.0 else 10.0 * longest


@inlined
def allowed(M: Floats, I: Ints, reward: float, gamma_next: float, rho: float, y: Index, yv: Value) -> float:
    """The largest prediction at x' that is not divergence, this step counted in: FACTOR times what a value may be."""
    M[MOST_REWARD] = max(M[MOST_REWARD], abs(reward))
    M[MOST_GAMMA] = max(M[MOST_GAMMA], gamma_next)
    M[MOST_RHO] = max(M[MOST_RHO], rho)
    I[LENGTH] = I[LENGTH] + 1 if I[UNDER_WAY] else 1
    I[LONGEST] = max(I[LONGEST], I[LENGTH])
    scale = M[MOST_REWARD] * horizon(M[MOST_GAMMA], I[LONGEST])
    if M[START] > 0.0:
        y1 = 0.0
        for j in range(len(y)):
            y1 += abs(yv[j])
        scale += M[START] * y1
    return M[FACTOR] * scale


@inlined
def allowed_square(limit: float, rho: float) -> float:
    """The same for a variance or second moment; ρ is the largest ratio if it is that of corrected returns, else 0."""
    return (limit * max(1.0, rho)) ** 2


@kernel
def is_square(bundle: int, block: int, blocks: int) -> bool:
    """Whether a block's estimate has the unit of reward²."""
    return block == blocks - 1 and bundle >= DIRECT_VTD and bundle <= META


@inlined
def cut(rho: float) -> float:
    """min(1, 1/ρ), a factor on λ' that keeps traces from growing by products of ratios; 1 for ρ = 0."""
    return 1.0 / rho if rho > 1.0 else 1.0


@inlined
def dot(row: Floats, index: Index, value: Value, n: int) -> float:
    """Row · x, for x given by its first n active features."""
    total = 0.0
    for j in range(n):
        total += value[j] * row[index[j]]
    return total


@inlined
def add(row: Floats, factor: float, index: Index, value: Value, n: int) -> None:
    """Row += factor x."""
    for j in range(n):
        row[index[j]] += factor * value[j]


@inlined
def add_within(row: Floats, factor: float, index: Index, value: Value, n: int, M: Floats) -> bool:
    """Row += factor x. Whether these weights are within the bound."""
    within = True
    for j in range(n):
        w = row[index[j]] + factor * value[j]
        row[index[j]] = w
        within &= abs(w) <= M[BOUND]
    return within


@inlined
def dot_live(a: Floats, b: Floats, I: Ints) -> float:
    """A · b over the live features."""
    total = 0.0
    if I[DENSE]:
        for f in range(a.size):
            total += a[f] * b[f]
    else:
        for k in range(I[N_LIVE]):
            total += a[I[LIVE + k]] * b[I[LIVE + k]]
    return total


@inlined
def decay(trace: Floats, keep: float, I: Ints) -> None:
    """Trace *= keep."""
    if I[DENSE]:
        for f in range(trace.size):
            trace[f] *= keep
    else:
        for k in range(I[N_LIVE]):
            trace[I[LIVE + k]] *= keep


@inlined
def decay_and_follow(trace: Floats, keep: float, weights: Floats, along: float, M: Floats, I: Ints) -> bool:
    """Trace *= keep, then weights += along trace. Whether these weights are within the bound (NaN is not).

    In one pass, before x is added to the trace: reading a trace as a vector just after a single entry was written
    would make the processor wait. What x adds to the weights is then `along` times what it adds to the trace.
    """
    within, bound = True, M[BOUND]  # a local, so that the compiler need not fear that a weight is the bound
    if I[DENSE]:
        for f in range(trace.size):
            e = trace[f] * keep
            w = weights[f] + along * e
            trace[f] = e
            weights[f] = w
            within &= abs(w) <= bound
    else:
        for k in range(I[N_LIVE]):
            f = I[LIVE + k]
            e = trace[f] * keep
            w = weights[f] + along * e
            trace[f] = e
            weights[f] = w
            within &= abs(w) <= bound
    return within


@inlined
def follow(weights: Floats, along: float, trace: Floats, M: Floats, I: Ints) -> bool:
    """Weights += along trace, for a second vector that follows a trace already decayed."""
    within, bound = True, M[BOUND]
    if I[DENSE]:
        for f in range(trace.size):
            w = weights[f] + along * trace[f]
            weights[f] = w
            within &= abs(w) <= bound
    else:
        for k in range(I[N_LIVE]):
            f = I[LIVE + k]
            w = weights[f] + along * trace[f]
            weights[f] = w
            within &= abs(w) <= bound
    return within


@inlined
def enliven(I: Ints, index: Index, n: int, size: int) -> None:
    """Put the active features on the list of live ones."""
    for j in range(n):
        f = index[j]
        if not I[LIVE + size + f]:
            I[LIVE + size + f] = 1
            I[LIVE + I[N_LIVE]] = f
            I[N_LIVE] += 1


@inlined
def drop(I: Ints, k: int, size: int) -> None:
    """Take the k-th feature off the list of live ones; the last takes its place."""
    I[LIVE + size + I[LIVE + k]] = 0
    I[N_LIVE] -= 1
    I[LIVE + k] = I[LIVE + I[N_LIVE]]


@inlined
def trace_scale(code: int, alpha: float, beta: float) -> float:
    """The size that traces are measured by: those of true online methods carry a step size, the others do not."""
    return alpha if code == TRUE_ONLINE_TD else min(alpha, beta) if code == TRUE_ONLINE_GTD else 1.0


@inlined
def prune(F: Floats, M: Floats, I: Ints, scale: float) -> None:
    """Now and then, drop the features whose every trace is within the tolerance (0: is exactly 0)."""
    if I[DENSE] or I[STEPS] % PRUNED_EVERY:
        return
    size, rows = F.shape[1], I[WEIGHT_ROWS] + I[TRACE_ROWS]
    k = 0
    while k < I[N_LIVE]:
        f = I[LIVE + k]
        largest = 0.0
        for block in range(I[BLOCKS]):
            for row in range(block * rows + I[WEIGHT_ROWS], (block + 1) * rows):
                largest = max(largest, abs(F[row, f]))
        if largest <= M[TOLERANCE] * scale:
            for block in range(I[BLOCKS]):
                for row in range(block * rows + I[WEIGHT_ROWS], (block + 1) * rows):
                    F[row, f] = 0.0
            drop(I, k, size)
        else:
            k += 1


@kernel
def clear_traces(F: Floats, I: Ints) -> None:
    """Set every trace to 0: the end of an episode."""
    rows = I[WEIGHT_ROWS] + I[TRACE_ROWS]
    for block in range(I[BLOCKS]):
        for row in range(block * rows + I[WEIGHT_ROWS], (block + 1) * rows):
            if I[DENSE]:
                F[row] = 0.0
            else:
                for k in range(I[N_LIVE]):
                    F[row, I[LIVE + k]] = 0.0
    if not I[DENSE]:
        for k in range(I[N_LIVE]):
            I[LIVE + F.shape[1] + I[LIVE + k]] = 0
        I[N_LIVE] = 0
    I[UNDER_WAY] = 0


@inlined
def assign(M: Floats, block: int, reward: float, discount: float, rho: float, lam_next: float) -> None:
    """Hand a block its part of this step: the reward and discount of what it estimates, its ratio and its λ'."""
    m = FIRST_BLOCK + block * SLOTS
    M[m + CUMULANT], M[m + DISCOUNT], M[m + RATIO], M[m + LAM_NEXT] = reward, discount, rho, lam_next


@inlined
def scheduled(scale: float, offset: float, power: float, n: float) -> float:
    """The n-th step size of a schedule."""
    return scale / (offset + n) ** power


@inlined
def step_size(F: Floats, M: Floats, I: Ints, index: Index, value: Value) -> float:
    """α at this step: constant, or scale / (offset + n)^power with n counting steps or visits of the features."""
    if I[SCHEDULE] == CONSTANT:
        return M[ALPHA]
    n = float(I[STEPS])
    if I[SCHEDULE] == BY_VISITS:
        visits = F[F.shape[0] - 1]
        n = 0.0
        norm = 0.0
        for j in range(len(index)):
            if value[j] != 0:
                visits[index[j]] += 1
        for j in range(len(index)):
            n += value[j] ** 2 * visits[index[j]]
            norm += value[j] ** 2
        n = n / norm if norm > 0 else 1.0
    return scheduled(M[ALPHA], M[OFFSET], M[POWER], n)


def require_same_kind(new: Ints, own: Ints, size: int) -> None:
    """Refuse stored integers with other switches, or with indices that compiled code would follow out of its arrays."""
    fixed = [DENSE, SCHEDULE, *range(OPTION, SINCE)]
    n, marks = int(new[N_LIVE]), new[LIVE + size :]
    live, listed = new[LIVE : LIVE + max(0, n)], np.zeros(marks.size, dtype=np.int64)
    good = np.array_equal(new[fixed], own[fixed]) and 0 <= n <= marks.size
    good = good and bool(((live >= 0) & (live < marks.size)).all())
    if good:
        listed[live] = 1
    if not good or listed.sum() != n or not np.array_equal(listed, marks) or (new[SINCE:LIVE] < 0).any() or new[BUSY]:
        raise ValueError("state: the list of live traces is not consistent")

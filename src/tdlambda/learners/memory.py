"""How a learner's state lies in memory: three arrays, so that one update is one cheap call into compiled code.

    F [row, feature]   weights, then traces, then (if step sizes go by visits) visit counts
    M [slot]           numbers: step sizes, what belongs to x_t, limits
    I [slot]           integers: counters and the list of features with a live trace

With few features every feature is live. With more than `DENSE_SIZE`, the live ones are listed: `I[LIVE + k]` is the
k-th live feature, and `I[LIVE + size + f]` says whether feature f is in the list.
"""

from typing import Any, TypeAlias

from tdlambda.arrays import Floats, Ints
from tdlambda.compiled import inlined, kernel

Index: TypeAlias = Any
"""Active features: an array of integers or, for one-hot states, a tuple of one, which is compiled on its own."""
Value: TypeAlias = Any
"""Their values, likewise."""

# M: numbers
ALPHA, BETA, GAMMA, LAM, RHO_PREV, V_OLD, DELTA, TOLERANCE, BOUND, OFFSET, POWER = range(11)
EXTRA = 11
"""The first slot that an algorithm may use for itself."""
# I: integers
N_LIVE, DENSE, UNDER_WAY, STEPS, DIVERGED_AT, SCHEDULE, FIRST_TRACE, END_TRACE, OPTION = range(9)
LIVE = 9

DENSE_SIZE = 128
"""Up to this many features, going through all of them is faster than keeping a list (benchmarks/online.py)."""

CONSTANT, BY_STEPS, BY_VISITS = range(3)
TD, TRUE_ONLINE_TD, GTD, TRUE_ONLINE_GTD, DIRECT_VTD, VTD = range(6)
"""Codes of the algorithms."""


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
    if not I[DENSE]:
        for j in range(n):
            f = index[j]
            if not I[LIVE + size + f]:
                I[LIVE + size + f] = 1
                I[LIVE + I[N_LIVE]] = f
                I[N_LIVE] += 1


@inlined
def prune(F: Floats, M: Floats, I: Ints, alpha: float) -> None:
    """Now and then, drop the features whose every trace is within the tolerance (0: is exactly 0)."""
    if I[DENSE] or I[STEPS] % 16:
        return
    size = F.shape[1]
    k = 0
    while k < I[N_LIVE]:
        f = I[LIVE + k]
        largest = 0.0
        for row in range(I[FIRST_TRACE], I[END_TRACE]):
            largest = max(largest, abs(F[row, f]))
        if largest <= M[TOLERANCE] * alpha:
            for row in range(I[FIRST_TRACE], I[END_TRACE]):
                F[row, f] = 0.0
            I[N_LIVE] -= 1
            I[LIVE + k] = I[LIVE + I[N_LIVE]]
            I[LIVE + size + f] = 0
        else:
            k += 1


@kernel
def clear_traces(F: Floats, I: Ints) -> None:
    """Set every trace to 0: the end of an episode."""
    if I[DENSE]:
        F[I[FIRST_TRACE] : I[END_TRACE]] = 0.0
    else:
        for k in range(I[N_LIVE]):
            f = I[LIVE + k]
            I[LIVE + F.shape[1] + f] = 0
            for row in range(I[FIRST_TRACE], I[END_TRACE]):
                F[row, f] = 0.0
        I[N_LIVE] = 0
    I[UNDER_WAY] = 0


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
    return M[ALPHA] / (M[OFFSET] + n) ** M[POWER]

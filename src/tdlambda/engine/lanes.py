"""How many learners lie side by side in memory: that of `memory` with one more axis, the lanes, innermost.

    F [feature, row, lane]   each learner's F
    M [slot, lane]           each learner's M
    I [slot]                 the integers, which all lanes of a block share; and so the list of live features, which
                             follows the stream, not the learner
    S [slot, lane]           scratch: what a step computes for each lane on its way

All lanes see the same transition, so a step is a handful of short loops over lanes, which run as vectors. No lane's
arithmetic depends on another's.
"""

from tdlambda.arrays import Floats, Ints
from tdlambda.compiled import inlined, lanewise
from tdlambda.memory import (
    BLOCKS,
    CUMULANT,
    DISCOUNT,
    LIVE,
    N_LIVE,
    RATIO,
    TRACE_ROWS,
    WEIGHT_ROWS,
)  # fmt: skip

# S: step sizes, of the value and of what is learnt beside it; dot products of x and x'
ALPHA_T, BETA_T, AUX_ALPHA, AUX_BETA, V, V_NEXT, XE, HX, XH, EH = range(10)
# S: an update's coefficients (see `coefficients` of each algorithm); TO_X is all that x adds to the weights
KEEP, NEW, ALONG, TO_X, KEEP_H, NEW_H, ALONG_H, TO_X_H, TO_NEXT = range(10, 19)
# S: a rule's estimates at x and x', λ' and its change
MEAN, MEAN_NEXT, MEAN_LAM, MEAN_LAM_NEXT, SECOND_NEXT, LAM, CHANGE, WORTH, SPREAD = range(19, 28)
# S: the largest trace of a feature, and the size up to which it is dropped
LARGEST, LIMIT = 28, 29
# S: for each block a bound on every trace and one on every weight, whose growth is cheaper to follow than each weight
TRACE_BOUND, WEIGHT_BOUND, BOUNDS = 30, 31, 2
SCRATCH = TRACE_BOUND + BOUNDS * 4

NEGLIGIBLE = 1e-100
"""With few features a trace is kept while it is larger: numbers near the smallest there are make a processor crawl."""


@lanewise
def set_scaled(out: Floats, row: Floats, scale: float) -> None:
    """out = scale · row."""
    for l in range(out.size):
        out[l] = scale * row[l]


@lanewise
def add_scaled(out: Floats, row: Floats, scale: float) -> None:
    """out += scale · row."""
    for l in range(out.size):
        out[l] += scale * row[l]


@lanewise
def increase(row: Floats, by: float) -> None:
    """Row += by."""
    for l in range(row.size):
        row[l] += by


@lanewise
def _add_product(out: Floats, a: Floats, b: Floats) -> None:
    for l in range(out.size):
        out[l] += a[l] * b[l]


@lanewise
def _scale(row: Floats, factor: Floats) -> None:
    for l in range(row.size):
        row[l] *= factor[l]


@lanewise
def _decay_and_follow(e: Floats, keep: Floats, w: Floats, along: Floats) -> None:
    for l in range(e.size):
        now = e[l] * keep[l]
        e[l] = now
        w[l] += along[l] * now


@inlined
def dot(out: Floats, F: Floats, row: int, index: Ints, value: Floats, n: int) -> None:
    """out = row · x, for x given by its first n active features."""
    if n == 0:
        out[:] = 0.0
        return
    set_scaled(out, F[index[0], row], value[0])
    for j in range(1, n):
        add_scaled(out, F[index[j], row], value[j])


@inlined
def read(out: Floats, F: Floats, row: int, index: Ints, value: Floats, n: int) -> bool:
    """out = row · x, unless x is one-hot: then the row itself can be read in its place. Whether it is."""
    if n == 1 and value[0] == 1.0:
        return True
    dot(out, F, row, index, value, n)
    return False


@inlined
def add(F: Floats, row: int, factor: Floats, index: Ints, value: Floats, n: int) -> None:
    """Row += factor x."""
    for j in range(n):
        add_scaled(F[index[j], row], factor, value[j])


@inlined
def dot_live(out: Floats, F: Floats, a: int, b: int, I: Ints) -> None:
    """out = row a · row b over the live features."""
    out[:] = 0.0
    for k in range(I[N_LIVE]):
        f = I[LIVE + k]
        _add_product(out, F[f, a], F[f, b])


@inlined
def decay(F: Floats, trace: int, keep: Floats, I: Ints) -> None:
    """Trace *= keep."""
    for k in range(I[N_LIVE]):
        _scale(F[I[LIVE + k], trace], keep)


@inlined
def decay_and_follow(F: Floats, trace: int, keep: Floats, weights: int, along: Floats, I: Ints) -> None:
    """Trace *= keep, then weights += along trace."""
    for k in range(I[N_LIVE]):
        f = I[LIVE + k]
        _decay_and_follow(F[f, trace], keep, F[f, weights], along)


@inlined
def follow(F: Floats, weights: int, along: Floats, trace: int, I: Ints) -> None:
    """Weights += along trace, for a second vector that follows a trace already decayed."""
    for k in range(I[N_LIVE]):
        f = I[LIVE + k]
        _add_product(F[f, weights], along, F[f, trace])


@inlined
def spread(M: Floats, m: int, reward: float, discount: float, rho: float) -> None:
    """Hand all lanes of a block the same reward, discount and ratio; a row that holds the number already is left."""
    if M[m + CUMULANT, 0] != reward:
        M[m + CUMULANT] = reward
    if M[m + DISCOUNT, 0] != discount:
        M[m + DISCOUNT] = discount
    if M[m + RATIO, 0] != rho:
        M[m + RATIO] = rho


@inlined
def enliven(I: Ints, index: Ints, size: int) -> None:
    """Put the active features on the list of live ones."""
    for j in range(len(index)):
        f = index[j]
        if not I[LIVE + size + f]:
            I[LIVE + size + f] = 1
            I[LIVE + I[N_LIVE]] = f
            I[N_LIVE] += 1


@lanewise
def _larger(largest: Floats, row: Floats) -> None:
    for l in range(row.size):
        size = abs(row[l])
        largest[l] = size if size > largest[l] else largest[l]


@lanewise
def _count(largest: Floats, limit: Floats) -> int:
    above = 0
    for l in range(limit.size):
        above += largest[l] > limit[l]
    return above


@lanewise
def _clear_small(row: Floats, largest: Floats, limit: Floats) -> None:
    for l in range(row.size):
        row[l] = row[l] if largest[l] > limit[l] else 0.0


@inlined
def prune(F: Floats, S: Floats, I: Ints) -> None:
    """Set to 0 a lane's traces of a feature where all are within S[LIMIT]; drop features without a trace."""
    rows, weights, largest, limit = I[WEIGHT_ROWS] + I[TRACE_ROWS], I[WEIGHT_ROWS], S[LARGEST], S[LIMIT]
    k = 0
    while k < I[N_LIVE]:
        f = I[LIVE + k]
        largest[:] = 0.0
        for first in range(0, I[BLOCKS] * rows, rows):
            for row in range(first + weights, first + rows):
                _larger(largest, F[f, row])
        above = _count(largest, limit)
        if above < limit.size:
            for first in range(0, I[BLOCKS] * rows, rows):
                for row in range(first + weights, first + rows):
                    _clear_small(F[f, row], largest, limit)
        if above == 0:
            I[N_LIVE] -= 1
            I[LIVE + k] = I[LIVE + I[N_LIVE]]
            I[LIVE + F.shape[0] + f] = 0
        else:
            k += 1


@inlined
def clear_traces(F: Floats, I: Ints) -> None:
    """Set every trace to 0: the end of an episode."""
    rows = I[WEIGHT_ROWS] + I[TRACE_ROWS]
    for k in range(I[N_LIVE]):
        f = I[LIVE + k]
        for first in range(0, I[BLOCKS] * rows, rows):
            for row in range(first + I[WEIGHT_ROWS], first + rows):
                F[f, row] = 0.0
        I[LIVE + F.shape[0] + f] = 0
    I[N_LIVE] = 0

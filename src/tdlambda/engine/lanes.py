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
    drop,
)  # fmt: skip

# S: step sizes, of the value and of what is learnt beside it; each block's estimate at x and at x'
ALPHA_T, BETA_T, AUX_ALPHA, AUX_BETA, HERE, NEXT = 0, 1, 2, 3, 4, 8
# S: dot products with traces, and an update's coefficients (see `coefficients` of each algorithm); TO_X is all that x
# adds to the weights
XE, HX, XH, EH, KEEP, NEW, ALONG, TO_X, KEEP_H, NEW_H, ALONG_H, TO_X_H, TO_NEXT = range(12, 25)
# S: λ' = 1 - w·z and the change of w; what earlier λ-returns gain (see `lambdas.meta`)
LAM, CHANGE, WORTH, SPREAD = range(25, 29)
# S: the largest trace of a feature, and the size up to which it is dropped
LARGEST, LIMIT = 29, 30
# S: for each block a bound on every trace and one on every weight, whose growth is cheaper to follow than each weight
TRACE_BOUND, WEIGHT_BOUND = 31, 35
# S: the largest prediction that is not divergence, of a value and of a variance or second moment
ALLOWED, ALLOWED_SQUARE = 39, 40
SCRATCH = 41

MARK = 2
"""Added to a feature's entry in the list of live ones, while it waits for a treatment of its own."""
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
def _dot4(out: Floats, a: Floats, b: Floats, c: Floats, d: Floats, va: float, vb: float, vc: float, vd: float) -> None:
    for l in range(out.size):
        out[l] = va * a[l] + vb * b[l] + vc * c[l] + vd * d[l]


@lanewise
def _add_product(out: Floats, a: Floats, b: Floats) -> None:
    for l in range(out.size):
        out[l] += a[l] * b[l]


@lanewise
def _add_products(
    out: Floats, a: Floats, b: Floats, c: Floats, d: Floats, e: Floats, f: Floats, g: Floats, h: Floats
) -> None:
    for l in range(out.size):
        out[l] = out[l] + a[l] * b[l] + c[l] * d[l] + e[l] * f[l] + g[l] * h[l]


@lanewise
def _add_two(a: Floats, to_a: Floats, b: Floats, to_b: Floats, scale: float) -> None:
    for l in range(a.size):
        a[l] += to_a[l] * scale
        b[l] += to_b[l] * scale


@lanewise
def _decay_and_follow(e: Floats, keep: Floats, w: Floats, along: Floats) -> None:
    for l in range(e.size):
        now = e[l] * keep[l]
        e[l] = now
        w[l] += along[l] * now


@lanewise
def _decay_and_follow_both(e: Floats, keep: Floats, w: Floats, along: Floats, h: Floats, along_h: Floats) -> None:
    for l in range(e.size):
        now = e[l] * keep[l]
        e[l] = now
        w[l] += along[l] * now
        h[l] += along_h[l] * now


@lanewise
def _decay_and_follow_each(
    e: Floats, keep: Floats, w: Floats, along: Floats, e_h: Floats, keep_h: Floats, h: Floats, along_h: Floats,
    e_grad: Floats,
) -> None:  # fmt: skip
    for l in range(e.size):
        now = e[l] * keep[l]
        e[l] = now
        w[l] += along[l] * now
        now = e_h[l] * keep_h[l]
        e_h[l] = now
        h[l] += along_h[l] * now
        e_grad[l] *= keep[l]


@lanewise
def _decay_follow_and_add_each(
    e: Floats, keep: Floats, w: Floats, along: Floats, e_h: Floats, keep_h: Floats, h: Floats, along_h: Floats,
    e_grad: Floats, new: Floats, to_w: Floats, new_h: Floats, to_h: Floats, rho: Floats, scale: float,
) -> None:  # fmt: skip
    for l in range(e.size):
        now = e[l] * keep[l]
        e[l] = now + new[l] * scale
        w[l] = w[l] + along[l] * now + to_w[l] * scale
        now = e_h[l] * keep_h[l]
        e_h[l] = now + new_h[l] * scale
        h[l] = h[l] + along_h[l] * now + to_h[l] * scale
        e_grad[l] = e_grad[l] * keep[l] + rho[l] * scale


@inlined
def distinct(index: Ints, n: int) -> bool:
    """Whether no two of the first n active features are the same (not looked into where they are many)."""
    if n > 8:
        return False
    for j in range(n):
        for k in range(j):
            if index[j] == index[k]:
                return False
    return True


@inlined
def one_hot(value: Floats, n: int) -> bool:
    """Whether a row can be read itself, in place of its dot product with x."""
    return n == 1 and value[0] == 1.0


@inlined
def one_hot_next(x: Ints, y: Ints, value: Floats, n: int) -> bool:
    """The same for x', unless it is x: its row is written while it is read."""
    return n == 1 and value[0] == 1.0 and y[0] != x[0]


@inlined
def dot(out: Floats, F: Floats, row: int, index: Ints, value: Floats, n: int) -> None:
    """out = row · x, for x given by its first n active features."""
    first = 1
    if n == 0:
        out[:] = 0.0
    elif n < 4:
        set_scaled(out, F[index[0], row], value[0])
    else:
        first = 4
        _dot4(
            out, F[index[0], row], F[index[1], row], F[index[2], row], F[index[3], row],
            value[0], value[1], value[2], value[3],
        )  # fmt: skip
    for j in range(first, n):
        add_scaled(out, F[index[j], row], value[j])


@inlined
def add(F: Floats, row: int, factor: Floats, index: Ints, value: Floats, n: int) -> None:
    """Row += factor x."""
    for j in range(n):
        add_scaled(F[index[j], row], factor, value[j])


@inlined
def add_two(F: Floats, a: int, to_a: Floats, b: int, to_b: Floats, index: Ints, value: Floats, n: int) -> None:
    """Row a += to_a x, row b += to_b x."""
    for j in range(n):
        _add_two(F[index[j], a], to_a, F[index[j], b], to_b, value[j])


@inlined
def dot_live(out: Floats, F: Floats, a: int, b: int, I: Ints) -> None:
    """out = row a · row b over the live features."""
    out[:] = 0.0
    n = I[N_LIVE]
    fours = n - n % 4
    for k in range(0, fours, 4):
        f, g, h, i = I[LIVE + k], I[LIVE + k + 1], I[LIVE + k + 2], I[LIVE + k + 3]
        _add_products(out, F[f, a], F[f, b], F[g, a], F[g, b], F[h, a], F[h, b], F[i, a], F[i, b])
    for k in range(fours, n):
        f = I[LIVE + k]
        _add_product(out, F[f, a], F[f, b])


@inlined
def decay_and_follow(F: Floats, trace: int, keep: Floats, weights: int, along: Floats, I: Ints, but: int = -1) -> None:
    """Trace *= keep, then weights += along trace; but for one feature, whose turn was before."""
    for k in range(I[N_LIVE]):
        f = I[LIVE + k]
        if f != but:
            _decay_and_follow(F[f, trace], keep, F[f, weights], along)


@inlined
def decay_and_follow_both(
    F: Floats, trace: int, keep: Floats, w: int, along: Floats, h: int, along_h: Floats, I: Ints
) -> None:
    """Trace *= keep, then two rows of weights follow it."""
    for k in range(I[N_LIVE]):
        f = I[LIVE + k]
        _decay_and_follow_both(F[f, trace], keep, F[f, w], along, F[f, h], along_h)


@inlined
def decay_and_follow_each(
    F: Floats, e: int, keep: Floats, w: int, along: Floats, e_h: int, keep_h: Floats, h: int, along_h: Floats,
    e_grad: int, I: Ints,
) -> None:  # fmt: skip
    """Two traces, each followed by its weights, and e∇, which decays as e does; but for features that are marked."""
    for k in range(I[N_LIVE]):
        f = I[LIVE + k]
        if I[LIVE + F.shape[0] + f] < MARK:
            _decay_and_follow_each(F[f, e], keep, F[f, w], along, F[f, e_h], keep_h, F[f, h], along_h, F[f, e_grad])


@inlined
def decay_follow_and_add_each(
    F: Floats, e: int, keep: Floats, w: int, along: Floats, e_h: int, keep_h: Floats, h: int, along_h: Floats,
    e_grad: int, new: Floats, to_w: Floats, new_h: Floats, to_h: Floats, rho: Floats,
    I: Ints, index: Ints, value: Floats, n: int,
) -> None:  # fmt: skip
    """The same, and then x added to each: of features that are all different in one go."""
    marks = LIVE + F.shape[0]
    each = distinct(index, n)
    if each:
        for j in range(n):
            I[marks + index[j]] += MARK
    decay_and_follow_each(F, e, keep, w, along, e_h, keep_h, h, along_h, e_grad, I)
    for j in range(n):
        f, scale = index[j], value[j]
        if each:
            I[marks + f] -= MARK
            _decay_follow_and_add_each(
                F[f, e], keep, F[f, w], along, F[f, e_h], keep_h, F[f, h], along_h, F[f, e_grad],
                new, to_w, new_h, to_h, rho, scale,
            )  # fmt: skip
        else:
            _add_two(F[f, e], new, F[f, w], to_w, scale)
            _add_two(F[f, e_h], new_h, F[f, h], to_h, scale)
            add_scaled(F[f, e_grad], rho, scale)


@inlined
def read_estimates(F: Floats, S: Floats, I: Ints, x: Ints, xv: Floats, y: Ints, yv: Floats, n_next: int) -> None:
    """Every block's estimate at x and x', unless they are one-hot: then the rows themselves are read."""
    rows, here, after = I[WEIGHT_ROWS] + I[TRACE_ROWS], not one_hot(xv, len(x)), not one_hot_next(x, y, yv, n_next)
    for k in range(I[BLOCKS]):
        if here:
            dot(S[HERE + k], F, k * rows, x, xv, len(x))
        if after:
            dot(S[NEXT + k], F, k * rows, y, yv, n_next)


@inlined
def spread(M: Floats, m: int, reward: float, discount: float, rho: float) -> None:
    """Hand all lanes of a block the same reward, discount and ratio; a row that holds the number already is left."""
    if M[m + CUMULANT, 0] != reward:
        M[m + CUMULANT] = reward
    if M[m + DISCOUNT, 0] != discount:
        M[m + DISCOUNT] = discount
    if M[m + RATIO, 0] != rho:
        M[m + RATIO] = rho


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
            drop(I, k, F.shape[0])
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

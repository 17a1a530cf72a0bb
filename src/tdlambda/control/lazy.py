"""True online learning whose cost does not grow with the number of live traces.

A step decays every live trace and moves every weight along its trace, but looks only at the features of x and x'. So
traces and weights are kept with what they have in common taken out; for each block, on-policy (ρ = 1), with rows w, e
and in gradient methods h, e∇, e_h (see `learners.true_online_gtd`):

    e = K ê,  e∇ = K ê∇,  e_h = K ê_h            w = ŵ + A ê,  h = ĥ + B ê_h
    e ← γλ e,  w ← w + c e                        is   K ← γλ K,  A ← A + c K
    e ← e + d x, at the features of x             is   ê ← ê + (d/K) x,  ŵ ← ŵ - A (d/K) x

and h·e∇ is carried along with e_h·e∇, each by its own recursion. When K has become small, digits would be lost: then
the block is settled, K = 1 and A = B = 0, and traces within the tolerance are dropped. All is as in `learners`, up to
rounding and to what is dropped there and here. All rows of a feature lie side by side in V [feature, row]: a step looks
at few features, but at every row of them.

Weights are looked at for divergence where a bound on them, which grows by the largest change a step can make, has
passed what they may be; and as they are after a step, where `learners` looks between its two parts too.
"""

from tdlambda.arrays import Floats, Ints
from tdlambda.compiled import inlined, kernel, lanewise
from tdlambda.lambdas import counting, greedy, meta
from tdlambda.learners import true_online_gtd, true_online_td
from tdlambda.memory import (
    ALGORITHM,
    BETA,
    BLOCKS,
    BOUND,
    BUNDLE,
    CONSTANT,
    COUNTING,
    CUMULANT,
    DECAY,
    DELTA,
    DISCOUNT,
    DIVERGED_AT,
    FIRST_BLOCK,
    LAM_NEXT,
    LAST_DISCOUNT,
    META,
    PACE,
    RHO_PREV,
    SCHEDULE,
    SLOTS,
    STEPS,
    TOLERANCE,
    TRACE_ROWS,
    TRUE_ONLINE_GTD,
    UNDER_WAY,
    V_OLD,
    WEIGHT_ROWS,
    allowed,
    allowed_square,
    enliven,
    is_square,
    step_size,
)

K, A, B, GRAD, CROSS, LARGEST_E, LARGEST_W, LARGEST_EH, LARGEST_H = range(9)
"""Z, of each block: K, A, B, h·e∇, e_h·e∇; bounds on |e|, |w|, |e_h|, |h|."""
NUMBERS = 9
SMALL = 1 / 64
"""K below this is settled."""

_td, _gtd = true_online_td.coefficients, true_online_gtd.coefficients
_greedy, _meta, _counting = greedy.prepare, meta.prepare, counting.next_lambda


@inlined
def settle(V: Floats, b: int, gradient: bool, z: Floats, L: Ints, least: float) -> None:
    """Let a block's rows be what they stand for; drop the features whose traces are all within `least`.

    L: how many features are live, which, and for each feature whether it is.
    """
    width, k, a, keep, e = V.shape[0], 0, z[A], z[K], b + 2 if gradient else b + 1
    while k < L[0]:
        f = L[1 + k]
        V[f, b] += a * V[f, e]
        V[f, e] *= keep
        dead = abs(V[f, e]) <= least
        if gradient:
            V[f, b + 1] += z[B] * V[f, b + 4]
            V[f, b + 3] *= keep
            V[f, b + 4] *= keep
            dead = dead and abs(V[f, b + 3]) <= least and abs(V[f, b + 4]) <= least
        if dead:
            V[f, e] = 0.0
            if gradient:
                V[f, b + 3], V[f, b + 4] = 0.0, 0.0
            L[0] -= 1
            L[1 + width + f] = 0
            L[1 + k] = L[1 + L[0]]
        else:
            k += 1
    z[K], z[A], z[B] = 1.0, 0.0, 0.0


@kernel
def settle_all(V: Floats, M: Floats, I: Ints, Z: Floats, L: Ints, end: bool) -> bool:
    """Settle every block; at an episode's `end` all traces are dropped. Whether all weights are within their bound.

    With new bounds on weights and traces, if it is not an end.
    """
    rows, gradient, within = I[WEIGHT_ROWS] + I[TRACE_ROWS], I[ALGORITHM] == TRUE_ONLINE_GTD, True
    for k in range(I[BLOCKS]):
        b, z = k * rows, Z[k]
        if end:
            z[K] = 0.0
        settle(V, b, gradient, z, L[k], 0.0)
        if end:
            z[GRAD], z[CROSS], z[LARGEST_E], z[LARGEST_EH] = 0.0, 0.0, 0.0, 0.0
            continue
        z[LARGEST_W], z[LARGEST_H], z[LARGEST_E], z[LARGEST_EH] = 0.0, 0.0, 0.0, 0.0
        for f in range(V.shape[0]):
            within &= abs(V[f, b]) <= M[BOUND]  # so that NaN is not
            z[LARGEST_W] = max(z[LARGEST_W], abs(V[f, b]))
            if gradient:
                within &= abs(V[f, b + 1]) <= M[BOUND]
                z[LARGEST_H] = max(z[LARGEST_H], abs(V[f, b + 1]))
        for j in range(L[k, 0]):
            f = L[k, 1 + j]
            z[LARGEST_E] = max(z[LARGEST_E], abs(V[f, b + 2 if gradient else b + 1]))
            if gradient:
                z[LARGEST_EH] = max(z[LARGEST_EH], abs(V[f, b + 4]))
    if end:
        I[UNDER_WAY] = 0
    return within


@kernel
def close(F: Floats, V: Floats, M: Floats, I: Ints, Z: Floats, L: Ints) -> None:
    """Back to a learner's own memory, in which there is one list of live features."""
    settle_all(V, M, I, Z, L, False)
    for row in range(V.shape[1]):
        for f in range(V.shape[0]):
            F[row, f] = V[f, row]
    for k in range(I[BLOCKS]):
        enliven(I, L[k, 1 : 1 + L[k, 0]], L[k, 0], F.shape[1])


@lanewise
def sums(V: Floats, x: Ints, n: int, out: Floats) -> None:
    """The sum of every row over the first n features: of several blocks as vectors, of one in registers."""
    if out.size > 5:
        out[:] = 0.0
        for j in range(n):
            row = V[x[j]]
            for r in range(out.size):
                out[r] += row[r]
        return
    w, h, e, g, eh = 0.0, 0.0, 0.0, 0.0, 0.0
    for j in range(n):
        row = V[x[j]]
        w += row[0]
        h += row[1]
        if out.size == 5:
            e += row[2]
            g += row[3]
            eh += row[4]
    out[0], out[1] = w, h
    if out.size == 5:
        out[2], out[3], out[4] = e, g, eh


@lanewise
def _add(V: Floats, x: Ints, by: Floats) -> None:
    """A number to every row, at the features of x."""
    if by.size > 5:
        for j in range(x.size):
            row = V[x[j]]
            for r in range(by.size):
                row[r] += by[r]
        return
    w, h, e, g, eh = by[0], by[1], by[by.size - 3], by[by.size - 2], by[by.size - 1]
    for j in range(x.size):
        row = V[x[j]]
        row[0] += w
        row[1] += h
        if by.size == 5:
            row[2] += e
            row[3] += g
            row[4] += eh


@inlined
def value(V: Floats, gradient: bool, z: Floats, x: Ints) -> float:
    """w·x of the first block."""
    total, e = 0.0, 2 if gradient else 1
    for j in range(x.size):
        total += V[x[j], 0] + z[A] * V[x[j], e]
    return total


@lanewise
def _learn(
    V: Floats, b: int, M: Floats, m: int, I: Ints, z: Floats, L: Ints, alpha: float, beta: float,
    at_x: Floats, by: Floats, v: float, v_next: float, x: Ints, y: Ints, n_next: int, times: int, norm: float,
    reward: float, gamma_next: float, lam_next: float,
) -> bool:  # fmt: skip
    """One transition for one block, but for what it adds at x, which is left in `by`. Whether bounds hold.

    `times`: how often a feature may be in x; `norm`: x·x; `at_x`: the sums of rows over x.
    """
    gradient, width, n, before = I[ALGORITHM] == TRUE_ONLINE_GTD, V.shape[0], x.size, z[K]
    xe, hx, xg, xh = before * at_x[b + (2 if gradient else 1)], 0.0, 0.0, 0.0
    if gradient:
        hx, xg, xh = at_x[b + 1] + z[B] * at_x[b + 4], before * at_x[b + 3], before * at_x[b + 4]
    v_old = M[m + V_OLD] if I[UNDER_WAY] else v
    gamma_lam = M[m + DECAY] if I[UNDER_WAY] else 0.0
    delta = reward + gamma_next * v_next - v
    keep, new, along, back = _td(v, v_next, v_old, xe, alpha, reward, gamma_next, 1.0, gamma_lam)
    new_h, back_next, along_h, back_h = 0.0, 0.0, 0.0, 0.0
    if gradient:
        reach = M[LAST_DISCOUNT] if gamma_next == 0.0 and m == FIRST_BLOCK else gamma_next
        _, new_h, back_next, along_h, back_h = _gtd(
            delta, hx, xh, z[GRAD], alpha, beta, reach, 1.0, 1.0, gamma_lam, lam_next
        )
        z[CROSS] = keep**2 * z[CROSS] + keep * xh + new_h * (keep * xg + norm)
        z[GRAD] = keep * z[GRAD] + hx + along_h * z[CROSS] + back_h * (keep * xg + norm)
    z[K] = before * keep
    if z[K] < SMALL:
        settle(V, b, gradient, z, L, M[TOLERANCE] * (min(alpha, beta) if gradient else alpha))
    per = 1 / z[K]
    r = new * per
    by[b] = back - z[A] * r
    if not gradient:
        by[b + 1] = r
    else:
        r_h = new_h * per
        by[b + 1], by[b + 2], by[b + 3], by[b + 4] = back_h - z[B] * r_h, r, per, r_h
        if back_next != 0.0:
            for j in range(n_next):
                V[y[j], b] += back_next
        z[B] += along_h * z[K]
        z[LARGEST_EH] = keep * z[LARGEST_EH] + times * abs(new_h)
        z[LARGEST_H] += abs(along_h) * z[LARGEST_EH] + times * abs(back_h)
    z[A] += along * z[K]
    z[LARGEST_E] = keep * z[LARGEST_E] + times * abs(new)
    z[LARGEST_W] += abs(along) * z[LARGEST_E] + times * (abs(back) + abs(back_next))
    for j in range(n):
        f = x[j]
        if not L[1 + width + f]:
            L[1 + width + f] = 1
            L[1 + L[0]] = f
            L[0] += 1
    M[m + V_OLD], M[m + DELTA], M[m + DECAY] = v_next, delta, gamma_next * lam_next
    if gradient:
        M[m + RHO_PREV] = 1.0
    return z[LARGEST_W] <= M[BOUND] and z[LARGEST_H] <= M[BOUND]


@inlined
def advance(
    F: Floats, V: Floats, M: Floats, I: Ints, Z: Floats, L: Ints, G: Floats, T: Floats, ones: Floats,
    x: Ints, y: Ints, times: int, reward: float, gamma_next: float, lam_next: float, terminated: bool, truncated: bool,
) -> bool:  # fmt: skip
    """One transition, as `learners.driver` makes it; whether weights and predictions are within their bounds.

    G is room for each block's w·x and w·x', in its row of weights: to a rule they are like two features. T is room for
    the sums of rows over x and x', and for what is added at x.
    """
    I[STEPS] += 1
    n, rows, gradient = x.size, I[WEIGHT_ROWS] + I[TRACE_ROWS], I[ALGORITHM] == TRUE_ONLINE_GTD
    n_next = n
    if terminated:
        gamma_next = 0.0
        if M[LAST_DISCOUNT] == 0.0:
            n_next = 0
    alpha = step_size(F, M, I, x, ones)
    beta = M[BETA] if I[SCHEDULE] == CONSTANT else M[BETA] * alpha
    limit = allowed(M, I, reward, gamma_next, 1.0, y, ones)
    norm = float(n)
    if times > 1:
        norm = 0.0
        for i in range(n):
            for j in range(n):
                norm += 1.0 if x[i] == x[j] else 0.0
    sums(V, x, n, T[0])
    sums(V, y, n_next, T[1])
    for k in range(I[BLOCKS]):
        b, e = k * rows, k * rows + (2 if gradient else 1)
        G[b, 0], G[b, 1] = T[0, b] + Z[k, A] * T[0, e], T[1, b] + Z[k, A] * T[1, e]
    if I[BUNDLE] == COUNTING:
        lam_next = _counting(M, I, y, ones, n_next)
    elif I[BUNDLE] == META:
        _meta(G, M, I, (0,), (1.0,), (1,), (1.0,), min(n_next, 1), reward, gamma_next, 1.0, y, ones)
    elif I[BLOCKS] > 1:
        _greedy(G, M, I, (0,), (1.0,), (1,), (1.0,), min(n_next, 1), reward, gamma_next, 1.0)
    within, sane = True, True
    for k in range(I[BLOCKS]):
        sane &= abs(G[k * rows, 1]) <= (allowed_square(limit, 0.0) if is_square(I[BUNDLE], k, I[BLOCKS]) else limit)
        m, pace = FIRST_BLOCK + k * SLOTS, 1.0 if k == 0 else M[PACE]
        if I[BLOCKS] > 1:
            reward, gamma_next, lam_next = M[m + CUMULANT], M[m + DISCOUNT], M[m + LAM_NEXT]
        within &= _learn(
            V, k * rows, M, m, I, Z[k], L[k], pace * alpha, pace * beta, T[0], T[2], G[k * rows, 0], G[k * rows, 1],
            x, y, n_next, times, norm,
            reward, gamma_next, lam_next,
        )  # fmt: skip
    _add(V, x, T[2])
    I[UNDER_WAY] = 1
    if not within:
        within = settle_all(V, M, I, Z, L, False)
    within &= sane
    if terminated or truncated:
        settle_all(V, M, I, Z, L, True)
    if not within:
        I[DIVERGED_AT] = I[STEPS]
    return within

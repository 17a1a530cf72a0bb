"""True online learning whose cost does not grow with the number of live traces.

A step decays every live trace and moves every weight along its trace, but looks only at the features of x and x'. So
traces and weights are kept with what they have in common taken out; for each block, on-policy (ρ = 1), with rows w, e
and in gradient methods h, e∇, e_h (see `learners.true_online_gtd`):

    e = K ê,  e∇ = K ê∇,  e_h = K ê_h            w = ŵ + A ê,  h = ĥ + B ê_h
    e ← γλ e,  w ← w + c e                        is   K ← γλ K,  A ← A + c K
    e ← e + d x, at the features of x             is   ê ← ê + (d/K) x,  ŵ ← ŵ - A (d/K) x

and h·e∇ is carried along with e_h·e∇, each by its own recursion. When K has become small, digits would be lost: then
the block is settled, K = 1 and A = B = 0, and traces within the tolerance are dropped. All is as in `learners`, up to
rounding and to what is dropped there and here.

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
    enliven,
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
def settle(F: Floats, b: int, gradient: bool, z: Floats, L: Ints, least: float) -> None:
    """Let a block's rows be what they stand for; drop the features whose traces are all within `least`.

    L: how many features are live, which, and for each feature whether it is.
    """
    width, k, a, keep = F.shape[1], 0, z[A], z[K]
    w, e = F[b], F[b + 2 if gradient else b + 1]
    while k < L[0]:
        f = L[1 + k]
        w[f] += a * e[f]
        e[f] *= keep
        dead = abs(e[f]) <= least
        if gradient:
            F[b + 1, f] += z[B] * F[b + 4, f]
            F[b + 3, f] *= keep
            F[b + 4, f] *= keep
            dead = dead and abs(F[b + 3, f]) <= least and abs(F[b + 4, f]) <= least
        if dead:
            e[f] = 0.0
            if gradient:
                F[b + 3, f], F[b + 4, f] = 0.0, 0.0
            L[0] -= 1
            L[1 + width + f] = 0
            L[1 + k] = L[1 + L[0]]
        else:
            k += 1
    z[K], z[A], z[B] = 1.0, 0.0, 0.0


@kernel
def settle_all(F: Floats, M: Floats, I: Ints, Z: Floats, L: Ints, end: bool) -> bool:
    """Settle every block; at an episode's `end` all traces are dropped. Whether all weights are within their bound.

    With new bounds on weights and traces, if it is not an end.
    """
    rows, gradient, within = I[WEIGHT_ROWS] + I[TRACE_ROWS], I[ALGORITHM] == TRUE_ONLINE_GTD, True
    for k in range(I[BLOCKS]):
        b, z = k * rows, Z[k]
        if end:
            z[K] = 0.0
        settle(F, b, gradient, z, L[k], 0.0)
        if end:
            z[GRAD], z[CROSS], z[LARGEST_E], z[LARGEST_EH] = 0.0, 0.0, 0.0, 0.0
            continue
        z[LARGEST_W], z[LARGEST_H], z[LARGEST_E], z[LARGEST_EH] = 0.0, 0.0, 0.0, 0.0
        for f in range(F.shape[1]):
            within &= abs(F[b, f]) <= M[BOUND]  # so that NaN is not
            z[LARGEST_W] = max(z[LARGEST_W], abs(F[b, f]))
            if gradient:
                within &= abs(F[b + 1, f]) <= M[BOUND]
                z[LARGEST_H] = max(z[LARGEST_H], abs(F[b + 1, f]))
        for j in range(L[k, 0]):
            f = L[k, 1 + j]
            z[LARGEST_E] = max(z[LARGEST_E], abs(F[b + 2 if gradient else b + 1, f]))
            if gradient:
                z[LARGEST_EH] = max(z[LARGEST_EH], abs(F[b + 4, f]))
    if end:
        I[UNDER_WAY] = 0
    return within


@kernel
def close(F: Floats, M: Floats, I: Ints, Z: Floats, L: Ints) -> None:
    """Back to a learner's own memory, in which there is one list of live features."""
    settle_all(F, M, I, Z, L, False)
    for k in range(I[BLOCKS]):
        enliven(I, L[k, 1 : 1 + L[k, 0]], L[k, 0], F.shape[1])


@inlined
def value(F: Floats, b: int, gradient: bool, a: float, x: Ints) -> float:
    """w·x of the block at row b."""
    total, w, e = 0.0, F[b], F[b + 2 if gradient else b + 1]
    for j in range(x.size):
        total += w[x[j]] + a * e[x[j]]
    return total


@lanewise
def _learn(
    F: Floats, b: int, M: Floats, m: int, I: Ints, z: Floats, L: Ints, alpha: float, beta: float,
    v: float, v_next: float, x: Ints, y: Ints, n_next: int, times: int, norm: float,
    reward: float, gamma_next: float, lam_next: float,
) -> bool:  # fmt: skip
    """One transition for one block. `times`: how often a feature may be in x; `norm`: x·x. Whether bounds hold."""
    gradient, width, n = I[ALGORITHM] == TRUE_ONLINE_GTD, F.shape[1], x.size
    w, e = F[b], F[b + 2 if gradient else b + 1]
    xe, hx, xg, xh = 0.0, 0.0, 0.0, 0.0
    for j in range(n):
        xe += e[x[j]]
    if gradient:
        h, g, eh = F[b + 1], F[b + 3], F[b + 4]
        for j in range(n):
            f = x[j]
            hx += h[f] + z[B] * eh[f]
            xg += g[f]
            xh += eh[f]
    before = z[K]
    xe, xg, xh = before * xe, before * xg, before * xh
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
        settle(F, b, gradient, z, L, M[TOLERANCE] * (min(alpha, beta) if gradient else alpha))
    r = new / z[K]
    change = back - z[A] * r
    for j in range(n):
        e[x[j]] += r
        w[x[j]] += change
    if gradient:
        h, g, eh = F[b + 1], F[b + 3], F[b + 4]
        one, r = 1 / z[K], new_h / z[K]
        change = back_h - z[B] * r
        for j in range(n):
            g[x[j]] += one
            eh[x[j]] += r
            h[x[j]] += change
        for j in range(n_next):
            w[y[j]] += back_next
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
    F: Floats, M: Floats, I: Ints, Z: Floats, L: Ints, G: Floats, here: Ints, there: Ints, ones: Floats,
    x: Ints, y: Ints, times: int, reward: float, gamma_next: float, lam_next: float, terminated: bool, truncated: bool,
) -> bool:  # fmt: skip
    """One transition, as `learners.driver` makes it; whether the weights are within their bound.

    G is room for the weights at x and x' [row, 2 n], at `here` and `there`.
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
    norm = float(n)
    if times > 1:
        norm = 0.0
        for i in range(n):
            for j in range(n):
                norm += 1.0 if x[i] == x[j] else 0.0
    for k in range(I[BLOCKS]):
        w, e, a, to = F[k * rows], F[k * rows + (2 if gradient else 1)], Z[k, A], G[k * rows]
        for j in range(n):
            to[j] = w[x[j]] + a * e[x[j]]
        for j in range(n_next):
            to[n + j] = w[y[j]] + a * e[y[j]]
    if I[BUNDLE] == COUNTING:
        lam_next = _counting(M, I, y, ones, n_next)
    elif I[BUNDLE] == META:
        _meta(G, M, I, here, ones, there, ones, n_next, reward, gamma_next, 1.0, y, ones)
    elif I[BLOCKS] > 1:
        _greedy(G, M, I, here, ones, there, ones, n_next, reward, gamma_next, 1.0)
    within = True
    for k in range(I[BLOCKS]):
        m, pace, v, v_next = FIRST_BLOCK + k * SLOTS, 1.0 if k == 0 else M[PACE], 0.0, 0.0
        for j in range(n):
            v += G[k * rows, j]
        for j in range(n_next):
            v_next += G[k * rows, n + j]
        if I[BLOCKS] > 1:
            reward, gamma_next, lam_next = M[m + CUMULANT], M[m + DISCOUNT], M[m + LAM_NEXT]
        within &= _learn(
            F, k * rows, M, m, I, Z[k], L[k], pace * alpha, pace * beta, v, v_next, x, y, n_next, times, norm,
            reward, gamma_next, lam_next,
        )  # fmt: skip
    I[UNDER_WAY] = 1
    if not within:
        within = settle_all(F, M, I, Z, L, False)
    if terminated or truncated:
        settle_all(F, M, I, Z, L, True)
    if not within:
        I[DIVERGED_AT] = I[STEPS]
    return within

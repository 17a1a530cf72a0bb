"""One transition for one block of every lane, by each algorithm.

The mathematics is each algorithm's `coefficients`, as in the learner itself; here it is applied along the lanes.
Beside it two bounds grow, on a lane's traces and on its weights, so that weights are known in range without a look:

    bound on e = |keep| bound + |new| |x|₁,    bound on w += |along| (bound on e) + |what is added at x and x'|

Every function returns how many lanes' bounds on the weights have passed the limit that the weights have, or have a
prediction at x' beyond what is allowed; `Block.diverged` then looks which.
"""

from tdlambda.arrays import Floats, Ints
from tdlambda.compiled import inlined, kernel, lanewise
from tdlambda.engine import lanes
from tdlambda.engine.lanes import (
    ALONG,
    ALONG_H,
    EH,
    HERE,
    HX,
    KEEP,
    KEEP_H,
    NEW,
    NEW_H,
    NEXT,
    TO_NEXT,
    TO_X,
    TO_X_H,
    TRACE_BOUND,
    WEIGHT_BOUND,
    XE,
    XH,
)
from tdlambda.learners import gtd_lambda, td_lambda, true_online_gtd, true_online_td
from tdlambda.learners.td_lambda import REPLACING
from tdlambda.memory import (
    BOUND,
    CUMULANT,
    DECAY,
    DELTA,
    DISCOUNT,
    LAM_NEXT,
    LAST_DISCOUNT,
    OPTION,
    RHO_PREV,
    V_OLD,
)

_td, _true_online_td = td_lambda.coefficients, true_online_td.coefficients
_gtd, _true_online_gtd = gtd_lambda.coefficients, true_online_gtd.coefficients


@inlined
def _grown(e_bound: float, w_bound: float, keep: float, new: float, along: float, added: float) -> tuple[float, float]:
    """The bounds on traces and weights after a step, from the sizes of its coefficients."""
    bound = keep * e_bound + new
    return bound, w_bound + along * bound + added


@lanewise
def _td_numbers(
    v: Floats, v_next: Floats, xe: Floats, alpha: Floats,
    reward: Floats, gamma: Floats, rho: Floats, lam: Floats, decay: Floats, delta: Floats, v_old: Floats,
    keep: Floats, new: Floats, along: Floats, to_x: Floats,
    e_bound: Floats, w_bound: Floats, limit: Floats, allowed: Floats,
    option: int, x1: float,
) -> int:  # fmt: skip
    beyond = 0
    for l in range(v.size):
        d = reward[l] + gamma[l] * v_next[l] - v[l]
        k, n, a = _td(d, xe[l], alpha[l], option, rho[l], decay[l])
        delta[l], decay[l], v_old[l] = d, gamma[l] * lam[l], v_next[l]
        keep[l], new[l], along[l], to_x[l] = k, n, a, a * n
        e_bound[l], w_bound[l] = _grown(e_bound[l], w_bound[l], abs(k), abs(n) * x1, abs(a), 0.0)
        beyond += not (w_bound[l] <= limit[l]) & (abs(v_next[l]) <= allowed[l])
    return beyond


@lanewise
def _true_online_td_numbers(
    v: Floats, v_next: Floats, xe: Floats, alpha: Floats,
    reward: Floats, gamma: Floats, rho: Floats, lam: Floats, decay: Floats, delta: Floats, v_old: Floats,
    keep: Floats, new: Floats, along: Floats, to_x: Floats,
    e_bound: Floats, w_bound: Floats, limit: Floats, allowed: Floats, x1: float,
) -> int:  # fmt: skip
    beyond = 0
    for l in range(v.size):
        k, n, a, back = _true_online_td(
            v[l], v_next[l], v_old[l], xe[l], alpha[l], reward[l], gamma[l], rho[l], decay[l]
        )
        delta[l], decay[l], v_old[l] = reward[l] + gamma[l] * v_next[l] - v[l], gamma[l] * lam[l], v_next[l]
        keep[l], new[l], along[l], to_x[l] = k, n, a, a * n + back
        e_bound[l], w_bound[l] = _grown(e_bound[l], w_bound[l], abs(k), abs(n) * x1, abs(a), abs(back) * x1)
        beyond += not (w_bound[l] <= limit[l]) & (abs(v_next[l]) <= allowed[l])
    return beyond


@lanewise
def _true_online_td_one_hot(
    w: Floats, e: Floats, v_next: Floats, alpha: Floats,
    reward: Floats, gamma: Floats, rho: Floats, lam: Floats, decay: Floats, delta: Floats, v_old: Floats,
    keep: Floats, along: Floats, e_bound: Floats, w_bound: Floats, limit: Floats, allowed: Floats,
) -> int:  # fmt: skip
    """The same, and the update of the one active feature's own weight and trace, while they are at hand."""
    beyond = 0
    for l in range(w.size):
        v, xe = w[l], e[l]
        k, n, a, back = _true_online_td(v, v_next[l], v_old[l], xe, alpha[l], reward[l], gamma[l], rho[l], decay[l])
        delta[l], decay[l], v_old[l] = reward[l] + gamma[l] * v_next[l] - v, gamma[l] * lam[l], v_next[l]
        keep[l], along[l] = k, a
        e[l] = xe * k + n
        w[l] = v + a * (xe * k) + (a * n + back)
        e_bound[l], w_bound[l] = _grown(e_bound[l], w_bound[l], abs(k), abs(n), abs(a), abs(back))
        beyond += not (w_bound[l] <= limit[l]) & (abs(v_next[l]) <= allowed[l])
    return beyond


@lanewise
def _gtd_numbers(
    v: Floats, v_next: Floats, hx: Floats, eh: Floats, alpha: Floats, beta: Floats,
    reward: Floats, gamma: Floats, rho: Floats, lam: Floats, decay: Floats, delta: Floats, v_old: Floats,
    keep: Floats, new: Floats, along: Floats, to_x: Floats, to_next: Floats, along_h: Floats, to_x_h: Floats,
    e_bound: Floats, w_bound: Floats, limit: Floats, allowed: Floats, x1: float, y1: float,
) -> int:  # fmt: skip
    beyond = 0
    for l in range(v.size):
        d = reward[l] + gamma[l] * v_next[l] - v[l]
        k, n, a, back, a_h, back_h = _gtd(d, hx[l], eh[l], alpha[l], beta[l], gamma[l], rho[l], decay[l], lam[l])
        delta[l], decay[l], v_old[l] = d, gamma[l] * lam[l], v_next[l]
        keep[l], new[l], along[l], to_x[l], to_next[l] = k, n, a, a * n, back
        along_h[l], to_x_h[l] = a_h, a_h * n + back_h
        added = abs(back) * y1 + abs(back_h) * x1
        e_bound[l], w_bound[l] = _grown(e_bound[l], w_bound[l], abs(k), abs(n) * x1, abs(a) + abs(a_h), added)
        beyond += not (w_bound[l] <= limit[l]) & (abs(v_next[l]) <= allowed[l])
    return beyond


@lanewise
def _true_online_gtd_numbers(
    v: Floats, v_next: Floats, xe: Floats, hx: Floats, xh: Floats, grad: Floats, alpha: Floats, beta: Floats,
    reward: Floats, gamma: Floats, reach: Floats, rho: Floats, lam: Floats, decay: Floats, delta: Floats,
    v_old: Floats, rho_prev: Floats,
    keep: Floats, new: Floats, along: Floats, to_x: Floats, to_next: Floats,
    keep_h: Floats, new_h: Floats, along_h: Floats, to_x_h: Floats,
    e_bound: Floats, w_bound: Floats, limit: Floats, allowed: Floats, x1: float, y1: float,
) -> int:  # fmt: skip
    beyond = 0
    for l in range(v.size):
        d = reward[l] + gamma[l] * v_next[l] - v[l]
        k, n, a, back = _true_online_td(
            v[l], v_next[l], v_old[l], xe[l], alpha[l], reward[l], gamma[l], rho[l], decay[l]
        )
        k_h, n_h, back_next, a_h, back_h = _true_online_gtd(
            d, hx[l], xh[l], grad[l], alpha[l], beta[l], reach[l], rho[l], rho_prev[l], decay[l], lam[l]
        )
        delta[l], decay[l], v_old[l], rho_prev[l] = d, gamma[l] * lam[l], v_next[l], rho[l]
        keep[l], new[l], along[l], to_x[l], to_next[l] = k, n, a, a * n + back, back_next
        keep_h[l], new_h[l], along_h[l], to_x_h[l] = k_h, n_h, a_h, a_h * n_h + back_h
        added = (abs(back) + abs(back_h)) * x1 + abs(back_next) * y1
        e_bound[l], w_bound[l] = _grown(
            e_bound[l], w_bound[l], abs(k) + abs(k_h), (abs(n) + abs(n_h)) * x1, abs(a) + abs(a_h), added
        )
        beyond += not (w_bound[l] <= limit[l]) & (abs(v_next[l]) <= allowed[l])
    return beyond


@kernel
def learn_td(
    F: Floats, b: int, M: Floats, m: int, S: Floats, k: int, I: Ints, alpha: Floats, beta: Floats, rho: Floats,
    allowed: Floats, x: Ints, xv: Floats, y: Ints, yv: Floats, n_next: int, fresh: bool, x1: float, y1: float,
) -> int:  # fmt: skip
    """TD(λ). Rows: w, e."""
    w, e, n, one = b, b + 1, len(x), lanes.one_hot(xv, len(x))
    if not one:
        lanes.dot(S[XE], F, e, x, xv, n)
    v, xe = F[x[0], w] if one else S[HERE + k], F[x[0], e] if one else S[XE]
    v_next = F[y[0], w] if lanes.one_hot_next(x, y, yv, n_next) else S[NEXT + k]
    beyond = _td_numbers(
        v, v_next, xe, alpha, M[m + CUMULANT], M[m + DISCOUNT], rho, M[m + LAM_NEXT],
        M[m + DECAY], M[m + DELTA], M[m + V_OLD], S[KEEP], S[NEW], S[ALONG], S[TO_X],
        S[TRACE_BOUND + k], S[WEIGHT_BOUND + k], M[BOUND], allowed, I[OPTION], x1,
    )  # fmt: skip
    if I[OPTION] == REPLACING:
        for j in range(n):
            if xv[j] != 0:
                F[x[j], e] = 0.0
    lanes.decay_and_follow(F, e, S[KEEP], w, S[ALONG], I)
    lanes.add_two(F, e, S[NEW], w, S[TO_X], x, xv, n)
    return beyond


@kernel
def learn_true_online_td(
    F: Floats, b: int, M: Floats, m: int, S: Floats, k: int, I: Ints, alpha: Floats, beta: Floats, rho: Floats,
    allowed: Floats, x: Ints, xv: Floats, y: Ints, yv: Floats, n_next: int, fresh: bool, x1: float, y1: float,
) -> int:  # fmt: skip
    """True online TD(λ). Rows: w, e."""
    w, e, n, one = b, b + 1, len(x), lanes.one_hot(xv, len(x))
    v_next = F[y[0], w] if lanes.one_hot_next(x, y, yv, n_next) else S[NEXT + k]
    if fresh:
        lanes.set_scaled(M[m + V_OLD], F[x[0], w] if one else S[HERE + k], 1.0)
    if one:
        beyond = _true_online_td_one_hot(
            F[x[0], w], F[x[0], e], v_next, alpha,
            M[m + CUMULANT], M[m + DISCOUNT], rho, M[m + LAM_NEXT], M[m + DECAY], M[m + DELTA], M[m + V_OLD],
            S[KEEP], S[ALONG], S[TRACE_BOUND + k], S[WEIGHT_BOUND + k], M[BOUND], allowed,
        )  # fmt: skip
        lanes.decay_and_follow(F, e, S[KEEP], w, S[ALONG], I, x[0])
        return beyond
    lanes.dot(S[XE], F, e, x, xv, n)
    beyond = _true_online_td_numbers(
        S[HERE + k], v_next, S[XE], alpha,
        M[m + CUMULANT], M[m + DISCOUNT], rho, M[m + LAM_NEXT], M[m + DECAY], M[m + DELTA], M[m + V_OLD],
        S[KEEP], S[NEW], S[ALONG], S[TO_X], S[TRACE_BOUND + k], S[WEIGHT_BOUND + k], M[BOUND], allowed, x1,
    )  # fmt: skip
    lanes.decay_and_follow(F, e, S[KEEP], w, S[ALONG], I)
    lanes.add_two(F, e, S[NEW], w, S[TO_X], x, xv, n)
    return beyond


@kernel
def learn_gtd(
    F: Floats, b: int, M: Floats, m: int, S: Floats, k: int, I: Ints, alpha: Floats, beta: Floats, rho: Floats,
    allowed: Floats, x: Ints, xv: Floats, y: Ints, yv: Floats, n_next: int, fresh: bool, x1: float, y1: float,
) -> int:  # fmt: skip
    """GTD(λ). Rows: w, h, e."""
    w, h, e, n, one = b, b + 1, b + 2, len(x), lanes.one_hot(xv, len(x))
    if not one:
        lanes.dot(S[HX], F, h, x, xv, n)
    lanes.dot_live(S[EH], F, e, h, I)
    v, hx = F[x[0], w] if one else S[HERE + k], F[x[0], h] if one else S[HX]
    v_next = F[y[0], w] if lanes.one_hot_next(x, y, yv, n_next) else S[NEXT + k]
    beyond = _gtd_numbers(
        v, v_next, hx, S[EH], alpha, beta,
        M[m + CUMULANT], M[m + DISCOUNT], rho, M[m + LAM_NEXT], M[m + DECAY], M[m + DELTA], M[m + V_OLD],
        S[KEEP], S[NEW], S[ALONG], S[TO_X], S[TO_NEXT], S[ALONG_H], S[TO_X_H],
        S[TRACE_BOUND + k], S[WEIGHT_BOUND + k], M[BOUND], allowed, x1, y1,
    )  # fmt: skip
    lanes.decay_and_follow_both(F, e, S[KEEP], w, S[ALONG], h, S[ALONG_H], I)
    lanes.add_two(F, e, S[NEW], w, S[TO_X], x, xv, n)
    lanes.add(F, h, S[TO_X_H], x, xv, n)
    lanes.add(F, w, S[TO_NEXT], y, yv, n_next)
    return beyond


@kernel
def learn_true_online_gtd(
    F: Floats, b: int, M: Floats, m: int, S: Floats, k: int, I: Ints, alpha: Floats, beta: Floats, rho: Floats,
    allowed: Floats, x: Ints, xv: Floats, y: Ints, yv: Floats, n_next: int, fresh: bool, x1: float, y1: float,
) -> int:  # fmt: skip
    """True online GTD(λ). Rows: w, h, e, e∇, e_h."""
    w, h, e, e_grad, e_h, n, one = b, b + 1, b + 2, b + 3, b + 4, len(x), lanes.one_hot(xv, len(x))
    if not one:
        lanes.dot(S[XE], F, e, x, xv, n)
        lanes.dot(S[HX], F, h, x, xv, n)
        lanes.dot(S[XH], F, e_h, x, xv, n)
    lanes.dot_live(S[EH], F, h, e_grad, I)
    v, xe = F[x[0], w] if one else S[HERE + k], F[x[0], e] if one else S[XE]
    hx, xh = F[x[0], h] if one else S[HX], F[x[0], e_h] if one else S[XH]
    v_next = F[y[0], w] if lanes.one_hot_next(x, y, yv, n_next) else S[NEXT + k]
    if fresh:
        lanes.set_scaled(M[m + V_OLD], v, 1.0)
    reach = M[LAST_DISCOUNT] if k == 0 and M[m + DISCOUNT, 0] == 0.0 else M[m + DISCOUNT]
    beyond = _true_online_gtd_numbers(
        v, v_next, xe, hx, xh, S[EH], alpha, beta,
        M[m + CUMULANT], M[m + DISCOUNT], reach, rho, M[m + LAM_NEXT],
        M[m + DECAY], M[m + DELTA], M[m + V_OLD], M[m + RHO_PREV],
        S[KEEP], S[NEW], S[ALONG], S[TO_X], S[TO_NEXT], S[KEEP_H], S[NEW_H], S[ALONG_H], S[TO_X_H],
        S[TRACE_BOUND + k], S[WEIGHT_BOUND + k], M[BOUND], allowed, x1, y1,
    )  # fmt: skip
    lanes.decay_follow_and_add_each(
        F, e, S[KEEP], w, S[ALONG], e_h, S[KEEP_H], h, S[ALONG_H], e_grad,
        S[NEW], S[TO_X], S[NEW_H], S[TO_X_H], rho, I, x, xv, n,
    )  # fmt: skip
    lanes.add(F, w, S[TO_NEXT], y, yv, n_next)
    return beyond

"""One transition for one block of every lane, by each algorithm.

The mathematics is each algorithm's `coefficients`, as in the learner itself; here it is applied along the lanes.
Beside it two bounds grow, on a lane's traces and on its weights, so that weights are known in range without a look:

    bound on e = |keep| bound + |new| |x|₁,    bound on w += |along| (bound on e) + |what is added at x and x'|
"""

from tdlambda.arrays import Floats, Ints
from tdlambda.compiled import kernel, lanewise
from tdlambda.engine import lanes
from tdlambda.engine.lanes import (
    ALONG,
    ALONG_H,
    BOUNDS,
    EH,
    HX,
    KEEP,
    KEEP_H,
    NEW,
    NEW_H,
    TO_NEXT,
    TO_X,
    TO_X_H,
    TRACE_BOUND,
    V_NEXT,
    WEIGHT_BOUND,
    XE,
    XH,
    V,
)
from tdlambda.learners import gtd_lambda, td_lambda, true_online_gtd, true_online_td
from tdlambda.learners.td_lambda import REPLACING
from tdlambda.memory import (
    CUMULANT,
    DECAY,
    DELTA,
    DISCOUNT,
    LAM_NEXT,
    OPTION,
    RATIO,
    RHO_PREV,
    V_OLD,
)

_td, _true_online_td = td_lambda.coefficients, true_online_td.coefficients
_gtd, _true_online_gtd = gtd_lambda.coefficients, true_online_gtd.coefficients


@lanewise
def _td_numbers(
    v: Floats, v_next: Floats, xe: Floats, alpha: Floats,
    reward: Floats, gamma: Floats, rho: Floats, lam: Floats, decay: Floats, delta: Floats,
    keep: Floats, new: Floats, along: Floats, to_x: Floats, e_bound: Floats, w_bound: Floats, option: int, x1: float,
) -> None:  # fmt: skip
    for l in range(v.size):
        d = reward[l] + gamma[l] * v_next[l] - v[l]
        k, n, a = _td(d, xe[l], alpha[l], option, rho[l], decay[l])
        delta[l], decay[l] = d, gamma[l] * lam[l]
        keep[l], new[l], along[l], to_x[l] = k, n, a, a * n
        bound = abs(k) * e_bound[l] + abs(n) * x1
        e_bound[l] = bound
        w_bound[l] += abs(a) * bound


@lanewise
def _true_online_td_numbers(
    v: Floats, v_next: Floats, xe: Floats, alpha: Floats,
    reward: Floats, gamma: Floats, rho: Floats, lam: Floats, decay: Floats, delta: Floats, v_old: Floats,
    keep: Floats, new: Floats, along: Floats, to_x: Floats, e_bound: Floats, w_bound: Floats, x1: float,
) -> None:  # fmt: skip
    for l in range(v.size):
        k, n, a, back = _true_online_td(
            v[l], v_next[l], v_old[l], xe[l], alpha[l], reward[l], gamma[l], rho[l], decay[l]
        )
        delta[l], decay[l], v_old[l] = reward[l] + gamma[l] * v_next[l] - v[l], gamma[l] * lam[l], v_next[l]
        keep[l], new[l], along[l], to_x[l] = k, n, a, a * n + back
        bound = abs(k) * e_bound[l] + abs(n) * x1
        e_bound[l] = bound
        w_bound[l] += abs(a) * bound + abs(back) * x1


@lanewise
def _gtd_numbers(
    v: Floats, v_next: Floats, hx: Floats, eh: Floats, alpha: Floats, beta: Floats,
    reward: Floats, gamma: Floats, rho: Floats, lam: Floats, decay: Floats, delta: Floats,
    keep: Floats, new: Floats, along: Floats, to_x: Floats, to_next: Floats, along_h: Floats, to_x_h: Floats,
    e_bound: Floats, w_bound: Floats, x1: float, y1: float,
) -> None:  # fmt: skip
    for l in range(v.size):
        d = reward[l] + gamma[l] * v_next[l] - v[l]
        k, n, a, back, a_h, back_h = _gtd(d, hx[l], eh[l], alpha[l], beta[l], gamma[l], rho[l], decay[l], lam[l])
        delta[l], decay[l] = d, gamma[l] * lam[l]
        keep[l], new[l], along[l], to_x[l], to_next[l] = k, n, a, a * n, back
        along_h[l], to_x_h[l] = a_h, a_h * n + back_h
        bound = abs(k) * e_bound[l] + abs(n) * x1
        e_bound[l] = bound
        w_bound[l] += (abs(a) + abs(a_h)) * bound + abs(back) * y1 + abs(back_h) * x1


@lanewise
def _true_online_gtd_numbers(
    v: Floats, v_next: Floats, xe: Floats, hx: Floats, xh: Floats, grad: Floats, alpha: Floats, beta: Floats,
    reward: Floats, gamma: Floats, rho: Floats, lam: Floats, decay: Floats, delta: Floats, v_old: Floats,
    rho_prev: Floats,
    keep: Floats, new: Floats, along: Floats, to_x: Floats, to_next: Floats,
    keep_h: Floats, new_h: Floats, along_h: Floats, to_x_h: Floats,
    e_bound: Floats, w_bound: Floats, x1: float, y1: float,
) -> None:  # fmt: skip
    for l in range(v.size):
        d = reward[l] + gamma[l] * v_next[l] - v[l]
        k, n, a, back = _true_online_td(
            v[l], v_next[l], v_old[l], xe[l], alpha[l], reward[l], gamma[l], rho[l], decay[l]
        )
        k_h, n_h, back_next, a_h, back_h = _true_online_gtd(
            d, hx[l], xh[l], grad[l], alpha[l], beta[l], gamma[l], rho[l], rho_prev[l], decay[l], lam[l]
        )
        delta[l], decay[l], v_old[l], rho_prev[l] = d, gamma[l] * lam[l], v_next[l], rho[l]
        keep[l], new[l], along[l], to_x[l], to_next[l] = k, n, a, a * n + back, back_next
        keep_h[l], new_h[l], along_h[l], to_x_h[l] = k_h, n_h, a_h, a_h * n_h + back_h
        bound = (abs(k) + abs(k_h)) * e_bound[l] + (abs(n) + abs(n_h)) * x1
        e_bound[l] = bound
        w_bound[l] += (abs(a) + abs(a_h)) * bound + (abs(back) + abs(back_h)) * x1 + abs(back_next) * y1


@kernel
def learn_td(
    F: Floats, b: int, M: Floats, m: int, S: Floats, k: int, I: Ints, alpha: Floats, beta: Floats,
    x: Ints, xv: Floats, y: Ints, yv: Floats, n_next: int, fresh: bool, x1: float, y1: float,
) -> None:  # fmt: skip
    """TD(λ). Rows: w, e."""
    w, e, n = b, b + 1, len(x)
    v = F[x[0], w] if lanes.read(S[V], F, w, x, xv, n) else S[V]
    v_next = F[y[0], w] if lanes.read(S[V_NEXT], F, w, y, yv, n_next) else S[V_NEXT]
    if fresh:
        lanes.set_scaled(M[m + V_OLD], v, 1.0)
    xe = F[x[0], e] if lanes.read(S[XE], F, e, x, xv, n) else S[XE]
    _td_numbers(
        v, v_next, xe, alpha, M[m + CUMULANT], M[m + DISCOUNT], M[m + RATIO], M[m + LAM_NEXT],
        M[m + DECAY], M[m + DELTA], S[KEEP], S[NEW], S[ALONG], S[TO_X],
        S[TRACE_BOUND + BOUNDS * k], S[WEIGHT_BOUND + BOUNDS * k], I[OPTION], x1,
    )  # fmt: skip
    if I[OPTION] == REPLACING:
        for j in range(n):
            if xv[j] != 0:
                F[x[j], e] = 0.0
    lanes.decay_and_follow(F, e, S[KEEP], w, S[ALONG], I)
    lanes.add(F, e, S[NEW], x, xv, n)
    lanes.add(F, w, S[TO_X], x, xv, n)


@kernel
def learn_true_online_td(
    F: Floats, b: int, M: Floats, m: int, S: Floats, k: int, I: Ints, alpha: Floats, beta: Floats,
    x: Ints, xv: Floats, y: Ints, yv: Floats, n_next: int, fresh: bool, x1: float, y1: float,
) -> None:  # fmt: skip
    """True online TD(λ). Rows: w, e."""
    w, e, n = b, b + 1, len(x)
    v = F[x[0], w] if lanes.read(S[V], F, w, x, xv, n) else S[V]
    v_next = F[y[0], w] if lanes.read(S[V_NEXT], F, w, y, yv, n_next) else S[V_NEXT]
    if fresh:
        lanes.set_scaled(M[m + V_OLD], v, 1.0)
    xe = F[x[0], e] if lanes.read(S[XE], F, e, x, xv, n) else S[XE]
    _true_online_td_numbers(
        v, v_next, xe, alpha, M[m + CUMULANT], M[m + DISCOUNT], M[m + RATIO], M[m + LAM_NEXT],
        M[m + DECAY], M[m + DELTA], M[m + V_OLD], S[KEEP], S[NEW], S[ALONG], S[TO_X],
        S[TRACE_BOUND + BOUNDS * k], S[WEIGHT_BOUND + BOUNDS * k], x1,
    )  # fmt: skip
    lanes.decay_and_follow(F, e, S[KEEP], w, S[ALONG], I)
    lanes.add(F, e, S[NEW], x, xv, n)
    lanes.add(F, w, S[TO_X], x, xv, n)


@kernel
def learn_gtd(
    F: Floats, b: int, M: Floats, m: int, S: Floats, k: int, I: Ints, alpha: Floats, beta: Floats,
    x: Ints, xv: Floats, y: Ints, yv: Floats, n_next: int, fresh: bool, x1: float, y1: float,
) -> None:  # fmt: skip
    """GTD(λ). Rows: w, h, e."""
    w, h, e, n = b, b + 1, b + 2, len(x)
    v = F[x[0], w] if lanes.read(S[V], F, w, x, xv, n) else S[V]
    v_next = F[y[0], w] if lanes.read(S[V_NEXT], F, w, y, yv, n_next) else S[V_NEXT]
    if fresh:
        lanes.set_scaled(M[m + V_OLD], v, 1.0)
    hx = F[x[0], h] if lanes.read(S[HX], F, h, x, xv, n) else S[HX]
    lanes.dot_live(S[EH], F, e, h, I)
    _gtd_numbers(
        v, v_next, hx, S[EH], alpha, beta, M[m + CUMULANT], M[m + DISCOUNT], M[m + RATIO], M[m + LAM_NEXT],
        M[m + DECAY], M[m + DELTA], S[KEEP], S[NEW], S[ALONG], S[TO_X], S[TO_NEXT], S[ALONG_H], S[TO_X_H],
        S[TRACE_BOUND + BOUNDS * k], S[WEIGHT_BOUND + BOUNDS * k], x1, y1,
    )  # fmt: skip
    lanes.decay_and_follow(F, e, S[KEEP], w, S[ALONG], I)
    lanes.follow(F, h, S[ALONG_H], e, I)
    lanes.add(F, e, S[NEW], x, xv, n)
    lanes.add(F, w, S[TO_X], x, xv, n)
    lanes.add(F, h, S[TO_X_H], x, xv, n)
    lanes.add(F, w, S[TO_NEXT], y, yv, n_next)


@kernel
def learn_true_online_gtd(
    F: Floats, b: int, M: Floats, m: int, S: Floats, k: int, I: Ints, alpha: Floats, beta: Floats,
    x: Ints, xv: Floats, y: Ints, yv: Floats, n_next: int, fresh: bool, x1: float, y1: float,
) -> None:  # fmt: skip
    """True online GTD(λ). Rows: w, h, e, e∇, e_h."""
    w, h, e, e_grad, e_h, n = b, b + 1, b + 2, b + 3, b + 4, len(x)
    v = F[x[0], w] if lanes.read(S[V], F, w, x, xv, n) else S[V]
    v_next = F[y[0], w] if lanes.read(S[V_NEXT], F, w, y, yv, n_next) else S[V_NEXT]
    if fresh:
        lanes.set_scaled(M[m + V_OLD], v, 1.0)
    xe = F[x[0], e] if lanes.read(S[XE], F, e, x, xv, n) else S[XE]
    hx = F[x[0], h] if lanes.read(S[HX], F, h, x, xv, n) else S[HX]
    xh = F[x[0], e_h] if lanes.read(S[XH], F, e_h, x, xv, n) else S[XH]
    lanes.dot_live(S[EH], F, h, e_grad, I)
    _true_online_gtd_numbers(
        v, v_next, xe, hx, xh, S[EH], alpha, beta,
        M[m + CUMULANT], M[m + DISCOUNT], M[m + RATIO], M[m + LAM_NEXT],
        M[m + DECAY], M[m + DELTA], M[m + V_OLD], M[m + RHO_PREV],
        S[KEEP], S[NEW], S[ALONG], S[TO_X], S[TO_NEXT], S[KEEP_H], S[NEW_H], S[ALONG_H], S[TO_X_H],
        S[TRACE_BOUND + BOUNDS * k], S[WEIGHT_BOUND + BOUNDS * k], x1, y1,
    )  # fmt: skip
    lanes.decay_and_follow(F, e, S[KEEP], w, S[ALONG], I)
    lanes.decay_and_follow(F, e_h, S[KEEP_H], h, S[ALONG_H], I)
    lanes.decay(F, e_grad, S[KEEP], I)
    lanes.add(F, e, S[NEW], x, xv, n)
    lanes.add(F, e_grad, M[m + RATIO], x, xv, n)
    lanes.add(F, e_h, S[NEW_H], x, xv, n)
    lanes.add(F, w, S[TO_X], x, xv, n)
    lanes.add(F, h, S[TO_X_H], x, xv, n)
    lanes.add(F, w, S[TO_NEXT], y, yv, n_next)

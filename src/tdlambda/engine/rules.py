"""What is learnt beside the value, for every lane: each block's reward, discount, ratio and λ' of this step.

The mathematics is that of `lambdas` and `moments`; here it is applied along the lanes.
"""

from tdlambda.arrays import Floats, Ints
from tdlambda.compiled import inlined, kernel, lanewise
from tdlambda.engine import lanes
from tdlambda.engine.lanes import (
    CHANGE,
    LAM,
    MEAN,
    MEAN_LAM,
    MEAN_LAM_NEXT,
    MEAN_NEXT,
    SECOND_NEXT,
    SPREAD,
    V_NEXT,
    WORTH,
    V,
)
from tdlambda.lambdas import greedy, meta
from tdlambda.memory import (
    BUNDLE,
    C_PREV,
    CORRECTED,
    CUMULANT,
    DECAY,
    DELTA_PREV,
    DISCOUNT,
    FIRST_BLOCK,
    FLOOR,
    GRADIENT,
    GREEDY_VTD,
    HORIZON,
    IN_RANGE,
    KAPPA,
    LAM_NEXT,
    LAMBDA,
    MEAN_WORTH,
    NEWTON,
    RATIO,
    RHO_ACC,
    RHO_CLIP,
    RING,
    SLOTS,
    STEPS,
    TRACE_LAM,
    TRACE_ROWS,
    UNDER_WAY,
    UNIT_TRACE,
    VALUE_DELTA,
    VARIANCE_WORTH,
    VTD,
    WARM_UP,
    WEIGHT_ROWS,
)
from tdlambda.moments import direct_square, of_mean, of_second_moment, of_variance

_change, _greedy_lambda = meta.change, greedy.greedy_lambda
_SECOND, _THIRD, _FOURTH = FIRST_BLOCK + SLOTS, FIRST_BLOCK + 2 * SLOTS, FIRST_BLOCK + 3 * SLOTS


@lanewise
def _of_mean(cumulant: Floats, discount: Floats, v_next: Floats, lam: Floats, reward: float, gamma_next: float) -> None:
    for l in range(lam.size):
        cumulant[l], discount[l] = of_mean(v_next[l], lam[l], reward, gamma_next)


@lanewise
def _of_variance(
    cumulant: Floats, discount: Floats, ratio: Floats, ahead: Floats, kept: Floats, j: Floats, j_next: Floats,
    rho: float, corrected: bool,
) -> None:  # fmt: skip
    for l in range(j.size):
        cumulant[l], discount[l], ratio[l] = of_variance(ahead[l], kept[l], j[l], j_next[l], rho, corrected)


@lanewise
def _of_second_moment(
    cumulant: Floats, discount: Floats, ratio: Floats, ahead: Floats, kept: Floats, j_next: Floats,
    rho: float, corrected: bool,
) -> None:  # fmt: skip
    for l in range(j_next.size):
        cumulant[l], discount[l], ratio[l] = of_second_moment(ahead[l], kept[l], j_next[l], rho, corrected)


@kernel
def variance(
    F: Floats, M: Floats, S: Floats, I: Ints, x: Ints, xv: Floats, y: Ints, yv: Floats, n_next: int,
    reward: float, gamma_next: float, rho: float,
) -> None:  # fmt: skip
    """Direct VTD and VTD: J and its second moment or variance, with the λ' that V has."""
    rows, n = I[WEIGHT_ROWS] + I[TRACE_ROWS], len(x)
    lanes.dot(S[V_NEXT], F, 0, y, yv, n_next)
    lanes.dot(S[MEAN], F, rows, x, xv, n)
    lanes.dot(S[MEAN_NEXT], F, rows, y, yv, n_next)
    lam = M[FIRST_BLOCK + LAM_NEXT]
    lanes.spread(M, FIRST_BLOCK, reward, gamma_next, rho)
    ahead, kept, ratio = M[_SECOND + CUMULANT], M[_SECOND + DISCOUNT], M[_THIRD + RATIO]
    _of_mean(ahead, kept, S[V_NEXT], lam, reward, gamma_next)
    M[_SECOND + RATIO] = rho
    square, discount = M[_THIRD + CUMULANT], M[_THIRD + DISCOUNT]
    if I[BUNDLE] == VTD:
        _of_second_moment(square, discount, ratio, ahead, kept, S[MEAN_NEXT], rho, I[CORRECTED])
    else:
        _of_variance(square, discount, ratio, ahead, kept, S[MEAN], S[MEAN_NEXT], rho, I[CORRECTED])
    _set_trace_lams(M, 3)


@inlined
def _set_trace_lams(M: Floats, blocks: int) -> None:
    for k in range(1, blocks):
        lanes.set_scaled(M[FIRST_BLOCK + k * SLOTS + LAM_NEXT], M[TRACE_LAM], 1.0)


@lanewise
def _less_square(out: Floats, mean: Floats) -> None:
    for l in range(out.size):
        out[l] -= mean[l] ** 2


@lanewise
def _greedy(lam: Floats, v: Floats, mean: Floats, spread: Floats) -> None:
    for l in range(lam.size):
        lam[l] = _greedy_lambda(v[l], mean[l], spread[l])


@kernel
def greedily(
    F: Floats, M: Floats, S: Floats, I: Ints, x: Ints, xv: Floats, y: Ints, yv: Floats, n_next: int,
    reward: float, gamma_next: float, rho: float,
) -> None:  # fmt: skip
    """λ-greedy: see `lambdas.greedy`."""
    rows, n = I[WEIGHT_ROWS] + I[TRACE_ROWS], len(x)
    lanes.dot(S[V_NEXT], F, 0, y, yv, n_next)
    lanes.dot(S[MEAN], F, rows, x, xv, n)
    lanes.dot(S[MEAN_NEXT], F, rows, y, yv, n_next)
    lanes.dot(S[SECOND_NEXT], F, 2 * rows, y, yv, n_next)
    lanes.spread(M, FIRST_BLOCK, reward, gamma_next, rho)
    lanes.spread(M, _SECOND, reward, gamma_next, rho)
    ahead, kept, ratio = M[_SECOND + CUMULANT], M[_SECOND + DISCOUNT], M[_THIRD + RATIO]
    square, discount = M[_THIRD + CUMULANT], M[_THIRD + DISCOUNT]
    if I[BUNDLE] == GREEDY_VTD:
        _less_square(S[SECOND_NEXT], S[MEAN_NEXT])
        _of_second_moment(square, discount, ratio, ahead, kept, S[MEAN_NEXT], rho, I[CORRECTED])
    else:
        _of_variance(square, discount, ratio, ahead, kept, S[MEAN], S[MEAN_NEXT], rho, I[CORRECTED])
    if n_next > 0 and I[STEPS] > I[WARM_UP]:
        _greedy(M[FIRST_BLOCK + LAM_NEXT], S[V_NEXT], S[MEAN_NEXT], S[SECOND_NEXT])
    else:
        M[FIRST_BLOCK + LAM_NEXT] = 1.0
    _set_trace_lams(M, 3)


@lanewise
def _accumulate(rho_acc: Floats, clip: Floats, rho: float) -> None:
    for l in range(rho_acc.size):
        now = rho_acc[l] * rho
        rho_acc[l] = now if now < clip[l] else clip[l]


@lanewise
def _first_worth(worth: Floats, spread: Floats, mean_lam: Floats, mean: Floats) -> None:
    for l in range(worth.size):
        worth[l] = 2 * (mean_lam[l] - mean[l])
        spread[l] = 1.0


@lanewise
def _carry(y1: Floats, y2: Floats, c: Floats, delta: Floats) -> None:
    """(y₁, y₂) over the step into x_t."""
    for l in range(y1.size):
        y1[l] = c[l] * y1[l] + 2 * delta[l] * c[l] * y2[l]
        y2[l] = c[l] ** 2 * y2[l]


@inlined
def _carried(M: Floats, S: Floats, I: Ints, fresh: bool) -> None:
    """Add to S[WORTH] and S[SPREAD] what the λ-returns of earlier states gain: see `meta.carried`."""
    c, delta, worth, spread = M[C_PREV], M[DELTA_PREV], S[WORTH], S[SPREAD]
    if I[HORIZON] == 0:
        if not fresh:
            _carry(M[MEAN_WORTH], M[VARIANCE_WORTH], c, delta)
            lanes.add_scaled(worth, M[MEAN_WORTH], 1.0)
            lanes.add_scaled(spread, M[VARIANCE_WORTH], 1.0)
        return
    oldest = I[RING] + 2 * (I[STEPS] % (I[HORIZON] - 1))
    own = S[CHANGE]  # free until the change of λ' is known
    lanes.set_scaled(own, worth, 1.0)
    for a in range(I[RING], I[RING] + 2 * (I[HORIZON] - 1), 2):
        if fresh:
            M[a] = 0.0
            M[a + 1] = 0.0
        else:
            _carry(M[a], M[a + 1], c, delta)
        lanes.add_scaled(worth, M[a], 1.0)
        lanes.add_scaled(spread, M[a + 1], 1.0)
    lanes.set_scaled(M[oldest], own, 1.0)
    M[oldest + 1] = 1.0


@lanewise
def _changes(
    out: Floats, v: Floats, mean_lam: Floats, mean: Floats, second: Floats, mean_here: Floats, mean_lam_here: Floats,
    lam: Floats, worth: Floats, spread: Floats, kappa: Floats, rho_acc: Floats, floor: Floats,
    kind: int, newton: bool, far: bool, norm: float, reward: float, gamma_next: float,
) -> None:  # fmt: skip
    for l in range(out.size):
        step = _change(
            kind, newton, far, v[l], mean_lam[l], mean[l], second[l], mean_here[l], mean_lam_here[l],
            lam[l], worth[l], spread[l], kappa[l], rho_acc[l], norm, reward, gamma_next,
        )  # fmt: skip
        out[l] = step if second[l] > floor[l] else 0.0


@lanewise
def _clip(lam: Floats, excess: Floats) -> None:
    """λ into [0, 1], and by how much it was beyond."""
    for l in range(lam.size):
        inside = min(max(lam[l], 0.0), 1.0)
        excess[l] = lam[l] - inside
        lam[l] = inside


@lanewise
def _only_above(out: Floats, second: Floats, floor: Floats) -> None:
    for l in range(out.size):
        out[l] = out[l] if second[l] > floor[l] else 0.0


@inlined
def _read_lambda(out: Floats, M: Floats, z: Ints, zv: Floats) -> None:
    """1 - w·z."""
    out[:] = 1.0
    for j in range(len(z)):
        lanes.add_scaled(out, M[LAMBDA + z[j]], -zv[j])


@lanewise
def _remember(
    worth_kept: Floats, spread_kept: Floats, c_prev: Floats, delta_prev: Floats, worth: Floats, spread: Floats,
    ahead: Floats, kept: Floats, mean_lam: Floats, mean_lam_next: Floats,
) -> None:  # fmt: skip
    for l in range(worth.size):
        worth_kept[l], spread_kept[l], c_prev[l] = worth[l], spread[l], kept[l]
        delta_prev[l] = ahead[l] + kept[l] * mean_lam_next[l] - mean_lam[l]


@lanewise
def _value_squares(
    out: Floats, v: Floats, v_next: Floats, reward: float, gamma_next: float, rho: float, corrected: bool
) -> None:
    for l in range(out.size):
        out[l] = direct_square(reward + gamma_next * v_next[l] - v[l], v[l], rho, corrected)


@kernel
def by_meta(
    F: Floats, M: Floats, S: Floats, I: Ints, x: Ints, xv: Floats, y: Ints, yv: Floats, n_next: int,
    reward: float, gamma_next: float, rho: float, z: Ints, zv: Floats,
) -> None:  # fmt: skip
    """META: see `lambdas.meta`."""
    rows, n, fresh = I[WEIGHT_ROWS] + I[TRACE_ROWS], len(x), not I[UNDER_WAY]
    lanes.dot(S[V_NEXT], F, 0, y, yv, n_next)
    lanes.dot(S[MEAN_NEXT], F, rows, y, yv, n_next)
    lanes.dot(S[MEAN_LAM_NEXT], F, 2 * rows, y, yv, n_next)
    lanes.dot(S[SECOND_NEXT], F, 3 * rows, y, yv, n_next)
    lanes.dot(S[MEAN], F, rows, x, xv, n)
    lanes.dot(S[MEAN_LAM], F, 2 * rows, x, xv, n)
    lam, step = S[LAM], S[CHANGE]
    _read_lambda(lam, M, z, zv)
    if fresh:
        M[RHO_ACC] = 1.0
    _accumulate(M[RHO_ACC], M[RHO_CLIP], rho)
    _first_worth(S[WORTH], S[SPREAD], S[MEAN_LAM], S[MEAN])
    if I[HORIZON] != 1:
        _carried(M, S, I, fresh)
    _clip(lam, step)
    if n_next > 0 and I[STEPS] > I[WARM_UP]:
        norm = 0.0
        for j in range(len(z)):
            norm += zv[j] ** 2
        _changes(
            step, S[V_NEXT], S[MEAN_LAM_NEXT], S[MEAN_NEXT], S[SECOND_NEXT], S[MEAN], S[MEAN_LAM], lam, S[WORTH],
            S[SPREAD], M[KAPPA], M[RHO_ACC], M[FLOOR],
            I[GRADIENT], I[NEWTON], I[HORIZON] != 1, norm, reward, gamma_next,
        )  # fmt: skip
        for j in range(len(z)):
            lanes.add_scaled(M[LAMBDA + z[j]], step, -zv[j])
        _read_lambda(lam, M, z, zv)
        _clip(lam, step)
        if I[IN_RANGE] and norm > 0:
            _only_above(step, S[SECOND_NEXT], M[FLOOR])
            for j in range(len(z)):
                lanes.add_scaled(M[LAMBDA + z[j]], step, zv[j] / norm)
    lanes.spread(M, FIRST_BLOCK, reward, gamma_next, rho)
    lanes.spread(M, _SECOND, reward, gamma_next, rho)
    lanes.set_scaled(M[FIRST_BLOCK + LAM_NEXT], lam, 1.0)
    ahead, kept = M[_THIRD + CUMULANT], M[_THIRD + DISCOUNT]
    _of_mean(ahead, kept, S[V_NEXT], lam, reward, gamma_next)
    M[_THIRD + RATIO] = rho
    _remember(
        M[MEAN_WORTH], M[VARIANCE_WORTH], M[C_PREV], M[DELTA_PREV], S[WORTH], S[SPREAD],
        ahead, kept, S[MEAN_LAM], S[MEAN_LAM_NEXT],
    )  # fmt: skip
    square, discount, ratio = M[_FOURTH + CUMULANT], M[_FOURTH + DISCOUNT], M[_FOURTH + RATIO]
    _of_variance(square, discount, ratio, ahead, kept, S[MEAN_LAM], S[MEAN_LAM_NEXT], rho, I[CORRECTED])
    if I[VALUE_DELTA]:
        lanes.dot(S[V], F, 0, x, xv, n)
        _value_squares(square, S[V], S[V_NEXT], reward, gamma_next, rho, I[CORRECTED])
    _set_trace_lams(M, 4)
    if I[UNIT_TRACE]:
        M[_FOURTH + DECAY] = 1.0


@lanewise
def _patience(lam: Floats, kappa: Floats, visits: Floats) -> None:
    for l in range(lam.size):
        lam[l] = kappa[l] / (kappa[l] + visits[l])


@kernel
def by_counting(M: Floats, S: Floats, I: Ints, z: Ints, zv: Floats, n_next: int) -> None:
    """λ from visit counts: see `lambdas.counting`."""
    visits, active = S[LAM], 0
    visits[:] = 0.0
    for j in range(n_next):
        if zv[j] != 0:
            lanes.increase(M[LAMBDA + z[j]], 1.0)
            lanes.add_scaled(visits, M[LAMBDA + z[j]], 1.0)
            active += 1
    if active == 0 or I[STEPS] <= I[WARM_UP]:
        M[FIRST_BLOCK + LAM_NEXT] = 1.0
    else:
        lanes.set_scaled(S[CHANGE], visits, 1.0 / active)
        _patience(M[FIRST_BLOCK + LAM_NEXT], M[KAPPA], S[CHANGE])

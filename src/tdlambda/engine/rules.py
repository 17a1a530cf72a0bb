"""What is learnt beside the value, for every lane: each block's reward, discount and λ' of this step.

The mathematics is that of `lambdas` and `moments`; here it is applied along the lanes. λ' of the blocks beside the
value is the rule's `trace_lam`, which does not change: the driver sets it once. The importance ratio is the same for
all blocks, or 1 for the last: the driver knows.
"""

from tdlambda.arrays import Floats, Ints
from tdlambda.compiled import inlined, kernel, lanewise
from tdlambda.engine import lanes
from tdlambda.engine.lanes import CHANGE, HERE, LAM, NEXT, SPREAD, WORTH
from tdlambda.lambdas import greedy, meta
from tdlambda.lambdas.meta import EXACT, PRINTED
from tdlambda.memory import (
    ABSOLUTE,
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
    LAST_DISCOUNT,
    MEAN_WORTH,
    MOST_REWARD,
    NEWTON,
    RHO_ACC,
    RHO_CLIP,
    RING,
    SLOTS,
    STEPS,
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

_change, _clip, _moved, _carry_one = meta.change, meta.clip, meta.moved, meta.carry
_least_variance = meta.least_variance
_greedy_lambda = greedy.greedy_lambda
_SECOND, _THIRD, _FOURTH = FIRST_BLOCK + SLOTS, FIRST_BLOCK + 2 * SLOTS, FIRST_BLOCK + 3 * SLOTS


@lanewise
def _variance(
    ahead: Floats, kept: Floats, square: Floats, discount: Floats, lam: Floats, v_next: Floats, j: Floats,
    j_next: Floats, reward: float, gamma_next: float, rho: float, corrected: bool, vtd: bool,
) -> None:  # fmt: skip
    for l in range(lam.size):
        ahead[l], kept[l] = of_mean(v_next[l], lam[l], reward, gamma_next)
        if vtd:
            square[l], discount[l], _ = of_second_moment(ahead[l], kept[l], j_next[l], rho, corrected)
        else:
            square[l], discount[l], _ = of_variance(ahead[l], kept[l], j[l], j_next[l], rho, corrected)


@kernel
def variance(
    F: Floats, M: Floats, S: Floats, I: Ints, x: Ints, xv: Floats, y: Ints, yv: Floats, n_next: int,
    reward: float, gamma_next: float, rho: float,
) -> None:  # fmt: skip
    """Direct VTD and VTD: J and its variance or second moment, with the λ' that V has."""
    rows, one = I[WEIGHT_ROWS] + I[TRACE_ROWS], lanes.one_hot(xv, len(x))
    one_next = lanes.one_hot_next(x, y, yv, n_next)
    lanes.spread(M, FIRST_BLOCK, reward, gamma_next, rho)
    v_next, j = F[y[0], 0] if one_next else S[NEXT], F[x[0], rows] if one else S[HERE + 1]
    j_next = F[y[0], rows] if one_next else S[NEXT + 1]
    _variance(
        M[_SECOND + CUMULANT], M[_SECOND + DISCOUNT], M[_THIRD + CUMULANT], M[_THIRD + DISCOUNT],
        M[FIRST_BLOCK + LAM_NEXT], v_next, j, j_next, reward, gamma_next, rho, I[CORRECTED], I[BUNDLE] == VTD,
    )  # fmt: skip


@lanewise
def _greedy(
    lam: Floats, square: Floats, discount: Floats, v: Floats, v_next: Floats, mean: Floats, mean_next: Floats,
    second: Floats, reward: float, gamma_next: float, rho: float, corrected: bool, vtd: bool, value_delta: bool,
    ready: bool,
) -> None:  # fmt: skip
    for l in range(lam.size):
        spread = second[l]
        if vtd:
            spread -= mean_next[l] ** 2
            square[l], discount[l], _ = of_second_moment(reward, gamma_next, mean_next[l], rho, corrected)
        else:
            square[l], discount[l], _ = of_variance(reward, gamma_next, mean[l], mean_next[l], rho, corrected)
            if value_delta:
                square[l] = (reward + gamma_next * v_next[l] - v[l]) ** 2
        lam[l] = _greedy_lambda(v_next[l], mean_next[l], spread) if ready else 1.0


@kernel
def greedily(
    F: Floats, M: Floats, S: Floats, I: Ints, x: Ints, xv: Floats, y: Ints, yv: Floats, n_next: int,
    reward: float, gamma_next: float, rho: float,
) -> None:  # fmt: skip
    """λ-greedy: see `lambdas.greedy`."""
    rows, one = I[WEIGHT_ROWS] + I[TRACE_ROWS], lanes.one_hot(xv, len(x))
    one_next = lanes.one_hot_next(x, y, yv, n_next)
    lanes.spread(M, FIRST_BLOCK, reward, gamma_next, rho)
    lanes.spread(M, _SECOND, reward, gamma_next, 1.0)  # its ratio is not read
    v, mean = F[x[0], 0] if one else S[HERE], F[x[0], rows] if one else S[HERE + 1]
    v_next = F[y[0], 0] if one_next else S[NEXT]
    mean_next, second = F[y[0], rows] if one_next else S[NEXT + 1], F[y[0], 2 * rows] if one_next else S[NEXT + 2]
    _greedy(
        M[FIRST_BLOCK + LAM_NEXT], M[_THIRD + CUMULANT], M[_THIRD + DISCOUNT], v, v_next, mean, mean_next, second,
        reward, gamma_next, rho, I[CORRECTED], I[BUNDLE] == GREEDY_VTD, I[VALUE_DELTA],
        n_next > 0 and I[STEPS] > I[WARM_UP],
    )  # fmt: skip
    if I[UNIT_TRACE]:
        M[_THIRD + DECAY] = 1.0


@lanewise
def _first_worth(worth: Floats, spread: Floats, mean_lam: Floats, mean: Floats) -> None:
    for l in range(worth.size):
        worth[l] = 2 * (mean_lam[l] - mean[l])
        spread[l] = 1.0


@lanewise
def _carry(y1: Floats, y2: Floats, c: Floats, delta: Floats) -> None:
    """(y₁, y₂) over the step into x_t."""
    for l in range(y1.size):
        y1[l], y2[l] = _carry_one(y1[l], y2[l], c[l], delta[l])


@inlined
def _carried(M: Floats, S: Floats, I: Ints, fresh: bool) -> None:
    """Add to S[WORTH] and S[SPREAD] what the λ-returns of earlier states gain: see `meta.carried`."""
    c, delta, worth, spread = M[C_PREV], M[DELTA_PREV], S[WORTH], S[SPREAD]
    if I[HORIZON] == 0:
        if not fresh:
            _carry(M[MEAN_WORTH], M[VARIANCE_WORTH], c, delta)
            lanes.add_scaled(worth, M[MEAN_WORTH], 1.0)
            lanes.add_scaled(spread, M[VARIANCE_WORTH], 1.0)
        lanes.set_scaled(M[MEAN_WORTH], worth, 1.0)
        lanes.set_scaled(M[VARIANCE_WORTH], spread, 1.0)
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
def _meta(
    wz: Floats, step: Floats, lam_next: Floats, rho_acc: Floats, ahead: Floats, kept: Floats,
    square: Floats, discount: Floats,
    v: Floats, mean: Floats, mean_lam: Floats, v_next: Floats, mean_next: Floats, mean_lam_next: Floats,
    second: Floats, worth: Floats, spread: Floats, kappa: Floats, clip: Floats, floor: Floats,
    kind: int, newton: bool, far: bool, in_range: bool, value_delta: bool, corrected: bool, ready: bool,
    norm: float, per_norm: float, reward: float, gamma_next: float, reach: float, rho: float, unit: float,
) -> None:  # fmt: skip
    """λ' and the change of w, and the rewards and discounts of E[G^λ] and Var[G^λ]; `wz` is w·z."""
    for l in range(wz.size):
        now = rho_acc[l] * rho
        now = now if now < clip[l] else clip[l]
        rho_acc[l] = now
        value = 1.0 - wz[l]
        lam = _clip(value)
        go = ready and second[l] > floor[l] * unit
        by = _change(
            kind, newton, far, v_next[l], mean_lam_next[l], mean_next[l], second[l], mean[l], mean_lam[l],
            lam, worth[l], spread[l], kappa[l], now, per_norm, reward, reach,
        )  # fmt: skip
        after, by = _moved(value, by, norm, per_norm, in_range)
        by = by if go else 0.0
        lam = after if go else lam
        step[l], lam_next[l] = by, lam
        wz[l] -= by
        reward_ahead, keep = of_mean(v_next[l], lam, reward, gamma_next)
        error, shrink, _ = of_variance(reward_ahead, keep, mean_lam[l], mean_lam_next[l], rho, corrected)
        if value_delta:
            error = direct_square(reward + gamma_next * v_next[l] - v[l], v[l], rho, corrected)
        ahead[l], kept[l], square[l], discount[l] = reward_ahead, keep, error, shrink


@lanewise
def _remember(
    c_prev: Floats, delta_prev: Floats, ahead: Floats, kept: Floats, mean_lam: Floats, mean_lam_next: Floats
) -> None:
    for l in range(c_prev.size):
        c_prev[l], delta_prev[l] = kept[l], ahead[l] + kept[l] * mean_lam_next[l] - mean_lam[l]


@kernel
def by_meta(
    F: Floats, M: Floats, S: Floats, I: Ints, x: Ints, xv: Floats, y: Ints, yv: Floats, n_next: int,
    reward: float, gamma_next: float, rho: float, z: Ints, zv: Floats,
) -> None:  # fmt: skip
    """META: see `lambdas.meta`."""
    rows, one = I[WEIGHT_ROWS] + I[TRACE_ROWS], lanes.one_hot(xv, len(x))
    one_next, one_z = lanes.one_hot_next(x, y, yv, n_next), lanes.one_hot(zv, len(z))
    v = F[x[0], 0] if one else S[HERE]
    mean, mean_lam = F[x[0], rows] if one else S[HERE + 1], F[x[0], 2 * rows] if one else S[HERE + 2]
    v_next, mean_next = F[y[0], 0] if one_next else S[NEXT], F[y[0], rows] if one_next else S[NEXT + 1]
    mean_lam_next = F[y[0], 2 * rows] if one_next else S[NEXT + 2]
    second = F[y[0], 3 * rows] if one_next else S[NEXT + 3]
    far, ready, norm = I[HORIZON] != 1, n_next > 0 and I[STEPS] > I[WARM_UP], 0.0
    wz = M[LAMBDA + z[0]] if one_z else S[LAM]
    for j in range(len(z)):
        norm += zv[j] ** 2
    if not one_z:
        S[LAM] = 0.0
        for j in range(len(z)):
            lanes.add_scaled(S[LAM], M[LAMBDA + z[j]], zv[j])
    per_norm = 1 / norm if norm > 0 else 0.0
    reach = gamma_next if gamma_next > 0.0 else M[LAST_DISCOUNT, 0]
    if not I[UNDER_WAY]:
        M[RHO_ACC] = 1.0
    if far:
        _first_worth(S[WORTH], S[SPREAD], mean_lam, mean)
        _carried(M, S, I, not I[UNDER_WAY])
    lanes.spread(M, FIRST_BLOCK, reward, gamma_next, rho)
    lanes.spread(M, _SECOND, reward, gamma_next, 1.0)  # its ratio is not read
    ahead, kept = M[_THIRD + CUMULANT], M[_THIRD + DISCOUNT]
    plain = not far and not I[CORRECTED]
    unit = _least_variance(1.0, I[ABSOLUTE], M[MOST_REWARD, 0])
    if plain and I[GRADIENT] == EXACT and I[NEWTON] and I[IN_RANGE] and not I[VALUE_DELTA]:
        # the default, compiled on its own: without the branches it is half as long
        _meta(
            wz, S[CHANGE], M[FIRST_BLOCK + LAM_NEXT], M[RHO_ACC], ahead, kept,
            M[_FOURTH + CUMULANT], M[_FOURTH + DISCOUNT],
            v, mean, mean_lam, v_next, mean_next, mean_lam_next, second,
            S[WORTH], S[SPREAD], M[KAPPA], M[RHO_CLIP], M[FLOOR],
            EXACT, True, False, True, False, False, ready, norm, per_norm, reward, gamma_next, reach, rho, unit,
        )  # fmt: skip
    elif plain and I[GRADIENT] == PRINTED and not I[NEWTON] and not I[IN_RANGE] and I[VALUE_DELTA]:  # as published
        _meta(
            wz, S[CHANGE], M[FIRST_BLOCK + LAM_NEXT], M[RHO_ACC], ahead, kept,
            M[_FOURTH + CUMULANT], M[_FOURTH + DISCOUNT],
            v, mean, mean_lam, v_next, mean_next, mean_lam_next, second,
            S[WORTH], S[SPREAD], M[KAPPA], M[RHO_CLIP], M[FLOOR],
            PRINTED, False, False, False, True, False, ready, norm, per_norm, reward, gamma_next, reach, rho, unit,
        )  # fmt: skip
    else:
        _meta(
            wz, S[CHANGE], M[FIRST_BLOCK + LAM_NEXT], M[RHO_ACC], ahead, kept,
            M[_FOURTH + CUMULANT], M[_FOURTH + DISCOUNT],
            v, mean, mean_lam, v_next, mean_next, mean_lam_next, second,
            S[WORTH], S[SPREAD], M[KAPPA], M[RHO_CLIP], M[FLOOR],
            I[GRADIENT], I[NEWTON], far, I[IN_RANGE], I[VALUE_DELTA], I[CORRECTED], ready,
            norm, per_norm, reward, gamma_next, reach, rho, unit,
        )  # fmt: skip
    if far:
        _remember(M[C_PREV], M[DELTA_PREV], ahead, kept, mean_lam, mean_lam_next)
    if ready and not one_z:
        for j in range(len(z)):
            lanes.add_scaled(M[LAMBDA + z[j]], S[CHANGE], -zv[j])
    if I[UNIT_TRACE]:
        M[_FOURTH + DECAY] = 1.0


@lanewise
def _patience(lam: Floats, kappa: Floats, visits: Floats, active: int) -> None:
    for l in range(lam.size):
        lam[l] = kappa[l] / (kappa[l] + visits[l] / active)


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
        _patience(M[FIRST_BLOCK + LAM_NEXT], M[KAPPA], visits, active)

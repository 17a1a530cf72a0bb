"""The compiled pass: a block of lanes over a stretch of one stream, its errors read at given steps."""

import numpy as np

from tdlambda.arrays import Bools, Floats, Ints
from tdlambda.compiled import inlined, kernel, lanewise
from tdlambda.engine import lanes
from tdlambda.engine.algorithms import learn_gtd, learn_td, learn_true_online_gtd, learn_true_online_td
from tdlambda.engine.lanes import (
    ALLOWED,
    ALLOWED_SQUARE,
    ALPHA_T,
    AUX_ALPHA,
    AUX_BETA,
    BETA_T,
    HERE,
    LIMIT,
    NEGLIGIBLE,
    SPREAD,
    TRACE_BOUND,
    WEIGHT_BOUND,
)
from tdlambda.engine.rules import by_counting, by_meta, greedily, variance
from tdlambda.engine.value_error import by_value_error, settle
from tdlambda.memory import (
    ALGORITHM,
    ALONE,
    ALPHA,
    BETA,
    BLOCKS,
    BUNDLE,
    BY_VISITS,
    CONSTANT,
    CORRECTED,
    COUNTING,
    DENSE,
    DIRECT_VTD,
    FACTOR,
    FIRST_BLOCK,
    GTD,
    LAM_NEXT,
    LAST_DISCOUNT,
    LENGTH,
    LONGEST,
    META,
    MOST_GAMMA,
    MOST_REWARD,
    MOST_RHO,
    OFFSET,
    PACE,
    POWER,
    PRUNED_EVERY,
    RATIO,
    SCHEDULE,
    SLOTS,
    START,
    STEPS,
    TD,
    TOLERANCE,
    TRACE_LAM,
    TRACE_ROWS,
    TRUE_ONLINE_TD,
    UNDER_WAY,
    VALUE_ERROR,
    VTD,
    WEIGHT_ROWS,
    allowed_square,
    enliven,
    horizon,
    is_square,
    scheduled,
    trace_scale,
)

SELDOM = 64
"""Steps between looks for traces that have died out, with few features; with many it is as in the learners."""


@inlined
def _larger(a: float, b: float) -> float:
    """The larger; NaN if one is."""
    return b if b > a or b != b else a


@kernel
def take_bounds(F: Floats, S: Floats, I: Ints) -> None:
    """Set the bounds on traces and weights to the largest of each."""
    rows, weights = I[WEIGHT_ROWS] + I[TRACE_ROWS], I[WEIGHT_ROWS]
    for k in range(I[BLOCKS]):
        for l in range(F.shape[2]):
            of_traces, of_weights = 0.0, 0.0
            for f in range(F.shape[0]):
                for row in range(k * rows, (k + 1) * rows):
                    size = abs(F[f, row, l])
                    if row < k * rows + weights:
                        of_weights = _larger(of_weights, size)
                    else:
                        of_traces = _larger(of_traces, size)
            S[TRACE_BOUND + k, l], S[WEIGHT_BOUND + k, l] = of_traces, of_weights


@inlined
def _step_sizes(F: Floats, M: Floats, S: Floats, I: Ints, x: Ints, xv: Floats) -> None:
    """α and β of every lane at this step: see `memory.step_size`."""
    n = float(I[STEPS])
    visits, norm = F.shape[1] - 1, 0.0
    if I[SCHEDULE] == BY_VISITS:
        for j in range(len(x)):
            if xv[j] != 0:
                lanes.increase(F[x[j], visits], 1.0)
            norm += xv[j] ** 2
    for l in range(S.shape[1]):
        if I[SCHEDULE] == BY_VISITS:
            n = 0.0
            for j in range(len(x)):
                n += xv[j] ** 2 * F[x[j], visits, l]
            n = n / norm if norm > 0 else 1.0
        S[ALPHA_T, l] = scheduled(M[ALPHA, l], M[OFFSET, l], M[POWER, l], n)
        S[BETA_T, l] = M[BETA, l] * S[ALPHA_T, l]


@inlined
def _aux_step_sizes(M: Floats, S: Floats) -> None:
    for l in range(S.shape[1]):
        S[AUX_ALPHA, l], S[AUX_BETA, l] = M[PACE, l] * S[ALPHA_T, l], M[PACE, l] * S[BETA_T, l]


@inlined
def _limits(M: Floats, S: Floats, I: Ints) -> None:
    """Up to which size a lane's trace is dropped: see `memory.prune`."""
    for l in range(S.shape[1]):
        scale = trace_scale(I[ALGORITHM], S[ALPHA_T, l], S[BETA_T, l])
        S[LIMIT, l] = NEGLIGIBLE if I[DENSE] else M[TOLERANCE, l] * scale


@inlined
def _learn(
    F: Floats, b: int, M: Floats, m: int, S: Floats, k: int, I: Ints,
    x: Ints, xv: Floats, y: Ints, yv: Floats, n_next: int, fresh: bool, x1: float, y1: float,
) -> int:  # fmt: skip
    """One transition for block k, by the algorithm that the code names."""
    code, alpha, beta = I[ALGORITHM], S[AUX_ALPHA if k else ALPHA_T], S[AUX_BETA if k else BETA_T]
    # the last block of a "corrected" bundle has a ratio of its own, 1
    rho = M[(m if I[CORRECTED] and k == I[BLOCKS] - 1 else FIRST_BLOCK) + RATIO]
    allowed = S[ALLOWED_SQUARE if is_square(I[BUNDLE], k, I[BLOCKS]) else ALLOWED]
    if code == TD:
        return learn_td(F, b, M, m, S, k, I, alpha, beta, rho, allowed, x, xv, y, yv, n_next, fresh, x1, y1)
    if code == TRUE_ONLINE_TD:
        return learn_true_online_td(F, b, M, m, S, k, I, alpha, beta, rho, allowed, x, xv, y, yv, n_next, fresh, x1, y1)
    if code == GTD:
        return learn_gtd(F, b, M, m, S, k, I, alpha, beta, rho, allowed, x, xv, y, yv, n_next, fresh, x1, y1)
    return learn_true_online_gtd(F, b, M, m, S, k, I, alpha, beta, rho, allowed, x, xv, y, yv, n_next, fresh, x1, y1)


@lanewise
def _allow(value: Floats, square: Floats, factor: Floats, start: Floats, scale: float, y1: float, rho: float) -> None:
    for l in range(value.size):
        value[l] = factor[l] * (scale + start[l] * y1)
        square[l] = allowed_square(value[l], rho)


@inlined
def _count_in(M: Floats, I: Ints, reward: float, gamma_next: float, rho: float) -> float:
    """The largest value that rewards and discounts allow, this step counted in: see `memory.allowed`."""
    if abs(reward) > M[MOST_REWARD, 0]:
        M[MOST_REWARD] = abs(reward)
    if gamma_next > M[MOST_GAMMA, 0]:
        M[MOST_GAMMA] = gamma_next
    if rho > M[MOST_RHO, 0]:
        M[MOST_RHO] = rho
    I[LENGTH] = I[LENGTH] + 1 if I[UNDER_WAY] else 1
    I[LONGEST] = max(I[LONGEST], I[LENGTH])
    return M[MOST_REWARD, 0] * horizon(M[MOST_GAMMA, 0], I[LONGEST])


@lanewise
def _add_square(out: Floats, v: Floats, truth: float, weight: float) -> None:
    for l in range(out.size):
        out[l] += weight * (v[l] - truth) ** 2


@kernel
def read_errors(out: Floats, F: Floats, S: Floats, index: Ints, value: Floats, truth: Floats, weight: Floats) -> None:
    """Σ weight (V - truth)² for every lane."""
    out[:] = 0.0
    for s in range(truth.size):
        lanes.dot(S[HERE], F, 0, index[s], value[s], index.shape[1])
        _add_square(out, S[HERE], truth[s], weight[s])


@kernel
def advance(
    F: Floats, M: Floats, S: Floats, I: Ints,
    index: Ints, value: Floats, z_index: Ints, z_value: Floats, lam: Floats,
    at: Ints, next_at: Ints, reward: Floats, gamma: Floats, rho: Floats, terminated: Bools, truncated: Bools,
    begin: int, points: Ints, errors: Floats,
    test_index: Ints, test_value: Floats, truth: Floats, weight: Floats,
) -> int:  # fmt: skip
    """Learn from the transitions from `begin` on; where to go on: at the end, or after a step that left the bounds.

    Parameters
    ----------
    F, M, S, I
        The block: see `lanes`.
    index, value
        Features of each observation that occurs; those that λ depends on are z.
    lam
        λ [observation, lane] where it does not learn; a single row for all observations.
    at, next_at
        Which observation a transition leaves and which it enters.
    points, errors
        Steps, counted by I[STEPS], and the errors [point, lane] to be filled in there.
    test_index, test_value, truth, weight
        The observations that errors are read at, and their true values.
    """
    size, rows = F.shape[0], I[WEIGHT_ROWS] + I[TRACE_ROWS]
    often = SELDOM if I[DENSE] else PRUNED_EVERY
    point = np.searchsorted(points, I[STEPS] + 1)
    if I[SCHEDULE] == CONSTANT:
        lanes.set_scaled(S[ALPHA_T], M[ALPHA], 1.0)
        lanes.set_scaled(S[BETA_T], M[BETA], 1.0)
        _aux_step_sizes(M, S)
    S[SPREAD] = 1.0  # of META's one-step form
    if I[CORRECTED]:
        M[FIRST_BLOCK + (I[BLOCKS] - 1) * SLOTS + RATIO] = 1.0
    for k in range(1, I[BLOCKS]):
        lanes.set_scaled(M[FIRST_BLOCK + k * SLOTS + LAM_NEXT], M[TRACE_LAM], 1.0)
    if lam.shape[0] == 1:
        lanes.set_scaled(M[FIRST_BLOCK + LAM_NEXT], lam[0], 1.0)
    started, scale, size_next, most_rho = False, -1.0, -1.0, -1.0
    for l in range(M.shape[1]):
        started |= M[START, l] > 0.0
    for t in range(begin, at.size):
        I[STEPS] += 1
        fresh = not I[UNDER_WAY]
        x, xv, y, yv = index[at[t]], value[at[t]], index[next_at[t]], value[next_at[t]]
        z, zv = z_index[next_at[t]], z_value[next_at[t]]
        gamma_next, n_next = gamma[t], len(y)
        if terminated[t]:
            gamma_next = 0.0
            if M[LAST_DISCOUNT, 0] == 0.0:
                n_next = 0
        x1, y1 = 0.0, 0.0
        for j in range(len(x)):
            x1 += abs(xv[j])
            y1 += abs(yv[j])
        now, from_start = _count_in(M, I, reward[t], gamma_next, rho[t]), y1 if started else 0.0
        corrected_by = M[MOST_RHO, 0] if I[CORRECTED] else 0.0
        if now != scale or from_start != size_next or corrected_by != most_rho:
            scale, size_next, most_rho = now, from_start, corrected_by
            _allow(S[ALLOWED], S[ALLOWED_SQUARE], M[FACTOR], M[START], scale, size_next, most_rho)
        if I[SCHEDULE] != CONSTANT:
            _step_sizes(F, M, S, I, x, xv)
            _aux_step_sizes(M, S)
        if lam.shape[0] > 1:
            lanes.set_scaled(M[FIRST_BLOCK + LAM_NEXT], lam[next_at[t]], 1.0)
        lanes.read_estimates(F, S, I, x, xv, y, yv, n_next)
        if I[BUNDLE] == ALONE:
            lanes.spread(M, FIRST_BLOCK, reward[t], gamma_next, rho[t])
        elif I[BUNDLE] == COUNTING:
            by_counting(M, S, I, z, zv, len(z) if n_next > 0 else 0)
            lanes.spread(M, FIRST_BLOCK, reward[t], gamma_next, rho[t])
        elif I[BUNDLE] == META:
            by_meta(F, M, S, I, x, xv, y, yv, n_next, reward[t], gamma_next, rho[t], z, zv)
        elif I[BUNDLE] == DIRECT_VTD or I[BUNDLE] == VTD:
            variance(F, M, S, I, x, xv, y, yv, n_next, reward[t], gamma_next, rho[t])
        elif I[BUNDLE] == VALUE_ERROR:
            by_value_error(F, M, S, I, x, xv, y, yv, n_next, reward[t], gamma_next, rho[t])
        else:
            greedily(F, M, S, I, x, xv, y, yv, n_next, reward[t], gamma_next, rho[t])
        beyond = 0
        for k in range(2 if I[BUNDLE] == VALUE_ERROR else I[BLOCKS]):
            beyond += _learn(F, k * rows, M, FIRST_BLOCK + k * SLOTS, S, k, I, x, xv, y, yv, n_next, fresh, x1, y1)
        if I[BUNDLE] == VALUE_ERROR:
            settle(F, M, S, I, x, xv, terminated[t] or truncated[t])
        enliven(I, x, len(x), size)
        if I[STEPS] % often == 0:
            _limits(M, S, I)
            lanes.prune(F, S, I)
        I[UNDER_WAY] = 1
        if terminated[t] or truncated[t]:
            lanes.clear_traces(F, I)
            I[UNDER_WAY] = 0
            for k in range(I[BLOCKS]):
                S[TRACE_BOUND + k] = 0.0
        if point < points.size and I[STEPS] == points[point]:
            read_errors(errors[point], F, S, test_index, test_value, truth, weight)
            point += 1
        if beyond > 0:
            return t + 1
    return at.size

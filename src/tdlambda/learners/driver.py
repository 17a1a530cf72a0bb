"""The compiled entry points: check one transition or many, then hand them to the algorithm that a code names.

λ is checked where it comes from (`Learner._lam_many`).

Adding an algorithm is its own file with a `step`, and one line in `_advance`.
"""

import numpy as np

from tdlambda.arrays import Bools, Floats, Ints
from tdlambda.compiled import brief, inlined, kernel
from tdlambda.lambdas import counting, greedy, meta, value_error_greedy
from tdlambda.learners import direct_vtd, gtd_lambda, td_lambda, true_online_gtd, true_online_td, vtd
from tdlambda.memory import (
    ALGORITHM,
    ALONE,
    BETA,
    BLOCKS,
    BUNDLE,
    BUSY,
    CONSTANT,
    CORRECTED,
    COUNTING,
    CUMULANT,
    DENSE,
    DIRECT_VTD,
    DISCOUNT,
    DIVERGED_AT,
    FIRST_BLOCK,
    GTD,
    LAM_NEXT,
    LAM_SIZE,
    LAMBDA,
    LAST_DISCOUNT,
    MEAN_PACE,
    META,
    MOST_RHO,
    PACE,
    RATIO,
    RING,
    SCHEDULE,
    SIZE,
    SLOTS,
    STEPS,
    TD,
    TRACE_ROWS,
    TRUE_ONLINE_TD,
    UNDER_WAY,
    V_OLD,
    VALUE_ERROR,
    VTD,
    WEIGHT_ROWS,
    Index,
    Value,
    allowed,
    allowed_square,
    clear_traces,
    enliven,
    is_square,
    prune,
    step_size,
    trace_scale,
)

TERMINATED, TRUNCATED = 1, 2
"""Flags in one integer: Python hands over an integer much faster than two booleans."""
OK, REWARD, GAMMA_RANGE, RHO_RANGE, OBS, NEXT_OBS, OBS_VALUES, NEXT_OBS_VALUES, IN_USE, DIVERGED = range(10)

_td, _true_online_td = td_lambda.learn, true_online_td.learn
_gtd, _true_online_gtd = gtd_lambda.learn, true_online_gtd.learn
_direct_vtd, _vtd = direct_vtd.prepare, vtd.prepare
_greedy, _meta, _counting = greedy.prepare, meta.prepare, counting.next_lambda
_value_error, _settle = value_error_greedy.prepare, value_error_greedy.settle


@inlined
def _learn(
    F: Floats, b: int, M: Floats, m: int, I: Ints, alpha: float, beta: float,
    x: Index, xv: Value, y: Index, yv: Value, n_next: int,
    reward: float, gamma_next: float, rho: float, lam_next: float,
) -> bool:  # fmt: skip
    """One transition for one block, by the algorithm that the code names."""
    code = I[ALGORITHM]
    if code == TD:
        return _td(F, b, M, m, I, alpha, beta, x, xv, y, yv, n_next, reward, gamma_next, rho, lam_next)
    if code == TRUE_ONLINE_TD:
        return _true_online_td(F, b, M, m, I, alpha, beta, x, xv, y, yv, n_next, reward, gamma_next, rho, lam_next)
    if code == GTD:
        return _gtd(F, b, M, m, I, alpha, beta, x, xv, y, yv, n_next, reward, gamma_next, rho, lam_next)
    return _true_online_gtd(F, b, M, m, I, alpha, beta, x, xv, y, yv, n_next, reward, gamma_next, rho, lam_next)


@inlined
def _are_numbers(M: Floats, I: Ints, z: Index) -> bool:
    """Whether what a rule keeps is finite: its own numbers, and those of the features of x'."""
    total = 0.0
    for k in range(FIRST_BLOCK, LAMBDA):
        total += 0.0 * M[k]
    for j in range(len(z) if M.size > LAMBDA else 0):  # variance learners keep none
        total += 0.0 * M[LAMBDA + z[j]]
    if I[BUNDLE] == META:
        for k in range(I[RING], M.size):
            total += 0.0 * M[k]
    return total == 0.0


@inlined
def _advance(
    F: Floats, M: Floats, I: Ints, x: Index, xv: Value, y: Index, yv: Value, z: Index, zv: Value,
    reward: float, gamma_next: float, rho: float, lam_next: float, terminated: bool, truncated: bool,
) -> int:  # fmt: skip
    """One transition that has been checked; z are the features of x' that λ depends on, if it learns.

    A learner that has diverged stays as it is.
    """
    if I[DIVERGED_AT] >= 0:
        return OK
    I[STEPS] += 1
    n_next = len(y)
    if terminated:
        gamma_next = 0.0
        if M[LAST_DISCOUNT] == 0.0:
            n_next = 0
    alpha = step_size(F, M, I, x, xv)
    beta = M[BETA] if I[SCHEDULE] == CONSTANT else M[BETA] * alpha
    limit = allowed(M, I, reward, gamma_next, rho, y, yv)
    within = True
    if I[BUNDLE] == COUNTING:
        lam_next = _counting(M, I, z, zv, len(z) if n_next > 0 else 0)
    if I[BLOCKS] == 1:
        within = _learn(F, 0, M, FIRST_BLOCK, I, alpha, beta, x, xv, y, yv, n_next, reward, gamma_next, rho, lam_next)
    else:
        if I[BUNDLE] == DIRECT_VTD:
            _direct_vtd(F, M, I, x, xv, y, yv, n_next, reward, gamma_next, rho, lam_next)
        elif I[BUNDLE] == VTD:
            _vtd(F, M, I, x, xv, y, yv, n_next, reward, gamma_next, rho, lam_next)
        elif I[BUNDLE] == META:
            _meta(F, M, I, x, xv, y, yv, n_next, reward, gamma_next, rho, z, zv)
        elif I[BUNDLE] == VALUE_ERROR:
            within = _value_error(F, M, I, alpha, x, xv, y, yv, n_next, reward, gamma_next, rho)
        else:
            _greedy(F, M, I, x, xv, y, yv, n_next, reward, gamma_next, rho)
        own = I[BUNDLE] == VALUE_ERROR
        for k in range(2 if own else I[BLOCKS]):
            m, pace = FIRST_BLOCK + k * SLOTS, 1.0 if k == 0 else M[MEAN_PACE if own else PACE]
            within &= _learn(
                F, k * (I[WEIGHT_ROWS] + I[TRACE_ROWS]), M, m, I, pace * alpha, pace * beta, x, xv, y, yv, n_next,
                M[m + CUMULANT], M[m + DISCOUNT], M[m + RATIO], M[m + LAM_NEXT],
            )  # fmt: skip
        if own:
            _settle(F, M, I, alpha, x, xv, terminated or truncated)
    if I[BUNDLE] != ALONE:
        within &= _are_numbers(M, I, z)
    for k in range(I[BLOCKS]):
        most = limit
        if is_square(I[BUNDLE], k, I[BLOCKS]):
            most = allowed_square(limit, M[MOST_RHO] if I[CORRECTED] else 0.0)
        within &= abs(M[FIRST_BLOCK + k * SLOTS + V_OLD]) <= most
    if not I[DENSE]:
        enliven(I, x, len(x), F.shape[1])
    prune(F, M, I, trace_scale(I[ALGORITHM], alpha, beta))
    I[UNDER_WAY] = 1
    if terminated or truncated:
        clear_traces(F, I)
    if not within:
        I[DIVERGED_AT] = I[STEPS]
        return DIVERGED
    return OK


@inlined
def _check(reward: float, gamma: float, rho: float) -> int:
    if not abs(reward) < np.inf:
        return REWARD
    if not 0.0 <= gamma <= 1.0:
        return GAMMA_RANGE
    if not 0.0 <= rho < np.inf:
        return RHO_RANGE
    return OK


@inlined
def _check_features(index: Ints, value: Floats, size: int, bad_index: int, bad_value: int) -> int:
    norm = 0.0
    for j in range(len(index)):
        if index[j] < 0 or index[j] >= size:
            return bad_index
        norm += value[j] * value[j]
    return OK if norm < np.inf else bad_value


@kernel
def _step(
    F: Floats, M: Floats, I: Ints, x: Ints, xv: Floats, y: Ints, yv: Floats, z: Ints, zv: Floats,
    reward: float, gamma: float, rho: float, lam: float, terminated: bool, truncated: bool,
) -> int:  # fmt: skip
    """`_advance`, compiled once for `update` and `update_many`: that takes longest."""
    return _advance(F, M, I, x, xv, y, yv, z, zv, reward, gamma, rho, lam, terminated, truncated)


@inlined
def _check_step(I: Ints, x: Ints, xv: Floats, y: Ints, yv: Floats, z: Ints, zv: Floats) -> int:
    """The features of one transition; those of λ matter where it learns."""
    status = _check_features(x, xv, I[SIZE], OBS, OBS_VALUES)
    status = status or _check_features(y, yv, I[SIZE], NEXT_OBS, NEXT_OBS_VALUES)
    if I[BUNDLE] != ALONE:
        status = status or _check_features(z, zv, I[LAM_SIZE], NEXT_OBS, NEXT_OBS_VALUES)
    return status


@brief
def update(
    F: Floats, M: Floats, I: Ints, x: Ints, xv: Floats, y: Ints, yv: Floats, z: Ints, zv: Floats,
    reward: float, gamma: float, rho: float, lam: float, ended: int,
) -> int:  # fmt: skip
    """One transition between feature vectors x and y; where λ learns, it is a function of z, most often y."""
    status = _check(reward, gamma, rho) or (IN_USE if I[BUSY] else OK)
    status = status or _check_step(I, x, xv, y, yv, z, zv)
    if status != OK:
        return status
    terminated, truncated = bool(ended & TERMINATED), bool(ended & TRUNCATED)
    return _step(F, M, I, x, xv, y, yv, z, zv, reward, gamma, rho, lam, terminated, truncated)


@brief
def update_index(
    F: Floats, M: Floats, I: Ints, lam: float, s: int, s_next: int,
    reward: float, gamma: float, rho: float, ended: int,
) -> int:  # fmt: skip
    """One transition between one-hot states."""
    if not 0 <= s < I[SIZE]:
        return OBS
    if not 0 <= s_next < I[SIZE]:
        return NEXT_OBS
    status = _check(reward, gamma, rho) or (IN_USE if I[BUSY] else OK)
    if status != OK:
        return status
    terminated, truncated = bool(ended & TERMINATED), bool(ended & TRUNCATED)
    x, y, one = (s,), (s_next,), (1.0,)
    return _advance(F, M, I, x, one, y, one, y, one, reward, gamma, rho, lam, terminated, truncated)


@kernel
def _first_bad(reward: Floats, gamma: Floats, rho: Floats) -> tuple[int, int]:
    """The first transition with a number that cannot be, and what is wrong with it."""
    good = True
    for t in range(reward.size):  # without a branch first, so that it runs as vectors
        good &= (abs(reward[t]) < np.inf) & (gamma[t] >= 0.0) & (gamma[t] <= 1.0)
        good &= (rho[t] >= 0.0) & (rho[t] < np.inf)
    if not good:
        for t in range(reward.size):
            status = _check(reward[t], gamma[t], rho[t])
            if status != OK:
                return status, t
    return OK, 0


@kernel
def update_many(
    F: Floats, M: Floats, I: Ints, x: Ints, xv: Floats, y: Ints, yv: Floats, z: Ints, zv: Floats,
    reward: Floats, gamma: Floats, rho: Floats, lam: Floats, terminated: Bools, truncated: Bools,
) -> tuple[int, int]:  # fmt: skip
    """Transitions in order, all checked before the first is learnt; λ of each, or one. The status, and its row."""
    status, at = _first_bad(reward, gamma, rho)
    if status != OK:
        return status, at
    for t in range(reward.size):
        status = _check_step(I, x[t], xv[t], y[t], yv[t], z[t], zv[t])
        if status != OK:
            return status, t
    for t in range(reward.size):
        status = _step(
            F, M, I, x[t], xv[t], y[t], yv[t], z[t], zv[t],
            reward[t], gamma[t], rho[t], lam[min(t, lam.size - 1)], terminated[t], truncated[t],
        )  # fmt: skip
        if status != OK:
            return status, t
    return OK, 0


@kernel
def update_many_indices(
    F: Floats, M: Floats, I: Ints, s: Ints, s_next: Ints,
    reward: Floats, gamma: Floats, rho: Floats, lam: Floats, terminated: Bools, truncated: Bools,
) -> tuple[int, int]:  # fmt: skip
    """The same for one-hot states."""
    status, at = _first_bad(reward, gamma, rho)
    if status != OK:
        return status, at
    for t in range(reward.size):
        if not 0 <= s[t] < I[SIZE]:
            return OBS, t
        if not 0 <= s_next[t] < I[SIZE]:
            return NEXT_OBS, t
    for t in range(reward.size):
        x, y, one = (s[t],), (s_next[t],), (1.0,)
        status = _advance(
            F, M, I, x, one, y, one, y, one,
            reward[t], gamma[t], rho[t], lam[min(t, lam.size - 1)], terminated[t], truncated[t],
        )  # fmt: skip
        if status != OK:
            return status, t
    return OK, 0

"""The compiled entry points: check one transition or many, then hand them to the algorithm that a code names.

Adding an algorithm is its own file with a `step`, and one line in `_advance`.
"""

import numpy as np

from tdlambda.arrays import Bools, Floats, Ints
from tdlambda.compiled import inlined, kernel
from tdlambda.learners import direct_vtd, gtd_lambda, td_lambda, true_online_gtd, true_online_td, vtd
from tdlambda.learners.memory import (
    DIRECT_VTD,
    DIVERGED_AT,
    GAMMA,
    GTD,
    LAM,
    RHO_PREV,
    STEPS,
    TD,
    TRUE_ONLINE_GTD,
    TRUE_ONLINE_TD,
    UNDER_WAY,
    VTD,
    Index,
    Value,
    clear_traces,
    step_size,
)  # fmt: skip

TERMINATED, TRUNCATED = 1, 2
"""Flags in one integer: Python hands over an integer much faster than two booleans."""
OK, REWARD, GAMMA_RANGE, RHO_RANGE, LAM_RANGE, OBS, NEXT_OBS, OBS_VALUES, NEXT_OBS_VALUES, DIVERGED = range(10)

_td, _true_online_td, _gtd = td_lambda.step, true_online_td.step, gtd_lambda.step
_true_online_gtd, _direct_vtd, _vtd = true_online_gtd.step, direct_vtd.step, vtd.step


@inlined
def _advance(
    code: int, F: Floats, M: Floats, I: Ints, x: Index, xv: Value, y: Index, yv: Value,
    reward: float, gamma_next: float, rho: float, lam_next: float, terminated: bool, truncated: bool,
) -> int:  # fmt: skip
    """One transition that has been checked. A learner that has diverged stays as it is."""
    if I[DIVERGED_AT] >= 0:
        return OK
    I[STEPS] += 1
    n_next = len(y)
    if terminated:
        gamma_next, n_next = 0.0, 0
    alpha = step_size(F, M, I, x, xv)
    within = True
    if code == TD:
        within = _td(F, M, I, alpha, x, xv, y, yv, n_next, reward, gamma_next, rho, lam_next)
    elif code == TRUE_ONLINE_TD:
        within = _true_online_td(F, M, I, alpha, x, xv, y, yv, n_next, reward, gamma_next, rho, lam_next)
    elif code == GTD:
        within = _gtd(F, M, I, alpha, x, xv, y, yv, n_next, reward, gamma_next, rho, lam_next)
    elif code == TRUE_ONLINE_GTD:
        within = _true_online_gtd(F, M, I, alpha, x, xv, y, yv, n_next, reward, gamma_next, rho, lam_next)
    elif code == DIRECT_VTD:
        within = _direct_vtd(F, M, I, alpha, x, xv, y, yv, n_next, reward, gamma_next, rho, lam_next)
    elif code == VTD:
        within = _vtd(F, M, I, alpha, x, xv, y, yv, n_next, reward, gamma_next, rho, lam_next)
    M[GAMMA], M[LAM], M[RHO_PREV], I[UNDER_WAY] = gamma_next, lam_next, rho, 1
    if terminated or truncated:
        clear_traces(F, I)
    if not within:
        I[DIVERGED_AT] = I[STEPS]
        return DIVERGED
    return OK


@inlined
def _check(reward: float, gamma: float, rho: float, lam: float) -> int:
    if not abs(reward) < np.inf:
        return REWARD
    if not 0.0 <= gamma <= 1.0:
        return GAMMA_RANGE
    if not 0.0 <= rho < np.inf:
        return RHO_RANGE
    if not 0.0 <= lam <= 1.0:
        return LAM_RANGE
    return OK


@inlined
def _check_features(index: Ints, value: Floats, size: int, bad_index: int, bad_value: int) -> int:
    for j in range(len(index)):
        if index[j] < 0 or index[j] >= size:
            return bad_index
        if not abs(value[j]) < np.inf:
            return bad_value
    return OK


@kernel
def update(
    code: int, F: Floats, M: Floats, I: Ints, x: Ints, xv: Floats, y: Ints, yv: Floats,
    reward: float, gamma: float, rho: float, lam: float, ended: int,
) -> int:  # fmt: skip
    """One transition between feature vectors."""
    status = _check(reward, gamma, rho, lam)
    status = status or _check_features(x, xv, F.shape[1], OBS, OBS_VALUES)
    status = status or _check_features(y, yv, F.shape[1], NEXT_OBS, NEXT_OBS_VALUES)
    return status or _advance(
        code, F, M, I, x, xv, y, yv, reward, gamma, rho, lam, bool(ended & TERMINATED), bool(ended & TRUNCATED)
    )


@kernel
def update_index(
    code: int, F: Floats, M: Floats, I: Ints, s: int, s_next: int,
    reward: float, gamma: float, rho: float, lam: float, ended: int,
) -> int:  # fmt: skip
    """One transition between one-hot states."""
    if not 0 <= s < F.shape[1]:
        return OBS
    if not 0 <= s_next < F.shape[1]:
        return NEXT_OBS
    status = _check(reward, gamma, rho, lam)
    if status != OK:
        return status
    return _advance(
        code,
        F,
        M,
        I,
        (s,),
        (1.0,),
        (s_next,),
        (1.0,),
        reward,
        gamma,
        rho,
        lam,
        bool(ended & TERMINATED),
        bool(ended & TRUNCATED),
    )


@kernel
def _first_bad(reward: Floats, gamma: Floats, rho: Floats, lam: Floats) -> tuple[int, int]:
    """The first transition with a number that cannot be, and what is wrong with it."""
    good = True
    for t in range(reward.size):  # without a branch first, so that it runs as vectors
        good &= (abs(reward[t]) < np.inf) & (gamma[t] >= 0.0) & (gamma[t] <= 1.0)
        good &= (rho[t] >= 0.0) & (rho[t] < np.inf) & (lam[t] >= 0.0) & (lam[t] <= 1.0)
    if not good:
        for t in range(reward.size):
            status = _check(reward[t], gamma[t], rho[t], lam[t])
            if status != OK:
                return status, t
    return OK, 0


@kernel
def update_many(
    code: int, F: Floats, M: Floats, I: Ints, x: Ints, xv: Floats, y: Ints, yv: Floats,
    reward: Floats, gamma: Floats, rho: Floats, lam: Floats, terminated: Bools, truncated: Bools,
) -> tuple[int, int]:  # fmt: skip
    """Transitions in order, all checked before the first is learnt. The status, and where it arose."""
    status, at = _first_bad(reward, gamma, rho, lam)
    if status != OK:
        return status, at
    for t in range(reward.size):
        status = _check_features(x[t], xv[t], F.shape[1], OBS, OBS_VALUES)
        status = status or _check_features(y[t], yv[t], F.shape[1], NEXT_OBS, NEXT_OBS_VALUES)
        if status != OK:
            return status, t
    for t in range(reward.size):
        status = _advance(
            code, F, M, I, x[t], xv[t], y[t], yv[t], reward[t], gamma[t], rho[t], lam[t], terminated[t], truncated[t]
        )
        if status != OK:
            return status, t
    return OK, 0


@kernel
def update_many_indices(
    code: int, F: Floats, M: Floats, I: Ints, s: Ints, s_next: Ints,
    reward: Floats, gamma: Floats, rho: Floats, lam: Floats, terminated: Bools, truncated: Bools,
) -> tuple[int, int]:  # fmt: skip
    """The same for one-hot states."""
    status, at = _first_bad(reward, gamma, rho, lam)
    if status != OK:
        return status, at
    for t in range(reward.size):
        if not 0 <= s[t] < F.shape[1]:
            return OBS, t
        if not 0 <= s_next[t] < F.shape[1]:
            return NEXT_OBS, t
    for t in range(reward.size):
        status = _advance(
            code, F, M, I, (s[t],), (1.0,), (s_next[t],), (1.0,),
            reward[t], gamma[t], rho[t], lam[t], terminated[t], truncated[t],
        )  # fmt: skip
        if status != OK:
            return status, t
    return OK, 0

"""The compiled entry points of the actor."""

from tdlambda.arrays import Floats, Ints
from tdlambda.compiled import brief
from tdlambda.control import actor, softmax
from tdlambda.learners.driver import DIVERGED, OBS, OBS_VALUES, OK, TERMINATED, TRUNCATED, _check_features
from tdlambda.memory import SIZE, WEIGHT_ROWS

_distribution, _learn, _begin, _choose = actor.distribution, actor.learn, actor.begin, softmax.choose


@brief
def check(I: Ints, x: Ints, xv: Floats) -> int:
    """Whether these are features that the actor has; for encoders that are not ours."""
    return _check_features(x, xv, I[SIZE], OBS, OBS_VALUES)


@brief
def distribution(F: Floats, M: Floats, I: Ints, S: Floats, x: Ints, xv: Floats) -> None:
    """π(·|x) into S."""
    _distribution(F, M, I, S, x, xv)


@brief
def choose(F: Floats, M: Floats, I: Ints, S: Floats, x: Ints, xv: Floats, u: float) -> int:
    """An action of a softmax policy, by a uniform number."""
    _distribution(F, M, I, S, x, xv)
    return _choose(S, I[WEIGHT_ROWS], u)


@brief
def learn(
    F: Floats, M: Floats, I: Ints, S: Floats, x: Ints, xv: Floats, action: int, point: Floats,
    delta: float, rho: float, gamma_next: float, gamma_lam_next: float, ended: int,
) -> int:  # fmt: skip
    """One step of the actor; the critic has checked its numbers."""
    terminated, truncated = bool(ended & TERMINATED), bool(ended & TRUNCATED)
    within = _learn(F, M, I, S, x, xv, action, point, delta, rho, gamma_next, gamma_lam_next, terminated, truncated)
    return OK if within else DIVERGED


@brief
def begin(F: Floats, M: Floats, I: Ints) -> None:
    """A new episode."""
    _begin(F, M, I)

"""The compiled entry points of an actor, as plain functions: `control.modules` puts them into a generated module.

The actor's arrays come first: a record of numbers, rows, the list of live features, and a buffer for the policy.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tdlambda.arrays import Floats, Ints
from tdlambda.core.runtime import DIVERGED, OBS, OBS_VALUES, OK, TERMINATED, TRUNCATED, check_features

if TYPE_CHECKING:
    from tdlambda.control.actor import begin as begin_episode_
    from tdlambda.control.actor import climb as climb_
    from tdlambda.control.softmax import choose as choose_
    from tdlambda.control.softmax import score as score_

    def distribution_(*arguments: Any) -> None:
        """Write π(·|x) into a buffer."""


def check(state: Any, rows: Floats, live: Ints, out: Floats, x: Ints, xv: Floats) -> int:
    """The status of the features of a user's own encoder: OK if they are valid for the actor."""
    return check_features(x, xv, state[0].size, OBS, OBS_VALUES)


def distribution(state: Any, rows: Floats, live: Ints, out: Floats, x: Ints, xv: Floats) -> None:
    """Write π(·|x) into `out`."""
    distribution_(state[0], rows, x, xv, out)


def choose(state: Any, rows: Floats, live: Ints, out: Floats, x: Ints, xv: Floats, u: float) -> int:
    """The discrete action that a uniform random number u selects."""
    distribution_(state[0], rows, x, xv, out)
    return choose_(out, u)


def learn(
    state: Any, rows: Floats, live: Ints, out: Floats, x: Ints, xv: Floats, yv: Floats, action: int, point: Floats,
    delta: float, rho: float, gamma_next: float, decay_next: float, ended: int,
) -> int:  # fmt: skip
    """Perform one step of the actor; the critic has validated the numbers. A diverged actor does not change."""
    s = state[0]
    if s.diverged_at >= 0:
        return OK
    distribution_(s, rows, x, xv, out)
    score_(s, action, point, out)
    over = (ended & (TERMINATED | TRUNCATED)) != 0
    within = climb_(s, rows, live, out, x, xv, yv, delta, rho, gamma_next, decay_next, over)  # type: ignore[call-arg]
    return OK if within else DIVERGED


def begin(state: Any, rows: Floats, live: Ints, out: Floats) -> None:
    """Begin a new episode."""
    begin_episode_(state[0], rows[out.size // 2 :], live)

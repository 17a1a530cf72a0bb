"""An agent and its world in one compiled call for many steps: act, move, learn, record returns.

Random numbers depend on the seed, not on the agent: the k-th episode of every agent starts in the same state, and at
the t-th step the same numbers determine the world's transition and the choice from π(·|x).

`control.world_modules` puts `interact` into a generated module, beside the learner's functions, those of the world
(`begin_`, `move_`, `observe_`) and of the features (`encode_`), and those of the kind of agent (`actor_in_world`,
`values_in_world`): `fits_`, `start_`, `act_`, `learn_from_`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tdlambda.arrays import Floats, Ints
from tdlambda.core.records import named

if TYPE_CHECKING:
    from tdlambda.features.tiling import encode_tiles as encode_
    from tdlambda.tasks.classic import observe_acrobot as observe_
    from tdlambda.tasks.mountain_car import _act as move_
    from tdlambda.tasks.mountain_car import _begin as begin_

    def fits_(*arguments: Any) -> bool:
        """Whether the agent's arrays have the sizes that code was generated for."""

    def start_(*arguments: Any) -> None:
        """Begin an episode."""

    def act_(*arguments: Any) -> int:
        """The action at x."""

    def learn_from_(*arguments: Any) -> bool:
        """Learn from a transition; return whether the agent did not diverge."""


ACCOUNT = named([
    ("length", "i8"), ("limit", "i8"), ("point", "i8"), ("ended", "i8"), ("counted", "i8"), ("refused", "i8"),
    ("action", "i8"),
    ("lam", "f8"), ("actor_lam", "f8"), ("gained", "f8"), ("gain", "f8"), ("sum", "f8"), ("last", "f8"),
])  # fmt: skip
"""Bookkeeping of a lane. Of the current episode: `length` (-1: no episode), the return so far (`gained`) and the
accumulated discount (`gain`). Of the curve: points passed (`point`), episodes ended, those since the last point
(`counted`) and the `sum` of their returns, the value at the `last` point. `refused`: whether the features could not
encode an observation. `action`: the next action of agents with action values. `limit`: the step limit of an episode
(0: none). `lam` and `actor_lam`: the critic's λ and the actor's, if fixed."""


def interact(
    first: int, end: int, agent: Any, world: Any, features: Any, account: Any, points: Ints, curve: Floats, log: Floats,
    actions: int, active: int, width: int,
) -> tuple[int, int]:  # fmt: skip
    """Run the steps from first to end (excluded); return the number of steps made and of episodes logged.

    Fewer steps are made if the agent diverges. `features` are the encoder's numbers and two feature vectors; x is kept
    between calls. The sizes (`world_modules.LoopSizes`) are fixed when code is generated.
    """
    numbers, s, seen, streams = world
    constants, x, xv, y, yv = features
    a, logged = account[0], 0
    if not (has(x, active) and has(xv, active) and has(y, active) and has(yv, active)):
        return 0, 0
    if not (has(seen, width) and fits_(agent, actions, active)):
        return 0, 0
    for t in range(first, end):
        if a.length < 0:
            begin_(numbers, s, streams[0])
            observe_(numbers, s, seen)
            a.length, a.gained, a.gain = 0, 0.0, 1.0
            if encode_(seen, constants, x, xv) != 0:
                a.refused = 1
                return t - first, logged
            start_(agent, a, x, xv, streams[0])
        action = act_(agent, a, x, xv, streams[1])
        reward, gamma, terminated = move_(numbers, s, action, streams[1])
        observe_(numbers, s, seen)
        a.length += 1
        truncated = not terminated and a.length == a.limit
        if encode_(seen, constants, y, yv) != 0:
            a.refused = 1
            return t - first, logged
        if not learn_from_(agent, a, x, xv, y, yv, action, reward, gamma, terminated, truncated, streams[1]):
            return t + 1 - first, logged
        over = terminated or truncated
        logged = record_step(a, reward, gamma, over, t, points, curve, log, logged)
        if not over:
            for j in range(x.size):
                x[j], xv[j] = y[j], yv[j]
    return end - first, logged


def record_step(
    a: Any, reward: float, gamma: float, over: bool, t: int, points: Ints, curve: Floats, log: Floats, logged: int
) -> int:
    """Record a step; return the number of episodes in the log."""
    a.gained += a.gain * reward
    a.gain *= gamma
    if over:
        log[logged, 0], log[logged, 1], log[logged, 2] = a.gained, a.length, t + 1
        logged += 1
        a.sum += a.gained
        a.counted += 1
        a.ended += 1
        a.length = -1
    if a.point < points.size and t + 1 == points[a.point]:
        record_point(a, curve)
    return logged


def has(array: Any, size: int) -> bool:
    """Whether an array has this size. It always has; the test tells the compiler, which can then unroll loops."""
    return array.size == size and len(array) == size


def same(numbers: Floats, state: Floats, out: Floats) -> None:
    """Copy the state to the observation, for worlds whose observation is the state."""
    for i in range(out.size):
        out[i] = state[i]


def record_point(a: Any, curve: Floats) -> None:
    """Write a point of the curve: the mean return of the episodes that ended since the last point.

    If none did, it is the value at the last point; before the first episode ends, the return so far.
    """
    if a.counted > 0:
        a.last = a.sum / a.counted
    elif a.ended == 0:
        a.last = a.gained
    curve[a.point] = a.last
    a.point += 1
    a.counted, a.sum = 0, 0.0

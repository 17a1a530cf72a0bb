"""An agent and its world in one compiled call for many steps: act, move, learn, record returns.

Random numbers depend on the seed, not on the agent: the k-th episode of every agent starts in the same state, and at
the t-th step the same numbers determine the world's transition and the choice from π(·|x).

`control.modules` puts `interact` into a generated module, beside the critic's `learn`, the actor's `climb_`, the
functions of its policy (`distribution_`, `choose_`, `score_`), of the world (`begin_`, `move_`) and of the features
(`encode_`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tdlambda.arrays import Floats, Ints
from tdlambda.core.records import named
from tdlambda.core.runtime import OK, dot
from tdlambda.randomness import uniform

if TYPE_CHECKING:
    from tdlambda.control.actor import climb as climb_
    from tdlambda.control.softmax import choose as choose_
    from tdlambda.control.softmax import distribution as distribution_
    from tdlambda.control.softmax import score as score_
    from tdlambda.control.value_steps import behaved, draw, transition, values
    from tdlambda.features.tiling import encode_tiles as encode_
    from tdlambda.tasks.classic import observe_acrobot as observe_
    from tdlambda.tasks.mountain_car import _act as move_
    from tdlambda.tasks.mountain_car import _begin as begin_

    def learn(*arguments: Any) -> int:
        """Learn from one transition, as the critic."""

    def value_(*arguments: Any) -> float:
        """V(x)."""


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
    first: int, end: int, critic: Any, actor: Any, world: Any, features: Any, account: Any,
    points: Ints, curve: Floats, log: Floats, shared: bool, after: bool, actions: int, active: int, width: int,
) -> tuple[int, int]:  # fmt: skip
    """Run the steps from first to end (excluded); return the number of steps made and of episodes logged.

    Fewer steps are made if the agent diverges. `features` are the encoder's numbers and two feature vectors; x is kept
    between calls. Fixed when code is generated: whether the actor's trace decays by the critic's γλ (`shared`), whether
    δ is computed `after` the critic's update, and sizes (`modules.Sizes`).
    """
    state, rows, own, live = critic
    actor_state, theta, actor_live, out = actor
    numbers, s, seen, streams = world
    constants, x, xv, y, yv = features
    a, climber, logged = account[0], actor_state[0], 0
    if not (has(x, active) and has(xv, active) and has(y, active) and has(yv, active)):
        return 0, 0
    if not (has(out, 2 * actions) and has(seen, width)):
        return 0, 0
    for t in range(first, end):
        if a.length < 0:
            begin_(numbers, s, streams[0])
            observe_(numbers, s, seen)
            a.length, a.gained, a.gain = 0, 0.0, 1.0
            if encode_(seen, constants, x, xv) != 0:
                a.refused = 1
                return t - first, logged
        distribution_(climber, theta, x, xv, out)
        action = choose_(out, uniform(streams[1]))
        reward, gamma, terminated = move_(numbers, s, action, streams[1])
        observe_(numbers, s, seen)
        a.length += 1
        truncated = not terminated and a.length == a.limit
        if encode_(seen, constants, y, yv) != 0:
            a.refused = 1
            return t - first, logged
        status = learn(state, rows, own, live, x, xv, y, yv, y, yv, reward, gamma, 1.0, a.lam, terminated, truncated)
        if status != OK:
            climber.diverged_at = climber.steps + 1
            return t + 1 - first, logged
        delta, follow = state[0].td_error, gamma * a.actor_lam
        if after:
            delta = reward + (0.0 if terminated else gamma * value_(state, rows, y, yv)) - value_(state, rows, x, xv)
        if shared:
            follow = gamma * state[0].last_lam
        score_(climber, theta, x, xv, action, out, out)
        over = terminated or truncated
        within = climb_(climber, theta, actor_live, out, x, xv, delta, 1.0, gamma, follow, over)  # type: ignore[call-arg]
        if not within:
            return t + 1 - first, logged
        logged = told(a, reward, gamma, over, t, points, curve, log, logged)
        if not over:
            for j in range(x.size):
                x[j], xv[j] = y[j], yv[j]
    return end - first, logged


def told(
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
        mark(a, curve)
    return logged


def interact_values(
    first: int, end: int, learner: Any, agent: Any, room: Any, world: Any, constants: Floats, lam: Floats,
    account: Any, points: Ints, curve: Floats, log: Floats, actions: int, active: int, width: int,
) -> tuple[int, int]:  # fmt: skip
    """Run an agent with action values, as `interact` does. If there is a λ for each pair, λ' is that of the next pair.

    The next action is chosen before the update, with the values at that time.
    """
    state, rows, own, live = learner
    q, pi, b, xv, yv, pyv, x, y, px, pz, py = room
    numbers, s, seen, streams = world
    a, g, logged = account[0], agent[0], 0
    if not (has(x, active) and has(xv, active) and has(y, active) and has(yv, active)):
        return 0, 0
    if not (has(px, active) and has(pz, active) and has(seen, width)):
        return 0, 0
    if not (has(q, actions) and has(pi, actions) and has(b, actions)):
        return 0, 0
    for t in range(first, end):
        if a.length < 0:
            begin_(numbers, s, streams[0])
            observe_(numbers, s, seen)
            a.length, a.gained, a.gain = 0, 0.0, 1.0
            if encode_(seen, constants, x, xv) != 0:
                a.refused = 1
                return t - first, logged
            values(state, rows, x, xv, q)
            behaved(g, q, b)
            a.action = draw(b, uniform(streams[0]))
        reward, gamma, terminated = move_(numbers, s, a.action, streams[1])
        observe_(numbers, s, seen)
        a.length += 1
        truncated = not terminated and a.length == a.limit
        if encode_(seen, constants, y, yv) != 0:
            a.refused = 1
            return t - first, logged
        u, taken = uniform(streams[1]), 0
        if not terminated:
            values(state, rows, y, yv, q)
            behaved(g, q, b)
            taken = draw(b, u)
        next_lam = lam[y[0] * q.size + taken] if lam.size > 1 else lam[0]
        status = transition(
            state, rows, own, live, g, q, pi, b, x, xv, y, yv, pz, yv, px, pz, py, pyv, a.action, taken, reward, gamma,
            next_lam, terminated, truncated,
        )  # type: ignore[call-arg]  # fmt: skip
        over = terminated or truncated
        g.steps += 1
        g.episodes += over
        if status != OK:
            return t + 1 - first, logged
        logged = told(a, reward, gamma, over, t, points, curve, log, logged)
        if not over:
            a.action = taken
            for j in range(x.size):
                x[j], xv[j] = y[j], yv[j]
    return end - first, logged


def has(array: Any, size: int) -> bool:
    """Whether an array has this size. It always has; the test tells the compiler, which can then unroll loops."""
    return array.size == size and len(array) == size


def same(numbers: Floats, state: Floats, out: Floats) -> None:
    """Copy the state to the observation, for worlds whose observation is the state."""
    for i in range(out.size):
        out[i] = state[i]


def mark(a: Any, curve: Floats) -> None:
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


def value(state: Any, rows: Floats, x: Ints, xv: Floats) -> float:
    """V(x) of a critic with the row layout of `core.schedules.one`."""
    return dot(rows[0], x, xv, len(x))

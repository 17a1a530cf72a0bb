"""One transition: every family predicts, the mixture is judged, every family learns.

These are plain functions. `auto.modules` puts them into a generated module, in which LANES, VECTORS and SHARED are
constants: whether there are learners with traces, observations are vectors of readings, and each distinct one can have
a sparse feature of its own. Experts are ordered by families: least squares, means, learners, averaged copies, the
user's own. `m` is `BankMemory`.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

from tdlambda.arrays import Bools, Floats, Ints
from tdlambda.auto.changes import (
    NOTED,
    PAST_ENDED,
    PAST_GAMMA,
    PAST_MORE,
    PAST_REWARD,
    PAST_RHO,
    ROOM,
    Changes,
    changed,
    forget_states,
    note,
)
from tdlambda.auto.errors import OFF_POLICY, RECENT, SKIPPED
from tdlambda.auto.families.averaged import EVERY, restart
from tdlambda.auto.families.averaged import values as averaged_values
from tdlambda.auto.families.least_squares import (
    FADED,
    Systems,
    fade,
    note_spread,
    solve,
    solve_due,
    square_of,
    take_prior,
    value,
    widest,
)
from tdlambda.auto.families.least_squares import learn as learn_systems
from tdlambda.auto.families.least_squares import values as squares_values
from tdlambda.auto.families.linear import AGE, UPDATES, Lanes, convert, move_grid, prefer
from tdlambda.auto.families.linear import end as end_lanes
from tdlambda.auto.families.linear import learn as learn_linear
from tdlambda.auto.families.linear import values as linear_values
from tdlambda.auto.families.means import RETURN, Means
from tdlambda.auto.families.means import learn as learn_means
from tdlambda.auto.families.means import values as means_values
from tdlambda.auto.families.observations import Observations, add_own, enter_both, find
from tdlambda.auto.mixture import (
    Mixture,
    add_distances,
    close,
    contradicted,
    end_traces,
    expect,
    gather,
    is_due,
    limits,
    mix,
    note_limits,
    notice_change,
    weigh,
)
from tdlambda.auto.readings import (
    CHECKED,
    ENDED,
    GAMMA,
    HELD,
    MORE,
    REFITS,
    RESET,
    REWARD,
    RHO,
    Readings,
    change_coordinates,
    has_moved,
    observe_row,
    place,
    refit,
    take_medians,
    take_penalties,
)

if TYPE_CHECKING:  # other names in the generated module
    given: Any = None
    check = first_misfit = squared = given
    LANES = VECTORS = SHARED = True

MOST_REWARD = 1e100
"""Largest |reward|: a return may be 10^16 times as large, and its squared error must be finite."""


STATES = 4
"""A flag of `learn_rows`: its observations are states."""


class BankMemory(NamedTuple):
    """All arrays of an AutoTD, by families; an empty tuple stands for a family that is not there."""

    mixture: Mixture
    systems: Systems
    means: Means
    lanes: Lanes | tuple[()]
    observations: Observations
    changes: Changes
    readings: Readings | tuple[()]


class TransitionColumns(NamedTuple):
    """Transitions [transition, ...] to learn from."""

    x: Ints
    xv: Floats
    y: Ints
    yv: Floats
    reward: Floats
    gamma: Floats
    rho: Floats
    terminated: Bools
    truncated: Bools
    before: Floats
    """Predictions before each update [transition, (x, x'), expert]: those of the user's own experts are given, and
    those of the mixture are written to the last column, if there is one more."""
    seen: Ints
    """Number of transitions so far [1]."""


class ObservationColumns(NamedTuple):
    """Observations [observation, ...] to predict at."""

    x: Ints
    xv: Floats
    own: Floats
    """Predictions of the user's own experts."""
    phi: Floats
    """A buffer for the features of readings."""
    each: Floats
    """Receives each expert's prediction [observation, expert]."""
    out: Floats
    """Receives the mixture's predictions."""


# ---- predictions ---------------------------------------------------------------------------------------------------


def values(m: Any, x: Ints, xv: Floats, own: Floats, out: Floats) -> None:
    """Each expert's prediction, those of the user's own as given."""
    first = m.systems.of.size + m.means.rows.shape[1]
    squares_values(m.systems, x, xv, out[: m.systems.of.size])
    means_values(m.means, out[m.systems.of.size : first])
    if LANES:
        n = m.lanes.lane.shape[1]
        linear_values(m.lanes, x, xv, out[first : first + n])
        averaged_values(m.lanes, x, xv, out[first + n : first + 2 * n])
        first += 2 * n
    for k in range(own.size):
        out[first + k] = own[k]


def predict_row(m: Any, x: Ints, xv: Floats, own: Floats, phi: Floats, out: Floats) -> float:
    """Predict at an observation, with the mixture and each expert (`out`). phi is a private buffer."""
    s = m.mixture.number[0]
    if VECTORS:
        f = m.readings
        if f.number[0].held < HELD:
            weight = f.number[0].raw_weight
            mean = f.number[0].raw_sum / weight if weight > 0.0 else 0.0
            out[:] = mean
            return mean
        place(f, xv, phi)
        values(m, f.positions, phi, own, out)
    else:
        values(m, x, xv, own, out)
    if SHARED:
        add_own(m.systems, m.mixture.visits.size - m.observations.key.size, find(m.observations, x, xv), out)
    low, high = limits(s)
    return mix(out, m.mixture.weight, low, high)


def predict_rows(m: Any, c: ObservationColumns, state: int) -> float:
    """Predict at each observation; return the last prediction, or NaN at a vector that is not finite.

    A `state` of 0 or more is the only observation, instead of the one in the columns.
    """
    u = 0.0
    if state >= 0:
        c.x[0, 0] = state
    for t in range(c.out.size):
        if VECTORS and not squared(c.xv[t], c.xv.shape[1]) < math.inf:
            return math.nan
        u = predict_row(m, c.x[t], c.xv[t], c.own[t], c.phi, c.each[t])
        c.out[t] = u
    return u


# ---- learning ------------------------------------------------------------------------------------------------------


def advance(
    m: Any, x: Ints, xv: Floats, y: Ints, yv: Floats, own: Floats, own_next: Floats, reward: float, gamma_next: float,
    rho: float, terminated: bool, truncated: bool, evidence: float,
) -> None:  # fmt: skip
    """Learn from one transition between features."""
    mixture, s = m.mixture, m.mixture.number[0]
    s.steps += 1.0
    t, fresh, gamma = s.steps, s.under_way == 0.0, 0.0 if terminated else gamma_next
    low, high = limits(s)  # from the transitions before this one
    if t == 1.0:
        low = high = 0.0
    note_limits(s, reward, gamma, rho, fresh)
    X, XV, Y, YV, at, at_next, n = x, xv, y, yv, -1, -1, 0
    if SHARED:
        o, n = m.observations, mixture.visits.size - m.observations.key.size
        at, at_next = enter_both(o, m.systems, mixture, x, xv, y, yv, n, gamma)
        X, XV, Y, YV = o.x[0], o.xv[0], o.x[1], o.xv[1]
    values(m, x, xv, own, mixture.value)
    if SHARED:
        add_own(m.systems, n, at, mixture.value)
    u, norm = mix(mixture.value, mixture.weight, low, high), squared(xv, x.size)
    rate = max(3.0 / (t - s.began + 2.0), 1e-4)
    s.value += rate * (square_of(m.systems, mixture.value, u) - s.value)
    if not fresh:
        close(mixture, u)
    add_distances(mixture, u, fresh, evidence)
    if not VECTORS:
        expect(mixture, X, XV, squared(XV, XV.size))
    if int(t) % SKIPPED == 0:
        row = (int(t) // SKIPPED) % RECENT
        for j in range(x.size):
            mixture.recent[row, j], mixture.recent_value[row, j] = x[j], xv[j]
    s.norm += rate * (norm - s.norm)
    s.cut += (min(rho, 1.0) - s.cut) / t
    s.u, s.rho, s.reward, s.gamma, s.under_way = u, rho, reward, gamma, 1.0
    first = m.systems.of.size + m.means.rows.shape[1]
    if LANES:
        learn_linear(m.lanes, mixture, first, x, xv, y, yv, reward, gamma_next, rho, terminated, truncated)
    note_spread(m.systems, X, XV, Y, YV, reward, gamma, rho)
    if not VECTORS and m.changes.rows.shape[0] > 0 and (not SHARED or at >= 0):
        known, ended = at if SHARED else x[0], 1 if terminated else 2 if truncated else 0
        keep(m, known, x, xv, y, yv, own, own_next, reward, gamma_next, rho, ended)
    learn_systems(m.systems, 0, X, XV, Y, YV, reward, gamma, rho, evidence)
    learn_means(m.means, reward, gamma, rho)
    if gamma == 0.0:
        for j in range(m.means.rows.shape[1]):
            if m.means.window[j] == 0.0:
                mixture.absent[m.systems.of.size + j] = 0.0
    if terminated or truncated:
        u_next = 0.0
        if not terminated:
            values(m, y, yv, own_next, mixture.value)
            if SHARED:
                add_own(m.systems, n, at_next, mixture.value)
            u_next = mix(mixture.value, mixture.weight, low, high)
        close(mixture, u_next)
        end_episode(m)
    solve_due(m.systems, t, m.means.rows[RETURN, 0])
    if is_due(mixture) or t % EVERY == 0.0:
        update_weights(m)


def keep(
    m: Any, state: int, x: Ints, xv: Floats, y: Ints, yv: Floats, own: Floats, own_next: Floats, reward: float,
    gamma: float, rho: float, ended: int,
) -> None:  # fmt: skip
    """Keep a transition from a state, and the TD error of LSTD(0) with the smallest ridge."""
    c, q, o = m.changes, m.systems, m.observations
    k = widest(q) if SHARED else 0
    V = value(q, k, o.x[0], o.xv[0]) if SHARED else value(q, k, x, xv)
    delta = reward - V
    if gamma > 0.0 and ended != 1:
        delta += gamma * (value(q, k, o.x[1], o.xv[1]) if SHARED else value(q, k, y, yv))
    slot, n, more = c.counts[NOTED] % ROOM, x.size, PAST_MORE + 2 * x.size
    row, index = c.past[slot], c.rows[slot]
    row[PAST_REWARD], row[PAST_GAMMA], row[PAST_RHO], row[PAST_ENDED] = reward, gamma, rho, ended
    index[0] = state
    for j in range(n):
        index[1 + j], index[1 + n + j] = x[j], y[j]
        row[PAST_MORE + j], row[PAST_MORE + n + j] = xv[j], yv[j]
    for i in range(own.size):
        row[more + i], row[more + own.size + i] = own[i], own_next[i]
    note(c, row, state, rho * delta)


def update_weights(m: Any) -> None:
    """Perform a complete weight update."""
    mixture, q = m.mixture, m.systems
    first = q.of.size + m.means.rows.shape[1]
    gather(mixture)
    at = 0
    for s in range(q.lam.size):
        last = at
        while last < q.of.size and q.of[last] == s:
            last += 1
        length = contradicted(mixture, at, last, q.age[s])
        if length > 0.0:
            fade(q, s, FADED * length)
            mixture.number[0].restarts += 1.0
        at = last
    notice_change(mixture)
    take_prior(q, mixture)
    if LANES:
        due = int(mixture.number[0].steps) // EVERY > m.lanes.counts[UPDATES]
        if due:
            restart(m.lanes, mixture, first)
        prefer(m.lanes, mixture, first)
        weigh(mixture)
        if due:
            move_grid(m.lanes, mixture, first)
    else:
        weigh(mixture)


def end_episode(m: Any) -> None:
    """End the episode: reset all traces."""
    end_traces(m.mixture)
    m.systems.z[:, :] = 0.0
    m.means.trace[0] = 0.0
    if LANES:
        end_lanes(m.lanes)


def begin_anew(m: Any, length: int) -> None:
    """Forget everything but the last transitions, and learn from those."""
    c, q, mixture, s = m.changes, m.systems, m.mixture, m.mixture.number[0]
    n, own = (c.rows.shape[1] - 1) // 2, mixture.own.shape[1]
    more = PAST_MORE + 2 * n
    end_episode(m)
    mixture.sums[:, :, :] = 0.0
    mixture.expected[:, :, :] = 0.0
    mixture.visits[:] = 0.0
    mixture.errors[:OFF_POLICY] = 0.0
    q.A[:] = 0.0
    q.b[:, :] = 0.0
    q.w[:, :] = 0.0
    q.S[:, :] = 0.0
    q.age[:] = 0.0
    q.due[:] = 0.0
    m.means.rows[:, :] = 0.0
    s.short_count[:] = 0.0
    s.steps -= length
    s.window = s.count = 0.0
    s.began = s.updated = s.steps
    s.changes += 1.0
    if LANES:
        m.lanes.lane[AGE] = 0.0
        restart(m.lanes, mixture, q.of.size + m.means.rows.shape[1])
        prefer(m.lanes, mixture, q.of.size + m.means.rows.shape[1])
    weigh(mixture)
    forget_states(c, length)
    for _ in range(length):
        slot = c.counts[NOTED] % ROOM
        row, index = c.past[slot], c.rows[slot]
        ended = int(row[PAST_ENDED])
        advance(
            m, index[1 : 1 + n], row[PAST_MORE : PAST_MORE + n], index[1 + n :], row[PAST_MORE + n : more],
            row[more : more + own], row[more + own :], row[PAST_REWARD], row[PAST_GAMMA], row[PAST_RHO],
            ended & 1 > 0, ended & 2 > 0, 1.0,
        )  # fmt: skip
        if ended == 4:
            end_noted(m)


def end_noted(m: Any) -> None:
    """End the episode, after the last transition that is kept."""
    c = m.changes
    if c.rows.shape[0] > 0 and c.counts[NOTED] > 0:
        slot = (c.counts[NOTED] - 1) % ROOM
        c.past[slot, PAST_ENDED] = 4.0 if c.past[slot, PAST_ENDED] == 0.0 else c.past[slot, PAST_ENDED]
    end_episode(m)


def learn_vector(m: Any, row: Floats) -> None:
    """Learn from one transition between vectors of readings, given as a row of `past`."""
    f, q, own = m.readings, m.systems, m.mixture.own.shape[1]
    d, s, has_cosines = f.moments.shape[1] - 1, f.number[0], f.directions.shape[1] > 0
    reward = observe_row(f, row)
    if s.steps >= s.rebase:
        s.rebase *= 2.0
        change_coordinates(f, q)
        if LANES:
            for i in range(d):
                if f.moved[0, i] > 0.0:
                    convert(m.lanes, 1 + i, f.moved[0, i], f.moved[1, i])
        take_penalties(f, q)
        for k in range(q.lam.size):
            solve(q, k, m.means.rows[RETURN, 0])
    if has_cosines and s.steps > REFITS[-1] and int(s.steps) % CHECKED == 0 and has_moved(f):
        refit(f, q, 0)
    place(f, row[:d], f.x[0])
    terminated, truncated = row[2 * d + ENDED] == 1.0, row[2 * d + ENDED] == 2.0
    if terminated:
        f.x[1, :] = 0.0
    else:
        place(f, row[d : 2 * d], f.x[1])
    evidence = math.exp(s.first_unit - s.unit)
    more = 2 * d + MORE
    advance(
        m, f.positions, f.x[0], f.positions, f.x[1], row[more : more + own], row[more + own : more + 2 * own], reward,
        row[2 * d + GAMMA], row[2 * d + RHO], terminated, truncated, evidence,
    )  # fmt: skip
    if has_cosines:
        for steps in REFITS:
            if s.steps == steps:
                refit(f, q, steps)
                for k in range(q.lam.size):
                    solve(q, k, m.means.rows[RETURN, 0])
    take_penalties(f, q)
    if row[2 * d + RESET] > 0.0:
        end_episode(m)


def take(
    m: Any, X: Floats, Y: Floats, reward: float, gamma: float, rho: float, terminated: bool, truncated: bool
) -> None:  # fmt: skip
    """Hold back one of the first transitions, or learn from a later one."""
    f, own = m.readings, m.mixture.own
    s, d, room = f.number[0], X.size, f.past.shape[0] - 1
    held = int(s.held)
    row, more = f.past[min(held, room)], 2 * d + MORE
    for i in range(d):
        row[i], row[d + i] = X[i], Y[i]
    row[2 * d + REWARD], row[2 * d + GAMMA], row[2 * d + RHO], row[2 * d + RESET] = reward, gamma, rho, 0.0
    row[2 * d + ENDED] = 1.0 if terminated else 2.0 if truncated else 0.0
    for i in range(own.shape[1]):
        row[more + i], row[more + own.shape[1] + i] = own[0, i], own[1, i]
    s.held = min(held + 1, room)
    if held < HELD:
        s.raw_sum += reward
        s.raw_weight += 1.0 - (0.0 if terminated else gamma)
        if held + 1 == HELD:
            take_medians(f)
            for t in range(HELD):
                learn_vector(m, f.past[t])
    else:
        learn_vector(m, row)


def end(m: Any) -> None:
    """Discard the current episode."""
    if VECTORS:
        f = m.readings
        s, d = f.number[0], f.moments.shape[1] - 1
        if 0.0 < s.held < f.past.shape[0] and f.past[int(s.held) - 1, 2 * d + ENDED] == 0.0:
            f.past[int(s.held) - 1, 2 * d + RESET] = 1.0
        if s.held >= HELD:
            end_episode(m)
    else:
        end_noted(m)


def learn_rows(
    m: Any, c: TransitionColumns, state: int, state_next: int, reward: float, gamma: float, rho: float, ended: int
) -> int:  # fmt: skip
    """Learn from transitions in order; return 0, or, without any change, 1 + the first row that is invalid.

    If `ended` is at least 0, the numbers are those of the only transition, instead of those in the columns: 1 stands
    for terminated, 2 for truncated, and with STATES, the states are its observations.
    """
    if ended >= 0:
        c.reward[0], c.gamma[0], c.rho[0] = reward, gamma, rho
        c.terminated[0], c.truncated[0] = ended & 1 > 0, ended & 2 > 0
        if ended & STATES > 0:
            c.x[0, 0], c.y[0, 0] = state, state_next
    own, size = m.mixture.own, m.mixture.visits.size - m.observations.key.size
    recorded = c.before.shape[2] > own.shape[1]
    for t in range(c.reward.size):
        if check(c.reward[t], c.gamma[t], c.rho[t]) != 0 or not abs(c.reward[t]) <= MOST_REWARD:
            return 1 + t
    if VECTORS:
        for t in range(c.reward.size):
            if not (squared(c.xv[t], c.xv.shape[1]) < math.inf and squared(c.yv[t], c.yv.shape[1]) < math.inf):
                return 1 + t
    else:
        bad = max(first_misfit(c.x, c.xv, size), first_misfit(c.y, c.yv, size))
        if bad >= 0:
            return 1 + bad
    for t in range(c.reward.size):
        for i in range(own.shape[1]):
            own[0, i], own[1, i] = c.before[t, 0, i], c.before[t, 1, i]
        if recorded:
            each = m.mixture.value
            phi = m.readings.x[0] if VECTORS else each
            c.before[t, 0, own.shape[1]] = predict_row(m, c.x[t], c.xv[t], own[0], phi, each)
            c.before[t, 1, own.shape[1]] = predict_row(m, c.y[t], c.yv[t], own[1], phi, each)
        if VECTORS:
            take(m, c.xv[t], c.yv[t], c.reward[t], c.gamma[t], c.rho[t], c.terminated[t], c.truncated[t])
        else:
            advance(
                m, c.x[t], c.xv[t], c.y[t], c.yv[t], own[0], own[1], c.reward[t], c.gamma[t], c.rho[t],
                c.terminated[t], c.truncated[t], 1.0,
            )  # fmt: skip
            length = changed(m.changes, m.mixture.number[0].off_policy > 0.0) if m.changes.rows.shape[0] > 0 else 0
            if length > 0:
                begin_anew(m, length)
    c.seen[0] += c.reward.size
    return 0

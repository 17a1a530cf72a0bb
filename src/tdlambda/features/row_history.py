"""Features that remember: lags, differences, exponential means, seasons; and those of time. One pass over the rows.

The memory of a stream is a vector, so that many streams can be interleaved: `memory` [stream, …] and, for each row, the
stream it belongs to. `RowPlan` says where things are in it.

    position of the last row, rows in the history, rows of the stream
    history        [row, column], a ring
    checks         [column, CHECKS], see `sensor_checks`
    means          [mean, (value, count)]
    seasons        one after the other: for slots of time, the last value in each slot and their smoothed values (NaN if
                   there is none yet); for rows, the period, the number of values, a ring of values, and, if the period
                   is detected, as many buffers
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from tdlambda.arrays import Bools, Floats, Ints
from tdlambda.compiled import entry, kernel, part
from tdlambda.features.sensor_checks import CHECKS, IS_FAR, check
from tdlambda.features.standardisation import COUNT, MEAN, ROWS, observe, placed

VALUE, DIFFERENCE, AVERAGE, AHEAD, SMOOTH, NEXT, SINE, COSINE, WEEKDAY, CONSTANT, COSINES = range(11)
"""Kinds of features: a value or lag; a difference; an exponential mean; the discounted sum of the last season, and of
smoothed seasons, from here on; the value of the next row a season ago; waves of time; indicators of a weekday, times 1,
sine and cosine of the day; 1; random cosines of the features before."""
HEAD = 3
DAY, MONDAY = 86400.0, 4.0 * 86400.0
"""Seconds of a day; a Monday, in seconds since the epoch."""
SMALLEST = 1e-4
"""Discounts below this do not count in the sum of a season."""
FARTHEST = 4.0
"""Largest standardised value in a random cosine."""
SMOOTHING = 0.25
"""Rate of the smoothed values of a season."""
RING = 2048
"""Number of values among which a period is detected."""
LEAST_PEAK, HIGHER = 0.25, 0.05
"""Smallest autocorrelation of a period, and how much larger it must be for a longer period to replace a shorter one."""


class RowPlan(NamedTuple):
    """Where everything is; constant. Arrays of one entry per signal, mean, season or feature."""

    columns: int
    depth: int
    checked: int
    """The first `checked` columns are checked."""
    checks_at: int
    means_at: int
    signal_column: Ints
    signal_apart: Ints
    mean_column: Ints
    mean_window: Floats
    season_column: Ints
    season_at: Ints
    season_slots: Ints
    """Slots of a period; the length of the ring if the season counts rows."""
    season_time: Ints
    """Index of the column of times; -1 for rows."""
    season_period: Floats
    """In units of time, or in rows; 0 if it is to be detected."""
    season_gamma: Floats
    season_steps: Ints
    """Length of a window in rows, instead of the discount; 0 without one."""
    kind: Ints
    of: Ints
    """Signal, mean, season or column of times (-1: number of rows) of a feature."""
    lag: Ints
    """Lag of a value; harmonic of a weekday."""
    number: Floats
    """Frequency of a wave; day of a weekday."""
    signal: Ints
    """The signal that scales a feature; -1 for none."""
    cosines: Floats
    """Frequencies of the features before, and a phase, of random cosines [cosine, feature + 1]."""
    window: float
    """Number of readings over which running statistics are averaged."""


@part
def averaged(mean: Floats, v: float, window: float) -> None:
    """Update an exponential mean (value, count)."""
    mean[1] += 1.0
    mean[0] += max(1.0 / mean[1], 1.0 / window) * (v - mean[0])


@part
def ahead(values: Floats, begin: int, n: int, period: int, gamma: float, steps: int, otherwise: float) -> float:
    """The discounted mean of the values that follow, if the last period repeats; `n` is the length of the ring.

    `begin` is the index of the first of them. Empty slots are skipped.
    """
    total, weight, w = 0.0, 0.0, 1.0
    for k in range(min(period, steps) if steps > 0 else period):
        v = values[(begin + k) % n]
        if v == v:
            total += w * v
            weight += w
            w *= gamma
            if w < SMALLEST:
                break
    return total / weight if weight > 0.0 else otherwise


@part
def detected(ring: Floats, x: Floats, position: int, n: int, most: int) -> int:
    """The period of the last `n` values of a ring, by their autocorrelation; 0 if there is none.

    `x` receives the values less an exponential mean, so that a trend does no harm.
    """
    size = ring.size
    begin = position - n + 1 + size
    level, mean, square = ring[begin % size], 0.0, 0.0
    for k in range(n):
        level += max(1.0 / (k + 1), 1.0 / most) * (ring[(begin + k) % size] - level)
        x[k] = ring[(begin + k) % size] - level
        mean += x[k] / n
    for k in range(n):
        x[k] -= mean
        square += x[k] * x[k] / n
    last, before, best, found = 1.0, 1.0, LEAST_PEAK, 0
    if not square > 0.0:
        return 0
    for lag in range(2, most + 1):
        total = 0.0
        for k in range(n - lag):
            total += x[k] * x[k + lag]
        total /= (n - lag) * square
        if lag > 4 and last > before and last >= total and last > best + (HIGHER if found > 0 else 0.0):
            best, found = last, lag - 1
        before, last = last, total
    return found


@part
def remember(plan: RowPlan, memory: Floats, k: int, v: float, times: Floats) -> None:
    """Update a season with a reading."""
    at, n = plan.season_at[k], plan.season_slots[k]
    if plan.season_time[k] >= 0:
        slot = slot_of(plan, k, times)
        memory[at + slot] = v
        old = memory[at + n + slot]
        memory[at + n + slot] = old + SMOOTHING * (v - old) if old == old else v
        return
    count = int(memory[at + 1])
    memory[at + 2 + count % n] = v
    memory[at + 1] = count + 1
    if plan.season_period[k] > 0.0:
        return
    filled = count + 1
    if filled >= 64 and (filled & (filled - 1) == 0 or filled % n == 0):
        some = min(filled, n)
        scratch = memory[at + 2 + n : at + 2 + 2 * n]
        memory[at] = detected(memory[at + 2 : at + 2 + n], scratch, count % n, some, some // 3)


@part
def slot_of(plan: RowPlan, k: int, times: Floats) -> int:
    """The slot that begins nearest to a time; whole seconds are exact, so times at the limit of slots never stray."""
    t, period, n = times[plan.season_time[k]] - MONDAY, plan.season_period[k], plan.season_slots[k]
    return math.floor((t - math.floor(t / period) * period) * n / period + 0.5) % n


@part
def season(plan: RowPlan, memory: Floats, k: int, kind: int, times: Floats, otherwise: float) -> float:
    """A feature of a season."""
    at, n, gamma, steps = plan.season_at[k], plan.season_slots[k], plan.season_gamma[k], plan.season_steps[k]
    if plan.season_time[k] >= 0:
        values = memory[at + n : at + 2 * n] if kind == SMOOTH else memory[at : at + n]
        begin = (slot_of(plan, k, times) + 1) % n
        if kind == NEXT:
            return values[begin] if values[begin] == values[begin] else otherwise
        return ahead(values, begin, n, n, gamma, steps, otherwise)
    period = int(plan.season_period[k]) if plan.season_period[k] > 0.0 else int(memory[at])
    count, ring = int(memory[at + 1]), memory[at + 2 : at + 2 + n]
    if period == 0 or count < period:
        return otherwise
    begin = count - period
    return ring[begin % n] if kind == NEXT else ahead(ring, begin, n, period, gamma, steps, otherwise)


@part
def feature(plan: RowPlan, memory: Floats, f: int, signals: Floats, times: Floats, as_is: bool) -> float:
    """One feature of the last row."""
    kind, i, depth, columns = plan.kind[f], plan.of[f], plan.depth, plan.columns
    if kind == CONSTANT:
        return 1.0
    if kind in (SINE, COSINE):
        t = (times[i] if i >= 0 else memory[2] - 1.0) * plan.number[f]
        return math.sin(t) if kind == SINE else math.cos(t)
    if kind == WEEKDAY:
        t = times[i] - MONDAY
        if math.floor(t / DAY) % 7.0 != plan.number[f]:
            return 0.0
        phase = 2.0 * math.pi * t / DAY
        return 1.0 if plan.lag[f] == 0 else math.sin(phase) if plan.lag[f] == 1 else math.cos(phase)
    s = plan.signal[f]
    column = plan.signal_column[s]
    at, room = int(memory[0]), min(int(memory[1]), depth) - 1
    now = memory[HEAD + at * columns + column]
    if kind == VALUE:
        v = memory[HEAD + (at - min(plan.lag[f], room)) % depth * columns + column]
    elif kind == DIFFERENCE:
        v = now - memory[HEAD + (at - min(plan.signal_apart[s], room)) % depth * columns + column]
    elif kind == AVERAGE:
        v = memory[plan.means_at + 2 * i]
    else:
        v = season(plan, memory, i, kind, times, now)
    return v if as_is else placed(signals[s], v)


@part
def take(plan: RowPlan, memory: Floats, raw: Floats, times: Floats, fresh: bool, signals: Floats, hold: bool) -> None:
    """Enter a row in the history, the means and the seasons of its stream; a missing reading is held or replaced."""
    columns, depth, before = plan.columns, plan.depth, int(memory[0])
    if fresh:
        memory[1] = 0.0
    at = (before + 1) % depth
    for c in range(columns):
        v = raw[c]
        if v != v:
            s = signals[c] if c < signals.shape[0] else signals[0]
            v = s[MEAN] if c < signals.shape[0] and s[COUNT] > 0.0 else 0.0
            v = memory[HEAD + before * columns + c] if hold and memory[2] > 0.0 else v
        memory[HEAD + at * columns + c] = v
    memory[0], memory[1], memory[2] = at, min(memory[1] + 1.0, depth), memory[2] + 1.0
    for m in range(plan.mean_column.size):
        v = raw[plan.mean_column[m]]
        if v == v:
            averaged(memory[plan.means_at + 2 * m : plan.means_at + 2 * m + 2], v, plan.mean_window[m])
    for k in range(plan.season_column.size):
        v = raw[plan.season_column[k]]
        if v == v:
            remember(plan, memory, k, v, times)


@part
def wave(plan: RowPlan, moments: Floats, out: Floats) -> None:
    """Append random cosines to the features before them; the last column of `moments` is a buffer."""
    size, n = moments.shape[0], plan.kind.size
    for f in range(size):
        observe(moments[f], out[f], plan.window)
        moments[f, ROWS] = min(max(placed(moments[f], out[f]), -FARTHEST), FARTHEST)
    for j in range(plan.cosines.shape[0]):
        total = plan.cosines[j, size]
        for f in range(size):
            total += plan.cosines[j, f] * moments[f, ROWS]
        out[n + j] = math.cos(total)


@kernel
def run(
    plan: RowPlan, raw: Floats, times: Floats, fresh: Bools, stream: Ints, memory: Floats, signals: Floats,
    moments: Floats, out: Floats, z: Floats, flags: Bools, events: Ints,
) -> int:  # fmt: skip
    """Write the features of rows; return the number of events recorded.

    `raw` [row, column] are readings, `times` [row, column of times]; `stream` is the index of each row's stream in
    `memory`; `signals` [signal, …] are running statistics of all streams together, `moments` [feature, …] those of the
    features of which there are random cosines. `out` [row, feature] receives the features; `z` [row, signal], unless it
    is empty, the standardised value of each signal; `events` [event, (row, column, kind)] the events, until it is full.
    `flags`: whether numbers are not scaled; whether missing ones are held; whether far ones become NaN in `raw`, and
    count as missing.
    """
    found, as_is, hold = 0, flags[0], flags[1]
    for t in range(raw.shape[0]):
        own = memory[stream[t]]
        for c in range(plan.checked):
            v = raw[t, c]
            if v == v:
                s = own[plan.checks_at + c * CHECKS : plan.checks_at + (c + 1) * CHECKS]
                never = own[plan.checks_at + plan.checked * CHECKS + c] == 0.0
                own[plan.checks_at + plan.checked * CHECKS + c] = 1.0
                event = check(s, v, never)
                if event == 3:
                    signals[c, COUNT] = 0.0
                if flags[2] and s[IS_FAR] > 0.0:
                    raw[t, c] = math.nan
                if event > 0 and found < events.shape[0]:
                    events[found, 0], events[found, 1], events[found, 2] = t, c, event
                    found += 1
        take(plan, own, raw[t], times[t], fresh[t], signals, hold)
        at, room = int(own[0]), min(int(own[1]), plan.depth) - 1
        for s in range(signals.shape[0]):
            c = plan.signal_column[s]
            v = own[HEAD + at * plan.columns + c]
            if plan.signal_apart[s] > 0:
                v -= own[HEAD + (at - min(plan.signal_apart[s], room)) % plan.depth * plan.columns + c]
            if raw[t, c] == raw[t, c]:
                observe(signals[s], v, plan.window)
            if z.shape[1] > 0:
                z[t, s] = placed(signals[s], v)
        n = plan.kind.size
        for f in range(n):
            out[t, f] = feature(plan, own, f, signals, times[t], as_is)
        wave(plan, moments, out[t])
    return found


def run_row(*given: Any) -> int:
    """`run` for one row, without dispatch at each call; a single row is contiguous, so its arrays have one layout."""
    if not _ROW:
        _ROW.append(entry(run, *given))
    found: int = _ROW[0](*given)
    return found


_ROW: list[Any] = []
"""Machine code of `run`, once it is needed."""


def last_rows(plan: RowPlan, memory: Floats) -> Floats:
    """The last row of each stream [stream, column]; zeros before the first."""
    columns = HEAD + memory[:, :1].astype(np.int64) * plan.columns + np.arange(plan.columns)
    return np.take_along_axis(memory, columns, axis=1)


def empty(plan: RowPlan, size: int) -> Floats:
    """The memory of a new stream."""
    memory = np.zeros(size)
    for at, n, time in zip(plan.season_at, plan.season_slots, plan.season_time, strict=True):
        if time >= 0:
            memory[at : at + 2 * n] = np.nan
    return memory

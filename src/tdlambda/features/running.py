"""Running standardisation of readings, robust to outliers, and detection of unusual sensor behaviour.

The mean m and the variance s² of a signal are updated with the rate η = max(1/n, 1/window), after each reading is
clipped to CUT deviations:

    d = clip(v - m, ± CUT s),    m += η d,    s² += η (d² - s²),    z = clip((v - m) / s, ± MOST)

so that a single reading, however large, moves m by at most CUT s η. If FAR_FOR readings in a row are more than FAR
deviations away, or if a signal moves QUIET times less than before for QUIET_FOR readings, its unit or level must have
changed: m and s restart, and an event is recorded.
"""

from __future__ import annotations

import math

from tdlambda.arrays import Bools, Floats, Ints
from tdlambda.compiled import kernel, part

MEAN, SQUARE, COUNT, LAST, SAME, CHANGES, FAR_RUN, MOVES, RECENT, QUIET_RUN, SAID, ROWS = range(12)
"""Statistics of a signal: mean; variance; readings since the last restart; the last reading; how often in a row it was
repeated; number of readings that differed from the one before; number of far readings in a row; mean |step| over the
window and over the latest readings; number of quiet readings in a row; readings since the last event. ROWS is their
count."""
CUT, MOST = 4.0, 10.0
WARM = 16
"""Number of readings before any is clipped."""
FAR, FAR_FOR = 8.0, 16
QUIET, QUIET_FOR = 50.0, 50
STUCK_FOR = 50
OUTLIER, SILENCE = 30.0, 500.0
"""Deviations from which a single reading is an outlier event; least number of readings between an event of a signal and
its next outlier event."""
EVENTS = ("", "outlier", "stuck", "change")
"""Names of events 1, 2 and 3."""
TINY = 1e-12


@part
def deviation(s: Floats) -> float:
    """The running deviation; 0 for a signal that has not moved."""
    size = math.sqrt(s[SQUARE])
    return size if size > TINY * abs(s[MEAN]) else 0.0


@part
def placed(s: Floats, v: float) -> float:
    """A value standardised by the running mean and deviation of a signal."""
    size = deviation(s)
    if size == 0.0:
        return 0.0
    z = (v - s[MEAN]) / size
    return MOST if z > MOST else -MOST if z < -MOST else z


@part
def observe(s: Floats, v: float, window: float) -> int:
    """Update the statistics with a reading; return its event, 0 for none."""
    event, size, moved = 0, deviation(s), 0.0
    s[SAID] += 1.0
    if s[COUNT] > 0.0:
        moved = abs(v - s[LAST])
        s[SAME] = s[SAME] + 1.0 if moved == 0.0 else 0.0
        s[CHANGES] += moved != 0.0
    distance = abs(v - s[MEAN])
    if s[COUNT] >= WARM and size > 0.0:
        s[FAR_RUN] = s[FAR_RUN] + 1.0 if distance > FAR * size else 0.0
        quiet = s[RECENT] * QUIET < s[MOVES] and s[SAME] < 2.0
        s[QUIET_RUN] = s[QUIET_RUN] + 1.0 if quiet else 0.0
        if distance > OUTLIER * size and s[SAID] > SILENCE and s[COUNT] > 2.0 * WARM:
            event = 1
        if s[SAME] == STUCK_FOR and s[CHANGES] > 0.5 * s[COUNT]:
            event = 2
        if s[FAR_RUN] >= FAR_FOR or s[QUIET_RUN] >= QUIET_FOR:
            event = 3
            s[COUNT] = s[SQUARE] = s[FAR_RUN] = s[QUIET_RUN] = s[CHANGES] = s[MOVES] = s[RECENT] = 0.0
            moved = 0.0
    if event > 0:
        s[SAID] = 0.0
    s[COUNT] += 1.0
    if s[COUNT] == 1.0:
        s[MEAN] = v
    else:
        rate, d = max(1.0 / s[COUNT], 1.0 / window), v - s[MEAN]
        if s[COUNT] > WARM and size > 0.0:
            d = min(max(d, -CUT * size), CUT * size)
        s[MEAN] += rate * d
        s[SQUARE] += rate * ((1.0 - rate) * d * d - s[SQUARE])
        step = moved if s[COUNT] <= WARM or size == 0.0 else min(moved, 2.0 * CUT * size)
        s[MOVES] += rate * (step - s[MOVES])
        s[RECENT] += max(rate, 0.03) * (step - s[RECENT])
    s[LAST] = v
    return event


@kernel
def run(
    raw: Floats, fresh: Bools, history: Floats, place: Ints, signals: Floats, column_of: Ints, apart: Ints,
    feature_of: Ints, lag_of: Ints, out: Floats, z: Floats, window: float, as_is: bool, hold: bool, events: Ints,
) -> int:  # fmt: skip
    """Write the features of rows: values, lags and differences. Return the number of events recorded.

    `history` is a ring buffer of rows; `place` holds the position of its last row and the number of rows in it. A
    signal is a column, or its difference over `apart` rows. `out` [row, feature] receives the value of a signal, for
    lags `lag_of` rows ago; `z` [row, signal], unless it is empty, the standardised value of each signal; `events`
    [event, (row, signal, kind)] the events, until it is full.
    """
    depth, found = history.shape[0], 0
    for t in range(raw.shape[0]):
        before = place[0]
        if fresh[t]:
            place[1] = 0
        place[0] = (place[0] + 1) % depth
        at, room = place[0], min(place[1], depth - 1)
        for c in range(raw.shape[1]):
            v = raw[t, c]
            if v != v:
                v = signals[c, MEAN] if c < signals.shape[0] else 0.0
                v = history[before, c] if hold and place[1] > 0 else v
            history[at, c] = v
        place[1] = min(place[1] + 1, depth)
        for s in range(signals.shape[0]):
            c = column_of[s]
            v = history[at, c]
            if apart[s] > 0:
                v -= history[(at - min(apart[s], room)) % depth, c]
            if raw[t, c] == raw[t, c]:
                event = observe(signals[s], v, window)
                if event > 0 and apart[s] == 0 and found < events.shape[0]:
                    events[found, 0] = t
                    events[found, 1] = s
                    events[found, 2] = event
                    found += 1
            if z.shape[1] > 0:
                z[t, s] = placed(signals[s], v)
        for f in range(feature_of.size):
            s = feature_of[f]
            v = history[(at - min(lag_of[f], room)) % depth, column_of[s]]
            if apart[s] > 0:
                v = history[at, column_of[s]] - history[(at - min(apart[s], room)) % depth, column_of[s]]
            out[t, f] = v if as_is else placed(signals[s], v)
    return found

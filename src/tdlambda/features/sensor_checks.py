"""Detection of unusual sensor behaviour, for each column of each stream.

A reading is far if it lies outside the range of earlier readings by more than K times that range, or if its distance
from the last ordinary reading exceeds JUMP K times the largest step so far. K = 1 + CAUTION / (changes so far), so a
sensor that seldom moves, such as a rain gauge, is given time to show its range. A far reading is an outlier, and not
learned from; if FAR_FOR readings are far, and at least a third of the latest, the level or the unit has changed, and
the range starts again. Repetitions of a far reading do not count: a dead sensor often reads 0. A sensor is stuck if it
repeats a value STUCK_FOR times, and four times as often as ever before; its unit may also have changed if it moves
QUIET times less than before, for four times as long as ever before.
"""

from __future__ import annotations

from tdlambda.arrays import Floats
from tdlambda.compiled import part

(
    CHANGES, LAST, LOW, HIGH, STEP, SAME, LONGEST_SAME, FAR_RUN, MOVES, RECENT, QUIET_RUN, LONGEST_QUIET, FAR, IS_FAR,
    CHECKS,
) = range(15)  # fmt: skip
"""Statistics of a column: readings that differed from the one before; the last ordinary reading; range; largest step;
repetitions of the last reading, and most repetitions so far; far readings in a row; mean |step| of all and of the
latest changes; quiet readings in a row, now and most so far; the last far reading; whether the last reading was far.
CHECKS is their count."""
CAUTION, LEAST = 400.0, 60.0
"""Changes after which K is 2; changes before the first alarm."""
JUMP, FAR_FOR, STUCK_FOR = 4.0, 16, 50
QUIET, QUIET_FOR = 50.0, 50
EVENTS = ("", "outlier", "stuck", "change")
"""Names of events 1, 2 and 3."""


@part
def check(s: Floats, v: float, first: bool) -> int:
    """Update the statistics of a column with a reading; return its event, 0 for none."""
    if first:
        s[LAST] = s[LOW] = s[HIGH] = v
        return 0
    step, span, event, again = abs(v - s[LAST]), s[HIGH] - s[LOW], 0, s[IS_FAR] > 0.0
    s[IS_FAR] = 0.0
    if s[CHANGES] >= LEAST and span > 0.0:
        k = 1.0 + CAUTION / s[CHANGES]
        if s[LOW] - v > k * span or v - s[HIGH] > k * span or step > JUMP * k * s[STEP] * (1.0 + 0.25 * s[FAR_RUN]):
            s[IS_FAR] = 1.0
            if again and v == s[FAR]:
                s[SAME] += 1.0
                return 2 if s[SAME] == max(STUCK_FOR, 4.0 * s[LONGEST_SAME]) else 0
            s[FAR], s[SAME] = v, 0.0
            s[FAR_RUN] += 1.0
            if s[FAR_RUN] < FAR_FOR:
                return 1 if s[FAR_RUN] <= 1.0 else 0
            event = 3
            for i in range(CHECKS):
                s[i] = 0.0
            s[LAST] = s[LOW] = s[HIGH] = v
            return event
    if step > 0.0 or again:
        s[FAR_RUN] = max(0.0, s[FAR_RUN] - 0.5)
    s[SAME] = 0.0 if again else s[SAME]
    if step == 0.0:
        s[SAME] += 1.0
        if s[SAME] == max(STUCK_FOR, 4.0 * s[LONGEST_SAME]) and s[CHANGES] >= LEAST:
            event = 2
        return event
    s[LONGEST_SAME], s[SAME] = max(s[LONGEST_SAME], s[SAME]), 0.0
    s[CHANGES] += 1.0
    rate = max(1.0 / s[CHANGES], 0.0005)
    s[MOVES] += rate * (step - s[MOVES])
    s[RECENT] += max(rate, 0.03) * (step - s[RECENT])
    if s[RECENT] * QUIET < s[MOVES]:
        s[QUIET_RUN] += 1.0
        if s[QUIET_RUN] == max(QUIET_FOR, 4.0 * s[LONGEST_QUIET]) and s[CHANGES] >= LEAST:
            event = 3
            for i in range(CHECKS):
                s[i] = 0.0
            s[LOW] = s[HIGH] = v
    else:
        s[LONGEST_QUIET], s[QUIET_RUN] = max(s[LONGEST_QUIET], s[QUIET_RUN]), 0.0
    s[LOW], s[HIGH], s[STEP] = min(s[LOW], v), max(s[HIGH], v), max(s[STEP], step)
    s[LAST] = v
    return event

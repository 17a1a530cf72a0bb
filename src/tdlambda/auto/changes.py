"""Changes of a task of which each state or observation is known: a test of TD errors, and a new start after it.

With the values of LSTD(0), the TD errors ρδ of each state have mean 0, unless the task has changed. So if a state has a
mean TD error g in its last c visits, g²c over their variance is about 1. The latter is that of Student's t: within
these visits, and before them as DEGREES more. The sum over states of

    T = (c + d) ln(1 + g²c / (1 + c/N) / (Σ (ρδ - g)² + d σ²)),        d = min(DEGREES, N SHARE)

N visits before with the mean square σ², exceeds the number K of states seen by LIMIT √(2K + LEAST_SPREAD) or more only
if the task changed. This is computed for the last 24, 38, 60, … transitions, every TEST_EVERY steps. Then everything is
forgotten but those transitions, from which all experts learn anew.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from tdlambda.arrays import Floats, Ints

ROOM, TEST_EVERY, SHORTEST, LONGER = 1000, 50, 24, 1.6
"""Number of transitions kept, steps between two tests, the shortest suffix, and the ratio of two suffixes."""
DEGREES, OFF_POLICY_DEGREES, SHARE, FLOOR, LEAST_SPREAD = 30.0, 10.0, 0.3, 0.03, 10.0
"""See above; a suffix is at most SHARE of all, and σ² at least FLOOR of its mean over states."""
LIMIT, TIMES = 9.0, 6.0
"""Where statistics without a change have a mean above LIMIT/TIMES, the limit is TIMES that."""
LEAST_VISITS, LEAST_TESTS = 20.0, 40
"""Visits that a state needs before the suffix to count, and number of first tests that only update the mean of the
statistic, because the values are still being learned."""
PAST_REWARD, PAST_GAMMA, PAST_RHO, PAST_ENDED, PAST_DELTA, PAST_MORE = range(6)
"""Entries of a row of `past`: r, γ', ρ, how it ended (1 terminated, 2 truncated, 4 reset), ρδ; then the features."""
NOTED, SINCE_START, CHECKS, COUNTERS = range(4)
"""Entries of `counts`: transitions so far, those since the last new start, tests."""


class Changes(NamedTuple):
    """The last transitions and statistics of TD errors; empty without least squares for each state."""

    past: Floats
    """The last transitions [ROOM, PAST_MORE + 2 active + 2 own]."""
    rows: Ints
    """Their states, and features at x and x' [ROOM, 1 + 2 active]."""
    before: Floats
    """Σ (ρδ)² and visits of each state [2, state]."""
    recent: Floats
    """Σ ρδ, Σ (ρδ)² and visits of each state in a suffix [3, state]."""
    mean: Floats
    """Mean of the largest statistic of each test [1]."""
    counts: Ints
    """[COUNTERS]"""


def note(c: Changes, row: Floats, state: int, delta: float) -> None:
    """Note the TD error ρδ of a transition."""
    row[PAST_DELTA] = delta
    c.before[0, state] += delta * delta
    c.before[1, state] += 1.0
    c.counts[NOTED] += 1
    c.counts[SINCE_START] += 1


def statistic(c: Changes, most: float) -> float:
    """How far the sum of T exceeds its mean, in standard deviations."""
    total, known, floor = 0.0, 0.0, FLOOR * c.before[0].sum() / c.counts[SINCE_START]
    for j in range(c.recent.shape[1]):
        visits = c.recent[2, j]
        before = c.before[1, j] - visits
        if visits > 0.0 and before >= LEAST_VISITS:
            degrees, square = min(most, SHARE * before), c.recent[0, j] * c.recent[0, j] / visits
            usual = max(0.0, c.before[0, j] - c.recent[1, j]) / before + floor
            within = max(0.0, c.recent[1, j] - square) + degrees * usual
            if within > 0.0:
                total += (visits + degrees) * math.log(1.0 + square / (1.0 + visits / before) / within)
                known += 1.0
    return (total - known) / math.sqrt(2.0 * known + LEAST_SPREAD)


def suffix(c: Changes, most: float, fine: bool) -> tuple[float, int]:
    """The largest statistic of all suffixes, and the length of that suffix."""
    longest = min(ROOM, int(SHARE * c.counts[SINCE_START]))
    best, length, due = -math.inf, 0, SHORTEST
    c.recent[:, :] = 0.0
    for i in range(1, longest + 1):
        slot = (c.counts[NOTED] - i) % ROOM
        j, delta = c.rows[slot, 0], c.past[slot, PAST_DELTA]
        c.recent[0, j] += delta
        c.recent[1, j] += delta * delta
        c.recent[2, j] += 1.0
        if i in (due, longest):
            due = i + 10 if fine else int(LONGER * i)
            found = statistic(c, most)
            if found > best:
                best, length = found, i
    return best, length


def changed(c: Changes, off_policy: bool) -> int:
    """Length of the suffix since the task changed; 0 if it did not."""
    if c.counts[SINCE_START] < ROOM or c.counts[NOTED] % TEST_EVERY != 0:
        return 0
    most = OFF_POLICY_DEGREES if off_policy else DEGREES
    best = suffix(c, most, False)[0]
    limit = max(LIMIT, TIMES * c.mean[0])
    c.counts[CHECKS] += 1
    c.mean[0] += max(1.0 / c.counts[CHECKS], 0.01) * (best - c.mean[0])
    if not best > limit or c.counts[CHECKS] < LEAST_TESTS:
        return 0
    return suffix(c, most, True)[1]


def forget_states(c: Changes, length: int) -> None:
    """Forget all TD errors, and go back this many transitions."""
    c.before[:, :] = 0.0
    c.counts[NOTED] -= length
    c.counts[SINCE_START] = 0

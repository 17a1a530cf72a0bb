"""Robust coordinates of raw readings for the least-squares experts: free of units, offsets and outliers.

For each reading v, with m its running mean, M the largest deviation so far and q the second moment of deviations:

    e = clip(v - m, ±1.5 M),    M = max(M, |e|) unless clipped,    m += η e,    q += η (e² - q),    η = max(1/t, 10⁻³)

An outlier is clipped to 1.5 times the largest deviation so far. If several follow closely, M grows by 1.5 with each: a
real change of scale is accepted after a few repetitions, one outlier in a hundred never is. A coordinate is
(m + e - c)/s, and 0 for a reading that has never changed. c and s change only at t = 8, 16, 32, …; everything learned
so far is then converted exactly, since the features contain a constant.
"""

from __future__ import annotations

import math

from tdlambda.arrays import Floats

CLIP = 1.5
"""Largest allowed deviation, relative to the largest deviation so far."""
STREAK_KEPT, REPEATED = 0.8, 2.0
"""Readings beyond CLIP are counted; each reading within it multiplies the count by STREAK_KEPT. If the count exceeds
REPEATED, the largest deviation grows."""
LEAST_PACE = 1e-3
"""Smallest step size of the running moments."""
MEAN, LARGEST, SQUARE, CENTER, SCALE, STREAK, ROWS = range(7)
"""Rows of the array `front`; its columns are the readings, the reward last."""
TINY = 1e-12
"""A deviation below this fraction of the reading does not count as a change."""


def clipped(front: Floats, i: int, v: float) -> float:
    """A reading, clipped to the range seen so far."""
    m, most = front[MEAN, i], CLIP * front[LARGEST, i]
    return min(max(v, m - most), m + most) if most > 0.0 else v


def observe(front: Floats, i: int, v: float, t: float) -> float:
    """Update the moments with a reading; return it after clipping."""
    deviation, most, seen = v - front[MEAN, i], front[LARGEST, i], v
    if front[SCALE, i] == 0.0 and abs(deviation) > TINY * abs(v):  # the first change gives a first scale
        front[CENTER, i], front[SCALE, i] = front[MEAN, i], abs(deviation)
    if most > 0.0:
        beyond = abs(deviation) > CLIP * most
        front[STREAK, i] = front[STREAK, i] + 1.0 if beyond else STREAK_KEPT * front[STREAK, i]
        if not beyond:
            front[LARGEST, i] = max(most, abs(deviation))
        elif front[STREAK, i] > REPEATED:
            front[LARGEST, i] = CLIP * most
        if beyond:
            deviation = CLIP * most if deviation > 0.0 else -CLIP * most
            seen = front[MEAN, i] + deviation
    else:
        front[LARGEST, i] = abs(deviation)
    rate = max(1.0 / t, LEAST_PACE)
    front[SQUARE, i] += rate * (deviation * deviation - front[SQUARE, i])
    front[MEAN, i] += rate * deviation
    return seen


def moved(front: Floats, i: int) -> tuple[float, float]:
    """Move a coordinate to its current mean and deviation; return (factor, shift) of new = factor old + shift.

    A factor of 0 means that the coordinate did not move.
    """
    center, scale = front[MEAN, i], math.sqrt(front[SQUARE, i])
    if not (front[SCALE, i] > 0.0 and scale > TINY * abs(center)):
        return 0.0, 0.0
    factor, shift = front[SCALE, i] / scale, (front[CENTER, i] - center) / scale
    front[CENTER, i], front[SCALE, i] = center, scale
    return factor, shift

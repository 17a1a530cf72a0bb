"""Running standardisation of readings, robust to outliers.

The mean m and the variance s² of a signal are updated with the rate η = max(1/n, 1/window), after each reading is
clipped to CUT deviations:

    d = clip(v - m, ± CUT s),    m += η d,    s² += η (d² - s²),    z = clip((v - m) / s, ± MOST)

so that a single reading, however large, moves m by at most CUT s η. m and s restart when a check of the sensor finds
that its unit or level has changed.
"""

from __future__ import annotations

import math

from tdlambda.arrays import Floats
from tdlambda.compiled import part

MEAN, SQUARE, COUNT, ROWS = range(4)
"""Statistics of a signal: mean; variance; readings since the last restart. ROWS is their count."""
CUT, MOST = 4.0, 10.0
WARM = 16
"""Number of readings before any is clipped."""
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
def observe(s: Floats, v: float, window: float) -> None:
    """Update the statistics with a reading."""
    size = deviation(s)
    s[COUNT] += 1.0
    if s[COUNT] == 1.0:
        s[MEAN], s[SQUARE] = v, 0.0
        return
    rate, d = max(1.0 / s[COUNT], 1.0 / window), v - s[MEAN]
    if s[COUNT] > WARM and size > 0.0:
        d = min(max(d, -CUT * size), CUT * size)
    s[MEAN] += rate * d
    s[SQUARE] += rate * ((1.0 - rate) * d * d - s[SQUARE])

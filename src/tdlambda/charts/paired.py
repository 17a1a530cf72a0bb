"""Methods compared run by run."""

from __future__ import annotations

from typing import Any

from tdlambda.charts.ranges import ranges
from tdlambda.charts.style import finished
from tdlambda.charts.tidy import Rows

TIPS = {
    "series": "method", "against": "against", "ratio": "ratio of means", "interval": "95 % interval",
    "better": "better in", "n": "pairs of runs", "lost": "diverged",
}  # fmt: skip


def paired(rows: Rows, x: str = "mean error / that of the reference", width: int = 560) -> Any:
    """The ratio of each method's mean error to that of a reference on the same trajectories; left of 1 is better.

    Parameters
    ----------
    rows
        `series`, `low`, `mid`, `high` (the ratio and its 95 % interval), `text`.
    x
        What the ratio is of.
    width
        In pixels.
    """
    return finished(ranges(rows, x, tips=TIPS, rule=1, ends=("← better", "worse →"), width=width))

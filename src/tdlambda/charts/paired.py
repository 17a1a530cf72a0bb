"""Paired comparisons of methods."""

from __future__ import annotations

from altair.typing import ChartType

from tdlambda.charts.ranges import ranges
from tdlambda.charts.style import finished
from tdlambda.charts.tidy import Rows


def paired(
    rows: Rows, x: str = "mean error", relative: bool = True, width: int = 560, reference: str = "the reference"
) -> ChartType:
    """Plot the ratio of each method's mean error to a reference's on the same trajectories; below 1 is better.

    Parameters
    ----------
    rows
        `series`, `low`, `mid`, `high` (the ratio, or the difference, and its 95 % interval), `text`.
    x
        What is compared, for the label of the axis.
    relative
        Whether rows contain ratios; otherwise they contain differences, and below 0 is better.
    width
        Width in pixels.
    reference
        Name of the reference, for the label of the axis.
    """
    tips = {
        "series": "method", "against": "against", "ratio": f"{'ratio' if relative else 'difference'} of means",
        "interval": "95 % interval", "better": "better in", "n": "pairs of runs", "lost": "diverged",
    }  # fmt: skip
    ends, even = ("← better", "worse →"), 1 if relative else 0
    label = f"{x} {'/' if relative else '-'} that of {reference}"
    return finished(ranges(rows, label, tips=tips, rule=even, ends=ends, log=relative, width=width))

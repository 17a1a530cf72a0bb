"""Sensitivity of the error to a parameter such as κ, and to the step size."""

from __future__ import annotations

import math
from itertools import pairwise

from altair.typing import ChartType

from tdlambda.charts.lines import lines
from tdlambda.charts.ranges import ranges
from tdlambda.charts.style import AXES, finished
from tdlambda.charts.tidy import Rows, records
from tdlambda.charts.u_curves import TIPS


def sensitivity(
    rows: Rows, parameter: str = "kappa", y: str = "error", log: bool = True, size: tuple[int, int] = (560, 280)
) -> ChartType:
    """Plot mean error against a parameter, with its 95 % interval; a flat curve needs no tuning.

    Parameters
    ----------
    rows
        `series`, `value` (of the parameter), `mean`, `low`, `high`.
    parameter, y
        Labels of the axes.
    log
        Whether the error axis is logarithmic.
    size
        Width and height, in pixels.
    """
    some = [row | {"x": row["value"]} for row in records(rows)]
    positive = all(row["x"] > 0 for row in some)
    return finished(lines(some, AXES.get(parameter, parameter), y, log=(positive, log), tips=TIPS, size=size))


def stretches(rows: Rows, alphas: list[float] | None = None, width: int = 560) -> ChartType:
    """Plot the range of α in which each method stays within twice its best; the dot is its best α.

    Parameters
    ----------
    rows
        `series`, `low`, `mid`, `high`, `text`; `open_low` and `open_high` if the range reaches an end of the grid.
    alphas
        Step sizes that were run, positive and in increasing order; they set the range of the axis.
    width
        Width in pixels.
    """
    if alphas and not (alphas[0] > 0 and all(low < high < math.inf for low, high in pairwise(alphas))):
        raise ValueError(f"alphas must be positive and in increasing order; got {alphas}")
    tips = {"series": "method", "about": "within twice its best", "text": "range", "best": "best α"}
    return finished(
        ranges(
            rows, "step size α", tips=tips, domain=[alphas[0] / 1.2, alphas[-1] * 1.2] if alphas else None, width=width
        )
    )

"""Predictions of a stream and realised returns."""

from __future__ import annotations

from altair.typing import ChartType

from tdlambda.charts.lines import lines
from tdlambda.charts.style import OKABE_ITO, TRUTH, finished
from tdlambda.charts.tidy import Rows, records

HAPPENED, PREDICTED = "realised", "predicted"


def predictions(rows: Rows, x: str = "step", y: str = "", size: tuple[int, int] = (560, 260)) -> ChartType:
    """Plot predictions, each made before its update, and the realised returns.

    Parameters
    ----------
    rows
        `time`, `prediction`, `outcome`.
    x, y
        Labels of the axes.
    size
        Width and height, in pixels.
    """
    some = records(rows)
    looks = {
        HAPPENED: ("outcome", {"colour": TRUTH, "width": 1.5}),
        PREDICTED: ("prediction", {"colour": OKABE_ITO[1], "width": 2.2}),
    }
    drawn = [
        {"series": name, "label": name, "x": row["time"], "mean": row[column], **look}
        for name, (column, look) in looks.items()
        for row in some
    ]
    tips = {"series": "", "x": x, "mean": "value"}
    return finished(lines(drawn, x, y, log=(False, False), dots=False, tips=tips, size=size))

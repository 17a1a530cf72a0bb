"""Learning curves."""

from __future__ import annotations

from typing import Any

import altair as alt
from altair.typing import ChartType

from tdlambda.charts.lines import lines
from tdlambda.charts.style import SOFT, finished
from tdlambda.charts.tidy import Rows, records

TIPS = {"series": "method", "settings": "at", "when": "after", "text": "mean", "interval": "95 % interval", "n": "runs"}


def learning_curves(
    rows: Rows,
    y: str = "error",
    unit: str = "steps",
    *,
    log: tuple[bool, bool] = (False, True),
    warm_up: float = 0,
    size: tuple[int, int] = (560, 360),
) -> ChartType:
    """Plot mean error against steps or episodes, with its 95 % interval.

    Parameters
    ----------
    rows
        `series`, `step`, `mean`, `low`, `high`.
    y, unit
        Labels of the error and of the time axis.
    log
        Whether each axis is logarithmic.
    warm_up
        Number of steps or episodes of the warm-up, at least 0; its background is shaded.
    size
        Width and height, in pixels.
    """
    some = [row | {"x": row["step"]} for row in records(rows)]
    shade: tuple[Any, ...] = ()
    if warm_up:
        ground = alt.Chart(alt.Data(values=[{"from": 0, "to": warm_up}]))
        x = alt.X("from:Q", title=unit)
        rect = ground.mark_rect(fillOpacity=0.08, opacity=1, color=SOFT, aria=False).encode(x, alt.X2("to"))
        text = ground.mark_text(align="left", baseline="top", dx=5, y=2, color=SOFT, fontSize=11, text="warm-up ends")
        shade = (rect, text.encode(alt.X("to:Q", title=unit)))
    return finished(lines(some, unit, y, log=log, dots=False, tips=TIPS, size=size, under=shade))

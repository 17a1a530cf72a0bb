"""Each method at its best: one learning curve per method, for print; the legend stands below the plot."""

from __future__ import annotations

import math
from typing import Any

import altair as alt
from altair.typing import ChartType

from tdlambda.charts.style import DASHES, OKABE_ITO, axis, finished
from tdlambda.charts.tidy import Rows, records

LEGEND = 270
"""Width of a column of the legend, in pixels."""
MANY = 6
"""With more methods, the bands are fainter."""
FAR = 10
"""A line that rises above this many times the median line's largest value is cut off, and the legend says so."""


def at_best(
    rows: Rows, y: str = "error", unit: str = "steps", *, log: bool = True, size: tuple[int, int] = (560, 320)
) -> ChartType:
    """Plot one learning curve per method with its 95 % interval; the legend below names each method and its settings.

    Parameters
    ----------
    rows
        `series` (the method), `step`, `mean`, `low`, `high`; `colour` sets the colour of a method.
    y, unit
        Labels of the value and of the time axis.
    log
        Whether the value axis is logarithmic.
    size
        Width and height of the plot, in pixels; the legend comes below.

    Examples
    --------
    >>> rows = [{"series": f"method {k}", "step": t, "mean": k / t} for k in range(1, 13) for t in (1, 10, 100)]
    >>> chart = at_best(rows).to_dict()
    >>> len(chart["layer"][1]["encoding"]["color"]["scale"]["domain"])
    12
    """
    some = [{"low": None, "high": None} | row for row in records(rows)]
    most = {row["series"]: 0.0 for row in some}
    for row in some:
        most[row["series"]] = max(most[row["series"]], row["mean"] or 0.0)
    middle = sorted(most.values())[len(most) // 2]
    top = FAR * middle if log and middle > 0 else math.inf
    names = {name: f"{name} (cut off)" if most[name] > top else name for name in most}
    for row in some:
        row["series"] = names[row["series"]]
        positive = not log or (row["mean"] or 0.0) > 0
        row["shown"] = row["mean"] if row["mean"] is not None and positive else None
        row["low"] = None if log and (row["low"] or 0.0) <= 0 else row["low"]
    colours, dashes = _looks(some)
    domain = list(colours)
    legend = alt.Legend(
        title=None, orient="bottom", columns=max(1, size[0] // LEGEND), labelLimit=size[0], symbolType="stroke",
        symbolSize=400, symbolStrokeWidth=2, symbolOpacity=1, rowPadding=3, columnPadding=18,
    )  # fmt: skip
    colour = alt.Color("series:N", scale=alt.Scale(domain=domain, range=[*colours.values()]), legend=legend, sort=None)
    dash = alt.StrokeDash("series:N", scale=alt.Scale(domain=domain, range=dashes), legend=legend, sort=None)
    shown = [row["shown"] for row in some if row["shown"] is not None and row["shown"] <= top]
    ends = {"domain": [min(shown), max(shown)]} if math.isfinite(top) and shown and max(most.values()) > top else {}
    up = axis(alt.Y, "shown", None, log, shown, **ends)
    base = alt.Chart(alt.Data(values=some)).encode(alt.X("step:Q", title=unit, scale=alt.Scale(nice=False)))
    band = base.transform_filter("isValid(datum.low) && isValid(datum.high)").mark_area(
        opacity=0.14 if len(most) <= MANY else 0.06, clip=True
    )
    line = base.mark_line(strokeWidth=2, clip=True, invalid="break-paths-filter-domains")
    return finished(
        alt.layer(
            band.encode(alt.Y("low:Q", title=None), alt.Y2("high"), colour),
            line.encode(up, colour, dash),
            title=y or alt.Undefined, width=size[0], height=size[1],
        )
    )  # fmt: skip


def _looks(rows: list[dict[str, Any]]) -> tuple[dict[str, str], list[list[int]]]:
    """A colour and a dash for each series: its own colour if no other has it, else a free one, or another dash."""
    wanted = {row["series"]: row.get("colour") for row in rows}
    own = {name: c for name, c in wanted.items() if c and [*wanted.values()].count(c) == 1}
    free = [c for c in OKABE_ITO if c not in own.values()] or list(OKABE_ITO)
    others = [name for name in wanted if name not in own]
    taken = own | {name: free[k % len(free)] for k, name in enumerate(others)}
    dash = dict.fromkeys(own, DASHES[0]) | {name: DASHES[k // len(free) % len(DASHES)] for k, name in enumerate(others)}
    return {name: taken[name] for name in wanted}, [dash[name] for name in wanted]

"""A coloured table of errors, as in Zhao (2020)."""

from __future__ import annotations

from typing import Any

import altair as alt
from altair.typing import ChartType

from tdlambda.charts.style import FAINT, finished
from tdlambda.charts.tidy import Rows, records

BLUE, WHITE, RED = "#5a8ac6", "#fcfcff", "#f8696b"
CELL = (82, 34)
"""Width and height of a cell, in pixels."""


def error_table(rows: Rows, title: str = "") -> ChartType:
    """Draw a table of errors by α and series; blue is the smallest, white the median, red the largest.

    The best of each row is bold.

    Parameters
    ----------
    rows
        `series`, `at` (α as text), `mean`, `text`; `old`, the published value as text.
    title
        Title above the table.
    """
    some = [{"old": None} | row for row in records(rows)]
    base = (
        alt.Chart(alt.Data(values=some))
        .transform_joinaggregate(least="min(mean)", middle="median(mean)", most="max(mean)")
        .transform_joinaggregate(best="min(mean)", groupby=["at"])
        .transform_calculate(share="datum.mean <= datum.middle ? (datum.mean - datum.least) / "
                             "max(datum.middle - datum.least, 1e-300) / 2 : 0.5 + (datum.mean - datum.middle) / "
                             "max(datum.most - datum.middle, 1e-300) / 2")
        .encode(alt.X("series:N", sort=None, title=None, axis=alt.Axis(orient="top", labelAngle=-30, labelLimit=180)),
                alt.Y("at:N", sort=None, title="α", axis=alt.Axis(ticks=False, domain=False, titleAngle=0)))
    )  # fmt: skip
    fill = alt.Scale(domain=[0, 0.5, 1], range=[BLUE, WHITE, RED], interpolate="rgb")
    ink: dict[str, Any] = {"color": "#14181d", "fontSize": 11}
    shape = base.mark_rect(stroke=FAINT).encode(alt.Color("share:Q", scale=fill, legend=None))
    weight = alt.ExprRef("datum.mean === datum.best ? 'bold' : 'normal'")
    text = base.mark_text(dy=alt.ExprRef("datum.old ? -6 : 0"), fontWeight=weight, **ink).encode(text="text:N")
    old = base.transform_filter("datum.old").mark_text(dy=8, opacity=0.75, **ink).encode(text="old:N")
    chart = alt.layer(shape, text, old, title=title or alt.Undefined)
    return finished(chart.properties(width=alt.Step(CELL[0]), height=alt.Step(CELL[1])))

"""Share of diverged runs."""

from __future__ import annotations

import altair as alt
from altair.typing import ChartType

from tdlambda.charts.style import INK, PAPER, finished
from tdlambda.charts.tidy import Rows, records


def divergence(rows: Rows, width: int = 560) -> ChartType:
    """Plot the share of runs that diverged, by method and α.

    Parameters
    ----------
    rows
        `series`, `at` (α as text), `share`, `text`.
    width
        Width in pixels.
    """
    base = alt.Chart().encode(
        alt.X("at:N", sort=None, title="step size α", axis=alt.Axis(labelAngle=0, ticks=False, domain=False)),
        alt.Y("series:N", sort=None, title=None, axis=alt.Axis(ticks=False, domain=False, labelLimit=140)),
    )
    tooltips = [
        alt.Tooltip("series:N", title="method"),
        alt.Tooltip("at:N", title="α"),
        alt.Tooltip("text:N", title="runs"),
    ]
    tile = base.mark_rect(fill="#d55e00", stroke=PAPER, strokeWidth=2).encode(
        fillOpacity=alt.FillOpacity("share:Q", scale=alt.Scale(domain=[0, 1], range=[0.03, 0.9]), legend=None),
        tooltip=tooltips,
    )
    said = base.transform_calculate(said="datum.share > 0 ? format(datum.share, '.0%') : '·'")
    chart = alt.layer(tile, said.mark_text(color=INK, fontSize=11).encode(text="said:N"))
    chart.data = alt.Data(values=records(rows))
    return finished(chart.properties(width=width, height=alt.Step(30)))

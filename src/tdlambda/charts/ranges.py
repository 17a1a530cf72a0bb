"""Ranges in rows: a bar from low to high with a mark, and its name above."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import altair as alt
from altair.typing import ChartType

from tdlambda.charts.style import INK, PAPER, SOFT, axis
from tdlambda.charts.tidy import Rows, dressed

ROW = 46
"""Height of a row, in pixels."""
_SAID = "width < 420 && datum.short ? datum.short : datum.text"


def ranges(
    rows: Rows, x: str, *, tips: Mapping[str, str], rule: float | None = None, ends: tuple[str, str] = ("", ""),
    domain: list[float] | None = None, log: bool = True, width: int = 560,
) -> ChartType:  # fmt: skip
    """A chart with a bar from low to high for each series.

    Parameters
    ----------
    rows
        `series`, `low`, `mid`, `high`, `text`, and optionally a `short` text for narrow charts.
    x
        Label of the axis.
    tips
        Tooltip of a bar: columns and their names.
    rule, ends
        Position of a vertical line, and labels of its two sides.
    domain
        Range of the axis; by default that of the rows.
    log
        Whether the axis is logarithmic.
    width
        Width in pixels.
    """
    some = [{"open_low": False, "open_high": False, "short": None} | row for row in dressed(rows)]
    at = domain or [row[name] for row in some for name in ("low", "mid", "high")]
    row, base = alt.Y("series:N", title=None, sort=None, axis=None), alt.Chart()
    span = {"padding": 16} if domain is None else {"domain": domain}
    bottom = axis(alt.X, "mid", x, log, at, **span)
    paint, tooltips = alt.Color("colour:N", scale=None), [alt.Tooltip(f"{k}:N", title=v) for k, v in tips.items()]
    mark: dict[str, Any] = {"filled": True, "opacity": 1, "yOffset": 8}
    shape = alt.Shape("shape:N", scale=None)
    bar = base.transform_filter("isValid(datum.low)").mark_rule(strokeWidth=5, strokeOpacity=0.6, yOffset=8)
    dot = base.transform_filter("isValid(datum.mid)").mark_point(**mark, size=90)
    text: dict[str, Any] = {"baseline": "middle", "dy": -8, "fontSize": 12, "color": INK}
    layers = [
        bar.encode(alt.X("low:Q", title=x), row, alt.X2("high"), paint, tooltip=tooltips),
        dot.encode(bottom, row, paint, shape, tooltip=tooltips),
        base.mark_text(align="left", x=0, **text).encode(row, text="label:N"),
        base.mark_text(align="right", x=alt.ExprRef("width"), text=alt.ExprRef(_SAID), **text).encode(row),
    ]
    for end in ("low", "high"):
        opened = base.transform_filter(f"datum.open_{end}").mark_point(
            size=50, fill=PAPER, strokeWidth=1.6, yOffset=8, opacity=1
        )
        layers.insert(1, opened.encode(alt.X(f"{end}:Q", title=x), row, stroke=alt.Stroke("colour:N", scale=None)))
    if rule is not None:
        line = alt.Chart(alt.Data(values=[{"x": rule}]))
        layers.insert(0, line.mark_rule(strokeDash=[3, 3], aria=False).encode(alt.X("x:Q", title=x)))
        for k, words in enumerate(ends):
            where: dict[str, Any] = {"align": ("left", "right")[k], "x": (0, alt.ExprRef("width"))[k], "y": -8}
            layers.append(line.mark_text(color=SOFT, text=words, fontSize=11, **where))
    return alt.layer(*layers, data=alt.Data(values=some)).properties(width=width, height=alt.Step(ROW))

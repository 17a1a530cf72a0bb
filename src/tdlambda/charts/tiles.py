"""Tiles in a plane, for maps of λ and of policies: cells of a gridworld, or a grid over two dimensions."""

from __future__ import annotations

from typing import Any

import altair as alt

from tdlambda.charts.style import INK, PAPER, axis

Axes = tuple[str, str] | None
"""Labels of the two dimensions; None for the cells of a gridworld, which show their values as text."""


def box(axes: Axes) -> dict[str, Any]:
    """Encoding of a tile's position by `left`, `right`, `low` and `high`; the first row of a grid is at the top."""
    across = axis(alt.X, "left", axes and axes[0], False)
    up = axis(alt.Y, "low", axes and axes[1], False, reverse=axes is None)
    if axes is None:
        across.axis = up.axis = None
    return {"x": across, "x2": alt.X2("right"), "y": up, "y2": alt.Y2("high")}


def edge(axes: Axes) -> dict[str, Any]:
    """Mark options that separate the cells of a gridworld."""
    return {"stroke": PAPER, "strokeWidth": 2} if axes is None else {}


def written(said: str, dark: str, size: int = 11) -> list[alt.Chart]:
    """Text in the middle of each tile, light where the tile is dark; `said` and `dark` are Vega expressions."""
    middle = alt.Chart().transform_calculate(
        x="(datum.left + datum.right) / 2", y="(datum.low + datum.high) / 2", said=said
    )
    return [
        middle.transform_filter(test)
        .mark_text(color=paint, fontSize=size)
        .encode(alt.X("x:Q", title=None), alt.Y("y:Q", title=None), text="said:N")
        for test, paint in ((dark, PAPER), (f"!({dark})", INK))
    ]

"""Tiles in a plane, which maps of λ and of policies are made of: cells of a grid, or a grid over two dimensions."""

from __future__ import annotations

from typing import Any

import altair as alt

from tdlambda.charts.style import INK, PAPER, axis

Axes = tuple[str, str] | None
"""What the dimensions are; the cells of a grid have none, and what is true of them is written on them."""


def box(axes: Axes) -> dict[str, Any]:
    """Where a tile is, by `left`, `right`, `low` and `high`; on a grid the first row is above."""
    across = axis(alt.X, "left", axes and axes[0], False)
    up = axis(alt.Y, "low", axes and axes[1], False, reverse=axes is None)
    if axes is None:
        across.axis = up.axis = None
    return {"x": across, "x2": alt.X2("right"), "y": up, "y2": alt.Y2("high")}


def edge(axes: Axes) -> dict[str, Any]:
    """What sets the cells of a grid apart."""
    return {"stroke": PAPER, "strokeWidth": 2} if axes is None else {}


def written(said: str, dark: str, size: int = 11) -> list[alt.Chart]:
    """Words in the middle of each tile, light where it is dark; both are expressions of a row."""
    middle = alt.Chart().transform_calculate(
        x="(datum.left + datum.right) / 2", y="(datum.low + datum.high) / 2", said=said
    )
    return [
        middle.transform_filter(test)
        .mark_text(color=paint, fontSize=size)
        .encode(alt.X("x:Q", title=None), alt.Y("y:Q", title=None), text="said:N")
        for test, paint in ((dark, PAPER), (f"!({dark})", INK))
    ]

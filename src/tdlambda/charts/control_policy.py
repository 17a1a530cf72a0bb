"""Greedy policies: on the map of a gridworld, over two dimensions, or over states."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import altair as alt
from altair.typing import ChartType

from tdlambda.charts.style import FAINT, LAMBDA, OKABE_ITO, finished
from tdlambda.charts.tidy import Rows, records
from tdlambda.charts.tiles import Axes, box, edge, written

WALLS, CLOSED = "#E", "#ECHG"
"""Letters of a map: where there is no cell; and where no action is chosen: in a hole, at the goal or below a cliff."""
Domain = tuple[float, float]


def policy_tiles(
    rows: Rows, actions: Sequence[str], axes: Axes = None, *, shade: str = "agreed", domain: Domain = (0, 1),
    size: tuple[int, int] = (250, 210),
) -> ChartType:  # fmt: skip
    """Plot the greedy action on a grid of states, as text, or over two dimensions, as colour.

    Parameters
    ----------
    rows
        `left`, `right`, `low`, `high` of each tile, its `state`, the name of its `action` (None if no action is chosen
        there), and the column `shade`.
    actions
        Names of all actions.
    axes
        Labels of the two dimensions; None for a grid of states.
    shade, domain
        Column that shades the tiles, and its values from the lightest to the darkest: by default the share of seeds
        that agree, from 0 to 1.
    size
        Width and height, in pixels.
    """
    base, where = alt.Chart(), box(axes)
    scale = alt.Scale(domain=list(domain), range=[0.12, 1], clamp=True)
    veil = alt.FillOpacity(f"{shade}:Q", scale=scale, legend=None)
    tips = [alt.Tooltip("state:N", title="at" if axes else "state"), alt.Tooltip("action:N"), alt.Tooltip(f"{shade}:N")]
    known = base.transform_filter("isValid(datum.action)")
    if axes is None:
        known, ended = known.mark_rect(fill=LAMBDA, **edge(axes)), base.transform_filter("!isValid(datum.action)")
        dark = f"isValid(datum.action) && datum.{shade} > {(domain[0] + domain[1]) / 2}"
        layers = [
            ended.mark_rect(fill=FAINT, **edge(axes)).encode(**where),
            known.encode(**where, tooltip=tips, fillOpacity=veil),
            *written("isValid(datum.action) ? datum.action : datum.ends", dark, 14),
        ]
    else:
        paint = alt.Color(
            "action:N", scale=alt.Scale(domain=list(actions), range=list(OKABE_ITO[: len(actions)])),
            legend=alt.Legend(orient="top", title=None),
        )  # fmt: skip
        layers = [known.mark_rect().encode(**where, tooltip=tips, color=paint, fillOpacity=veil)]
    chart = alt.layer(*layers, data=alt.Data(values=records(rows)))
    return finished(chart.properties(width=size[0], height=size[1]))


def policy_states(rows: Rows, actions: Sequence[str], width: int = 560) -> ChartType:
    """Plot the greedy action at each state: columns are states, rows are actions.

    Parameters
    ----------
    rows
        `state`, `action` (its name), and `agreed`, the share of seeds with this action.
    actions
        Names of all actions.
    width
        Width in pixels.
    """
    tips = [alt.Tooltip(f"{name}:N") for name in ("state", "action", "agreed")]
    row = alt.Y("action:N", title="action", sort=list(actions), scale=alt.Scale(domain=list(actions)))
    veil = alt.FillOpacity("agreed:Q", scale=alt.Scale(domain=[0, 1], range=[0.12, 1]), legend=None)
    column = alt.X("state:O", title="state", axis=alt.Axis(labelAngle=0, labelOverlap=True))
    cells = alt.Chart(alt.Data(values=records(rows))).mark_rect(fill=LAMBDA)
    cells = cells.encode(column, row, fillOpacity=veil, tooltip=tips)
    return finished(cells.properties(width=width, height=22 * len(actions)))


def on_map(rows: Sequence[str]) -> list[dict[str, Any]]:
    """The tiles of a map of letters: for each cell its state, whether an action is chosen there, and its text."""
    width = len(rows[0])
    return [
        {"state": s, "left": s % width, "right": s % width + 1, "low": s // width, "high": s // width + 1,
         "live": letter not in CLOSED, "ends": "end" if letter in "HG" else ""}
        for s, letter in enumerate("".join(rows)) if letter not in WALLS
    ]  # fmt: skip

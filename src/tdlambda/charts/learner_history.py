"""The history of a learner: λ and V by state, the error, and its estimates over time, with exact values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import altair as alt
from altair.typing import ChartType

from tdlambda.charts.lines import lines
from tdlambda.charts.style import TRUTH, finished, shades
from tdlambda.charts.tidy import Rows, looks, records

_TIPS = {"series": "", "x": "at", "mean": "value"}
_LOOK: dict[str, Any] = {"width": 1.6, "shape": "circle"}


def by_state(rows: Rows, y: str, exact: Rows = (), unit: bool = False, size: tuple[int, int] = (250, 190)) -> ChartType:
    """Plot a line over the states for each of a few moments, darker for later ones; exact values are black.

    Parameters
    ----------
    rows
        `series` (the moment), `state`, `mean`.
    y
        Label of the value axis.
    exact
        `state`, `mean`.
    unit
        Whether the values lie in [0, 1].
    size
        Width and height, in pixels.
    """
    some = [row | _LOOK | {"x": row["state"]} for row in records(rows)]
    moments = list(dict.fromkeys(row["series"] for row in some))
    paint = dict(zip(moments, reversed(shades(len(moments))), strict=True))
    some = [row | {"colour": paint[row["series"]]} for row in some]
    truth = {"series": "exact", "colour": TRUTH, "width": 0, "shape": "circle"}
    some += [row | truth | {"x": row["state"]} for row in records(exact)]
    domain = (None, [0.0, 1.0] if unit else None)
    return lines(some, "state", y, log=(False, False), tips=_TIPS, domain=domain, size=size, fade=False)


def over_time(rows: Rows, y: str, log: bool = False, size: tuple[int, int] = (250, 190)) -> ChartType:
    """Plot a few lines over time, with their exact values dashed.

    Parameters
    ----------
    rows
        `series`, `step`, `mean`, `exact`.
    y
        Label of the value axis.
    log
        Whether the value axis is logarithmic.
    size
        Width and height, in pixels.
    """
    some = [row | {"x": row.pop("step")} for row in records(rows)]
    learned = [row | {"width": 1.6, "exact": None} for row in some]
    order = list(dict.fromkeys(row["series"] for row in some))
    exact = [
        row | {"colour": looks(order.index(row["series"]), "")["colour"], "series": f"{row['series']}, exact",
               "label": "", "mean": row["exact"], "exact": None, "width": 1, "dash": [4, 3]}
        for row in some if row.get("exact") is not None
    ]  # fmt: skip
    return lines([*learned, *exact], "steps", y, log=(True, log), dots=False, tips=_TIPS, size=size, fade=False)


def followed(parts: Mapping[str, Any], columns: int = 3) -> ChartType:
    """Charts side by side, at most `columns` per row, each with its title."""
    titled = [part.properties(title=name) for name, part in parts.items()]
    return finished(alt.concat(*titled, columns=columns))

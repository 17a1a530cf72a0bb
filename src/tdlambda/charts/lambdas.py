"""λ over states, on a grid or a map, and over time."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import altair as alt
from altair.typing import ChartType

from tdlambda.charts.lines import lines
from tdlambda.charts.style import FAINT, INK, LAMBDA, SOFT, axis, finished
from tdlambda.charts.tidy import Rows, records
from tdlambda.charts.tiles import Axes, box, edge, written

UNIT: tuple[None, list[float]] = (None, [0, 1])
TIPS = {"series": "method", "settings": "at", "state": "state", "lam": "λ", "n": "runs"}
_SHADE = alt.FillOpacity("lam:Q", scale=alt.Scale(domain=[0, 1], range=[0.06, 1]), legend=None)


def lambda_states(rows: Rows, size: tuple[int, int] = (560, 220)) -> ChartType:
    """Plot λ of each state, with a line for each method.

    Parameters
    ----------
    rows
        `series`, `state`, `lam`.
    size
        Width and height, in pixels.
    """
    some = [row | {"x": row["state"], "mean": row["lam"], "low": None, "high": None} for row in records(rows)]
    return finished(lines(some, "state", "λ", log=(False, False), tips=TIPS, domain=UNIT, size=size))


def lambda_map(rows: Rows, axes: Axes = None, size: tuple[int, int] = (250, 210)) -> ChartType:
    """Plot λ on a grid of states, or over two dimensions of observations; darker is larger.

    Parameters
    ----------
    rows
        `left`, `right`, `low`, `high` of each tile, its `state`, and `lam`; for tiles without λ, a text in `ends`.
    axes
        Labels of the two dimensions; None for a grid of states, where each tile shows its λ.
    size
        Width and height, in pixels.
    """
    base, where, between = alt.Chart(), box(axes), edge(axes)
    tips = [alt.Tooltip("state:N", title="at" if axes else "state"), alt.Tooltip("lam:N", title="λ")]
    ended, known = base.transform_filter("!isValid(datum.lam)"), base.transform_filter("isValid(datum.lam)")
    layers = [
        ended.mark_rect(fill=FAINT, **between).encode(**where),
        known.mark_rect(fill=LAMBDA, **between).encode(**where, tooltip=tips, fillOpacity=_SHADE),
    ]
    if axes is None:
        layers += written("isValid(datum.lam) ? format(datum.lam, '.2f') : datum.ends", "datum.lam > 0.5")
    chart = alt.layer(*layers, data=alt.Data(values=records(rows)))
    return finished(chart.properties(width=size[0], height=size[1]))


def lambda_in_time(rows: Rows, log: bool = False, size: tuple[int, int] = (280, 200), warm_up: float = 0) -> ChartType:
    """Plot λ of each state (row) over time; darker is larger.

    Parameters
    ----------
    rows
        `state`, `begin` and `end` (in steps), `step`, `lam`.
    log
        Whether time is logarithmic.
    size
        Width and height, in pixels.
    warm_up
        Number of steps after which the warm-up ends, at least 0; 0 if there is none.
    """
    some = records(rows)
    steps = axis(alt.X, "begin", "steps", log, [row["end"] for row in some])
    tips = [alt.Tooltip(f"{k}:N", title=v) for k, v in {"state": "state", "step": "after steps", "lam": "λ"}.items()]
    row = alt.Y(
        "state:O",
        title="state",
        scale=alt.Scale(paddingInner=0.08),
        axis=alt.Axis(ticks=False, domain=False, labelOverlap=True),
    )
    strip = alt.Chart().mark_rect(fill=LAMBDA).encode(steps, alt.X2("end"), row, fillOpacity=_SHADE, tooltip=tips)
    layers = [strip]
    if warm_up:
        line = alt.Chart(alt.Data(values=[{"x": warm_up}])).mark_rule(strokeDash=[3, 3], color=SOFT, aria=False)
        layers.append(line.encode(alt.X("x:Q", title="steps")))
    return finished(alt.layer(*layers, data=alt.Data(values=some)).properties(width=size[0], height=size[1]))


def median_in_time(rows: Rows, log: bool = False, size: tuple[int, int] = (560, 220)) -> ChartType:
    """Plot the median λ of many observations over time; the band contains 80 % of them.

    Parameters
    ----------
    rows
        `series`, `step`, `mean` (the median), `low`, `high`.
    log
        Whether time is logarithmic.
    size
        Width and height, in pixels.
    """
    some = [row | {"x": row["step"]} for row in records(rows)]
    tips = {"series": "method", "step": "after steps", "mean": "median λ", "interval": "80 % of observations"}
    return finished(lines(some, "steps", "λ", log=(log, False), dots=False, tips=tips, domain=UNIT, size=size))


def panels(chart: Callable[[list[dict[str, Any]]], Any], rows: Rows, by: str = "series", columns: int = 3) -> ChartType:
    """The same chart for each series, side by side under their names, at most `columns` per row."""
    some = records(rows)
    parts = []
    for name in dict.fromkeys(row[by] for row in some):
        part = chart([row for row in some if row[by] == name])
        part.config = alt.Undefined
        said = part.title if isinstance(part.title, str) else alt.Undefined
        parts.append(part.properties(title=alt.TitleParams(name, subtitle=said, color=INK, fontSize=13)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Altair warns that the panels share parameters
        return finished(alt.concat(*parts, columns=columns) if len(parts) > 1 else parts[0])

"""Lines with bands, labelled at their ends; most charts are built from them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import altair as alt
from altair.typing import ChartType

from tdlambda.charts.style import INK, PAPER, SOFT, axis
from tdlambda.charts.tidy import Rows, dressed

GAP = 14
"""Smallest distance between the names of lines, in pixels."""
LIMIT = 220
"""Largest width of a name, in pixels."""
TIPS = {"series": "method", "x": "at", "mean": "mean", "interval": "95 % interval", "n": "runs"}
_ABSENT: tuple[Any, ...] = (None, "", [])
_DEFAULT: dict[str, tuple[Any, ...]] = {"diverged": (None, 0)}
"""Values that a chart need not store, which would be half of it."""
_CROSS = "M-.8,-.8L.8,.8M.8,-.8L-.8,.8"


def lines(
    rows: Rows,
    x: str = "x",
    y: str = "",
    *,
    log: tuple[bool, bool] = (True, True),
    dots: bool = True,
    fade: bool = True,
    tips: Mapping[str, str] = TIPS,
    domain: tuple[list[float] | None, list[float] | None] = (None, None),
    size: tuple[int, int] = (560, 340),
    under: tuple[alt.Chart, ...] = (),
    opened: str = "",
) -> ChartType:
    """A chart with a line for each series.

    Parameters
    ----------
    rows
        `series`, `x`, `mean`; `low` and `high` of a band; the number of `diverged` runs, which turns a point into a
        cross. `colour`, `shape`, `width` and `dash` set the look of a series.
    x, y
        Labels of the axes.
    log
        Whether each axis is logarithmic.
    dots
        Whether to show each point.
    fade
        Whether pointing at a series fades the others.
    tips
        Tooltip of a point: columns and their names.
    domain
        Range of each axis; by default that of the rows.
    size
        Width and height, in pixels.
    under
        Chart drawn below the lines.
    opened
        Column with further values of the series, drawn as open points with bars of ± `off`.

    Examples
    --------
    >>> chart = lines([{"series": s, "x": x, "mean": x**p} for s, p in (("a", 1), ("b", 2)) for x in (1, 10, 100)])
    >>> sorted(layer["mark"]["type"] for layer in chart.to_dict()["layer"])
    ['area', 'line', 'point', 'rule', 'text']
    """
    some = dressed(rows)
    base = alt.Chart()
    at = axis(alt.X, "x", x or None, log[0], [row["x"] for row in some], padding=8 * dots, **_ends(domain[0]))
    up = axis(alt.Y, "shown", None, log[1], [row["mean"] for row in some], **_ends(domain[1]))
    hover = alt.selection_point(name="hover", on="pointerover", fields=["series"], clear="pointerout")
    paint = alt.Color("colour:N", scale=None)
    veil = alt.FillOpacity("band:Q", scale=None)
    faded: Any = alt.when(hover, empty=True).then(alt.value(1)).otherwise(alt.value(0.25))
    tooltips = [alt.Tooltip(f"{field}:N", title=title) for field, title in tips.items()]
    cut = domain[1] is not None or alt.Undefined  # clipping takes seconds in print
    band = base.transform_filter("isValid(datum.lo) && isValid(datum.hi)").mark_area(opacity=1, clip=cut)
    pen = base.mark_line(strokeJoin="round", invalid="break-paths-filter-domains", clip=cut)
    point = base.transform_filter("isValid(datum.shown)").mark_point(filled=True, cursor="pointer", clip=cut)
    shape = alt.Shape("mark:N", scale=None)
    layers: list[alt.Chart] = [
        *under,
        band.encode(at, alt.Y("lo:Q", title=None), alt.Y2("hi"), paint, alt.Detail("series:N"), veil),
        pen.encode(
            at, up, paint, alt.Detail("series:N"), strokeWidth=alt.StrokeWidth("width:Q", scale=None),
            strokeDash=alt.StrokeDash("dash:N", scale=None), opacity=faded if fade else alt.Undefined,
        ),
    ]  # fmt: skip
    if opened:
        layers += _opened(base, at, opened)
    points = point.encode(
        at, up, paint, shape, tooltip=tooltips, stroke=alt.Stroke("colour:N", scale=None),
        size=alt.value(36 if dots else 60), opacity=alt.value(1 if dots else 0), order=alt.Order("width:Q"),
    )  # fmt: skip
    layers.append(points.add_params(hover) if fade else points)
    layers += _names(base, at, up, log[1], size[1], opened, domain[1])
    chart = alt.layer(*layers, title=y or alt.Undefined, width=size[0], height=size[1])
    values = [{name: value for name, value in row.items() if value not in _DEFAULT.get(name, _ABSENT)} for row in some]
    chart.data, chart.transform = alt.Data(values=values), _shared(base, log[1], domain[1])
    return chart


def _ends(domain: list[float] | None) -> dict[str, Any]:
    return {} if domain is None else {"domain": domain}


def _shared(base: alt.Chart, log: bool, domain: list[float] | None) -> Any:
    """The drawn values of each row, limited so that neither diverged runs nor wide bands stretch the axis."""
    low, high = (None, None) if domain is None else _beyond(domain, log)
    cap = "isValid(datum.top) ? 3 * max(abs(datum.top), datum.top - datum.bottom) + datum.top : 1e300"
    most, least = (cap, "-1e300") if domain is None else (f"min({high}, {cap})", str(low))
    there = f"isValid(datum.mean){' && datum.mean > 0' if log else ''}"
    known = "isValid(datum.shown)"
    floor, ceiling = ("datum.shown / 3", "3 * datum.shown") if log else ("-1e300", "1e300")
    return (
        base.transform_calculate(calm="datum.diverged > 0 ? null : datum.mean")
        .transform_joinaggregate(top="max(calm)", bottom="min(calm)")
        .transform_calculate(
            most=most, band="datum.width >= 2 ? 0.17 : 0.06", mark=f"datum.diverged > 0 ? '{_CROSS}' : datum.shape"
        )
        .transform_calculate(shown=f"{there} ? max({least}, min(datum.mean, datum.most)) : null")
        .transform_calculate(
            lo=f"isValid(datum.low) && {known} ? min(max(datum.low, {floor}, {least}), datum.shown) : null",
            hi=f"isValid(datum.high) && {known} ? min(datum.high, {ceiling}, datum.most) : null",
        )
        .transform
    )


def _beyond(domain: list[float], log: bool) -> tuple[float, float]:
    """Limits slightly beyond the ends of an axis; lines are cut off there."""
    low, high = domain
    return (low / 3, high * 3) if log else (low - (high - low) / 4, high + (high - low) / 4)


def _opened(base: alt.Chart, at: Any, field: str) -> list[alt.Chart]:
    """Open points with bars of ± `off`."""
    there = base.transform_filter(f"isValid(datum.{field})")
    stroke, up = alt.Stroke("colour:N", scale=None), alt.Y(f"{field}:Q", title=None)
    bars = there.transform_filter("datum.off > 0").transform_calculate(
        least=f"datum.{field} - datum.off", most=f"datum.{field} + datum.off"
    )
    mark = there.mark_point(filled=True, fillOpacity=0.5, strokeWidth=1.5, size=75, fill=PAPER, aria=False)
    return [
        bars.mark_rule(strokeWidth=1.5).encode(at, alt.Y("least:Q", title=None), alt.Y2("most"), stroke),
        mark.encode(at, up, stroke=stroke, shape=alt.Shape("shape:N", scale=None)),
    ]


def _names(
    base: alt.Chart, at: Any, up: Any, log: bool, height: int, opened: str, domain: list[float] | None
) -> list[alt.Chart]:
    """Names at the ends of lines, pushed apart: running maximum of (height - rank · gap), + rank · gap, centred."""
    to, back = ("log", "exp") if log else ("", "")
    also = f"isValid(datum.{opened}) ? datum.{opened} : datum.shown" if opened else "datum.shown"
    inside = "true" if domain is None else f"datum.shown >= {domain[0]} && datum.shown <= {domain[1]}"
    low, high = ("datum.below", "datum.above") if domain is None else (f"{to}({x})" for x in domain)
    there = (
        base.transform_filter(f"isValid(datum.shown) && {inside}")
        .transform_calculate(u=f"{to}(datum.shown)",
                             least=f"{to}(min({also}, isValid(datum.lo) ? datum.lo : datum.shown))",
                             most=f"{to}(max({also}, isValid(datum.hi) ? datum.hi : datum.shown))")
        .transform_joinaggregate(above="max(most)", below="min(least)")
        .transform_calculate(above=high, below=low)
        .transform_joinaggregate(end="max(x)", groupby=["series"])
        .transform_filter("datum.x === datum.end && datum.label")
    )  # fmt: skip
    laid = (
        there.transform_window(rank="row_number()", sort=[alt.SortField("u")])
        .transform_calculate(gap=f"{GAP} * max(datum.above - datum.below, 1e-9) / {height}")
        .transform_calculate(z="datum.u - datum.rank * datum.gap")
        .transform_window(run="max(z)", frame=[None, 0], sort=[alt.SortField("rank")])
        .transform_calculate(off="datum.run - datum.z")
        .transform_joinaggregate(off="mean(off)")
        .transform_calculate(pos=f"{back}(datum.run + datum.rank * datum.gap - datum.off)")
    )
    lead = laid.mark_rule(strokeOpacity=0.6, aria=False, color=SOFT, x2Offset=12)
    text = laid.mark_text(
        align="left", baseline="middle", dx=16, limit=LIMIT, fontSize=11.5, color=INK,
        fontWeight=alt.ExprRef("datum.width > 2 ? 'bold' : 'normal'"),
    )  # fmt: skip
    return [
        lead.encode(at, up, x2="x", y2="pos"),
        text.encode(at, alt.Y("pos:Q", title=None), text="label:N"),
    ]

"""The style of all charts: colours that colour-blind readers can distinguish, number formats, and names.

Each colour has a counterpart for a dark background. A chart is drawn in the light colours; the style sheet
`dark_rules` maps them to their counterparts, so that a page changes its theme without redrawing.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any

FONT = 'system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", "DejaVu Sans", sans-serif'
INK, SOFT, LINE, FAINT, PAPER = "#1a1f26", "#59636e", "#dfe4ea", "#eef1f4", "#ffffff"
"""Colours of text, axes, ticks, the grid, and the background."""
LAMBDA = "#084a91"
"""Colour of λ = 1; a smaller λ is more transparent."""
TRUTH = "#000000"
"""Colour of references: exact values, and choices in hindsight."""
OKABE_ITO = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#8c564b", "#999999")
SHAPES = ("diamond", "triangle-up", "square", "triangle-down", "circle")
DASHES: tuple[list[int], ...] = ([], [6, 3], [2, 2], [8, 3, 2, 3], [1, 2])
_GROUND = {
    INK: "#e6ebf0", SOFT: "#9aa6b2", LINE: "#2d3843", FAINT: "#1f2831", PAPER: "#10151b", LAMBDA: "#74beff",
    TRUTH: "#ffffff",
}  # fmt: skip
_VIRIDIS = ("#440154", "#482878", "#3e4a89", "#31688e", "#26838f", "#1f9d8a", "#6cce5a", "#b6de2b", "#fee825")
_OWN = {
    "META": "#d55e00", "META_np": "#cc79a7", "META_derived": "#e69f00", "META_np_derived": "#f0a3c8",
    "META_default": "#009e73", "META_printed": "#d55e00", "META_newton": "#009e73", "greedy": "#56b4e9",
    "greedy_published": "#56b4e9", "fixed": "#4d4d4d", "fixed_gtd": "#999999", "fixed_published": "#4d4d4d",
    "auto": "#0072b2", "value_error_greedy": "#0072b2", "AutoTD": "#d6006d",
}  # fmt: skip
_NAMES = {
    "fixed": "fixed λ", "fixed_gtd": "fixed λ on true online GTD", "fixed_published": "fixed λ, as published",
    "greedy": "λ-greedy", "greedy_published": "λ-greedy, as published", "META_default": "META, default",
    "META_np": "META per state", "META_derived": "META, derived sign", "META_printed": "META, printed sign",
    "META_np_derived": "META per state, derived sign", "META_newton": "META, Newton", "auto": 'λ = "auto"',
    "value_error_greedy": 'λ = "auto"',
}  # fmt: skip
AXES = {"alpha": "α", "lam": "λ", "kappa": "κ", "eta": "η", "beta": "β"}
"""Display names of parameters."""


def named(method: str) -> str:
    """The display name of a method; a user's own method keeps its name.

    >>> named("greedy_published"), named("mine")
    ('λ-greedy, as published', 'mine')
    """
    return _NAMES.get(method, method)


def colour(method: str, methods: Sequence[str] = ()) -> str:
    """The colour of a method; a user's own method gets one by its position among `methods`.

    >>> colour("META")
    '#d55e00'
    """
    if method in _OWN:
        return _OWN[method]
    strangers = [name for name in methods if name not in _OWN]
    return OKABE_ITO[(strangers.index(method) if method in strangers else 0) % len(OKABE_ITO)]


def shades(n: int) -> list[str]:
    """Colours for an ordered parameter such as the fixed λ, from dark to light.

    >>> shades(2)
    ['#440154', '#b9de2b']
    """
    return [_between(_VIRIDIS, 0.88 * k / max(n - 1, 1)) for k in range(n)]


def dark(light: str) -> str:
    """The counterpart of a colour for a dark background: mixed with white until the contrast suffices.

    >>> dark(INK), dark("#0072b2"), dark("#56b4e9")
    ('#e6ebf0', '#348fc2', '#56b4e9')
    """
    if light in _GROUND:
        return _GROUND[light]
    r, g, b = _channels(light)
    luminance = (0.2126 * r + 0.7152 * g + 0.0722 * b) / 255
    share = min(0.8, 1.6 * max(0.0, (0.45 - luminance) / (1 - luminance)))
    return _hex(x + share * (255 - x) for x in (r, g, b))


def dark_rules(where: str, colours: Iterable[str]) -> str:
    """A style sheet that replaces these colours with their dark-mode counterparts, in charts under a CSS selector."""
    colours_used, parts = sorted({*colours, *_GROUND, *OKABE_ITO, *_OWN.values()}), ("fill", "stroke")
    return "\n".join(f'{where} svg [{p}="{c}" i] {{ {p}: {dark(c)}; }}' for c in colours_used for p in parts)


def theme() -> dict[str, Any]:
    """Vega-Lite's `config` for all charts."""
    words = {
        "labelColor": SOFT, "titleColor": SOFT, "labelFontSize": 12, "titleFontSize": 12, "titleFontWeight": "normal",
        "labelFont": FONT, "titleFont": FONT,
    }  # fmt: skip
    return {
        "background": PAPER, "font": FONT, "view": {"stroke": None}, "padding": 5,
        "text": {"color": INK, "fontSize": 12, "font": FONT}, "rule": {"color": SOFT},
        "axis": {**words, "gridColor": FAINT, "domainColor": LINE, "tickColor": LINE},
        "legend": words, "header": {**words, "labelColor": INK, "labelFontSize": 13, "labelAnchor": "start"},
        "title": {"color": SOFT, "font": FONT, "fontSize": 12, "fontWeight": "normal", "anchor": "start", "offset": 8,
                  "frame": "group", "subtitleColor": SOFT},
    }  # fmt: skip


def number(x: float) -> str:
    """Format a number with three significant digits.

    >>> number(9.9012e-6), number(0.663), number(1234.5), number(float("inf"))
    ('9.90×10⁻⁶', '0.663', '1,234', 'infinite')
    """
    if not math.isfinite(x):
        return "infinite" if math.isinf(x) else "unknown"
    if 1000 <= abs(x) < 1e6:
        return f"{x:,.0f}"
    return f"{x:.3g}" if x == 0 or 1e-3 <= abs(x) < 1e6 else _power(f"{x:.2e}")


def interval(low: float, high: float) -> str:
    """Format a 95 % interval in parentheses; empty if there is none.

    >>> interval(0.61, 0.845)
    ' (95 % interval 0.61 to 0.845)'
    """
    return f" (95 % interval {number(low)} to {number(high)})" if math.isfinite(low) else ""


def setting(x: Any) -> str:
    """Format a grid value, as short as possible.

    >>> setting(3e-4), setting(1e-5), setting(0.05), setting("direct")
    ('3×10⁻⁴', '10⁻⁵', '0.05', 'direct')
    """
    if not isinstance(x, float):
        return str(x)
    if x == 0 or 1e-3 <= abs(x) < 1e6 or not math.isfinite(x):
        return f"{x:g}"
    digits, power = f"{x:e}".split("e")
    return _power(f"{digits.rstrip('0').rstrip('.')}e{power}").removeprefix("1×")


def settings(values: Mapping[str, Any], without: Iterable[str] = ()) -> str:
    """Format parameters and their values.

    >>> settings({"alpha": 0.01, "kappa": 1e-3})
    'α = 0.01, κ = 0.001'
    """
    return ", ".join(f"{AXES.get(k, k)} = {setting(v)}" for k, v in values.items() if k not in without)


_POWER = "floor(log(datum.value) / LN10 + 1e-9)"
_MANTISSA = f"format(datum.value / pow(10, {_POWER}), '~r')"
_RAISED = f"({_POWER} < 0 ? '⁻' : '') + (abs({_POWER}) > 9 ? '¹' : '') + '⁰¹²³⁴⁵⁶⁷⁸⁹'[abs({_POWER}) % 10]"
TICK = (
    f"datum.value >= 0.00099 && datum.value < 9999 ? format(datum.value, '~g') : "
    f"({_MANTISSA} === '1' ? '' : {_MANTISSA} + '×') + '10' + {_RAISED}"
)
"""Vega expression that formats a tick of a logarithmic axis: 0.05, 3×10⁻⁴."""


def ticks(values: Iterable[Any]) -> list[float]:
    """Candidate ticks of a logarithmic axis: powers of ten, or closer ones if few of those are visible.

    >>> ticks([1e-5, 1.0])[:2], len(ticks([0.2, 0.9]))
    ([1e-12, 1e-11], 250)
    """
    there = [x for x in values if isinstance(x, int | float) and 0 < x < math.inf]
    spread = max(there, default=1e3) / min(there, default=1.0)
    between = (1,) if spread > 30 else (1, 2, 5) if spread > 6 else (1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8)
    return [float(f"{m}e{k}") for k in range(-12, 13) for m in between]


def axis(channel: Any, field: str, title: str | None, log: bool = True, at: Iterable[Any] = (), **scale: Any) -> Any:
    """A quantitative axis, logarithmic or linear, with ticks for numbers such as `at`; `scale` sets scale options."""
    import altair as alt  # slow to import, and only needed here

    form = alt.Scale(type="log", nice=False, **scale) if log else alt.Scale(nice=False, **{"zero": False, **scale})
    about: dict[str, Any] = {"values": ticks(at), "labelExpr": TICK, "labelOverlap": True}
    if not log:
        about = {"tickCount": 5, "labelExpr": "format(datum.value, abs(datum.value) >= 10000 ? '~s' : '~r')"}
    return channel(f"{field}:Q", title=title, scale=form, axis=alt.Axis(**about))


def finished(chart: Any) -> Any:
    """The chart, or concatenated charts, with the theme; the user can override any of it."""
    return chart.configure(**theme())


def _power(text: str) -> str:
    digits, power = text.split("e")
    return f"{digits}×10{''.join('⁰¹²³⁴⁵⁶⁷⁸⁹'[int(c)] if c != '-' else '⁻' for c in str(int(power)))}"


def _channels(colour: str) -> tuple[int, int, int]:
    return int(colour[1:3], 16), int(colour[3:5], 16), int(colour[5:7], 16)


def _hex(channels: Iterable[float]) -> str:
    return "#" + "".join(f"{round(x):02x}" for x in channels)


def _between(stops: Sequence[str], share: float) -> str:
    """The colour at a `share` in [0, 1] of the way through the stops."""
    steps = list(pairwise(stops))
    k = min(int(share * len(steps)), len(steps) - 1)
    here, there = map(_channels, steps[k])
    part = share * len(steps) - k
    return _hex(a + part * (b - a) for a, b in zip(here, there, strict=True))

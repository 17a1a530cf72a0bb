"""Charts of a prequential evaluation: one question, or a page of all."""

from __future__ import annotations

import html
from typing import Any

import altair as alt
import numpy as np
from altair.typing import ChartType

from tdlambda.charts.document import document, drawing, html_table
from tdlambda.charts.style import OKABE_ITO as COLOURS
from tdlambda.charts.style import SOFT, theme

POINTS, DETAIL, FEATURES, EXPERTS, SHOWN = 1200, 300, 12, 6, 20
"""Largest number of points of a line; steps of the close-up; largest number of features, experts and questions."""
WIDTH = 720
_CONFIG: dict[str, Any] = theme() | {"legend": {**theme()["legend"], "orient": "top"}}


def chart(scored: Any) -> ChartType:
    """Plot one question: predictions and returns, error over time, expert weights or λ, calibration, features."""
    mine, whose = _last_stream(scored)
    n = mine.size
    whole = np.unique(np.linspace(min(n // 8, 32), n - 1, min(n, POINTS)).astype(np.int64))
    parts = [_lines(scored, mine, whole, f"The whole stream{whose}")]
    if scored.known.any():
        last = np.flatnonzero(scored.known[mine])[-DETAIL:]
        title = f"The last {last.size} predictions{whose} whose return is known"
        parts += [_lines(scored, mine, last, title, band=True)] if last.size else []
        parts += [_errors(scored)]
    parts += [_experts(scored)] if scored.samples else []
    below = [_calibration(scored)] if scored.calibration() else []
    below += [_features(scored)] if scored.importance else []
    parts += [alt.hconcat(*below, spacing=40)] if below else []
    found = alt.vconcat(*parts, spacing=30).resolve_scale(color="independent", x="independent", y="independent")
    return found.properties(title=f"{scored.name}: predictions made before each update").configure(**_CONFIG)


def _drawn(values: list[dict[str, Any]]) -> Any:
    data: Any = alt.Data
    return alt.Chart(data(values=values))


def _colour(field: str, domain: list[str], **options: Any) -> Any:
    scale = alt.Scale(domain=domain, range=[COLOURS[k % len(COLOURS)] for k in range(len(domain))])
    return alt.Color(f"{field}:N", scale=scale, title=None, **options)


def _row() -> Any:
    return alt.X("row:Q", title="row", axis=alt.Axis(format="~s", tickCount=6), scale=alt.Scale(nice=False, zero=False))


def _last_stream(scored: Any) -> tuple[Any, str]:
    """The steps of the stream of the last row, and its name for titles: lines through several would zigzag."""
    last = scored.streams[-1] if scored.streams else None
    if last is None:
        return np.arange(scored.rows.size), ""
    return np.flatnonzero([stream == last for stream in scored.streams]), f" of {last}"


def _lines(scored: Any, mine: Any, some: Any, title: str, band: bool = False) -> Any:
    """Plot predictions and realised returns at some of the steps `mine`."""
    realised = np.where(scored.known, scored.realised.value, np.nan)[mine]
    numbers = scored.rows[mine]
    steps = np.diff(numbers)
    apart = np.append(False, steps > (3 * np.median(steps) if len(mine) < scored.rows.size else 1))
    rows = []
    for what, values in (("realised return", realised), ("prediction", scored.prediction[mine])):
        piece = np.cumsum(apart | ~np.isfinite(values))  # a line ends where there are no values
        rows += [
            {"row": int(numbers[i]), "what": what, "value": float(values[i]), "piece": int(piece[i])}
            for i in some
            if np.isfinite(values[i])
        ]
    y = alt.Y("value:Q", title=None, scale=alt.Scale(zero=False), axis=alt.Axis(tickCount=5))
    drawn = _drawn(rows).mark_line(strokeWidth=1.4, strokeJoin="round")
    layers = [drawn.encode(_row(), y, _colour("what", ["prediction", "realised return"]), alt.Detail("piece:N"))]
    if band and np.isfinite(scored.coverage):
        limits = scored.limits[mine]
        between = [
            {"row": int(numbers[i]), "value": float(limits[i, 0]), "high": float(limits[i, 1]), "piece": int(piece[i])}
            for i in some if np.isfinite(limits[i]).all()
        ]  # fmt: skip
        area = _drawn(between).mark_area(opacity=0.16, color=COLOURS[0])
        layers.insert(0, area.encode(_row(), y, alt.Y2("high"), alt.Detail("piece:N")))
        title += f", with the {scored.level:.0%} interval (coverage {scored.coverage:.0%})"
    return alt.layer(*layers).properties(width=WIDTH, height=180, title=title)


def _errors(scored: Any) -> Any:
    """Plot the RMSE in windows, with the baselines."""
    ours = "this Horde"
    values: list[dict[str, Any]] = []
    for name in (None, *scored.baselines):
        at, error = scored.rolling(name)
        known = np.isfinite(error) & (error > 0)
        pairs = zip(at[known].tolist(), error[known].tolist(), strict=True)
        values += [{"row": row, "who": name or ours, "rmse": rmse} for row, rmse in pairs]
    base = _drawn(values)
    y = alt.Y("rmse:Q", title=None, scale=alt.Scale(type="log", nice=False), axis=alt.Axis(tickCount=4, format=".4~g"))
    line = base.mark_line(strokeWidth=1.6).encode(_row(), y, _colour("who", [ours, *scored.baselines]))
    return line.properties(width=WIDTH, height=160, title="Root mean squared error over time")


def _experts(scored: Any) -> Any:
    """Plot the expert weights, or λ without experts."""
    if not scored.samples[-1][1]:
        values = [{"row": t, "lam": lam} for t, _, lam in scored.samples]
        y = alt.Y("lam:Q", title=None, scale=alt.Scale(domain=[0, 1]))
        line = _drawn(values).mark_line(color=COLOURS[0])
        return line.encode(_row(), y).properties(width=WIDTH, height=90, title="λ over time")
    total: dict[str, float] = {}
    for _, weights, _ in scored.samples:
        for name, weight in weights.items():
            total[name] = total.get(name, 0.0) + weight
    most = sorted(total, key=lambda name: -total[name])[:EXPERTS]
    values = []
    for t, weights, _ in scored.samples:
        rest = sum(weight for name, weight in weights.items() if name not in most)
        values += [{"row": t, "expert": name, "weight": weights.get(name, 0.0)} for name in most]
        values += [{"row": t, "expert": "others", "weight": rest}]
    y = alt.Y("weight:Q", title=None, stack="zero", scale=alt.Scale(domain=[0, 1]), axis=alt.Axis(tickCount=3))
    area = _drawn(values).mark_area(opacity=0.85)
    colour = _colour("expert", [*most, "others"], legend=alt.Legend(columns=3, labelLimit=230))
    return area.encode(_row(), y, colour).properties(width=WIDTH, height=110, title="Expert weights over time")


def _calibration(scored: Any) -> Any:
    """Plot mean return against mean prediction, in deciles."""
    values = [{"prediction": p, "return": g, "steps": n} for p, g, n in scored.calibration()]
    ends = [v[k] for v in values for k in ("prediction", "return")]
    line = _drawn([{"at": min(ends)}, {"at": max(ends)}]).mark_line(strokeDash=[3, 3], color=SOFT)
    wide = alt.Scale(zero=False, nice=False, padding=6)
    dots = _drawn(values).mark_point(filled=True, size=60, color=COLOURS[0])
    x = alt.X("prediction:Q", title="mean prediction", scale=wide, axis=alt.Axis(tickCount=4))
    y = alt.Y("return:Q", title="mean return", scale=wide, axis=alt.Axis(tickCount=4))
    same = line.encode(alt.X("at:Q", title="mean prediction"), alt.Y("at:Q", title="mean return"))
    return alt.layer(same, dots.encode(x, y)).properties(width=230, height=200, title="Calibration, second half")


def _features(scored: Any) -> Any:
    """Plot the importance of the features."""
    values = [{"feature": name, "size": size} for name, size in list(scored.importance.items())[:FEATURES]]
    bars = _drawn(values).mark_bar(color=COLOURS[0])
    x = alt.X("size:Q", title=None, axis=alt.Axis(tickCount=4, format=".4~g"))
    y = alt.Y("feature:N", title=None, sort=[v["feature"] for v in values], axis=alt.Axis(labelLimit=170, ticks=False))
    return bars.encode(x, y).properties(width=270, height=200, title="Change of the prediction per standard deviation")


# ---- the page ------------------------------------------------------------------------------------------------------


def page(result: Any) -> str:
    """One HTML page without scripts: scores, remarks and charts of every question."""
    title = html.escape(result.title)
    body = [f"<h1>{title}</h1>", _table(result)]
    body += [f'<p class="said">{html.escape(line)}</p>' for line in result.said()]
    for name, scored in list(result.questions.items())[:SHOWN]:
        said = "".join(f'<p class="said">{html.escape(remark)}</p>' for remark in scored.remarks())
        body.append(f"<section><h2>{html.escape(name)}</h2>{said}{_figure(scored)}</section>")
    return document(title, body)


def _figure(scored: Any) -> str:
    """The charts of a question; a sentence if they cannot be drawn."""
    try:
        return f"<figure>{drawing(chart(scored))}</figure>"
    except Exception as error:
        return f'<p class="said">The chart is left out: {html.escape(str(error))}</p>'


def _table(result: Any) -> str:
    heads = ("", "early R²", "late R²", "95 %", "RMSE", "bias", "slope", "Bellman error", "coverage")
    rows = []
    for name, s in result.questions.items():
        low, high = s.interval()["r2"] if s.known.any() else (np.nan, np.nan)
        limits = f"{low:.3f} to {high:.3f}" if np.isfinite(low) else ""
        held = f"{s.coverage:.0%} (nominal {s.level:.0%})" if np.isfinite(s.coverage) else ""
        rows.append(("", _cells(name, s.early, s.late, limits, f"{s.bellman:.4g}", held)))
        rivals = s.rivals.items()
        rows += [("rival", _cells(name, s.rivals_early[name], late, "", "", "")) for name, late in rivals]
    return html_table(heads, rows)


def _cells(name: str, early: Any, late: Any, limits: str, *more: str) -> list[str]:
    r2, *rest = late.words()
    return [html.escape(name), early.words()[0], r2, limits, *rest, *more]

"""The learning curve of an agent: returns, their running mean, and evaluations."""

from __future__ import annotations

from typing import Any

import altair as alt
import numpy as np
from altair.typing import ChartType

from tdlambda.charts.style import finished

MOST = 2000
"""Largest number of episodes drawn; beyond it they are evenly sampled."""


def learning_curve(curve: Any, window: int = 20) -> ChartType:
    """Plot returns against steps: a dot for each episode, their running mean, and evaluations.

    Parameters
    ----------
    curve
        A `td.control.LearningCurve`.
    window
        Number of episodes in the running mean, at least 1.
    """
    ends, returns = curve.ends, curve.returns
    sums = np.concatenate([[0.0], np.cumsum(returns)])
    first = np.maximum(0, np.arange(len(returns)) + 1 - window)
    mean = (sums[1:] - sums[first]) / (np.arange(len(returns)) + 1 - first)
    some: Any = np.unique(np.linspace(0, len(returns) - 1, min(len(returns), MOST)).astype(int)) if len(returns) else []
    rows = [
        {"step": int(ends[k]), "return": float(returns[k]), "mean": float(mean[k]), "length": int(curve.lengths[k])}
        for k in some
    ]
    base = alt.Chart(alt.Data(values=rows)).encode(x=alt.X("step:Q", title="steps"))
    tips = [alt.Tooltip(f"{name}:Q", format=",") for name in ("step", "return", "length")]
    parts = [
        base.mark_circle(size=14, opacity=0.35, color="#56b4e9").encode(
            y=alt.Y("return:Q", title="return of an episode", scale=alt.Scale(zero=False)), tooltip=tips
        ),
        base.mark_line(color="#0072b2", strokeWidth=2).encode(y="mean:Q"),
    ]
    if len(curve.evaluations):
        played = [{"step": float(r[0]), "mean": float(r[1]), "sd": float(r[2])} for r in curve.evaluations]
        parts.append(
            alt.Chart(alt.Data(values=played))
            .mark_line(color="#d55e00", point=alt.OverlayMarkDef(color="#d55e00"))
            .encode(x="step:Q", y="mean:Q", tooltip=["step:Q", "mean:Q", "sd:Q"])
        )
    said = f"return of each episode, mean of {window} (blue)" + ", evaluation (orange)" * bool(len(curve.evaluations))
    return finished(alt.layer(*parts).properties(width=560, height=300, title=said))

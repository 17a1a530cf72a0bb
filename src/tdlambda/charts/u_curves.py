"""Error against step size: a line for each fixed λ and for every other method."""

from __future__ import annotations

import altair as alt
from altair.typing import ChartType

from tdlambda.charts.lines import lines
from tdlambda.charts.style import finished
from tdlambda.charts.tidy import Rows, records

TIPS = {
    "series": "method", "settings": "at", "text": "mean", "interval": "95 % interval", "n": "runs",
    "lost": "diverged", "printed": "published",
}  # fmt: skip


def u_curves(
    rows: Rows, y: str = "error", alpha: float | None = None, log: bool = True, size: tuple[int, int] = (560, 400)
) -> ChartType:
    """Plot mean error against α on a logarithmic axis, with its 95 % interval.

    Parameters
    ----------
    rows
        `series`, `alpha`, `mean`, `low`, `high`; `published` and its uncertainty `off`.
    y
        Label of the error axis.
    alpha
        Step size to mark with a vertical line, positive; None for no mark.
    log
        Whether the error axis is logarithmic too.
    size
        Width and height, in pixels.

    Examples
    --------
    >>> rows = [{"series": "λ = 0", "alpha": a, "mean": a + 1e-4 / a} for a in (1e-3, 1e-2, 1e-1)]
    >>> [p["value"] for p in u_curves(rows, alpha=0.01).to_dict()["params"] if p["name"] == "alpha"]
    [0.01]
    """
    some = [{"off": None} | row | {"x": row["alpha"], "open": row.get("published")} for row in records(rows)]
    chosen = alt.Chart(alt.Data(values=[{}])).mark_rule(strokeDash=[3, 3], aria=False)
    under = () if alpha is None else (chosen.encode(x=alt.XDatum(alt.ExprRef("alpha"), type="quantitative")),)
    chart = lines(some, "step size α", y, log=(True, log), tips=TIPS, size=size, under=under, opened="open")
    return finished(chart if alpha is None else chart.add_params(alt.param("alpha", value=alpha)))

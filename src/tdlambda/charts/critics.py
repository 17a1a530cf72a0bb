"""Critics compared with the best of them: a chart, and a page."""

from __future__ import annotations

import html
from typing import Any

from altair.typing import ChartType

from tdlambda.charts.document import document, drawing, html_table
from tdlambda.charts.ranges import ranges
from tdlambda.charts.style import finished, number
from tdlambda.charts.tidy import Rows
from tdlambda.showing import likely


def critics(rows: Rows, best: str, level: float = 0.95, width: int = 560) -> ChartType:
    """Plot the mean squared error of each critic minus that of the best, with intervals.

    Parameters
    ----------
    rows
        `series`, `low`, `mid`, `high`, `text`, and `better`, the probability that the best critic is closer.
    best
        Name of the best critic.
    level
        Nominal coverage of the intervals, in (0, 1).
    width
        Width in pixels, at least 100.
    """
    tips = {"series": "critic", "mid": "difference", "interval": f"{100 * level:g} % interval", "better": "probability"}
    x = f"mean squared value error minus that of {best}, with {100 * level:g} % intervals"
    return finished(
        ranges(rows, x, tips=tips, rule=0, ends=(f"← closer than {best}", "farther →"), log=False, width=width)
    )


def page(audit: Any) -> str:
    """One HTML page without scripts: the sentence, the remarks, the chart and the table of an audit."""
    said = [f'<p class="said">{html.escape(remark)}</p>' for remark in audit.remarks]
    body = [f"<h1>Audit of {len(audit.names)} critics</h1><p>{html.escape(audit.sentence)}</p>", *said]
    body += [f"<figure>{drawing(audit.plot())}</figure>", _table(audit)]
    note = "error² estimates the error itself. Its expectation is below the true error: compare by differences"
    return document("Audit of critics", [*body, f'<p class="quiet">{note}.</p>'])


def _table(audit: Any) -> str:
    percent, best = f"{100 * audit.level:g} %", audit.order[0]
    heads = ("", f"minus {audit.best}", percent, f"{audit.best} is closer", "error²", percent)
    rows = []
    for k in audit.order:
        cells = [html.escape(audit.names[k]), "", "", ""]
        if k != best:
            limits = f"{number(audit.low[k, best])} to {number(audit.high[k, best])}"
            cells[1:] = number(audit.difference[k, best]), limits, likely(audit.probability[best, k])
        cells += [number(audit.error[k]), f"{number(audit.error_low[k])} to {number(audit.error_high[k])}"]
        rows.append(("", cells))
    return html_table(heads, rows)

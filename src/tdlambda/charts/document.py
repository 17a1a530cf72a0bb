"""Offline HTML pages without scripts: a style sheet, tables, and charts as SVG."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence

import vl_convert
from altair.typing import ChartType

from tdlambda.charts.saving import VERSION, printable
from tdlambda.charts.style import FONT, INK, LINE, SOFT

_STYLE = f"""
body {{ font: 15px/1.5 {FONT}; color: {INK}; background: #fff; margin: 2rem auto; max-width: 52rem; padding: 0 1rem }}
table {{ border-collapse: collapse; margin: 1rem 0; width: 100% }} th, td {{ padding: .25rem .6rem; text-align: right }}
th {{ color: {SOFT}; font-weight: normal; border-bottom: 1px solid {LINE} }}
td:first-child, th:first-child {{ text-align: left }}
.rival td {{ color: {SOFT} }} .rival td:first-child {{ padding-left: 1.6rem }} svg {{ max-width: 100%; height: auto }}
h2 {{ margin-top: 2.5rem }} .said {{ color: #8a4b00 }} .quiet {{ color: {SOFT} }} figure {{ margin: 1.5rem 0 }}
"""


def document(title: str, body: Iterable[str]) -> str:
    """A page; the title and the parts of the body are HTML already."""
    head = f'<meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>{title}</title>'
    head = f"<head>{head}<style>{_STYLE}</style></head>"
    return f'<!doctype html><html lang="en">{head}<body>{"".join(body)}</body></html>'


def html_table(heads: Sequence[str], rows: Iterable[tuple[str, Sequence[str]]]) -> str:
    """A table; each row has the class of its line and its cells, which are HTML already."""
    lines = [f"<tr>{''.join(f'<th>{html.escape(head)}</th>' for head in heads)}</tr>"]
    lines += [f'<tr class="{kind}">{"".join(f"<td>{cell}</td>" for cell in cells)}</tr>' for kind, cells in rows]
    return f"<table>{''.join(lines)}</table>"


def drawing(chart: ChartType) -> str:
    """A chart as SVG."""
    return str(vl_convert.vegalite_to_svg(printable(chart.to_dict(validate=False)), vl_version=VERSION))

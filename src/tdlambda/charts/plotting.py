"""The `plot` of a result: draw its chart, and write it to a file if a path is given."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from tdlambda.extras import need


def plotted(path: str | Path | None, draw: Callable[[], Any]) -> Any:
    """The chart that `draw` makes, also written to `path` (.svg, .png or .pdf) unless that is None.

    >>> plotted("curve.txt", lambda: None)
    Traceback (most recent call last):
    ...
    ValueError: path must end in .pdf, .svg, .png; got 'curve.txt'
    """
    need("charts", "charts")
    from tdlambda.charts.saving import check_path, save  # Altair is slow to import

    if path is not None:
        check_path(path)
    chart = draw()
    if path is not None:
        save(chart, path)
    return chart

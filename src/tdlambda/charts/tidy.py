"""Tidy rows for charts: means over runs, plain numbers, and a look for each series."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from scipy.special import stdtrit

from tdlambda.arrays import Floats, Ints
from tdlambda.charts.style import DASHES, OKABE_ITO, SHAPES, number

Rows = Iterable[Mapping[str, Any]] | Any
"""Mappings, or a Polars or pandas data frame."""


def records(rows: Rows) -> list[dict[str, Any]]:
    """Rows as dictionaries of plain values; numbers that are not finite become None.

    >>> records([{"series": "a", "mean": float("inf")}])
    [{'series': 'a', 'mean': None}]
    """
    if hasattr(rows, "iter_rows"):
        rows = rows.iter_rows(named=True)
    elif hasattr(rows, "to_dict"):
        rows = rows.to_dict("records")
    return [{name: plain(value) for name, value in row.items()} for row in rows]


def plain(value: Any, digits: int = 6) -> Any:
    """A value for JSON: rounded, and None if a number is not finite.

    >>> plain(0.123456789), plain(float("nan")), plain([1.5, float("inf")])
    (0.123457, None, [1.5, None])
    """
    if isinstance(value, list | tuple):
        return [plain(v, digits) for v in value]
    if hasattr(value, "item") and not hasattr(value, "__len__"):
        value = value.item()
    if isinstance(value, float):
        return float(f"{value:.{digits}g}") if math.isfinite(value) else None
    return value


def mean_over_runs(curves: Floats) -> tuple[Floats, Floats, Ints]:
    """Mean and standard error over the runs, [run, point], and their number; a run counts while it is finite."""
    alive = np.isfinite(curves)
    n = alive.sum(axis=0)
    with np.errstate(all="ignore"):
        mean = np.where(alive, curves, 0.0).sum(axis=0) / n
        spread = np.sqrt((np.where(alive, curves - mean, 0.0) ** 2).sum(axis=0) / (n - 1))
        return mean, spread / np.sqrt(n), n


def band(mean: Floats, error: Floats, n: Ints | int, log: bool) -> tuple[Floats, Floats]:
    """The 95 % interval of a mean over n runs by Student's t, mean ± t · error.

    On a logarithmic axis it is mean · exp(± t · error / mean), which does not reach 0.
    """
    half = stdtrit(np.maximum(n - 1, 1), 0.975) * error
    with np.errstate(all="ignore"):
        factor = np.exp(half / mean)
        return (mean / factor, mean * factor) if log else (mean - half, mean + half)


def dressed(rows: Rows) -> list[dict[str, Any]]:
    """The rows with a look for each series, unless they set it, and the intervals as text.

    >>> dressed([{"series": "a", "x": 1, "mean": 2.0}])[0]["colour"]
    '#0072b2'
    """
    found = records(rows)
    order = {name: k for k, name in enumerate(dict.fromkeys(row["series"] for row in found))}
    return [looks(order[row["series"]], row["series"]) | _said(row) | row for row in found]


def looks(k: int, label: str) -> dict[str, Any]:
    """Colour, shape, width and dash of the k-th series."""
    return {
        "label": label, "colour": OKABE_ITO[k % len(OKABE_ITO)], "shape": SHAPES[k % len(SHAPES)], "width": 2.0,
        "dash": DASHES[k // len(OKABE_ITO) % len(DASHES)], "diverged": 0,
    }  # fmt: skip


def _said(row: Mapping[str, Any]) -> dict[str, Any]:
    low, high = row.get("low"), row.get("high")
    return {"interval": None if low is None or high is None else f"{number(low)} to {number(high)}"}

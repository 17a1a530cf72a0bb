"""Numbers and settings as a reader wants them."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np

from tdlambda.report.overview import CellView
from tdlambda.studies.study import Study

AXES = {"alpha": "α", "lam": "λ", "kappa": "κ"}
"""What parameters are called."""


def measure_name(study: Study, measure: str) -> str:
    """A measure in words."""
    return f"final {study.quantity}" if measure == "tail" else "area under the curve"


def explained(study: Study, words: str) -> str:
    """Words for what is measured, with what a cost is."""
    return f"{words} (minus the return)" if study.kind == "control" else words


def number(x: float) -> str:
    """Three digits, for a sentence.

    >>> number(9.9012e-6), number(0.663), number(1234.5), number(float("inf"))
    ('9.90×10⁻⁶', '0.663', '1,234', 'infinite')
    """
    if not np.isfinite(x):
        return "infinite" if np.isinf(x) else "unknown"
    if 1000 <= abs(x) < 1e6:
        return f"{x:,.0f}"
    return f"{x:.3g}" if x == 0 or 1e-3 <= abs(x) < 1e6 else _power(f"{x:.2e}")


def interval(low: float, high: float) -> str:
    """A 95 % interval in brackets, after a number; nothing where there is none.

    >>> interval(0.61, 0.845)
    ' (95 % interval 0.61 to 0.845)'
    """
    return f" (95 % interval {number(low)} to {number(high)})" if np.isfinite(low) else ""


def setting(x: Any) -> str:
    """A value of the grid, as short as it is.

    >>> setting(3e-4), setting(1e-5), setting(0.05), setting("direct")
    ('3×10⁻⁴', '10⁻⁵', '0.05', 'direct')
    """
    if not isinstance(x, float):
        return str(x)
    if x == 0 or 1e-3 <= abs(x) < 1e6 or not np.isfinite(x):
        return f"{x:g}"
    digits, power = f"{x:e}".split("e")
    return _power(f"{digits.rstrip('0').rstrip('.')}e{power}").removeprefix("1×")


def settings_of(cell: CellView, without: Collection[str] = ()) -> str:
    """What a cell sets, such as "α = 0.01, κ = 10⁻³"."""
    return ", ".join(f"{AXES.get(k, k)} = {setting(v)}" for k, v in cell.settings.items() if k not in without)


def _power(text: str) -> str:
    digits, power = text.split("e")
    return f"{digits}×10{''.join('⁰¹²³⁴⁵⁶⁷⁸⁹'[int(c)] if c != '-' else '⁻' for c in str(int(power)))}"

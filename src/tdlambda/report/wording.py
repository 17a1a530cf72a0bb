"""Numbers and settings as a reader wants them."""

from __future__ import annotations

from collections.abc import Collection

from tdlambda.charts.style import AXES, interval, number, setting, settings
from tdlambda.report.overview import CellView
from tdlambda.studies.study import Study

__all__ = ["AXES", "explained", "interval", "measure_name", "number", "setting", "settings", "settings_of"]


def measure_name(study: Study, measure: str) -> str:
    """A measure in words."""
    return f"final {study.quantity}" if measure == "tail" else "area under the curve"


def explained(study: Study, words: str) -> str:
    """Words for what is measured, with what a cost is."""
    return f"{words} (minus the return)" if study.kind == "control" else words


def settings_of(cell: CellView, without: Collection[str] = ()) -> str:
    """What a cell sets, such as "α = 0.01, κ = 10⁻³"."""
    return settings(cell.settings, without)

"""Formatting of numbers and settings."""

from __future__ import annotations

from collections.abc import Collection

from tdlambda.charts.style import AXES, interval, number, setting, settings
from tdlambda.lab.report.overview import CellView
from tdlambda.lab.studies.study import Study

__all__ = ["AXES", "explained", "interval", "measure_name", "number", "setting", "settings", "settings_of"]


def measure_name(study: Study, measure: str) -> str:
    """The name of a measure."""
    return f"final {study.quantity}" if measure == "tail" else "area under the curve"


def explained(study: Study, words: str) -> str:
    """The name of a measured quantity, with an explanation if it is a cost."""
    return f"{words} (minus the return)" if study.kind == "control" else words


def settings_of(cell: CellView, without: Collection[str] = ()) -> str:
    """A cell's settings, such as "α = 0.01, κ = 10⁻³"."""
    return settings(cell.settings, without)

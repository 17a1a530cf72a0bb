"""The lines of a study's charts: one for each fixed λ and each other method, and the best fixed λ in hindsight."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from tdlambda.charts.style import DASHES, SHAPES, TRUTH, colour, setting, shades
from tdlambda.lab.report.overview import CellView, Overview

ENVELOPE = "envelope"
_DASHED, _PLAIN = [5, 4], list[int]()


@dataclass(frozen=True)
class Series:
    """A line: its key, its label, its method (None if it has several), its look, and its cells."""

    key: str
    label: str
    method: str | None
    look: dict[str, Any]
    cells: list[CellView]

    def at(self, alpha: float | None, measure: str) -> CellView | None:
        """The best cell at this α, in hindsight; a method without α has the same at each."""
        here = [c for c in self.cells if c.alpha is None or c.alpha == alpha]
        return min(here, key=lambda c: c.rank(measure), default=None)


def series_of(view: Overview, methods: Sequence[str]) -> list[Series]:
    """The lines for some of the methods."""
    fixed = [name for name in methods if by_lambda(view, name)]
    others = [name for name in methods if view.kind(name) != "fixed"]
    out: list[Series] = []
    for name in methods:
        if name in fixed:
            out += _lambdas(view, name, fixed)
        else:
            strong = name in others
            shape = SHAPES[others.index(name) % len(SHAPES)] if strong else "circle"
            out.append(
                Series(name, view.named(name), name, look(view, name, 2.4 if strong else 1.5, shape), view.of(name))
            )
    lams = [one for one in out if one.method in fixed]
    if len(lams) > 1 and len({view.study.methods[name].truth for name in fixed}) == 1:
        dashed = {"colour": TRUTH, "shape": "circle", "width": 1.5, "dash": _DASHED}
        out.append(Series(ENVELOPE, "best fixed λ", None, dashed, [cell for one in lams for cell in one.cells]))
    return out


def by_lambda(view: Overview, method: str) -> bool:
    """Whether a method is a grid of fixed λ."""
    return view.kind(method) == "fixed" and "lam" in view.study.methods[method].over


def look(view: Overview, method: str, width: float = 2.4, shape: str = "circle") -> dict[str, Any]:
    """The look of a method, the same in every chart."""
    return {"colour": colour(method, list(view.study.methods)), "shape": shape, "width": width, "dash": _PLAIN}


def _lambdas(view: Overview, method: str, fixed: Sequence[str]) -> Iterator[Series]:
    values = sorted({cell.settings["lam"] for cell in view.of(method)})
    for lam, shade in zip(values, shades(len(values)), strict=True):
        label = f"{view.named(method) + ', ' if len(fixed) > 1 else ''}λ = {setting(lam)}"
        cells = [cell for cell in view.of(method) if cell.settings["lam"] == lam]
        style = {
            "colour": shade,
            "shape": "circle",
            "width": 1.5,
            "dash": DASHES[fixed.index(method) % len(DASHES)],
        }
        yield Series(f"{method} {lam:g}", label, method, style, cells)

"""Panels of lines for the documentation's figures: collected here, drawn by `tdlambda.charts`."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import altair as alt

from tdlambda import charts
from tdlambda.charts.style import INK, OKABE_ITO, SOFT, finished

DASHES = {"-": [], "--": [6, 3], ":": [1, 3], "none": [0, 1000]}


class Panel:
    """One panel: lines with bands, and what its axes are."""

    def __init__(self) -> None:
        self.rows: list[dict[str, Any]] = []
        self.rules: list[Any] = []
        self.about: dict[str, Any] = {}

    def line(
        self, x: Iterable[Any], y: Iterable[Any], label: str, *, low: Any = None, high: Any = None,
        colour: str | int | None = None, dash: str = "-", dots: bool = False,
    ) -> None:  # fmt: skip
        """A line through points, with a band if it has one; `colour` is one, or the place of one."""
        place = len({row["series"] for row in self.rows}) if colour is None else colour
        paint = OKABE_ITO[place % len(OKABE_ITO)] if isinstance(place, int) else place
        x, y = list(x), list(y)
        empty: list[Any] = [None] * len(x)
        dotted = dots or dash == "none"
        self.rows += [
            {"series": label, "x": a, "mean": b, "low": c, "high": d, "colour": paint, "dash": DASHES[dash],
             "width": 1.9, "shape": "circle", "dotted": dotted}
            for a, b, c, d in zip(x, y, empty if low is None else low, empty if high is None else high, strict=True)
        ]  # fmt: skip

    def level(self, at: float, label: str = "", colour: str = SOFT) -> None:
        """A dotted line across, with a name."""
        self._rule("y", at, label, colour)

    def upright(self, at: float, label: str = "") -> None:
        """A dotted line from top to bottom, with a name."""
        self._rule("x", at, label, SOFT)

    def _rule(self, axis: str, at: float, label: str, colour: str) -> None:
        channel = {"x": alt.X, "y": alt.Y}[axis]("at:Q", title=None if axis == "y" else self.about.get("xlabel"))
        base = alt.Chart(alt.Data(values=[{"at": at}]))
        self.rules.append(base.mark_rule(strokeDash=[2, 3], color=colour).encode(channel))
        where: dict[str, Any] = {"x": 4, "dy": -6} if axis == "y" else {"y": 8, "dx": 4}
        self.rules.append(base.mark_text(text=label, align="left", color=INK, fontSize=11, **where).encode(channel))

    def set(self, **about: Any) -> None:
        """`title`, `xlabel`, `ylabel`, `xscale`, `yscale` ("log") and `ylim`."""
        self.about |= about

    def chart(self, size: tuple[int, int]) -> Any:
        """The panel as a chart."""
        about = self.about
        log = (about.get("xscale") == "log", about.get("yscale") == "log")
        domain = (None, list(about["ylim"]) if "ylim" in about else None)
        made = charts.lines(
            self.rows, about.get("xlabel", ""), "", log=log, domain=domain, size=size, fade=False,
            dots=any(row["dotted"] for row in self.rows), under=tuple(self.rules),
        )  # fmt: skip
        title, below = about.get("title", ""), about.get("ylabel", "")
        made.title = alt.TitleParams(title or below, subtitle=below if title else alt.Undefined, color=INK)
        return made


class Figure:
    """One panel, or two side by side."""

    def __init__(self, panels: int = 1, height: int = 300) -> None:
        self.panels = [Panel() for _ in range(panels)]
        self.size = (520 if panels == 1 else 270, height)

    def chart(self) -> Any:
        """The whole."""
        parts = [panel.chart(self.size) for panel in self.panels]
        return finished(parts[0] if len(parts) == 1 else alt.hconcat(*parts, spacing=30))


def save(figure: Any, path: Path) -> None:
    """Write a figure, or a chart that is one already."""
    charts.save(figure.chart() if isinstance(figure, Figure) else figure, path)

"""The result of an audit: differences, ranking, absolute errors, remarks."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tdlambda.arrays import Floats
from tdlambda.extras import need
from tdlambda.showing import counted, likely

if TYPE_CHECKING:
    from altair.typing import ChartType


@dataclass(repr=False)
class Audit:
    """Which of several critics is closest to the true values, and how sure that is; printed as a table.

    Errors are mean squared value errors, (V - v)² averaged over the steps. Arrays are indexed by critic in the order of
    `names`; a row of a matrix is the critic that is compared, a column the one it is compared with.
    """

    names: list[str]
    difference: Floats
    """Squared error of i minus that of j."""
    low: Floats
    high: Floats
    """Limits of the interval of each difference."""
    probability: Floats
    """Probability that i is closer to the true values than j."""
    error: Floats
    """Estimated mean squared error of each critic; its expectation is below the true error."""
    error_low: Floats
    error_high: Floats
    carried: Floats
    """How many units carry the variance of each difference, at most `units`."""
    units: int
    """Number of episodes, or of blocks of a stream."""
    blocks: bool
    """Whether units are blocks."""
    steps: int
    level: float
    """Nominal coverage of the intervals."""
    remarks: list[str] = field(default_factory=list)
    """What the audit cannot know, and what is odd about the data."""

    @property
    def order(self) -> list[int]:
        """Critics from the closest to the true values to the farthest: by their mean probability of being closer."""
        return sorted(range(len(self.names)), key=lambda k: (-float(self.probability[k].sum()), k))

    @property
    def best(self) -> str:
        """The critic that is closest to the true values."""
        return self.names[self.order[0]]

    @property
    def ranking(self) -> list[tuple[str, float]]:
        """Critics from the closest on, each with the probability that it is closer than the next; NaN for the last."""
        order = self.order
        return [
            (self.names[i], float(self.probability[i, j]) if j is not None else np.nan)
            for i, j in zip(order, [*order[1:], None], strict=True)
        ]

    @property
    def sentence(self) -> str:
        """The result in one sentence."""
        i, j = self.order[:2]
        first, second = self.names[i], self.names[j]
        data = counted(self.units, "block" if self.blocks else "episode")
        if not self.carried[i, j]:
            return f"{first} and {second} predict the same: the difference of their errors is 0, {data}."
        p = self.probability[i, j]
        verb = "is" if p >= 0.95 else "is probably" if p >= 0.8 else "may be"
        many = f"{first} {verb} the closest of {len(self.names)} to the true values, before {second}"
        said = many if len(self.names) > 2 else f"{first} {verb} closer to the true values than {second}"
        limits = f"{100 * self.level:g} % interval {_short(-self.high[i, j])} to {_short(-self.low[i, j])}"
        gain = f"its mean squared error is smaller by {_short(-self.difference[i, j])} ({limits})"
        return f"{said} (probability {likely(self.probability[i, j])}); {gain}, {data}."

    def __str__(self) -> str:
        """The sentence, a table of critics from the closest on, and the remarks."""
        order, width = self.order, max(12, *(len(name) for name in self.names)) + 2
        best, percent = order[0], f"{100 * self.level:g} %"
        heads = (
            f"{'minus best':>12}",
            f"{percent:>22}",
            f"{'P(best closer)':>16}",
            f"{'error²':>12}",
            f"{percent:>22}",
        )
        lines = [self.sentence, "", f"{'':{width}}{''.join(heads)}"]
        for k in order:
            against = f"{'':50}"
            if k != best:
                limits = f"{_short(self.low[k, best])} to {_short(self.high[k, best])}"
                against = f"{_short(self.difference[k, best]):>12}{limits:>22}{likely(self.probability[best, k]):>16}"
            limits = f"{_short(self.error_low[k])} to {_short(self.error_high[k])}"
            lines.append(f"{self.names[k]:{width}}{against}{_short(self.error[k]):>12}{limits:>22}")
        lines.append("error² is a lower bound in the mean: compare critics by their differences")
        return "\n".join([*lines, *(f"note: {remark}" for remark in self.remarks)])

    __repr__ = __str__

    def to_dict(self) -> dict[str, Any]:
        """The result as plain data; numbers that are not finite become None."""
        matrices = ("difference", "low", "high", "probability", "carried")
        vectors = ("error", "error_low", "error_high")
        return {
            "sentence": self.sentence, "names": self.names, "ranking": [name for name, _ in self.ranking],
            **{name: _plain(getattr(self, name)) for name in (*matrices, *vectors)}, "units": self.units,
            "blocks": self.blocks, "steps": self.steps, "level": self.level, "remarks": self.remarks,
        }  # fmt: skip

    def to_json(self) -> str:
        """The result as JSON text."""
        return json.dumps(self.to_dict(), ensure_ascii=False, indent=2, allow_nan=False)

    def rows(self) -> list[dict[str, Any]]:
        """Tidy rows for a chart: every other critic compared with the best."""
        best = self.order[0]
        return [
            {"series": self.names[k], "mid": float(self.difference[k, best]), "low": float(self.low[k, best]),
             "high": float(self.high[k, best]), "better": float(self.probability[best, k]),
             "text": f"{likely(self.probability[best, k])} that {self.best} is closer"}
            for k in self.order[1:]
        ]  # fmt: skip

    def plot(self, path: str | Path | None = None) -> ChartType:
        """An Altair chart: the squared error of every other critic minus that of the best, with intervals.

        Parameters
        ----------
        path
            File to write the chart to (.svg, .png or .pdf); optional.
        """
        from tdlambda.charts.plotting import plotted  # Altair is slow to import

        def draw() -> ChartType:
            from tdlambda.charts.critics import critics

            return critics(self.rows(), self.best, self.level)

        return plotted(path, draw)

    def page(self, path: str | Path) -> None:
        """Write an offline HTML page with the sentence, the table, the chart and the remarks."""
        need("charts", "charts")
        from tdlambda.charts.critics import page

        Path(path).write_text(page(self), encoding="utf-8")


def _short(x: float) -> str:
    """Three digits, without a power of ten where it can be avoided.

    >>> _short(3.14159), _short(-1157.2), _short(2.5e-7)
    ('3.14', '-1,157', '2.5e-07')
    """
    return f"{x:,.0f}" if 1000 <= abs(x) < 1e7 else f"{x:.3g}"


def _plain(array: Floats) -> Any:
    if array.ndim > 1:
        return [_plain(row) for row in array]
    return [float(x) if np.isfinite(x) else None for x in array]

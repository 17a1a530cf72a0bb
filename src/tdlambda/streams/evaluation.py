"""Prequential evaluation: each prediction is made before its update and scored once the return is known."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tdlambda.arrays import choice, confidence, fraction, integer
from tdlambda.audits import Audit
from tdlambda.extras import need
from tdlambda.showing import visible
from tdlambda.streams import baselines as rivals
from tdlambda.streams.front import Alarm, summarised
from tdlambda.streams.horde import CHUNK, Horde
from tdlambda.streams.reading import Data
from tdlambda.streams.recording import Recorder
from tdlambda.streams.scored import Scored
from tdlambda.streams.scoring import Fit

if TYPE_CHECKING:
    from altair.typing import ChartType


def prequential(
    horde: Horde,
    data: Data,
    *,
    tolerance: float = 1e-6,
    period: int | None = None,
    baselines: Sequence[str] | None = None,
    level: float = 0.9,
    chunk: int = CHUNK,
    progress: bool | None = None,
) -> Prequential:
    """Train a Horde on data and score every prediction, each made before its update (prequential evaluation).

    A prediction is compared with the realised return Σ γ…γ c of the rows that follow: exactly at the end of an episode,
    otherwise up to where the product of the discounts falls below `tolerance`. Where up to 5 % of a return's weight
    falls on missing values, they are replaced by the mean of the others. At each row, baselines use the same data
    as the Horde. Off-policy returns are not observed; such questions are scored by the Bellman error.

    Parameters
    ----------
    horde
        A Horde, new or trained; it is trained on the data.
    data
        As in `Horde.learn`.
    tolerance
        Share of a return that may be missing, in (0, 1).
    period
        Season length in rows, at least 2, for the seasonal baseline. Default, with dates: a day, or a year for daily
        rows.
    baselines
        Names of baselines; None uses all that are available ("gradient boosting" needs scikit-learn).
    level
        Nominal coverage of the intervals of a Horde with `intervals=True`, in (0, 1).
    chunk, progress
        As in `Horde.learn`.

    Examples
    --------
    >>> import numpy as np, tdlambda as td
    >>> flow = 10 + np.sin(np.arange(2000) / 4) + np.random.default_rng(0).normal(0, 0.1, 2000)
    >>> horde = td.Horde(None, td.Question("flow", horizon=6))
    >>> result = td.streams.prequential(horde, {"flow": flow}, baselines=["running mean"])
    >>> result["flow"].late.r2 > 0.9 > 0.1 > result["flow"].rivals["running mean"].r2
    True
    """
    if not isinstance(horde, Horde):
        raise TypeError(f"horde must be a td.Horde; got {horde!r}")
    if not 0 < fraction(tolerance, "tolerance") < 1:
        raise ValueError(f"tolerance must be in (0, 1); got {tolerance}")
    level = confidence(level)
    period = None if period is None else integer(period, "period", 2)
    for name in baselines or ():
        choice(name, "baselines", *rivals.NAMES)
    seen, first = Recorder(horde, level, baselines), horde.rows
    for _ in horde._reading(data, chunk, 0, progress, seen):
        pass
    if not seen.pages:
        raise ValueError(
            f"data must have at least two consecutive rows; got {horde.rows - first} rows, none consecutive"
        )
    period = _period(period, seen.every)
    found = seen.scored(tolerance, period)
    return Prequential(found, period, list(horde.alarms), _title(horde), str(horde.quality))


@dataclass(repr=False)
class Prequential:
    """The scores of all questions, printed as a table. `result["flow"]` has the scores of one question."""

    questions: dict[str, Scored]
    period: int | None
    alarms: list[Alarm]
    title: str
    quality: str = ""
    """What was missing in the rows."""

    def __repr__(self) -> str:
        """A one-line summary."""
        return f"<Prequential of {len(self.questions)} question{'s' * (len(self.questions) != 1)}: {self.quality}>"

    def __getitem__(self, name: str) -> Scored:
        """The scores of one question."""
        return self.questions[name]

    def __str__(self) -> str:
        """A table of early and late R², RMSE, bias and calibration slope, with the baselines."""
        lines = [f"{'':28} {'early R²':>9} {'late R²':>9} {'95 %':>17} {'RMSE':>9} {'bias':>9} {'slope':>6}"]
        for name, s in self.questions.items():
            low, high = s.interval()["r2"] if s.known.any() else (np.nan, np.nan)
            lines.append(_line(name, s.early, s.late, f"{low:7.3f} to {high:5.3f}" if np.isfinite(low) else ""))
            early = s.rivals_early
            lines += [_line(f"  {rival}", early[rival], late, "") for rival, late in s.rivals.items()]
            held = f", {s.level:.0%} interval covers {s.coverage:.0%}" if np.isfinite(s.coverage) else ""
            lines.append(f"  Bellman error {s.bellman:.4g}{held}")
            lines += [f"  {remark}" for remark in s.remarks()]
        return visible("\n".join([*lines, *self.said()]))

    def said(self) -> list[str]:
        """What was missing in the rows, and one line for each column and kind of alarm."""
        return [self.quality] * bool(self.quality) + [f"alarm: {line}" for line in summarised(self.alarms)]

    def compare(
        self, other: Prequential, names: tuple[str, str] = ("this", "other"), level: float = 0.95
    ) -> dict[str, Audit]:
        """Which of two Hordes is closer to the true values, by `td.audit`: for each question that both answer.

        This needs no realised returns, so it also works off-policy and for returns that are not known yet.

        Parameters
        ----------
        other
            The result of another Horde on the same rows.
        names
            Names of the two in the reports.
        level
            Nominal coverage of the intervals, in (0, 1).
        """
        if not isinstance(other, Prequential):
            raise TypeError(f"other must be a result of td.streams.prequential; got {type(other).__name__}")
        both = [name for name in self.questions if name in other.questions]
        if not both:
            raise ValueError(f"other must answer one of the same questions: {', '.join(self.questions)}")
        return {name: self[name].compare(other[name], names, level) for name in both}

    def to_dict(self) -> dict[str, Any]:
        """The scores as plain data, for JSON."""
        return {
            "questions": {name: s.to_dict() for name, s in self.questions.items()}, "period": self.period,
            "quality": self.quality, "alarms": [vars(alarm) for alarm in self.alarms],
        }  # fmt: skip

    def plot(self, path: str | Path | None = None, name: str | None = None) -> ChartType:
        """An Altair chart of one question: predictions, returns, errors, weights.

        Parameters
        ----------
        path
            File to write the chart to (.svg, .png or .pdf); optional.
        name
            Name of the question; None for the first.
        """
        if path is not None and str(path) in self.questions:
            raise ValueError(f"path must be a file; got the name of a question: write plot(name={str(path)!r})")

        from tdlambda.charts.plotting import plotted  # Altair is slow to import

        def draw() -> ChartType:
            from tdlambda.charts.prequential import chart

            return chart(self.questions[name or next(iter(self.questions))])

        return plotted(path, draw)

    def page(self, path: str | Path) -> None:
        """Write an offline HTML page with the table and the charts of every question (at most twenty)."""
        need("charts", "charts")
        from tdlambda.charts.prequential import page

        Path(path).write_text(page(self), encoding="utf-8")

    def to_json(self) -> str:
        """The scores as JSON text; numbers that are not finite become null."""
        return json.dumps(_finite(self.to_dict()), ensure_ascii=False, indent=2, allow_nan=False)


def _title(horde: Horde) -> str:
    """What was predicted, and from how many rows."""
    names = list(horde.questions)
    shown = ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
    return f"Predictions of {shown}: {horde.rows:,} rows"


def _line(name: str, early: Fit, late: Fit, limits: str) -> str:
    r2, rmse, bias, slope = late.words()
    return f"{name[:28]:28} {early.words()[0]:>9} {r2:>9} {limits:>17} {rmse:>9} {bias:>9} {slope:>6}"


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _finite(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(inner) for inner in value]
    return None if isinstance(value, float) and not np.isfinite(value) else value


def _period(given: int | None, every: float | None) -> int | None:
    """The season length in rows: a day, or a year for daily rows; None if unknown."""
    if given is not None or every is None:
        return given
    day = round(86400 / every)
    return day if 2 <= day <= 1500 else 365 if every == 86400 else None

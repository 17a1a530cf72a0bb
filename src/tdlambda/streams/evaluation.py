"""How good predictions are: each made before it is learnt from, and scored once what then happened is known."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from tdlambda.arrays import Bools, Floats, Ints, choice, fraction, integer
from tdlambda.learners.base import Array
from tdlambda.streams import baselines as rivals
from tdlambda.streams.batch import Batch
from tdlambda.streams.crew import Steps
from tdlambda.streams.front import Alarm
from tdlambda.streams.horde import CHUNK, Horde
from tdlambda.streams.returns import Realised, realised
from tdlambda.streams.scoring import Fit, calibration, fit, intervals, rolling

SAMPLES = 200
"""How often the learner's λ and its experts' weights are noted, at most twice."""
SLACK = 0.05
"""How much below its level an interval may hold before it is called too narrow."""


def prequential(
    horde: Horde,
    data: Any,
    *,
    tolerance: float = 1e-6,
    period: int | None = None,
    baselines: Any = None,
    level: float = 0.9,
    chunk: int = CHUNK,
    progress: bool | None = None,
) -> Prequential:
    """Let a Horde learn from data, and score every prediction that it makes on the way before it learns from the row.

    A prediction is compared with the realised return, Σ γ…γ c of the rows that followed: exact at an episode's end, and
    elsewhere once the product of the discounts is below `tolerance`. Baselines know at each row what the Horde knows.
    Returns under another policy than the one that acted are not observed: of such questions there is the Bellman error.

    Parameters
    ----------
    horde
        A Horde, new or trained; it learns from the data.
    data
        As in `Horde.learn`.
    tolerance
        The share of a return that may be missing.
    period
        Rows in a season, for the seasonal baseline; by default a day, or a year of days, where there are dates.
    baselines
        Names of baselines; None: all that can be had ("gradient boosting" needs scikit-learn).
    level
        Of the intervals of a Horde with `variance=True`.
    chunk, progress
        As in `Horde.learn`.

    Examples
    --------
    >>> import numpy as np, tdlambda as td
    >>> flow = 10 + np.sin(np.arange(2000) / 4) + np.random.default_rng(0).normal(0, 0.1, 2000)
    >>> horde = td.Horde(None, td.Question("flow", horizon=6))
    >>> result = td.prequential(horde, {"flow": flow}, baselines=["running mean"])
    >>> result["flow"].late.r2 > 0.9 > 0.1 > result["flow"].rivals["running mean"].r2
    True
    """
    if not 0 < fraction(tolerance, "tolerance") < 1:
        raise ValueError(f"tolerance must be in (0, 1); got {tolerance}")
    period = None if period is None else integer(period, "period", 2)
    for name in baselines or ():
        choice(name, "baselines", *rivals.NAMES)
    seen, first = _Seen(horde), horde.rows
    for _ in horde._reading(data, chunk, 0, progress, seen.record):
        pass
    if not seen.at:
        raise ValueError(f"data: {horde.rows - first} rows, of which no two follow each other")
    return seen.result(tolerance, _period(period, seen.every), baselines, fraction(level, "level"))


class _Seen:
    """What happened on the way."""

    def __init__(self, horde: Horde) -> None:
        self.horde, self.stride = horde, 1
        self.at: list[int] = []
        self.rows: list[tuple[Any, ...]] = []
        self.X: list[Any] = []
        self.spread: list[Floats] = []
        self.samples: list[tuple[int, list[dict[str, float]], list[float]]] = []
        self.every: float | None = None

    def record(self, rows: Batch, X: Array, s: Steps, t: int, v: Floats, after: Floats) -> None:
        """Note a transition before it is learnt."""
        work, at = self.horde._at_work("prequential"), int(s.at[t])
        if self.every is None:
            self.every = work.following.every(rows)
        self.at.append(rows.first + at)
        self.rows.append((v, after, s.reward[t], s.gamma[t], s.rho[t], s.terminated[t], s.cut[t], s.awake[t]))
        self.X.append(X[at])
        if work.spread is not None:
            self.spread.append(work.deviation(X[at] if X.ndim > 1 else int(X[at])))
        if len(self.at) % self.stride == 0:
            self._sample(work.crew, X[at] if X.ndim > 1 else int(X[at]))

    def _sample(self, crew: Any, obs: Any) -> None:
        weights, lams = [], []
        for q in range(min(crew.n, 20)):
            one = crew.learner(q)
            weights.append(one.expert_weights() if hasattr(one, "expert_weights") else {})
            lams.append(float(one.lambda_at(obs)))
        self.samples.append((self.at[-1], weights, lams))
        if len(self.samples) >= 2 * SAMPLES:
            self.samples, self.stride = self.samples[1::2], 2 * self.stride

    def result(self, tolerance: float, period: int | None, names: Any, level: float) -> Prequential:
        """Scores of every question."""
        v, after, reward, gamma, rho, ended, cut, awake = (np.array(part) for part in zip(*self.rows, strict=True))
        X, at = np.array(self.X), np.array(self.at, dtype=np.int64)
        front = self.horde._at_work("prequential").front
        dense = X.ndim == 2 and front.encoder.active == front.encoder.size and X.shape[1] <= 256
        found: dict[str, Scored] = {}
        for q, (name, question) in enumerate(self.horde.questions.items()):
            mine = np.flatnonzero(awake[:, q])
            own = slice(None) if mine.size == len(at) else mine
            together = np.append(False, np.diff(mine) == 1) & ~cut[own]
            G = realised(reward[own, q], gamma[own, q], ended[own], together, tolerance)
            off = not question.on_policy
            wanted = [n for n in rivals.available(period, dense) if names is None or n in names] if not off else []
            rival = {
                n: rivals.predictions(n, reward[own, q], gamma[own, q], ended[own], G, X[own], period) for n in wanted
            }
            delta = rho[own, q] * (reward[own, q] + np.where(ended[own], 0, gamma[own, q]) * after[own, q] - v[own, q])
            spread = np.array(self.spread)[own, q] if self.spread else None
            samples = [(t, w[q], lam[q]) for t, w, lam in self.samples] if q < 20 else []
            squares = realised(delta**2, gamma[own, q] ** 2, ended[own], together, tolerance).value
            found[name] = Scored(name, at[own], v[own, q], G, delta, squares, rival, spread, level, off, samples)
        importance = self.horde.importance()
        for name, scored in found.items():
            scored.importance = dict(list(importance[name].items())[:30])
        return Prequential(found, period, list(self.horde.alarms), repr(self.horde))


@dataclass
class Scored:
    """One question: predictions, what then happened, and scores. Arrays are over the steps that it learnt from."""

    name: str
    rows: Ints
    """The row at which each prediction was made."""
    prediction: Floats
    realised: Realised
    delta: Floats
    """TD errors, before each step was learnt."""
    squares: Floats
    """Σ γ^2k δ² of the errors that followed."""
    baselines: dict[str, Floats]
    deviation: Floats | None
    """Of the return, as it was learnt."""
    level: float
    off_policy: bool
    samples: list[tuple[int, dict[str, float], float]]
    """Now and then: the row, the experts' weights, and λ."""
    importance: dict[str, float] = field(default_factory=dict)

    @property
    def known(self) -> Bools:
        """Where the return is known and is of the policy asked for."""
        return self.realised.known & (not self.off_policy)

    def _fit(self, v: Floats, some: Bools) -> Fit:
        some = some & self.known
        return fit(v[some], self.realised.value[some])

    @property
    def score(self) -> Fit:
        """Of all steps whose return is known."""
        return self._fit(self.prediction, np.ones(self.rows.size, dtype=bool))

    def _halves(self) -> tuple[Bools, Bools]:
        n, i = self.rows.size, np.arange(self.rows.size)
        return (i >= min(500, n // 8)) & (i < n // 2), i >= n // 2

    @property
    def early(self) -> Fit:
        """From step 500, or n/8, to the middle."""
        return self._fit(self.prediction, self._halves()[0])

    @property
    def late(self) -> Fit:
        """The second half."""
        return self._fit(self.prediction, self._halves()[1])

    @property
    def rivals(self) -> dict[str, Fit]:
        """The baselines, on the second half."""
        return {name: self._fit(v, self._halves()[1]) for name, v in self.baselines.items()}

    @property
    def rivals_early(self) -> dict[str, Fit]:
        """The baselines, early."""
        return {name: self._fit(v, self._halves()[0]) for name, v in self.baselines.items()}

    @property
    def overlap(self) -> int:
        """Steps that a return reaches, but for 5 % of it: three horizons."""
        known = self.realised.known
        return round(3 * float(self.realised.horizon[known].mean())) if known.any() else self.rows.size

    def interval(self) -> dict[str, tuple[float, float]]:
        """95 % intervals of the late R² and RMSE, by a block bootstrap."""
        some = self.known & self._halves()[1]
        return intervals(self.prediction[some], self.realised.value[some], self.overlap)

    @property
    def bellman(self) -> float:
        """The root of the mean squared TD error; it needs no waiting."""
        return float(np.sqrt(np.mean(self.delta**2)))

    @property
    def coverage(self) -> float:
        """How many of the returns of the second half lie within the learnt interval; NaN without one."""
        some = self.known & self._halves()[1]
        if self.deviation is None or not some.any():
            return np.nan
        from scipy.stats import norm

        half = float(norm.ppf(0.5 + self.level / 2)) * self.deviation[some]
        return float(np.mean(np.abs(self.prediction[some] - self.realised.value[some]) <= half))

    @property
    def repeated(self) -> float:
        """The share of the late error (G - v)² = (Σ γ^k δ)² that is not Σ γ^2k δ²; 0 where features are a state."""
        some = self.known & self._halves()[1]
        error = float(np.mean((self.realised.value - self.prediction)[some] ** 2)) if some.any() else 0.0
        return 1 - float(np.mean(self.squares[some])) / error if error > 0 else 0.0

    def calibration(self) -> list[tuple[float, float, int]]:
        """Mean prediction, mean return and number of steps, by tenths of the late predictions."""
        some = self.known & self._halves()[1]
        return calibration(self.prediction[some], self.realised.value[some])

    def rolling(self, name: str | None = None, windows: int = 60) -> tuple[Ints, Floats]:
        """Rows, and the RMSE about each, of the predictions or of a baseline."""
        v = self.prediction if name is None else self.baselines[name]
        middle, error = rolling(v, self.realised.value, self.known, windows)
        return self.rows[np.minimum(middle.astype(np.int64), self.rows.size - 1)], error

    def remarks(self) -> list[str]:
        """What a reader should know before trusting the numbers."""
        said = []
        if self.off_policy:
            said.append("off-policy: returns of the policy asked for were not observed; see the Bellman error")
        elif not self.known.any():
            said.append("no return is known yet: the stream is shorter than the horizon")
        elif not np.isfinite(self.interval()["r2"][0]):
            said.append(f"returns reach {self.overlap} steps: too few independent stretches for an interval")
        if np.isfinite(self.coverage) and self.coverage < self.level - SLACK:
            why = "errors are not normal, or their variance is not learnt yet"
            if self.repeated > 0.2:
                why = f"TD errors follow each other ({self.repeated:.0%} of the error), so the features are no state"
            said.append(
                f"the {self.level:.0%} interval held {self.coverage:.0%} of returns, take it as too narrow: {why}"
            )
        if self.baselines and self.late.n:
            best = max(self.rivals, key=lambda name: np.nan_to_num(self.rivals[name].r2, nan=-np.inf))
            if self.rivals[best].r2 > self.late.r2:
                said.append(f"{best} was better in the second half: R² {self.rivals[best].r2:.3f}")
        return said

    def to_dict(self) -> dict[str, Any]:
        """Scores as plain data."""
        limits, early = self.interval() if self.known.any() else {}, self.rivals_early
        return {
            "steps": int(self.rows.size), "known": int(self.known.sum()), "all": self.score._asdict(),
            "early": self.early._asdict(), "late": self.late._asdict(), "late_interval": limits,
            "bellman": self.bellman, "coverage": self.coverage, "level": self.level,
            "baselines": {n: {"early": early[n]._asdict(), "late": f._asdict()} for n, f in self.rivals.items()},
            "calibration": self.calibration() if self.known.any() else [],
            "importance": self.importance, "remarks": self.remarks(),
        }  # fmt: skip


@dataclass
class Prequential:
    """The scores of every question; printed, it is a table. `result["flow"]` is one question's."""

    questions: dict[str, Scored]
    period: int | None
    alarms: list[Alarm]
    title: str

    def __getitem__(self, name: str) -> Scored:
        """One question."""
        return self.questions[name]

    def __str__(self) -> str:
        """Early and late R², RMSE, bias and calibration, beside baselines."""
        lines = [f"{'':28} {'early R²':>9} {'late R²':>9} {'95 %':>17} {'RMSE':>9} {'bias':>9} {'slope':>6}"]
        for name, s in self.questions.items():
            low, high = s.interval()["r2"] if s.known.any() else (np.nan, np.nan)
            lines.append(_line(name, s.early, s.late, f"{low:7.3f} to {high:5.3f}" if np.isfinite(low) else ""))
            early = s.rivals_early
            lines += [_line(f"  {rival}", early[rival], late, "") for rival, late in s.rivals.items()]
            held = f", {s.level:.0%} interval held {s.coverage:.0%}" if np.isfinite(s.coverage) else ""
            lines.append(f"  Bellman error {s.bellman:.4g}{held}")
            lines += [f"  {remark}" for remark in s.remarks()]
        lines += [f"alarm: {alarm}" for alarm in self.alarms[:10]]
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        """Plain data, fit for JSON."""
        return {
            "questions": {name: s.to_dict() for name, s in self.questions.items()}, "period": self.period,
            "alarms": [vars(alarm) for alarm in self.alarms],
        }  # fmt: skip

    def plot(self, name: str | None = None) -> Any:
        """An Altair chart of one question, the first by default: predictions, returns, errors, weights, features."""
        from tdlambda.charts.prequential import chart

        return chart(self.questions[name or next(iter(self.questions))])

    def page(self, path: str | Path) -> None:
        """Write a page that needs no network: the table, and the charts of every question (of twenty at most)."""
        from tdlambda.charts.prequential import page

        Path(path).write_text(page(self), encoding="utf-8")

    def to_json(self) -> str:
        """The same as text; what is not finite is null."""
        return json.dumps(_finite(self.to_dict()), ensure_ascii=False, indent=2, allow_nan=False)


def _line(name: str, early: Fit, late: Fit, limits: str) -> str:
    scores = f"{early.r2:9.3f} {late.r2:9.3f} {limits:>17} {late.rmse:9.4g} {late.bias:9.2g} {late.slope:6.2f}"
    return f"{name[:28]:28} {scores}"


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _finite(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(inner) for inner in value]
    return None if isinstance(value, float) and not np.isfinite(value) else value


def _period(given: int | None, every: float | None) -> int | None:
    """Rows in a day, or days in a year."""
    if given is not None or every is None:
        return given
    day = round(86400 / every)
    return day if 2 <= day <= 1500 else 365 if every == 86400 else None

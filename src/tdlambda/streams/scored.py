"""The predictions and realised returns of one question, and their scores."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tdlambda.arrays import Bools, Floats, Ints
from tdlambda.audits import Audit, audit
from tdlambda.streams.returns import Realised
from tdlambda.streams.scoring import Fit, calibration, constant, fit, intervals, rolling

SLACK = 0.05
"""Largest shortfall of an interval's coverage that is not reported as too narrow."""
MANY_LOST = 0.05
"""Share of missing rewards above which the result advises to drop their rows."""


@dataclass(repr=False)
class Scored:
    """Predictions, realised returns and scores of one question. Arrays are indexed by its learning steps."""

    name: str
    rows: Ints
    """Row of each prediction."""
    prediction: Floats
    realised: Realised
    delta: Floats
    """TD errors before each update; NaN where the reward is missing."""
    baselines: dict[str, Floats]
    limits: Floats | None
    """Limits of the prediction interval at each step [step, (low, high)]."""
    level: float
    off_policy: bool
    samples: list[tuple[int, dict[str, float], float]]
    """Snapshots over time: row, expert weights, and λ."""
    steps: dict[str, Any] = field(default_factory=dict)
    """Value of the next row, reward, γ, ρ and ends of each step, as `td.audit` takes them."""
    lost: int = 0
    """Number of steps whose reward is missing."""
    streams: list[Any] = field(default_factory=list)
    """The stream of each step; empty if there is one only."""
    importance: dict[str, float] = field(default_factory=dict)

    @property
    def known(self) -> Bools:
        """Whether each return is known and belongs to the target policy."""
        return self.realised.known & (not self.off_policy)

    def _fit(self, v: Floats, some: Bools) -> Fit:
        some = some & self.known
        return fit(v[some], self.realised.value[some])

    @property
    def score(self) -> Fit:
        """Scores over all steps whose return is known."""
        return self._fit(self.prediction, np.ones(self.rows.size, dtype=bool))

    def _halves(self) -> tuple[Bools, Bools]:
        n, i = self.rows.size, np.arange(self.rows.size)
        return (i >= min(500, n // 8)) & (i < n // 2), i >= n // 2

    @property
    def early(self) -> Fit:
        """Scores from step 500 (or n/8) to the middle."""
        return self._fit(self.prediction, self._halves()[0])

    @property
    def late(self) -> Fit:
        """Scores over the second half."""
        return self._fit(self.prediction, self._halves()[1])

    @property
    def rivals(self) -> dict[str, Fit]:
        """Scores of the baselines over the second half."""
        return {name: self._fit(v, self._halves()[1]) for name, v in self.baselines.items()}

    @property
    def rivals_early(self) -> dict[str, Fit]:
        """Scores of the baselines over the early steps."""
        return {name: self._fit(v, self._halves()[0]) for name, v in self.baselines.items()}

    @property
    def overlap(self) -> int:
        """Number of steps that contain 95 % of a return: three horizons."""
        known = self.realised.known
        return round(3 * float(self.realised.horizon[known].mean())) if known.any() else self.rows.size

    def interval(self) -> dict[str, tuple[float, float]]:
        """95 % intervals of the late R² and RMSE, by a block bootstrap."""
        some = self.known & self._halves()[1]
        return intervals(self.prediction[some], self.realised.value[some], self.overlap)

    @property
    def bellman(self) -> float:
        """Root mean squared TD error; it is available without waiting for returns."""
        known = self.delta[np.isfinite(self.delta)]
        return float(np.sqrt(np.mean(known**2))) if known.size else np.nan

    @property
    def coverage(self) -> float:
        """Share of the second half's returns within their interval; NaN without a finite interval."""
        return self._coverage(self._halves()[1])

    @property
    def coverage_early(self) -> float:
        """The same over the early steps."""
        return self._coverage(self._halves()[0])

    def _coverage(self, some: Bools) -> float:
        if self.limits is None:
            return np.nan
        some = some & self.known & np.isfinite(self.limits).all(axis=1)
        if not some.any():
            return np.nan
        low, high = self.limits[some].T
        return float(np.mean((low <= self.realised.value[some]) & (self.realised.value[some] <= high)))

    def calibration(self) -> list[tuple[float, float, int]]:
        """Mean prediction, mean return and number of steps, in deciles of the late predictions."""
        some = self.known & self._halves()[1]
        return calibration(self.prediction[some], self.realised.value[some])

    def rolling(self, name: str | None = None, windows: int = 60) -> tuple[Ints, Floats]:
        """The middle rows of at most `windows` windows, and the RMSE of the predictions, or of a baseline, in each."""
        v = self.prediction if name is None else self.baselines[name]
        middle, error = rolling(v, self.realised.value, self.known, windows)
        return self.rows[np.minimum(middle.astype(np.int64), self.rows.size - 1)], error

    def compare(self, other: Scored, names: tuple[str, str] = ("this", "other"), level: float = 0.95) -> Audit:
        """Which of two predictions of the same rows is closer to the true values: see `Prequential.compare`."""
        if not np.array_equal(self.rows, other.rows) or not np.array_equal(
            self.steps["reward"], other.steps["reward"], equal_nan=True
        ):
            raise ValueError(f"other: {self.name!r} must be evaluated on the same rows and cumulants")
        good = np.isfinite(self.steps["reward"])
        common = {name: x[good] for name, x in self.steps.items() if name != "value_next"}
        common["truncated"] = common["truncated"] | (np.append(~good[1:], False)[good] & ~common["terminated"])
        values = {
            name: (one.prediction[good], one.steps["value_next"][good])
            for name, one in zip(names, (self, other), strict=True)
        }
        return audit(values, **common, level=level)

    def remarks(self) -> list[str]:
        """Warnings about the scores."""
        said, late = list[str](), self.known & self._halves()[1]
        if self.off_policy:
            said.append(
                "off-policy: returns of the target policy are not observed; see the Bellman error, or compare Hordes"
            )
        elif not self.known.any():
            said.append(self._why_unknown())
        elif not late.any():
            said.append("no answer in the second half is known yet; see the early scores")
        elif constant(self.realised.value[late]):
            said.append("the returns are constant in the second half, so R² is not defined; see the RMSE")
        elif not np.isfinite(self.interval()["r2"][0]):
            said.append(f"returns span {self.overlap} steps: the stream has too few independent blocks for an interval")
        if np.isfinite(self.coverage) and self.coverage < self.level - SLACK:
            said.append(
                f"the {self.level:.0%} interval covers {self.coverage:.0%} of the returns: errors were smaller before"
            )
        if self.streams and late.any():
            of = {key: self._fit(self.prediction, late & np.array([s == key for s in self.streams]))
                  for key in dict.fromkeys(self.streams)}  # fmt: skip
            low, high = (choose(of, key=lambda key: np.nan_to_num(of[key].r2, nan=-np.inf)) for choose in (min, max))
            said.append(
                f"{len(of):,} streams together; R² of each by itself in the second half: "
                f"{of[low].words()[0]} ({low}) to {of[high].words()[0]} ({high})"
            )
        if self.lost and self.known.any():
            open_ = self.rows.size - 1 - int(np.flatnonzero(self.known)[-1])
            said.append(
                f"{self.lost:,} value{'s are' if self.lost > 1 else ' is'} missing in the column: "
                f"{int(self.known.sum()):,} of {self.rows.size:,} answers can be scored"
                + (f"; the last {open_:,} are not known yet" if open_ else "")
                + ("; so many interrupt the learning: drop such rows" if self.lost > MANY_LOST * self.rows.size else "")
            )
        if self.baselines and self.late.n:
            best = max(self.rivals, key=lambda name: np.nan_to_num(self.rivals[name].r2, nan=-np.inf))
            if self.rivals[best].r2 > self.late.r2:
                said.append(f"{best} was better in the second half: R² {self.rivals[best].r2:.3f}")
        return said

    def _why_unknown(self) -> str:
        if self.lost:
            return f"no answer can be scored: {self.lost:,} of {self.rows.size:,} values of the column are missing"
        return f"no answer is known yet: it takes more than the {self.rows.size:,} steps of the stream"

    def __repr__(self) -> str:
        """A one-line summary."""
        return f"<Scored {self.name!r}: {self.rows.size:,} steps, late R² {self.late.words()[0]}>"

    def to_dict(self) -> dict[str, Any]:
        """Scores as plain data."""
        limits, early = self.interval() if self.known.any() else {}, self.rivals_early
        return {
            "steps": int(self.rows.size), "known": int(self.known.sum()), "all": self.score._asdict(),
            "early": self.early._asdict(), "late": self.late._asdict(), "late_interval": limits,
            "bellman": self.bellman, "coverage": self.coverage, "coverage_early": self.coverage_early,
            "level": self.level,
            "baselines": {n: {"early": early[n]._asdict(), "late": f._asdict()} for n, f in self.rivals.items()},
            "calibration": self.calibration() if self.known.any() else [],
            "importance": self.importance, "remarks": self.remarks(),
        }  # fmt: skip

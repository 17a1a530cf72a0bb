"""From terms to the `RowPlan` of one pass over the rows: see `row_history`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from tdlambda.arrays import Floats, Ints
from tdlambda.features import row_history as history
from tdlambda.features.sensor_checks import CHECKS
from tdlambda.features.terms import PERIODS, Cosines, Cycle, Difference, Lag, Mean, Name, Number, Season, Term, Weekdays


def times_of(terms: Sequence[Term]) -> list[Name]:
    """Names of the columns of times that terms read."""
    found = [t.time if isinstance(t, Season) else t.column for t in terms if isinstance(t, Season | Cycle | Weekdays)]
    return list(dict.fromkeys(name for name in found if name is not None))


def row_plan(
    terms: Sequence[Term], columns: Sequence[Name], checked: int, constant: bool, window: float
) -> tuple[history.RowPlan, int]:
    """The plan of the dense features of terms, and the size of the memory of a stream.

    The first `checked` columns are checked, and each is a signal: a column with running statistics.
    """
    builder = _Builder(columns, checked, times_of(terms), window)
    for term in terms:
        builder.add(term)
    builder.before = len(builder.features)
    if constant:
        builder.feature(history.CONSTANT)
    return builder.plan()


class _Builder:
    def __init__(self, columns: Sequence[Name], checked: int, times: list[Name], window: float) -> None:
        self.columns, self.checked, self.window = columns, checked, window
        self.place = {name: i for i, name in enumerate(columns)}
        self.time = {name: i for i, name in enumerate(times)}
        self.signals: dict[tuple[int, int], int] = {(i, 0): i for i in range(checked)}
        self.means: list[tuple[int, float]] = []
        self.seasons: list[tuple[int, int, int, float, float, int]] = []
        self.features: list[tuple[int, int, int, float, int]] = []
        self.depth, self.before = 1, 0
        self.cosines: Cosines | None = None

    def feature(self, kind: int, index: int = 0, lag: int = 0, number: float = 0.0, signal: int = -1) -> None:
        self.features.append((kind, index, lag, number, signal))

    def add(self, term: Any) -> None:
        if isinstance(term, Number | Lag | Difference):
            self._past(term)
        elif isinstance(term, Mean):
            for window in term.windows:
                self.feature(history.AVERAGE, len(self.means), signal=self.place[term.column])
                self.means.append((self.place[term.column], window))
        elif isinstance(term, Season):
            self._season(term)
        elif isinstance(term, Cycle):
            time = -1 if term.column is None else self.time[term.column]
            for period in term.periods:
                seconds = PERIODS[period] if isinstance(period, str) else period
                for k in range(1, term.harmonics + 1):
                    self.feature(history.SINE, time, number=2 * np.pi * k / seconds)
                    self.feature(history.COSINE, time, number=2 * np.pi * k / seconds)
        elif isinstance(term, Cosines):
            self.cosines = term
        elif isinstance(term, Weekdays):
            for day in term.days:
                for what in range(3 if term.profile else 1):
                    self.feature(history.WEEKDAY, self.time[term.column], what, day)

    def _past(self, term: Any) -> None:
        column = self.place[term.column]
        for step in (0,) if isinstance(term, Number) else term.steps:
            self.depth = max(self.depth, step + 1)
            if isinstance(term, Difference):
                signal = self.signals.setdefault((column, step), len(self.signals))
                self.feature(history.DIFFERENCE, signal=signal)
            else:
                self.feature(history.VALUE, lag=step, signal=column)

    def _season(self, term: Season) -> None:
        column, k = self.place[term.column], len(self.seasons)
        period = PERIODS[term.period] if isinstance(term.period, str) else float(term.period or 0.0)
        timed = term.time is not None
        slots = term.slots if timed else history.RING if period == 0 else int(period)
        time = self.time[term.time] if term.time is not None else -1
        self.seasons.append((column, slots, time, period, term.gamma, term.steps))
        for kind in (history.AHEAD, history.NEXT, *([history.SMOOTH] if timed else [])):
            self.feature(kind, k, signal=column)

    def _cosines(self) -> Floats:
        """Random frequencies of all other features but the constant, and phases."""
        if self.cosines is None:
            return np.zeros((0, 1))
        n, rng = self.before, np.random.default_rng(self.cosines.seed)
        m = self.cosines.number
        return np.column_stack([rng.normal(size=(m, n)) / np.sqrt(n), rng.uniform(0, 2 * np.pi, m)])

    def plan(self) -> tuple[history.RowPlan, int]:
        columns = len(self.columns)
        checks_at = history.HEAD + self.depth * columns
        means_at = checks_at + self.checked * (CHECKS + 1)
        seasons_at, end = [], means_at + 2 * len(self.means)
        for _, slots, time, period, *_ in self.seasons:
            seasons_at.append(end)
            end += 2 * slots if time >= 0 else 2 + slots * (1 if period > 0 else 2)
        s, f = self.seasons, self.features
        return history.RowPlan(
            columns=columns, depth=self.depth, checked=self.checked, checks_at=checks_at, means_at=means_at,
            signal_column=_ints(c for c, _ in self.signals), signal_apart=_ints(a for _, a in self.signals),
            mean_column=_ints(c for c, _ in self.means), mean_window=_floats(w for _, w in self.means),
            season_column=_ints(x[0] for x in s), season_at=_ints(seasons_at), season_slots=_ints(x[1] for x in s),
            season_time=_ints(x[2] for x in s), season_period=_floats(x[3] for x in s),
            season_gamma=_floats(x[4] for x in s), season_steps=_ints(x[5] for x in s),
            kind=_ints(x[0] for x in f), of=_ints(x[1] for x in f), lag=_ints(x[2] for x in f),
            number=_floats(x[3] for x in f), signal=_ints(x[4] for x in f), cosines=self._cosines(),
            window=self.window,
        ), end  # fmt: skip


def _ints(some: Iterable[int]) -> Ints:
    return np.array(list(some), dtype=np.int64)


def _floats(some: Iterable[float]) -> Floats:
    return np.array(list(some), dtype=np.float64)

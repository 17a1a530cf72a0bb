"""Features of a stream, chosen from its columns, its time stamps and its questions."""

from __future__ import annotations

from typing import NamedTuple

from tdlambda.features.columns import Columns
from tdlambda.features.terms import Category, Cosines, Cycle, Lag, Mean, Name, Number, Season, Term, Weekdays

DAY, WEEK = 86400.0, 604800.0
LAGS = (4, 6, 9, 13, 19, 28, 41, 60, 88, 128, 187)
"""Lags of a predicted column besides 1, 2 and 3, up to two horizons."""
OTHERS, TEXTS, PREDICTED, HORIZONS = 12, 4, 4, 2
"""Largest number of other columns that have lags, of columns of text, of predicted columns that have seasons, and of
horizons of one column that have seasons."""
ROOM, MOST, COSINES = 64, 150, 40
"""Largest number of features with lags of other columns, and with random cosines; number of those."""
SLOTS = 2500
"""Largest number of slots of a season."""


class Target(NamedTuple):
    """A column that is predicted: its discount, or the length of a window in rows."""

    column: Name
    gamma: float
    steps: int = 0

    @property
    def horizon(self) -> float:
        """The horizon, in rows."""
        return float(self.steps) if self.steps else 1 / max(1e-6, 1 - self.gamma)


def default_terms(
    numbers: list[Name], texts: list[Name], time: Name | None, every: float | None, asked: list[Target]
) -> Columns:
    """Default features of a stream. `every` is the time between rows, in seconds; None if it is unknown.

    They form nested sets: values, short lags and seasons of what is predicted; most features; random cosines of them.
    """
    time = time if every is not None else None
    targets: dict[Name, list[Target]] = {}
    for one in asked:
        targets.setdefault(one.column, []).append(one)
    first: list[Term] = []
    more: list[Term] = []
    for name in [name for name in targets if name in numbers][:PREDICTED]:
        first += [Number(name), Lag(name, 1, 2, 3)]
        first += [term for one in targets[name][:HORIZONS] for term in _seasons(one, time, every)]
    others = [name for name in numbers if name not in targets or Number(name) not in first]
    more += [Number(name) for name in others]
    if time is not None and every is not None:
        more += _calendar(time, every)
    for name in [name for name in targets if name in numbers][:PREDICTED]:
        more += _longer(name, max(one.horizon for one in targets[name]))
    more += [Category(name, most=8) for name in texts[:TEXTS]]
    if 0 < len(others) <= OTHERS and asked:
        lags = [1] + [lag for lag in (3, 9) if lag <= 2 * max(one.horizon for one in asked)]
        for lag in range(len(lags), 0, -1):
            if _size(first) + _size(more) + lag * len(others) < ROOM:
                more += [Lag(name, *lags[:lag]) for name in others]
                break
    core, size = _size(first), _size(first) + _size(more) + 1
    if not first or size > MOST or any(isinstance(term, Category) for term in more):
        return Columns(*first, *more)
    nested = (core, size) if core < size - 1 else (size,)
    return Columns(*first, *more, Cosines(COSINES), nested=nested)


def _size(terms: list[Term]) -> int:
    return sum(term.size for term in terms)


def _longer(name: Name, h: float) -> list[Term]:
    """Means and longer lags of a column that is predicted."""
    windows = sorted({max(2.0, round(h * factor, 2)) for factor in (0.25, 1.0, 4.0, 20.0)})
    lags = [lag for lag in LAGS if lag <= max(2 * h, 6)]
    return [Mean(name, *windows), *([Lag(name, *lags)] if lags else [])]


def _seasons(one: Target, time: Name | None, every: float | None) -> list[Term]:
    over = {"gamma": 1.0 if one.steps else one.gamma, "steps": one.steps}
    periods = {}
    if time is not None and every is not None:
        periods = {"day": DAY / every, "week": WEEK / every, "year": 31556952.0 / every}
        if every < DAY / 2:
            del periods["year"]
    found: list[Term] = [
        Season(one.column, time, period, round(slots), **over)  # type: ignore[arg-type]
        for period, slots in periods.items()
        if 2 <= round(slots) <= SLOTS
    ]
    return found or [Season(one.column, **over)]  # type: ignore[arg-type]


def _calendar(time: Name, every: float) -> list[Term]:
    if every <= DAY / 2:
        return [Cycle(time, "day", harmonics=3), Cycle(time, "week"), Weekdays(time)]
    if every < 2 * DAY:
        return [Weekdays(time, (0, 1, 2, 3, 4, 5), profile=False), Cycle(time, "year", harmonics=2)]
    return [Cycle(time, "year", harmonics=2)]

"""Terms, of which features of rows are composed: values, lags, means, seasons, cycles, categories, tiles."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, TypeAlias

import numpy as np

from tdlambda.arrays import fraction, integer, positive

Name: TypeAlias = str | int
PERIODS = {"minute": 60.0, "hour": 3600.0, "day": 86400.0, "week": 604800.0, "year": 31556952.0}
"""Periods by name, in seconds."""


@dataclass(frozen=True)
class Term:
    """Base class of terms: some features of one or several columns."""

    kind: ClassVar[str] = ""
    numeric: ClassVar[bool] = True
    """Whether its column is one of numbers."""

    @property
    def columns(self) -> tuple[Name, ...]:
        """Names of the numeric columns that it reads."""
        return (self.column,) if self.numeric and hasattr(self, "column") else ()

    @property
    def size(self) -> int:
        """Number of features."""
        return len(self.names)

    @property
    def names(self) -> list[str]:
        """Names of the features."""
        raise NotImplementedError

    @property
    def details(self) -> list[Any]:
        """The settings, in readable form."""
        return []

    def __str__(self) -> str:
        """A description in words."""
        of = self.columns if not hasattr(self, "column") else ("rows" if self.column is None else self.column,)
        more = f": {', '.join(map(str, self.details))}" if self.details else ""
        return f"{self.kind} of {' × '.join(map(str, of))}{more}"


@dataclass(frozen=True)
class Number(Term):
    """The value of a column; a column's name alone stands for this term."""

    column: Name
    kind: ClassVar[str] = "value"

    @property
    def names(self) -> list[str]:
        """Names of the features."""
        return [str(self.column)]


@dataclass(frozen=True, init=False)
class Past(Term):
    """Base class of terms that use a column's value some rows ago."""

    column: Name
    steps: tuple[int, ...]
    called: ClassVar[str]
    """Name of a feature, as a format of column and step."""

    def __init__(self, column: Name, *steps: int) -> None:
        found = tuple(integer(step, "steps", 1, 100_000) for step in steps)
        if not found:
            raise ValueError("steps must be one or more numbers of rows, such as 1; got none")
        object.__setattr__(self, "column", column)
        object.__setattr__(self, "steps", found)

    @property
    def details(self) -> list[Any]:
        """The settings, in readable form."""
        return list(self.steps)

    @property
    def names(self) -> list[str]:
        """Names of the features."""
        return [self.called.format(self.column, step) for step in self.steps]


class Lag(Past):
    """The value of a column some rows ago; the first value while there are fewer rows.

    Parameters
    ----------
    column
        Name of the column.
    steps
        One or more numbers of rows, from 1 to 100,000; each gives one feature.
    """

    kind, called = "lags", "{}, {} ago"


class Difference(Past):
    """The difference between a column's value and its value some rows ago.

    Parameters
    ----------
    column
        Name of the column.
    steps
        One or more numbers of rows, from 1 to 100,000; each gives one feature.
    """

    kind, called = "differences", "{} - {} ago"


@dataclass(frozen=True, init=False)
class Cycle(Term):
    """Sine and cosine of the time of day, the time of week, or any other period.

    Parameters
    ----------
    column
        Name of the column of times; None counts rows.
    periods
        "minute", "hour", "day", "week", "year", or positive numbers in the column's unit (seconds for dates).
    harmonics
        Number of frequencies per period, from 1 to 1000: the sines and cosines of 1, 2, 3, … times the frequency.
    """

    column: Name | None
    periods: tuple[str | float, ...]
    harmonics: int
    kind: ClassVar[str] = "cycle"
    numeric: ClassVar[bool] = False

    def __init__(self, column: Name | None, *periods: str | float, harmonics: int = 1) -> None:
        for period in periods:
            if isinstance(period, str) and period not in PERIODS:
                raise ValueError(f"period must be one of {', '.join(PERIODS)}, or a number; got {period!r}")
            if not isinstance(period, str):
                positive(period, "period")
        if not periods:
            raise ValueError('periods must be one or more periods, such as "day"; got none')
        object.__setattr__(self, "column", column)
        object.__setattr__(self, "periods", periods)
        object.__setattr__(self, "harmonics", integer(harmonics, "harmonics", 1, 1000))

    @property
    def details(self) -> list[Any]:
        """The settings, in readable form."""
        return list(self.periods)

    @property
    def names(self) -> list[str]:
        """Names of the features."""
        waves = [f"{k} × " if k > 1 else "" for k in range(1, self.harmonics + 1)]
        return [f"{what} of {wave}{period}" for period in self.periods for wave in waves for what in ("sine", "cosine")]


@dataclass(frozen=True)
class Category(Term):
    """One-hot features of a column's values, with a last feature for any other value.

    Parameters
    ----------
    column
        Name of the column.
    values
        The values that have a feature of their own; by default the first `most` values seen.
    most
        Number of values that have a feature of their own if `values` is None, from 1 to 1,000,000.
    """

    column: Name
    values: tuple[Any, ...] | None = None
    most: int = 16
    kind: ClassVar[str] = "category"
    numeric: ClassVar[bool] = False

    def __post_init__(self) -> None:
        """Validate the arguments."""
        object.__setattr__(self, "most", integer(self.most, "most", 1, 1_000_000))
        if self.values is not None:
            object.__setattr__(self, "values", tuple(self.values))

    @property
    def names(self) -> list[str]:
        """Names of the features."""
        known = self.values if self.values is not None else [f"value {k + 1}" for k in range(self.most)]
        return [*(f"{self.column} = {value}" for value in known), f"{self.column}: other"]


@dataclass(frozen=True, init=False)
class Tiles(Term):
    """Tile coding of one column or several columns jointly, over ± 3 running deviations about the running mean.

    Parameters
    ----------
    of
        Names of the columns.
    tiles
        Number of tiles along each column, from 1 to 1000.
    tilings
        Number of tilings, from 1 to 1000.
    """

    of: tuple[Name, ...]
    tiles: int
    tilings: int
    kind: ClassVar[str] = "tiles"

    def __init__(self, *of: Name, tiles: int = 8, tilings: int = 4) -> None:
        if not of:
            raise ValueError('Tiles needs at least one column, such as Tiles("flow"); got none')
        object.__setattr__(self, "of", of)
        object.__setattr__(self, "tiles", integer(tiles, "tiles", 1, 1000))
        object.__setattr__(self, "tilings", integer(tilings, "tilings", 1, 1000))
        if self.size > 10_000_000:
            raise ValueError(f"Tiles must have at most 10⁷ features; got {self.size}: use fewer tiles or columns")

    @property
    def columns(self) -> tuple[Name, ...]:
        """Names of the numeric columns that it reads."""
        return self.of

    @property
    def size(self) -> int:
        """Number of features."""
        return int(self.tilings * (self.tiles + 1) ** len(self.of))

    @property
    def details(self) -> list[Any]:
        """The settings, in readable form."""
        return [f"{self.tilings} tilings of {self.tiles}"]

    @property
    def names(self) -> list[str]:
        """Names of the features."""
        return [f"{' × '.join(map(str, self.of))}, tile {k}" for k in range(self.size)]

    def indices(self, z: Any) -> Any:
        """The active tile of each tiling [row, tiling], from running coordinates [row, column]."""
        unit = (np.clip(z, -3, 3) + 3) / 6 * self.tiles
        found = np.zeros((len(unit), self.tilings), dtype=np.int64)
        for k in range(self.tilings):
            for j in range(len(self.of)):  # displaced by odd numbers, as Sutton & Barto (2018), section 9.5.4
                at = np.floor(unit[:, j] + (k * (2 * j + 1) % self.tilings) / self.tilings).astype(np.int64)
                found[:, k] = found[:, k] * (self.tiles + 1) + np.minimum(at, self.tiles)
            found[:, k] += k * (self.tiles + 1) ** len(self.of)
        return found


@dataclass(frozen=True, init=False)
class Mean(Term):
    """Exponential means of a column.

    Parameters
    ----------
    column
        Name of the column.
    windows
        One or more numbers of readings, at least 1; each gives one feature.

    Examples
    --------
    >>> from tdlambda.features import Mean
    >>> Mean("flow", 6, 24).names
    ['flow, mean of 6', 'flow, mean of 24']
    """

    column: Name
    windows: tuple[float, ...]
    kind: ClassVar[str] = "means"

    def __init__(self, column: Name, *windows: float) -> None:
        found = tuple(float(positive(window, "windows")) for window in windows)
        if not found or min(found) < 1:
            raise ValueError(f"windows must be one or more numbers of readings, at least 1; got {windows}")
        object.__setattr__(self, "column", column)
        object.__setattr__(self, "windows", found)

    @property
    def details(self) -> list[Any]:
        """The settings, in readable form."""
        return [f"{window:g}" for window in self.windows]

    @property
    def names(self) -> list[str]:
        """Names of the features."""
        return [f"{self.column}, mean of {window:g}" for window in self.windows]


@dataclass(frozen=True)
class Season(Term):
    """What follows if the last season repeats: its discounted mean from here on, and the next value.

    With a column of times, the last value in each slot of the season is kept, so gaps do no harm, and there is a third
    feature, the discounted mean of values that are smoothed over several seasons. Without one, rows are counted.

    Parameters
    ----------
    column
        Name of the column.
    time
        Name of the column of times; None counts rows.
    period
        "minute", "hour", "day", "week", "year", or a positive number in the unit of `time` (seconds for dates), or of
        rows. None, without `time`, detects it from the autocorrelation of up to 2,048 values.
    slots
        Number of slots of a season, from 2 to 20,000, if there is a column of times.
    gamma
        Discount of the mean, in [0, 1].
    steps
        Instead of the discount: length of a window in rows, from 0 (none) to 1,000,000.

    Examples
    --------
    >>> from tdlambda.features import Season
    >>> print(Season("flow", "date", "day", slots=24, gamma=0.9))
    season of flow: day, γ = 0.9
    >>> Season("flow").names
    ['flow, as the last season', 'flow, next in the last season']
    """

    column: Name
    time: Name | None = None
    period: str | float | None = None
    slots: int = 24
    gamma: float = 1.0
    steps: int = 0
    kind: ClassVar[str] = "season"

    def __post_init__(self) -> None:
        """Validate the arguments."""
        if isinstance(self.period, str) and self.period not in PERIODS:
            raise ValueError(f"period must be one of {', '.join(PERIODS)}, or a number; got {self.period!r}")
        if self.period is None and self.time is not None:
            raise ValueError('period must be given with a column of times, such as "day"; got None')
        if isinstance(self.period, str) and self.time is None:
            raise ValueError(f"period must be a number of rows without a column of times; got {self.period!r}")
        if self.period is not None and not isinstance(self.period, str):
            positive(self.period, "period")
        integer(self.slots, "slots", 2, 20_000)
        integer(self.steps, "steps", 0, 1_000_000)
        fraction(self.gamma, "gamma")

    @property
    def details(self) -> list[Any]:
        """The settings, in readable form."""
        over = f"window of {self.steps} rows" if self.steps else f"γ = {self.gamma:.4g}"
        return [self._called(), over]

    def _called(self) -> str:
        if self.period is None:
            return "period detected"
        return self.period if isinstance(self.period, str) else f"{self.period:g}" + " rows" * (self.time is None)

    @property
    def names(self) -> list[str]:
        """Names of the features."""
        last = "season" if self.period is None else self._called()
        names = [f"{self.column}, as the last {last}", f"{self.column}, next in the last {last}"]
        return names + [f"{self.column}, as a usual {last}"] * (self.time is not None)


@dataclass(frozen=True)
class Weekdays(Term):
    """For each given weekday, its indicator, alone and times the sine and the cosine of the time of day.

    Parameters
    ----------
    column
        Name of the column of dates.
    days
        Weekdays, from 0 (Monday) to 6.
    profile
        Whether to add the indicators times sine and cosine.

    Examples
    --------
    >>> from tdlambda.features import Weekdays
    >>> Weekdays("date", (5, 6), profile=False).names
    ['Saturday', 'Sunday']
    """

    column: Name
    days: tuple[int, ...] = (4, 5, 6)
    profile: bool = True
    kind: ClassVar[str] = "weekdays"
    numeric: ClassVar[bool] = False

    def __post_init__(self) -> None:
        """Validate the arguments."""
        object.__setattr__(self, "days", tuple(integer(day, "days", 0, 6) for day in self.days))

    @property
    def details(self) -> list[Any]:
        """The settings, in readable form."""
        return [_WEEK[day] for day in self.days] + ["with the time of day"] * self.profile

    @property
    def names(self) -> list[str]:
        """Names of the features."""
        more = ["", ", sine of day", ", cosine of day"] if self.profile else [""]
        return [f"{_WEEK[day]}{what}" for day in self.days for what in more]


@dataclass(frozen=True)
class Cosines(Term):
    """Random cosines of the other features, standardised by running means and deviations.

    Parameters
    ----------
    number
        Number of cosines, from 1 to 1000.
    seed
        Seed of the random frequencies.

    Examples
    --------
    >>> from tdlambda.features import Columns, Cosines
    >>> Columns("flow", Cosines(20)).size
    22
    """

    number: int = 40
    seed: int = 0
    kind: ClassVar[str] = "random cosines"

    def __post_init__(self) -> None:
        """Validate the arguments."""
        integer(self.number, "number", 1, 1000)
        integer(self.seed, "seed", 0)

    def __str__(self) -> str:
        """A description in words."""
        return "random cosines of the features above"

    @property
    def names(self) -> list[str]:
        """Names of the features."""
        return [f"random cosine {k + 1}" for k in range(self.number)]


_WEEK = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
TERMS: dict[str, type[Term]] = {
    kind.__name__: kind for kind in (Number, Lag, Difference, Mean, Season, Cycle, Weekdays, Cosines, Category, Tiles)
}


def plain(term: Term) -> dict[str, Any]:
    """A term as plain data, from which `of_plain` rebuilds it."""
    return {"term": type(term).__name__, **{k: list(v) if isinstance(v, tuple) else v for k, v in vars(term).items()}}


def of_plain(given: dict[str, Any]) -> Term:
    """The term that `plain` described."""
    given = dict(given)
    kind = TERMS[given.pop("term")]
    if kind is Tiles:
        return Tiles(*given["of"], tiles=given["tiles"], tilings=given["tilings"])
    if kind is Cycle:
        return Cycle(given["column"], *given["periods"], harmonics=given["harmonics"])
    if kind in (Lag, Difference, Mean):
        return kind(given["column"], *given["windows" if kind is Mean else "steps"])
    return kind(**given)

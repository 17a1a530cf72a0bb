"""Features of rows of raw numbers, composed of terms: values, lags, differences, cycles, categories, tiles."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, TypeAlias

import numpy as np

from tdlambda.arrays import integer, positive

Name: TypeAlias = str | int
PERIODS = {"minute": 60.0, "hour": 3600.0, "day": 86400.0, "week": 604800.0, "year": 31556952.0}
"""Periods by name, in seconds."""


@dataclass(frozen=True)
class Term:
    """Base class of terms: some features of one or several columns."""

    kind: ClassVar[str] = ""

    @property
    def columns(self) -> tuple[Name, ...]:
        """Names of the numeric columns that it reads."""
        return (self.column,) if hasattr(self, "column") else ()

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


def _steps(steps: Any) -> tuple[int, ...]:
    found = tuple(integer(step, "steps", 1, 100_000) for step in steps)
    if not found:
        raise ValueError("steps must be one or more numbers of rows, such as 1; got none")
    return found


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

    def __init__(self, column: Name, *steps: int) -> None:
        object.__setattr__(self, "column", column)
        object.__setattr__(self, "steps", _steps(steps))

    @property
    def details(self) -> list[Any]:
        """The settings, in readable form."""
        return list(self.steps)


class Lag(Past):
    """The value of a column some rows ago; the first value while there are fewer rows.

    Parameters
    ----------
    column
        Name of the column.
    steps
        One or more numbers of rows, from 1 to 100,000; each gives one feature.
    """

    kind: ClassVar[str] = "lags"

    @property
    def names(self) -> list[str]:
        """Names of the features."""
        return [f"{self.column}, {step} ago" for step in self.steps]


class Difference(Past):
    """The difference between a column's value and its value some rows ago.

    Parameters
    ----------
    column
        Name of the column.
    steps
        One or more numbers of rows, from 1 to 100,000; each gives one feature.
    """

    kind: ClassVar[str] = "differences"

    @property
    def names(self) -> list[str]:
        """Names of the features."""
        return [f"{self.column} - {step} ago" for step in self.steps]


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
    def columns(self) -> tuple[Name, ...]:
        """Names of the numeric columns that it reads."""
        return ()

    @property
    def details(self) -> list[Any]:
        """The settings, in readable form."""
        return list(self.periods)

    @property
    def names(self) -> list[str]:
        """Names of the features."""
        waves = [f"{k} × " if k > 1 else "" for k in range(1, self.harmonics + 1)]
        return [f"{what} of {wave}{period}" for period in self.periods for wave in waves for what in ("sine", "cosine")]

    def values(self, times: Any) -> Any:
        """The features [row, feature] at these times."""
        seconds = [PERIODS[p] if isinstance(p, str) else p for p in self.periods]
        phases = [2 * np.pi * k / p for p in seconds for k in range(1, self.harmonics + 1)]
        both = [wave(np.asarray(times) * phase) for phase in phases for wave in (np.sin, np.cos)]
        return np.column_stack(both)


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

    def __post_init__(self) -> None:
        """Validate the arguments."""
        object.__setattr__(self, "most", integer(self.most, "most", 1, 1_000_000))
        if self.values is not None:
            object.__setattr__(self, "values", tuple(self.values))

    @property
    def columns(self) -> tuple[Name, ...]:
        """Names of the numeric columns that it reads."""
        return ()

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


TERMS: dict[str, type[Term]] = {kind.__name__: kind for kind in (Number, Lag, Difference, Cycle, Category, Tiles)}


@dataclass(frozen=True, init=False)
class Columns:
    """Features of a row of raw numbers, composed of terms; `td.Horde` keeps the history that they need.

    Values, lags and differences are standardised: a running mean is subtracted, and the result is divided by a running
    deviation. Both forget old readings and are robust to outliers. `td.AutoTD` standardises vectors of readings itself,
    exactly, so it receives the raw numbers.

    Parameters
    ----------
    terms
        Names of columns, for their values, or the terms `Lag`, `Difference`, `Cycle`, `Category` and `Tiles` of
        `td.features`. Without terms, `td.Horde` chooses them from the first rows: see `default`.
    constant
        Whether to add a feature that is always 1.
    window
        Number of readings, at least 2, over which running means and deviations are averaged.

    Examples
    --------
    >>> from tdlambda.features import Columns, Cycle, Lag
    >>> print(Columns("flow", Lag("flow", 1, 24), Cycle("time", "day")))
    term                           features
    value of flow                         1
    lags of flow: 1, 24                   2
    cycle of time: day                    2
    constant                              1
    together                              6
    """

    terms: tuple[Term, ...]
    constant: bool = True
    window: float = 2000.0

    def __init__(self, *terms: Name | Term, constant: bool = True, window: float = 2000.0) -> None:
        made = tuple(term if isinstance(term, Term) else Number(term) for term in terms)
        for term in terms:
            if isinstance(term, bool) or not isinstance(term, str | int | Term):
                raise TypeError(f'a term must be a column or a term such as td.features.Lag("flow", 1); got {term!r}')
        if not positive(window, "window") >= 2:
            raise ValueError(f"window must be at least 2 readings; got {window}")
        object.__setattr__(self, "terms", made)
        object.__setattr__(self, "constant", bool(constant))
        object.__setattr__(self, "window", float(window))

    @property
    def size(self) -> int:
        """Number of features."""
        return sum(term.size for term in self.terms) + self.constant

    def __repr__(self) -> str:
        """The call that builds an equal object."""
        options = [f"constant={self.constant}"] * (not self.constant)
        options += [f"window={self.window:g}"] * (self.window != 2000)
        return f"Columns({', '.join([*map(repr, self.terms), *options])})"

    def __str__(self) -> str:
        """A table of the terms."""
        lines = [("term", "features")]
        lines += [(str(term), str(term.size)) for term in self.terms]
        lines += [("constant", "1")] * self.constant + [("together", str(self.size))]
        width = max(30, *(len(text) for text, _ in lines))
        return "\n".join(f"{text:{width}} {size:>8}" for text, size in lines)

    def get_params(self) -> dict[str, Any]:
        """The arguments as plain data, from which `of_params` rebuilds the object."""
        terms = [{"term": type(t).__name__, **{k: _plain(v) for k, v in vars(t).items()}} for t in self.terms]
        return {"terms": terms, "constant": self.constant, "window": self.window}

    @classmethod
    def of_params(cls, params: dict[str, Any]) -> Columns:
        """Build the object from the result of `get_params`."""
        return cls(*map(_term, params["terms"]), constant=params["constant"], window=params["window"])


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


def _term(given: dict[str, Any]) -> Term:
    given = dict(given)
    kind = TERMS[given.pop("term")]
    if kind is Tiles:
        return Tiles(*given["of"], tiles=given["tiles"], tilings=given["tilings"])
    if kind is Cycle:
        return Cycle(given["column"], *given["periods"], harmonics=given["harmonics"])
    if kind in (Lag, Difference):
        return kind(given["column"], *given["steps"])
    return kind(**given)


def default(
    numbers: list[Name], texts: list[Name], time: Name | None, every: float | None, asked: list[Name], room: int = 64
) -> Columns:
    """Default features of a data frame: the value of every column and, while there is `room`, lags and cycles.

    The lags are 1, 3 and, if a day has several rows, quarters of a day, first for the columns that are predicted. The
    cycles are sine and cosine of the day and the week, or of the year. A column of text contributes the first eight
    values seen. `every` is the time between rows, in seconds.
    """
    terms: list[Term] = [Number(name) for name in numbers]
    if time is not None and every is not None:
        periods = ["day"] * (every <= 6 * 3600) + ["week"] * (every <= 2 * 86400) + ["year"] * (every >= 6 * 3600)
        terms += [Cycle(time, *periods)] if periods else []
    lags = [1, 3]
    day = 0 if every is None else round(86400 / every)
    if 12 < day <= 1500:
        lags += [day * quarter // 4 for quarter in (1, 2, 3, 4)]
    for name in [*(n for n in numbers if n in asked), *(n for n in numbers if n not in asked)]:
        if sum(term.size for term in terms) + len(lags) < room:
            terms.append(Lag(name, *lags))
    for name in texts:
        if sum(term.size for term in terms) + 9 < room:
            terms.append(Category(name, most=8))
    return Columns(*terms)

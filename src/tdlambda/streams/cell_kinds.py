"""What the cells of a column mean: numbers, dates in their usual forms, words for a missing value, or text.

Every source (files, data frames, rows one by one) passes its columns through here, so that the kind of source does not
matter.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np

from tdlambda.arrays import Floats, Ints
from tdlambda.learners.learner import Array

MISSING = frozenset(
    ["", "na", "n/a", "#n/a", "nan", "nat", "null", "none", "nil", "missing", "-", "--", "?", ".", "<na>"]
)
"""Words for a missing value, in lower case."""
NUMBERS, TEXT = "numbers", "text"
DATES, DAY_FIRST, DIGITS, SECONDS, MILLISECONDS = (
    "dates", "dates, day first", "dates as digits", "seconds since 1970", "milliseconds since 1970",
)  # fmt: skip
"""Kinds of columns of dates: as text, as text with the day before the month, or as numbers."""
_TRUTH = {"true": 1.0, "false": 0.0}
_MONTHS = {
    m: k for k, m in enumerate(["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"], 1)
}
_CLOCK = (
    r"(?:[ T,:]+(\d{1,2}):(\d{2})(?::(\d{2})(?:[.,](\d{1,9}))?)?\s*([AaPp]\.?[Mm]\.?)?)?"
    r"\s*(Z|UTC|GMT|[+-]\d{2}:?\d{2})?"
)
_PLAIN = re.compile(r"(\d{1,4})([/.-])(\d{1,2})[/.-](\d{1,4})" + _CLOCK)
_NAMED = re.compile(r"(?:[A-Za-z]{3,9},? )?(\d{1,2})[ /-]([A-Za-z]{3,9})[ /,-]+(\d{4}|\d{2})" + _CLOCK)
_MONTH_FIRST = re.compile(r"(?:[A-Za-z]{3,9},? )?([A-Za-z]{3,9})\.? (\d{1,2})[ ,]+(\d{4})" + _CLOCK)
_YEAR_LAST = re.compile(r"(?:[A-Za-z]{3} )?([A-Za-z]{3}) +(\d{1,2}) (\d{2}:\d{2}:\d{2})(?: (UTC|GMT|Z))? (\d{4})")
_MONTH = re.compile(r"(\d{4})[/-](\d{1,2})")
_TIMELIKE = re.compile(r"date|time|stamp|^ts$|^t$|day|when", re.IGNORECASE)


def is_date(kind: str | None) -> bool:
    """Whether a kind of column holds dates."""
    return kind in (DATES, DAY_FIRST, DIGITS, SECONDS, MILLISECONDS)


def is_missing(cell: Any) -> bool:
    """Whether a cell holds no value."""
    return cell is None or cell != cell or (isinstance(cell, str) and cell.strip().lower() in MISSING)


def number(cell: Any) -> float:
    """The number that a cell holds, NaN if it is missing; ValueError if it is neither."""
    try:
        return float(cell)
    except (TypeError, ValueError):
        if is_missing(cell):
            return np.nan
        if isinstance(cell, str) and (found := _TRUTH.get(cell.strip().lower())) is not None:
            return found
        raise ValueError(f"not a number: {cell!r}") from None


def seconds(value: Any) -> float:
    """A date or time in seconds since 1970; without a time zone it is taken as UTC."""
    if isinstance(value, np.datetime64):
        return float(value.astype("datetime64[us]").astype(np.int64)) / 1e6
    if getattr(value, "tzinfo", None) is not None:
        return float(value.timestamp())
    return float(np.datetime64(value, "us").astype(np.int64)) / 1e6


def moment(cell: Any, day_first: bool = False) -> float:
    """A date in seconds since 1970, NaN if it is missing; ValueError if it is neither.

    ISO 8601; numbers separated by "/", "." or "-", with the year first or last; names of months; with or without
    seconds, AM or PM, and a time zone; a month such as 2016-10.
    """
    if not isinstance(cell, str):
        if is_missing(cell):
            return np.nan
        if hasattr(cell, "year") or isinstance(cell, np.datetime64):
            return seconds(cell)
        raise ValueError(f"not a date: {cell!r}")
    text = cell.strip()
    if text[:4].isdigit() and (text[4:5] == "-" or text[8:9] in ("T", " ")):
        with suppress(ValueError):
            return seconds(datetime.fromisoformat(text))
    if (found := _PLAIN.fullmatch(text)) is not None:
        a, _, b, c, *clock = found.groups()
        if len(a) > 2:
            year, month, day = a, b, c
        else:
            year, (month, day) = c, (b, a) if day_first else (a, b)
        return _at(int(year), int(month), int(day), *clock)
    if (found := _NAMED.fullmatch(text)) is not None:
        day, name, year, *clock = found.groups()
        return _at(int(year), _month(name), int(day), *clock)
    if (found := _MONTH_FIRST.fullmatch(text)) is not None:
        name, day, year, *clock = found.groups()
        return _at(int(year), _month(name), int(day), *clock)
    if (found := _YEAR_LAST.fullmatch(text)) is not None:
        name, day, at, zone, year = found.groups()
        return moment(f"{day} {name} {year} {at} {zone or ''}")
    if (found := _MONTH.fullmatch(text)) is not None:
        return moment(f"{found[1]}-{found[2]}-1")
    if text.lower() in MISSING:
        return np.nan
    raise ValueError(f"not a date: {cell!r}")


def _month(name: str) -> int:
    if name[:3].lower() not in _MONTHS:
        raise ValueError(f"not a month: {name!r}")
    return _MONTHS[name[:3].lower()]


def _at(year: int, month: int, day: int, hour: Any, minute: Any, second: Any, part: Any, half: Any, zone: Any) -> float:
    hours = int(hour or 0)
    if half:
        if not 1 <= hours <= 12:
            raise ValueError(f"not an hour: {hours} {half}")
        hours = hours % 12 + 12 * (half[0] in "pP")
    year = year + 2000 if year < 69 else year + 1900 if year < 100 else year
    found = datetime(year, month, day, hours, int(minute or 0), int(second or 0), tzinfo=UTC)
    if zone and zone[0] in "+-":
        away = timedelta(hours=int(zone[1:3]), minutes=int(zone[-2:]))
        found -= away if zone[0] == "+" else -away
    return found.timestamp() + float(f"0.{part or 0}")


# ---- columns -------------------------------------------------------------------------------------------------------


def kind_of(name: Any, column: Array) -> str | None:
    """The kind of a column, by most of its cells; None if all are missing. Dates are recognised in numbers by name."""
    if column.dtype != object:
        return None if np.isnan(column).all() else _number_kind(name, column)
    cells = [cell for cell in column if not is_missing(cell)]
    if not cells:
        return None
    read = [value for cell in cells if (value := _or_none(number, cell)) is not None]
    if 2 * len(read) >= len(cells):
        return _number_kind(name, np.array(read))
    day_first = _day_first(cells)
    dates = sum(_or_none(lambda cell: moment(cell, day_first), cell) is not None for cell in cells)
    if 2 * dates >= len(cells):
        return DAY_FIRST if day_first else DATES
    return TEXT


def _or_none(convert: Any, cell: Any) -> float | None:
    try:
        return float(convert(cell))
    except ValueError:
        return None


def _day_first(cells: Sequence[Any]) -> bool:
    """Whether the day comes before the month in dates such as 3/10/2016.

    By a number above 12; else the order with much more regular steps; else by the separator.
    """
    found = [m for cell in cells if isinstance(cell, str) and (m := _PLAIN.fullmatch(cell.strip())) and len(m[1]) < 3]
    if any(int(m[1]) > 12 for m in found):
        return True
    if any(int(m[3]) > 12 for m in found):
        return False
    usual = bool(found) and found[0][2] == "."
    return usual != (_irregularity(found, not usual) < 0.5 * _irregularity(found, usual))


def _irregularity(found: list[re.Match[str]], day_first: bool) -> float:
    """The largest step between dates, relative to the median step."""
    times = [time for m in found if (time := _or_none(lambda cell: moment(cell, day_first), m[0])) is not None]
    steps = np.diff(np.unique(times))
    return float(steps.max() / np.median(steps)) if steps.size else 1.0


def looks_dated(name: Any, cells: Sequence[Any]) -> bool:
    """Whether a column of text may hold dates in a form that is not recognised, by its name or by clocks in it."""
    named = isinstance(name, str) and _TIMELIKE.search(name)
    return len(cells) > 0 and all(re.search(r"\d" if named else r"\d\d?:\d\d", cell) for cell in cells)


def _number_kind(name: Any, values: Floats) -> str:
    """The kind of a column of numbers: dates as digits, or seconds since 1970, if name and order agree."""
    known = values[~np.isnan(values)]
    if not (isinstance(name, str) and _TIMELIKE.search(name)) or (np.diff(known) < 0).any():
        return NUMBERS
    for scale in (1, 10**4, 10**6):  # a day; with hour and minute; with the second
        if (known == np.floor(known)).all() and known[0] >= 18000101 * scale and known[-1] < 21010101 * scale:
            return DIGITS if np.isfinite(_digits(known)).all() else NUMBERS
    if known[0] >= 5e8 and known[-1] <= 5e9:
        return SECONDS
    return MILLISECONDS if known[0] >= 5e11 and known[-1] <= 5e12 else NUMBERS


def _digits(values: Floats) -> Floats:
    """Dates such as 20161003 or 201610031405 in seconds since 1970; NaN where they are none."""
    found = np.full(values.size, np.nan)
    for i, value in enumerate(values):
        if value == value:
            text = str(int(value)).ljust(14, "0")
            with suppress(ValueError):
                found[i] = datetime.strptime(text + "+0000", "%Y%m%d%H%M%S%z").timestamp()
    return found


def converted(column: Array, kind: str | None) -> tuple[Array, Ints]:
    """A column as numbers (dates in seconds, missing NaN) or text (missing None); and which cells are not readable."""
    if kind == TEXT:
        if column.dtype != object:
            return np.array([None if v != v else f"{v:g}" for v in column], dtype=object), np.zeros(0, dtype=np.int64)
        cells = [None if is_missing(v) else str(v).strip() for v in column]
        return np.array(cells, dtype=object), np.zeros(0, dtype=np.int64)
    if column.dtype != object:
        scale = {DIGITS: 0.0, MILLISECONDS: 1e-3}.get(kind or "", 1.0)
        return (_digits(column) if scale == 0 else column * scale if scale != 1 else column), np.zeros(
            0, dtype=np.int64
        )
    if not is_date(kind) or kind in (DIGITS, SECONDS, MILLISECONDS):
        with suppress(TypeError, ValueError):
            found = column.astype(np.float64)
            return converted(found, kind)
        read: Any = number
    else:
        read = (lambda cell: moment(cell, True)) if kind == DAY_FIRST else moment
    found, bad = np.full(column.size, np.nan), []
    for i, cell in enumerate(column):
        try:
            found[i] = read(cell)
        except ValueError:
            bad.append(i)
    if kind in (DIGITS, MILLISECONDS):
        found = converted(found, kind)[0]
    return found, np.array(bad, dtype=np.int64)

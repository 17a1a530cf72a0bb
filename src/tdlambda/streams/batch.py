"""Batches of rows: columns of numbers and of text, by name."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, TypeAlias

import numpy as np

from tdlambda.arrays import Floats
from tdlambda.learners.base import Array
from tdlambda.showing import hint

Name: TypeAlias = str | int
"""A column: its name, or its index if rows are arrays."""
LARGEST = 1e150
"""Bound on readings, so that squares and sums of squares stay finite."""


@dataclass
class Batch:
    """Consecutive rows, beginning with number `first`. Numbers are float64 (missing: NaN), text is objects (None)."""

    columns: dict[Name, Array]
    times: frozenset[Name] = frozenset()
    """Columns of dates, in seconds since 1970."""
    first: int = 0
    plain: bool = False
    """Whether rows are arrays, without names."""
    _rows: dict[int, Any] = field(default_factory=dict, repr=False)

    def __len__(self) -> int:
        """The number of rows."""
        return len(next(iter(self.columns.values()))) if self.columns else 0

    @property
    def names(self) -> list[Name]:
        """Names of the columns."""
        return list(self.columns)

    def require(self, name: Any, what: str) -> Array:
        """A column; ValueError, with a suggestion, if it does not exist."""
        if isinstance(name, Hashable) and name in self.columns:
            return self.columns[name]
        raise ValueError(f"{what}: there is no column {name!r}{hint(name, map(str, self.names), 'the columns are {}')}")

    def numbers(self, name: Any, what: str) -> Floats:
        """A column of numbers; missing values are NaN."""
        column = self.require(name, what)
        if column.dtype != object:
            return column
        row = next((i for i, value in enumerate(column) if value is not None), 0)
        raise ValueError(f"{what}: column {name!r} must be numbers; got {column[row]!r} (row {self.first + row})")

    def row(self, i: int) -> Any:
        """One row for the user's functions: a dict, or an array if rows are arrays."""
        if i not in self._rows:
            values = {name: column[i] for name, column in self.columns.items()}
            self._rows[i] = np.array(list(values.values())) if self.plain else values
        return self._rows[i]

    def part(self, begin: int, end: int) -> Batch:
        """Rows `begin` to `end`, without `end`."""
        columns = {name: column[begin:end] for name, column in self.columns.items()}
        return Batch(columns, self.times, self.first + begin, self.plain)

    def after(self, last: Batch | None) -> Batch:
        """These rows, preceded by the `last` row before them."""
        if last is None:
            return self
        columns = {name: np.concatenate([last.columns[name], self.columns[name]]) for name in last.columns}
        return Batch(columns, self.times, self.first - len(last), self.plain)


class Schema:
    """The column types of a stream: numbers, dates or text; None if every value so far was missing."""

    def __init__(self, kinds: dict[Name, str | None] | None = None) -> None:
        self.kinds = kinds or {}

    def fitted(self, batch: Batch) -> Schema:
        """The schema updated with these rows; ValueError if their columns differ from earlier ones."""
        if len(batch) == 1 and self._plainly(batch):
            return self
        found = {name: _kind(batch, name) for name in batch.columns}
        kinds = self.kinds or found
        lost, new = [name for name in kinds if name not in found], [name for name in found if name not in kinds]
        if lost or new:
            said = [f"{', '.join(map(repr, lost))} missing"] * bool(lost)
            said += [f"{', '.join(map(repr, new))} new"] * bool(new)
            raise ValueError(f"the columns change at row {batch.first}: {'; '.join(said)}")
        for name, kind in found.items():
            column, known = batch.columns[name], kinds[name]
            if (known, kind) == ("dates", "text"):
                with suppress(ValueError):
                    column = np.array([np.nan if value is None else date(value) for value in column])
                    batch.columns[name], found[name], kind = column, "dates", "dates"
            if kind is not None and known is not None and kind != known:
                row = next(i for i, value in enumerate(column) if value is not None and value == value)
                raise ValueError(
                    f"column {name!r} changes from {known} to {kind} at row {batch.first + row}: got {column[row]!r}"
                )
            if kind is None and (known == "text") != (column.dtype == object):
                batch.columns[name] = np.full(len(column), *((None, object) if known == "text" else (np.nan, float)))
        batch.times = frozenset(name for name, kind in kinds.items() if "dates" in (kind, found[name]))
        return Schema({name: kind or found[name] for name, kind in kinds.items()})

    def _plainly(self, batch: Batch) -> bool:
        """Whether all columns are known to be numbers and this row has only numbers: a fast check."""
        columns = batch.columns
        same = len(columns) == len(self.kinds) and not batch.times
        return same and all(
            kind == "numbers" and name in columns and columns[name].dtype != object for name, kind in self.kinds.items()
        )


def _kind(batch: Batch, name: Name) -> str | None:
    column = batch.columns[name]
    if column.dtype == object:
        return "text" if any(value is not None for value in column) else None
    return None if np.isnan(column).all() else "dates" if name in batch.times else "numbers"


def from_row(row: Any, first: int) -> Batch:
    """A batch of one row, a dict of values or an array."""
    return from_rows([row], first)


def from_rows(rows: list[Any], first: int) -> Batch:
    """A batch of rows that are all dicts or all arrays."""
    if isinstance(rows[0], Mapping):
        names = list(rows[0])
        for i, row in enumerate(rows):
            if not isinstance(row, Mapping) or (list(row) != names and set(row) != set(names)):
                changed = sorted(map(str, set(names) ^ set(row))) if isinstance(row, Mapping) else [repr(row)]
                raise ValueError(f"the columns change at row {first + i}: {', '.join(changed)}")
        columns: dict[Name, Array] = {}
        times = set()
        for name in names:
            columns[name], dated = values([row[name] for row in rows], name, first)
            times |= {name} if dated else set()
        return Batch(columns, frozenset(times), first)
    try:
        matrix = np.array([np.asarray(row, dtype=np.float64).reshape(-1) for row in rows])
    except (TypeError, ValueError):
        for i, row in enumerate(rows):
            if np.ndim(row) != 1 or np.asarray(row).dtype.kind not in "fiub":
                raise ValueError(f"row {first + i} must be a dict or an array of numbers; got {row!r}") from None
        sizes = [np.size(row) for row in rows]
        i = next(i for i, size in enumerate(sizes) if size != sizes[0])
        raise ValueError(f"row {first + i} has {sizes[i]} numbers, but the rows before it have {sizes[0]}") from None
    return from_matrix(matrix, first)


def from_matrix(matrix: Array, first: int) -> Batch:
    """A batch from a NumPy array [row, column]."""
    return Batch({k: np.ascontiguousarray(matrix[:, k]) for k in range(matrix.shape[1])}, frozenset(), first, True)


def values(given: list[Any], name: Name, first: int) -> tuple[Array, bool]:
    """A column of Python values: numbers, text or dates; and whether they are dates."""
    if len(given) == 1 and type(given[0]) in (float, int):
        return np.array(given, dtype=np.float64), False
    found = [value for value in given if value is not None and value == value]
    if all(isinstance(value, bool | int | float | np.number | np.bool_) for value in found):
        return np.array([np.nan if value is None else float(value) for value in given]), False
    if all(hasattr(value, "timestamp") or isinstance(value, np.datetime64) for value in found):
        return np.array([np.nan if value is None or value != value else seconds(value) for value in given]), True
    text = np.array([None if value is None or value != value else value for value in given], dtype=object)
    row, odd = next(((i, v) for i, v in enumerate(text) if v is not None and not isinstance(v, str)), (-1, None))
    if row < 0:
        odd_one = _odd_text(text)
        if odd_one < 0:
            return text, False
        row, odd = odd_one, text[odd_one]
    elif any(isinstance(value, str) for value in found):  # numbers with some text among them
        row, odd = next((i, v) for i, v in enumerate(text) if isinstance(v, str))
    raise ValueError(f"column {name!r}, row {first + row}: the value must be a number; got {odd!r}")


def _odd_text(text: Array) -> int:
    """The index of the first text that is not a number, if most of the column reads as numbers; otherwise -1."""
    said = [(i, value) for i, value in enumerate(text) if value is not None]
    odd = [i for i, value in said if not _reads_as_number(value)]
    return odd[0] if 0 < len(odd) < 0.5 * len(said) else -1


def _reads_as_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def date(text: str) -> float:
    """A date from text, in seconds since 1970; ValueError if it is none."""
    try:
        return seconds(datetime.fromisoformat(text.strip()))
    except ValueError:
        return seconds(datetime.strptime(text.strip(), "%Y/%m/%d %H:%M" if ":" in text else "%Y/%m/%d"))


def seconds(value: Any) -> float:
    """A date in seconds since 1970; without a time zone it is taken as UTC."""
    if isinstance(value, np.datetime64):
        return float(value.astype("datetime64[us]").astype(np.int64)) / 1e6
    if value.tzinfo is not None:
        return float(value.timestamp())
    return float(np.datetime64(value.replace(tzinfo=None), "us").astype(np.int64)) / 1e6


def parts(batch: Batch, chunk: int) -> Iterator[Batch]:
    """Split a batch into parts of this many rows."""
    for begin in range(0, len(batch), chunk):
        yield batch.part(begin, min(len(batch), begin + chunk))


def joined(batches: Iterator[Batch], least: int) -> Iterator[Batch]:
    """Join batches so that the first has at least this many rows, if available."""
    held: Batch | None = None
    for batch in batches:
        if held is None and len(batch) >= least:
            yield batch
            yield from batches
            return
        if held is not None:
            Schema().fitted(held).fitted(batch)
        held = batch if held is None else replace(batch.after(held), first=held.first)
        if len(held) >= least:
            yield held
            yield from batches
            return
    if held is not None:
        yield held

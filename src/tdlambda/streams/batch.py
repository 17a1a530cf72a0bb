"""Batches of rows: columns of numbers and of text, by name."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

import numpy as np

from tdlambda.arrays import Floats, Ints
from tdlambda.learners.learner import Array
from tdlambda.showing import hint
from tdlambda.streams import cell_kinds as cells

Name: TypeAlias = str | int
"""A column: its name, or its index if rows are arrays."""
LARGEST = 1e150
"""Bound on readings, so that squares and sums of squares stay finite."""
LOOKED_AT = 100
"""Number of first rows that determine the kinds of the columns and the features."""


@dataclass
class Batch:
    """Consecutive rows, beginning with number `first`. Numbers are float64 (missing: NaN), text is objects (None)."""

    columns: dict[Name, Array]
    times: frozenset[Name] = frozenset()
    """Columns of dates, in seconds since 1970."""
    first: int = 0
    plain: bool = False
    """Whether rows are arrays, without names."""
    unreadable: dict[Name, Ints] = field(default_factory=dict)
    """Rows whose cell is not what its column holds, such as a word among numbers; they count as missing."""
    examples: dict[Name, str] = field(default_factory=dict)
    """One such cell of each column."""
    complete: bool = False
    """Whether all columns are known to be numbers without missing values."""
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
        column = self.columns[name] if name in self.columns else self.require(name, what)
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
        if begin == 0 and end == len(self):
            return self
        columns = {name: column[begin:end] for name, column in self.columns.items()}
        bad = {n: rows[(rows >= begin) & (rows < end)] - begin for n, rows in self.unreadable.items()}
        return Batch(columns, self.times, self.first + begin, self.plain, bad, self.examples)

    def after(self, last: Batch | None) -> Batch:
        """These rows, preceded by the `last` rows before them."""
        return self if last is None else stacked([last], self)


class Schema:
    """The kinds of the columns of a stream (see `cell_kinds`), by its first rows; None while all values are missing."""

    def __init__(self, kinds: dict[Name, str | None] | None = None) -> None:
        self.kinds = kinds or {}
        self.dates = frozenset(name for name, kind in self.kinds.items() if cells.is_date(kind))
        self.known = bool(self.kinds) and None not in self.kinds.values()
        self.as_is = self.known and all(kind in _AS_IS for kind in self.kinds.values())

    def fitted(self, batch: Batch) -> Schema:
        """Convert the columns of these rows to their kinds; return the schema, with kinds that they show first.

        ValueError if the columns are not those of earlier rows.
        """
        kinds = self.kinds or dict.fromkeys(batch.columns)
        require_same(kinds, batch)
        found = self
        if not self.known:
            shown = {name: kind or _kind(batch, name) for name, kind in kinds.items()}
            found = Schema(shown) if shown != self.kinds else self
        for name, kind in () if batch.complete and found.as_is else found.kinds.items():
            column = batch.columns[name]
            if column.dtype == object or (kind not in _AS_IS and name not in batch.times):
                batch.columns[name], bad = cells.converted(column, kind)
                batch.complete = False
                if bad.size:
                    batch.unreadable[name] = bad
                    batch.examples[name] = str(column[bad[0]])
        batch.times = found.dates
        return found


def require_same(known: Mapping[Name, Any], batch: Batch) -> None:
    """Validate that a batch has the known columns."""
    if known.keys() != batch.columns.keys():
        lost = [name for name in known if name not in batch.columns]
        new = [name for name in batch.columns if name not in known]
        said = [f"{', '.join(map(repr, lost))} missing"] * bool(lost)
        said += [f"{', '.join(map(repr, new))} new"] * bool(new)
        raise ValueError(f"the columns change at row {batch.first}: {'; '.join(said)}")


_AS_IS = (None, cells.NUMBERS, cells.DATES, cells.DAY_FIRST, cells.SECONDS)
"""Kinds of columns whose numbers need no conversion."""


def _kind(batch: Batch, name: Name) -> str | None:
    column = batch.columns[name][:LOOKED_AT]
    if name in batch.times:
        return None if np.isnan(column).all() else cells.DATES
    return cells.kind_of(name, column)


def stacked(before: list[Batch], batch: Batch, names: Iterable[Any] | None = None) -> Batch:
    """Rows of a batch, preceded by others; numbered so that its own rows keep their numbers.

    `names` are the columns to keep; all by default.
    """
    if not before:
        return batch
    n = sum(map(len, before))
    some = batch.columns if names is None else {name: batch.columns[name] for name in names if name in batch.columns}
    columns = {name: np.concatenate([*(rows.columns[name] for rows in before), c]) for name, c in some.items()}
    bad = {name: rows + n for name, rows in batch.unreadable.items()}
    times = batch.times if not before[0].times else batch.times.union(*(rows.times for rows in before))
    return Batch(columns, times, batch.first - n, batch.plain, bad, batch.examples)


def from_row(row: Any, first: int) -> Batch:
    """A batch of one row, a dict of values or an array."""
    return from_rows([row], first)


def from_rows(rows: list[Any], first: int) -> Batch:
    """A batch of rows that are all dicts (or Series of pandas) or all arrays."""
    if hasattr(rows[0], "to_dict"):
        rows = [row.to_dict() if hasattr(row, "to_dict") else row for row in rows]
    if isinstance(rows[0], Mapping):
        if len(rows) == 1:
            return _one_row(rows[0], first)
        names = list(rows[0])
        for i, row in enumerate(rows):
            if not isinstance(row, Mapping) or (list(row) != names and set(row) != set(names)):
                changed = sorted(map(str, set(names) ^ set(row))) if isinstance(row, Mapping) else [repr(row)]
                raise ValueError(f"the columns change at row {first + i}: {', '.join(changed)}")
        columns: dict[Name, Array] = {}
        times = set()
        for name in names:
            columns[name], dated = values([row[name] for row in rows])
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


_PLAIN, _NONE = frozenset((float, int)), frozenset[Name]()


def _one_row(row: Mapping[Any, Any], first: int) -> Batch:
    given = list(row.values())
    if _PLAIN.issuperset(map(type, given)):
        total = sum(given)  # NaN if one is
        columns = dict(zip(row, np.array(given, dtype=np.float64).reshape(-1, 1), strict=True))
        return Batch(columns, _NONE, first, complete=total == total)
    columns, times = dict[Name, Array](), []
    for name, value in row.items():
        kind = type(value)
        if kind is float or kind is int:
            columns[name] = np.array((value,), dtype=np.float64)
        elif kind is str:
            columns[name] = np.array((value,), dtype=object)
        else:
            columns[name], dated = values([value])
            if dated:
                times.append(name)
    return Batch(columns, frozenset(times), first)


def from_matrix(matrix: Array, first: int) -> Batch:
    """A batch from a NumPy array [row, column]."""
    return Batch({k: np.ascontiguousarray(matrix[:, k]) for k in range(matrix.shape[1])}, frozenset(), first, True)


def values(given: list[Any]) -> tuple[Array, bool]:
    """A column of Python values: numbers, or objects that `cells` understands; and whether they are dates."""
    if len(given) == 1 and type(given[0]) in (float, int):
        return np.array(given, dtype=np.float64), False
    found = [value for value in given if value is not None and value == value]
    if all(isinstance(value, bool | int | float | np.number | np.bool_) for value in found):
        return np.array([np.nan if value is None else float(value) for value in given]), False
    if all(hasattr(value, "year") or isinstance(value, np.datetime64) for value in found):
        return np.array([np.nan if value is None or value != value else cells.seconds(value) for value in given]), True
    column = np.empty(len(given), dtype=object)
    column[:] = given
    return column, False


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
            require_same(held.columns, batch)
        held = batch if held is None else replace(batch.after(held), first=held.first)
        if len(held) >= least:
            yield held
            yield from batches
            return
    if held is not None:
        yield held

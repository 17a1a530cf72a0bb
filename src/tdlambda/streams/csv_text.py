"""Rows of text files."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

import numpy as np

from tdlambda.learners.base import Array
from tdlambda.streams.batch import Batch, Name, date

LOOKED_AT = 1000
"""Number of first rows of a text file that determine the types of its columns."""
MISSING = ("", "na", "n/a", "nan", "null", "none", "-", "?")
"""Cells of a text file that mean a missing value, in lower case."""


def records(lines: Iterable[str], separator: str, finished: bool = True) -> Iterator[tuple[list[str], int]]:
    """Yield the cells of each row, and the number of lines so far; a quoted cell may contain line breaks.

    With `finished`, a last row that is not complete is left out.
    """
    ended = False

    def complete() -> Iterator[str]:
        nonlocal ended
        for line in lines:
            if finished and not line.endswith("\n"):
                break
            yield line
        ended = finished

    reader = csv.reader(complete(), delimiter=separator)
    try:
        for cells in reader:
            if ended:  # within a quoted cell
                return
            yield cells, reader.line_num
    except csv.Error as error:
        raise ValueError(
            f"the rows cannot be read after line {reader.line_num}: {error}; is a quote not closed?"
        ) from error


class Text:
    """A text file with columns separated by commas, tabs or semicolons; the first rows determine the column types.

    With `finished`, only complete lines count, for a file that is being written.
    """

    def __init__(self, path: Path, finished: bool = False) -> None:
        self.path, self.finished = path, finished
        self.kinds: dict[str, str] = {}

    def read(self, chunk: int) -> Iterator[Batch]:
        """Yield the rows in batches of at most `chunk`."""
        first, names, held = 0, self.names(), []
        for cells in self.lines():
            held.append(cells)
            if len(held) >= (max(chunk, LOOKED_AT) if not self.kinds else chunk):
                yield from self.cut(self.batch(names, held, first), chunk)
                first, held = first + len(held), []
        if held:
            yield from self.cut(self.batch(names, held, first), chunk)
        elif first == 0:
            raise ValueError(f"{self.path} has no rows")

    @staticmethod
    def cut(batch: Batch, chunk: int) -> Iterator[Batch]:
        """Split a batch into parts of at most `chunk` rows."""
        for begin in range(0, len(batch), chunk):
            yield batch.part(begin, begin + chunk)

    def names(self) -> list[str]:
        """The column names in the header; this also detects the separator."""
        with open(self.path, newline="", encoding="utf-8-sig") as file:
            line = file.readline()
            self.separator = max(",;\t", key=line.count)
            found = [name.strip() for name in next(csv.reader([line], delimiter=self.separator), [])]
        if not found or len(set(found)) < len(found):
            raise ValueError(f"{self.path}: the first line must contain distinct column names; got {line.strip()!r}")
        return found

    def lines(self) -> Iterator[list[str]]:
        """Yield the cells of each line after the header."""
        with open(self.path, newline="", encoding="utf-8-sig") as file:
            rows = records(file, self.separator, self.finished)
            next(rows, None)
            for cells, _ in rows:
                if cells:
                    yield cells

    def batch(self, names: list[str], lines: list[list[str]], first: int) -> Batch:
        """A batch from lines of cells."""
        for i, cells in enumerate(lines):
            if len(cells) != len(names):
                raise ValueError(f"{self.path}, row {first + i} must have {len(names)} cells; got {len(cells)}")
        columns: dict[Name, Array] = {}
        for name, column in zip(names, zip(*lines, strict=True), strict=True):
            kind = self.kinds.setdefault(name, _kind(column[:LOOKED_AT]))
            columns[name] = self.converted(name, kind, column, first)
        return Batch(columns, frozenset(name for name in names if self.kinds[name] == "date"), first)

    def converted(self, name: str, kind: str, cells: tuple[str, ...], first: int) -> Array:
        """A column's cells, converted to its kind: "number", "date" or "text"."""
        if kind == "text":
            return np.array([None if cell.strip().lower() in MISSING else cell.strip() for cell in cells], dtype=object)
        convert, found = _number if kind == "number" else _date, np.empty(len(cells))
        if kind == "number":
            with suppress(ValueError):
                return np.array(cells, dtype=np.float64)
        for i, cell in enumerate(cells):
            try:
                found[i] = convert(cell)
            except ValueError:
                raise ValueError(
                    f"{self.path}: column {name!r}, row {first + i}: the value must be a {kind}, as in other rows; "
                    f"got {cell!r}"
                ) from None
        return found


def _number(cell: str) -> float:
    try:
        return float(cell)
    except ValueError:
        if cell.strip().lower() in MISSING:
            return np.nan
        raise


def _date(cell: str) -> float:
    return np.nan if cell.strip().lower() in MISSING else date(cell)


def _kind(cells: tuple[str, ...]) -> str:
    """The kind of at least half of the cells: "number", "date" or "text"."""
    said = [cell for cell in cells if cell.strip().lower() not in MISSING]
    for kind, convert in (("number", _number), ("date", _date)):
        good = 0
        for cell in said:
            try:
                convert(cell)
                good += 1
            except ValueError:
                pass
        if good >= 0.5 * len(said):
            return kind
    return "text"

"""Rows of text files."""

from __future__ import annotations

import codecs
import csv
import gzip
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from tdlambda.learners.learner import Array
from tdlambda.streams.batch import Batch, Name

csv.field_size_limit(min(sys.maxsize, 2**31 - 1))  # a cell may be long
BYTES = "tdlambda.latin-1"
"""How bytes that are not UTF-8 are decoded: as Latin-1."""
codecs.register_error(BYTES, lambda error: (error.object[error.start : error.end].decode("latin-1"), error.end))  # type: ignore[attr-defined]


def opened(path: Path) -> Any:
    """Open a text file in UTF-8, or in UTF-16 if it begins with that mark; gzipped if its name ends with .gz."""
    read: Any = gzip.open if path.suffix.lower() == ".gz" else open
    with read(path, "rb") as file:
        wide = file.read(2) in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
    return read(path, "rt", newline="", encoding="utf-16" if wide else "utf-8-sig", errors=BYTES)


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
    """A text file with columns separated by commas, tabs or semicolons, as `opened` reads it; its cells stay text.

    With `finished`, only complete lines count, for a file that is being written.
    """

    def __init__(self, path: Path, finished: bool = False) -> None:
        self.path, self.finished = path, finished

    def read(self, chunk: int) -> Iterator[Batch]:
        """Yield the rows in batches of at most `chunk`."""
        first, names, held = 0, self.names(), []
        for cells in self.lines():
            held.append(cells)
            if len(held) >= chunk:
                yield self.batch(names, held, first)
                first, held = first + len(held), []
        if held:
            yield self.batch(names, held, first)
        elif first == 0:
            raise ValueError(f"{self.path} has no rows")

    def names(self) -> list[str]:
        """The column names in the header; this also detects the separator."""
        with opened(self.path) as file:
            line = file.readline()
            self.separator = max(",;\t", key=line.count)
            found = [name.strip() for name in next(csv.reader([line], delimiter=self.separator), [])]
        if not found or len(set(found)) < len(found):
            raise ValueError(f"{self.path}: the first line must contain distinct column names; got {line.strip()!r}")
        return found

    def lines(self) -> Iterator[list[str]]:
        """Yield the cells of each line after the header."""
        with opened(self.path) as file:
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
            columns[name] = np.array(column, dtype=object)
        return Batch(columns, first=first)

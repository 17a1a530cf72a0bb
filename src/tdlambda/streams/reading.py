"""Conversion of data to batches of rows: data frames, arrays, files, readers and generators."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from itertools import chain, islice
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, Union

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tdlambda.extras import missing, need
from tdlambda.learners.base import Array
from tdlambda.streams.batch import Batch, Name, date, from_matrix, from_rows, values

if TYPE_CHECKING:
    from narwhals.typing import IntoFrame

Row: TypeAlias = Mapping[str, Any] | Mapping[int, Any] | ArrayLike
"""One row: values by column name, or an array."""
Data: TypeAlias = Union[
    str,
    PathLike[str],
    Mapping[str, ArrayLike],
    Mapping[int, ArrayLike],
    NDArray[Any],
    Iterable[Row],
    Batch,
    "IntoFrame",
]
"""A data frame, a file, columns by name, a matrix, or an iterable of rows."""
READ = 50_000
"""Largest number of rows of a file in memory at a time."""
LOOKED_AT = 1000
"""Number of first rows of a text file that determine the types of its columns."""
MISSING = ("", "na", "n/a", "nan", "null", "none", "-", "?")
"""Cells of a text file that mean a missing value, in lower case."""


def batches(data: Data, chunk: int, first: int = 0) -> Iterator[Batch]:
    """Yield the rows of any data source in batches, numbered from `first`; a table in memory is one batch."""
    source = _frames(data, chunk)
    for batch in source:
        batch.first = first
        yield batch
        first += len(batch)


def length(data: Any) -> int | None:
    """The number of rows, if it is known before reading."""
    if isinstance(data, str | PathLike) and Path(data).suffix.lower() in (".parquet", ".pq"):
        need("Parquet files", "pyarrow")
        import pyarrow.parquet

        return int(pyarrow.parquet.ParquetFile(fspath(data)).metadata.num_rows)
    if isinstance(data, Mapping):
        return len(next(iter(data.values()), ()))
    return len(data) if hasattr(data, "__len__") and not isinstance(data, str | PathLike) else None


def _frames(data: Any, chunk: int) -> Iterator[Batch]:
    if isinstance(data, Batch):
        yield data
    elif isinstance(data, str | PathLike):
        yield from _file(Path(data), min(chunk, READ))
    elif isinstance(data, np.ndarray) and data.dtype.names is None:
        yield _matrix(data)
    elif isinstance(data, Mapping):
        yield _table({name: np.asarray(column) for name, column in data.items()})
    elif (frame := _frame(data)) is not None:
        yield frame
    elif hasattr(data, "read_next_batch"):
        import pyarrow

        for part in data:
            yield _frame(pyarrow.Table.from_batches([part]))  # type: ignore[misc]  # a table is a frame
    elif hasattr(data, "__iter__"):
        yield from _rows(iter(data), chunk)
    else:
        raise TypeError(f"data must be a data frame, an array, a path or an iterator; got {type(data).__name__}")


def _matrix(data: Array) -> Batch:
    if data.ndim == 1:
        data = data.reshape(-1, 1)
    if data.ndim != 2 or data.dtype.kind not in "fiub":
        raise ValueError(f"data: an array must be numbers [row, column]; got {data.dtype} of shape {data.shape}")
    return from_matrix(data.astype(np.float64), 0)


def _table(columns: dict[Any, Array]) -> Batch:
    """A batch from a dict of arrays."""
    sizes = {name: len(column) if column.ndim else -1 for name, column in columns.items()}
    if not columns or min(sizes.values()) < 0 or len(set(sizes.values())) > 1:
        raise ValueError(f"data: a dict must contain columns of equal length; got {sizes}")
    found = {str(name): _array(column, str(name)) for name, column in columns.items()}
    return Batch(
        {name: column for name, (column, _) in found.items()}, frozenset(n for n, (_, t) in found.items() if t)
    )


def _array(column: Array, name: str) -> tuple[Array, bool]:
    """A column of a dict as numbers or text; and whether it holds dates."""
    if column.dtype.kind in "fiub":
        return column.astype(np.float64), False
    if column.dtype.kind == "M":
        stamps = column.astype("datetime64[us]")
        return np.where(np.isnat(stamps), np.nan, stamps.astype(np.int64) / 1e6), True
    return values(column.tolist(), name, 0)


def _frame(data: Any) -> Batch | None:
    """A batch from a data frame of any library that Narwhals supports; None if it is not a data frame."""
    if missing("frames"):
        if hasattr(data, "columns"):  # as all data frames do
            need("data frames", "frames")
        return None
    import narwhals

    try:
        frame: Any = narwhals.from_native(data)
    except TypeError:
        return None
    if isinstance(frame, narwhals.LazyFrame):
        frame = frame.collect()
    columns: dict[Name, Array] = {}
    times = set()
    for name in frame.columns:
        columns[name], dated = _column(frame[name], name)
        times |= {name} if dated else set()
    return Batch(columns, frozenset(times))


def _column(series: Any, name: str) -> tuple[Array, bool]:
    """A column as numbers or text; and whether it holds dates."""
    import narwhals as nw

    kind = series.dtype
    if kind.is_numeric() or kind == nw.Boolean:
        missing = series.is_null().to_numpy()
        filled = series.cast(nw.Float64) if kind.is_numeric() else series.cast(nw.Int8).cast(nw.Float64)
        found = np.array(filled.fill_null(0.0).to_numpy() if missing.any() else filled.to_numpy(), dtype=np.float64)
        found[missing] = np.nan
        return found, False
    if kind == nw.Datetime or kind == nw.Date:
        series = series.cast(nw.Datetime("us", getattr(kind, "time_zone", None)))
        missing = series.is_null().to_numpy()
        stamps = series.dt.timestamp("us")
        found = np.array(stamps.fill_null(0).to_numpy() if missing.any() else stamps.to_numpy(), dtype=np.float64) / 1e6
        found[missing] = np.nan
        return found, True
    if kind in (nw.String, nw.Categorical, nw.Enum):
        series = series.cast(nw.String)
    return values(series.to_list(), name, 0)


# ---- rows one by one -----------------------------------------------------------------------------------------------


def _rows(rows: Iterator[Any], chunk: int) -> Iterator[Batch]:
    """Batches of `chunk` dicts or arrays; or one batch per data frame."""
    first = next(rows, None)
    if first is None:
        return
    if not isinstance(first, Mapping) and not isinstance(first, np.ndarray | list | tuple):
        for part in chain([first], rows):
            frame = part if isinstance(part, Batch) else _frame(part)
            if frame is None:
                raise TypeError(f"data: a generator must yield dicts, arrays or data frames; got {part!r}")
            yield frame
        return
    source = chain([first], rows)
    while True:
        held: list[Any] = []
        try:
            held.extend(islice(source, chunk))
        except BaseException:  # rows before a failure or Ctrl-C are not lost
            if held:
                yield from_rows(held, 0)
            raise
        if not held:
            return
        yield from_rows(held, 0)


# ---- files ---------------------------------------------------------------------------------------------------------


def _file(path: Path, chunk: int) -> Iterator[Batch]:
    if not path.exists():
        raise FileNotFoundError(f"data: there is no file {str(path)!r}")
    if path.suffix.lower() in (".parquet", ".pq"):
        need("Parquet files", "pyarrow")
        import pyarrow
        import pyarrow.parquet

        with pyarrow.parquet.ParquetFile(path) as file:
            for part in file.iter_batches(chunk):
                yield _frame(pyarrow.Table.from_batches([part]))  # type: ignore[misc]  # a table is a frame
        return
    yield from Text(path).read(chunk)


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
        import csv

        with open(self.path, newline="", encoding="utf-8-sig") as file:
            line = file.readline()
            self.separator = max(",;\t", key=line.count)
            found = [name.strip() for name in next(csv.reader([line], delimiter=self.separator), [])]
        if not found or len(set(found)) < len(found):
            raise ValueError(f"{self.path}: the first line must contain distinct column names; got {line.strip()!r}")
        return found

    def lines(self) -> Iterator[list[str]]:
        """Yield the cells of each line after the header."""
        import csv

        with open(self.path, newline="", encoding="utf-8-sig") as file:
            lines = (line for line in file if line.endswith("\n")) if self.finished else file
            reader = csv.reader(lines, delimiter=self.separator)
            next(reader, None)
            for cells in reader:
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

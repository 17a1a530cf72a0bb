"""Conversion of data to batches of rows: data frames, arrays, files, readers and generators."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import islice
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, Union

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tdlambda.extras import missing, need
from tdlambda.learners.learner import Array
from tdlambda.streams.batch import Batch, Name, from_matrix, from_rows, joined, values
from tdlambda.streams.csv_text import Text

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
    elif hasattr(data, "__iter__"):
        yield from Drawn(data).batches(chunk, 0)
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
    found = {str(name): _array(column) for name, column in columns.items()}
    return Batch(
        {name: column for name, (column, _) in found.items()}, frozenset(n for n, (_, t) in found.items() if t)
    )


def _array(column: Array) -> tuple[Array, bool]:
    """A column of a dict as numbers or objects; and whether it holds dates."""
    if column.dtype.kind in "fiub":
        return column.astype(np.float64), False
    if column.dtype.kind == "M":
        stamps = column.astype("datetime64[us]")
        return np.where(np.isnat(stamps), np.nan, stamps.astype(np.int64) / 1e6), True
    return values(column.tolist())


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
    frame = _with_index(frame, data)
    columns: dict[Name, Array] = {}
    times = set()
    for name in frame.columns:
        columns[name], dated = _column(frame[name])
        times |= {name} if dated else set()
    return Batch(columns, frozenset(times))


def _with_index(frame: Any, data: Any) -> Any:
    """A pandas frame with its index as a column, if it has a name or holds dates."""
    index = getattr(data, "index", None)
    if index is None or not hasattr(index, "nlevels") or not hasattr(data, "reset_index"):
        return frame
    names = [name for name in index.names if name is not None]
    dated = hasattr(index, "tz") or type(index).__name__ == "PeriodIndex"
    if not names and not dated:
        return frame
    import narwhals

    if type(index).__name__ == "PeriodIndex":
        data = data.set_axis(index.to_timestamp())
    if not names:
        data = data.rename_axis("time" if "time" not in data.columns else "index")
    return narwhals.from_native(data.reset_index())


def _column(series: Any) -> tuple[Array, bool]:
    """A column as numbers or objects; and whether it holds dates."""
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
    return values(series.to_list())


# ---- rows one by one -----------------------------------------------------------------------------------------------


def one_pass(data: Any) -> bool:
    """Whether the data are an iterator, which yields each row only once."""
    return hasattr(data, "__next__") or hasattr(data, "read_next_batch")


class Drawn:
    """Rows drawn from an iterator, kept until they have been learned: dicts or arrays, or whole data frames."""

    def __init__(self, data: Any) -> None:
        self.data, self.source = data, iter(data)
        self.held: tuple[int, list[Any]] = (0, [])
        """The number of the first row, and the items drawn from there on; replaced together, so that they agree."""

    def renumber(self, rows: int, skip: int) -> None:
        """Drop what has been learned; number the rest so that the row after the first `skip` has the number `rows`."""
        self.forget(rows)
        self.held = (rows - skip, self.held[1])

    def forget(self, rows: int) -> None:
        """Drop the rows before number `rows`."""
        first, items = self.held
        k = 0
        while k < len(items) and first + _length(items[k]) <= rows:
            first, k = first + _length(items[k]), k + 1
        rest = items[k:]
        if rest and first < rows:  # a data frame that was learned in part
            first, rest[0] = rows, rest[0].part(rows - first, len(rest[0]))
        self.held = (first, rest)

    def batches(self, chunk: int, least: int) -> Iterator[Batch]:
        """Yield batches of `chunk` dicts or arrays, or one for each data frame; the first has at least `least` rows.

        If the source raises, the rows that it yielded before come first. But if Ctrl-C comes while the first batch is
        drawn, and the source can go on, they are kept for the next call: the first batch determines the features.
        """
        upto, failed = self.held[0], None
        while failed is None:
            first, items = self.held
            at = 0
            while at < len(items) and first < upto:
                first, at = first + _length(items[at]), at + 1
            while more := self._wanted(items, at, chunk, least):
                n = len(items)
                try:
                    items.extend(islice(self.source, more))
                except BaseException as error:
                    ended = getattr(self.source, "gi_frame", self) is None  # a generator that raised
                    if least and not ended and not isinstance(error, Exception):
                        raise
                    failed = error
                if len(items) < n + more:
                    break
            if at == len(items):
                break
            some = items[at:]
            batch = from_rows(some, upto) if _is_row(some[0]) else replace(next(joined(iter(some), least)), first=upto)
            yield batch
            upto, least = upto + len(batch), 0
        if failed is not None:
            raise failed

    def _wanted(self, items: list[Any], at: int, chunk: int, least: int) -> int:
        """The number of items to draw for the batch that begins with item `at`."""
        if at < len(items) and _is_row(items[at]):
            return max(0, max(chunk, least) - (len(items) - at))
        for k in range(at, len(items)):
            items[k] = self._converted(items[k])
        items[at:] = [batch for batch in items[at:] if len(batch)]
        return int(sum(map(len, items[at:])) < max(1, least))

    def _converted(self, item: Any) -> Batch:
        if hasattr(self.data, "read_next_batch"):
            import pyarrow

            item = pyarrow.Table.from_batches([item])
        batch = item if isinstance(item, Batch) else _frame(item)
        if batch is None:
            raise TypeError(f"data: a generator must yield dicts, arrays or data frames; got {item!r}")
        return batch


def _is_row(item: Any) -> bool:
    return isinstance(item, Mapping | np.ndarray | list | tuple)


def _length(item: Any) -> int:
    """The number of rows of an item; 1 for a data frame that has not been converted, and so not learned either."""
    return len(item) if isinstance(item, Batch) else 1


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

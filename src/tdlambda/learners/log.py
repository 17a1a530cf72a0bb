"""Learning from logged transitions in any kind of table.

No table library is imported: tables are read by the few methods that polars, pandas and pyarrow share.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeAlias, TypeVar

import numpy as np

from tdlambda.arrays import Bools, Floats, integer, refuse, unmasked
from tdlambda.learners.learner import Array, needs_behavior
from tdlambda.mdp import Transitions

AnyLearner = TypeVar("AnyLearner")
Columns: TypeAlias = str | Sequence[str]
_FIELDS = ("obs", "reward", "next_obs", "gamma", "rho", "terminated", "truncated", "behavior")
_RANGES = {
    "reward": (-np.inf, np.inf, "finite"),
    "gamma": (0.0, 1.0, "in [0, 1]"),
    "rho": (0.0, np.inf, "finite and not negative"),
    "behavior": (np.nextafter(0.0, 1.0), 1.0, "in (0, 1]"),
}
_DEFAULTS = {"rho": 1.0, "terminated": False, "truncated": False}


def learn_from_log(
    table: Any,
    learner: AnyLearner,
    *,
    obs: Columns = "obs",
    reward: str = "reward",
    next_obs: Columns = "next_obs",
    gamma: str | float = "gamma",
    rho: str | float = "rho",
    terminated: str | bool = "terminated",
    truncated: str | bool = "truncated",
    behavior: str | float = "behavior",
    chunk: int = 100_000,
) -> AnyLearner:
    """Learn from a table with one transition per row, and return the learner.

    The rows must be in temporal order: after a row that is neither terminated nor truncated, the next row continues
    from its `next_obs`. Sort the log first if necessary, and mark the last row of an unfinished episode as truncated.

    A table in memory is validated as a whole before learning starts, except for observations, which the encoder
    validates chunk by chunk. A stream of batches is validated batch by batch.

    Parameters
    ----------
    table
        A polars DataFrame or LazyFrame (which is collected), a pandas DataFrame, a pyarrow Table, RecordBatch or
        RecordBatchReader (which is read batch by batch), a dict of arrays, or `Transitions`.
    learner
        Anything with `update_many`.
    obs, next_obs
        Name of a column of numbers or of lists, or a list of names, one column for each dimension.
    reward
        Name of a column.
    gamma, rho, terminated, truncated
        Name of a column, or one value for all rows; γ in [0, 1], ρ finite and ≥ 0. Where the column is missing, ρ = 1,
        terminated and truncated are False; γ has no default.
    behavior
        Name of the column of b(a|s), or one value for all rows, in (0, 1]. It is read only for learners whose trace
        correction needs it ("tree", "abtd").
    chunk
        Number of rows learned from at a time, at least 1.

    Examples
    --------
    >>> import tdlambda as td
    >>> from tdlambda.learners.log import learn_from_log
    >>> log = {"state": [0, 1], "r": [0.0, 1.0], "next": [1, 2], "done": [False, True]}
    >>> v = td.TD(td.features.OneHot(3), alpha=0.5, lam=1.0)
    >>> names = dict(obs="state", reward="r", next_obs="next", terminated="done")
    >>> learn_from_log(log, v, gamma=0.9, **names).predict(0)
    0.45
    """
    chunk = integer(chunk, "chunk", 1)
    wanted = dict(zip(_FIELDS, (obs, reward, next_obs, gamma, rho, terminated, truncated, behavior), strict=True))
    if not needs_behavior(learner):
        del wanted["behavior"]
    first = 0
    for batch in _batches(table):
        rows = _transitions(batch, wanted, first)
        for start in range(0, len(rows), chunk):
            learner.update_many(rows[start : start + chunk])  # type: ignore[attr-defined]  # any class with this method works
        first += len(rows)
    return learner


def _batches(table: Any) -> Iterator[Any]:
    """The table as one batch, or the batches of a reader."""
    if isinstance(table, Transitions):
        yield vars(table)
    elif _has(table, "read_next_batch"):
        yield from table
    else:
        yield table.collect() if _has(table, "collect") else table


def _transitions(table: Any, wanted: dict[str, Any], first: int) -> Transitions:
    """Validated columns; `first` is the number of the table's first row, for messages."""
    columns = {field: _values(table, field, wanted[field], first) for field in ("obs", "reward", "next_obs")}
    n = len(columns["reward"])
    for field in [field for field in wanted if field not in columns]:
        columns[field] = _values(table, field, wanted[field], first)
        if columns[field].ndim == 0:
            columns[field] = np.full(n, columns[field])
    for field, column in columns.items():
        if len(column) != n:
            raise ValueError(f"{field} must have {n} rows, as many as reward; got {len(column)}")
        if field in _RANGES:
            columns[field] = _numbers(field, column, first)
        elif field in ("terminated", "truncated"):
            columns[field] = _flags(field, column, first)
    return Transitions(action=np.zeros(n, dtype=np.int64), **columns)


def _values(table: Any, field: str, name: Any, first: int) -> Array:
    """A field as NumPy arrays: one column, several columns side by side, or one value."""
    if field in ("obs", "next_obs") and not isinstance(name, str) and isinstance(name, Sequence):
        return np.column_stack([_column(table, field, part, first) for part in name])
    if isinstance(name, str):
        if name == field and name not in _names(table):
            if field in _DEFAULTS:
                return np.asarray(_DEFAULTS[field])
            if field == "gamma":
                raise ValueError("gamma: the table has no column 'gamma'; pass gamma= a number or the name of a column")
        return _column(table, field, name, first)
    if field in ("obs", "reward", "next_obs") or not isinstance(name, bool | int | float | np.generic):
        other = {"obs": " or a list of names", "reward": "", "next_obs": " or a list of names"}
        raise TypeError(
            f"{field} must be the name of a column{other.get(field, ' or one value for all rows')}; got {name!r}"
        )
    return np.asarray(name)


def _has(table: Any, method: str) -> bool:
    """Whether the class has such a method; an instance may have a column of that name as an attribute."""
    return hasattr(type(table), method)


def _names(table: Any) -> list[str]:
    if isinstance(table, Mapping):
        return list(table)
    if _has(table, "column"):
        return list(table.schema.names)
    if _has(table, "columns"):
        return list(table.columns)
    raise TypeError(f"table must be a data frame, a dict of arrays or Transitions; got {type(table).__name__}")


def _column(table: Any, field: str, name: str, first: int) -> Array:
    """One column without missing values, always in 64 bits, so that all kinds of tables give equal results."""
    names = _names(table)
    if name not in names:
        raise ValueError(
            f"{field}: the table has no column {name!r}; pass {field}= one of its columns, {', '.join(map(str, names))}"
        )
    column = table.column(name) if _has(table, "column") else table[name]
    for gaps in ("isna", "is_null"):
        if hasattr(column, gaps):
            _require_none(np.asarray(getattr(column, gaps)(), dtype=bool), name, first)
            break
    unmasked(column, f"column {name!r}")
    try:
        values: Array = np.asarray(column)
    except ValueError:  # lists of unequal lengths
        values = np.fromiter(column, dtype=object)
    if values.ndim == 0:
        raise ValueError(f"{field}: column {name!r} must have one value for each row; got {values!r}")
    if values.dtype == object and len(values):
        values = _unpack(values, name, first)
    if values.dtype.kind == "f":
        _require_none(np.atleast_1d(np.isnan(values).any(axis=tuple(range(1, values.ndim)))), name, first)
    to = {"f": np.float64, "i": np.int64, "u": np.int64}.get(values.dtype.kind)
    return np.ascontiguousarray(values if to is None else values.astype(to))


def _unpack(values: Array, name: str, first: int) -> Array:
    """Rows of lists as a matrix; other objects unchanged."""
    _require_none(np.array([value is None for value in values]), name, first)
    if isinstance(values[0], str | bytes) or not hasattr(values[0], "__len__"):
        try:
            plain = np.array(values.tolist())
        except ValueError as error:
            raise ValueError(f"column {name!r}: {error}") from None
        return plain if plain.dtype.kind in "fiub" else values
    rows = [np.asarray(value) for value in values]
    for row, value in enumerate(rows):
        if value.shape != rows[0].shape:
            raise ValueError(
                f"column {name!r} must have lists of equal length; got {value.size} numbers in row {first + row}, "
                f"{rows[0].size} in row {first}"
            )
        if value.dtype == object:
            _require_none(np.array([None in value.tolist()]), name, first + row)
    return np.stack(rows)


def _require_none(gaps: Bools, name: str, first: int) -> None:
    missing = "the value is missing (null or NaN); drop or fill such rows first"
    refuse(gaps, lambda row: f"column {name!r}, row {first + row}: {missing}")


def _numbers(field: str, column: Array, first: int) -> Floats:
    if column.dtype.kind not in "fiub" or column.ndim != 1:
        raise TypeError(f"{field} must be a column of numbers; got {column.dtype} of shape {column.shape}")
    numbers: Floats = column.astype(np.float64)
    low, high, words = _RANGES[field]
    bad = ~((numbers >= low) & (numbers <= high) & np.isfinite(numbers))
    refuse(bad, lambda row: f"{field} must be {words}; got {numbers[row]} (row {first + row})")
    return numbers


def _flags(field: str, column: Array, first: int) -> Bools:
    if column.dtype.kind not in "fiub" or column.ndim != 1:
        raise TypeError(f"{field} must be a column of True and False; got {column.dtype} of shape {column.shape}")
    bad = (column != 0) & (column != 1)
    refuse(bad, lambda row: f"{field} must be True or False; got {column[row]} (row {first + row})")
    return column.astype(np.bool_)

"""The file of a unit: a method's results on one seed, in Parquet with a checksum.

The SHA-256 of all bytes is stored between the pages and the footer, which Parquet readers ignore. Unlike Parquet's page
checksums it covers the footer and the page headers, and unlike a side file it cannot be lost or outdated.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tdlambda.arrays import Floats
from tdlambda.control import ControlResult
from tdlambda.lab.studies.study import FORMAT, Study
from tdlambda.runner.result import Result, mean_over

if TYPE_CHECKING:  # slow to import, and not needed to learn
    import pyarrow as pa

_ABOUT = b"tdlambda"
_SUM = b"sha256:"
_COLUMNS = {
    "seed": "int64", "diverged_at": "int64", "tail": "double", "area": "double", "final": "double",
    "curve": "list<element: float>", "lambdas": "list<element: float>",
}  # fmt: skip
"""Columns of every unit, besides those of the grid."""
MOTION = "motion"
"""Column of units with recorded λ: λ of each cell over time, [moment · observation], in 255ths."""
_POLICY = "policy"
"""Column of control units: the greedy action at each observation. Units of earlier versions lack it."""


class DamagedError(Exception):
    """A file whose content was altered, or does not match its name."""


class UnreadableError(OSError):
    """A file that cannot be read now, for a reason unrelated to its content."""


def unit_bytes(study: Study, method: str, result: Result | ControlResult) -> bytes:
    """One seed's results as the bytes of a Parquet file, one row per cell."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    (seed,), cells, error = result.seeds, study.cells(method), result.error[:, 0]
    n = len(cells)
    rows = study.stored_cells(method)
    by_step = study.unit == "steps"
    columns: dict[str, Any] = {axis: pa.array([row[axis] for row in rows]) for axis in study.methods[method].over}
    columns |= {
        "seed": np.full(n, seed, dtype=np.int64),
        "diverged_at": result.diverged_at[:, 0],
        "tail": error[:, -study.tail_points :].mean(axis=1),
        "area": mean_over(error[:, -study.area_points :], study.read_at, study.average if by_step else None),
        "final": error[:, -1],
        "curve": _rows(error[:, study.stored_points]),
        "lambdas": _rows(np.stack([_by_state(lam[0]) for lam in result.lambdas])),
    }
    if seed in result.motion:
        columns[MOTION] = _as_bytes(result.motion[seed])
    if isinstance(result, ControlResult):
        columns[_POLICY] = pa.array([one[0].tolist() for one in result.policy], type=pa.list_(pa.uint16()))
    about = json.dumps({"format": FORMAT, "key": study.key(method), "seed": seed, "rows": n, "summed": True})
    table = pa.table(columns).replace_schema_metadata({_ABOUT: about.encode()})
    sink = BytesIO()
    pq.write_table(table, sink, compression="zstd", write_page_checksum=True)
    content = sink.getvalue()
    footer = _footer(content)
    return content[:footer] + _SUM + hashlib.sha256(content).digest() + content[footer:]


def read_unit(path: Path, key: str, seed: int, cells: Sequence[Mapping[str, Any]]) -> pa.Table:
    """Read and verify a unit: its checksum, before the bytes are parsed, and that the content matches the name.

    `cells` are the method's cells as returned by `Study.stored_cells`, one per row.
    """
    try:
        table, about = _checked(path.read_bytes())
    except (FileNotFoundError, NotADirectoryError):
        raise
    except (OSError, MemoryError) as error:  # too many open files, no permission, no memory: the file may be intact
        why = error if isinstance(error, OSError) else "not enough memory"
        raise UnreadableError(f"{path} cannot be read now and is left unchanged: {why}") from error
    except ValueError as error:
        raise DamagedError(f"{path} cannot be read: {error}") from error
    if not is_of(table, about, key, seed, cells):
        raise DamagedError(f"{path}: its content does not match its name")
    return table


def is_of(table: pa.Table, about: Any, key: str, seed: int, cells: Sequence[Mapping[str, Any]]) -> bool:
    """Whether a table and its metadata have the columns of a unit, and belong to this key, seed and cells."""
    kinds = {name: str(table.schema.field(name).type) for name in _COLUMNS if name in table.column_names}
    said = {"format": FORMAT, "key": key, "seed": seed, "rows": table.num_rows, "summed": True}
    if about != said or kinds != _COLUMNS or any(table[name].null_count for name in _COLUMNS):
        return False
    axes = [name for name in table.column_names if name not in (*_COLUMNS, MOTION, _POLICY)]
    return bool((table.select(axes).to_pylist() if axes else [{}] * table.num_rows) == cells)


def read_table(content: bytes, columns: list[str] | None = None) -> pa.Table:
    """Read a unit's table in this thread.

    PyArrow's own threads may hold the last reference to `content` at interpreter exit, which aborts the process.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    with pq.ParquetFile(pa.BufferReader(content), page_checksum_verification=True) as file:
        return file.read(columns, use_threads=False)


def _checked(content: bytes) -> tuple[pa.Table, Any]:
    """Parse and verify a unit's table and metadata; raise ValueError if the bytes were altered."""
    import pyarrow as pa

    footer = _footer(content)
    begin = footer - len(_SUM) - hashlib.sha256().digest_size
    whole = hashlib.sha256(memoryview(content)[: max(begin, 0)])
    whole.update(memoryview(content)[max(footer, 0) :])
    if begin < 0 or content[begin:footer] != _SUM + whole.digest():
        raise ValueError("its content does not match its checksum")
    try:
        table = read_table(content)
        return table, json.loads(table.schema.metadata[_ABOUT])
    except MemoryError:
        raise
    except (OSError, pa.ArrowException, KeyError, TypeError) as error:  # PyArrow's OSError is about the bytes
        raise ValueError(error) from error


def _footer(content: bytes) -> int:
    """The position of the footer of a Parquet file, from its length at the end of the file."""
    return len(content) - 8 - int.from_bytes(content[-8:-4], "little")


def _as_bytes(motion: list[Any]) -> pa.Array:
    import pyarrow as pa

    whole = [np.round(255 * np.clip(np.nan_to_num(one), 0, 1)).astype(np.uint8).ravel() for one in motion]
    return pa.array([one.tolist() for one in whole], type=pa.list_(pa.uint8()))


def _by_state(lam: Floats) -> Floats:
    """λ of each observation; for action values, the mean over actions."""
    return lam if lam.ndim == 1 else lam.mean(axis=1)


def _rows(table: Any) -> pa.Array:
    import pyarrow as pa

    with np.errstate(over="ignore"):  # an error beyond float32 becomes infinite
        flat = pa.array(np.ascontiguousarray(table, dtype=np.float32).ravel())
    return pa.ListArray.from_arrays(table.shape[1] * np.arange(len(table) + 1, dtype=np.int32), flat)

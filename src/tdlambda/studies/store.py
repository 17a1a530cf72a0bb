"""Results on disk: one Parquet file per method and seed, written atomically and verified when it is read.

    DIR/manifest.json                              the study, versions, machine, time; which units belong to it
    DIR/units/METHOD-KEY/000017.parquet            a row for each cell of the grid, on seed 17
    DIR/sessions/…json                             host, time, program and progress of each session
    DIR/set-aside/…                                files that were found damaged

KEY is a hash of all that the numbers depend on, which keeps results of other parameters or programs apart. A unit
carries a checksum of all its bytes between its pages and its footer, where readers of Parquet do not look.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import socket
import time
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cache
from importlib.metadata import version
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import numpy as np

import tdlambda
from tdlambda.arrays import Floats
from tdlambda.control import ControlResult
from tdlambda.engine.result import Result, mean_over
from tdlambda.extras import need
from tdlambda.studies.manifest import NAME, content_sum, read_manifest
from tdlambda.studies.study import FORMAT, Study

if TYPE_CHECKING:  # slow to import, and not needed for learning alone
    import polars as pl
    import pyarrow as pa

_ABOUT = b"tdlambda"
_SUM = b"sha256:"
_COLUMNS = {
    "seed": "int64", "diverged_at": "int64", "tail": "double", "area": "double", "final": "double",
    "curve": "list<element: float>", "lambdas": "list<element: float>",
}  # fmt: skip
"""Columns of every unit besides those of the grid, with their types."""
_MOTION = "motion"
"""Column of followed units: λ of each cell over time, [moment · observation], in 255ths."""
_POLICY = "policy"
"""Column of control units: the greedy action at each observation; units of earlier versions have none."""
_UNFINISHED = ".unfinished"
_SURELY_DEAD = 86_400.0
"""Seconds after which a temporary file is abandoned. Process ids cannot tell: those of another container or machine,
which may even have our host name, are unknown here."""


class DamagedError(Exception):
    """A file whose content was altered, or does not match its name."""


class UnreadableError(OSError):
    """A file that cannot be read now, for a reason unrelated to its content."""


class Store:
    """The results directory of a study."""

    def __init__(self, directory: str | Path, study: Study, keys: Mapping[str, str] | None = None) -> None:
        self.directory, self.study = Path(directory), study
        self.keys = {method: study.key(method) for method in study.methods} if keys is None else dict(keys)

    def path(self, method: str, seed: int) -> Path:
        """Path of a unit."""
        return self.directory / "units" / f"{method}-{self.keys[method]}" / f"{seed:06d}.parquet"

    def missing(self) -> tuple[dict[str, list[int]], list[Path]]:
        """The missing seeds of each method, and the damaged files, which are set aside."""
        self._tidy()
        damaged: list[Path] = []
        wanted: dict[str, list[int]] = {}
        for method in self.study.methods:
            wanted[method], cells = [], self.study.stored_cells(method)
            for seed in self.study.numbers:
                path = self.path(method, seed)
                try:
                    read_unit(path, self.keys[method], seed, cells)
                    continue
                except DamagedError:
                    damaged.append(path)
                except (FileNotFoundError, NotADirectoryError):
                    pass
                wanted[method].append(seed)
        return wanted, [self.set_aside(path) for path in damaged]

    def set_aside(self, path: Path) -> Path:
        """Move a file to set-aside/, without overwriting another."""
        place = self.directory / "set-aside"
        place.mkdir(parents=True, exist_ok=True)
        new = place / f"{path.parent.name}-{path.stem}-{time.time_ns()}{path.suffix}"
        with suppress(FileNotFoundError):  # another process has moved it
            path.replace(new)
        return new

    def _tidy(self) -> None:
        """Remove old temporary files of processes that were killed while writing."""
        for path in self.directory.rglob(f"{_UNFINISHED}-*"):
            with suppress(OSError):  # another process has removed it, or we may not
                if time.time() - path.stat().st_mtime > _SURELY_DEAD:
                    path.unlink()

    def write(self, method: str, seed: int, content: bytes) -> None:
        """Write a unit."""
        write_whole(self.path(method, seed), content)

    def write_manifest(self) -> None:
        """Write the manifest of this directory."""
        manifest = {
            "format": FORMAT, "study": self.study.to_dict(), "keys": self.keys,
            "code": {method: self.study.code(method) for method in self.study.methods},
            "curve_steps": self.study.read_at[self.study.kept].tolist(), "written": _now(), **provenance(),
        }  # fmt: skip
        manifest["sum"] = content_sum(manifest)
        content = json.dumps(manifest, indent=2, ensure_ascii=False).encode()
        try:
            write_whole(self.directory / NAME, content)
        except OSError as error:
            raise ValueError(f"out: {self.directory} cannot be written: {error}") from error


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
        "curve": _rows(error[:, study.kept]),
        "lambdas": _rows(np.stack([_by_state(lam[0]) for lam in result.lambdas])),
    }
    if seed in result.motion:
        columns[_MOTION] = _as_bytes(result.motion[seed])
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

    `cells` are the method's cells as returned by `Study.stored`, one per row.
    """
    try:
        table, about = _checked(path.read_bytes())
    except (FileNotFoundError, NotADirectoryError):
        raise
    except (OSError, MemoryError) as error:  # too many open files, no rights, no memory: the file may be intact
        why = error if isinstance(error, OSError) else "there is not enough memory"
        raise UnreadableError(f"{path} cannot be read now, and is left as it is: {why}") from error
    except ValueError as error:
        raise DamagedError(f"{path} cannot be read: {error}") from error
    kinds = {name: str(table.schema.field(name).type) for name in _COLUMNS if name in table.column_names}
    said = {"format": FORMAT, "key": key, "seed": seed, "rows": table.num_rows, "summed": True}
    axes = [name for name in table.column_names if name not in (*_COLUMNS, _MOTION, _POLICY)]
    good = about == said and kinds == _COLUMNS and not any(table[name].null_count for name in _COLUMNS)
    if not good or (table.select(axes).to_pylist() if axes else [{}] * table.num_rows) != cells:
        raise DamagedError(f"{path} holds other results than its name says")
    return table


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
        raise ValueError("its checksum does not match its bytes")
    try:
        table = read_table(content)
        return table, json.loads(table.schema.metadata[_ABOUT])
    except MemoryError:
        raise
    except (OSError, pa.ArrowException, KeyError, TypeError) as error:  # PyArrow raises OSError for bad bytes
        raise ValueError(error) from error


def _footer(content: bytes) -> int:
    """Where the footer of a Parquet file begins, by the length in its last 8 bytes."""
    return len(content) - 8 - int.from_bytes(content[-8:-4], "little")


def load_results(directory: str | Path) -> pl.DataFrame:
    """Load all results in a directory, finished or not, as a data frame: one row per method, cell and seed.

    Columns: `method`, `learner`, `rule` (null without a rule); the grid parameters (null for methods that do not use
    them; text if there are names among the values, such as λ = "0.5" and "auto"); `seed`;
    `diverged_at` (-1 if it did not diverge); `tail` (the final error), `area` (the mean of the whole curve), `final`
    (at the last step), all infinite after divergence; `curve`, at the manifest's `curve_steps`; `lambdas`, the final λ
    of each state (on a grid of observations if there are no states). In a control study, errors are costs, minus the
    mean return, and `area` covers the steps after the warm-up; `policy` is the greedy action at each observation.
    Damaged files are skipped with a warning; `tdlambda run` recomputes them.

    Examples
    --------
    >>> import tdlambda as td, tempfile
    >>> study = td.studies.Study(
    ...     "walk", "RandomWalk-v0", {"TD": td.studies.Method("TD", over=("alpha",))}, grid={"alpha": [0.01, 0.1]},
    ...     seeds=2, steps=1000)
    >>> with tempfile.TemporaryDirectory() as out:
    ...     outcome = td.studies.run_study(study, out)
    ...     results = td.studies.load_results(out)
    >>> results.select("method", "alpha", "seed").rows()
    [('TD', 0.01, 0), ('TD', 0.1, 0), ('TD', 0.01, 1), ('TD', 0.1, 1)]
    """
    need("results of studies", "studies")
    import polars as pl
    import pyarrow as pa

    store = Store(directory, *study_and_keys(directory))  # with the keys of the program that wrote it
    study = store.study
    frames = []
    for method, declared in study.methods.items():
        tables = list(_units(store, method))
        if tables:
            frame = pl.from_arrow(pa.concat_tables(tables, promote_options="default"))
            assert isinstance(frame, pl.DataFrame)
            rules = [declared.settings(cell)[0] for cell in study.cells(method)] * len(tables)
            named = [pl.lit(method).alias("method"), pl.lit(declared.learner).alias("learner")]
            frames.append(frame.select([*named, pl.Series("rule", rules, pl.String), pl.all()]))
    if not frames:
        raise ValueError(f"directory: {directory} holds no finished results yet")
    found = pl.concat(frames, how="diagonal_relaxed")
    axes = [axis for axis in study.grid if axis in found.columns]
    rest = [column for column in found.columns if column not in ("method", "learner", "rule", *axes)]
    return found.select(["method", "learner", "rule", *axes, *rest])


def load_motion(directory: str | Path) -> dict[str, list[Floats]]:
    """Load λ over time as recorded during the study: by method, for each cell, [moment, observation].

    It belongs to the study's first seed, at the steps of `Study.moments`. Methods that were not followed are missing.
    """
    store = Store(directory, *study_and_keys(directory))
    found, moments = {}, len(store.study.moments)
    for method in store.study.methods:
        with suppress(OSError, DamagedError):
            cells = store.study.stored_cells(method)
            unit = read_unit(store.path(method, store.study.seed), store.keys[method], store.study.seed, cells)
            if _MOTION in unit.column_names:
                rows = unit[_MOTION].to_pylist()
                found[method] = [np.reshape(row, (moments, len(row) // moments)) / 255 for row in rows]
    return found


def load_study(directory: str | Path) -> Study:
    """Load the study of a results directory. Modules that it names are not imported until it is run."""
    return study_and_keys(directory)[0]


def study_and_keys(directory: str | Path) -> tuple[Study, dict[str, str]]:
    """The study of a directory, and the key of each method."""
    found = read_manifest(directory)
    return found.study, found.keys


def write_whole(path: Path, content: bytes) -> None:
    """Write a file atomically: to a temporary name, flushed, then renamed."""
    path.parent.mkdir(parents=True, exist_ok=True)
    name = path.parent / f"{_UNFINISHED}-{socket.gethostname()}-{os.getpid()}-{uuid4().hex}"
    try:
        with name.open("xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        name.replace(path)
    except BaseException:
        name.unlink(missing_ok=True)
        raise


class Session:
    """The record of one session: time, host, program and progress."""

    def __init__(self, directory: Path, **about: Any) -> None:
        now = time.time_ns()
        at = time.strftime("%Y%m%d-%H%M%S", time.gmtime(now // 10**9))
        name = f"{at}.{now % 10**9:09d}-{socket.gethostname()}-{os.getpid()}.json"
        self.path = directory / "sessions" / name
        self.about = {"begun": _now(), "host": socket.gethostname(), **provenance(), **about}
        self.note(state="preparing")

    def at_work(self) -> None:
        """Record that compilation is done and work begins."""
        self.note(state="running", at_work=_now())

    def note(self, **what: Any) -> None:
        """Update the record and write it."""
        self.about |= {**what, "noted": _now()}
        write_whole(self.path, json.dumps(self.about, indent=2, ensure_ascii=False).encode())


def provenance() -> dict[str, Any]:
    """Versions of packages, and the machine."""
    packages = ("numpy", "numba", "scipy", "pyarrow", "polars")
    own = {"python": platform.python_version(), "tdlambda": tdlambda.__version__}
    return {
        "versions": own | {name: version(name) for name in packages},
        "source": _source_hash(),
        "machine": {"system": platform.platform(), "processor": platform.machine(), "processors": os.cpu_count()},
    }


def _units(store: Store, method: str) -> Iterator[pa.Table]:
    try:
        names = [Path(name) for name in os.listdir(store.path(method, 0).parent)]
    except (FileNotFoundError, NotADirectoryError):
        return
    cells = store.study.stored_cells(method)
    for seed in sorted({int(name.stem) for name in names if name.stem.isdecimal() and name.suffix == ".parquet"}):
        try:
            table = read_unit(store.path(method, seed), store.keys[method], seed, cells)
            yield table.drop_columns([_MOTION]) if _MOTION in table.column_names else table
        except FileNotFoundError:  # a copy under another name, or set aside at this moment
            continue
        except DamagedError as error:
            warnings.warn(f"skipped: {error}; `tdlambda run` recomputes it", stacklevel=3)


def _as_bytes(motion: list[Any]) -> pa.Array:
    import pyarrow as pa

    whole = [np.round(255 * np.clip(np.nan_to_num(one), 0, 1)).astype(np.uint8).ravel() for one in motion]
    return pa.array([one.tolist() for one in whole], type=pa.list_(pa.uint8()))


def _by_state(lam: Floats) -> Floats:
    """λ of each observation: of action values, the mean over actions."""
    return lam if lam.ndim == 1 else lam.mean(axis=1)


def _rows(table: Any) -> pa.Array:
    import pyarrow as pa

    with np.errstate(over="ignore"):  # errors beyond float32 are stored as infinite
        flat = pa.array(np.ascontiguousarray(table, dtype=np.float32).ravel())
    return pa.ListArray.from_arrays(table.shape[1] * np.arange(len(table) + 1, dtype=np.int32), flat)


@cache
def _source_hash() -> str:
    """Hash of the package's own code, which tells builds of one version apart."""
    found = hashlib.sha256()
    for file in sorted(Path(tdlambda.__file__).parent.rglob("*.py")):
        found.update(file.read_bytes())
    return found.hexdigest()[:16]


def _now() -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())

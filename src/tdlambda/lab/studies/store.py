"""Results on disk: one Parquet file per method and seed, written atomically and verified when it is read.

    DIR/manifest.json                              the study, versions, machine, time; which units belong to it
    DIR/units/METHOD-KEY/000017.parquet            a row for each cell of the grid, on seed 17
    DIR/sessions/…json                             one record per session: time, host, progress
    DIR/set-aside/…                                damaged files

KEY is a hash of everything that the numbers depend on, so results of different parameters or programs never mix.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import socket
import time
import warnings
from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import numpy as np

import tdlambda
from tdlambda.arrays import Floats
from tdlambda.extras import need
from tdlambda.lab.studies.manifest import NAME, content_sum, read_manifest
from tdlambda.lab.studies.study import FORMAT, Study
from tdlambda.lab.studies.units import MOTION, DamagedError, read_unit

if TYPE_CHECKING:  # slow to import, and not needed to learn
    import polars as pl
    import pyarrow as pa

_UNFINISHED = ".unfinished"
_SURELY_DEAD = 86_400.0
"""Age in seconds from which an unfinished file is abandoned. Process ids cannot tell this: those of another container
or machine, which may even have the same host name, mean nothing here."""


class Store:
    """The results directory of a study."""

    def __init__(self, directory: str | Path, study: Study, keys: Mapping[str, str] | None = None) -> None:
        self.directory, self.study = Path(directory), study
        self.keys = {method: study.key(method) for method in study.methods} if keys is None else dict(keys)

    def path(self, method: str, seed: int) -> Path:
        """The path of a unit."""
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
        with suppress(FileNotFoundError):  # another process was faster
            path.replace(new)
        return new

    def _tidy(self) -> None:
        """Remove old temporary files of processes that were killed while writing."""
        for path in self.directory.rglob(f"{_UNFINISHED}-*"):
            with suppress(OSError):  # another process was faster, or we may not remove it
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
            "curve_steps": self.study.read_at[self.study.stored_points].tolist(), "written": _now(), **provenance(),
        }  # fmt: skip
        manifest["sum"] = content_sum(manifest)
        content = json.dumps(manifest, indent=2, ensure_ascii=False).encode()
        try:
            write_whole(self.directory / NAME, content)
        except OSError as error:
            raise ValueError(f"out: {self.directory} cannot be written: {error}") from error


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

    store = Store(directory, *study_and_keys(directory))  # the keys of the program that wrote it
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

    It was recorded on the study's first seed, at the steps of `Study.moments`. Methods without a record are missing.
    """
    store = Store(directory, *study_and_keys(directory))
    found, moments, first = {}, len(store.study.moments), store.study.numbers[0]
    for method in store.study.methods:
        with suppress(OSError, DamagedError):
            cells = store.study.stored_cells(method)
            unit = read_unit(store.path(method, first), store.keys[method], first, cells)
            if MOTION in unit.column_names:
                rows = unit[MOTION].to_pylist()
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
        """Record that compilation is finished and units begin."""
        self.note(state="running", at_work=_now())

    def note(self, **what: Any) -> None:
        """Update the record and write it."""
        self.about |= {**what, "noted": _now()}
        write_whole(self.path, json.dumps(self.about, indent=2, ensure_ascii=False).encode())


def provenance() -> dict[str, Any]:
    """The versions, the host and the processor."""
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
            yield table.drop_columns([MOTION]) if MOTION in table.column_names else table
        except FileNotFoundError:  # a copy under another name, or a file that was just set aside
            continue
        except DamagedError as error:
            warnings.warn(f"left out: {error}; tdlambda run recomputes it", stacklevel=3)


@cache
def _source_hash() -> str:
    """A digest of the package's own code, which distinguishes builds of the same version."""
    found = hashlib.sha256()
    for file in sorted(Path(tdlambda.__file__).parent.rglob("*.py")):
        found.update(file.read_bytes())
    return found.hexdigest()[:16]


def _now() -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())

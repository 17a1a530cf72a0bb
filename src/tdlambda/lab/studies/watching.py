"""Watch a running study through its results directory: progress, speed, and the best cells so far.

Watching is read-only. A file is opened once, and again only if it changes, so that polling every second is cheap.
"""

from __future__ import annotations

import json
import os
import socket
import time
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np

from tdlambda.arrays import Bools, Floats
from tdlambda.extras import need
from tdlambda.lab.studies.pace import gaps, left, speed
from tdlambda.lab.studies.statistics import Summary, rank, summary
from tdlambda.lab.studies.store import study_and_keys
from tdlambda.lab.studies.study import Study
from tdlambda.lab.studies.units import DamagedError, UnreadableError, read_unit

_OWN = ("units", "sessions", "set-aside")
_Mark = tuple[int, int]


@dataclass(frozen=True)
class Best(Summary):
    """The cell with the smallest mean final error so far, in hindsight; cells without divergence are preferred."""

    settings: dict[str, Any]


@dataclass(frozen=True)
class MethodState:
    """Progress of a method; `runs` is cells × seeds read so far, of which `diverged` diverged."""

    name: str
    about: str
    cells: int
    done: int
    wanted: int
    runs: int
    diverged: int
    best: Best | None


@dataclass(frozen=True)
class Sitting:
    """A running session, from its own record; it is `preparing` while it compiles."""

    host: str
    since: str
    units: int
    preparing: bool


@dataclass(frozen=True)
class StudyProgress:
    """The state of a study at one moment.

    Attributes
    ----------
    study, title, quantity
        Name, title and measured quantity; empty until there is a manifest.
    done, wanted, read
        Number of finished units, of all units, and of finished units that have been read.
    units_per_minute, lane_steps_per_second, seconds_left
        Recent speed and estimated time left; None if no session is running, or before it has finished a unit.
    seconds_since
        Seconds since the last unit was finished.
    unit
        Unit of `steps`: "steps" or "episodes".
    damaged, set_aside
        Damaged files, which `tdlambda run` recomputes; and the number of files set aside earlier.
    unreadable
        Reasons why some files cannot be read now; they are tried again the next time.
    """

    directory: str
    study: str = ""
    title: str = ""
    quantity: str = ""
    seeds: int = 0
    steps: int = 0
    done: int = 0
    wanted: int = 0
    read: int = 0
    units_per_minute: float | None = None
    lane_steps_per_second: float | None = None
    seconds_left: float | None = None
    seconds_since: float | None = None
    methods: list[MethodState] = field(default_factory=list)
    sessions: list[Sitting] = field(default_factory=list)
    damaged: list[str] = field(default_factory=list)
    set_aside: int = 0
    unreadable: list[str] = field(default_factory=list)
    unit: str = "steps"

    @property
    def finished(self) -> bool:
        """Whether all units are present and undamaged."""
        return 0 < self.wanted == self.done == self.read


@dataclass(frozen=True)
class _Unit:
    """The part of a file that is kept: the final errors of its cells, and which diverged; nothing if it is damaged."""

    mark: _Mark
    tail: Floats | None
    lost: Bools | None


class Watcher:
    """A watcher of a results directory.

    Parameters
    ----------
    directory
        Results directory of a study. It may still be empty; other content raises an error.

    Examples
    --------
    >>> import tdlambda as td, tempfile
    >>> study = td.studies.Study("walk", task="RandomWalk-v0", seeds=3, steps=500, points=5,
    ...     methods={"TD": td.studies.Method("TD", options={"alpha": 0.1, "lam": 0.9})})
    >>> with tempfile.TemporaryDirectory() as out:
    ...     watcher = Watcher(out)
    ...     before = watcher.look()
    ...     _ = td.studies.run_study(study, out)
    ...     after = watcher.look()
    >>> before.wanted, after.done, after.wanted, after.finished
    (0, 3, 3, True)
    """

    def __init__(self, directory: str | Path) -> None:
        need("results of studies", "studies")
        self.directory = Path(directory)
        self._manifest: tuple[_Mark, Study, dict[str, str]] | None = None
        self._units: dict[Path, _Unit] = {}
        self._notes: dict[Path, tuple[_Mark, dict[str, Any]]] = {}
        self._best: dict[str, tuple[list[_Mark], Best]] = {}

    def look(self, seconds: float | None = None) -> StudyProgress:
        """The current state; reading new files stops after about `seconds` ≥ 0 (None: reads all)."""
        declared = self._declaration()
        if declared is None:
            return StudyProgress(str(self.directory))
        study, keys = declared
        end = None if seconds is None else time.monotonic() + seconds
        files = {method: self._files(study, method, keys[method]) for method in study.methods}
        unreadable = self._read(study, files, keys, end)
        methods = [self._method(study, method, files[method]) for method in study.methods]
        damaged = [path for some in files.values() for path in some if self._damaged(path)]
        sessions, begun = self._sessions()
        done, wanted = sum(m.done for m in methods), sum(m.wanted for m in methods)
        times = [(mark[0] / 1e9, m) for m, some in files.items() for p, (_, mark) in some.items() if p not in damaged]
        took, work = gaps(times, begun), {m.name: m.cells * study.length for m in methods}
        since = max(0.0, time.time() - max(times)[0]) if times else None
        pace = speed(took, work, None)
        time_left: float | None = 0.0
        if done < wanted:
            waited = time.time() - max([at for at, _ in times] + begun, default=0.0)
            known = any(at >= _time(s.since) for at, _ in times for s in sessions if not s.preparing)
            pace = speed(took, work, waited) if known else None
            time_left = left(took, work, {m.name: m.wanted - m.done for m in methods}) if known else None
        return StudyProgress(
            str(self.directory), study.name, study.title or study.task, study.quantity, len(study.numbers),
            study.length, done, wanted,
            sum(path in self._units and path not in damaged for some in files.values() for path in some),
            60 * pace[0] if pace else None, pace[1] if pace else None, time_left, since,
            methods, sessions, sorted(map(str, damaged)), len(_entries(self.directory / "set-aside")),
            unreadable, study.unit,
        )  # fmt: skip

    def _declaration(self) -> tuple[Study, dict[str, str]] | None:
        """The study and its keys; None if there is no manifest yet."""
        try:
            mark = _mark((self.directory / "manifest.json").stat())
        except (FileNotFoundError, NotADirectoryError):
            if self._manifest is not None:
                raise ValueError(f"directory: the results in {self.directory} have been removed") from None
            self._refuse_others()
            return None
        if self._manifest is None or self._manifest[0] != mark:
            self._manifest = (mark, *study_and_keys(self.directory))
        return self._manifest[1:]

    def _refuse_others(self) -> None:
        """Raise ValueError if there is no directory, or if it contains something other than results."""
        if not self.directory.is_dir():
            raise ValueError(f"directory: there is no directory {self.directory}")
        others = [entry.name for entry in _entries(self.directory) if entry.name not in _OWN]
        if others:
            inside = [name for name in sorted(others) if (self.directory / name / "manifest.json").is_file()]
            hint = f"; did you mean {self.directory / inside[0]}?" if inside else ""
            raise ValueError(f"directory: {self.directory} holds no results (it has no manifest.json){hint}")

    def _files(self, study: Study, method: str, key: str) -> dict[Path, tuple[int, _Mark]]:
        """The existing units of a method: their seeds and marks."""
        found = {}
        for entry in _entries(self.directory / "units" / f"{method}-{key}"):
            stem = entry.name.removesuffix(".parquet")
            if stem.isdecimal() and entry.name == f"{int(stem):06d}.parquet" and int(stem) in study.numbers:
                try:
                    found[Path(entry.path)] = (int(stem), _mark(entry.stat()))
                except FileNotFoundError:  # just set aside
                    continue
        return dict(sorted(found.items()))

    def _read(
        self, study: Study, files: dict[str, dict[Path, tuple[int, _Mark]]], keys: dict[str, str], end: float | None
    ) -> list[str]:
        """Read new files while there is time, and forget removed ones; return why some cannot be read now."""
        unreadable: list[str] = []
        for path in self._units.keys() - {path for some in files.values() for path in some}:
            del self._units[path]
        for method, some in files.items():
            cells = study.stored_cells(method)
            for path, (seed, mark) in some.items():
                known = self._units.get(path)
                if known is not None and known.mark == mark:
                    continue
                if end is not None and time.monotonic() > end:
                    return unreadable
                try:
                    table = read_unit(path, keys[method], seed, cells)
                    lost = table["diverged_at"].to_numpy() >= 0
                    self._units[path] = _Unit(mark, table["tail"].to_numpy(), lost)
                except DamagedError:
                    self._units[path] = _Unit(mark, None, None)
                except FileNotFoundError:  # just set aside
                    continue
                except UnreadableError as error:
                    self._units.pop(path, None)
                    unreadable.append(str(error))
        return unreadable

    def _damaged(self, path: Path) -> bool:
        return path in self._units and self._units[path].tail is None

    def _method(self, study: Study, method: str, files: dict[Path, tuple[int, _Mark]]) -> MethodState:
        """The progress of a method."""
        known = [self._units[path] for path in files if path in self._units and not self._damaged(path)]
        marks, cells = [unit.mark for unit in known], study.cells(method)
        if known and (method not in self._best or self._best[method][0] != marks):
            self._best[method] = marks, _best(cells, known)
        there = sum(not self._damaged(path) for path in files)
        diverged = sum(int(unit.lost.sum()) for unit in known if unit.lost is not None)
        best = self._best[method][1] if known else None
        about, n = study.methods[method].about, len(cells)
        return MethodState(method, about, n, there, len(study.numbers), n * len(known), diverged, best)

    def _sessions(self) -> tuple[list[Sitting], list[float]]:
        """The running sessions, and the start times of all sessions."""
        at_work, begun = [], []
        for entry in sorted(_entries(self.directory / "sessions"), key=lambda e: e.name):
            path = Path(entry.path)
            try:
                mark = _mark(entry.stat())
                if path not in self._notes or self._notes[path][0] != mark:
                    self._notes[path] = mark, dict(json.loads(path.read_bytes()))
                note = self._notes[path][1]
                since = note.get("at_work", note["begun"])
                begun.append(_time(since))
                if note["state"] in ("preparing", "running") and _alive(note["host"], path.stem):
                    at_work.append(Sitting(note["host"], since, int(note["units"]), note["state"] == "preparing"))
            except (OSError, LookupError, TypeError, ValueError, ArithmeticError, RecursionError):  # not a valid record
                continue
        return at_work, begun


def _best(cells: list[dict[str, Any]], units: list[_Unit]) -> Best:
    tails = np.array([unit.tail for unit in units])
    lost = np.array([unit.lost for unit in units]).sum(axis=0)
    finite = np.isfinite(tails)
    means = np.where(finite, tails, 0).sum(axis=0) / np.maximum(finite.sum(axis=0), 1)
    means[~finite.any(axis=0)] = np.inf
    k = min(range(len(cells)), key=lambda k: rank(lost[k], means[k]))
    return Best(**vars(summary(tails[:, k])) | {"diverged": int(lost[k]), "settings": cells[k]})


def _time(text: str) -> float:
    return datetime.fromisoformat(text).timestamp()


def _alive(host: str, name: str) -> bool:
    """Whether a session's process is running; on another machine this cannot be known and is assumed."""
    pid = name.rpartition("-")[2]
    if host != socket.gethostname() or os.name != "posix" or not pid.isdecimal():
        return True
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return False
    except (PermissionError, OverflowError):
        return True
    return True


def _entries(directory: Path) -> list[os.DirEntry[str]]:
    """The entries of a directory, without hidden and unfinished files."""
    try:
        with os.scandir(directory) as found:
            return [entry for entry in found if not entry.name.startswith(".")]
    except (FileNotFoundError, NotADirectoryError):
        return []


def _mark(of: os.stat_result) -> _Mark:
    return of.st_mtime_ns, of.st_size

"""Watching a directory of results: what it says against what the results say, and what it does not touch."""

import json
import os
import socket
import subprocess
import sys
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import tdlambda as td
from tdlambda.lab.report.overview import overview
from tdlambda.lab.studies import execution, watching
from tdlambda.lab.studies.store import Store
from tdlambda.lab.studies.units import read_unit
from tdlambda.lab.studies.watching import Watcher

STUDY = td.studies.Study(
    "small", "RandomWalk-v0", title="a small one", seeds=4, steps=1000, points=20,
    grid={"alpha": [0.1, 50.0], "lam": [0.0, 0.9]},
    methods={
        "fixed": td.studies.Method("TD", over=("alpha", "lam"), about="a fixed λ"),
        "greedy": td.studies.Method("TrueOnlineTD", rule="Greedy", over=("alpha",)),
        "plain": td.studies.Method("TD", options={"alpha": 0.1, "lam": 0.9}),
    },
)  # fmt: skip


@pytest.fixture
def done(tmp_path: Path) -> Path:
    td.studies.run_study(STUDY, tmp_path / "r", progress=False)
    return tmp_path / "r"


def units(directory: Path, method: str = "*") -> list[Path]:
    return sorted(directory.glob(f"units/{method}-*/*.parquet"))


def on_disk(directory: Path) -> dict[Path, tuple[int, bytes]]:
    return {p: (p.stat().st_mtime_ns, p.read_bytes()) for p in sorted(directory.rglob("*")) if p.is_file()}


def note(directory: Path, name: str, **about: Any) -> None:
    known = {"begun": "2026-01-01T00:00:00Z", "host": "elsewhere", "units": 12, "state": "running"}
    (directory / "sessions").mkdir(parents=True, exist_ok=True)
    (directory / "sessions" / name).write_text(json.dumps(known | about), encoding="utf-8")


def test_what_it_says_is_what_the_results_say(done: Path) -> None:
    before = on_disk(done)
    state = Watcher(done).look()
    assert on_disk(done) == before
    assert (state.study, state.title, state.seeds, state.steps) == ("small", "a small one", 4, 1000)
    assert (state.done, state.wanted, state.read, state.finished) == (12, 12, 12, True)
    assert (state.seconds_left, state.sessions, state.damaged, state.set_aside) == (0.0, [], [], 0)
    results, view = td.studies.load_results(done), overview(done)
    for method in state.methods:
        mine, cell, best = results.filter(pl.col("method") == method.name), view.best(method.name), method.best
        assert (method.done, method.wanted, method.runs) == (4, 4, mine.height)
        assert method.diverged == int((mine["diverged_at"] >= 0).sum())
        assert best is not None
        assert (best.settings, best.n, best.diverged) == (cell.settings, cell.n, cell.diverged)
        assert (best.mean, best.low, best.high) == pytest.approx((cell.tail.mean, cell.tail.low, cell.tail.high))
    assert [(m.name, m.cells, m.about) for m in state.methods] == [
        ("fixed", 4, "a fixed λ"), ("greedy", 2, ""), ("plain", 1, "")
    ]  # fmt: skip
    assert state.methods[0].diverged == 8


def test_where_every_run_diverged_the_best_is_infinite(tmp_path: Path) -> None:
    lost = STUDY.but(methods=["fixed"], grid={"alpha": [50.0]}, seeds=1)
    td.studies.run_study(lost, tmp_path, progress=False)
    (method,) = Watcher(tmp_path).look().methods
    assert method.best is not None
    assert (method.best.mean, method.best.diverged, method.diverged) == (float("inf"), 1, 2)


def test_unfinished_damaged_and_gone(done: Path) -> None:
    watcher = Watcher(done)
    watcher.look()
    first, second, *_ = units(done, "fixed")
    first.write_bytes(first.read_bytes()[:-9])
    second.unlink()
    (done / "set-aside").mkdir()
    (done / "set-aside" / "fixed-000009-1.parquet").write_bytes(b"")
    (first.parent / ".unfinished-vm-1-2").write_bytes(b"half")
    (first.parent / "readme.txt").write_bytes(b"")
    (first.parent / "000099.parquet").write_bytes(b"another seed")
    for state in (watcher.look(), Watcher(done).look()):
        assert (state.done, state.wanted, state.read, state.finished) == (10, 12, 10, False)
        assert state.damaged == [str(first)]
        assert state.set_aside == 1
        assert (state.methods[0].done, state.methods[0].runs) == (2, 8)
        assert (state.units_per_minute, state.seconds_left) == (None, None)  # nobody is at work
    td.studies.run_study(STUDY, done, progress=False)
    state = watcher.look()
    assert state.finished
    assert (state.damaged, state.set_aside) == ([], 2)


def test_files_are_read_once(done: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[Path] = []

    def counted(path: Path, *of: Any) -> Any:
        read.append(path)
        return original(path, *of)

    original = read_unit
    monkeypatch.setattr(watching, "read_unit", counted)
    watcher = Watcher(done)
    state = watcher.look(seconds=-1.0)  # no time at all
    assert (state.done, state.read, state.finished, read) == (12, 0, False, [])
    assert [m.best for m in state.methods] == [None, None, None]
    assert watcher.look().finished
    assert sorted(read) == units(done)
    watcher.look()
    assert len(read) == 12
    touched = units(done)[5]
    os.utime(touched, ns=(1, 10**18))
    assert watcher.look().finished
    assert read[12:] == [touched]
    td.studies.run_study(STUDY.but(seeds=6), done, progress=False)  # the manifest is another now
    state = watcher.look()
    assert (state.done, state.wanted, len(read)) == (18, 18, 19)


def test_speed_and_time_left_come_from_the_times_of_the_files(done: Path) -> None:
    now = time.time()
    begun = now - 100
    for entry in (done / "sessions").iterdir():
        entry.unlink()
    note(done, "1.json", begun=datetime.fromtimestamp(begun, UTC).isoformat().replace("+00:00", "Z"))
    fixed, greedy, plain = units(done, "fixed"), units(done, "greedy"), units(done, "plain")
    for k, path in enumerate(fixed):  # 10 s each
        os.utime(path, (now, begun + 10 * (k + 1)))
    for k, path in enumerate(greedy[:2]):  # 25 s each
        os.utime(path, (now, begun + 40 + 25 * (k + 1)))
    for path in greedy[2:] + plain:
        path.unlink()
    state = Watcher(done).look()
    assert state.seconds_since == pytest.approx(10, abs=5)
    assert state.units_per_minute == pytest.approx(60 * 6 / 90, rel=0.01)
    assert state.lane_steps_per_second == pytest.approx(1000 * (4 * 4 + 2 * 2) / 90, rel=0.01)
    by_steps = 4 * 90 / 20  # plain has not begun: a lane of 1000 steps took 90 / 20 s
    assert state.seconds_left == pytest.approx(2 * 25 + by_steps, rel=0.01)
    for path in units(done):  # all of it long ago, and somebody has just begun again
        os.utime(path, (now, path.stat().st_mtime - 5000))
    for name, at in (("1.json", begun - 5000), ("2.json", now)):
        note(done, name, begun=datetime.fromtimestamp(at, UTC).isoformat().replace("+00:00", "Z"))
    again = Watcher(done).look()
    assert again.units_per_minute == pytest.approx(state.units_per_minute, rel=0.01)
    assert again.seconds_since == pytest.approx(5010, abs=5)
    (done / "sessions" / "2.json").unlink()
    note(done, "1.json", begun="2026-01-01T00:00:00Z", state="interrupted")
    state = Watcher(done).look()
    assert (state.units_per_minute, state.seconds_left, state.sessions) == (None, None, [])


def test_before_its_first_unit_a_run_has_no_estimate(done: Path) -> None:
    """What units took before says nothing of the compiling that comes first."""
    units(done)[0].unlink()
    now = datetime.now(UTC).isoformat().replace("+00:00", "Z")
    for path in units(done):
        os.utime(path, (1, path.stat().st_mtime - 100))
    note(done, "1.json", begun=now, state="preparing")
    state = Watcher(done).look()
    assert (state.units_per_minute, state.seconds_left, state.sessions[0].preparing) == (None, None, True)
    note(done, "1.json", begun=now, at_work=now, state="running")
    state = Watcher(done).look()
    assert (state.units_per_minute, state.seconds_left, state.sessions[0].preparing) == (None, None, False)
    os.utime(units(done)[0], (1, time.time() + 5))
    assert Watcher(done).look().seconds_left is not None


def test_a_run_compiles_before_it_is_at_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen, write, measured = [], Store.write, execution.calibrated

    def preparing() -> list[bool]:
        return [sitting.preparing for sitting in Watcher(tmp_path).look().sessions]

    def calibrated(*of: Any) -> float:
        seen.append((of[1], preparing()))
        return measured(*of)

    def written(*of: Any) -> None:
        seen.append(("a unit", preparing()))
        write(*of)

    monkeypatch.setattr(execution, "calibrated", calibrated)
    monkeypatch.setattr(Store, "write", written)
    td.studies.run_study(STUDY.but(seeds=1), tmp_path, progress=False)
    assert seen == [*((method, [True]) for method in STUDY.methods), *[("a unit", [False])] * len(STUDY.methods)]


def test_results_that_are_removed_are_not_nothing_yet(done: Path) -> None:
    watcher = Watcher(done)
    watcher.look()
    (done / "manifest.json").unlink()
    with pytest.raises(ValueError, match="have been removed"):
        watcher.look()


def test_sessions_at_work(done: Path) -> None:
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    here = socket.gethostname()
    note(done, "20260101-1.json", host="far", units=7)
    note(done, f"20260102-{here}-{os.getpid()}.json", host=here)
    note(done, f"20260103-{here}-{gone.pid}.json", host=here)  # killed before it could say so
    note(done, "20260104-1.json", state="finished")
    (done / "sessions" / "20260105.json").write_text("{", encoding="utf-8")
    (done / "sessions" / "20260106.json").write_text("[1]", encoding="utf-8")
    sessions = Watcher(done).look().sessions
    assert [(s.host, s.units, s.since) for s in sessions] == [
        ("far", 7, "2026-01-01T00:00:00Z"), (here, 12, "2026-01-01T00:00:00Z")
    ]  # fmt: skip


def test_an_empty_directory_is_in_order_and_wrong_ones_are_named(tmp_path: Path, done: Path) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    (empty / ".unfinished-vm-1-2").write_bytes(b"")
    watcher = Watcher(empty)
    state = watcher.look()
    assert (state.study, state.wanted, state.done, state.finished) == ("", 0, 0, False)
    td.studies.run_study(STUDY.but(seeds=1), empty, progress=False)
    assert watcher.look().finished
    with pytest.raises(ValueError, match="there is no directory"):
        Watcher(tmp_path / "nowhere").look()
    with pytest.raises(ValueError, match="there is no directory"):
        Watcher(done / "manifest.json").look()
    with pytest.raises(ValueError, match=r"holds no results .* did you mean .*empty\?"):
        Watcher(tmp_path).look()
    (done / "manifest.json").write_text("{}", encoding="utf-8")
    with pytest.raises(ValueError, match=r"manifest\.json is damaged"):
        Watcher(done).look()

"""On a real scheduler with real workers: the same bytes as here, whoever dies or is interrupted on the way."""

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
from distributed import Client

import tdlambda as td
from tdlambda.lab.studies import cluster
from tdlambda.lab.studies.execution import prepared
from tdlambda.lab.studies.store import provenance
from tdlambda.runner.lane_progress import Progress

NAPPING = '''
"""RingWorld whose trajectories are noted and begin with a nap on workers, so that there is a middle to die in."""
import os
import time

import tdlambda as td
from tdlambda.tasks.ring_world import RingWorld


@td.tasks.register("NappingRing-v0", {"usual": {"behavior_left": 0.4}})
class NappingRing(RingWorld):
    def sampler(self, seed=0):
        if seed and "NAP" in os.environ:
            if seed == 13:
                raise ArithmeticError("thirteen")
            with open(os.environ["NOTES"], "a") as notes:
                notes.write(f"{os.getpid()} {seed}\\n")
            time.sleep(float(os.environ["NAP"]))
        return super().sampler(seed)
'''
CLIENT = """
import json, sys
import tdlambda as td
td.studies.run_study(td.studies.Study.from_dict(json.loads(sys.argv[1])), sys.argv[2], dask=sys.argv[3])
"""
OTHER_NUMPY = """
import importlib.metadata as installed
true = installed.version
installed.version = lambda name: "1.0" if name == "numpy" else true(name)
"""
NAP = 0.3


class Cluster:
    """A scheduler and its workers, each a process of its own."""

    def __init__(self, place: Path, modules: Path) -> None:
        self.place, self.notes = place, place / "notes"
        self.notes.touch()
        path = os.pathsep.join([str(modules), str(Path(td.__file__).parents[1])])
        self.environment = {**os.environ, "PYTHONPATH": path, "OMP_NUM_THREADS": "1"}
        self.processes: list[subprocess.Popen[bytes]] = []
        self.workers: list[subprocess.Popen[bytes]] = []
        self.scheduler = self.start("scheduler", "--port", "0", "--idle-timeout", "300")

    def start(self, kind: str, *options: str, **environment: str) -> "subprocess.Popen[bytes]":
        command = [
            sys.executable, "-m", f"distributed.cli.dask_{kind}", "--host", "127.0.0.1", "--scheduler-file",
            str(self.place / "scheduler.json"), "--dashboard-address", "127.0.0.1:0", *options,
        ]  # fmt: skip
        with (self.place / f"{kind}-{len(self.processes)}.log").open("wb") as log:
            process = subprocess.Popen(
                command, env=self.environment | environment, cwd=self.place, stdout=log, stderr=log
            )
        self.processes.append(process)
        return process

    def add(self, n: int, **environment: str) -> None:
        """Workers, until there are at least so many; those that died do not count."""
        self.workers = [worker for worker in self.workers if worker.poll() is None]
        options = ("--nthreads", "1", "--no-nanny", "--death-timeout", "120", "--local-directory", str(self.place))
        naps = {"NAP": str(NAP), "NOTES": str(self.notes)}
        while len(self.workers) < n:
            self.workers.append(self.start("worker", *options, **naps | environment))

    def fill(self, n: int) -> "Cluster":
        """Add workers and wait for them."""
        self.add(n)
        client: Any = Client(self.address, timeout=60, set_as_default=False)  # type: ignore[no-untyped-call]
        with client:
            client.wait_for_workers(n, timeout=120)
        return self

    @property
    def address(self) -> str:
        file = self.place / "scheduler.json"
        until(lambda: file.exists() and file.read_text().endswith("}"))
        return str(json.loads(file.read_text())["address"])

    def begun(self, worker: int | None = None) -> list[int]:
        """The seeds of the trajectories begun, on one worker or on all."""
        notes = [line.split() for line in self.notes.read_text().splitlines()]
        return [int(seed) for pid, seed in notes if worker in (None, int(pid))]

    def close(self) -> None:
        for process in reversed(self.processes):
            process.kill()
            process.wait(30)


@contextmanager
def started(place: Path, modules: Path) -> Iterator[Cluster]:
    place.mkdir()
    found = Cluster(place, modules)
    try:
        yield found
    finally:
        found.close()


def until(condition: Callable[[], Any], seconds: float = 120) -> None:
    """Wait for it, or fail."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "what was waited for did not happen"
        time.sleep(0.01)


@contextmanager
def meanwhile(happened: Callable[[], Any], react: Callable[[], Any]) -> Iterator[None]:
    """React as soon as something has happened, or not at all if the block ends first."""
    over = threading.Event()

    def watch() -> None:
        while not over.is_set():
            if happened():
                react()
                return
            time.sleep(0.01)

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        yield
    finally:
        over.set()
        watcher.join()


def units(out: Path) -> dict[str, bytes]:
    """What each unit's file holds."""
    return {str(path.relative_to(out)): path.read_bytes() for path in out.glob("units/*/*.parquet")}


@pytest.fixture(autouse=True)
def not_for_ever() -> Iterator[None]:
    """What waits for a unit that never comes fails instead."""

    def give_up(*_: Any) -> None:
        raise AssertionError("the test took too long")

    before = signal.signal(signal.SIGALRM, give_up)
    signal.alarm(900)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


@pytest.fixture(scope="module")
def modules(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A directory with the task of these tests, on everybody's path."""
    place = tmp_path_factory.mktemp("modules")
    (place / "napping.py").write_text(NAPPING)
    sys.path.insert(0, str(place))
    try:
        yield place
    finally:
        sys.path.remove(str(place))
        sys.modules.pop("napping", None)
        td.tasks.TASKS.pop("NappingRing-v0", None)


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory, modules: Path) -> Iterator[Cluster]:
    with started(tmp_path_factory.mktemp("dask") / "cluster", modules) as found:
        yield found


@pytest.fixture
def two(shared: Cluster) -> Cluster:
    """The cluster, with two workers."""
    return shared.fill(2)


@pytest.fixture
def some(shared: Cluster) -> Cluster:
    """The cluster, with a worker or two."""
    return shared.fill(1)


@pytest.fixture(scope="module")
def study() -> td.studies.Study:
    return td.studies.Study(
        "napping", "NappingRing-v0", seeds=range(1, 7), steps=3_000, points=20, modules=("napping",),
        grid={"alpha": [0.01, 0.1, 10.0], "lam": [0.0, 0.9]},
        methods={
            "fixed": td.studies.Method("TrueOnlineTD", over=("alpha", "lam")),
            "greedy": td.studies.Method("TrueOnlineTD", "Greedy", over=("alpha",)),
        },
    )  # fmt: skip


@pytest.fixture(scope="module")
def here(study: td.studies.Study, modules: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:  # noqa: ARG001
    """The study's units as threads on this machine make them."""
    out = tmp_path_factory.mktemp("here")
    td.studies.run_study(study, out)
    found = units(out)
    assert len(found) == 12
    return found


def test_a_cluster_gives_the_same_bytes(
    study: td.studies.Study, here: dict[str, bytes], two: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[tuple[int, int]] = []
    monkeypatch.setattr(Progress, "advance", lambda _, *what: told.append(what))
    before = len(two.begun())
    outcome = td.studies.run_study(study, tmp_path, dask=two.address)
    assert (outcome.done, outcome.left, outcome.interrupted) == (12, 0, False)
    assert units(tmp_path) == here
    assert len(two.begun()) == before + 12
    assert all(two.begun(worker.pid) for worker in two.workers)
    results = td.studies.load_results(tmp_path)
    assert [sum(column) for column in zip(*told, strict=True)] == [
        len(results) * study.length,
        (results["diverged_at"] >= 0).sum(),
    ]
    assert (results["diverged_at"] >= 0).any()
    assert td.studies.run_study(study, tmp_path, dask="tcp://nobody:1").done == 0  # nothing is missing: nobody is asked


def test_a_worker_may_die_in_the_middle(
    study: td.studies.Study, here: dict[str, bytes], two: Cluster, tmp_path: Path
) -> None:
    victim, before = two.workers[0], len(two.begun())
    begun: list[int] = []

    def in_the_middle() -> bool:
        if len(units(tmp_path)) >= 2:
            begun.append(len(two.begun(victim.pid)))
        return bool(begun) and begun[-1] > begun[0]

    with meanwhile(in_the_middle, victim.kill):
        outcome = td.studies.run_study(study, tmp_path, dask=two.address)
    assert victim.wait(10) == -signal.SIGKILL
    assert (outcome.done, outcome.left, outcome.interrupted) == (12, 0, False)
    assert units(tmp_path) == here
    assert len(two.begun()) - before > 12  # so it died in the middle of one


def test_a_result_may_be_lost_with_its_worker_before_it_is_fetched(
    study: td.studies.Study, here: dict[str, bytes], two: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fetch, lost, first, start = cluster._content, [], threading.Lock(), len(two.begun())

    def too_late(future: Any, unit: tuple[str, int]) -> bytes | None:
        if first.acquire(blocking=False):
            notes = two.notes.read_text().splitlines()[start:]
            holder = next(pid for pid, seed in map(str.split, notes) if int(seed) == unit[1])
            victim = next(worker for worker in two.workers if worker.pid == int(holder))
            victim.kill()
            victim.wait(10)
        content = None
        try:
            content = fetch(future, unit)
        finally:
            if content is None:
                lost.append(unit)
        return content

    monkeypatch.setattr(cluster, "_content", too_late)
    outcome = td.studies.run_study(study, tmp_path, dask=two.address)
    assert (outcome.done, outcome.left, outcome.interrupted) == (12, 0, False)
    assert units(tmp_path) == here
    assert lost


def test_after_control_c_only_what_is_missing_is_done(
    study: td.studies.Study, here: dict[str, bytes], some: Cluster, tmp_path: Path
) -> None:
    with (
        meanwhile(lambda: len(units(tmp_path)) >= 3, lambda: os.kill(os.getpid(), signal.SIGINT)),
        pytest.raises(td.Interrupted) as stopped,
    ):
        td.studies.run_study(study, tmp_path, dask=some.address)
    outcome = stopped.value.result
    assert outcome.interrupted
    assert 3 <= outcome.done < 12
    assert outcome.done == len(units(tmp_path))
    finish_here(study, tmp_path, here)


def test_after_the_death_of_the_client_only_what_is_missing_is_done(
    study: td.studies.Study, here: dict[str, bytes], some: Cluster, tmp_path: Path
) -> None:
    command = [sys.executable, "-c", CLIENT, json.dumps(study.to_dict()), str(tmp_path), some.address]
    with subprocess.Popen(command, env=some.environment) as client:
        try:
            until(lambda: len(units(tmp_path)) >= 3 or client.poll() is not None)
            assert client.poll() is None
        finally:
            client.kill()
    finish_here(study, tmp_path, here)


def finish_here(study: td.studies.Study, out: Path, here: dict[str, bytes]) -> None:
    """On threads: only what is missing is done, and all is as if nothing had happened."""
    kept = {name: (out / name).stat().st_mtime_ns for name in units(out)}
    assert 3 <= len(kept) < 12
    outcome = td.studies.run_study(study, out, workers=2)
    assert (outcome.done, outcome.left, outcome.set_aside) == (12 - len(kept), 0, [])
    assert units(out) == here
    assert {name: (out / name).stat().st_mtime_ns for name in kept} == kept


def test_a_unit_that_fails_is_named(study: td.studies.Study, some: Cluster, tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match=r"methods\.greedy, seed 13: ArithmeticError on a worker: thirteen"):
        td.studies.run_study(study.but(methods=["greedy"], seeds=[13]), tmp_path, dask=some.address)
    assert units(tmp_path) == {}


def test_workers_with_other_versions_are_refused(
    study: td.studies.Study, some: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ours = provenance()
    other = {**ours, "versions": {**ours["versions"], "numpy": "1.0"}}
    monkeypatch.setattr(cluster, "provenance", lambda: other)
    with pytest.raises(ValueError, match=rf"numpy {ours['versions']['numpy']} \(the client has 1\.0\)") as refused:
        td.studies.run_study(study, tmp_path, dask=some.address)
    assert str(refused.value).count("tcp://127.0.0.1") == len(some.workers)
    assert units(tmp_path) == {}


def test_a_late_worker_with_another_version_gets_no_units_and_the_others_go_on(
    study: td.studies.Study, here: dict[str, bytes], some: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    (tmp_path / "sitecustomize.py").write_text(OTHER_NUMPY)
    path = os.pathsep.join([str(tmp_path), some.environment["PYTHONPATH"]])
    give = cluster.DaskWorkers.give

    def some_of_them(workers: cluster.DaskWorkers, todo: deque[cluster.Unit]) -> None:
        """The last units, more than the others can have in hand, wait until the late worker has been looked at."""
        looked_at = len(workers._threads) > came and not workers._looks
        held = [] if looked_at else [todo.pop() for _ in range(min(len(todo), 2 * came + 2))]
        give(workers, todo)
        todo.extend(held)

    monkeypatch.setattr(cluster.DaskWorkers, "give", some_of_them)
    came = len(some.workers)
    try:
        with meanwhile(lambda: len(units(tmp_path)) >= 2, lambda: some.add(came + 1, PYTHONPATH=path)):
            outcome = td.studies.run_study(study, tmp_path, dask=some.address)
        assert some.begun(some.workers[came].pid) == []
    finally:
        for late in some.workers[came:]:
            late.kill()
            late.wait(10)
    assert (outcome.done, outcome.left, outcome.interrupted) == (12, 0, False)
    assert units(tmp_path) == here
    said = [line for line in capfd.readouterr().err.splitlines() if "gets no units" in line]
    assert len(said) == 1
    assert "numpy 1.0 (the client" in said[0]


def test_a_unit_that_workers_die_over_is_not_tried_for_ever() -> None:
    class Future:
        status = "finished"
        done = staticmethod(lambda: True)
        cancel = staticmethod(lambda: None)
        result = staticmethod(lambda **_: provenance() | {"misunderstood": ""})

    client, arrivals = Mock(), iter(range(100))
    client.scheduler_comm.closed.return_value = False
    client.nthreads.side_effect = lambda: {f"worker {next(arrivals)}": 1}
    client.submit.side_effect = lambda *_, **__: Future()
    workers = cluster.DaskWorkers(client, cluster.Order("a", {}, {}, {}, cluster._versions(provenance())), Mock())
    todo = deque([("fixed", 1)])
    for _ in range(4):  # Dask's own measure
        workers._next_check = 0.0
        todo += workers.check_workers()  # somebody comes
        workers.check_workers()  # and is found fit
        assert todo == deque([("fixed", 1)])
        workers.give(todo)
        assert not todo
    workers._next_check = 0.0
    with pytest.raises(RuntimeError, match=r"methods\.fixed, seed 1: 4 workers died while running it"):
        workers.check_workers()


def test_a_worker_that_comes_late_looks_at_itself(study: td.studies.Study, modules: Path) -> None:  # noqa: ARG001
    versions = cluster._versions(provenance())
    keys = {method: study.key(method) for method in study.methods}
    truths = {method: replace(study.truth(method)) for method in study.methods}
    order = cluster.Order("a", study.to_dict(), keys, truths, versions)
    assert cluster._study(order).to_dict() == study.to_dict()
    assert prepared(study, "fixed")[1] is truths["fixed"]  # the client's, not its own
    with pytest.raises(ValueError, match="the source of tdlambda"):
        cluster._study(cluster.Order("b", study.to_dict(), keys, {}, {**versions, "the source of tdlambda": "new"}))
    with pytest.raises(ValueError, match="has other code for: fixed"):
        cluster._study(cluster.Order("c", study.to_dict(), {**keys, "fixed": "0"}, {}, versions))


def test_the_modules_of_a_study_must_be_on_the_workers(
    study: td.studies.Study, some: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "only_here.py").touch()
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ValueError, match=r"tcp://.* cannot import 'only_here', one of the study's modules"):
        td.studies.run_study(study.but(modules=("napping", "only_here")), tmp_path / "out", dask=some.address)


def test_modules_beside_the_study_are_found_by_workers_that_see_its_folder(
    study: td.studies.Study, some: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "path", [*sys.path])
    (tmp_path / "beside_it.py").write_text("import tdlambda as td\nclass Mine(td.TrueOnlineTD):\n    pass\n")
    (tmp_path / "registers.py").touch()
    mine = {"mine": td.studies.Method("beside_it:Mine", over=("alpha",))}
    there = replace(study, modules=("napping", "registers"), folders=(str(tmp_path),), seeds=1, methods=mine)
    assert td.studies.run_study(there, tmp_path / "out", dask=some.address).done == 1


@pytest.mark.parametrize("address", ["", "tcp://127.0.0.1:{port}", "nonsense://127.0.0.1:{port}"])
def test_where_nobody_answers(
    address: str, study: td.studies.Study, modules: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch  # noqa: ARG001
) -> None:  # fmt: skip
    monkeypatch.setattr(cluster, "PATIENCE", 1.0)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = address.format(port=free.getsockname()[1])
    begun = time.monotonic()
    with pytest.raises(ValueError, match=r"no scheduler answers at .*--dask"):
        td.studies.run_study(study, tmp_path, dask=address)
    assert time.monotonic() - begun < 20


def test_without_dask(study: td.studies.Study, modules: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: ARG001
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(ModuleNotFoundError, match=r"pip install .tdlambda\[dask\]"):
        td.studies.run_study(study, tmp_path, dask="tcp://127.0.0.1:8786")


@pytest.mark.parametrize("learner", ["MonteCarlo", pytest.param("TrueOnlineTD", marks=pytest.mark.slow)])
def test_it_waits_for_workers_lets_them_compile_at_once_and_notices_when_the_scheduler_is_gone(
    learner: str, study: td.studies.Study, modules: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    study = replace(study, methods={"fixed": td.studies.Method(learner, over=("alpha",))}, seeds=8)
    td.studies.run_study(study, tmp_path / "here")
    with started(tmp_path / "cluster", modules) as fresh:
        address, log = fresh.address, next(fresh.place.glob("scheduler-*.log"))
        with meanwhile(
            lambda: b"Receive client connection" in log.read_bytes(),
            lambda: fresh.add(2, NUMBA_CACHE_DIR=str(tmp_path / "cache")),
        ):
            td.studies.run_study(study, tmp_path / "there", dask=address)
        assert capfd.readouterr().err.count("waiting for workers") == 1
        assert units(tmp_path / "there") == units(tmp_path / "here")
        assert list((tmp_path / "cache").rglob("*.nbc"))
        assert not list((tmp_path / "cache").rglob("*.tmp.*"))

        with (
            meanwhile(lambda: len(units(tmp_path / "again")) >= 2, fresh.scheduler.terminate),
            pytest.raises(ConnectionError, match="run again to continue"),
        ):
            td.studies.run_study(study, tmp_path / "again", dask=address)
    kept = units(tmp_path / "again")
    assert 2 <= len(kept) < 8
    assert kept.items() <= units(tmp_path / "here").items()

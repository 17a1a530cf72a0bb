"""Stopped at any moment and run again, a study does what is missing and no more, and ends with the same bytes."""

import json
import os
import pickle
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from small_studies import METHODS, leftovers, small, units

import tdlambda as td
from tdlambda.lab.studies import execution
from tdlambda.lab.studies.store import Store

LONG = small(
    name="long",
    seeds=12,
    steps=40_000,
    points=20,
    grid={"alpha": list(np.geomspace(0.001, 0.1, 40)), "lam": [0.0, 0.9]},
)

RUNNER = """
import json, os, signal, sys
import tdlambda as td

def run(order):
    if order["die_at"]:  # in the middle of writing: all is in the file, which has not yet its name
        calls, flush = [], os.fsync
        def die(number):
            flush(number)
            calls.append(number)
            if len(calls) == order["die_at"]:
                os.kill(os.getpid(), signal.SIGKILL)
        os.fsync = die
    study = td.studies.Study.from_dict(order["study"])
    try:
        td.studies.run_study(study, order["out"], workers=order["workers"], progress=False)
    except td.Interrupted:
        return 3
    return 0

ring = td.make("RingWorld-v0")
for rule in (0.5, td.rules.Greedy()):  # load what is compiled
    td.engine.run(ring, [td.TrueOnlineTD(ring.features, 0.1, rule)], 1, 100, threads=1)
for line in sys.stdin:
    order, children = json.loads(line), []
    for _ in range(order["times"]):
        children.append(os.fork())
        if not children[-1]:
            try:
                code = run(order)
            except BaseException as error:
                print(repr(error), file=sys.stderr, flush=True)
                code = 1
            os._exit(code)
    print(json.dumps(children), flush=True)
    sys.stdin.readline()  # until then those that have ended keep their numbers
    codes = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
    print(json.dumps(codes), flush=True)
"""


class Runner:
    """A process that starts others, each of which runs a study; they are quick to start, and may be killed."""

    def __init__(self) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", RUNNER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def start(self, study: td.studies.Study, out: Path, workers: int = 1, die_at: int = 0, times: int = 1) -> list[int]:
        """The numbers of the processes."""
        order = {"study": study.to_dict(), "out": str(out), "workers": workers, "die_at": die_at, "times": times}
        return list(self._ask(json.dumps(order)))

    def answer(self) -> list[int]:
        """The codes of the processes, when all have ended."""
        return self._ask("")

    def _ask(self, line: str) -> Any:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        print(line, file=self.process.stdin, flush=True)
        return json.loads(self.process.stdout.readline())


@pytest.fixture(scope="module")
def runner() -> Iterator[Runner]:
    found = Runner()
    yield found
    assert found.process.stdin is not None
    assert found.process.stdout is not None
    found.process.stdin.close()
    found.process.wait(60)
    found.process.stdout.close()


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """The units of the long study, never interrupted."""
    out = tmp_path_factory.mktemp("whole")
    assert td.studies.run_study(LONG, out, workers=2).done == 24
    return units(out)


def stamps(out: Path) -> dict[str, tuple[int, int]]:
    """Which file it is, and when it was written."""
    found = {path: path.stat() for path in out.glob("units/*/*.parquet")}
    return {str(path.relative_to(out)): (stat.st_ino, stat.st_mtime_ns) for path, stat in found.items()}


def wait_for(out: Path, more_than: int) -> None:
    """Until there are more units than that."""
    until = time.monotonic() + 60
    while len(list(out.glob("units/*/*.parquet"))) <= more_than:
        assert time.monotonic() < until, "nothing happens"
        time.sleep(0.002)


@pytest.mark.parametrize("stop", [signal.SIGKILL, signal.SIGINT])
def test_stopped_at_any_moments_it_ends_with_the_same_bytes(
    stop: signal.Signals, runner: Runner, whole: dict[str, bytes], tmp_path: Path
) -> None:
    draw, times, before = random.Random(int(stop)), 0, stamps(tmp_path)
    while len(before) < 14:  # of 24
        (child,) = runner.start(LONG, tmp_path, workers=2)
        wait_for(tmp_path, len(before) + draw.randrange(6))
        time.sleep(draw.uniform(0, 0.03))
        os.kill(child, stop)
        (code,) = runner.answer()
        if code == 0 and len(units(tmp_path)) == 24:
            break  # it was faster
        assert code == (-signal.SIGKILL if stop == signal.SIGKILL else 3), "Ctrl-C is not lost, nor a traceback"
        assert stop == signal.SIGKILL or leftovers(tmp_path) == []
        after = stamps(tmp_path)
        assert before.items() < after.items(), "nothing is done twice, and something is done"
        assert units(tmp_path).items() <= whole.items()
        before, times = after, times + 1
    assert times >= 1
    before = stamps(tmp_path)
    outcome = td.studies.run_study(LONG, tmp_path, workers=2)
    assert (outcome.done, outcome.left, outcome.set_aside) == (24 - len(before), 0, [])
    assert before.items() <= stamps(tmp_path).items()
    assert units(tmp_path) == whole
    states = [json.loads(path.read_bytes())["state"] for path in (tmp_path / "sessions").glob("*.json")]
    assert states.count("running" if stop == signal.SIGKILL else "interrupted") == times
    assert states.count("finished") == len(states) - times


@pytest.mark.parametrize("at", [1, 6])
def test_control_c_is_not_lost_at_any_moment(at: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not even while the last unit is written, nor before the first one."""
    write, written = Store.write, []

    def interrupted(*of: Any) -> None:
        write(*of)
        written.append(of)
        if len(written) == at:
            signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(Store, "write", interrupted)
    with pytest.raises(td.Interrupted, match=r"\d units were finished and kept, \d are left") as stopped:
        td.studies.run_study(small(), tmp_path, workers=1)
    outcome = pickle.loads(pickle.dumps(stopped.value)).result
    assert (outcome.done, outcome.interrupted) == (len(units(tmp_path)), True)
    assert outcome.done >= at
    assert outcome.left == 6 - outcome.done
    if at == 1:
        monkeypatch.setattr(execution, "calibrated", lambda *_: signal.raise_signal(signal.SIGINT))
        with pytest.raises(td.Interrupted, match="0 units were finished"):
            td.studies.run_study(small(seeds=9), tmp_path)


@pytest.mark.parametrize("at", [1, 2, 6])
def test_killed_in_the_middle_of_writing_a_file_nothing_half_written_has_a_name(
    at: int, runner: Runner, tmp_path: Path
) -> None:
    """The first file is the manifest, the second and third the session's note, then come the units."""
    study = small()
    runner.start(study, tmp_path, die_at=at)
    assert runner.answer() == [-signal.SIGKILL]
    assert len(leftovers(tmp_path)) == 1
    assert len(units(tmp_path)) == max(0, at - 4)
    assert (tmp_path / "manifest.json").exists() == (at > 1)
    clean = tmp_path / "clean"
    td.studies.run_study(study, clean)
    assert td.studies.run_study(study, tmp_path).done == 6 - max(0, at - 4)
    assert units(tmp_path) == units(clean)
    assert td.studies.load_results(tmp_path).equals(td.studies.load_results(clean))


def test_two_at_the_same_time_in_the_same_directory_do_not_mind(
    runner: Runner, whole: dict[str, bytes], tmp_path: Path
) -> None:
    assert len(runner.start(LONG, tmp_path, times=2)) == 2
    assert runner.answer() == [0, 0]
    assert units(tmp_path) == whole
    assert leftovers(tmp_path) == []
    assert len(list((tmp_path / "sessions").iterdir())) == 2
    assert td.studies.load_results(tmp_path).shape[0] == 12 * (80 + 40)


def test_a_finished_study_is_not_touched_again(tmp_path: Path) -> None:
    td.studies.run_study(small(), tmp_path)
    before = stamps(tmp_path)
    outcome = td.studies.run_study(small(title="the same"), tmp_path)
    assert (outcome.done, outcome.left, outcome.interrupted) == (0, 0, False)
    assert stamps(tmp_path) == before


def test_how_many_work_on_it_does_not_matter(tmp_path: Path) -> None:
    for workers in (1, 2, 5):
        outcome = td.studies.run_study(small(seeds=2), tmp_path / str(workers), workers=workers)
        assert outcome.done == 4
    assert units(tmp_path / "1") == units(tmp_path / "2") == units(tmp_path / "5")


def test_more_seeds_and_methods_only_add(tmp_path: Path) -> None:
    td.studies.run_study(small(seeds=2, methods={"fixed": METHODS["fixed"]}), tmp_path)
    before = stamps(tmp_path)
    assert td.studies.run_study(small(seeds=4), tmp_path).done == 2 + 4
    assert before.items() < stamps(tmp_path).items()
    assert td.studies.load_results(tmp_path).group_by("method", maintain_order=True).len().rows() == [
        ("fixed", 16),
        ("greedy", 8),
    ]


def test_a_missing_unit_alone_is_done(tmp_path: Path) -> None:
    td.studies.run_study(small(), tmp_path)
    before, content = stamps(tmp_path), units(tmp_path)
    lost = Store(tmp_path, small()).path("greedy", 1)
    lost.unlink()
    assert td.studies.run_study(small(), tmp_path).done == 1
    assert units(tmp_path) == content
    changed = {name for name, stamp in stamps(tmp_path).items() if stamp != before[name]}
    assert changed == {str(lost.relative_to(tmp_path))}


OTHERS: dict[str, dict[str, Any]] = {
    "steps": {"steps": 900},
    "grid": {"grid": {"alpha": [0.01, 0.2], "lam": [0.0, 0.9]}},
    "options": {
        "methods": {"fixed": td.studies.Method("TrueOnlineTD", over=("alpha", "lam"), options={"initial": 0.3})}
    },
    "truth": {"methods": {"fixed": td.studies.Method("TrueOnlineTD", over=("alpha", "lam"), truth="thesis")}},
    "task": {"preset": "0.4/0.35"},
}


@pytest.mark.parametrize("case", OTHERS)
def test_other_parameters_in_one_directory_do_not_mix(case: str, tmp_path: Path) -> None:
    one = small(methods={"fixed": METHODS["fixed"]})
    other = small(**({"methods": {"fixed": METHODS["fixed"]}} | OTHERS[case]))
    td.studies.run_study(one, tmp_path / "both")
    alone, before = td.studies.load_results(tmp_path / "both"), stamps(tmp_path / "both")
    assert td.studies.run_study(other, tmp_path / "both").done == 3
    td.studies.run_study(other, tmp_path / "other")
    assert td.studies.load_results(tmp_path / "both").equals(td.studies.load_results(tmp_path / "other"))
    assert before.items() < stamps(tmp_path / "both").items()
    assert td.studies.run_study(one, tmp_path / "both").done == 0, "the first has kept its own"
    assert td.studies.load_results(tmp_path / "both").equals(alone)


def test_what_diverges_is_stored_as_such(tmp_path: Path) -> None:
    baird: Any = td.make("Baird-v0")
    alphas, start = [1e-5, 0.05, 10.0], list(baird.initial_weights)
    method = td.studies.Method("TrueOnlineTD", over=("alpha",), options={"lam": 0.5, "initial": start})
    study = small(task="Baird-v0", preset=None, steps=5000, seeds=2, grid={"alpha": alphas}, methods={"m": method})
    td.studies.run_study(study, tmp_path)
    results = td.studies.load_results(tmp_path)
    steps = np.array(json.loads((tmp_path / "manifest.json").read_bytes())["curve_steps"])
    for row in results.to_dicts():
        learner = td.TrueOnlineTD(baird.features, row["alpha"], 0.5, initial=start, on_divergence="flag")
        learner.update_many(baird.sampler(row["seed"]).take(5000))
        assert row["diverged_at"] == (-1 if learner.diverged_at is None else learner.diverged_at)
        lost = (steps >= row["diverged_at"]) & (row["diverged_at"] >= 0)
        assert np.array_equal(np.isinf(row["curve"]), lost)
        assert np.isinf([row["tail"], row["area"], row["final"]]).all() == lost.any()
        assert np.isfinite([row["tail"], row["area"], row["final"]]).all() == (not lost.any())
    assert results.group_by("alpha", maintain_order=True).agg((pl.col("diverged_at") >= 0).sum()).rows() == [
        (1e-5, 0), (0.05, 2), (10.0, 2),
    ]  # fmt: skip

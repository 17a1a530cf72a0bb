"""Run the missing units of a study, on threads or on a Dask cluster; each unit is written when it is finished."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from tdlambda import control, engine
from tdlambda.arrays import integer
from tdlambda.control import ControlResult
from tdlambda.extras import need
from tdlambda.interruption import Interrupted, interruptible
from tdlambda.lab.studies.manifest import other_program, refuse_foreign
from tdlambda.lab.studies.store import Session, Store
from tdlambda.lab.studies.study import Study
from tdlambda.lab.studies.units import unit_bytes
from tdlambda.runner.by_seed import processors
from tdlambda.runner.job import MOMENTS
from tdlambda.runner.lane_progress import Progress
from tdlambda.runner.result import Result
from tdlambda.runner.truth import Truth

LONG, SHARE = 30.0, 0.02
"""A run of more than so many seconds is estimated again, for this share of its time."""
KEPT = {"prediction": ("lambdas",), "control": ("lambdas", "policy")}
"""Parts of a learner that a unit stores besides its errors."""


@dataclass(frozen=True)
class Plan:
    """The missing seeds of each method, and the time that one of its units takes on one core."""

    study: Study
    directory: Path
    missing: dict[str, list[int]]
    set_aside: list[Path]
    seconds: dict[str, float]
    workers: int
    elsewhere: bool = False
    """Whether units run on other machines, which may have to compile first; the estimate does not include that."""
    once: dict[str, float] = field(default_factory=dict)
    """Time to record λ over time, of the one seed of a method for which it is recorded."""

    @property
    def wanted(self) -> dict[str, list[int]]:
        """Missing seeds, for methods that have any."""
        return {method: seeds for method, seeds in self.missing.items() if seeds}

    @property
    def units(self) -> int:
        """Number of missing units."""
        return sum(map(len, self.missing.values()))

    @property
    def lane_steps(self) -> int:
        """Number of updates to do; approximate if the study is measured in episodes."""
        runs = sum(len(seeds) * len(self.study.cells(name)) for name, seeds in self.missing.items())
        return runs * self.study.run_steps

    @property
    def estimate(self) -> float:
        """Estimated time in seconds, with all workers busy."""
        units = sum(len(self.missing[name]) * time for name, time in self.seconds.items())
        return (units + sum(self.once.values())) / self.workers


@dataclass(frozen=True)
class Outcome:
    """The outcome of a run."""

    directory: Path
    done: int
    left: int
    set_aside: list[Path]
    interrupted: bool
    seconds: float


def run_study(
    study: Study,
    out: str | Path | None = None,
    *,
    methods: Iterable[str] | None = None,
    workers: int | None = None,
    dask: str | None = None,
    progress: bool | None = None,
    announce: Callable[[Plan], None] | None = None,
) -> Outcome:
    """Run the missing units of a study; call it again to resume after an interruption.

    Ctrl-C raises `td.Interrupted`, whose `result` is the outcome so far.

    Parameters
    ----------
    study
        The study to run.
    out
        Directory for the results; by default "results/" and the study's name.
    methods
        Names of the methods to run now; all by default.
    workers
        Number of threads on this machine, at least 1; by default one per processor.
    dask
        Address of a Dask scheduler to run the units on, instead of this machine.
    progress
        Whether to show a progress bar; None shows one in a terminal for studies that take more than a second.
    announce
        Called with the plan and its time estimate before the run starts.

    Examples
    --------
    >>> import tdlambda as td, tempfile
    >>> study = td.studies.Study(
    ...     "walk", task="RandomWalk-v0", seeds=4, steps=5_000,
    ...     grid={"alpha": [0.01, 0.1], "lam": [0.0, 0.9]},
    ...     methods={"fixed": td.studies.Method("TrueOnlineTD", over=("alpha", "lam"))})
    >>> with tempfile.TemporaryDirectory() as out:
    ...     outcome = td.studies.run_study(study, out)
    ...     results = td.studies.load_results(out)
    >>> outcome.done, results.shape[0]
    (4, 16)
    """
    need("studies", "studies")
    begun = time.perf_counter()
    count = processors() if workers is None else integer(workers, "workers", 1)
    directory = Path("results") / study.name if out is None else Path(out)
    refuse_foreign(directory)
    study = study.but(trusted=True)
    whole = Store(directory, study)
    study = study.but(methods=methods)
    for method in study.methods:
        prepared(study, method)  # validates everything before any work
    store = Store(whole.directory, study)
    if changed := other_program(directory, whole.study, whole.keys):
        print(changed, file=sys.stderr, flush=True)
    missing, lost = store.missing()
    whole.write_manifest()
    plan = Plan(study, store.directory, missing, lost, {}, count)
    session = Session(store.directory, study=study.name, units=plan.units, set_aside=[str(path) for path in lost])
    kept: list[Path] = []
    interrupted = True

    def keep(method: str, seed: int, content: bytes) -> None:
        store.write(method, seed, content)
        kept.append(store.path(method, seed))

    try:
        plan = _measured(plan, dask, 1.0 if announce else 0.0)
        if announce:
            announce(plan)
        session.at_work()
        with Progress(plan.lane_steps, progress if plan.units else False) as bar:
            if dask is not None:
                interrupted = _cluster().run_on_cluster(study, plan.wanted, dask, keep, bar)
            else:
                interrupted = _run_here(study, plan.wanted, count, keep, bar)
    except KeyboardInterrupt:
        interrupted = True  # raised below, with the outcome
    finally:
        took, done = time.perf_counter() - begun, sum(path.exists() for path in kept)
        with suppress(OSError):  # a full disk was reported above
            session.note(state="interrupted" if interrupted else "finished", done=done, seconds=round(took, 3))
    left = sum(not store.path(method, seed).exists() for method in study.methods for seed in study.numbers)
    outcome = Outcome(store.directory, done, left, lost, interrupted, took)
    if interrupted:
        raise Interrupted(f"{done} units were finished and kept, {left} are left", outcome)
    if left:
        whole.write_manifest()  # for the units that exist
        raise FileNotFoundError(f"out: {left} units were removed from {store.directory} during the run; run again")
    return outcome


def _measured(plan: Plan, dask: str | None, seconds: float) -> Plan:
    """The plan with measured speeds, in about this many seconds; this also compiles the code that units need."""
    if not plan.wanted or (dask is not None and not seconds):
        return plan
    hands = plan.workers if dask is None else max(1, _cluster().threads_at(dask))
    for _ in range(2):
        budget = seconds / len(plan.wanted)
        each = {method: calibrated(plan.study, method, budget, plan.workers) for method in plan.wanted}
        once = {method: following(plan.study, method) for method in plan.wanted} if seconds else {}
        plan = replace(plan, seconds=each, once=once, workers=hands, elsewhere=dask is not None)
        if not seconds or plan.estimate < LONG:
            break
        seconds = min(SHARE * plan.estimate, LONG / 2)  # a long run is worth a second look, at later steps
    return plan


def _cluster() -> Any:
    """The module that needs Dask, imported on demand."""
    from tdlambda.lab.studies import cluster

    return cluster


def run_unit(study: Study, method: str, seed: int) -> bytes:
    """Run one method on one seed, in this thread; return the content of its file."""
    return unit_bytes(study, method, _engine(study, method, [seed], threads=1, progress=False))


def prepared(study: Study, method: str, truth: Truth | None = None) -> tuple[list[Any], Truth]:
    """The learners (or agents) and the truth of a method, built once per process; a given truth is used as it is."""
    key = study.key(method)
    if key not in _PREPARED or truth is not None:
        if len(_PREPARED) >= 64:
            _PREPARED.clear()
        built: list[Any] = study.agents(method) if study.kind == "control" else study.learners(method)
        _PREPARED[key] = built, study.truth(method) if truth is None else truth
    return _PREPARED[key]


_PREPARED: dict[str, tuple[list[Any], Truth]] = {}


def calibrated(study: Study, method: str, seconds: float, workers: int = 1) -> float:
    """The estimated time of a unit, in seconds, from runs of about this many seconds with all workers busy.

    The runs are short versions of the study, with their share of its points and its warm-up. The time has a fixed part,
    and a part per step that is measured between a very short run and the longest.
    """
    fixed, begins, length = 0.0, 0, 64
    while True:
        n = min(length, study.length)
        took = _timed(_short(study, n), method, list(study.numbers[:workers]), follow=False)
        if length > 64 and n == study.length:  # the first run compiles
            return took
        if length == 256:
            fixed, begins = took, n
        if length > 64 and not seconds:
            return took
        if length > 256 and took - fixed >= seconds / 2:
            return took + (took - fixed) / (n - begins) * (study.length - n)
        length *= 4


def following(study: Study, method: str) -> float:
    """The estimated time to record λ over time on one seed, in seconds; 0 if it is not recorded."""
    if not study.followed(method):
        return 0.0
    short, seeds = _short(study, min(study.length, 4096)), list(study.followed(method))
    with_it, without = (_timed(short, method, seeds, follow) for follow in (True, False))
    return max(0.0, with_it - without) * max(1.0, min(MOMENTS, study.points) / min(MOMENTS, short.points))


def _short(study: Study, n: int) -> Study:
    """The study with n steps or episodes, and its share of the points."""
    points = min(n, max(1, round(study.points * n / study.length)))
    changes: dict[str, Any] = {study.unit: n, "points": points}
    return study if n == study.length else study.but(**changes)


def _timed(study: Study, method: str, seeds: list[int], follow: bool) -> float:
    """The time of a run with a thread for each seed."""
    prepared(study, method)
    begun = time.perf_counter()
    options = {"follow": study.followed(method)} if follow else {}
    _run(study, method, seeds, study.length, points=study.read_at.tolist(), keep=KEPT[study.kind],
         threads=len(seeds), progress=False, **options)  # fmt: skip
    return time.perf_counter() - begun


def _run_here(
    study: Study, wanted: dict[str, list[int]], workers: int, keep: Callable[[str, int, bytes], None], bar: Progress
) -> bool:
    """Run all missing units on threads; return whether the run was interrupted."""
    stop = threading.Event()
    with interruptible(stop):
        for method, seeds in wanted.items():

            def finished(result: Result | ControlResult, method: str = method) -> None:
                keep(method, result.seeds[0], unit_bytes(study, method, result))

            if _engine(study, method, seeds, workers, bar, finished, stop).interrupted:
                break
    return stop.is_set()


def _engine(
    study: Study, method: str, seeds: list[int], threads: int, progress: bool | Progress,
    on_seed: Callable[[Result | ControlResult], None] | None = None, stop: threading.Event | None = None,
) -> Result | ControlResult:  # fmt: skip
    options: dict[str, Any] = {
        "points": study.read_at.tolist(), "keep": KEPT[study.kind], "threads": threads, "progress": progress,
        "on_seed": on_seed, "hold": on_seed is None, "stop": stop, "follow": study.followed(method),
    }  # fmt: skip
    return _run(study, method, seeds, study.length, **options)


def _run(study: Study, method: str, seeds: list[int], length: int, **options: Any) -> Result | ControlResult:
    """The result of a method on some seeds, after `length` steps or episodes."""
    learners, truth = prepared(study, method)
    if study.kind == "control":
        return control.run(study.environment, learners, seeds, length, **options)
    measured: dict[str, Any] = {study.unit: length, "score": study.score, "average": study.average}
    if study.score in ("value", "rmsve"):
        measured["truth"] = truth
    return engine.run(study.environment, learners, seeds, **measured, **options)

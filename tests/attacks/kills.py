"""Kills at any moment: of a study that is being run, and of a learner that is being saved.

A study that was stopped, however often, ends with the same bytes as one that was not, and leaves no unfinished file. A
learner's file is at every moment one that was saved whole.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import tempfile
import time
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import tdlambda as td
from attacks.files import units
from attacks.harness import Attack, Failed, Say
from tdlambda.lab.cli import main

RNG = np.random.Generator
SIGNALS = (signal.SIGKILL, signal.SIGKILL, signal.SIGTERM, signal.SIGINT)
STUDY = {
    "name": "killed", "task": "RingWorld-v0", "seeds": 6, "steps": 30_000, "points": 20, "curve": 10,
    "grid": {"alpha": np.geomspace(0.001, 0.1, 40).tolist(), "lam": [0.0, 0.9]},
    "methods": {
        "fixed": {"learner": "TrueOnlineTD", "over": ["alpha", "lam"]},
        "greedy": {"learner": "TrueOnlineTD", "rule": "Greedy", "over": ["alpha"]},
    },
}  # fmt: skip


def case(rng: RNG, say: Say) -> None:
    """A study or a learner, killed at random moments."""
    with tempfile.TemporaryDirectory() as folder:
        (a_saving if rng.random() < 0.3 else a_study)(rng, say, Path(folder))


def a_study(rng: RNG, say: Say, folder: Path) -> None:
    """Stopped some times, in one process or in one of two; then run to its end."""
    whole, seconds = undisturbed()
    out = folder / "out"
    for _ in range(int(rng.integers(1, 4))):
        stop, when = SIGNALS[int(rng.integers(len(SIGNALS)))], float(rng.uniform(0, 1.2 * seconds))
        before = unfinished(out)
        others = [_start(out)] if rng.random() < 0.2 else []
        say(f"{stop.name} after {when:.2f} s of {seconds:.2f} s{', beside another process' if others else ''}")
        code = _stopped(_start(out), stop, when)
        if code not in (0, 130, -stop, 128 + stop):
            raise Failed(f"{stop.name}: the process ended with {code}")
        for other in others:
            if os.waitstatus_to_exitcode(os.waitpid(other, 0)[1]) != 0:
                raise Failed("a process beside the one that was stopped did not finish")
        if not units(out).items() <= whole.items():
            raise Failed(f"after {stop.name} there are units that are not what they should be")
        if stop == signal.SIGINT and not unfinished(out) <= before:
            raise Failed("SIGINT leaves an unfinished file")
    for path in unfinished(out):
        os.utime(path, (0, 0))  # a long time passes, after which nobody can still be writing it
    say("run to the end")
    if os.waitstatus_to_exitcode(os.waitpid(_start(out), 0)[1]) != 0:
        raise Failed("cannot be run to the end")
    if units(out) != whole:
        raise Failed("the results are not those of an undisturbed run")
    if unfinished(out):
        raise Failed("an unfinished file is left after the end")
    if (out / "set-aside").exists():
        raise Failed("a unit was found damaged")


def unfinished(out: Path) -> set[Path]:
    """Files that were being written when a process was stopped."""
    return set(out.rglob(".unfinished-*"))


def a_saving(rng: RNG, say: Say, folder: Path) -> None:
    """A learner saved after every step, and stopped: the file holds one of its states."""
    path, stop = folder / "learner", SIGNALS[int(rng.integers(len(SIGNALS)))]
    learner = td.TrueOnlineTD(td.features.OneHot(50_000 if rng.integers(2) else 5), 0.1, 0.9)
    learner.save(path)
    when = float(rng.uniform(0, 0.3))
    say(f"{learner!r} is saved again and again; {stop.name} after {when:.2f} s")
    child = os.fork()
    if not child:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        try:
            while True:
                learner.update(learner.steps % 5, 1.0, (learner.steps + 1) % 5, 0.9)
                learner.save(path)
        except BaseException:
            os._exit(130)
    _stopped(child, stop, when)
    found: Any = td.load(path)
    for _ in range(found.steps):
        learner.update(learner.steps % 5, 1.0, (learner.steps + 1) % 5, 0.9)
    if [array.tobytes() for array in found._state().values()] != [a.tobytes() for a in learner._state().values()]:
        raise Failed("a learner's file holds a state that never was")
    if stop == signal.SIGINT and os.listdir(folder) != ["learner"]:
        raise Failed("SIGINT leaves a temporary file beside a learner's")


def _start(out: Path) -> int:
    """A process that runs the study by its command."""
    child = os.fork()
    if not child:
        code = 1
        try:
            signal.signal(signal.SIGINT, signal.default_int_handler)
            for stream in (1, 2):
                os.dup2(os.open(os.devnull, os.O_WRONLY), stream)
            study = out.parent / "study.toml"
            study.write_text("\n".join(f"{key} = {_literal(value)}" for key, value in STUDY.items()))
            sys.argv = ["tdlambda", "run", str(study), "--out", str(out), "--json", "--workers", "2"]
            main()
            code = 0
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else 0 if end.code is None else 1
        except KeyboardInterrupt:
            code = 130
        finally:
            os._exit(code)
    return child


def _literal(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key} = {_literal(some)}" for key, some in value.items()) + "}"
    return json.dumps(value)


def _stopped(child: int, stop: signal.Signals, when: float) -> int:
    """How a process ended that was sent a signal."""
    time.sleep(when)
    os.kill(child, stop)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


@cache
def undisturbed() -> tuple[dict[str, bytes], float]:
    """The units of the study, never stopped, and how long it takes."""
    with tempfile.TemporaryDirectory() as folder:
        out, begun = Path(folder, "out"), time.monotonic()
        if os.waitstatus_to_exitcode(os.waitpid(_start(out), 0)[1]) != 0:
            raise RuntimeError("the study cannot be run")
        return units(out), time.monotonic() - begun


def warm() -> None:
    """Load what the study needs, and run it once."""
    study = td.studies.Study.from_dict(STUDY)
    for method in study.methods:
        td.engine.run(study.environment, study.learners(method)[:1], 1, 100, threads=1, progress=False)
    undisturbed()


ATTACK = Attack("kills", "kills at random moments", case, warm, seconds=120.0, memory=2**33, typical=1.9)

"""What the attacks share: numbered cases, run in child processes so that a crash or a hang is a failure with a number.

A case is a function of a random generator, which is seeded with the attack's seed and the case's number; so one case
can be run again alone. It says what it is about to do before it does it, and raises `Failed` where a property does not
hold. Progress is printed on standard error. Ctrl-C ends an attack early, with the cases tried so far: children have
process groups of their own, which a terminal's Ctrl-C does not reach.
"""

from __future__ import annotations

import json
import os
import resource
import select
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np

Say: TypeAlias = Callable[[str], None]
EVERY = 10.0
"""Seconds between two lines of progress."""
BATCH = 200
"""Cases in a child: what one of them has corrupted is not carried far."""


class Failed(Exception):  # noqa: N818, it says what happened
    """A property does not hold; the text says which, without the numbers of the case, so that equals can be counted."""


@dataclass(frozen=True)
class Attack:
    """A kind of case.

    Parameters
    ----------
    name, about
        For people.
    case
        Takes a generator, and a function to say what comes next.
    warm
        Loads or compiles what cases need, once, before the children are made.
    seconds
        That a case may take.
    memory
        Bytes that a child may take beyond what it begins with.
    typical
        Seconds that a case took on average when last measured, on two idle cores; 0 if nobody needs to know.
    """

    name: str
    about: str
    case: Callable[[np.random.Generator, Say], None]
    warm: Callable[[], None] = lambda: None
    seconds: float = 20.0
    memory: int = 2**31
    typical: float = 0.0


@dataclass
class Failure:
    """One case that failed."""

    case: int
    doing: str
    what: str


@dataclass
class Tally:
    """What came of an attack."""

    attack: Attack
    seed: int
    cases: range
    tried: int = 0
    failures: list[Failure] = field(default_factory=list)
    seconds: float = 0.0
    interrupted: bool = False
    begun: float = field(default_factory=time.monotonic)
    said: float = field(default_factory=time.monotonic)

    def begin(self, case: int) -> None:
        """Count the cases before this one as tried; print how far it is, if nothing was printed for a while."""
        self.tried, now = case - self.cases.start, time.monotonic()
        if now - self.said >= EVERY and self.tried:
            counts = f"{self.tried} of {len(self.cases)} tried, {len(self.failures)} failed"
            left = duration((now - self.begun) / self.tried * (len(self.cases) - self.tried))
            print(f"{self.attack.name}: {counts}, about {left} left", file=sys.stderr, flush=True)
            self.said = now

    def report(self, examples: int = 2) -> str:
        """Counts, then the failures of each kind with a few that can be run again."""
        name = self.attack.name
        counts = f"{self.tried} tried, {len(self.failures)} failed"
        if self.interrupted:
            counts = f"stopped by Ctrl-C: of {len(self.cases)}, {counts}"
        lines = [f"{name}: {counts} (seed {self.seed}, {self.seconds:.0f} s)"]
        kinds: dict[str, list[Failure]] = {}
        for failure in self.failures:
            kinds.setdefault(failure.what, []).append(failure)
        for what, some in sorted(kinds.items(), key=lambda kind: -len(kind[1])):
            lines.append(f"  {len(some)} × {what}")
            for failure in some[:examples]:
                lines.append(f"      python tests/attacks {name} --seed {self.seed} --case {failure.case}")
                lines.append(f"          {failure.doing}")
        return "\n".join(lines)


def run(attack: Attack, cases: range, seed: int) -> Tally:
    """Try cases, with a directory for temporary files that goes with what killed children have left in it."""
    begun, tally = time.monotonic(), Tally(attack, seed, cases)
    took = f", about {duration(attack.typical * len(cases))} on two idle cores" if attack.typical else ""
    try:
        print(f"{attack.name}: {len(cases)} cases{took}; first compiling what they need", file=sys.stderr, flush=True)
        with tempfile.TemporaryDirectory(prefix="attacks-", ignore_cleanup_errors=True) as tempfile.tempdir:
            attack.warm()
            _try(tally)
    except KeyboardInterrupt:
        tally.interrupted = True
    tempfile.tempdir, tally.seconds = None, time.monotonic() - begun
    return tally


def duration(seconds: float) -> str:
    """A time for people."""
    return f"{seconds:.0f} s" if seconds < 100 else f"{seconds / 60:.0f} min"


def _try(tally: Tally) -> None:
    """Cases in batches; one during which a child dies is tried again alone, to tell it from what came before."""
    cases, tally.begun = tally.cases, time.monotonic()
    for first in range(cases.start, cases.stop, BATCH):
        at = first
        while at < min(first + BATCH, cases.stop):
            died = _batch(tally, range(at, min(first + BATCH, cases.stop)))
            if died is None:
                break
            other = Tally(tally.attack, tally.seed, range(died.case, died.case + 1))
            alone = _batch(other, other.cases) if died.case > at else died
            if other.failures or alone:
                tally.failures += [*other.failures, *([alone] if alone else [])]
            else:
                died.what += f", but not alone (after cases {at} to {died.case - 1})"
                tally.failures.append(died)
            at = died.case + 1
            tally.begin(at)


def _batch(tally: Tally, cases: range) -> Failure | None:
    """Cases in one child: count them and add those that failed; return the one during which the child died."""
    attack, (reading, writing) = tally.attack, os.pipe()
    child = os.fork()
    if not child:
        os.close(reading)
        _child(attack, cases, tally.seed, writing)
    with suppress(PermissionError, ProcessLookupError):  # the child does the same, whoever is first
        os.setpgid(child, child)
    os.close(writing)
    now = Failure(cases.start, "", "")
    hung = True
    try:
        with os.fdopen(reading, "rb") as pipe:
            for message in _messages(pipe, attack.seconds):
                if message is None:
                    break
                if "case" in message:
                    now = Failure(message["case"], "", "")
                    tally.begin(now.case)
                now.doing = message.get("doing", now.doing)
                if "failed" in message:
                    tally.failures.append(Failure(now.case, now.doing, message["failed"]))
            else:
                hung = False
    finally:
        if hung:  # or interrupted
            with suppress(ProcessLookupError):
                os.killpg(child, signal.SIGKILL)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if code == 0:
        tally.begin(cases.stop)
        return None
    name = signal.Signals(-code).name if code < 0 else f"exit {code}"
    now.what = f"no answer in {attack.seconds:g} s" if hung else f"the process died: {name}"
    return now


def _messages(pipe: Any, seconds: float) -> Iterator[dict[str, Any] | None]:
    """What a child writes, a line each; None once it has written nothing for so long."""
    rest = b""
    while True:
        if not select.select([pipe], [], [], seconds)[0]:
            yield None
            return
        data = os.read(pipe.fileno(), 2**16)
        if not data:
            return
        *lines, rest = (rest + data).split(b"\n")
        yield from map(json.loads, lines)


def _child(attack: Attack, cases: range, seed: int, writing: int) -> None:
    """Try cases and end the process."""

    def tell(**what: Any) -> None:
        os.write(writing, json.dumps(what).encode() + b"\n")

    code = 1
    try:
        os.setpgid(0, 0)
        silence = os.open(os.devnull, os.O_WRONLY)
        os.dup2(silence, 1), os.dup2(silence, 2)
        limit = _size() + attack.memory
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        for number in cases:
            tell(case=number)
            try:
                attack.case(np.random.default_rng([seed, number]), lambda text: tell(doing=text[:2000]))
            except Failed as failed:
                tell(failed=str(failed))
            except Exception as error:  # of the attack itself, or let through by it
                last = traceback.extract_tb(error.__traceback__)[-1]
                tell(failed=f"{type(error).__name__} in {last.name}: {str(error)[:200]}")
        code = 0
    finally:
        os._exit(code)


def _size() -> int:
    """Bytes of address space in use."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[0]) * resource.getpagesize()

"""What the attacks share: numbered cases, run in child processes so that a crash or a hang is a failure with a number.

A case is a function of a random generator, which is seeded with the attack's seed and the case's number; so one case
can be run again alone. It says what it is about to do before it does it, and raises `Failed` where a property does not
hold.
"""

from __future__ import annotations

import json
import os
import resource
import select
import signal
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np

Say: TypeAlias = Callable[[str], None]
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
    """

    name: str
    about: str
    case: Callable[[np.random.Generator, Say], None]
    warm: Callable[[], None] = lambda: None
    seconds: float = 20.0
    memory: int = 2**31


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
    tried: int = 0
    failures: list[Failure] = field(default_factory=list)
    seconds: float = 0.0

    def report(self, examples: int = 2) -> str:
        """Counts, then the failures of each kind with a few that can be run again."""
        name = self.attack.name
        counts = f"{self.tried} tried, {len(self.failures)} failed"
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
    begun = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="attacks-", ignore_cleanup_errors=True) as tempfile.tempdir:
        attack.warm()
        tally = _tried(attack, cases, seed)
    tempfile.tempdir, tally.seconds = None, time.monotonic() - begun
    return tally


def _tried(attack: Attack, cases: range, seed: int) -> Tally:
    """Cases in batches; one during which a child dies is tried again alone, to tell it from what came before."""
    tally = Tally(attack, seed, len(cases))
    for first in range(cases.start, cases.stop, BATCH):
        at = first
        while at < min(first + BATCH, cases.stop):
            failures, died = _batch(attack, range(at, min(first + BATCH, cases.stop)), seed)
            tally.failures += failures
            if died is None:
                break
            alone = _batch(attack, range(died.case, died.case + 1), seed) if died.case > at else ([], died)
            if alone[0] or alone[1]:
                tally.failures += [*alone[0], *([alone[1]] if alone[1] else [])]
            else:
                died.what += f", but not alone (after cases {at} to {died.case - 1})"
                tally.failures.append(died)
            at = died.case + 1
    return tally


def _batch(attack: Attack, cases: range, seed: int) -> tuple[list[Failure], Failure | None]:
    """Cases in one child: those that failed, and the one during which it died."""
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        os.close(reading)
        _child(attack, cases, seed, writing)
    os.close(writing)
    failures: list[Failure] = []
    now = Failure(cases.start, "", "")
    hung = False
    with os.fdopen(reading, "rb") as pipe:
        for message in _messages(pipe, attack.seconds):
            if message is None:
                hung = True
                os.kill(child, signal.SIGKILL)
                break
            if "case" in message:
                now = Failure(message["case"], "", "")
            now.doing = message.get("doing", now.doing)
            if "failed" in message:
                failures.append(Failure(now.case, now.doing, message["failed"]))
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if code == 0:
        return failures, None
    name = signal.Signals(-code).name if code < 0 else f"exit {code}"
    now.what = f"no answer in {attack.seconds:g} s" if hung else f"the process died: {name}"
    return failures, now


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

"""Interrupts of a Horde that is learning: at any bytecode, in a row, and while it recovers.

After each interrupt, all parts of the Horde are, bit for bit, those of an uninterrupted one after `rows` rows, and
so they are at the end. Most interrupts are raised at a numbered bytecode, so that a case can be repeated. Some come
from a timer, between and during compiled calls.
"""

from __future__ import annotations

import hashlib
import pickle
import signal
import sys
import tempfile
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np

import tdlambda as td
from attacks.harness import Attack, Failed, Say
from attacks.subjects import FEW
from tdlambda.features import Category, Columns, Lag

RNG = np.random.Generator
ROWS, CHUNKS = 260, [7] if FEW else [7, 300]
PACKAGE = str(Path(td.__file__).parent)
FLOW, HEAT = td.Question("flow", gamma=0.9), td.Question("heat", horizon=5, average=True)


class Stopped(BaseException):
    """Stands for an exception of a signal handler."""


KINDS: tuple[type[BaseException], ...] = (KeyboardInterrupt, SystemExit, Stopped, MemoryError)


def _diverging(features: Any) -> td.TD:
    return td.TD(features, alpha=1.9, lam=0.9)


HORDES: dict[str, Callable[[], td.Horde]] = {
    "AutoTD": lambda: td.Horde(None, {"a": FLOW, "b": HEAT, "c": td.Question(_cumulant, gamma=0.5)}, missing="hold"),
    "intervals": lambda: td.Horde(None, {"a": FLOW, "b": HEAT}, intervals=True, missing="mask", by="machine"),
    "windows": lambda: td.Horde(
        None, {"a": FLOW, "w": td.Question("heat", steps=5, of="max")}, by="machine", share=False, intervals=True
    ),
    "lanes": lambda: td.Horde(
        Columns("flow", Lag("heat", 1, 3), Category("kind")), {f"q{k}": _every(k) for k in range(6)},
        lambda x: td.TrueOnlineTD(x, alpha=0.02, lam=0.9), missing="hold",
    ),
    "several kinds": lambda: td.Horde(
        Columns("flow", "heat"), {"a": FLOW, "b": HEAT, "c": td.Question("flow", gamma="pace"), "d": HEAT},
        {"a": td.LSTD, "b": lambda x: td.MonteCarlo(x, 0.1), "c": td.AutoTD, "d": lambda x: td.NStepTD(x, 0.1, 3)},
        missing="mask", terminated="ends", gap=50, time="t",
    ),
    "diverging": lambda: td.Horde(
        Columns("flow", "heat"), {f"q{k}": _every(k) for k in range(5)}, _diverging, missing="hold", intervals=True
    ),
}  # fmt: skip


def _cumulant(row: Any, after: Any) -> float:
    return float(after["flow"]) - float(row["flow"])


def _every(k: int) -> td.Question:
    """Half of the questions read a column with missing values, so that lanes are split."""
    return td.Question(("flow", "heat")[k % 2], gamma=0.5 + 0.08 * k)


@cache
def table() -> dict[str, Any]:
    """Rows with missing values, gaps, ends, text and outliers."""
    rng = np.random.default_rng(7)
    flow = np.sin(np.arange(ROWS) / 5) + rng.normal(0, 0.1, ROWS)
    heat = np.where(rng.random(ROWS) < 0.03, np.nan, rng.normal(3, 1, ROWS))
    flow[200:203] *= 1e4
    return {
        "t": np.cumsum(np.where(rng.random(ROWS) < 0.02, 100.0, 1.0)), "flow": flow, "heat": heat,
        "pace": rng.uniform(0, 0.99, ROWS), "ends": (rng.random(ROWS) < 0.05).astype(float),
        "kind": np.array(["a", "b", "c"], dtype=object)[rng.integers(3, size=ROWS)],
        "machine": np.repeat(["x", "y"], ROWS // 2),
    }  # fmt: skip


@cache
def rows() -> list[dict[str, Any]]:
    """The same rows as dicts."""
    columns = {name: column.tolist() for name, column in table().items()}
    return [{name: column[t] for name, column in columns.items()} for t in range(ROWS)]


SOURCES = ("table", "file", "rows", "updates")


@cache
def file() -> str:
    """The same rows in a file."""
    with tempfile.NamedTemporaryFile("w", suffix=".csv", delete=False) as out:
        out.write(",".join(table()) + "\n")
        for row in rows():
            out.write(",".join("" if value != value else repr(value).strip("'") for value in row.values()) + "\n")
    return out.name


def learning(horde: td.Horde, source: str, chunk: int, iterator: Any) -> None:
    """Learn from the rows that the Horde has not seen."""
    if source == "updates":
        for row in rows()[horde.rows :]:
            horde.update(row)
    elif source == "rows":
        horde.learn(iterator, chunk=chunk, progress=False)
    else:
        data = table() if source == "table" else file()
        horde.learn(data, chunk=chunk, skip=horde.rows, progress=False)


def digest(horde: td.Horde) -> str:
    """A sum of everything that a Horde knows."""
    state, found = horde._journal.state, hashlib.sha256()
    if state is None:
        return ""
    parts: list[Any] = [
        state.rows, state.alarms, state.alarm_count, state.schema.kinds, state.front.values, state.stream, state.loaded,
        str(state.quality),
    ]  # fmt: skip
    arrays = [*state.front.arrays().values()]
    for key, place in state.places.items():
        parts += [key, place.fresh, place.begun, *((n, c.tolist()) for n, c in place.last.columns.items())]
        arrays += [place.obs, place.memory, *(place.waiting or ()), *(place.open or ()), *(place.errors or ())]
    for crew in state.crews.values():
        arrays += [crew.asleep, *(array for q in range(crew.n) for array in crew.learner(q)._state().values())]
    found.update(repr(parts).encode())
    for array in arrays:
        found.update(np.ascontiguousarray(array).tobytes())
    return found.hexdigest()


@cache
def undisturbed(name: str, source: str, chunk: int) -> tuple[dict[int, str], int]:
    """Sums of an uninterrupted Horde by its number of rows, and the number of bytecodes that it takes."""
    horde, found = HORDES[name](), {0: ""}
    if source == "updates":
        for row in rows():
            horde.update(row)
            found[horde.rows] = digest(horde)
    else:
        data: Any = iter(rows()) if source == "rows" else table() if source == "table" else file()
        for _ in horde._reading(data, chunk, 0, False):
            found[horde.rows] = digest(horde)
    again, iterator = HORDES[name](), iter(rows())
    count = interrupted(lambda: learning(again, source, chunk, iterator), 0, Stopped)
    if digest(again) != found[ROWS]:
        raise RuntimeError(f"{name} from {source} is not deterministic")
    return found, count


def interrupted(act: Callable[[], Any], at: int, kind: type[BaseException]) -> int:
    """Act, and raise before the `at`-th bytecode in the package; return how many there were before."""
    count = 0

    def local(_: FrameType, event: str, __: Any) -> Any:
        nonlocal count
        if event == "opcode":
            count += 1
            if count == at:
                raise kind("interrupt")
        return local

    def trace(frame: FrameType, _: str, __: Any) -> Any:
        if not frame.f_code.co_filename.startswith(PACKAGE):
            return None
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        return local

    sys.settrace(trace)
    try:
        act()
    except (kind, ValueError) as error:
        if not isinstance(error, kind) and not isinstance(error.__cause__, kind):  # of a cumulant
            raise
    finally:
        sys.settrace(None)
    return count


def timed(act: Callable[[], Any], seconds: float) -> None:
    """Act, and raise after this time."""

    def ring(*_: Any) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, ring)
    try:
        signal.setitimer(signal.ITIMER_REAL, seconds)
        act()
    except KeyboardInterrupt:
        pass
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def case(rng: RNG, say: Say) -> None:
    """A Horde that is interrupted some times."""
    name, source, chunk = str(rng.choice(list(HORDES))), str(rng.choice(SOURCES)), int(rng.choice(CHUNKS))
    sums, total = undisturbed(name, source, chunk)
    horde, iterator = HORDES[name](), iter(rows())
    iterator = (row for row in iterator) if rng.random() < 0.3 else iterator
    learn = partial(learning, horde, source, chunk, iterator)
    for _ in range(int(rng.integers(1, 5))):
        where = f"{name} from {source}, chunks of {chunk}, {horde.rows} rows"
        if rng.random() < 0.2:
            seconds = float(rng.uniform(1e-4, 0.03))
            say(f"{where}: interrupted after {1e3 * seconds:.1f} ms")
            timed(learn, seconds)
        else:
            at, kind = int(rng.integers(1, total)), KINDS[int(rng.integers(3 if source == "rows" else len(KINDS)))]
            say(f"{where}: {kind.__name__} at bytecode {at}")
            interrupted(learn, at, kind)
        if rng.random() < 0.5:  # while it recovers
            interrupted(horde.__repr__, int(rng.integers(1, 400)), KeyboardInterrupt)
        same(horde, name, sums)
        if rng.random() < 0.2:
            saved(horde, name)
    learn()
    if horde.rows != ROWS:
        raise Failed(f"{name} from {source}: an interrupt loses rows")
    same(horde, name, sums)


def same(horde: td.Horde, name: str, sums: dict[int, str]) -> None:
    """Raise unless the Horde is one that was not interrupted."""
    wanted = sums.get(horde.rows)
    if wanted is None:  # an iterator was interrupted, and what it had yielded was learned
        wanted = digest(HORDES[name]().learn(iter(rows()[: horde.rows]), progress=False))
    if digest(horde) != wanted:
        raise Failed(f"{name}: an interrupt leaves a state that an uninterrupted Horde never has")


def saved(horde: td.Horde, name: str) -> None:
    """Raise unless what is read from the Horde's file or pickle is the same."""
    if not horde.rows:
        return
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "horde")
        if name != "AutoTD":  # which has a function as cumulant
            horde.save(path)
            again: td.Horde = td.load(path)
        else:
            again = pickle.loads(pickle.dumps(horde))
    if digest(again) != digest(horde):
        raise Failed(f"{name}: what was saved after an interrupt is not what was learned")


def warm() -> None:
    """Compile what cases need, and learn undisturbed."""
    for name in HORDES:
        for source in SOURCES:
            for chunk in CHUNKS:
                undisturbed(name, source, chunk)


ATTACK = Attack("interrupts", "interrupts of a Horde at any bytecode", case, warm, seconds=120.0)

"""Learners and threads: one learner in several threads is refused or unharmed, many learners in many threads are free.

Every thread teaches the same transition, an episode of its own, so that the order in which they come does not matter: a
learner that was not harmed is, bit for bit, one that has learned it as often as calls succeeded.
"""

from __future__ import annotations

import sys
import threading
import time
from typing import Any

import numpy as np

from attacks.harness import Attack, Failed, Say
from attacks.hostile import SAME
from attacks.judging import brief
from attacks.subjects import FEW, OTHERS, PLAIN, RNG, TRACES, WORLDS, Subject

SECONDS = 1.0
"""Time after which a thread makes no further call: RecursiveLSTD inverts a matrix at each of these rows."""
BUSY = "in use by another thread"
KINDS: dict[str, Any] = TRACES | OTHERS | PLAIN
FEATURES = ("OneHot(5)", "OneHot(300)", "TileCoder")
RULES = (0.9, "meta") if FEW else (0.9, "auto", "meta")


def case(rng: RNG, say: Say) -> None:
    """One learner for all threads, or one for each."""
    sys.setswitchinterval(1e-6)
    name, world = str(rng.choice(list(KINDS))), WORLDS[str(rng.choice(FEATURES))]()
    lam = {} if name in PLAIN else {"lam": RULES[int(rng.integers(len(RULES))) if name in TRACES else 0]}
    together, n, rows = bool(rng.integers(2)), int(rng.integers(2, 5)), int(rng.choice([1, 50, 2000]))
    say(f"{name}({world.name}, {lam}), {'one' if together else 'one each'} in {n} threads, {rows} rows a call")
    row = {"obs": world.one(rng), "reward": 0.5, "next_obs": world.one(rng), "gamma": 0.5, "rho": 0.75}
    learners = [KINDS[name](world.features, **lam) for _ in range(n)]
    taught, refused = _teach([learners[0]] * n if together else learners, row, rows, calls=max(2, 4000 // (rows + 20)))
    label = f"one {name} in several threads" if together else f"several {name}"
    for learner, count in zip(learners, [sum(taught)] if together else taught, strict=False):
        say(f"{label}: {count} rows again, alone")
        alone = KINDS[name](world.features, **lam)
        alone.update_many(**_columns(row, count))
        if learner.steps != count:
            raise Failed(f"{label}: steps are lost")
        if Subject(name, learner, world, SAME).state() != Subject(name, alone, world, SAME).state():
            raise Failed(f"{label}: learned something else than alone")
    if refused and not together:
        raise Failed(f"{label}: one of them was refused")


def _columns(row: dict[str, Any], n: int) -> dict[str, Any]:
    """The same row, n times."""
    return {name: np.repeat(np.asarray(value)[None], n, axis=0) for name, value in row.items()} | {"terminated": True}


def _teach(learners: list[Any], row: dict[str, Any], rows: int, calls: int) -> tuple[list[int], int]:
    """Teach all at once, a thread each, for `SECONDS`; how many rows each could, and the number of refused calls."""
    start, errors, taught, refused = threading.Barrier(len(learners)), [], [0] * len(learners), []
    batch, until = _columns(row, rows), time.monotonic() + SECONDS

    def work(place: int, learner: Any) -> None:
        start.wait()
        for call in range(calls):
            if call and time.monotonic() > until:
                return
            try:
                if rows == 1:
                    learner.update(**row, terminated=True)
                else:
                    learner.update_many(**batch)
                taught[place] += rows
                if call % 7 == 0:
                    learner.predict(row["obs"]), learner.clone()
            except Exception as error:
                if BUSY not in str(error):
                    errors.append(error)
                    return
                refused.append(place)

    threads = [threading.Thread(target=work, args=some) for some in enumerate(learners)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise Failed(f"a thread got {brief(errors[0])}")
    return taught, len(refused)


def warm() -> None:
    """Load what cases need."""
    for name in KINDS:
        for world in (WORLDS[features]() for features in FEATURES):
            for lam in RULES[: 1 if name not in TRACES else None]:
                learner: Any = KINDS[name](world.features, **({} if name in PLAIN else {"lam": lam}))
                obs = world.one(np.random.default_rng(0))
                row = {"obs": obs, "reward": 0.5, "next_obs": obs, "gamma": 0.5, "rho": 0.75}
                learner.update(**row)
                learner.update_many(**_columns(row, 2))
                learner.clone().predict(obs)


ATTACK = Attack("threads", "one learner in several threads, and several", case, warm, seconds=60.0, typical=0.1)

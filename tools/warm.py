"""Compile the models that most tests use, in two processes: those that start together later find them in the cache.

    python tools/warm.py

Without it each worker of the tests would compile them for itself. What is compiled already is only loaded.
"""

import argparse
import multiprocessing
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from typing import Any

import numpy as np

import tdlambda as td

Job = tuple[Callable[..., None], tuple[Any, ...]]


def one(kind: str, lam: Any = 0.9, dtype: Any = "float64") -> None:
    """A learner by itself: one-hot states, a table of features, vectors."""
    make: Any = getattr(td, kind)
    _learn(make(td.features.OneHot(3), 0.1, lam, dtype=dtype), range(3))
    _learn(make(td.features.Table(np.eye(3)), 0.1, lam, dtype=dtype), range(3))
    _learn(make(td.features.Dense(2), 0.1, lam, dtype=dtype), np.eye(2))


def many(kind: str, lam: Any = 0.9) -> None:
    """A learner with a list of live features."""
    make: Any = getattr(td, kind)
    _learn(make(td.features.OneHot(200), 0.1, lam), range(3))
    _learn(make(td.features.TileCoder([0, 0], [1, 1], tilings=4, tiles=8), 0.1, lam), np.eye(2))


def lanes(kind: str, *lams: Any) -> None:
    """Lanes of the engine, one-hot and with several active features."""
    make: Any = getattr(td, kind)
    for task in (td.make("RingWorld-v0"), td.make("FrozenLake-v0")):
        td.engine.run(task, [make(task.features, 0.01, lam) for lam in lams], seeds=1, steps=10, points=1)


def bank() -> None:
    """`AutoTD`."""
    _learn(td.AutoTD(td.features.OneHot(3)), range(3))
    _learn(td.AutoTD(td.features.Dense(2)), np.eye(2))


def _learn(learner: td.Learner, observations: Any) -> None:
    """A few transitions, singly and together."""
    learner.update(observations[0], 1.0, observations[1], gamma=0.9)
    learner.predict(observations[0])
    learner.update_many(observations[:-1], np.ones(len(observations) - 1), observations[1:], gamma=0.9)


JOBS: tuple[Job, ...] = (
    (bank, ()), (lanes, ("TrueOnlineTD", "meta", "greedy", 0.9)), (lanes, ("TrueOnlineGTD", "meta", 0.9)),
    (lanes, ("TrueOnlineTD", "auto")), (one, ("TrueOnlineTD", "auto")), (one, ("TrueOnlineTD", "meta")),
    (one, ("TrueOnlineTD", "greedy")), (lanes, ("GTD", 0.9)), (lanes, ("TD", 0.9)), (many, ("TrueOnlineGTD",)),
    (one, ("DirectVTD",)), (one, ("TrueOnlineGTD",)), (one, ("GTD",)),
    (one, ("TrueOnlineTD",)), (one, ("TD",)), (many, ("TrueOnlineTD",)), (one, ("TrueOnlineTD", 0.9, "float32")),
)  # fmt: skip
"""The slowest first."""


def timed(job: Job) -> tuple[str, float]:
    """Do one; its name, and how long it took."""
    begun, (function, given) = time.perf_counter(), job
    function(*given)
    return f"{function.__name__}({', '.join(map(str, given))})", time.perf_counter() - begun


def main() -> None:
    """Compile them all."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.parse_args()
    with ProcessPoolExecutor(2, multiprocessing.get_context("spawn")) as pool:
        for name, seconds in pool.map(timed, JOBS):
            if seconds > 1:
                print(f"{name:<40} {seconds:5.1f} s", flush=True)


if __name__ == "__main__":
    main()

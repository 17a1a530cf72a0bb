"""Compile the package's large kernels, two at a time: processes that start together later find them in the cache.

    python tools/warm.py

Without it each worker of the tests would compile them for itself. What is compiled already takes no time.
"""

import multiprocessing
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from typing import Any

import numpy as np

import tdlambda as td


def control() -> None:
    """Agents: in the engine, and one by one."""
    car = td.make("MountainCar-v0", limit=100)
    agent = td.ActorCritic(td.TrueOnlineTD(car.features, 0.01, 0.9), td.Softmax(3), eta=0.01)
    td.control.run(car, [agent], seeds=1, steps=10, points=1)
    td.train(car, agent, steps=10)


def engine() -> None:
    """Lanes."""
    ring = td.make("RingWorld-v0")
    td.engine.run(ring, [td.TrueOnlineTD(ring.features, 0.01, 0.9)], seeds=1, steps=10, points=1)


def bank() -> None:
    """`AutoTD`."""
    _learn(td.AutoTD(td.OneHot(3)), range(3))
    _learn(td.AutoTD(td.Dense(2)), np.eye(2))


def learners(dtype: Any = "float64") -> None:
    """Learners with traces, one by one."""
    _learn(td.TrueOnlineTD(td.OneHot(3), 0.1, 0.5, dtype=dtype), range(3))
    _learn(td.TrueOnlineTD(td.Dense(2), 0.1, 0.5, dtype=dtype), np.eye(2))


def float32() -> None:
    """The same in single precision."""
    learners("float32")


def _learn(learner: td.Learner, observations: Any) -> None:
    """A few transitions, singly and together."""
    learner.update(observations[0], 1.0, observations[1], gamma=0.9)
    learner.update_many(observations[:-1], np.ones(len(observations) - 1), observations[1:], gamma=0.9)


FAMILIES: tuple[Callable[[], None], ...] = (control, engine, bank, learners, float32)
"""The slowest first."""


def main() -> None:
    """Compile them all."""
    with ProcessPoolExecutor(2, multiprocessing.get_context("spawn")) as pool:
        for done in [pool.submit(family) for family in FAMILIES]:
            done.result()


if __name__ == "__main__":
    main()

"""Agents in Gymnasium environments without a compiled world: step by step, each run in its own process."""

from __future__ import annotations

import multiprocessing
from collections.abc import Iterator
from concurrent.futures import Future, ProcessPoolExecutor, wait
from functools import partial
from types import SimpleNamespace
from typing import Any

import gymnasium as gym
import numpy as np

from tdlambda.arrays import Floats, Ints
from tdlambda.control.control_job import parts_of
from tdlambda.control.interaction import ACCOUNT, record_step
from tdlambda.control.training import train
from tdlambda.learners import Diverged
from tdlambda.runner.by_seed import Piece
from tdlambda.runner.curve import LearningCurve
from tdlambda.runner.job import Job
from tdlambda.runner.lane_progress import Progress
from tdlambda.runner.result import RunRecord


def pieces_in_processes(job: Job, pool: ProcessPoolExecutor) -> Iterator[Piece]:
    """Yield pieces of work: a seed and one agent, seed by seed."""
    for seed in job.seeds:
        for place, agent in enumerate(job.learners.values()):
            yield seed, partial(_in_process, job, pool, place, agent, seed)


def _in_process(
    job: Job, pool: ProcessPoolExecutor, place: int, agent: Any, seed: int, bar: Progress
) -> dict[int, RunRecord]:
    """Run one agent on one seed in a process; return nothing if the run was stopped."""
    env = (job.task.id, job.task.options, job.task.discount)
    given = (*env, agent, seed, job.steps, job.points, job.keep, job.observations)
    future: Future[RunRecord] = pool.submit(learn_in_env, *given)
    while not wait([future], timeout=0.2).done:
        if job.stop.is_set():
            future.cancel()
            return {}
    found = future.result()
    bar.advance(job.steps, int(found.diverged_at >= 0))
    return {place: found}


def learn_in_env(
    env: str, options: dict[str, Any], gamma: float | None, agent: Any, seed: int, steps: int, points: Ints,
    keep: tuple[str, ...], observations: Any,
) -> RunRecord:  # fmt: skip
    """Run one agent on one seed, in this process."""
    world, curve = gym.make(env, **options), _Recorder(agent, points)
    try:
        train(world, agent, steps, seed=seed, gamma=gamma, progress=False, curve=curve)
    except Diverged:
        curve.diverged_at = curve.steps + 1
    finally:
        world.close()
    episodes = np.stack([curve.discounted, curve.lengths, curve.ends], axis=1) if len(curve) else np.zeros((0, 3))
    return RunRecord(curve.at_points, curve.diverged_at, parts_of(agent, keep, observations, episodes))


class _Recorder(LearningCurve):
    """A curve that also records `ControlResult.returns`, by the function that compiled runs use."""

    def __init__(self, agent: Any, points: Ints) -> None:
        super().__init__()
        self.agent, self.points, self.diverged_at = agent, points, -1
        self.at_points: Floats = np.full(points.size, -np.inf)
        self._account = SimpleNamespace(**dict.fromkeys(ACCOUNT.names or (), 0) | {"length": -1})
        self._log = np.zeros((1, 3))

    def add(self, reward: float, gamma_next: float, ended: bool, truncated: bool = False, env: int = 0) -> None:
        """Add one step; stop the training at the step at which the agent diverged."""
        if self.agent.diverged_at is not None:
            raise Diverged(self.steps + 1)
        super().add(reward, gamma_next, ended, truncated, env)
        if self._account.length < 0:
            self._account.length, self._account.gained, self._account.gain = 0, 0.0, 1.0
        record_step(self._account, reward, gamma_next, ended, self.steps - 1, self.points, self.at_points, self._log, 0)


def pool_of(workers: int) -> ProcessPoolExecutor:
    """A pool of spawned processes; a fork of a process with threads may hang."""
    return ProcessPoolExecutor(workers, mp_context=multiprocessing.get_context("spawn"))

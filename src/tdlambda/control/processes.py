"""Agents in Gymnasium environments without a compiled world: step by step, each run in its own process."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor, wait
from functools import partial
from typing import Any

import gymnasium as gym
import numpy as np

from tdlambda.arrays import Floats, Ints
from tdlambda.control.curve import LearningCurve
from tdlambda.control.job import Job
from tdlambda.control.kept import Found, kept_of
from tdlambda.control.training import train
from tdlambda.engine.progress import Progress


def pieces_in_processes(
    job: Job, pool: ProcessPoolExecutor
) -> Iterator[tuple[int, Callable[[Progress], dict[int, Found]]]]:
    """Yield pieces of work: a seed and one agent, seed by seed."""
    for seed in job.seeds:
        for place, agent in enumerate(job.agents.values()):
            yield seed, partial(_in_process, job, pool, place, agent, seed)


def _in_process(
    job: Job, pool: ProcessPoolExecutor, place: int, agent: Any, seed: int, bar: Progress
) -> dict[int, Found]:
    """Run one agent on one seed in a process; return nothing if the run was stopped."""
    env = (job.world.id, job.world.options, job.world.discount)
    given = (*env, agent, seed, job.steps, job.points, job.keep, job.observations)
    future: Future[Found] = pool.submit(learn_in_env, *given)
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
) -> Found:  # fmt: skip
    """Run one agent on one seed, in this process."""
    world = gym.make(env, **options)
    try:
        curve = train(world, agent, steps, seed=seed, gamma=gamma, progress=False)
    finally:
        world.close()
    diverged = -1 if agent.diverged_at is None else int(agent.diverged_at)
    episodes = np.stack([curve.discounted, curve.lengths, curve.ends], axis=1) if len(curve) else np.zeros((0, 3))
    return Found(returns_at(curve, points, diverged), diverged, kept_of(agent, keep, observations, episodes))


def returns_at(curve: LearningCurve, points: Ints, diverged_at: int) -> Floats:
    """The mean return of the episodes since the previous point; see `ControlResult.returns`."""
    out, before, last = np.full(points.size, -np.inf), 0, 0.0
    for i, point in enumerate(points.tolist()):
        some = curve.discounted[(curve.ends > before) & (curve.ends <= point)]
        last, before = float(some.mean()) if some.size else last, point
        if diverged_at < 0 or point < diverged_at:
            out[i] = last
    return out


def pool_of(workers: int) -> ProcessPoolExecutor:
    """A pool of spawned processes; a fork of a process with threads may hang."""
    return ProcessPoolExecutor(workers, mp_context=multiprocessing.get_context("spawn"))

"""Run many agents, each in its own environment, on threads: one compiled call for thousands of steps."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np

from tdlambda.arrays import Floats
from tdlambda.control.control_job import checked, parts_of
from tdlambda.control.lane import Agent, Lane, form_of
from tdlambda.control.processes import pieces_in_processes, pool_of
from tdlambda.control.worlds import EnvTask
from tdlambda.runner.by_seed import Piece, by_seed, threads_of
from tdlambda.runner.job import Job
from tdlambda.runner.lane_progress import Progress
from tdlambda.runner.result import ControlResult, RunRecord
from tdlambda.tasks.task import Task
from tdlambda.tasks.world import World

CHUNK = 16_384
"""Steps of one compiled call; a run can be stopped between two calls."""
PIECE = 8
"""Number of agents of one seed that a thread takes at a time."""


def run(
    task: Task[Any] | World | str,
    agents: Mapping[str, Agent] | Sequence[Agent],
    seeds: int | Sequence[int],
    steps: int,
    *,
    gamma: float | None = None,
    points: int | Sequence[int] | None = None,
    keep: Sequence[str] = ("weights", "theta", "lambdas"),
    follow: Sequence[int] = (),
    threads: int | None = None,
    progress: bool | Progress | None = None,
    on_seed: Callable[[ControlResult], None] | None = None,
    hold: bool = True,
    stop: threading.Event | None = None,
) -> ControlResult:
    """Train many agents on each seed, each from its current state; the agents passed in do not change.

    The result is the same as with `act` and `update` and the same random numbers, and does not depend on the number of
    threads. For a given seed, all agents have the same initial states and the same noise.

    Parameters
    ----------
    task
        A task with a compiled world: any finite task, MountainCar-v0, or your own `td.tasks.World`; or the id of a
        task, "CartPole-v1" or "Acrobot-v1". Any other Gymnasium environment, given by its id, runs step by step, with a
        process for each agent and seed (a script then needs ``if __name__ == "__main__":``).
    agents
        Agents by name; agents in a sequence are named by their index. Either `td.Sarsa` and `td.QLambda` with policies
        derived from their values, or `td.ActorCritic` with a critic with traces, a softmax policy and the same features
        for both. λ is a number or learned; features need a compiled form: `td.features.TileCoder`,
        `td.features.Fourier`, `td.features.Dense`, `td.features.OneHot`.
    seeds
        Number of seeds, from 1 to 10⁶, counted from 0; or a sequence of different seeds, each from 0 to 2³² - 1.
    steps
        Number of steps of each agent on each seed, over all its episodes; at least 1.
    gamma
        Discount γ in [0, 1] of a Gymnasium environment that reports none, such as "CartPole-v1". A task has its own.
    points
        Number of points at which the returns are recorded, evenly spaced up to the last step (100 by default); or a
        sequence of the steps themselves.
    keep
        Which of "weights", "theta", "lambdas", "policy", "episodes", "agents" to return.
    follow
        Seeds for which the critics' λ is recorded over time, at up to 48 of the points: `ControlResult.motion`. Not
        available in processes.
    threads
        Number of threads, at least 1; by default one per processor.
    progress
        Whether to show a progress bar; None shows one in a terminal for runs that take more than a second. Or a bar
        shared by several runs.
    on_seed
        Called with the result of each seed when it is finished.
    hold
        Whether to keep the results passed to `on_seed`; if False, the returned result has no seeds.
    stop
        Event that ends the run early; the seeds finished so far are returned, marked `interrupted`. With `stop`, Ctrl-C
        is left to the caller; without it, Ctrl-C raises `td.Interrupted`, whose `result` holds those seeds.

    Examples
    --------
    >>> import tdlambda as td
    >>> car = td.make("MountainCar-v0", limit=500)
    >>> agents = {
    ...     f"λ = {lam}": td.ActorCritic(td.TrueOnlineTD(car.features, 0.01, lam), td.control.Softmax(3), eta=0.01)
    ...     for lam in (0.0, 0.9)}
    >>> found = td.control.run(car, agents, seeds=4, steps=20_000)
    >>> found
    <2 agents × 4 seeds × 20,000 steps, 0 diverged>
    >>> found.best(), bool(found.tail().max() > -200)
    ('λ = 0.9', True)
    """
    job, threads = checked(task, agents, seeds, steps, points, keep, follow, gamma), threads_of(threads)

    def result(returns: Floats, fields: dict[str, Any]) -> ControlResult:
        return ControlResult(**fields, returns=returns)

    rest = (result, threads, progress, on_seed, hold, stop)
    if isinstance(job.task, EnvTask):
        pool = pool_of(threads)
        try:
            return by_seed(job, pieces_in_processes(job, pool), *rest)
        finally:
            workers = list(pool._processes.values())
            pool.shutdown(wait=False, cancel_futures=True)
            for worker in workers:  # if the run was stopped, nobody waits for their results
                worker.terminate()
    for agent in {form_of(agent, job.task): agent for agent in job.learners.values()}.values():
        Lane(agent, job.task, 0, job.points)  # compile, or load from the cache, before the threads start
    return by_seed(job, _pieces(job), *rest)


def _pieces(job: Job) -> Iterator[Piece]:
    """Yield pieces of work: a seed and some agents, seed by seed."""
    places = list(range(len(job.learners)))
    for number in job.seeds:
        for begin in range(0, len(places), PIECE):
            yield number, partial(_work, job, number, places[begin : begin + PIECE])


def _work(job: Job, seed: int, places: list[int], bar: Progress) -> dict[int, RunRecord]:
    """Run some agents on one seed, one after the other; return nothing if the run was stopped."""
    found, agents, log = {}, list(job.learners.values()), np.zeros((CHUNK, 3))
    for place in places:
        lane, motion = Lane(agents[place], job.task, seed, job.points), []
        moments = job.points[job.moments].tolist() if seed in job.follow else []
        stops = sorted({*range(CHUNK, job.steps, CHUNK), *moments, job.steps})
        for begin, end in pairwise([0, *stops]):
            if job.stop.is_set():
                return {}
            lane.advance(end - begin, log)
            bar.advance(end - begin, 0)
            if end in moments:
                agent: Any = lane.snapshot()
                lam = getattr(agent, "critic", agent).lambdas(job.observations)
                motion.append(lam if lam.ndim == 1 else lam.mean(axis=1))  # for action values, the mean over actions
        bar.advance(0, int(lane.diverged_at >= 0))
        parts = parts_of(lane.close(), job.keep, job.observations, lane.finished_episodes())
        found[place] = RunRecord(lane.curve, lane.diverged_at, parts, np.array(motion) if moments else None)
    return found

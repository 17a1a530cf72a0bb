"""Run many learners on the same trajectories, on threads."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from tdlambda.arrays import Floats, integer
from tdlambda.engine.plan import WIDTH, Group, plan
from tdlambda.engine.prediction_job import checked
from tdlambda.engine.trajectory import CHUNK, EncodedChunks, Stream
from tdlambda.engine.workers import LaneWorker, LearnerWorker, Worker
from tdlambda.learners.learner import Learner
from tdlambda.runner.by_seed import by_seed, threads_of
from tdlambda.runner.job import Job
from tdlambda.runner.lane_progress import Progress
from tdlambda.runner.result import Result, RunRecord
from tdlambda.runner.truth import Truth
from tdlambda.tasks.task import Task


def run(
    task: Task[Any] | str,
    learners: Mapping[str, Learner] | Sequence[Learner],
    seeds: int | Sequence[int],
    steps: int | None = None,
    *,
    episodes: int | None = None,
    points: int | Sequence[int] | None = None,
    score: str = "value",
    average: str | None = None,
    weights: ArrayLike | None = None,
    truth: Truth | None = None,
    keep: Sequence[str] = ("weights", "lambdas"),
    follow: Sequence[int] = (),
    threads: int | None = None,
    width: int = WIDTH,
    progress: bool | Progress | None = None,
    on_seed: Callable[[Result], None] | None = None,
    hold: bool = True,
    stop: threading.Event | None = None,
) -> Result:
    """Run many learners on the same trajectories, one per seed, and measure their errors.

    Each learner starts from its current state, at the beginning of an episode; the learners passed in do not change.
    Learners with traces run side by side as lanes of compiled blocks; others (Monte-Carlo, n-step, LSTD, …) run
    individually. The result depends neither on the number of threads nor on how learners share blocks.

    Parameters
    ----------
    task
        A task or its id.
    learners
        Learners by name; learners in a sequence are named by their index.
    seeds
        Number of trajectories, from 1 to 10⁶, with seeds counted from 0; or a sequence of different seeds, each from 0
        to 2³² - 1, such as range(100, 130).
    steps, episodes
        Length of each trajectory, in transitions or in episodes, at least 1; give one of the two.
    points
        Number of points at which the error is recorded, evenly spaced up to the last step (100 by default); or a
        sequence of the steps themselves. In a run measured in episodes, points are episodes (by default every episode,
        at most 100).
    score
        Error measure: "value", "rmsve", "rms" (over states) or "rmspbe" (root mean squared projected Bellman error).
    average
        "before" or "after": each point is the mean error over all steps since the last point, before or after each
        update. By default it is the error at that step.
    weights
        State weights of the error in a finite task, at least 0: a number or one for each state. Default: d without
        terminal states; for "value" d of the target policy, as in Zhao (2020); for "rmsve" d of the behaviour policy,
        normalised to sum to 1.
    truth
        True values to measure against. Default: the exact values, or Monte-Carlo estimates if there is no model.
    keep
        Which of "weights", "lambdas", "estimates", "learners" to return.
    follow
        Seeds for which λ is recorded over time, at up to 48 of the points: `Result.motion`.
    threads
        Number of threads, at least 1; by default one per processor.
    width
        Largest number of lanes in a block, at least 1.
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
    >>> ring = td.make("RingWorld-v0")
    >>> found = td.engine.run(
    ...     ring,
    ...     {f"λ = {lam}": td.TrueOnlineTD(ring.features, 0.01, lam) for lam in (0.0, 0.9, 1.0)},
    ...     seeds=4, steps=20_000)
    >>> found
    <3 learners × 4 seeds × 20,000 steps, 0 diverged>
    >>> found.best()
    'λ = 0.9'
    """
    measured = {"score": score, "average": average, "episodes": episodes, "follow": follow}
    job, threads = checked(task, learners, seeds, steps, points, weights, truth, keep, **measured), threads_of(threads)
    pieces = _pieces(job, threads, integer(width, "width", 1))
    if any(groups for groups, _ in pieces):
        _compile(job, [group for groups, _ in pieces for group in groups])
    work = ((number, partial(_work, job, number, *piece)) for number in job.seeds for piece in pieces)

    def result(error: Floats, fields: dict[str, Any]) -> Result:
        return Result(**fields, error=error, truth=job.score.truth, score=job.score.name, average=job.average)

    return by_seed(job, work, result, threads, progress, on_seed, hold, stop)


def _pieces(job: Job, threads: int, width: int) -> list[tuple[list[Group], list[int]]]:
    """Split the learners of one seed into enough pieces to keep all threads busy."""
    wanted = -(-threads // len(job.seeds))
    width = min(width, max(16, -(-len(job.learners) // wanted)))
    groups, alone = plan(list(job.learners.values()), width)
    units: list[tuple[list[Group], list[int]]] = [([group], []) for group in groups] + [
        ([], [place]) for place in alone
    ]
    pieces: list[tuple[list[Group], list[int]]] = [([], []) for _ in range(min(wanted, len(units)))]
    for k, (some, places) in enumerate(units):
        pieces[k % len(pieces)][0].extend(some)
        pieces[k % len(pieces)][1].extend(places)
    return pieces


def _compile(job: Job, groups: list[Group]) -> None:
    """Compile or load the machine code before the threads start."""
    chunk = Stream(job.task, 0).take(1)
    for model, group in {group.learners[0].model: group for group in groups}.items():
        # Which estimates can be shared depends on all learners of a group.
        some = group if model.independent() else Group(group.learners[:1], (0,))
        LaneWorker(job, some, EncodedChunks(), np.array([1])).feed(chunk)


def _work(job: Job, seed: int, groups: list[Group], alone: list[int], bar: Progress) -> dict[int, RunRecord]:
    """Run some of the learners on one seed's trajectory."""
    stream, encoded = Stream(job.task, seed), EncodedChunks()
    points, steps = job.points_of(seed), job.steps_of(seed)
    followed = seed in job.follow
    workers: list[Worker] = [LaneWorker(job, group, encoded, points, followed) for group in groups]
    workers += [LearnerWorker(job, place, points, followed) for place in alone]
    for begin in range(0, steps, CHUNK):
        chunk = stream.take(min(CHUNK, steps - begin))
        for worker in workers:
            if job.stop.is_set():
                return {}
            bar.advance(worker.n * len(chunk.at), worker.feed(chunk))
    return {place: lane for worker in workers for place, lane in worker.result().items()}

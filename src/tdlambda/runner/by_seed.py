"""Run many seeds in pieces, on threads. A seed is reported when its last piece is done; a stop keeps finished seeds."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterable
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import nullcontext
from typing import TypeVar

from tdlambda.interruption import Interrupted, interruptible
from tdlambda.runner.job import Job
from tdlambda.runner.lane_progress import Progress, shown
from tdlambda.runner.result import RunRecord

Result = TypeVar("Result")
Done = dict[int, dict[int, RunRecord]]
"""Records by seed and by place, the index of a learner or agent."""

AHEAD = 4
"""Number of pieces queued for each thread."""


def by_seed(
    job: Job,
    pieces: Iterable[tuple[int, Callable[[Progress], dict[int, RunRecord]]]],
    result: Callable[[tuple[int, ...], Done, bool, float], Result],
    threads: int,
    progress: bool | Progress | None,
    on_seed: Callable[[Result], None] | None,
    hold: bool,
    stop: threading.Event | None,
) -> Result:
    """Run the pieces in order and write the records of each seed to its places.

    Parameters
    ----------
    pieces
        Pairs of a seed and a function; called with the progress bar, it returns results by place, or none if `job.stop`
        is set.
    result
        Function that builds the result from the seeds, whether the run was interrupted, and its duration.
    progress, on_seed, hold, stop
        As for `td.engine.run`.
    """
    begun = time.perf_counter()
    done: Done = {number: {} for number in job.seeds}
    places, finished, asked = len(job.learners), 0, threading.Event() if stop is None else stop

    def take(number: int, future: Future[dict[int, RunRecord]]) -> None:
        nonlocal finished
        done[number] |= future.result()
        if len(done[number]) == places:
            finished += 1
            if on_seed is not None:
                on_seed(result((number,), done, False, 0.0))
            if not hold:
                done[number] = {}

    with (
        shown(places * job.total, progress) as bar,
        ThreadPoolExecutor(threads) as pool,
        interruptible(asked) if stop is None else nullcontext(),
    ):
        work = iter(pieces)
        waiting: dict[Future[dict[int, RunRecord]], int] = {}
        try:
            while not asked.is_set():
                while len(waiting) < AHEAD * threads and (piece := next(work, None)) is not None:
                    waiting[pool.submit(piece[1], bar)] = piece[0]
                if not waiting:
                    break
                ready, _ = wait(waiting, timeout=0.2, return_when=FIRST_COMPLETED)
                for future in ready:
                    take(waiting.pop(future), future)
                bar.refresh()
        finally:
            job.stop.set()
            pool.shutdown(wait=True, cancel_futures=True)
        for future, number in waiting.items():  # after an interruption, some pieces may still have finished
            if not future.cancelled():
                take(number, future)
    order = tuple(number for number in job.seeds if len(done[number]) == places)
    found = result(order, done, asked.is_set() or finished < len(job.seeds), time.perf_counter() - begun)
    if stop is None and asked.is_set():
        raise Interrupted(f"{finished} of {len(job.seeds)} seeds were finished", found)
    return found


def processors() -> int:
    """The number of processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1

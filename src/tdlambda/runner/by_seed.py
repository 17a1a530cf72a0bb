"""Run many seeds in pieces, on threads. A seed is reported when its last piece is done; a stop keeps finished seeds."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterable
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import nullcontext
from typing import Any, TypeVar

from tdlambda.arrays import Floats, integer
from tdlambda.interruption import Interrupted, interruptible
from tdlambda.runner.job import Job
from tdlambda.runner.lane_progress import Progress, shown
from tdlambda.runner.result import RunRecord, collected

Result = TypeVar("Result")
Piece = tuple[int, Callable[[Progress], dict[int, RunRecord]]]
"""A seed, and a function that runs some of the learners on it: see `by_seed`."""
AHEAD = 4
"""Number of pieces queued for each thread."""


def by_seed(
    job: Job,
    pieces: Iterable[Piece],
    result: Callable[[Floats, dict[str, Any]], Result],
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
        Pairs of a seed and a function; called with the progress bar, it returns records by place, the index of a
        learner or agent, or none if `job.stop` is set.
    result
        Function that builds the result from the curves and the fields that all results share.
    progress, on_seed, hold, stop
        As for `td.engine.run`.
    """
    begun = time.perf_counter()
    done: dict[int, dict[int, RunRecord]] = {number: {} for number in job.seeds}
    places, finished, asked = len(job.learners), 0, threading.Event() if stop is None else stop

    def result_of(seeds: tuple[int, ...], interrupted: bool = False, seconds: float = 0.0) -> Result:
        curves, fields = collected(job, seeds, done)
        return result(curves, fields | {"interrupted": interrupted, "seconds": seconds})

    def take(number: int, future: Future[dict[int, RunRecord]]) -> None:
        nonlocal finished
        done[number] |= future.result()
        if len(done[number]) == places:
            finished += 1
            if on_seed is not None:
                on_seed(result_of((number,)))
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
    found = result_of(order, asked.is_set() or finished < len(job.seeds), time.perf_counter() - begun)
    if stop is None and asked.is_set():
        raise Interrupted(f"{finished} of {len(job.seeds)} seeds were finished", found)
    return found


def threads_of(given: int | None) -> int:
    """The number of threads: validated, or one for each processor."""
    return processors() if given is None else integer(given, "threads", 1)


def processors() -> int:
    """The number of processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1

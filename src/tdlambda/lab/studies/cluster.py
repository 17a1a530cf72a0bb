"""Run a study on a Dask cluster: one task per unit; only the client writes results, as they arrive."""

from __future__ import annotations

import importlib
import platform
import sys
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

from tdlambda.extras import need
from tdlambda.interruption import interruptible
from tdlambda.lab.studies.execution import prepared, run_unit
from tdlambda.lab.studies.sources import imported
from tdlambda.lab.studies.store import provenance
from tdlambda.lab.studies.study import Study
from tdlambda.lab.studies.units import read_table
from tdlambda.runner.lane_progress import Progress
from tdlambda.runner.truth import Truth

PATIENCE = 10.0
"""Seconds within which a scheduler must answer."""
RETRIES = 2
"""How often a failed unit is retried; units whose worker died are retried separately."""
SAME = ("tdlambda", "numpy", "numba", "scipy", "pyarrow")
"""Packages that must have the same version on all workers, because the results depend on them."""
CHECK_EVERY = 0.5
"""Seconds between two checks of the workers."""
AT_ONCE = 16
"""Number of results fetched concurrently, to hide the network latency."""
GONE = "dask: lost the connection to the scheduler; results that had arrived are kept, run again to continue"

Unit = tuple[str, int]
"""A method and a seed."""


@dataclass(frozen=True)
class Order:
    """Everything that the units of a study share; sent to each worker once.

    It includes the truth, so that results do not depend on a worker's processor or number of BLAS threads.
    """

    token: str
    study: dict[str, Any]
    keys: dict[str, str]
    truths: dict[str, Truth]
    versions: dict[str, str]


def run_on_cluster(
    study: Study, wanted: Mapping[str, list[int]], address: str, keep: Callable[[str, int, bytes], None], bar: Progress
) -> bool:
    """Run all missing units on the workers of a Dask scheduler; return whether the run was interrupted."""
    stop = threading.Event()
    if not any(wanted.values()):
        return False
    with interruptible(stop), _connected(address) as client, ThreadPoolExecutor(AT_ONCE) as pool:
        order = Order(
            uuid4().hex, study.to_dict(), {method: study.key(method) for method in wanted},
            {method: prepared(study, method)[1] for method in wanted}, _versions(provenance()),
        )  # fmt: skip
        workers, lanes = DaskWorkers(client, order, pool), {method: len(study.cells(method)) for method in wanted}
        todo = deque((method, seed) for method, seeds in wanted.items() for seed in seeds)

        def take() -> None:
            for (method, seed), content in workers.arrived():
                keep(method, seed, content)
                bar.advance(lanes[method] * study.run_steps, _diverged(content))
            bar.refresh()

        while (todo or workers.units) and not stop.is_set():
            todo.extendleft(workers.check_workers())
            workers.give(todo)
            take()
            stop.wait(0.02)
        take()  # results that arrived at the last moment
        while workers.on_the_way:
            take()
            time.sleep(0.02)
        client.cancel(list(workers.units))
        return stop.is_set()


class DaskWorkers:
    """The workers of a scheduler, each checked when it joins, and the units assigned to each.

    Units are assigned to a worker by name. Dask would give them to any free worker, and a worker that runs another
    program or fails immediately is always free.
    """

    def __init__(self, client: Any, order: Order, pool: ThreadPoolExecutor) -> None:
        self.client, self.order, self._pool = client, order, pool
        self.units: dict[Any, tuple[str, Unit]] = {}
        """Worker and unit of each future."""
        self.on_the_way: dict[Any, Future[bytes | None]] = {}
        """Finished units whose results are being fetched."""
        self._looks: dict[str, Any] = {}
        self._orders: dict[str, Any] = {}
        self._unfit: dict[str, str] = {}
        self._threads: dict[str, int] = {}
        self._deaths: Counter[Unit] = Counter()
        self._next_check, self._waiting, self._begun = 0.0, False, False

    def check_workers(self) -> list[Unit]:
        """Check periodically which workers joined or left; return the units to repeat."""
        if self.client.scheduler_comm is None or self.client.scheduler_comm.closed():
            raise ConnectionError(GONE)
        for worker in [worker for worker, look in self._looks.items() if look.done()]:
            self._judge(worker, self._looks.pop(worker))
        if time.monotonic() < self._next_check:
            return []
        try:
            self._threads = self.client.nthreads()
        except OSError as error:
            raise ConnectionError(GONE) from error
        self._next_check = time.monotonic() + CHECK_EVERY
        for some in (self._looks, self._orders, self._unfit):
            for worker in some.keys() - self._threads:
                del some[worker]
        for worker in self._threads.keys() - self._looks.keys() - self._orders.keys() - self._unfit.keys():
            self._looks[worker] = self._look(worker)
        self._say_if_nobody_works()
        return [self._lost(future) for future, (worker, _) in list(self.units.items()) if worker not in self._threads]

    def give(self, todo: deque[Unit]) -> None:
        """Assign units to accepted workers: one per thread, and one in reserve."""
        busy = Counter(worker for worker, _ in self.units.values())
        for worker, order in self._orders.items():
            while todo and busy[worker] <= self._threads[worker]:
                method, seed = unit = todo.popleft()
                name = (f"{method}-{self.order.token}-{self._deaths[unit]}", seed)
                future = self.client.submit(_unit, *unit, order, key=name, workers=[worker], retries=RETRIES)
                self.units[future] = worker, unit
                busy[worker] += 1

    def arrived(self) -> Iterator[tuple[Unit, bytes]]:
        """Yield the results that have arrived, and start to fetch those of units finished since."""
        for future in [future for future in self.units if future.done() and future not in self.on_the_way]:
            self.on_the_way[future] = self._pool.submit(_content, future, self.units[future][1])
        for future in [future for future, fetched in self.on_the_way.items() if fetched.done()]:
            content = self.on_the_way.pop(future).result()
            if content is not None:
                unit = self.units.pop(future)[1]
                future.release()  # frees the worker's memory
                yield unit, content

    def _look(self, worker: str) -> Any:
        """Ask a worker for its versions, with a timeout."""

        def look(study: dict[str, Any], keys: dict[str, str], source: str) -> dict[str, Any]:
            # A nested function is sent as code, so that a worker without this package can run it and report that.
            from tdlambda.lab.studies.store import provenance

            found = provenance()
            if found["source"] == source:
                from tdlambda.lab.studies.cluster import misunderstood

                found["misunderstood"] = misunderstood(study, keys)
            return found

        order, name = self.order, f"look-{self.order.token}-{uuid4().hex}"
        source = order.versions["the source of tdlambda"]
        return self.client.submit(look, order.study, order.keys, source, key=name, workers=[worker])

    def _judge(self, worker: str, look: Any) -> None:
        """Accept a worker, or report once why not; ValueError if no worker is acceptable at the start."""
        if look.status == "error":
            wrong = f"cannot run tdlambda: {look.exception(timeout=PATIENCE)!r}"
        else:
            try:
                found = look.result(timeout=PATIENCE)
            except OSError:  # the worker has left, or is asked again
                return
            other = _differences(_versions(found), self.order.versions)
            wrong = f"has {other}" if other else found["misunderstood"]
        if not wrong:  # a copy for each worker, which lives as long as the worker
            name = f"study-{self.order.token}-{uuid4().hex}"
            self._orders[worker] = self.client.submit(_received, self.order, key=name, workers=[worker])
            self._begun = True
            return
        self._unfit[worker] = wrong
        if not self._begun and self._threads.keys() == self._unfit.keys():
            listed = "\n  ".join(sorted(f"{worker} {wrong}" for worker, wrong in self._unfit.items()))
            raise ValueError(f"dask: workers must have the same program as the client:\n  {listed}")
        print(f"worker {worker} gets no units: it {wrong}", file=sys.stderr, flush=True)

    def _say_if_nobody_works(self) -> None:
        nobody = not self._looks and not self._orders
        if nobody and not self._waiting:
            address = self.client.scheduler.address
            print(f"waiting for workers to join {address} …", file=sys.stderr, flush=True)
        self._waiting = nobody

    def _lost(self, future: Any) -> Unit:
        """The unit of a future whose worker left, to be repeated; RuntimeError if too many workers died running it."""
        _, unit = self.units.pop(future)
        self.on_the_way.pop(future, None)
        future.cancel()
        self._deaths[unit] += 1
        if self._deaths[unit] > importlib.import_module("dask.config").get("distributed.scheduler.allowed-failures"):
            method, seed = unit
            raise RuntimeError(f"methods.{method}, seed {seed}: {self._deaths[unit]} workers died while running it")
        return unit


def threads_at(address: str) -> int:
    """The total number of threads of a scheduler's workers."""
    with _connected(address) as client:
        return sum(client.nthreads().values())


@contextmanager
def _connected(address: str) -> Iterator[Any]:
    try:
        client = _distributed().Client(address, timeout=PATIENCE, set_as_default=False)
    except (OSError, ValueError) as error:
        raise ValueError(f"dask: no scheduler answers at {address!r}; check the address in --dask: {error}") from error
    try:
        yield client
    finally:
        client.close()


def _distributed() -> Any:
    need("clusters", "dask")
    return importlib.import_module("distributed")


def _received(order: Order) -> Order:
    return order


def _unit(method: str, seed: int, order: Order) -> bytes:
    """Run one unit on a worker; return the content of its file."""
    if order.token not in _STUDIES:
        _STUDIES[order.token] = _study(order)
    return run_unit(_STUDIES[order.token], method, seed)


_STUDIES: dict[str, Study] = {}


def _study(order: Order) -> Study:
    """The study on a worker, checked again because the worker may have joined after the others were checked."""
    if other := _differences(_versions(provenance()), order.versions):
        raise ValueError(f"worker {platform.node()} has {other}")
    if wrong := misunderstood(order.study, order.keys):
        raise ValueError(f"worker {platform.node()} {wrong}")
    study = Study.from_dict(order.study)
    for method, truth in order.truths.items():
        prepared(study, method, truth)
    return study


def misunderstood(study: dict[str, Any], keys: Mapping[str, str]) -> str:
    """Why a study cannot be run here with the same program; empty if it can."""
    for module in study["modules"]:
        try:
            imported(module, study["folders"])
        except ValueError as error:
            return f"cannot import {module!r}, one of the study's modules: {error.__cause__ or error!r}"
    own = Study.from_dict(study)
    differently = [f"{method} ({own.key(method)}, not {key})" for method, key in keys.items() if own.key(method) != key]
    return f"has other code for: {', '.join(differently)}" if differently else ""


def _content(future: Any, unit: Unit) -> bytes | None:
    """The content of a unit; None if it was lost with its worker at the last moment, so that Dask repeats it."""
    try:
        content: bytes = future.result(timeout=PATIENCE)
    except Exception as error:
        if future.cancelled():
            raise ConnectionError(GONE) from error
        if isinstance(error, TimeoutError) and future.status != "error":
            return None
        method, seed = unit
        raise RuntimeError(f"methods.{method}, seed {seed}: {type(error).__name__} on a worker: {error}") from error
    return content


def _versions(found: Mapping[str, Any]) -> dict[str, str]:
    """The part of the provenance that must be the same on all workers."""
    return {**{name: found["versions"][name] for name in SAME}, "the source of tdlambda": found["source"]}


def _differences(found: Mapping[str, str], wanted: Mapping[str, str]) -> str:
    other = {name: is_ for name, is_ in wanted.items() if found[name] != is_}
    return ", ".join(f"{name} {found[name]} (the client has {is_})" for name, is_ in other.items())


def _diverged(content: bytes) -> int:
    return int((read_table(content, ["diverged_at"])["diverged_at"].to_numpy() >= 0).sum())

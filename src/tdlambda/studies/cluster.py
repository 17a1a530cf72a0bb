"""A study on a Dask cluster: a task for each unit, done by any worker; the client alone writes, as they arrive."""

from __future__ import annotations

import importlib
import platform
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

import pyarrow as pa
import pyarrow.parquet as pq

from tdlambda.engine.interruption import interruptible
from tdlambda.engine.progress import Progress
from tdlambda.engine.truth import Truth
from tdlambda.studies.running import prepared, run_unit
from tdlambda.studies.store import provenance
from tdlambda.studies.study import Study

PATIENCE = 10.0
"""Seconds in which a scheduler must answer."""
RETRIES = 2
"""How often a unit that failed is tried again; one whose worker died is anyway."""
SAME = ("tdlambda", "numpy", "numba", "scipy", "pyarrow")
"""Packages that must be of one version on all workers: the numbers and the bytes of their files come from them."""
AT_ONCE = 16
"""Results that are fetched at a time: one by one, each would wait for the network."""
GONE = "dask: the scheduler went away; what had arrived is kept, run again to go on"


@dataclass(frozen=True)
class Order:
    """What a worker must know of a study, sent once: all that its units have in common.

    The truth is among it, so that it does not depend on a worker's processor and number of BLAS threads.
    """

    token: str
    study: dict[str, Any]
    keys: dict[str, str]
    truths: dict[str, Truth]
    versions: dict[str, str]


def run_on_cluster(
    study: Study, wanted: Mapping[str, list[int]], address: str, keep: Callable[[str, int, bytes], None], bar: Progress
) -> bool:
    """All units that are wanted, on the workers of a Dask scheduler; whether it was interrupted."""
    stop = threading.Event()
    if not any(wanted.values()):
        return False
    with interruptible(stop), _connected(address) as client:
        if not _anybody(client, address, stop):
            return True
        order = Order(
            uuid4().hex, study.to_dict(), {method: study.key(method) for method in wanted},
            {method: prepared(study, method)[1] for method in wanted}, _versions(provenance()),
        )  # fmt: skip
        _refuse_others(client, order)
        units = _sent(client, order, wanted)
        lanes = {method: len(study.cells(method)) for method in wanted}

        def take(futures: list[Any]) -> list[Any]:
            """Keep what has come; what was lost on the way is to be waited for again."""
            lost = []
            named = [units[future] for future in futures]
            contents = pool.map(_content, futures, named)
            for future, (method, seed), content in zip(futures, named, contents, strict=True):
                if content is None:
                    lost.append(future)
                    continue
                keep(method, seed, content)
                bar.advance(lanes[method] * study.steps, _diverged(content))
                del units[future]
                future.release()  # the worker may forget it
            return lost

        arriving = _distributed().as_completed(units, loop=client.loop)
        ready: list[Any] = []
        with ThreadPoolExecutor(AT_ONCE) as pool:
            while units and not stop.is_set():
                ready += arriving.next_batch(block=False)
                arriving.update(take(ready[:AT_ONCE]))
                bar.refresh()
                if not ready:
                    if client.scheduler_comm is None or client.scheduler_comm.closed():
                        raise ConnectionError(GONE)
                    stop.wait(0.05)
                del ready[:AT_ONCE]
            take(ready + arriving.next_batch(block=False))  # interrupted: what came at the last moment
        client.cancel(list(units))
        return bool(units)


def threads_at(address: str) -> int:
    """That the workers of a scheduler have now, all together."""
    with _connected(address) as client:
        return sum(client.nthreads().values())


@contextmanager
def _connected(address: str) -> Iterator[Any]:
    try:
        client = _distributed().Client(address, timeout=PATIENCE, set_as_default=False)
    except (OSError, ValueError) as error:
        raise ValueError(f"dask: no scheduler answers at {address!r}, which --dask names: {error}") from error
    try:
        yield client
    finally:
        client.close()


def _distributed() -> Any:
    try:
        return importlib.import_module("distributed")
    except ImportError as error:
        raise ValueError("dask: distributed is not installed; pip install 'tdlambda[dask]'") from error


def _anybody(client: Any, address: str, stop: threading.Event) -> bool:
    """Wait until there is a worker; False if somebody lost patience."""
    if not client.nthreads():
        print(f"waiting for workers to join {address} …", file=sys.stderr, flush=True)
    while not client.nthreads():
        if stop.wait(0.2):
            return False
    return True


def _refuse_others(client: Any, order: Order) -> None:
    """Raise if a worker would compute something else, or nothing at all."""

    def look(modules: list[str], folders: list[str]) -> dict[str, Any]:
        # Nested, so that it is sent as code: a worker without our package can run it and say so.
        from tdlambda.studies.sources import imported
        from tdlambda.studies.store import provenance

        for module in modules:
            try:
                imported(module, folders)
            except ValueError as error:
                return {"without": f"cannot import {module!r}, one of the study's modules: {error.__cause__!r}"}
        return provenance()

    wrong = []
    for worker, found in client.run(
        look, *(order.study[name] for name in ("modules", "folders")), on_error="return"
    ).items():
        if isinstance(found, OSError):
            continue  # it has left
        if isinstance(found, Exception):
            wrong.append(f"{worker} cannot import tdlambda: {found!r}")
        elif "without" in found:
            wrong.append(f"{worker} {found['without']}")
        elif other := _differences(_versions(found), order.versions):
            wrong.append(f"{worker} has {other}")
    if wrong:
        raise ValueError("dask: workers must be able to do what the client does:\n  " + "\n  ".join(sorted(wrong)))


def _sent(client: Any, order: Order, wanted: Mapping[str, list[int]]) -> dict[Any, tuple[str, int]]:
    """The units by their futures."""
    told = client.submit(_told, order, key=f"study-{order.token}")  # a task, so that it outlives any worker
    units: dict[Any, tuple[str, int]] = {}
    for method, seeds in wanted.items():
        names = [(f"{method}-{order.token}", seed) for seed in seeds]
        futures = client.map(_unit, [method] * len(seeds), seeds, order=told, key=names, retries=RETRIES)
        units |= zip(futures, ((method, seed) for seed in seeds), strict=True)
    return units


def _told(order: Order) -> Order:
    return order


def _unit(method: str, seed: int, order: Order) -> bytes:
    """One unit, on a worker: the content of its file."""
    if order.token not in _STUDIES:
        _STUDIES[order.token] = _study(order)
    return run_unit(_STUDIES[order.token], method, seed)


_STUDIES: dict[str, Study] = {}


def _study(order: Order) -> Study:
    """The study on a worker, which may have come after all others were looked at."""
    if other := _differences(_versions(provenance()), order.versions):
        raise ValueError(f"worker {platform.node()} has {other}")
    study = Study.from_dict(order.study)
    for method, key in order.keys.items():
        if study.key(method) != key:
            raise ValueError(
                f"worker {platform.node()} understands {method} differently: {study.key(method)}, not {key}"
            )
        prepared(study, method, order.truths[method])
    return study


def _content(future: Any, unit: tuple[str, int]) -> bytes | None:
    """What a unit came to; None if it was lost with its worker at the last moment, so that Dask does it again."""
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
    """Of a provenance, what must be the same on all workers."""
    return {**{name: found["versions"][name] for name in SAME}, "the source of tdlambda": found["source"]}


def _differences(found: Mapping[str, str], wanted: Mapping[str, str]) -> str:
    return ", ".join(f"{name} {found[name]} (the client {is_})" for name, is_ in wanted.items() if found[name] != is_)


def _diverged(content: bytes) -> int:
    return int((pq.read_table(pa.BufferReader(content), columns=["diverged_at"])["diverged_at"].to_numpy() >= 0).sum())

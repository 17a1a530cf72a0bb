"""Files of learners and of units beside alternatives: safetensors, and Parquet's page checksums with a side file.

python benchmarks/files.py

Needs `pip install safetensors`. Every write is atomic and flushed to disk. Alternatives take turns in random order; the
best of 40 times is printed, and its ratio to ours. Then each bit of a small file is flipped, one at a time: "altered"
counts files that are read without an error and hold other values.
"""

import argparse
import hashlib
import json
import random
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq

import tdlambda as td
from tdlambda.lab.studies import units
from tdlambda.lab.studies.store import Store, write_whole
from tdlambda.learners import storage

Call = Callable[[], Any]


def compare(title: str, **calls: Call) -> None:
    """Print the best time of each call, and its ratio to that of the first."""
    best = dict.fromkeys(calls, np.inf)
    for _ in range(40):
        for name, call in random.sample(list(calls.items()), len(calls)):
            begun = time.perf_counter()
            call()
            best[name] = min(best[name], time.perf_counter() - begun)
    first, *_ = best.values()
    print(f"{title:52}", *(f"{name} {1e3 * some:.2f} ms ({some / first:.2f})" for name, some in best.items()))


def flips(title: str, content: bytes, read: Callable[[bytes], Any], same: Callable[[Any], bool]) -> None:
    """Print how many bit flips are noticed."""
    counts = {"noticed": 0, "harmless": 0, "altered": 0}
    for k in range(8 * len(content)):
        damaged = bytearray(content)
        damaged[k // 8] ^= 1 << k % 8
        try:
            found = read(bytes(damaged))
        except Exception:
            counts["noticed"] += 1
        else:
            counts["harmless" if same(found) else "altered"] += 1
    print(f"{title:52} {8 * len(content):,} flips: {', '.join(f'{n:,} {what}' for what, n in counts.items())}")


def learners(folder: Path) -> None:
    """A zip of arrays beside safetensors, with the class and the parameters in its metadata."""
    tensors = import_module("safetensors.numpy")
    ours, other = folder / "ours.npz", folder / "other.safetensors"

    def save(learner: Any) -> None:
        header, state = storage.plain("learner", learner), learner._state()
        storage.require_finite(learner, state)  # as `storage.save` does
        storage.build(header, state)
        write_whole(other, tensors.save(state, metadata={"header": json.dumps(header)}))

    def read(content: bytes) -> Any:
        size = int.from_bytes(content[:8], "little")
        header = json.loads(json.loads(content[8 : 8 + size])["__metadata__"]["header"])
        return storage.read(header, tensors.load(content))

    def zipped(content: bytes) -> Any:
        ours.write_bytes(content)
        return td.load(ours)

    some = {
        "TrueOnlineTD, 1,000,000 weights": td.TrueOnlineTD(td.features.OneHot(10**6), 0.1),
        "AutoTD, 1,000 features": td.AutoTD(td.features.OneHot(1000)),
        "TrueOnlineTD, 100 weights": td.TrueOnlineTD(td.features.OneHot(100), 0.1),
    }  # fmt: skip
    for name, learner in some.items():
        for obs in range(100):
            learner.update(obs, 1.0, (7 * obs + 1) % 100, gamma=0.9)
        learner.save(ours)
        save(learner)
        print(f"{name:52} zip {ours.stat().st_size:,} bytes, safetensors {other.stat().st_size:,}")
        compare(f"save {name}", zip=partial(learner.save, ours), safetensors=partial(save, learner))
        compare(f"load {name}", zip=lambda: td.load(ours), safetensors=lambda: read(other.read_bytes()))
    state, params = learner._state(), storage.plain("learner", learner)

    def same(found: Any) -> bool:
        equal = all(np.array_equal(array, state[name]) for name, array in found._state().items())
        return equal and bool(storage.plain("learner", found) == params)

    flips("learner, zip", ours.read_bytes(), zipped, same)
    flips("learner, safetensors", other.read_bytes(), read, same)


def units_of(folder: Path, alphas: int, points: int, flipped: bool) -> None:
    """Units with our checksum, with Parquet's page checksums alone, and with these and a side file."""
    method = td.studies.Method("TrueOnlineTD", over=("alpha", "lam"))
    grid = {"alpha": list(np.geomspace(1e-4, 0.1, alphas)), "lam": [0.0, 0.9]}
    study = td.studies.Study(
        f"s{points}", "RingWorld-v0", {"m": method}, grid=grid, seeds=1, steps=10**4, points=points, curve=points
    )
    td.studies.run_study(study, folder / study.name, workers=1, progress=False)
    key, cells, path = study.key("m"), study.stored_cells("m"), Store(folder / study.name, study).path("m", 0)
    table = units.read_table(path.read_bytes())
    a, b, c, side = (folder / name for name in ("ours", "pages", "beside", "beside.sha256"))

    def plain() -> bytes:
        sink = BytesIO()
        pq.write_table(table, sink, compression="zstd", write_page_checksum=True)
        return sink.getvalue()

    def spliced() -> bytes:
        content = plain()
        footer = units._footer(content)
        return content[:footer] + units._SUM + hashlib.sha256(content).digest() + content[footer:]

    def both() -> None:
        content = plain()
        write_whole(side, hashlib.sha256(content).digest())
        write_whole(c, content)

    def fits(found: Any) -> Any:
        if not units.is_of(found, json.loads(found.schema.metadata[units._ABOUT]), key, 0, cells):
            raise ValueError("another unit")
        return found

    def pages(content: bytes) -> Any:
        return fits(units.read_table(content))

    def with_side(content: bytes) -> Any:
        if hashlib.sha256(content).digest() != side.read_bytes():
            raise ValueError("damaged")
        return pages(content)

    def ours(content: bytes) -> Any:
        return fits(units._checked(content)[0])

    name = f"unit of {len(cells)} × {points} errors, {len(spliced()):,} bytes"
    compare(
        f"write a {name}", ours=lambda: write_whole(a, spliced()), pages_alone=lambda: write_whole(b, plain()),
        side_file=both,
    )  # fmt: skip
    compare(
        f"read a {name}", ours=lambda: ours(a.read_bytes()), pages_alone=lambda: pages(b.read_bytes()),
        side_file=lambda: with_side(c.read_bytes()),
    )  # fmt: skip
    if flipped:
        flips("unit, pages alone", plain(), pages, table.equals)
        flips("unit, pages + side file", plain(), with_side, table.equals)
        flips("unit, ours", spliced(), ours, table.equals)


if __name__ == "__main__":
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()
    if find_spec("safetensors") is None:
        sys.exit("The comparison needs safetensors: pip install safetensors")
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as scratch:
        learners(Path(scratch))
        units_of(Path(scratch), 2, 10, flipped=True)
        units_of(Path(scratch), 84, 1000, flipped=False)

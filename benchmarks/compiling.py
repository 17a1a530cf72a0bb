"""Seconds of processor time until a first answer, with an empty cache of machine code and with a full one.

    python benchmarks/compiling.py [NAME ...] [--repeat 1]

Each program runs in a process of its own; the import of Python's packages is counted, but not the compilation of their
sources to Python's byte code, which pip does when it installs them. The least of the repetitions is
printed, because other work on the machine only adds to it. The last column is how many functions were compiled.
"""

import argparse
import os
import subprocess
import sys
import tempfile

PROGRAMS = {
    "plain": "v = td.TrueOnlineTD(td.features.OneHot(3), 0.1, 0.9)\nv.update(0, 1.0, 1, 0.9)",
    "vectors": "v = td.TrueOnlineTD(td.features.Dense(3), 0.1, 0.9)\nv.update(np.ones(3), 1.0, np.zeros(3), 0.9)",
    "auto": 'v = td.TrueOnlineTD(td.features.OneHot(3), 0.1, "auto")\nv.update(0, 1.0, 1, 0.9)',
    "meta": 'v = td.TrueOnlineGTD(td.features.OneHot(3), 0.1, "meta")\nv.update(0, 1.0, 1, 0.9)',
    "engine": 'ring = td.make("RingWorld-v0")\n'
    "td.engine.run(ring, [td.TrueOnlineTD(ring.features, 0.01, 0.9)], seeds=1, steps=10, points=1)",
    "readings": "v = td.AutoTD(td.features.Dense(8))\nv.update(np.ones(8), 1.0, np.ones(8), 0.9)",
    "tilings": "v = td.AutoTD(td.features.TileCoder([0, 0], [1, 1]))\nv.update(np.zeros(2), 1.0, np.ones(2), 0.9)",
    "ten lines": 'ring = td.make("RingWorld-v0")\nv = td.AutoTD(ring.features)\nv.update(0, 0.0, 1, 0.9)\n'
    "v.update_many(ring.sampler(seed=1).take(100_000))\nring.exact.value_error(v.predict_many(range(11)))",
}
BEFORE = """
import time
import numpy as np
import tdlambda as td
from numba.core import event

class Count(event.Listener):
    n = 0
    def on_start(self, _):
        self.n += 1
    def on_end(self, _):
        pass

count = Count()
event.register("numba:compile", count)
"""
AFTER = "\nprint(time.process_time(), count.n)"


def seconds(program: str, cache: str, byte_code: str) -> tuple[float, int]:
    """Processor time of a program with these caches, and how many functions it compiled."""
    env = os.environ | {"TDLAMBDA_CACHE": cache, "NUMBA_CACHE_DIR": cache, "TDLAMBDA_QUIET": "1"}
    env |= {"PYTHONDONTWRITEBYTECODE": "", "PYTHONPYCACHEPREFIX": byte_code}
    command = [sys.executable, "-c", BEFORE + program + AFTER]
    time, n = subprocess.run(command, env=env, capture_output=True, text=True, check=True).stdout.split()
    return float(time), int(n)


def main() -> None:
    """Measure each program, first without machine code, then with it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(PROGRAMS)}; all if none is given")
    parser.add_argument("--repeat", type=int, default=1, help="how often each is measured")
    given = parser.parse_args()
    print(f"{'':<10} {'cold':>6} {'warm':>6} {'compiled':>9}")
    with tempfile.TemporaryDirectory() as byte_code:
        for name in given.names or PROGRAMS:
            with tempfile.TemporaryDirectory() as cache:
                seconds(PROGRAMS[name], cache, byte_code)
            cold, warm = [], []
            for _ in range(given.repeat):
                with tempfile.TemporaryDirectory() as cache:
                    cold.append(seconds(PROGRAMS[name], cache, byte_code))
                    warm.append(seconds(PROGRAMS[name], cache, byte_code))
            print(f"{name:<10} {min(cold)[0]:6.2f} {min(warm)[0]:6.2f} {cold[0][1]:9}", flush=True)


if __name__ == "__main__":
    main()

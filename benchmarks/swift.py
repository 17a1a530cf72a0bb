"""SwiftTD here and in its authors' C++ package, on the same features, measured in turns: every result is a ratio.

    pip install swifttd          # version 0.2.2 builds with scikit-build-core below 0.8 only
    python benchmarks/swift.py [--rounds N] [--json]

The ratio is theirs / ours: above 1, ours is faster. Their only entry is one Python call a step with the list of active
features, prepared before; ours is `update` with the observation, which is encoded in the call, or `update_many`. Both
prune traces below 1e-5 times the step size.
"""

import argparse
import json
import sys
import time
from collections import deque
from collections.abc import Callable
from itertools import starmap
from typing import Any

import numpy as np

import tdlambda as td

try:
    import swifttd
except ImportError:
    swifttd = None

LAM, ALPHA, ETA, EPSILON, THETA, GAMMA = 0.95, 1e-3, 0.1, 0.999, 1e-3, 0.9


def cases(steps: int) -> dict[str, tuple[Any, Any]]:
    """Encoder and observations of each case."""
    rng = np.random.default_rng(0)
    ring = rng.integers(-1, 2, size=steps + 1).cumsum() % 11
    walk = np.abs(np.cumsum(rng.normal(size=(steps + 1, 2)) * 0.05, axis=0) % 2 - 1)
    return {
        "11 one-hot": (td.features.OneHot(11), ring),
        "512 tiles, 8 active": (td.features.TileCoder([0, 0], [1, 1], tilings=8, tiles=8), walk),
        "10⁶ tiles, 10 active": (td.features.TileCoder([0, 0], [1, 1], tilings=10, tiles=316), walk),
    }


def ways(features: Any, obs: Any, reward: Any) -> dict[str, Callable[[], object]]:
    """What is timed: their step, our update, our update_many, each going on from where it was."""
    swift = td.steps.Swift(ALPHA, ETA, THETA, EPSILON)
    ours, many = (td.TrueOnlineTD(features, swift, LAM, trace_tolerance=1e-5) for _ in range(2))
    theirs = swifttd.SwiftTDBinaryFeatures(features.size, LAM, ALPHA, GAMMA, 1e-5, ETA, EPSILON, THETA, 1e-10)
    active = [row.tolist() for row in features.encode_batch(obs)[0]]
    plain = obs.tolist() if obs.ndim == 1 else list(obs)
    rows = list(zip(plain[:-1], reward.tolist(), plain[1:], [GAMMA] * len(reward), strict=True))
    steps = list(zip(active[1:], reward.tolist(), strict=True))
    return {
        "theirs": lambda: deque(starmap(theirs.step, steps), maxlen=0),
        "update": lambda: deque(starmap(ours.update, rows), maxlen=0),
        "update_many": lambda: many.update_many(obs[:-1], reward, obs[1:], GAMMA),
    }


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rounds", type=int, default=12)
    parser.add_argument("--json", action="store_true")
    given, steps, found = parser.parse_args(), 5000, {}
    if swifttd is None:
        sys.exit('needs the authors\' package: pip install "scikit-build-core<0.8" "pyproject-metadata<0.8" pybind11 '
                 "cmake ninja, then pip install --no-build-isolation swifttd")  # fmt: skip
    for name, (features, obs) in cases(steps).items():
        some = ways(features, obs, np.random.default_rng(1).normal(size=steps))
        best: dict[str, float] = {}
        for _ in range(given.rounds + 1):
            for way, work in some.items():
                begun = time.process_time()
                work()
                best[way] = min(best.get(way, 1e9), (time.process_time() - begun) / steps)
        found[name] = best | {f"ratio, {way}": best["theirs"] / best[way] for way in ("update", "update_many")}
    if given.json:
        print(json.dumps(found, indent=2))
        return
    print(f"{'':<24}{'theirs':>10}{'update':>10}{'update_many':>13}{'ratio':>8}{'ratio':>8}")
    for name, row in found.items():
        times = "".join(
            f"{row[way] * 1e6:>{width}.2f}" for way, width in (("theirs", 10), ("update", 10), ("update_many", 13))
        )
        print(f"{name:<24}{times}{row['ratio, update']:>8.2f}{row['ratio, update_many']:>8.2f}")
    print("microseconds of processor time a step; ratios are theirs / ours")


if __name__ == "__main__":
    main()

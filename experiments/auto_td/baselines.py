"""Errors of the 168 fixed learners (21 α × 8 λ of the thesis) on the tasks that AutoTD is judged on, kept in a file.

python experiments/auto_td/baselines.py --seeds 1000 12 --steps 1000000 [TASK ...]
"""

import argparse
from pathlib import Path
from typing import Any

import numpy as np

import tdlambda as td

ALPHAS = [c * 10.0**e for e in range(-5, -1) for c in (1, 2, 3, 4, 5)] + [0.1]
LAMBDAS = [0.0, 0.4, 0.8, 0.9, 0.95, 0.975, 0.99, 1.0]
FOLDER = Path(__file__).parent / "kept"


def tasks() -> dict[str, Any]:
    """The tasks by short names; on those whose features are no table the fixed learners are GTD, as in the thesis."""
    ring = {f"ring{b}": td.make("RingWorld-v0", behavior_left=b / 10, target_left=b / 10 - 0.05) for b in (4, 3, 2)}
    garnets = {f"garnet{k}": td.make("Garnet-v0", seed=k) for k in (0, 1, 2, 3)}
    others = {
        "lake": td.make("FrozenLake-v0"),
        "walk": td.make("RandomWalk-v0"),
        "episodic": td.make("Garnet-v0", seed=4, terminal=2, discount=1.0),
        "binary": td.make("Garnet-v0", seed=5, features=12),
    }
    return ring | others | garnets


def points(steps: int) -> np.ndarray:
    """Ten in the last tenth before each power of ten from 10³ on, and 100 evenly up to the end."""
    powers = [10**k for k in range(3, 8) if 10**k <= steps]
    near = [np.linspace(0.91 * p, p, 10) for p in powers]
    return np.unique(np.round(np.concatenate([*near, np.linspace(steps / 100, steps, 100)])).astype(np.int64))


def fixed(name: str, seeds: list[int], steps: int) -> np.ndarray:
    """Errors [α, λ, seed, point], computed once."""
    FOLDER.mkdir(exist_ok=True)
    path = FOLDER / f"{name}-{seeds[0]}-{len(seeds)}-{steps}.npy"
    if not path.exists():
        task = tasks()[name]
        kind = td.TrueOnlineTD if task.features.active == 1 else td.TrueOnlineGTD
        learners = [kind(task.features, a, z, on_divergence="flag") for a in ALPHAS for z in LAMBDAS]
        found = td.engine.run(task, learners, seeds, steps, points=points(steps).tolist(), keep=(), threads=1)
        np.save(path, found.error.reshape(len(ALPHAS), len(LAMBDAS), len(seeds), -1))
    return np.load(path)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--seeds", nargs=2, type=int, default=(1000, 8))
    parser.add_argument("--steps", type=int, default=10**6)
    options = parser.parse_args()
    first, many = options.seeds
    at = points(options.steps)
    for name in options.names or tasks():
        error = fixed(name, list(range(first, first + many)), options.steps).mean(axis=2)
        for power in [10**k for k in range(3, 8) if 10**k <= options.steps]:
            near = (at > 0.9 * power) & (at <= power)
            mean = error[..., near].mean(axis=-1)
            a, z = np.unravel_index(np.nanargmin(mean), mean.shape)
            print(f"{name:10s} {power:>8d} best {mean[a, z]:.3e}  α {ALPHAS[a]:g}  λ {LAMBDAS[z]}", flush=True)

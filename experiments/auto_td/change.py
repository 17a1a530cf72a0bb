"""A change of target policy in mid-stream: how far the bank is from the best fixed (α, λ) some steps after it.

python experiments/auto_td/change.py "detect=1" ...
"""

import argparse

import numpy as np
from bank import ALPHAS, LAMBDAS, NAMES, OPTIONS, run
from baselines import ALPHAS as ALL_ALPHAS
from baselines import FOLDER
from baselines import LAMBDAS as ALL_LAMBDAS

import tdlambda as td

BEFORE, AFTER = 500_000, [1_000, 3_000, 10_000, 30_000, 100_000]


def stream(seed: int) -> tuple:
    """Transitions under one behaviour; the target turns round after the last episode that ends before `BEFORE`."""
    old, new = (td.make("RingWorld-v0", behavior_left=0.4, target_left=z) for z in (0.35, 0.6))
    a, b = old.sampler(seed).take(BEFORE), new.sampler(seed + 10**6).take(AFTER[-1])
    n = int(np.flatnonzero(a.terminated)[-1]) + 1
    columns = ("obs", "reward", "next_obs", "gamma", "rho", "terminated")
    return new, n, [np.concatenate([getattr(a, c)[:n], getattr(b, c)]) for c in columns]


def fixed(seeds: list[int]) -> np.ndarray:
    path = FOLDER / f"change-{seeds[0]}-{len(seeds)}.npy"
    if not path.exists():
        found = np.full((len(ALL_ALPHAS), len(ALL_LAMBDAS), len(seeds), len(AFTER)), np.inf)
        for s, seed in enumerate(seeds):
            task, n, c = stream(seed)
            v, d = task.exact.v(), task.exact.error_weights()
            for i, a in enumerate(ALL_ALPHAS):
                for j, z in enumerate(ALL_LAMBDAS):
                    w, done = td.TrueOnlineTD(task.features, a, z, on_divergence="flag"), 0
                    for k, stop in enumerate([n, *(n + x for x in AFTER)]):
                        w.update_many(*[x[done:stop] for x in c])
                        done = stop
                        if k and w.diverged_at is None:
                            found[i, j, s, k - 1] = d @ (w.predict_many(range(11)) - v) ** 2
        np.save(path, found)
    return np.load(path)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("variants", nargs="*", default=[""], help="options of the bank, each variant one argument")
    given = parser.parse_args()
    seeds = list(range(1000, 1006))
    best = fixed(seeds).mean(axis=2).min(axis=(0, 1))
    print("steps after the change", AFTER, "best fixed", best)
    pairs = np.array([(a, z) for a in ALPHAS for z in LAMBDAS])
    for variant in given.variants:
        chosen = OPTIONS | {k: float(v) for k, v in (pair.split("=") for pair in variant.split())}
        o, found = np.array([chosen[k] for k in NAMES]), []
        for seed in seeds:
            task, n, c = stream(seed)
            index, value = task.features.encode_batch(np.arange(11))
            v, d = task.exact.v(), task.exact.error_weights()
            at = n + np.array(AFTER)
            found.append(run(pairs[:, 0].copy(), pairs[:, 1].copy(), index, value, *c, at, v, d, o, 0.0)[0])
        print(f"{variant:60s}", " / ".join(f"{r:.2f}" for r in np.mean(found, axis=0) / best), flush=True)

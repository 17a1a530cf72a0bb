"""What least squares make of the same data: LSTD(λ)'s error over that of the best fixed (α, λ) in hindsight.

python experiments/auto_td/lstd.py walk ring4 garnet0
"""

import argparse

import numpy as np
from baselines import fixed, points, tasks

import tdlambda as td

SEEDS, LAMBDAS = list(range(1000, 1008)), (0.0, 0.4, 0.8, 0.95, 1.0)


def final_error(task: td.tasks.Task, lam: float, seed: int, steps: int) -> float:
    v = td.LSTD(task.features, lam)
    v.update_many(task.sampler(seed).take(steps))
    d = np.where(task.mdp.terminal, 0.0, task.exact.error_weights())
    return float(d @ (v.predict_many(np.arange(task.mdp.n_states)) - task.exact.v()) ** 2)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tasks", nargs="+", metavar="TASK")
    given = parser.parse_args()
    at = points(10**6)
    for name in given.tasks:
        task, base = tasks()[name], fixed(name, SEEDS, 10**6)
        for steps in (10**4, 10**5):
            near = (at > 0.9 * steps) & (at <= steps)
            best = np.nanmin(base[..., near].mean(axis=(2, 3)))
            found = [np.mean([final_error(task, lam, seed, steps) for seed in SEEDS]) / best for lam in LAMBDAS]
            print(
                f"{name:9s} {steps:>7d}", " ".join(f"λ {lam}: {r:.2f} " for lam, r in zip(LAMBDAS, found, strict=True))
            )

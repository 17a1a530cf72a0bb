"""`lam="auto"` beside the best of eight fixed λ at the same step size: the table of docs/lambda-mixture.md.

    python experiments/lam_auto/by_step_size.py [--seeds 12] [--steps 100000]

A cell is the final value error (last tenth of the curve, mean over seeds) over that of the best fixed λ, chosen in
hindsight. Step sizes are α |x|², with the largest |x|² of any state. inf: some run of "auto" diverged; –: some run of
every fixed λ did.
"""

import argparse
from collections.abc import Iterator

import numpy as np

import tdlambda as td

LAMBDAS = (0.0, 0.4, 0.8, 0.9, 0.95, 0.975, 0.99, 1.0)
STEP_SIZES = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0)


def tasks() -> Iterator[tuple[str, td.tasks.Task, td.Encoder]]:
    """Name, task and features."""
    for name, task in {"RingWorld": td.make("RingWorld-v0"), "19-state walk": td.make("RandomWalk-v0")}.items():
        yield f"{name}, one-hot", task, task.features
    for where, on_policy in (("on-policy", True), ("off-policy", False)):
        table, shared = (td.make("Garnet-v0", seed=31, features=n, on_policy=on_policy) for n in (None, 12))
        yield f"random MDP, {where}, one-hot", table, table.features
        yield f"random MDP, {where}, 12 binary", shared, shared.features
        yield f"random MDP, {where}, 5 dense", table, td.features.Table(np.random.default_rng(31).normal(size=(30, 5)))


def ratio(task: td.tasks.Task, features: td.Encoder, step_size: float, seeds: int, steps: int) -> float:
    """Final error of "auto" over the best fixed λ's."""
    largest = max(float(x @ x) for x in map(features.dense, range(task.mdp.n_states)))
    learners = [td.TrueOnlineTD(features, step_size / largest, lam, on_divergence="flag") for lam in (*LAMBDAS, "auto")]
    *fixed, auto = td.engine.run(task, learners, seeds=seeds, steps=steps, points=100).tail().mean(axis=1)
    return auto / min(fixed) if np.isfinite(min(fixed)) else np.nan


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=12)
    parser.add_argument("--steps", type=int, default=100_000)
    given = parser.parse_args()
    print("| α \\|x\\|² |", *(f"{a:g} |" for a in STEP_SIZES))
    print("| --- |" + " --- |" * len(STEP_SIZES))
    for name, task, features in tasks():
        found = [ratio(task, features, a, given.seeds, given.steps) for a in STEP_SIZES]
        print(f"| {name} |", *("– |" if np.isnan(r) else f"{r:.2f} |" for r in found), flush=True)


if __name__ == "__main__":
    main()

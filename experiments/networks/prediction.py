"""Value error of networks on raw observations of MountainCar, CartPole and Acrobot under fixed policies.

    python experiments/networks/prediction.py [--seeds 8] [--steps 100000] [--only NAME …]

A cell is the mean squared error at 300 states of the policy's path, divided by the variance of their values, after 1 %,
10 % and all of the steps: mean over seeds, and the largest for all steps. γ = 0.99; the true values are means of 400
rollouts. Networks have 64 × 64 units and the default settings, unless others are named.
"""

import argparse
import sys
from typing import Any

import numpy as np
from fixed_policies import stream, truth

import tdlambda as td

TASKS = ("MountainCar", "CartPole", "Acrobot")
LAMBDAS = (0.0, 0.5, 0.8, 0.9, 0.95, 1.0)


def network(alpha: Any, lam: Any = 0.8, **options: Any) -> Any:
    return lambda d, seed: td.TD(td.Network(d, seed=seed, **options), alpha, lam, on_divergence="flag")


LEARNERS: dict[str, Any] = {
    "IntentionalRMS(0.3)": network(td.steps.IntentionalRMS(0.3)),
    "IntentionalRMS(0.3), not averaged": network(td.steps.IntentionalRMS(0.3), averaged=False),
    "Intentional(0.3)": network(td.steps.Intentional(0.3)),
    "ObGD()": network(td.steps.ObGD()),
    "ObGD(), not averaged": network(td.steps.ObGD(), averaged=False),
    **{f"IntentionalRMS(0.3), λ = {lam}": network(td.steps.IntentionalRMS(0.3), lam) for lam in LAMBDAS},
    "IntentionalRMS(0.3), sparse": network(td.steps.IntentionalRMS(0.3), sparsity=0.9),
    "ObGD(), sparse": network(td.steps.ObGD(), sparsity=0.9),
    "IntentionalRMS(0.1), λ = 1.0": network(td.steps.IntentionalRMS(0.1), 1.0),
    "IntentionalRMS(0.3), λ = 1.0, 128 × 128": network(td.steps.IntentionalRMS(0.3), 1.0, hidden=(128, 128)),
    "IntentionalRMS(0.3), 64 × 64 × 64": network(td.steps.IntentionalRMS(0.3), hidden=(64, 64, 64)),
    "IntentionalRMS(0.3), λ = 1.0, 64 × 64 × 64": network(td.steps.IntentionalRMS(0.3), 1.0, hidden=(64, 64, 64)),
    "IntentionalRMS(0.3), λ = auto": network(td.steps.IntentionalRMS(0.3), "auto"),
    "IntentionalRMS(0.3), λ = auto, 64 × 64 × 64": network(td.steps.IntentionalRMS(0.3), "auto", hidden=(64, 64, 64)),
    "AutoTD(Dense)": lambda d, _: td.AutoTD(td.features.Dense(d)),
    "AutoTD(Network)": lambda d, seed: td.AutoTD(td.Network(d, seed=seed)),
}


def errors(task: str, make: Any, steps: int, seed: int) -> list[float]:
    """The error after 1 %, 10 % and all of the steps."""
    data, (observations, values) = stream(task, steps, seed), truth(task)
    learner, begin, found = make(observations.shape[1], seed), 0, []
    for end in (steps // 100, steps // 10, steps):
        columns = [column[begin:end] for column in data[:4]]
        learner.update_many(*columns, terminated=data.terminated[begin:end])
        found.append(float(np.mean((learner.predict_many(observations) - values) ** 2) / np.var(values)))
        begin = end
    return found


def main() -> None:
    about = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    about.add_argument("--seeds", type=int, default=8)
    about.add_argument("--first", type=int, default=0, help="the first seed")
    about.add_argument("--steps", type=int, default=100_000)
    about.add_argument("--only", nargs="*", default=list(LEARNERS), help="names of learners")
    about.add_argument("--tasks", nargs="*", default=list(TASKS))
    given = about.parse_args()
    print(f"| learner | {' | '.join(given.tasks)} |\n| --- |{' --- |' * len(given.tasks)}")
    for name in given.only:
        cells = []
        for task in given.tasks:
            seeds = range(given.first, given.first + given.seeds)
            found = np.array([errors(task, LEARNERS[name], given.steps, seed) for seed in seeds])
            cells.append(" / ".join(f"{x:.3f}" for x in found.mean(axis=0)) + f" ({found[:, -1].max():.3f})")
        print(f"| {name} | {' | '.join(cells)} |")
        sys.stdout.flush()


if __name__ == "__main__":
    main()

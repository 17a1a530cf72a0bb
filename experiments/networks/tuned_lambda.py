"""λ that tunes itself on a network, beside the best of six fixed λ in hindsight.

    python experiments/networks/tuned_lambda.py [--seeds 8] [--steps 100000] [--lam auto meta greedy 0.8]

Prediction on MountainCar, CartPole and Acrobot as in `prediction.py`, with three step sizes and with errors at five
times: 1 %, 3 %, 10 %, 30 % and all of the steps. A cell is the error with this `lam` divided by that of the best of six
fixed λ, chosen in hindsight for this task, step size and time; errors are means over seeds. All predict with averaged
parameters. Then the mean and the largest of the ratios of each `lam`.
"""

import argparse
import sys
from typing import Any

import numpy as np
from fixed_policies import stream, truth
from prediction import LAMBDAS, TASKS

import tdlambda as td

RULES: dict[str, Any] = {
    "IntentionalRMS(0.3)": td.steps.IntentionalRMS(0.3), "Intentional(0.3)": td.steps.Intentional(0.3),
    "ObGD()": td.steps.ObGD(),
}  # fmt: skip
PARTS = (0.01, 0.03, 0.1, 0.3, 1.0)


def errors(task: str, alpha: Any, lam: Any, steps: int, seed: int) -> list[float]:
    """The error at each time, divided by the variance of the true values."""
    data, (observations, values) = stream(task, steps, seed), truth(task)
    v = td.TD(td.Network(observations.shape[1], seed=seed), alpha, lam, on_divergence="flag")
    begin, found = 0, []
    for part in PARTS:
        end = round(part * steps)
        v.update_many(*(column[begin:end] for column in data[:4]), terminated=data.terminated[begin:end])
        found.append(float(np.mean((v.predict_many(observations) - values) ** 2) / np.var(values)))
        begin = end
    return found


def main() -> None:
    about = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    about.add_argument("--seeds", type=int, default=8)
    about.add_argument("--first", type=int, default=0, help="the first seed")
    about.add_argument("--steps", type=int, default=100_000)
    about.add_argument("--lam", nargs="*", default=["auto", "0.8"])
    given = about.parse_args()
    ratios: dict[str, list[float]] = {lam: [] for lam in given.lam}
    print(f"| task | step size | {' | '.join(given.lam)} |\n| --- | --- |{' --- |' * len(given.lam)}")
    for task in TASKS:
        for name, alpha in RULES.items():

            def mean(lam: Any, task: str = task, alpha: Any = alpha) -> Any:
                seeds = range(given.first, given.first + given.seeds)
                return np.mean([errors(task, alpha, lam, given.steps, seed) for seed in seeds], axis=0)

            best = np.min([mean(lam) for lam in LAMBDAS], axis=0)
            cells = []
            for lam in given.lam:
                ratio = mean(lam if lam.isalpha() else float(lam)) / best
                ratios[lam] += list(ratio)
                cells.append(" / ".join(f"{r:.2f}" for r in ratio))
            print(f"| {task} | {name} | {' | '.join(cells)} |")
            sys.stdout.flush()
    ends = [f"{np.mean(found):.2f}, at most {max(found):.2f}" for found in ratios.values()]
    print(f"| mean | | {' | '.join(ends)} |")


if __name__ == "__main__":
    main()

"""Return of actor-critic agents by where the λ of the actor's trace comes from: the table of docs/actor-critic.md.

    python experiments/control/actor_lambda.py [--seeds 16] [--first 100]

Step sizes of CartPole and Acrobot are those of tests/control/test_control_learns.py, picked with λ = 0.9, seeds 0 to 5.
A cell is the mean return of the episodes that end in the last fifth of the steps, ± two standard errors over seeds.
"""

import argparse
from typing import Any, NamedTuple

import numpy as np

import tdlambda as td


class Task(NamedTuple):
    env: Any
    features: td.Encoder
    policy: Any
    alpha: float
    eta: float
    steps: int
    gamma: float


CART = td.features.TileCoder([-2.4, -3, -0.21, -3], [2.4, 3, 0.21, 3], tilings=8, tiles=6, offsets="asymmetric")
LIMBS = td.features.TileCoder(
    [-1, -1, -1, -1, -12.6, -28.3], [1, 1, 1, 1, 12.6, 28.3], tilings=16, tiles=[3, 3, 3, 3, 4, 4], hash_size=8192,
    offsets="asymmetric",
)  # fmt: skip
CAR = td.make("MountainCar-v0", limit=500)
TASKS = {
    "CartPole": Task("CartPole-v1", CART, td.control.Softmax(2), 0.1 / 8, 0.05 / 8, 40_000, 0.99),
    "Acrobot": Task("Acrobot-v1", LIMBS, td.control.Softmax(3), 0.1 / 16, 0.05 / 16, 25_000, 0.99),
    "MountainCar": Task(CAR, CAR.features, td.control.Softmax(3), 0.01, 0.01, 40_000, 1.0),
}
AGENTS: dict[str, tuple[Any, str]] = {
    "λ = 0.9": (0.9, "fixed"),
    '"auto", followed': ("auto", "critic"),
    '"auto"': ("auto", "fixed"),
    '"meta", followed': ("meta", "critic"),
    '"meta"': ("meta", "fixed"),
    "AutoTD, followed": (None, "critic"),
    "AutoTD": (None, "fixed"),
}
"""λ of the critic, and of the actor."""


def final_return(task: Task, lam: Any, actor_lam: Any, seed: int) -> tuple[float, bool]:
    """Of one agent on one seed, and whether it diverged and stopped learning; lam=None stands for AutoTD."""
    flag: Any = {"on_divergence": "flag"}
    critic = td.AutoTD(task.features) if lam is None else td.TrueOnlineTD(task.features, task.alpha, lam, **flag)
    agent = td.ActorCritic(critic, task.policy, task.eta, actor_lam, weighting="plain")
    curve = td.train(task.env, agent, task.steps, seed=seed, gamma=task.gamma)
    return float(curve.returns[curve.ends > 0.8 * task.steps].mean()), agent.diverged_at is not None


def cell(found: list[tuple[float, bool]]) -> str:
    """Mean ± two standard errors, and how many diverged."""
    returns, diverged = np.array(found).T
    wide = 2 * returns.std(ddof=1) / len(found) ** 0.5
    return f"{returns.mean():.0f} ± {wide:.0f}" + (f", {diverged.sum():.0f} diverged" if diverged.any() else "")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=16)
    parser.add_argument("--first", type=int, default=100)
    given = parser.parse_args()
    seeds = range(given.first, given.first + given.seeds)
    print(f"| critic | {' | '.join(AGENTS)} |\n| --- |{' --- |' * len(AGENTS)}")
    for name, task in TASKS.items():
        cells = [cell([final_return(task, *lams, seed) for seed in seeds]) for lams in AGENTS.values()]
        print(f"| {name} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()

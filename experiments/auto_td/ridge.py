"""How much regularisation LSTD(λ) needs: a plain ridge beside the one of the most probable weights.

    python experiments/auto_td/ridge.py [TASK …]

For each task, steps and λ: the error over that of the best of AutoTD's learners, each seed's best in hindsight; for
(A + κ)⁻¹ b, and for (Aᵀ C⁻¹ A + κ σ²/τ²)⁻¹ Aᵀ C⁻¹ b with σ² and τ² of the true values.
"""

import argparse
from typing import Any

import numpy as np

import tdlambda as td

PLAIN, PROBABLE = (0.1, 1, 3, 10, 30, 100, 300), (0.01, 0.1, 0.3, 1, 3, 10, 30)
HORIZONS, SEEDS, LAMBDAS = (300, 1000, 10_000, 100_000), range(9000, 9006), (0.0, 0.8)


def tasks() -> dict[str, Any]:
    """Those that least squares among AutoTD's experts were chosen on."""
    found = {f"Ring.{b}": td.make("RingWorld-v0", behavior_left=b / 10, target_left=b / 10 - 0.05) for b in (4, 2)}
    found |= {"Ring51": td.make("RingWorld-v0", n=51, target_left=0.45, behavior_left=0.5)}
    found |= {"Lake": td.make("FrozenLake-v0"), "walk19": td.make("RandomWalk-v0")}
    found |= {f"mdp{k}": td.make("Garnet-v0", seed=k) for k in (131, 132, 2, 11)}
    found |= {"mdp134 on": td.make("Garnet-v0", seed=134, on_policy=True)}
    found |= {"mdp135 ep": td.make("Garnet-v0", seed=135, terminal=2, discount=1.0)}
    found |= {"mdp136 f12": td.make("Garnet-v0", seed=136, features=12)}
    return found | {"mdp137 f12on": td.make("Garnet-v0", seed=137, features=12, on_policy=True)}


def systems(task: Any, c: Any, lam: float) -> dict[int, tuple[Any, Any, Any]]:
    """A, b and C at each horizon."""
    X, Y, n = task.features.matrix(c.obs), task.features.matrix(c.next_obs), task.features.size
    gamma = np.where(c.terminated, 0.0, c.gamma)
    A, b, C, z, found = np.zeros((n, n)), np.zeros(n), np.zeros(n), np.zeros(n), {}
    for t in range(HORIZONS[-1]):
        z = z + X[t]
        along = c.rho[t] * z
        A += np.outer(along, X[t] - gamma[t] * Y[t])
        b += along * c.reward[t]
        C += along**2
        z = z * (0.0 if c.terminated[t] or c.truncated[t] else min(c.rho[t], 1.0) * gamma[t] * lam)
        if t + 1 in HORIZONS:
            found[t + 1] = (A.copy(), b.copy(), C + 1e-9)
    return found


def main() -> None:
    """Print a line for each task, number of steps and λ."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tasks", nargs="*", metavar="TASK", help="all by default")
    given = parser.parse_args()
    np.set_printoptions(linewidth=160, precision=2, suppress=True)
    print("(A + κ)⁻¹ b, κ =", *PLAIN, "| most probable weights, κ =", *PROBABLE)
    for name, task in tasks().items():
        if given.tasks and name not in given.tasks:
            continue
        truth = td.engine.exact_truth(task)
        P, share = task.features.matrix(truth.observations), truth.weights / truth.weights.sum()
        error = lambda w, P=P, v=truth.values, d=share: float(d @ (P @ w - v) ** 2)  # noqa: E731
        values, n = np.zeros(task.mdp.n_states), task.features.size
        values[np.asarray(truth.observations)] = truth.values
        rows: dict[tuple[int, float], list[Any]] = {}
        for seed in SEEDS:
            c = task.sampler(seed=seed).take(HORIZONS[-1])
            delta = c.reward + np.where(c.terminated, 0.0, c.gamma) * values[c.next_obs] - values[c.obs]
            ratio = np.mean(delta**2) / error(np.zeros(n)) * np.mean(np.sum(P**2, axis=1))
            v, best, done = td.AutoTD(task.features), {}, 0
            for h in HORIZONS:
                v.update_many(c[done:h])
                lanes = np.hstack([v._bank.memory.lanes.F[:, 0], v._bank.copies()])
                best[h], done = min(map(error, lanes.T)), h
            for lam in LAMBDAS:
                for h, (A, b, C) in systems(task, c, lam).items():
                    plain = [error(np.linalg.solve(A + k * np.eye(n), b)) for k in PLAIN]
                    M, right = (A.T / C) @ A, (A.T / C) @ b
                    probable = [error(np.linalg.solve(M + k * ratio * np.eye(n), right)) for k in PROBABLE]
                    rows.setdefault((h, lam), []).append([best[h], *plain, *probable])
        for (h, lam), some in rows.items():
            first, *rest = np.mean(some, axis=0)
            ratios = np.array(rest) / first
            print(f"{name:14} {h:6} λ = {lam:g}", ratios[:7], "|", ratios[7:], flush=True)


if __name__ == "__main__":
    main()

"""Whether λ of a critic's targets can be chosen from batches: the regret of an unbiased estimate of the risk.

    python experiments/audit/batch_lambda.py [--batches 200]

An update of a critic is the mean over N episodes of g_λ = Σ ψ (T^λ - V), with ψ whitened features: its squared length
is the mean squared change of the fitted values. With h = g_λ - g_1, where λ = 1 is unbiased,

    risk(λ) = |mean h|² - tr Cov(h)/N + tr Cov(g_λ)/N

is an unbiased estimate of E|mean g_λ - E g_1|². λ is chosen by its mean over ten batches. The regret is the true risk
of the chosen λ over that of the best of the grid, in hindsight, beside that of the best fixed λ for all tasks, and of
0.95.
"""

from __future__ import annotations

import argparse
import os
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
from finite_tasks import fresh_tasks

import tdlambda as td

GRID = (0.0, 0.5, 0.8, 0.9, 0.95, 0.98, 1.0)
TOGETHER = 10
"""Batches over which the estimate is averaged."""


def whitened(X: Any, d: Any) -> Any:
    """Features of each state whose covariance under d is the identity."""
    size, U = np.linalg.eigh(X.T @ (d[:, None] * X))
    kept = size > 1e-3 * size[-1]
    return X @ (U[:, kept] / np.sqrt(size[kept]))


def sums(task: Any, V: Any, psi: Any, episodes: int, seed: int) -> Any:
    """g [λ, episode, feature] of a batch; its mean over episodes is the update."""
    s = task.sample(seed, episodes=episodes)
    ends = s.terminated | s.truncated
    unit, x = np.concatenate(([0], np.cumsum(ends[:-1]))), psi[s.state]
    edges = np.flatnonzero(np.append(True, np.diff(unit) > 0))
    values: dict[str, Any] = {"value": V[s.state], "value_next": V[s.next_state]}
    out = []
    for lam in GRID:
        A = td.returns.lambda_returns(**values, lam=lam, **s.options()) - values["value"]
        out.append(np.add.reduceat(x * A[:, None], edges, axis=0))
    return np.array(out) * (len(edges) / len(x))


def risk(g: Any) -> Any:
    """The estimate for each λ."""
    n, h = g.shape[1], g - g[-1]
    return (h.mean(1) ** 2).sum(1) - h.var(1, ddof=1).sum(1) / n + g.var(1, ddof=1).sum(1) / n


def regrets(task: Any, V: Any, episodes: int, batches: int) -> tuple[Any, Any]:
    """The true risk of each λ over that of the best, and the regret of the chosen λ."""
    psi = whitened(task.X, task.d)
    found = [sums(task, V, psi, episodes, 700_000 + k) for k in range(batches)]
    means = np.array([g.mean(1) for g in found])
    true = ((means - means[:, -1].mean(0)) ** 2).sum(2).mean(0)
    estimated = np.array([risk(g) for g in found]).reshape(-1, TOGETHER, len(GRID)).mean(1)
    relative = true / true.min()
    return relative, relative[np.argmin(estimated, axis=1)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--batches", type=int, default=200, help="batches for each task and critic; a multiple of 10")
    parser.add_argument("--tasks", type=int, default=0, help="only the first so many tasks; 0 for all")
    options = parser.parse_args()
    tasks = [task for task in fresh_tasks() if task.setting == "on"]
    for episodes in (16, 64):
        fixed, chosen = [], []
        for task in tasks[: options.tasks or None]:
            task.prepare()
            for k in (0, len(task.names) // 2, len(task.names) - 1):
                relative, regret = regrets(task, task.critics[k], episodes, options.batches)
                fixed.append(relative)
                chosen.append(regret.mean())
                at = GRID[int(np.argmin(relative))]
                print(f"{task.name}, {task.names[k]}, {episodes}: best λ {at}, regret {regret.mean():.2f}", flush=True)
        rows = np.array(fixed).mean(0)
        best = int(np.argmin(rows))
        print(
            f"{episodes} episodes a batch: chosen {np.mean(chosen):.2f} (worst {np.max(chosen):.2f}), best fixed λ = "
            f"{GRID[best]}: {rows[best]:.2f} (worst {np.array(fixed)[:, best].max():.2f}), 0.95: {rows[4]:.2f}"
        )


if __name__ == "__main__":
    main()

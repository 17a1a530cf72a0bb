"""Random Markov reward processes (van Seijen et al. 2016): accumulating, replacing and true online traces compared.

    python experiments/family/random_mrps.py                    50 runs of the small process
    python experiments/family/random_mrps.py --full             the large and the deterministic one as well

The error is Σ d (V - v*)² / Σ d v*², v* the best linear fit of the true values, after each update, averaged over all
steps (100, or 1,000 of the larger two) and runs; the least over α. The stored numbers of the paper's public results
differ at λ = 0, where the three algorithms are one, by 0.015: they are only good to that. Beside ours stands an
independent simulation with the paper's own generator and normal noise, 50 runs.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import outside

import tdlambda as td

KINDS = ("one-hot", "binary", "normal")
LAMS = [round(0.1 * k, 1) for k in range(9)] + [round(0.9 + 0.01 * k, 2) for k in range(11)]
ALPHAS = [float(f"{10 ** (-3 + 0.2 * k):.6g}") for k in range(10)] + [round(0.1 * k, 1) for k in range(1, 21)]
NAMES = ("TD(λ)", "replacing", "true online")
THEIRS = {
    ("small", "one-hot"): (0.908, 0.660, 0.4305),
    ("small", "binary"): (0.794, 0.673, 0.506),
    ("small", "normal"): (0.932, 0.940, 0.697),
}
"""Least error over α and λ of an independent simulation, 50 runs."""
STORED = {
    0.0: (0.984, 0.972, 0.969), 0.5: (0.966, 0.937, 0.925), 0.8: (0.941, 0.852, 0.739), 0.9: (0.921, 0.784, 0.586),
    0.95: (0.917, 0.742, 0.496), 0.99: (0.919, 0.700, 0.405), 1.0: (0.919, 0.681, 0.436),
}  # fmt: skip
"""Small, one-hot: least error over α at some λ, as the paper's public results store it."""


def fitted_truth(task: Any) -> td.engine.Truth:
    """The best linear fit of the values, with weights that make the error of w = 0 equal to 1."""
    states = np.arange(task.mdp.n_states)
    X, d, v = task.features.matrix(states), task.mdp.under().state_distribution(), task.mdp.v()
    root = np.sqrt(d)
    best = X @ np.linalg.lstsq(root[:, None] * X, root * v, rcond=None)[0]
    return td.engine.Truth(states, best, d / (d @ best**2), np.zeros(states.size))


def errors(size: str, kind: str, seeds: int) -> Any:
    """Mean error and its standard error [algorithm, λ, α]."""
    task = td.make("RandomMRP-v0", f"{size}, {kind}")
    x, flag = task.features, dict[str, Any](on_divergence="flag")
    makers = (
        lambda lam, a: td.TD(x, a, lam, **flag),
        lambda lam, a: td.TD(x, a, lam, traces="replacing", **flag),
        lambda lam, a: td.TrueOnlineTD(x, a, lam, **flag),
    )
    learners = [make(lam, a) for make in makers for lam in LAMS for a in ALPHAS]
    steps = 100 if size == "small" else 1000
    found = td.engine.run(task, learners, seeds, steps, points=1, average="after", truth=fitted_truth(task), keep=())
    area = found.area().reshape(3, len(LAMS), len(ALPHAS), seeds)
    with np.errstate(invalid="ignore"):
        return area.mean(axis=3), area.std(axis=3, ddof=1) / np.sqrt(seeds)


def main() -> int:
    """Print the tables, the verdicts, and write what is asked for."""
    chosen = outside.options(__doc__)
    seeds = chosen.seeds or 50
    sizes = ("small", "large", "deterministic") if chosen.full else ("small",)
    mean: dict[tuple[str, str], Any] = {}
    rows = []
    for size in sizes:
        for kind in KINDS:
            mean[size, kind], error = errors(size, kind, seeds)
            for k, name in enumerate(NAMES):
                lam, alpha = np.unravel_index(np.argmin(mean[size, kind][k]), mean[size, kind][k].shape)
                known = THEIRS.get((size, kind))
                rows.append([
                    size, kind, name, f"{mean[size, kind][k].min():.3f} ± {error[k, lam, alpha]:.3f}",
                    f"{LAMS[lam]:g}, {ALPHAS[alpha]:g}", f"{known[k]:.3f}" if known else "",
                ])  # fmt: skip
    outside.table(
        f"Least error over λ and α, {seeds} runs", ["process", "features", "traces", "ours", "at λ, α", "theirs"], rows
    )
    least = mean["small", "one-hot"].min(axis=2)
    outside.table(
        f"Small, one-hot: least error over α at some λ, {seeds} runs; in brackets the stored number",
        ["λ", *NAMES],
        [
            [f"{lam:g}", *(f"{least[k, LAMS.index(lam)]:.3f} ({stored[k]:.3f})" for k in range(3))]
            for lam, stored in STORED.items()
        ],
    )
    good = outside.verdicts(_must_hold(mean, least))
    stored = {f"{size}, {kind}": some.min(axis=2).tolist() for (size, kind), some in mean.items()}
    found = {"seeds": seeds, "lambdas": LAMS, "alphas": ALPHAS, "traces": NAMES, "least over alpha": stored}
    outside.write_json(chosen.json, found)
    if chosen.figures:
        for (size, kind), some in mean.items():
            lines = {name: (LAMS, some[k].min(axis=1).tolist()) for k, name in enumerate(NAMES)}
            path = chosen.figures / f"random-mrp-{size}-{kind}.svg"
            outside.chart(path, lines, "trace decay λ", "error relative to w = 0, best α", 1.05)
    return 0 if good else 1


def _must_hold(mean: Any, least: Any) -> dict[str, bool]:
    alpha = [[ALPHAS[int(np.argmin(line))] for line in some] for some in mean["small", "one-hot"]]
    late = [k for k, lam in enumerate(LAMS) if 0.6 <= lam <= 0.98]  # it fails above: 1.0 and 0.8 (400 runs)
    gap = least[:2].min(axis=0) - least[2]
    found = {
        f"{size}, {kind}: true online < TD(λ) and replacing, each at its best λ and α": bool(
            some[2].min() < min(some[0].min(), some[1].min())
        )
        for (size, kind), some in mean.items()
    }
    return found | {
        "small, one-hot: the same at each λ ≥ 0.3": bool((gap[3:] > 0).all()),
        "small, one-hot: the gap at λ = 0.9 is larger than at 0.6, and there than at 0.3": bool(
            gap[9] > gap[6] > gap[3]
        ),
        "small, one-hot: the three are one at λ = 0": bool(np.ptp(least[:, 0]) < 1e-9),
        "small, one-hot: for 0.6 ≤ λ ≤ 0.98 true online's best α is above 1, TD(λ)'s at most 0.5": all(
            alpha[2][k] > 1 and alpha[0][k] <= 0.5 for k in late
        ),
    }


if __name__ == "__main__":
    sys.exit(main())

"""Sutton & Barto (2018), figures 7.2, 12.3, 12.6 and 12.8: the 19-state random walk.

    python experiments/family/random_walk_figures.py            100 runs, as in the book
    python experiments/family/random_walk_figures.py --full     2,000 runs, as the numbers beside ours

RMS error over the 19 states at the ends of the first 10 episodes, mean over episodes and runs; the least over α. The
book's curves are not printed as numbers. Beside ours stands an independent simulation of 2,000 runs, its trajectories
others than ours, whose standard error is 0.001 to 0.002.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import outside

import tdlambda as td

LAMS = (0.0, 0.4, 0.8, 0.9, 0.95, 0.975, 0.99, 1.0)
NS = (1, 2, 4, 8, 16, 32, 64, 128, 512)
ALPHAS = {
    "n": [round(0.05 * k, 2) for k in range(1, 21)],
    "lam": [
        0.01, 0.0125, 0.015, 0.0175, 0.02, 0.0225, 0.025, 0.03, 0.035, 0.04, 0.05, 0.06, 0.065, 0.07, 0.08, 0.09, 0.1,
        0.11, 0.12, 0.14, 0.15, 0.16, 0.18, 0.2, 0.22, 0.24, 0.26, 0.28, 0.3, 0.32, 0.36, 0.4, 0.42, 0.45, 0.5, 0.55,
        0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95, 1.0,
    ],
}  # fmt: skip
THEIRS: dict[str, tuple[float | None, ...]] = {
    "7.2 n-step TD": (0.345, 0.276, 0.263, 0.275, 0.310, 0.362, 0.414, 0.468, 0.508),
    "12.3 offline λ-return": (0.366, 0.291, 0.261, 0.282, 0.319, 0.362, 0.415, 0.488),
    "12.3 both weights held": (0.476, 0.430, 0.352, 0.330, 0.350, 0.387, 0.436, 0.499),
    "12.6 TD(λ)": (0.345, 0.272, 0.261, 0.288, 0.330, 0.377, 0.431, 0.498),
    "12.8 true online TD(λ)": (0.345, 0.272, 0.253, 0.274, 0.312, 0.358, 0.414, 0.488),
    "replacing traces": (0.345, 0.272, 0.247, 0.255, 0.273, 0.295, None, None),
}
"""Least error over α of an independent simulation, 2,000 runs; None where its best α was the largest that it tried."""


def learners(task: Any) -> dict[str, dict[tuple[float, float], td.Learner]]:
    """By figure, then by n or λ and α."""
    x, flag = task.features, dict[str, Any](on_divergence="flag")
    makers: dict[str, Any] = {
        "7.2 n-step TD": lambda n, a: td.NStepTD(x, a, n=int(n), **flag),
        "12.3 offline λ-return": lambda lam, a: td.LambdaReturn(x, a, lam, hold=False, **flag),
        "12.3 both weights held": lambda lam, a: td.LambdaReturn(x, a, lam, hold=True, **flag),
        "12.6 TD(λ)": lambda lam, a: td.TD(x, a, lam, **flag),
        "12.8 true online TD(λ)": lambda lam, a: td.TrueOnlineTD(x, a, lam, **flag),
        "replacing traces": lambda lam, a: td.TD(x, a, lam, traces="replacing", **flag),
    }
    return {
        name: {
            (p, a): make(p, a)
            for p in (NS if name[0] == "7" else LAMS)
            for a in ALPHAS["n" if name[0] == "7" else "lam"]
        }
        for name, make in makers.items()
    }


def main() -> int:
    """Print the table, the verdicts, and write what is asked for."""
    chosen = outside.options(__doc__)
    seeds = chosen.seeds or (2000 if chosen.full else 100)
    task = td.make("RandomWalk-v0")
    ours: dict[str, dict[float, dict[float, float]]] = {}
    error_of: dict[str, dict[float, tuple[float, float, float]]] = {}
    for name, some in learners(task).items():
        found = td.engine.run(task, list(some.values()), seeds, episodes=10, score="rms", keep=())
        mean = found.area().mean(axis=1)
        with np.errstate(invalid="ignore"):  # where some diverged
            error = found.area().std(axis=1, ddof=1) / np.sqrt(seeds)
        curves: dict[float, dict[float, float]] = {}
        best: dict[float, tuple[float, float, float]] = {}
        for k, (p, a) in enumerate(some):
            curves.setdefault(p, {})[a] = float(mean[k])
            best[p] = min(best.get(p, (np.inf, 0.0, 0.0)), (float(mean[k]), float(error[k]), a))
        ours[name], error_of[name] = curves, best
    for name, theirs in THEIRS.items():
        rows = [
            [f"{p:g}", f"{value:.3f} ± {error:.3f}", f"{alpha:g}", *_beside(value, known)]
            for (p, (value, error, alpha)), known in zip(error_of[name].items(), theirs, strict=True)
        ]
        what = "n" if name[0] == "7" else "λ"
        title = f"{'Figure ' * name[0].isdigit()}{name}: least error over α, {seeds} runs"
        outside.table(title, [what, "ours", "at α", "theirs", "difference"], rows)
    good = outside.verdicts(_must_hold(ours, error_of))
    outside.write_json(chosen.json, {"seeds": seeds, "curves": {
        name: {f"{p:g}": {f"{a:g}": value for a, value in line.items()} for p, line in curves.items()}
        for name, curves in ours.items()}})  # fmt: skip
    if chosen.figures:
        for name, curves in ours.items():
            what = "n" if name[0] == "7" else "λ"
            lines = {f"{what} = {p:g}": (list(line), list(line.values())) for p, line in curves.items()}
            file = "walk-" + name.split(" ", 1)[0].replace(".", "-") + ("-held" if "held" in name else "") + ".svg"
            outside.chart(chosen.figures / file, lines, "step size α", "RMS error over the first 10 episodes", 0.56)
    return 0 if good else 1


def _beside(value: float, known: float | None) -> tuple[str, str]:
    return ("", "") if known is None else (f"{known:.3f}", f"{value - known:+.3f}")


def _must_hold(curves: Any, best: Any) -> dict[str, bool]:
    n = {p: found[0] for p, found in best["7.2 n-step TD"].items()}
    td_, online, offline = (
        {p: found[0] for p, found in best[name].items()}
        for name in ("12.6 TD(λ)", "12.8 true online TD(λ)", "12.3 offline λ-return")
    )
    held = {p: found[0] for p, found in best["12.3 both weights held"].items()}
    worst = max(abs(found[0] - known) - 4 * found[1] for name, theirs in THEIRS.items()
                for found, known in zip(best[name].values(), theirs, strict=True) if known is not None)  # fmt: skip
    return {
        "every least error is within 0.006 plus four standard errors of theirs": worst < 0.006,
        "7.2: n = 4 < {2, 8} < 16 < 1 < 32 < 64":
            n[4] < min(n[2], n[8]) and max(n[2], n[8]) < n[16] < n[1] < n[32] < n[64],
        "λ = 0.8 is best of TD(λ), true online TD(λ) and the offline λ-return":
            all(min(some, key=some.__getitem__) == 0.8 for some in (td_, online, offline)),
        "λ = 0.9 is best where both weights are held": min(held, key=held.__getitem__) == 0.9,
        "true online TD(λ) < TD(λ) for λ ≥ 0.8": all(online[p] < td_[p] for p in LAMS if p >= 0.8),
        "true online TD(λ) ≤ offline λ-return for λ < 1, equal at λ = 1":
            all(online[p] <= offline[p] + 1e-3 for p in LAMS if p < 1) and abs(online[1.0] - offline[1.0]) < 1e-3,
        "λ = 0 is n = 1 for TD(λ) and true online TD(λ)": np.isclose(td_[0.0], n[1]) and np.isclose(online[0.0], n[1]),
        "TD(λ) with λ ≥ 0.9 exceeds 0.55 for α ≥ 0.6":
            all(value > 0.55 for p in LAMS if p >= 0.9 for a, value in curves["12.6 TD(λ)"][p].items() if a >= 0.6),
        "true online TD(λ) stays below 0.55 up to α = 1 for λ ≤ 0.95":
            all(curves["12.8 true online TD(λ)"][p][1.0] < 0.55 for p in LAMS if p <= 0.95),
    }  # fmt: skip


if __name__ == "__main__":
    sys.exit(main())

"""`lam="auto"` beside the best of eight fixed λ at the same step size, on tasks of experiments/lam_auto/tasks.py.

    python experiments/lam_auto/compare.py fresh [--kinds TD GTD] [--seeds 500 6] [--steps 100000] [--rules auto greedy]

A cell is the final error (last tenth) / the area under the curve, each a mean over seeds over that of the best fixed λ,
chosen in hindsight; – where some run of every fixed λ diverged. "worse than 0" counts runs that diverged where λ = 0
did not, and gives the largest final error of a run over that of λ = 0. Then means and worst cells by group.
"""

from __future__ import annotations

import argparse

import numpy as np
from tasks import LAMBDAS, SETS, SIZES, errors, score

import tdlambda as td

RULES = {"auto": "auto", "greedy": td.rules.ValueErrorGreedy()}


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tasks", choices=SETS)
    parser.add_argument("--kinds", nargs="+", default=["TD", "GTD"], choices=["TD", "GTD"])
    parser.add_argument("--seeds", nargs=2, type=int, default=[500, 6], help="the first, and how many")
    parser.add_argument("--steps", type=int, default=100_000)
    parser.add_argument("--rules", nargs="+", default=["auto"], choices=list(RULES))
    given = parser.parse_args()
    seeds = range(given.seeds[0], sum(given.seeds))
    groups: dict[str, list[tuple[np.ndarray, np.ndarray]]] = {}
    print("| final / area | " + " | ".join(f"{size:g}" for size in SIZES) + " | worse than 0 |")
    print("|" + " --- |" * (len(SIZES) + 2))
    for name in SETS[given.tasks]:
        for kind in given.kinds:
            fixed = errors(given.tasks, name, kind, LAMBDAS, seeds, given.steps)
            final, area = (some.min(axis=0) for some in score(fixed))
            stable, safe = np.isfinite(final), np.isfinite(fixed[0]).all(axis=-1)
            for rule in given.rules:
                own = errors(given.tasks, name, kind, (RULES[rule],), seeds, given.steps)[0]
                with np.errstate(invalid="ignore", divide="ignore"):
                    ratios = [some / least for some, least in zip(score(own), (final, area), strict=True)]
                    beside = (own[..., -10:].mean(axis=-1) / fixed[0][..., -10:].mean(axis=-1))[safe]
                bad = int((~np.isfinite(own).all(axis=-1) & safe).sum())
                cells = [f"{f:.2f}/{a:.2f}" if s else "–" for f, a, s in zip(*ratios, stable, strict=True)]
                label = f"{name}, {kind}" + (f", {rule}" if len(given.rules) > 1 else "")
                print(f"| {label} | " + " | ".join(cells) + f" | {bad}, {beside.max():.2f} |", flush=True)
                group = f"{kind}, {'on' if name.endswith('-on') else 'off'}-policy, {rule}"
                groups.setdefault(group, []).append((ratios[0][stable], ratios[1][stable]))
    print("\n| | mean final / area | worst final / area | above 1.10 |\n| --- | --- | --- | --- |")
    for group, found in groups.items():
        finals, areas = (np.concatenate(some) for some in zip(*found, strict=True))
        above = f"{(finals > 1.1).sum()} / {(areas > 1.1).sum()} of {finals.size}"
        worst = f"{finals.max():.2f} / {areas.max():.2f}"
        print(f"| {group} | {finals.mean():.2f} / {areas.mean():.2f} | {worst} | {above} |")


if __name__ == "__main__":
    main()

"""`td.rules.ValueErrorGreedy` itself, in the engine, at several doubts and rates: see experiments/how-we-chose.md.

python experiments/value_error_greedy/doubt_and_rate.py ring lake walk
"""

import argparse
from typing import Any

import tdlambda as td

LAMS = (0, 0.4, 0.8, 0.9, 0.95, 0.975, 0.99, 1)
ALPHAS = (5e-5, 1e-4, 3e-4, 1e-3, 1e-2, 4e-2, 1e-1)
CHOICES = ((0, 0.1), (0.25, 0.1), (0.5, 0.1), (1, 0.1), (0.5, 0.2), (0.5, 0.05))
TASKS: dict[str, tuple[str, dict[str, Any], Any]] = {
    "ring": ("RingWorld-v0", {"preset": "0.4/0.35"}, td.TrueOnlineTD),
    "lake": ("FrozenLake-v0", {"preset": "off-policy"}, td.TrueOnlineGTD),
    "walk": ("RandomWalk-v0", {"n": 19}, td.TrueOnlineTD),
}


def main() -> None:
    """Print final error / area over those of the best fixed λ at the same α; development seeds."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tasks", nargs="+", choices=TASKS)
    for name in parser.parse_args().tasks:
        task_id, options, learner = TASKS[name]
        task = td.make(task_id, **options)
        lanes = [learner(task.features, a, lam, on_divergence="flag") for a in ALPHAS for lam in LAMS]
        n = len(lanes)
        for doubt, rate in CHOICES:
            rules = [td.rules.ValueErrorGreedy(doubt=doubt, rate=rate) for _ in ALPHAS]
            lanes += [
                learner(task.features, a, lam, on_divergence="flag") for a, lam in zip(ALPHAS, rules, strict=True)
            ]
        error = td.engine.run(task, lanes, range(1000, 1004), 1_000_000, points=200, threads=1).error.mean(axis=1)
        final, area = error[:, -20:].mean(axis=1), error.mean(axis=1)
        best, least = (x[:n].reshape(len(ALPHAS), -1).min(axis=1) for x in (final, area))
        print(f"| {name} | " + " | ".join(f"{a:g}" for a in ALPHAS) + " |")
        for k, (doubt, rate) in enumerate(CHOICES):
            own = slice(n + k * len(ALPHAS), n + (k + 1) * len(ALPHAS))
            cells = [f"{x:.2f}/{y:.2f}" for x, y in zip(final[own] / best, area[own] / least, strict=True)]
            print(f"| {name} doubt {doubt} rate {rate} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()

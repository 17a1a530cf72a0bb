"""Values of a fixed policy from raw observations, with nothing chosen: AutoTD with and without random cosines.

    python experiments/auto_td/raw_observations.py [--seeds 8] [--steps 100000] [--first 101] [--json]

Cells are errors divided by the variance of v at 300 observations of the policy's own distribution, after 10³, 10⁴ and
10⁵ steps. The constants of the cosines were chosen on the streams of seeds 1 to 6, up to 10⁴ steps.
"""

import argparse
import json
from typing import Any

import numpy as np
from classic_control import TASKS, Task

import tdlambda as td

HORIZONS = (10**3, 10**4, 10**5)


def errors(task: Task, v: Any, seed: int, horizons: list[int], truth: Any) -> list[float]:
    """Errors at each horizon."""
    X, R, Y, over, _ = task.sample(horizons[-1], seed)
    found, done, (observations, values) = [], 0, truth
    for stop in horizons:
        some = slice(done, stop)
        v.update_many(X[some], R[some], Y[some], np.where(over[some], 0.0, task.gamma), terminated=over[some])
        found.append(float(np.mean((v.predict_many(observations) - values) ** 2) / values.var()))
        done = stop
    return found


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seeds", type=int, default=8)
    parser.add_argument("--steps", type=int, default=10**5)
    parser.add_argument("--first", type=int, default=101, help="the first seed")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    if given.seeds < 1 or given.steps < HORIZONS[0]:
        parser.error("--seeds must be at least 1, --steps at least 1000")
    horizons = [h for h in HORIZONS if h <= given.steps]
    rows: dict[str, Any] = {}
    if not given.json:
        print("| raw observations | AutoTD | linear only |\n| --- | --- | --- |")
    for name, task in TASKS.items():
        truth, d = task.truth(), td.features.Dense(task.readings)
        row: dict[str, Any] = {"AutoTD": [], "linear only": []}
        for seed in range(given.first, given.first + given.seeds):
            row["AutoTD"].append(errors(task, td.AutoTD(d), seed, horizons, truth))
            row["linear only"].append(errors(task, td.AutoTD(d, random_features=0), seed, horizons, truth))
        rows[name] = row
        cells = [" / ".join(f"{e:.3f}" for e in np.mean(each, axis=0)) for each in row.values()]
        if not given.json:
            print(f"| {name} | {' | '.join(cells)} |", flush=True)
    if given.json:
        print(json.dumps(rows, indent=2))


if __name__ == "__main__":
    main()

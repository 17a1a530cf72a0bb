"""Ways to predict the mean of a window ahead, on real streams: early and late R² beside naive forecasts.

    python experiments/streams/windows.py --data FOLDER [--steps 24] [--only NAME …]

FOLDER as for reach.py. "stacked", what a Horde does: AutoTD learns a discounted mean with the same mean distance,
γ = 1 - 2/(steps + 1), by TD, and is combined with naive forecasts and neighbours by errors of windows that have passed.
"discounted": that AutoTD and its combination for the discounted mean, which is another question. "taught": AutoTD
learns each answer when its window has passed, as an episode of one step. "regression": least squares on these.
"""

import argparse
from pathlib import Path
from typing import Any

import numpy as np
from reach import STREAMS, frame

import tdlambda as td


def r2(p: Any, G: Any, some: Any) -> float:
    """The share of the variance that is predicted."""
    return float(1 - np.mean((p[some] - G[some]) ** 2) / np.var(G[some]))


def predictions(data: Any, question: td.Question, learner: Any = td.AutoTD) -> Any:
    """Prequential predictions [row]."""
    result = td.streams.prequential(td.Horde(None, question, learner), data, baselines=[])
    found = np.full(len(data), np.nan)
    one = next(iter(result.questions.values()))
    found[one.rows] = one.prediction
    return found


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--steps", type=int, default=24)
    parser.add_argument("--only", nargs="*", default=["wind-power", "solar-power", "keywest-water", "pizza-revenue"])
    given = parser.parse_args()
    W = given.steps
    for name in given.only:
        data, column = frame(given.data, name), STREAMS[name][1][0]
        y = data[column].ffill().to_numpy(float)
        n, sums = len(y), np.concatenate([[0.0], np.cumsum(y)])
        G = np.full(n, np.nan)
        G[: n - W] = (sums[W + 1 :] - sums[1 : n - W + 1]) / W
        season = np.full(n, np.nan)
        season[W:] = G[: n - W]  # the mean of the last `steps` rows
        ways = {
            "stacked": predictions(data, td.Question(column, steps=W, of="mean")),
            "discounted": predictions(data, td.Question(column, gamma=1 - 2 / (W + 1), average=True)),
            "taught": predictions(data, td.Question(column, steps=W, of="mean"), lambda x: td.AutoTD(x)),
            "regression": predictions(
                data, td.Question(column, steps=W, of="mean"), lambda x: td.RecursiveLSTD(x, 0.0)
            ),
            "last window": season,
            "running mean": sums[1:] / np.arange(1, n + 1),
        }
        i = np.arange(n)
        early, late = (i >= 300) & (i < n // 2), (i >= n // 2) & (i < n - W)
        said = [f"{way} {r2(p, G, early):6.3f} /{r2(p, G, late):6.3f}" for way, p in ways.items()]
        print(f"{name:14}", "  ".join(said), flush=True)


if __name__ == "__main__":
    main()

"""Coverage of AutoTD's intervals: values in finite tasks, returns on streams of readings.

    python experiments/auto_td/intervals.py [--seeds 12] [--shared] [--synthetic] [--json]

Finite tasks: the share of states, by how often they are visited, whose true value is in its interval, after 10³, 10⁴
and 10⁵ steps; and the error that AutoTD says it has over the one it has. Streams: the share of returns in the interval
that was given before them.
If several states give one observation, no data tell their values apart, and an interval is for the mean of these; the
share of states whose mean is in the 90 % interval is printed after the other two.
`--shared` measures ten tasks with shared features alone, on which nothing was chosen; `--synthetic` leaves out the
streams that need packages.
"""

import argparse
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

import tdlambda as td

sys.path.insert(0, str(Path(__file__).parents[1] / "streams"))
import data

STEPS = (10**3, 10**4, 10**5)
LEVELS = (0.5, 0.9)


def tasks() -> dict[str, Any]:
    """With tables, and with features that states share."""
    found = {"RingWorld .3": td.make("RingWorld-v0", behavior_left=0.3, target_left=0.25)}
    found |= {"19-state walk, γ = 1": td.make("RandomWalk-v0")}
    found |= {f"random MDP {k}": td.make("Garnet-v0", seed=k) for k in (71, 72)}
    found |= {"random MDP 74, on-policy": td.make("Garnet-v0", seed=74, on_policy=True)}
    found |= {"FrozenLake, shared features": td.make("FrozenLake-v0")}
    return found | {"random MDP 76, 12 binary features": td.make("Garnet-v0", seed=76, features=12)}


def shared() -> dict[str, Any]:
    """Ten tasks whose states share features."""
    found = {f"random MDP {k}, {n} binary": td.make("Garnet-v0", seed=k, features=n) for k, n in ((76, 12), (181, 16))}
    some = ((182, 8), (183, 12), (184, 20))
    found |= {
        f"random MDP {k}, {n} binary, on-policy": td.make("Garnet-v0", seed=k, features=n, on_policy=True)
        for k, n in some
    }
    found |= {f"random MRP, {k}": td.make("RandomMRP-v0", seed=1001, features=k) for k in ("binary", "normal")}
    found |= {f"walk, {k}": td.make("RandomWalk-v0", n=5, features=k) for k in ("dependent", "inverted")}
    return found | {"Boyan's chain, 101 states": td.make("BoyanChain-v0", n=101)}


def of_values(task: Any, seeds: int) -> list[dict[str, float]]:
    """At each number of steps."""
    truth, rows = td.engine.exact_truth(task), []
    share = truth.weights / truth.weights.sum()
    index, value = task.features.encode_batch(truth.observations)
    features = np.zeros((len(index), task.features.size))
    np.add.at(features, (np.arange(len(index))[:, None], index), value)
    alike = (features[:, None] == features).all(axis=2)
    mean = alike @ (share * truth.values) / np.maximum(alike @ share, 1e-300)
    for steps in STEPS:
        inside, said, real = [], [], []
        for seed in range(6000, 6000 + seeds):
            v = td.AutoTD(task.features)
            v.update_many(task.sampler(seed).take(steps))
            limits = [v.interval_many(truth.observations, level) for level in LEVELS]
            pairs = [(i, truth.values) for i in limits] + [(limits[-1], mean)]
            inside.append([share @ ((i[:, 0] <= of) & (of <= i[:, 1])) for i, of in pairs])
            said.append(v.explain().value_error or np.nan)
            real.append(share @ (v.predict_many(truth.observations) - truth.values) ** 2)
        ratio = float(np.sqrt(np.mean(np.square(said)) / np.mean(real)))
        rows.append(
            dict(zip(("half", "nine", "mean"), np.mean(inside, axis=0).tolist(), strict=True)) | {"said": ratio}
        )
    return rows


def of_returns(s: data.Stream) -> dict[str, float]:
    """From step 700, every tenth."""
    v, inside = td.AutoTD(td.features.Dense(s.X.shape[1])), []
    for t in range(len(s.r)):
        if t > 700 and t % 10 == 0 and s.judged[t]:
            limits = [v.interval(s.X[t], level, of="return") for level in LEVELS]
            inside.append([low <= s.G[t] <= high for low, high in limits])
        v.update(s.X[t], float(s.r[t]), s.X[t + 1], s.gamma, float(s.rho[t]))
    return dict(zip(("half", "nine"), np.mean(inside, axis=0).tolist(), strict=True))


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seeds", type=int, default=12)
    parser.add_argument("--shared", action="store_true", help="ten tasks with shared features, and no streams")
    parser.add_argument("--synthetic", action="store_true", help="no stream that needs a package")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    some_tasks = shared() if given.shared else tasks()
    values = {name: of_values(task, given.seeds) for name, task in some_tasks.items()}
    some = {k: s for k, s in data.synthetic().items() if k in ("daily", "drift", "heavy tails", "200 irrelevant")}
    some |= {} if given.synthetic else {k: s for k, s in data.real().items() if len(s.r) > 1000}
    some = {} if given.shared else some | data.kept_apart()
    returns = {name: of_returns(s) for name, s in some.items()}
    if given.json:
        print(json.dumps({"values": values, "returns": returns}, indent=2))
        return
    print(
        "| values within their 50 % / 90 % intervals, means of observations in the latter; error said over real |"
        " 10³ | 10⁴ | 10⁵ |"
    )
    print("| --- | --- | --- | --- |")
    for name, rows in values.items():
        cells = [
            f"{100 * r['half']:.0f} / {100 * r['nine']:.0f}, {100 * r['mean']:.0f} %; {r['said']:.2f}" for r in rows
        ]
        print(f"| {name} | {' | '.join(cells)} |")
    if returns:
        print("\n| returns within their 50 % / 90 % intervals | |\n| --- | --- |")
    for name, r in returns.items():
        print(f"| {name} | {100 * r['half']:.0f} / {100 * r['nine']:.0f} % |")


if __name__ == "__main__":
    main()

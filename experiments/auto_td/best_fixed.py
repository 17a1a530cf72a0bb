"""AutoTD compared with the best fixed (α, λ) of the thesis' 168 in hindsight, on fresh seeds and fresh random MDPs.

    python experiments/auto_td/best_fixed.py [--seeds 24] [--steps 1000000]

Errors are means over the last tenth of the points up to a horizon and over seeds; the best fixed learner is chosen for
each horizon, on the very seeds it is reported on. After the change, the target policy of RingWorld turns round in
mid-stream under the same behaviour.
"""

import argparse
from typing import Any

import numpy as np

import tdlambda as td

ALPHAS = [c * 10.0**e for e in range(-5, -1) for c in (1, 2, 3, 4, 5)] + [0.1]
LAMBDAS = [0.0, 0.4, 0.8, 0.9, 0.95, 0.975, 0.99, 1.0]
AFTER = (1_000, 3_000, 10_000, 30_000)
FIRST_SEED = 5000


def random_mdps(numbers: list[int]) -> dict[str, Any]:
    """Off-policy, with a table and with shared features."""
    found = {f"random MDP {k}": td.make("Garnet-v0", seed=k) for k in numbers}
    return found | {f"random MDP {k}, 12 binary features": td.make("Garnet-v0", seed=k, features=12) for k in numbers}


def tasks() -> dict[str, Any]:
    """Four RingWorlds, FrozenLake, the walk, random MDPs. On 71 to 76 nothing was chosen."""
    found = {
        f"RingWorld .{b}": td.make("RingWorld-v0", behavior_left=b / 10, target_left=b / 10 - 0.05) for b in (4, 3, 2)
    }
    found |= {"RingWorld, 51 states": td.make("RingWorld-v0", n=51, behavior_left=0.5, target_left=0.45)}
    found |= {"FrozenLake": td.make("FrozenLake-v0"), "19-state walk, γ = 1": td.make("RandomWalk-v0")}
    found |= {f"random MDP {k}": td.make("Garnet-v0", seed=k) for k in (71, 72, 73)}
    found |= {f"random MDP {k}, ratios of 7 and 8": td.make("Garnet-v0", seed=k) for k in (2, 11)}
    return found | {
        "random MDP 74, on-policy": td.make("Garnet-v0", seed=74, on_policy=True),
        "random MDP 75, episodes, γ = 1": td.make("Garnet-v0", seed=75, terminal=2, discount=1.0),
        "random MDP 76, 12 binary features": td.make("Garnet-v0", seed=76, features=12),
    }


def fixed(task: Any) -> list[td.Learner]:
    """The 168; GTD where features are shared, as in the thesis."""
    kind = td.TrueOnlineTD if task.features.active == 1 else td.TrueOnlineGTD
    return [kind(task.features, a, z, on_divergence="flag") for a in ALPHAS for z in LAMBDAS]


def ratios(task: Any, seeds: list[int], steps: int) -> tuple[list[float], float, float]:
    """The ratio at each power of ten, that of the area, and the largest error of AutoTD over what it began with."""
    powers = [10**k for k in range(3, 8) if 10**k <= steps]
    near = [np.linspace(0.91 * p, p, 10) for p in powers]
    even = np.linspace(steps / 100, steps, 100)
    points = np.unique(np.round(np.concatenate([*near, even])).astype(np.int64))
    learners = [td.AutoTD(task.features), *fixed(task)]
    run = td.engine.run(task, learners, seeds, steps, points=points.tolist(), keep=(), progress=False)
    windows = [(points > 0.9 * p) & (points <= p) for p in powers] + [np.isin(points, np.round(even))]
    means = [run.error[:, :, w].mean(axis=(1, 2)) for w in windows]
    nothing = float(run_zero(task))
    *each, area = [float(m[0] / np.nanmin(m[1:])) for m in means]
    return each, area, float(run.error[0].max() / nothing)


def run_zero(task: Any) -> Any:
    """The error of V = 0."""
    truth = td.engine.exact_truth(task)
    return truth.weights @ truth.values**2


def after_a_change(seeds: list[int], before: int) -> list[float]:
    """AutoTD's error over that of the best fixed learner, so many steps after the target policy turned round."""
    old, new = (td.make("RingWorld-v0", behavior_left=0.4, target_left=z) for z in (0.35, 0.6))
    errors = np.zeros((len(AFTER), 1 + len(ALPHAS) * len(LAMBDAS)))
    for seed in seeds:
        past, future = old.sampler(seed).take(before), new.sampler(seed + 10**6).take(AFTER[-1])
        for k, learner in enumerate([td.AutoTD(new.features), *fixed(new)]):
            learner.update_many(past)
            learner.reset()
            done = 0
            for i, stop in enumerate(AFTER):
                part = slice(done, stop)
                names = ("obs", "reward", "next_obs", "gamma", "rho", "terminated", "truncated")
                learner.update_many(*(getattr(future, name)[part] for name in names))
                done = stop
                gone = getattr(learner, "diverged_at", None) is not None
                errors[i, k] += np.inf if gone else new.exact.value_error(learner.predict_many(range(11)))
    return [float(row[0] / row[1:].min()) for row in errors]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=24)
    parser.add_argument("--steps", type=int, default=10**6)
    parser.add_argument("--random", type=int, nargs="+", help="these random MDPs, and nothing else")
    options = parser.parse_args()
    for name, least in (("seeds", 1), ("steps", 10**4)):
        if getattr(options, name) < least:
            parser.error(f"--{name} must be at least {least}; got {getattr(options, name)}")
    seeds = list(range(FIRST_SEED, FIRST_SEED + options.seeds))
    powers = [f"10{'³⁴⁵⁶⁷'[k - 3]}" for k in range(3, 8) if 10**k <= options.steps]
    print("# Comparison of AutoTD with the best fixed α and λ\n")
    command = f"python experiments/auto_td/best_fixed.py --seeds {options.seeds} --steps {options.steps}"
    print(f"Made by `{command}`: error of AutoTD divided by")
    print("that of the best of 168 fixed (α, λ), chosen in hindsight for each number; below 1 is better. The last")
    print("column is AutoTD's largest error at any point of any run, divided by that of V = 0.\n")
    print(f"| task | {' | '.join(powers)} | area | largest |\n| --- |{' --- |' * (len(powers) + 2)}")
    areas = []
    for name, task in (random_mdps(options.random) if options.random else tasks()).items():
        each, area, largest = ratios(task, seeds, options.steps)
        areas.append(area)
        print(f"| {name} | {' | '.join(f'{r:.2f}' for r in each)} | {area:.2f} | {largest:.2f} |", flush=True)
    print(f"\nMean of the areas: {np.mean(areas):.2f}.\n")
    if options.random:
        return
    before = options.steps // 2
    found = after_a_change(seeds[: max(1, options.seeds // 4)], before)
    print(f"RingWorld, target policy reversed after {before:,} steps: "
          + ", ".join(f"{r:.2f} after {n:,}" for n, r in zip(AFTER, found, strict=True)) + ".")  # fmt: skip


if __name__ == "__main__":
    main()

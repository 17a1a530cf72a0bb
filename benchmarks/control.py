"""The control engine beside a Python loop with the same agents, and what more features cost; all in one run.

python benchmarks/control.py [--quick]

Times are of the processor, on one core, for a whole step: act, move the car, learn. The loop calls `act`, `step` and
`update`, which are compiled inside.
"""

import argparse
import time
from typing import Any

import numpy as np

import tdlambda as td
from tdlambda.control.lane import Lane
from tdlambda.control.worlds import world_of

CAR = td.make("MountainCar-v0", limit=500)
WORLD = world_of(CAR)
ALPHA, ETA = 1e-5, 1.0


def agents(steps: int, features: Any = CAR.features) -> dict[str, td.ActorCritic]:
    """Those of the study `mountaincar`."""
    half = steps // 2
    rules: dict[str, Any] = {
        "fixed λ = 0": 0.0, "fixed λ = 0.9": 0.9, "fixed λ = 1": 1.0,
        "greedy": td.rules.Greedy(warm_up=half), "META": td.rules.Meta.thesis(1e-5, warm_up=half),
    }  # fmt: skip
    return {
        name: td.ActorCritic(td.TrueOnlineGTD(features, ALPHA, rule), td.control.Softmax(3), ETA, None, warm_up=half)
        for name, rule in rules.items()
    }


def loop(agent: td.ActorCritic, steps: int, seed: int) -> float:
    """Microseconds of a step in Python."""
    agent, rng = agent.clone(), np.random.default_rng(seed)
    obs, _ = CAR.reset(seed=seed)
    begun = time.thread_time()
    for _ in range(steps):
        action = agent.act(obs, rng)
        after, reward, terminated, truncated, info = CAR.step(action)
        agent.update(obs, action, float(reward), after, None, info["discount"], terminated, truncated)
        obs = CAR.reset()[0] if terminated or truncated else after
    return (time.thread_time() - begun) / steps * 1e6


def engine(agent: td.ActorCritic, steps: int, seed: int) -> float:
    """Microseconds of a step in the engine."""
    lane, log = Lane(agent, WORLD, seed, np.array([steps])), np.zeros((steps, 3))
    begun = time.thread_time()
    lane.advance(steps, log)
    return (time.thread_time() - begun) / steps * 1e6


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="fewer steps and repetitions")
    quick = parser.parse_args().quick
    steps, few, times = (5_000, 1_000, 2) if quick else (50_000, 4_000, 5)
    some = agents(steps)
    for agent in some.values():  # compile
        loop(agent, 50, 0), engine(agent, 50, 0)
    print(f"{'agent':14s} {'loop µs':>9s} {'engine µs':>10s} {'ratio':>7s}")
    for (name, agent), short in zip(some.items(), agents(few).values(), strict=True):
        pairs = [(loop(short, few, seed), engine(agent, steps, seed)) for seed in range(times)]
        slow, fast = np.median(pairs, axis=0)
        print(f"{name:14s} {slow:9.2f} {fast:10.3f} {slow / fast:7.1f}")
    print(f"\n{'features (8 active)':22s}" + "".join(f"{name:>15s}" for name in some) + "   µs")
    for tiles in ([8, 8], [8, 64], [64, 64]):
        features = td.features.TileCoder([-1.2, -0.07], [0.6, 0.07], 8, tiles)
        each = [np.median([engine(a, steps, k) for k in range(times)]) for a in agents(steps, features).values()]
        print(f"{features.size:<22d}" + "".join(f"{one:15.3f}" for one in each))


if __name__ == "__main__":
    main()

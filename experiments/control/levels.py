"""Default agents in Gymnasium's environments: mean return of the last 100 episodes, on seeds 0 to 9.

python experiments/control/levels.py [--quick] [--json FILE]

Only features and the number of steps are given; step size, λ and policy are the defaults. Those were chosen on seeds
100 to 131, with compiled worlds (`settings.py`). On FrozenLake the greedy policy's exact value is compared with the
optimum.
"""

from __future__ import annotations

import argparse
import json
import math
import time
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np

import tdlambda as td

CART = ([-2.4, -3, -0.21, -3], [2.4, 3, 0.21, 3])
SWING = ([-1, -1, -1, -1, -4 * math.pi, -9 * math.pi], [1, 1, 1, 1, 4 * math.pi, 9 * math.pi])
CAR = ([-1.2, -0.07], [0.6, 0.07])


def tiles(box: Any, tilings: int, n: int) -> td.features.TileCoder:
    """Tile coding as Sutton & Barto recommend it."""
    return td.features.TileCoder(*box, tilings=tilings, tiles=n, offsets="asymmetric")


CASES: dict[str, tuple[str, Any, int, float]] = {
    "CartPole-v1, Sarsa, Fourier": ("CartPole-v1", lambda _: td.Sarsa(td.features.Fourier(*CART), 2), 100_000, 475),
    "CartPole-v1, Sarsa, tiles": ("CartPole-v1", lambda _: td.Sarsa(tiles(CART, 8, 4), 2), 100_000, 475),
    "CartPole-v1, actor-critic, Fourier": (
        "CartPole-v1", lambda env: td.ActorCritic.for_env(env, td.features.Fourier(*CART)), 100_000, 475),
    "Acrobot-v1, Sarsa, tiles": ("Acrobot-v1", lambda _: td.Sarsa(tiles(SWING, 32, 4), 3), 200_000, -100),
    "MountainCar-v0, Sarsa, tiles": ("MountainCar-v0", lambda _: td.Sarsa(tiles(CAR, 16, 8), 3), 100_000, -120),
}  # fmt: skip
"""Environment, agent, steps, and the level to reach."""


def lake(seed: int, steps: int) -> float:
    """How far the learned policy's exact value is from the optimum, γ = 0.99."""
    env = gym.make("FrozenLake-v1", map_name="8x8")
    mdp = td.FiniteMDP.from_table(env, discount=0.99)
    agent = td.QLambda(td.features.OneHot(64), 4)
    td.train(env, agent, steps=steps, seed=seed, gamma=0.99)
    policy = np.eye(4)[[agent.greedy(s) for s in range(64)]]
    return float(mdp.optimal().v[0] - mdp.v(policy)[0])


def main() -> None:
    """Print the table, and write it as JSON if asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="two seeds, a tenth of the steps")
    parser.add_argument("--json", metavar="FILE", type=Path, help="write all numbers to a file")
    given = parser.parse_args()
    quick = given.quick
    seeds, found = range(2 if quick else 10), {}
    for name, (id_, make, steps, level) in CASES.items():
        begun, reached = time.perf_counter(), []
        for seed in seeds:
            env = gym.make(id_)  # Gymnasium's own: td.make has another MountainCar-v0
            curve = td.train(env, make(env), steps=steps // (10 if quick else 1), seed=seed, gamma=0.99)
            reached.append(curve.mean(last=100))
        found[name] = {"returns": reached, "level": level, "steps": steps, "reached": sum(r >= level for r in reached)}
        print(
            f"{name:36s} {np.mean(reached):7.1f}, least {min(reached):7.1f}; {found[name]['reached']} of "
            f"{len(reached)} seeds reach {level} in {steps} steps ({time.perf_counter() - begun:.0f} s)", flush=True,
        )  # fmt: skip
    gaps = [lake(seed, 100_000 if quick else 1_000_000) for seed in seeds]
    found["FrozenLake-v1 8x8, Q(λ)"] = {"gaps": gaps, "reached": sum(g <= 0.02 for g in gaps)}
    print(f"FrozenLake-v1 8x8, Q(λ): below the optimum by {np.mean(gaps):.4f}, at most {max(gaps):.4f}; "
          f"{sum(g <= 0.02 for g in gaps)} of {len(gaps)} seeds within 0.02 in 1000000 steps")  # fmt: skip
    if given.json is not None:
        given.json.write_text(json.dumps(found, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()

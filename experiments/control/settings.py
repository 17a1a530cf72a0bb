"""Where the default settings of `td.Sarsa` come from: alternatives on seeds 100 to 131, in compiled worlds.

python experiments/control/settings.py [--quick]

Mean length of the last 100 episodes, as a return; γ = 0.99. `levels.py` reports what was chosen, on other seeds.
"""

from __future__ import annotations

import argparse
import dataclasses
from typing import Any

import numpy as np
from levels import CAR, CART, SWING, tiles
from numpy.typing import NDArray

import tdlambda as td
from tdlambda.arrays import Floats
from tdlambda.control.worlds import world_of
from tdlambda.tasks.classic import acrobot, cart_pole
from tdlambda.tasks.mountain_car import _act


def move(numbers: Floats, state: Floats, action: int, random: NDArray[np.uint64]) -> tuple[float, float, bool]:
    """A step of the car with γ = 0.99."""
    reward, gamma, over = _act(numbers, state, action, random)
    return reward, 0.99 * gamma, over


CAR_WORLD = dataclasses.replace(world_of(td.make("MountainCar-v0", "gymnasium")), move=move)
TASKS: dict[str, tuple[Any, Any, int, int, float]] = {
    "MountainCar-v0": (CAR_WORLD, tiles(CAR, 16, 8), 100_000, -1, -120),
    "CartPole-v1": (cart_pole(discount=0.99), tiles(CART, 8, 4), 100_000, 1, 475),
    "Acrobot-v1": (acrobot(discount=0.99), tiles(SWING, 32, 4), 200_000, -1, -100),
}
"""World, features, steps, reward of a step, and the level to reach."""
CHOSEN = {"epsilon": 0.2, "over": 20_000, "lam": 0.9, "share": 0.5, "power": 0.7}
OTHERS: list[dict[str, float]] = [
    {}, {"epsilon": 0.1, "power": 0.5}, {"power": 0.5}, {"power": 0.6}, {"epsilon": 0.1}, {"epsilon": 0.3},
    {"lam": 0.8}, {"lam": 0.8, "power": 0.5}, {"lam": 0.8, "power": 0.6}, {"over": 40_000}, {"share": 0.8},
    {"share": 0.3},
]  # fmt: skip


def agent(features: Any, actions: int, epsilon: float, over: int, lam: float, share: float, power: float) -> td.Sarsa:
    """Sarsa(λ) with α = share/|x|² (1000 / (1000 + visits))^power."""
    alpha = td.steps.OneOver("visits", share / features.active * 1000**power, 1000, power)
    return td.Sarsa(
        features, actions, alpha, lam, policy=td.control.EpsilonGreedy(td.control.Falling(epsilon, 0.0, over=int(over)))
    )


def main() -> None:
    """Print a row for each task and setting."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="four seeds")
    seeds = range(100, 104 if parser.parse_args().quick else 132)
    for name, (world, features, steps, sign, level) in TASKS.items():
        agents = {str(other): agent(features, world.actions, **(CHOSEN | other)) for other in OTHERS}
        found = td.control.run(world, agents, list(seeds), steps, points=1, keep=("episodes",))
        for setting, runs in zip(agents, found.episodes, strict=True):
            last = np.array([sign * run[-100:, 1].mean() for run in runs])
            print(
                f"{name:15s} {setting:35s} {last.mean():7.1f}, least {last.min():7.1f}; {np.sum(last >= level)} of "
                f"{last.size} seeds reach {level}", flush=True,
            )  # fmt: skip


if __name__ == "__main__":
    main()

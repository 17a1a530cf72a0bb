"""Agents with action values: the engine beside a Python loop in every compiled world, `act` + `update` beside a
prediction's `update`, and what more features cost; all in one run.

python benchmarks/action_values.py [--quick]

Times are of the processor, on one core. A step is: choose, move, learn. The loop calls `act` and `update`, which are
compiled inside, and the `step` of Gymnasium's environment, or of the task where there is none.
"""

import argparse
import time
from collections.abc import Callable
from typing import Any

import gymnasium as gym
import numpy as np

import tdlambda as td
from tdlambda.control.lane import Lane
from tdlambda.control.worlds import world_of

CAR = td.features.TileCoder([-1.2, -0.07], [0.6, 0.07], 8, 8)
CART = td.features.TileCoder([-2.4, -3, -0.21, -3], [2.4, 3, 0.21, 3], 8, 4)
SWING = td.features.TileCoder([-1, -1, -1, -1, -12.6, -28.3], [1, 1, 1, 1, 12.6, 28.3], 16, 4)
PLACES: dict[str, tuple[Any, Any, Any]] = {
    "RingWorld": ("RingWorld-v0", lambda: td.make("RingWorld-v0"), None),
    "FrozenLake": (td.make("FrozenLake-v0", "one-hot"), lambda: gym.make("FrozenLake-v1"), td.features.OneHot(16)),
    "CliffWalking": ("CliffWalking-v0", lambda: gym.make("CliffWalking-v1"), None),
    "WindyGridworld": ("WindyGridworld-v0", lambda: td.make("WindyGridworld-v0"), None),
    "Bifurcation": ("Bifurcation-v0", lambda: td.make("Bifurcation-v0"), None),
    "MountainCar": (td.make("MountainCar-v0", "gymnasium"), lambda: gym.make("MountainCar-v0"), CAR),
    "CartPole": (td.tasks.WORLDS["CartPole-v1"](1.0), lambda: gym.make("CartPole-v1"), CART),
    "Acrobot": (td.tasks.WORLDS["Acrobot-v1"](1.0), lambda: gym.make("Acrobot-v1"), SWING),
}
"""Compiled world, the environment in Python, features."""
RULES: dict[str, Any] = {"λ = 0.9": 0.9, "META": td.rules.Meta(kappa=1e-3)}


def agent(features: Any, actions: int, lam: Any) -> td.Sarsa:
    """Sarsa(λ) on the library's default algorithm."""
    policy = td.control.EpsilonGreedy(0.1)
    return td.Sarsa(features, actions, 0.1 / features.active, lam, policy=policy, on_divergence="flag")


def loop(env: Any, one: td.Sarsa, steps: int, seed: int) -> float:
    """Microseconds of a step in Python."""
    one, rng = one.clone(), np.random.default_rng(seed)
    obs = env.reset(seed=seed)[0]
    obs = int(obs) if isinstance(obs, int | np.integer) else obs
    action = one.act(obs, rng)
    begun = time.thread_time()
    for _ in range(steps):
        after, reward, terminated, truncated, _ = env.step(action)
        after = int(after) if isinstance(after, np.integer) else after
        chosen = one.act(after, rng)
        one.update(obs, action, float(reward), after, chosen, 0.99, terminated, truncated)
        obs, action = after, chosen
        if terminated or truncated:
            obs = env.reset()[0]
            obs = int(obs) if isinstance(obs, int | np.integer) else obs
            action = one.act(obs, rng)
    return (time.thread_time() - begun) / steps * 1e6


def engine(world: Any, one: td.Sarsa, steps: int, seed: int) -> float:
    """Microseconds of a step in the engine."""
    lane, log = Lane(one, world, seed, np.array([steps])), np.zeros((steps, 3))
    begun = time.thread_time()
    lane.advance(steps, log)
    return (time.thread_time() - begun) / lane.steps * 1e6  # fewer if it diverged


def once(call: Callable[[], None], times: int) -> float:
    """Microseconds of a call."""
    begun = time.thread_time()
    for _ in range(times):
        call()
    return (time.thread_time() - begun) / times * 1e6


def by_hand(features: Any, obs: Any, after: Any, times: int) -> tuple[float, float]:
    """`update` of a prediction, and `act` + `update` of an agent, on the same features."""
    v, q, rng = td.TrueOnlineTD(features, 0.01, 0.9), agent(features, 3, 0.9), np.random.default_rng(0)

    def both() -> None:
        q.update(obs, 1, 0.5, after, q.act(after, rng), 0.9)

    def predict() -> None:
        v.update(obs, 0.5, after, 0.9)

    predict()
    both()
    pairs = [(once(predict, times), once(both, times)) for _ in range(7)]
    return tuple(np.median(pairs, axis=0))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="fewer steps and repetitions")
    quick = parser.parse_args().quick
    steps, few, times = (20_000, 1_000, 2) if quick else (200_000, 5_000, 5)
    print(f"{'world':16s} {'λ':8s} {'loop µs':>9s} {'engine ns':>10s} {'ratio':>7s}")
    for name, (place, make, own) in PLACES.items():
        world, env = world_of(place), make()
        features = own or td.make(place).features
        for rule, lam in RULES.items():
            one = agent(features, world.actions, lam)
            loop(env, one, 50, 0), engine(world, one, 50, 0)  # compile
            pairs = [(loop(env, one, few, seed), engine(world, one, steps, seed)) for seed in range(times)]
            slow, fast = np.median(pairs, axis=0)
            print(f"{name:16s} {rule:8s} {slow:9.2f} {fast * 1e3:10.1f} {slow / fast:7.1f}", flush=True)
    print(f"\n{'features':24s} {'update µs':>10s} {'act+update µs':>14s} {'ratio':>7s}")
    point = np.array([-0.5, 0.01]), np.array([-0.49, 0.012])
    cases: dict[str, tuple[Any, Any, Any]] = {
        "OneHot(64)": (td.features.OneHot(64), 3, 4),
        "TileCoder, 8 active": (CAR, *point),
        "Fourier, 64": (td.features.Fourier([-1.2, -0.07], [0.6, 0.07], 7), *point),
    }
    for name, case in cases.items():
        alone, both = by_hand(*case, times=2_000 if quick else 20_000)
        print(f"{name:24s} {alone:10.2f} {both:14.2f} {both / alone:7.2f}")
    print(f"\n{'features (8 active)':24s}" + "".join(f"{rule:>12s}" for rule in RULES) + "   µs a step of the engine")
    world = world_of(PLACES["MountainCar"][0])
    for tiles in ([8, 8], [8, 64], [64, 64]):
        features = td.features.TileCoder([-1.2, -0.07], [0.6, 0.07], 8, tiles)
        each = [
            np.median([engine(world, agent(features, 3, lam), steps, k) for k in range(times)])
            for lam in RULES.values()
        ]
        print(f"{features.size:<24d}" + "".join(f"{took:12.3f}" for took in each))


if __name__ == "__main__":
    main()

"""A PPO run on CartPole in plain NumPy: the rollout that the package ships, and how its audit compares with the truth.

    python experiments/audit/ppo.py [--iterations 3] [--save src/tdlambda/audits/cartpole.npz]

The critic `new` is the network as it was when the rollout was collected, `old` the one of some iterations before, which
was trained on rollouts of other policies. The truth is the mean of many trajectories from states of the rollout.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np
from network import Network
from physics import HORIZON, CartPole

import tdlambda as td

GAMMA, LAM, LIMIT, ENVIRONMENTS, STEPS, BEFORE = 0.99, 0.95, 200, 16, 256, 2
"""Of PPO; `old` is the critic BEFORE iterations before the last."""
VALUE = 20.0
"""Unit of the critic's output."""


class Agent:
    """A policy and a critic, each a network with two hidden layers of 32."""

    def __init__(self, seed: int) -> None:
        self.world, self.rng = CartPole(), np.random.default_rng(seed)
        self.policy, self.critic = Network((4, 32, 32, 1), seed, 0.01), Network((4, 32, 32, 1), seed + 1)
        self.state, self.age = self.world.start(ENVIRONMENTS, self.rng), np.zeros(ENVIRONMENTS, int)

    def right(self, s: Any) -> Any:
        """The probability of a push to the right."""
        return 1 / (1 + np.exp(-self.policy(s / self.world.scale)[:, 0]))

    def value(self, s: Any) -> Any:
        return VALUE * self.critic(s / self.world.scale)[:, 0]

    def collect(self) -> dict[str, Any]:
        """A rollout [T, N]; next observations are those before a reset."""
        rows, s = [], self.state
        for _ in range(STEPS):
            action = self.rng.random(len(s)) < self.right(s)
            after, reward, ended = self.world.step(s, action)
            self.age += 1
            cut = ~ended & (self.age >= LIMIT)
            rows.append((s, after, action, reward, ended, cut, self.value(s), self.value(after)))
            over = ended | cut
            s = np.where(over[:, None], self.world.start(len(s), self.rng), after)
            self.age = np.where(over, 0, self.age)
        self.state = s
        names = ("obs", "next_obs", "action", "reward", "terminated", "truncated", "value", "value_next")
        return dict(zip(names, (np.array(x) for x in zip(*rows, strict=True)), strict=True))

    def improve(self, batch: dict[str, Any], epochs: int = 4) -> None:
        """Clipped policy gradient, and least squares for the critic."""
        x = batch["obs"].reshape(-1, 4) / self.world.scale
        numbers = {k: batch[k] for k in ("reward", "value", "value_next", "terminated", "truncated")}
        A, target = (y.reshape(-1) for y in td.returns.gae(**numbers, gamma=GAMMA, lam=LAM))
        A, sign = (A - A.mean()) / (A.std() + 1e-8), np.where(batch["action"].reshape(-1), 1.0, -1.0)
        before = 1 / (1 + np.exp(-sign * self.policy(x)[:, 0]))
        for _ in range(epochs):
            for some in np.array_split(self.rng.permutation(len(x)), 8):
                self.policy.descend(
                    x[some], lambda out, some=some: _slope(out, sign[some], before[some], A[some]), 1e-3
                )
            self.critic.fit(x, target / VALUE, 3e-3, 1, self.rng)


def _slope(out: Any, sign: Any, before: Any, A: Any) -> Any:
    """The gradient of -min(ratio A, clip(ratio) A) with respect to the logit."""
    now = 1 / (1 + np.exp(-sign * out[:, 0]))
    ratio = now / before
    open_ = ~(((ratio > 1.2) & (A > 0)) | ((ratio < 0.8) & (A < 0)))
    return (-(open_ * A * ratio * (1 - now) * sign) / len(A))[:, None]


def truth(agent: Agent, states: Any, trajectories: int) -> tuple[Any, Any]:
    """Mean return from each state without a time limit, and its squared standard error."""
    s, n = np.repeat(states, trajectories, axis=0), len(states) * trajectories
    G, alive, discount = np.zeros(n), np.arange(n), 1.0
    for _ in range(HORIZON):
        s, reward, ended = agent.world.step(s, agent.rng.random(len(s)) < agent.right(s))
        G[alive] += discount * reward
        discount *= GAMMA
        s, alive = s[~ended], alive[~ended]
        if not len(s):
            break
    G = G.reshape(len(states), trajectories)
    return G.mean(1), G.var(1, ddof=1) / trajectories


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--iterations", type=int, default=3, help="updates before the rollout")
    parser.add_argument("--seed", type=int, default=3)
    parser.add_argument("--states", type=int, default=600, help="states of the rollout whose true value is estimated")
    parser.add_argument("--save", type=Path, help="file to write the rollout to")
    options = parser.parse_args()
    agent = Agent(options.seed)
    old = agent.critic.copy()
    for k in range(options.iterations):
        old = agent.critic.copy() if k == options.iterations - BEFORE else old
        batch = agent.collect()
        ends = (batch["terminated"] | batch["truncated"]).sum()
        print(f"iteration {k}: {STEPS * ENVIRONMENTS / max(1, ends):.0f} steps per episode", flush=True)
        agent.improve(batch)
    batch = agent.collect()
    values = lambda x: (VALUE * old(x.reshape(-1, 4) / agent.world.scale)[:, 0]).reshape(STEPS, ENVIRONMENTS)  # noqa: E731
    batch |= {"old_value": values(batch["obs"]), "old_value_next": values(batch["next_obs"])}
    if options.save:
        np.savez_compressed(
            options.save,
            **{k: x.astype(np.float32) if x.dtype == float else x for k, x in batch.items() if k != "action"},
        )
    pairs = {"new": (batch["value"], batch["value_next"]), "old": (batch["old_value"], batch["old_value_next"])}
    steps = {k: batch[k] for k in ("reward", "terminated", "truncated")}
    print(td.audit(pairs, gamma=GAMMA, **steps))
    some = agent.rng.integers(STEPS * ENVIRONMENTS, size=options.states)
    v, noise = truth(agent, batch["obs"].reshape(-1, 4)[some], 40)
    errors = {name: (pair[0].reshape(-1)[some] - v) ** 2 - noise for name, pair in pairs.items()}
    apart = errors["old"] - errors["new"]
    print("true mean squared errors:", {name: round(float(x.mean()), 1) for name, x in errors.items()})
    print(f"true difference: {apart.mean():.3g}, standard error {apart.std() / np.sqrt(len(apart)):.2g}")


if __name__ == "__main__":
    main()

"""CartPole and MountainCar, many at once, with critics that are networks, and Monte Carlo truth."""

from __future__ import annotations

from typing import Any

import numpy as np
from finite_tasks import Sample
from network import Network

import tdlambda as td

STATES, ROLLOUTS, HORIZON = 40_000, 4, 1500
"""Of the Monte Carlo truth: states, trajectories from each, and their longest length; 0.99¹⁵⁰⁰ is 3·10⁻⁷."""


class CartPole:
    """The equations of Gymnasium's CartPole-v1; the policy pushes towards the falling side, often wrongly."""

    size, scale = 4, np.array([1.0, 1.5, 0.1, 1.5])

    def start(self, n: int, rng: Any) -> Any:
        return rng.uniform(-0.05, 0.05, size=(n, 4))

    def act(self, s: Any, rng: Any) -> Any:
        right = 1 / (1 + np.exp(-(4.5 * s[:, 2] + 1.1 * s[:, 3] + 0.3 * s[:, 0])))
        return rng.random(len(s)) < right

    def step(self, s: Any, action: Any) -> tuple[Any, Any, Any]:
        x, speed, angle, turning = s.T
        sine, cosine = np.sin(angle), np.cos(angle)
        push = (np.where(action, 10.0, -10.0) + 0.05 * turning**2 * sine) / 1.1
        bend = (9.8 * sine - cosine * push) / (0.5 * (4 / 3 - 0.1 * cosine**2 / 1.1))
        gain = push - 0.05 * bend * cosine / 1.1
        after = np.stack((x + 0.02 * speed, speed + 0.02 * gain, angle + 0.02 * turning, turning + 0.02 * bend), axis=1)
        fallen = (np.abs(after[:, 0]) > 2.4) | (np.abs(after[:, 2]) > 12 * np.pi / 180)
        return after, np.ones(len(s)), fallen


class MountainCar:
    """The equations of Gymnasium's MountainCar-v0; the policy pumps, and acts at random a fifth of the time."""

    size, scale = 2, np.array([0.5, 0.03])

    def start(self, n: int, rng: Any) -> Any:
        return np.stack((rng.uniform(-0.6, -0.4, n), np.zeros(n)), axis=1)

    def act(self, s: Any, rng: Any) -> Any:
        return np.where(rng.random(len(s)) < 0.2, rng.integers(3, size=len(s)), 2 * (s[:, 1] >= 0))

    def step(self, s: Any, action: Any) -> tuple[Any, Any, Any]:
        x, speed = s.T
        speed = np.clip(speed + 0.001 * (action - 1) - 0.0025 * np.cos(3 * x), -0.07, 0.07)
        x = np.clip(x + speed, -1.2, 0.6)
        speed = np.where((x <= -1.2) & (speed < 0), 0.0, speed)
        return np.stack((x, speed), axis=1), np.full(len(s), -1.0), x >= 0.5


class Physical:
    """A task with continuous states; episodes are cut after `limit` steps if it is not 0."""

    def __init__(self, name: str, setting: str, world: Any, limit: int, gamma: float = 0.99) -> None:
        self.name, self.setting, self.world, self.limit, self.gamma = name, setting, world, limit, gamma

    def rollout(self, n: int, rng: Any, steps: int) -> dict[str, Any]:
        """Arrays [T, N] of n environments that start again when an episode ends; next states before the reset."""
        s, age, rows = self.world.start(n, rng), np.zeros(n, int), []
        for _ in range(steps):
            after, reward, ended = self.world.step(s, self.world.act(s, rng))
            age += 1
            cut = ~ended & (age >= self.limit if self.limit else np.zeros(n, bool))
            rows.append((s, after, reward, ended, cut))
            over = ended | cut
            s, age = np.where(over[:, None], self.world.start(n, rng), after), np.where(over, 0, age)
        keys = ("state", "next_state", "reward", "terminated", "truncated")
        return dict(zip(keys, (np.array(x) for x in zip(*rows, strict=True)), strict=True))

    def episodes(self, n: int, rng: Any) -> Sample:
        """n whole episodes, one after the other."""
        s, alive, rows = self.world.start(n, rng), np.arange(n), []
        for t in range(HORIZON):
            after, reward, ended = self.world.step(s, self.world.act(s, rng))
            cut = ~ended & ((t + 1 >= self.limit) if self.limit else np.zeros(len(s), bool))
            rows += [(alive, np.full(len(s), t), s, after, reward, ended, cut)]
            on = ~(ended | cut)
            s, alive = after[on], alive[on]
            if not len(s):
                break
        episode, t, state, after, reward, ended, cut = (np.concatenate(x) for x in zip(*rows, strict=True))
        order = np.lexsort((t, episode))
        at = lambda x: x[order]  # noqa: E731
        gamma = np.where(at(ended), 0.0, self.gamma)
        return Sample(at(state), at(after), at(reward), gamma, np.ones(len(t)), at(ended), at(cut))

    def prepare(self) -> None:
        """Train the critics, and estimate their errors from many trajectories from the same states."""
        rng = np.random.default_rng(5)
        self.functions = self._trained(rng)
        visited = self.episodes(10_000, rng).state
        states = visited[rng.integers(len(visited), size=STATES)]
        G = self._returns(np.repeat(states, ROLLOUTS, axis=0), rng).reshape(STATES, ROLLOUTS)
        v, noise = G.mean(1), G.var(1, ddof=1) / ROLLOUTS
        errors = {name: float(np.mean((f(states) - v) ** 2 - noise)) for name, f in self.functions.items()}
        self.functions = {
            name: f for name, f in self.functions.items() if errors[name] < 30 * np.median([*errors.values()])
        }
        self.names, self.errors = list(self.functions), np.array([errors[name] for name in self.functions])
        squares = np.array([(f(states) - v) ** 2 for f in self.functions.values()])
        self.doubt = np.array([[np.std(a - b) for b in squares] for a in squares]) / np.sqrt(STATES)

    def _returns(self, s: Any, rng: Any) -> Any:
        """Discounted returns from these states, without a time limit."""
        G, alive, discount = np.zeros(len(s)), np.arange(len(s)), 1.0
        for _ in range(HORIZON):
            s, reward, ended = self.world.step(s, self.world.act(s, rng))
            G[alive] += discount * reward
            discount *= self.gamma
            s, alive = s[~ended], alive[~ended]
            if not len(s):
                break
        return G

    def _trained(self, rng: Any) -> dict[str, Any]:
        """Networks of three λ and several ages, shrunk and shifted copies, and a constant."""
        out: dict[str, Any] = {}
        scale = self.world.scale
        for lam in (0.0, 0.9, 1.0):
            network = Network((self.world.size, 32, 32, 1), seed=9)
            value = lambda x, net=network: 10 * net(np.asarray(x) / scale)[..., 0]  # noqa: E731
            for k in range(1, 25):
                batch = self.rollout(16, rng, 128)
                x = batch.pop("state").reshape(-1, self.world.size)
                v, w = (value(y).reshape(128, 16) for y in (x, batch.pop("next_state").reshape(-1, self.world.size)))
                target = td.returns.lambda_returns(value=v, value_next=w, gamma=self.gamma, lam=lam, **batch)
                network.fit(x / scale, target.reshape(-1) / 10, 3e-3, 2, rng)
                if k in (8, 24):
                    kept = network.copy()
                    out[f"network λ={lam} {k}"] = lambda x, net=kept: 10 * net(np.asarray(x) / scale)[..., 0]
        last = out["network λ=0.9 24"]
        level = float(np.mean(last(x)))
        out["shrunk"], out["constant"] = (lambda x: level + 0.6 * (last(x) - level)), lambda x: np.full(len(x), level)
        out["shifted"] = lambda x: last(x) + 0.05 * abs(level)
        return out

    def data(self, seed: int, size: int) -> tuple[dict[str, Any], Sample]:
        sample = self.episodes(size, np.random.default_rng(seed))
        return {name: (f(sample.state), f(sample.next_state)) for name, f in self.functions.items()}, sample


def physical_tasks() -> list[Physical]:
    return [
        Physical("CartPole, networks", "on", CartPole(), 0, 0.98),
        Physical("MountainCar, networks", "on", MountainCar(), 0),
        Physical("CartPole, networks, limit 50", "limit", CartPole(), 50, 0.98),
        Physical("MountainCar, networks, limit 150", "limit", MountainCar(), 150),
    ]

"""AutoTD once more, from its page (docs/auto-td.md): plain NumPy, dense features, averages at every weight update."""

from __future__ import annotations

from typing import Any

import numpy as np

GRID = [(a, z) for a in (0.3, 0.1, 0.03, 0.01, 0.003, 0.001) for z in (0.0, 0.4, 0.8, 0.95)]


class PlainBank:
    def __init__(self, n: int) -> None:
        self.n, k = n, len(GRID)
        self.alpha, self.lam = np.array(GRID).T
        self.w, self.e, self.copy = np.zeros((3, k, n))
        self.v_old, self.decay, self.age = np.zeros(k), np.zeros(k), np.zeros(k)
        self.expected, self.visits = np.zeros((2 * k, n)), np.zeros(n)
        self.trace = np.zeros(2 * k)
        self.since, self.long = np.zeros((3, 2 * k)), np.zeros((3, 2 * k))
        self.short, self.count = np.zeros((6, 3, 2 * k)), np.zeros(6)
        self.steps = self.total = self.changes = self.restarts = 0.0
        self.r = self.g = self.norm = self.length = self.longest = 0.0
        self.last: Any = None
        self.p = np.ones(2 * k) / (2 * k)
        self.weigh()

    def cap(self) -> float:
        inverse = 1 / (1 - self.g) if self.g < 1 else np.inf
        return self.r * min(inverse, 10 * self.longest)

    def values(self, x: Any) -> Any:
        return np.clip(np.concatenate([self.w, self.copy]) @ x, -self.cap(), self.cap())

    def predict(self, x: Any) -> float:
        return float(self.p @ self.values(x))

    def close(self, u_next: float) -> None:
        u, rho, reward, gamma = self.last
        signal = rho * (reward + gamma * u_next - u) * self.trace
        self.since[1] += signal
        self.since[2] += signal**2

    def update(
        self, x: Any, reward: float, y: Any, gamma: float, rho: float, terminated: bool, truncated: bool
    ) -> None:
        gamma = 0.0 if terminated else gamma
        fresh = self.last is None
        self.norm, self.r = max(self.norm, x @ x), max(self.r, abs(reward))
        self.length = 1 + (0 if fresh else self.last[3] * self.length)
        self.longest = max(self.longest, self.length)
        values = self.values(x)
        u = float(self.p @ values)
        if not fresh:
            self.close(u)
        c = values - u
        z = c + (0 if fresh else self.last[1] * self.last[3] * self.trace)
        self.since[0] += c**2
        self.visits += x**2 / (x @ x)
        step = np.maximum(0.1, 1 / (self.visits + 1)) * x / (x @ x)
        self.expected += np.outer(z - self.expected @ x, step)
        self.trace = self.expected @ x
        self.last = (u, rho, reward, gamma)
        self.g = max(self.g, gamma)
        self.learn(x, reward, y, gamma, rho, terminated, fresh)
        self.total += 1
        if terminated or truncated:
            self.close(0.0 if terminated else self.predict(y))
            self.last, self.e[:] = None, 0.0
        if self.total % 100 == 0:
            self.update_weights()

    def learn(self, x: Any, reward: float, y: Any, gamma: float, rho: float, terminated: bool, fresh: bool) -> None:
        """True online TD(λ) of each learner."""
        alpha, v = self.alpha / self.norm, self.w @ x
        v_next = 0.0 * v if terminated else self.w @ y
        old = v if fresh else self.v_old
        keep = rho * self.decay * (not fresh)
        self.e = keep[:, None] * self.e + np.outer(rho * alpha * (1 - keep * (self.e @ x)), x)
        delta = reward + gamma * v_next - v
        self.w = self.w + (delta + v - old)[:, None] * self.e - np.outer(alpha * rho * (v - old), x)
        self.v_old, self.decay = v_next, gamma * self.lam / max(1, rho)

    def update_weights(self) -> None:
        k = len(GRID)
        self.steps += 100
        self.long = self.long * (1 - 100 / self.steps) ** 4 + self.since
        for i in range(6):
            keep = 1 - 1 / (5 * 4**i)
            self.short[i] = keep * self.short[i] + self.since
            self.count[i] = keep * self.count[i] + 100
        self.since = np.zeros_like(self.since)
        for i in range(6):
            A, B, Q = self.short[i]
            if self.count[i] <= 0.3 * self.steps and (12 * np.sqrt(Q) < 2 * B - A).any():
                self.long, self.steps = self.short[i].copy(), self.count[i]
                self.changes += 1
                break
        for j in range(k):
            for i in range(6):
                A, B, Q = self.short[i]
                gap = (A - 2 * B)[k + j] - (A - 2 * B)[j]
                if gap > 6 * (np.sqrt(Q[k + j]) + np.sqrt(Q[j])) and self.count[i] < 100 * self.age[j]:
                    self.age[j] = 0
                    self.restarts += 1
                    for rows in (self.trace, self.long.T, self.expected):
                        rows[k + j] = rows[j]
                    self.short[:, :, k + j] = self.short[:, :, j]
                    break
        self.age += 1
        self.copy += np.minimum(1, 2 / self.age)[:, None] * (self.w - self.copy)
        self.weigh()

    def weigh(self) -> None:
        best = min(0.1, 2 / np.sqrt(max(1, self.steps / self.n)))
        prior = np.tile(2 * abs(np.log(self.alpha / best)) + 8 * abs(self.lam - 0.4), 2)
        prior[: len(GRID)] += 2
        A, B, Q = self.long
        ratio = np.divide(Q, A, out=np.zeros_like(A), where=A > 0)
        noise = (self.p * ratio)[A > 0].sum() / self.p[A > 0].sum() if (A > 0).any() else 0.0
        own = np.maximum(noise, ratio)
        score = prior + np.divide(A - 2 * B, 2 * own, out=np.zeros_like(A), where=own > 0)
        self.p = np.exp(score.min() - score)
        self.p /= self.p.sum()

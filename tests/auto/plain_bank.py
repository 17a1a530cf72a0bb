"""AutoTD once more, from its page (docs/auto-td.md): plain NumPy, dense features, averages at every weight update."""

from __future__ import annotations

from typing import Any

import numpy as np

GRID = [(a, z) for a in (0.3, 0.1, 0.03, 0.01, 0.003, 0.001) for z in (0.0, 0.4, 0.8, 0.95)]
LAMBDAS, KAPPAS = (0.0, 0.8, 1.0), (0.01, 0.1, 1.0, 10.0)


class PlainBank:
    def __init__(self, n: int) -> None:
        self.n, k, K = n, len(GRID), 2 * len(GRID) + 12
        self.alpha, self.lam = np.array(GRID).T
        self.w, self.e, self.copy = np.zeros((3, k, n))
        self.v_old, self.decay, self.age = np.zeros(k), np.zeros(k), np.zeros(k)
        self.systems = [System(lam, n) for lam in LAMBDAS]
        self.moments = np.zeros(3)
        self.expected, self.visits = np.zeros((K, n)), np.zeros(n)
        self.trace = np.zeros(K)
        self.since, self.long = np.zeros((3, K)), np.zeros((3, K))
        self.short, self.count = np.zeros((6, 3, K)), np.zeros(6)
        self.steps = self.total = self.changes = self.restarts = self.moves = 0.0
        self.r = self.g = self.norm = self.length = self.longest = 0.0
        self.last: Any = None
        self.p = np.ones(K) / K
        self.weigh()

    def cap(self) -> float:
        inverse = 1 / (1 - self.g) if self.g < 1 else np.inf
        return self.r * min(inverse, 10 * self.longest)

    def values(self, x: Any) -> Any:
        return np.clip(self.weights() @ x, -self.cap(), self.cap())

    def weights(self) -> Any:
        return np.concatenate([self.w, self.copy, *(system.w for system in self.systems)])

    def predict(self, x: Any) -> float:
        return float(self.p @ self.values(x))

    def close(self, u_next: float) -> None:
        u, rho, reward, gamma = self.last
        error = reward + gamma * u_next - u
        self.average(0, error**2)
        signal = rho * error * self.trace
        self.since[1] += signal
        self.since[2] += signal**2

    def average(self, i: int, value: float) -> None:
        self.moments[i] += max(3 / (self.total + 3), 1e-4) * (value - self.moments[i])

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
        self.average(1, u**2)
        self.average(2, x @ x)
        self.last = (u, rho, reward, gamma)
        self.g = max(self.g, gamma)
        self.learn(x, reward, y, gamma, rho, terminated, fresh)
        for system in self.systems:
            system.learn(x, reward, y, gamma, rho)
        if terminated or truncated:
            self.close(0.0 if terminated else self.predict(y))
            self.last, self.e[:] = None, 0.0
            for system in self.systems:
                system.z[:] = 0.0
        self.total += 1
        for system in self.systems:
            if self.total >= system.due:
                system.solve(self.moments, self.total)
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
        for i, system in enumerate(self.systems):
            own = slice(2 * k + 4 * i, 2 * k + 4 * i + 4)
            for j in range(6):
                A, B, Q = self.short[j][:, own]
                if self.count[j] <= 0.3 * system.age and (12 * np.sqrt(Q) < A - 2 * B).all():
                    system.fade(0.05 * self.count[j])
                    self.restarts += 1
            system.age += 100
        self.age += 1
        self.copy += np.minimum(1, 2 / self.age)[:, None] * (self.w - self.copy)
        self.weigh()
        self.move()

    def move(self) -> None:
        k, low, high = len(GRID), self.alpha.min(), self.alpha.max()
        share = self.p[:k] + self.p[k : 2 * k]
        total, at_low, at_high = share.sum(), share[self.alpha == low].sum(), share[self.alpha == high].sum()
        if total > 0.05 and min(at_low, at_high) < 0.01 * total and max(at_low, at_high) > total / 2:
            edge, idle, alpha = (low, high, low / 3) if at_low > at_high else (high, low, high * 3)
            if 1e-7 <= alpha <= 1:
                to, of = np.flatnonzero(self.alpha == idle), np.flatnonzero(self.alpha == edge)
                assert (self.lam[to] == self.lam[of]).all()
                for rows in (self.w, self.e, self.copy, self.v_old, self.decay, self.age):
                    rows[to] = rows[of]
                for rows in (self.trace, self.long.T, self.expected):
                    rows[to], rows[k + to] = rows[of], rows[k + of]
                self.short[:, :, to], self.short[:, :, k + to] = self.short[:, :, of], self.short[:, :, k + of]
                self.alpha[to] = alpha
                self.moves += 1

    def weigh(self) -> None:
        best = min(0.1, 2 / np.sqrt(max(1, self.steps / self.n)))
        prior = np.tile(2 * abs(np.log(self.alpha / best)) + 8 * abs(self.lam - 0.4), 2)
        prior[: len(GRID)] += 2
        prior = np.concatenate([prior, np.add.outer([-1.5, -0.5, 1.5], [2, 1, 0, 1]).ravel()])
        A, B, Q = self.long
        ratio = np.divide(Q, A, out=np.zeros_like(A), where=A > 0)
        noise = (self.p * ratio)[A > 0].sum() / self.p[A > 0].sum() if (A > 0).any() else 0.0
        own = np.maximum(noise, ratio)
        score = prior + np.divide(A - 2 * B, 2 * own, out=np.zeros_like(A), where=own > 0)
        self.p = np.exp(score.min() - score)
        self.p /= self.p.sum()


class System:
    """LSTD(λ) with four degrees of regularisation."""

    def __init__(self, lam: float, n: int) -> None:
        self.lam, self.n = lam, n
        self.A, self.b, self.C, self.z, self.w = (
            np.zeros((n, n)),
            np.zeros(n),
            np.zeros(n),
            np.zeros(n),
            np.zeros((4, n)),
        )
        self.ratio = self.age = self.due = 0.0

    def learn(self, x: Any, reward: float, y: Any, gamma: float, rho: float) -> None:
        self.z = self.z + x
        self.A += rho * np.outer(self.z, x - gamma * y)
        self.b += rho * reward * self.z
        self.C += rho**2 * self.z**2
        self.z = self.z * min(rho, 1) * gamma * self.lam

    def solve(self, moments: Any, steps: float) -> None:
        self.due = steps + 1 + int(self.age / 64 + self.n**3 / 2000)
        inverse = np.divide(1, self.C, out=np.zeros(self.n), where=self.C > 0)
        G, h = (self.A.T * inverse) @ self.A, (self.A.T * inverse) @ self.b
        self.ratio = self.ratio or moments[2]
        for i, kappa in enumerate(KAPPAS):
            self.w[i] = np.linalg.solve(G + kappa * self.ratio * np.eye(self.n), h)
        unknown = self.ratio * np.trace(np.linalg.inv(G + self.ratio * np.eye(self.n)))
        size = self.w[2] @ self.w[2]
        ratio = moments[0] * max(self.n - unknown, 1e-3) / size if size > 0 else self.ratio
        ratio = np.clip(ratio, self.ratio / 10, 10 * self.ratio)
        self.ratio = min(ratio, 3 * moments[0] * moments[2] / moments[1]) if moments[1] > 0 else ratio

    def fade(self, steps: float) -> None:
        keep = min(1, steps / self.age)
        self.A, self.b, self.C, self.age, self.due = keep * self.A, keep * self.b, keep * self.C, keep * self.age, 0.0

"""`auto.squares` again in plain NumPy, from its equations: slow, and without any of its code."""

from typing import Any

import numpy as np


class Front:
    """Running moments of readings, with clipping."""

    def __init__(self, first: Any) -> None:
        self.m = np.median(first, axis=0)
        self.M = 3 * 1.48 * np.median(np.abs(first - self.m), axis=0)
        self.q, self.c, self.s = np.zeros_like(self.m), self.m.copy(), np.zeros_like(self.m)
        self.streak = np.zeros_like(self.m)

    def see(self, v: Any, t: int) -> Any:
        e, new = v - self.m, (self.s == 0) & (np.abs(v - self.m) > 1e-12 * np.abs(v))
        self.c[new], self.s[new] = self.m[new], np.abs(e[new])
        limit = np.where(self.M > 0, 1.5 * self.M, np.inf)
        beyond = np.abs(e) > limit
        self.streak = np.where(self.M > 0, np.where(beyond, self.streak + 1, 0.8 * self.streak), self.streak)
        grown = np.where(beyond, np.where(self.streak > 2, 1.5 * self.M, self.M), np.maximum(self.M, np.abs(e)))
        self.M = np.where(self.M > 0, grown, np.abs(e))
        seen, e = np.where(np.abs(e) > limit, self.m + np.clip(e, -limit, limit), v), np.clip(e, -limit, limit)
        rate = max(1 / t, 1e-3)
        self.q, self.m = self.q + rate * (e**2 - self.q), self.m + rate * e
        return seen

    def at(self, x: Any) -> Any:
        m, M, c, s = self.m[:-1], self.M[:-1], self.c[:-1], self.s[:-1]
        x = np.where(M > 0, np.clip(x, m - 1.5 * M, m + 1.5 * M), x)
        return np.append(np.where(s > 0, (x - c) / np.where(s > 0, s, 1), 0.0), 1.0)


class Plain:
    """The whole predictor: transitions are given all at once, after the first 32 are known."""

    def __init__(self, first: Any, lams: Any, windows: Any, means: Any, prior: Any, pace: Any) -> None:
        self.f, D = Front(first), first.shape[1]
        self.lams, self.windows, self.means, self.prior = lams, windows, means, prior
        self.z = np.zeros((len(lams), D))
        self.A, self.b = np.zeros((len(lams), len(windows), D, D)), np.zeros((len(lams), len(windows), D))
        self.w, self.mean = np.zeros_like(self.b), np.zeros((3, len(means)))
        self.due = np.zeros((len(lams), len(windows)))
        self.alpha, self.rate, self.norm = pace[0], pace[1], 0.0
        self.g, self.e, self.g_mean = np.zeros((3, len(pace.T), D))
        K = len(prior)
        self.p, self.zeta, self.sums = np.full(K, 1 / (K - 1)), np.zeros(K), np.zeros((3, K))
        self.zero = len(lams) * len(windows) + len(means) - 1
        self.p[self.zero] = 0.0
        self.t, self.ready, self.rebase, self.constant, self.cut = 0, False, 8, 0.0, 0.0
        self.last: Any = None  # u, ρ, r, γ' of the step before, in this episode
        self.rewards: list[float] = []
        self.gammas: list[float] = []
        self.past: list[float] = []
        self.back, self.back_weight, self.length, self.longest, self.off = 0.0, 0.0, 0.0, 0.0, False
        self.gamma = 0.0

    def limits(self) -> tuple[float, float]:
        if not self.rewards:
            return 0.0, 0.0
        low, high, top, ended = min(self.rewards), max(self.rewards), max(self.gammas), 0.0 in self.gammas
        H = 10 * self.longest
        if top < 1:
            H = min(H, 1 / (1 - top)) if ended else 1 / (1 - top)
        if ended:
            return min(0.0, low * H, low), max(0.0, high * H, high)
        if not self.off and top < 1:
            span = max(self.past) - min(self.past)
            return max(low * H, min(self.past) - span), min(high * H, max(self.past) + span)
        return low * H, high * H

    def values(self, x: Any, low: float, high: float) -> Any:
        squares = [w @ x if self.ready else self.mean[2, 0] for of_lam in self.w for w in of_lam]
        gradients = [self.mean[2, 0] + w @ x for w in (*self.g, *self.g_mean)]
        return np.clip(np.array([*squares, *self.mean[2], *gradients]), low, high)

    def solve(self, k: int, f: int) -> None:
        s, q = self.f.s[:-1], self.f.q[:-1]
        ridge = 3 * np.append(np.where(s > 0, np.maximum(1e-6, q / np.where(s > 0, s, 1) ** 2), 1.0), 0.0)
        self.w[k, f] = np.linalg.solve(self.A[k, f] + np.diag(ridge), self.b[k, f])

    def move(self) -> None:
        """New coordinates, as one matrix: x_new = T x_old."""
        f, D = self.f, self.z.shape[1]
        T = np.eye(D)
        for i in range(D - 1):
            c, s = f.m[i], np.sqrt(f.q[i])
            if f.s[i] > 0 and s > 1e-12 * abs(c):
                T[i, i], T[i, -1] = f.s[i] / s, (f.c[i] - c) / s
                f.c[i], f.s[i] = c, s
        self.z, self.b = self.z @ T.T, self.b @ T.T
        self.A = T @ self.A @ T.T
        back = np.linalg.inv(T)  # w·x stays what it is
        self.e, self.g, self.g_mean = self.e @ T.T, self.g @ back, self.g_mean @ back

    def close(self, u_next: float) -> None:
        u, rho, r, g = self.last
        signal = rho * (r + g * u_next - u) * self.zeta
        self.sums[1] += signal
        self.sums[2] += signal**2

    def step(self, X: Any, Y: Any, r: float, g: float, rho: float, terminated: bool, truncated: bool) -> float:
        self.t += 1
        t, fresh, g = self.t, self.last is None, 0.0 if terminated else g
        low, high = self.limits()
        r = float(self.f.see(np.append(X, r), t)[-1])
        self.length = 1.0 if fresh else 1 + self.gamma * self.length
        self.longest, self.off, self.gamma = max(self.longest, self.length), self.off or rho != 1, g
        self.rewards.append(r)
        self.gammas.append(g)
        self.back, self.back_weight = r + g * self.back, 1 + g * self.back_weight
        if g < 1:
            self.past.append(self.back / self.back_weight / (1 - g))
        if t >= self.rebase:
            self.rebase *= 2
            self.move()
            for k in range(len(self.lams)):
                for f in range(len(self.windows)):
                    self.solve(k, f)
            self.ready = True
        x = self.f.at(X)
        V = self.values(x, low, high)
        u = float(self.p @ V)
        if not fresh:
            self.close(u)
        self.sums *= (1 - 1 / t) ** 2
        decay = 0.0 if fresh else self.last[3] * min(self.last[1], 1) / self.cut
        c = np.where(np.abs(V - u) > 1e-12 * abs(u), V - u, 0.0)
        self.sums[0] += c**2
        self.zeta = decay * self.zeta + c
        self.cut += (min(rho, 1) - self.cut) / t
        self.last = (u, rho, r, g)
        y = self.f.at(Y) if g > 0 else np.zeros_like(x)
        self.z += x
        for f, window in enumerate(self.windows):
            keep = 1 - 1 / window
            self.A[:, f] = keep * self.A[:, f] + rho * self.z[:, :, None] * (x - g * y)
            self.b[:, f] = keep * self.b[:, f] + rho * self.z * r
        self.z *= min(rho, 1) * g * np.array(self.lams)[:, None]
        if self.ready:
            self.norm += max(1 / t, 1e-3) * (x @ x - self.norm)
            self.e += x
            delta = r + (g - 1) * self.mean[2, 0] - self.g @ (x - g * y)
            most = 0.5 / np.maximum(self.e @ (x - g * y), x @ x)
            self.g += (np.minimum(self.alpha / self.norm, most) * rho * delta)[:, None] * self.e
            self.e *= (min(rho, 1) * g * self.rate)[:, None]
            self.g_mean += 2 / (t + 1) * (self.g - self.g_mean)
        self.constant += 1
        for j, window in enumerate(self.means):
            if window > 0:
                add = rho * self.constant * np.array([r, 1 - g])
                self.mean[:2, j] = (1 - 1 / window) * self.mean[:2, j] + add
                if self.mean[1, j] > 0:
                    self.mean[2, j] = self.mean[0, j] / self.mean[1, j]
        self.constant *= min(rho, 1) * g
        if terminated or truncated:
            self.close(0.0 if terminated else float(self.p @ self.values(y, low, high)))
            self.e[:] = 0.0
            self.z[:], self.zeta[:], self.constant, self.last = 0.0, 0.0, 0.0, None
            self.back = self.back_weight = 0.0
        for f, window in enumerate(self.windows if self.ready else []):
            for k in range(len(self.lams)):
                if t >= self.due[k, f]:
                    self.due[k, f] = t + 1 + int(min(t, window) / 64 + x.size / 4)
                    self.solve(k, f)
        if t < 1000 or t % 10 == 0:
            self.weigh(t)
        return u

    def weigh(self, t: int) -> None:
        energy, gain, spread = self.sums
        known = energy > 0
        own = np.divide(spread, energy, out=np.zeros_like(energy), where=known)
        noise = (self.p * own)[known].sum() / self.p[known].sum() if self.p[known].sum() > 0 else 0.0
        own = np.maximum(noise, own)
        score = np.array([a + b * np.log(1 + t / unit) for a, b, unit in self.prior])
        score += np.divide(energy - 2 * gain, 2 * own, out=np.zeros_like(own), where=own > 0)
        if 0.0 not in self.gammas:
            score[self.zero] = np.inf
        self.p = np.exp(score.min() - score)
        self.p /= self.p.sum()

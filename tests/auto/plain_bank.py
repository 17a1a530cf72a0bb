"""AutoTD again in plain NumPy, from the equations of its page: slow, and without any of its code."""

from __future__ import annotations

from typing import Any

import numpy as np

GRID = [(a, lam) for a in (0.3, 0.1, 0.03, 0.01, 0.003, 0.001) for lam in (0.0, 0.4, 0.8, 0.95)]
OF_OBSERVATIONS = 0.5
MEANS = (np.inf, 1000.0, 100.0, 10.0, 1.0, 0.0)


class System:
    """LSTD(λ) with a window, for several leading sets of features and ridges."""

    def __init__(self, lam: float, window: float, n: int, experts: list[tuple[int, float]]) -> None:
        self.lam, self.window, self.n, self.experts = lam, window, n, experts
        self.A, self.b, self.z = np.zeros((n, n)), np.zeros(n), np.zeros(n)
        self.w, self.age, self.due = np.zeros((len(experts), n)), 0.0, 0.0

    def learn(self, x: Any, reward: float, y: Any, gamma: float, rho: float) -> None:
        x, y, keep = x[: self.n], y[: self.n], 1 - 1 / self.window
        self.z = self.z + x
        self.A = keep * self.A + rho * np.outer(self.z, x - gamma * y)
        self.b = keep * self.b + rho * reward * self.z
        self.z = self.z * min(rho, 1) * gamma * self.lam
        self.age += 1

    def solve(self, penalties: Any, fallback: float) -> None:
        for ridge in {r for _, r in self.experts}:
            some = [k for k, (_, r) in enumerate(self.experts) if r == ridge]
            try:
                for k in some:
                    n = self.experts[k][0]
                    A = self.A[:n, :n] + ridge * np.diag(penalties[:n])
                    self.w[k] = 0.0
                    self.w[k, :n] = np.linalg.solve(A, self.b[:n])
            except np.linalg.LinAlgError:
                self.w[some] = np.where(penalties[: self.n] == 0, fallback, 0.0)

    def fade(self, steps: float) -> None:
        keep = min(1, steps / self.age) if self.age > 0 else 1
        self.A, self.b, self.age, self.due = keep * self.A, keep * self.b, keep * self.age, 0.0


class Plain:
    """The whole predictor of feature vectors; `lanes` is whether there are learners with traces."""

    def __init__(
        self, n: int, systems: list[System], prior: list[tuple[float, float, float]], lanes: bool, penalties: Any,
        room: int = 0,
    ) -> None:  # fmt: skip
        self.n, self.systems, self.lanes, self.q = n, systems, lanes, np.asarray(penalties, dtype=float)
        self.room, self.known, self.left = room, dict[bytes, int](), room == 0
        grid: Any = np.array(GRID if lanes else []).reshape(-1, 2).T.copy()
        self.alpha, self.lam = grid
        L = self.L = len(self.alpha)
        self.w, self.e, self.copy = np.zeros((3, L, n))
        self.v_old, self.decay, self.age = np.zeros((3, L))
        self.norm, self.copied, self.moves = 0.0, 0, 0
        self.R = sum(len(s.experts) for s in systems)
        self.mean, self.k = np.zeros((3, len(MEANS))), 0.0
        self.first = self.R + len(MEANS)
        self.sparse, self.lambdas_prior = lanes, np.array(prior)[: self.R, 0]
        self.prior = np.array([*prior, *[(0.0, 0.0, 1.0)] * 2 * L])
        K = self.K = len(self.prior)
        self.p, self.trace, self.raw, self.expected, self.visits = (
            *np.zeros((3, K)),
            np.zeros((K, n + room)),
            np.zeros(n + room),
        )
        self.since, self.long, self.short = np.zeros((5, K)), np.zeros((5, K)), np.zeros((6, 5, K))
        self.count, self.window, self.total = np.zeros(6), 0.0, 0.0
        self.t = self.updated = self.began = self.changes = self.restarts = 0
        self.kept: list[tuple[Any, ...]] = []  # state, ρδ, transition
        self.tests, self.usual, self.since_start = 0, 0.0, 0
        self.absent = np.zeros(K, dtype=bool)
        self.absent[self.first - 1] = True
        self.last: Any = None  # u, ρ, r, γ' of the step before, in this episode
        self.rewards: list[float] = []
        self.gammas: list[float] = []
        self.past: list[float] = []
        self.back = self.back_weight = self.length = self.longest = self.gamma = self.cut = 0.0
        self.off, self.noise, self.value, self.size = False, 0.0, 0.0, 0.0
        self.uses_expected = lanes
        self.p[:] = 1 / K
        self.weigh()

    # ---- predictions --------------------------------------------------------------------------------------------

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

    def whole(self, x: Any, new: bool = False) -> Any:
        """The features, and one for each distinct observation; `new` ones are added, and if too many, all leave."""
        whole, key = np.append(x, np.zeros(self.room)), np.asarray(x, dtype=float).tobytes()
        if new and not self.left and key not in self.known:
            self.left = len(self.known) == self.room
            self.known[key] = len(self.known)
            if self.left:
                self.leave()
        if not self.left and key in self.known:
            whole[self.n + self.known[key]] = 1.0
        return whole

    def leave(self) -> None:
        at = 0
        for s in self.systems:
            if s.n > self.n:
                some = slice(at, at + len(s.experts))
                self.absent[some] = True
                self.p[some] = 0.0
                self.since[:, some] = self.long[:, some] = self.short[:, :, some] = 0.0
                self.trace[some] = self.raw[some] = self.expected[some] = 0.0
            at += len(s.experts)
        self.weigh()

    def values(self, x: Any) -> Any:
        whole = self.whole(x)
        squares = [w @ whole[: s.n] for s in self.systems for w in s.w]
        return np.array([*squares, *self.mean[2], *(self.w @ x), *(self.copy @ x)])

    def predict(self, x: Any) -> float:
        return float(self.p @ np.clip(self.values(x), *self.limits()))

    def weights(self) -> Any:
        """Weights of the features, of every expert that has them."""
        found = np.zeros((self.K, self.n))
        found[: self.R] = np.vstack(
            [np.pad(s.w, [(0, 0), (0, max(0, self.n - s.n))])[:, : self.n] for s in self.systems]
        )
        found[self.first : self.first + self.L], found[self.first + self.L :] = self.w, self.copy
        return found

    # ---- learning -----------------------------------------------------------------------------------------------

    def close(self, u_next: float) -> None:
        u, rho, r, g = self.last
        error = rho * (r + g * u_next - u)
        signal = error * self.trace
        self.noise += max(3 / (self.t - self.began + 2), 1e-4) * (error**2 - self.noise)
        self.since[1:3] += signal, signal**2
        if self.uses_expected:
            signal = error * self.raw
            self.since[3:5] += signal, signal**2

    def update(
        self, x: Any, reward: float, y: Any, gamma: float, rho: float, terminated: bool, truncated: bool
    ) -> float:
        u = self.advance(x, reward, y, gamma, rho, terminated, truncated)
        length = self.changed() if self.sparse else 0
        if length:
            rows, self.kept = [row for *_, row in self.kept[-length:]], self.kept[:-length]
            self.begin_anew(length)
            for row in rows:
                self.advance(*row)
        return u

    def advance(
        self, x: Any, reward: float, y: Any, gamma: float, rho: float, terminated: bool, truncated: bool
    ) -> float:
        self.t += 1
        t, fresh, g, limits = self.t, self.last is None, 0.0 if terminated else gamma, self.limits()
        self.note(reward, g, rho, fresh)
        X = self.whole(x, True)
        Y = self.whole(y, g > 0)
        X = self.whole(x) if self.left else X
        V = np.clip(self.values(x), *limits)
        u = float(self.p @ V)
        if not fresh:
            self.close(u)
        self.add_distances(X, V - u, u)
        self.cut += (min(rho, 1) - self.cut) / t
        square = max(u**2, V[2] ** 2) if self.sparse else u**2  # V[2]: LSTD(0) with a ridge of 1
        self.value += max(3 / (t - self.began + 2), 1e-4) * (square - self.value)
        self.size += max(3 / (t - self.began + 2), 1e-4) * (float(x @ x) - self.size)
        self.last = (u, rho, reward, g)
        if self.sparse and not (self.room and self.left):
            w = next(s for s in self.systems if s.n == max(s.n for s in self.systems)).w[0]
            state = self.known[np.asarray(x, dtype=float).tobytes()] if self.room else int(np.argmax(x))
            delta = rho * (reward + g * (w @ Y) - w @ X)
            self.kept.append((state, delta, (x, reward, y, gamma, rho, terminated, truncated)))
            self.since_start += 1
        if self.lanes:
            self.norm = max(self.norm, float(x @ x))
            self.true_online(x, reward, y, gamma, rho, terminated, fresh)
        for s in self.systems:
            s.learn(X, reward, Y, g, rho)
        self.learn_means(reward, g, rho)
        if g == 0:
            self.absent[self.first - 1] = False
        if terminated or truncated:
            self.close(0.0 if terminated else float(self.p @ np.clip(self.values(y), *limits)))
            self.end()
        for s in self.systems:
            if t >= s.due:
                age = min(s.age, s.window)
                n = self.n + min(len(self.known), self.room) if s.n > self.n else s.n
                s.due = t + min(1 + int(age / 64 + n**3 / 2000), 8 + int(age / 2))
                s.solve(self.q, self.mean[2, 0])
        if t - self.updated >= min(1 + int((t - self.began) / 50), 20) or t % 100 == 0:
            self.update_weights()
        return u

    # ---- changes of the task ------------------------------------------------------------------------------------

    def statistic(self, length: int) -> float:
        """How far TD errors of the last transitions are from mean 0, by states."""
        states, deltas = self.noted
        new, old = (
            np.array([np.bincount(states[part], deltas[part] ** k, self.room + self.n) for k in range(3)])
            for part in (slice(len(states) - length, None), slice(0, len(states) - length))
        )
        some = (new[0] > 0) & (old[0] >= 20)
        (c, g, square), (before, _, usual) = new[:, some], old[:, some]
        d = np.minimum(10 if self.off else 30, 0.3 * before)
        within = np.maximum(0.0, square - g**2 / c) + d * (usual / before + 0.03 * np.mean(deltas**2))
        total = ((c + d) * np.log(1 + g**2 / c / (1 + c / before) / within))[within > 0].sum()
        known = (within > 0).sum()
        return float((total - known) / np.sqrt(2 * known + 10))

    def changed(self) -> int:
        """The number of transitions since the task changed; 0 if it did not."""
        if self.since_start < 1000 or len(self.kept) % 50:
            return 0
        self.noted = [np.array([row[i] for row in self.kept[-self.since_start :]]) for i in (0, 1)]
        lengths, longest = [24], min(1000, int(0.3 * self.since_start))
        while lengths[-1] < longest:
            lengths.append(min(longest, int(1.6 * lengths[-1])))
        best = max(self.statistic(k) for k in lengths)
        limit = max(9.0, 6.0 * self.usual)
        self.tests += 1
        self.usual += max(1 / self.tests, 0.01) * (best - self.usual)
        if best <= limit or self.tests < 40:
            return 0
        return max([*range(24, longest, 10), longest], key=self.statistic)

    def begin_anew(self, length: int) -> None:
        """Forget everything but the range of values, the learners' own weights, and priors."""
        self.end()
        for rows in (self.since, self.long, self.short, self.expected, self.visits, self.mean, self.count):
            rows[:] = 0.0
        for s in self.systems:
            s.A[:], s.b[:], s.w[:], s.age, s.due = 0.0, 0.0, 0.0, 0.0, 0.0
        self.t -= length
        self.began = self.updated = self.t
        self.window = self.total = 0.0
        self.changes += 1
        self.age[:], self.copy, self.copied, self.since_start = 1, self.w.copy(), self.copied + 1, 0
        self.weigh()

    def note(self, reward: float, g: float, rho: float, fresh: bool) -> None:
        self.length = 1.0 if fresh else 1 + self.gamma * self.length
        self.longest, self.off, self.gamma = max(self.longest, self.length), self.off or rho != 1, g
        self.rewards.append(reward)
        self.gammas.append(g)
        self.back, self.back_weight = reward + g * self.back, 1 + g * self.back_weight
        if g < 1:
            self.past.append(self.back / self.back_weight / (1 - g))

    def add_distances(self, x: Any, c: Any, u: float) -> None:
        keep = 0.0
        if self.last is not None:
            rho, g = self.last[1], self.last[3]
            keep = g * (rho if self.uses_expected else min(rho, 1) / self.cut)
        c = np.where(np.abs(c) > 1e-12 * abs(u), c, 0.0)
        self.since[0] += c**2
        self.trace = keep * self.trace + c
        if self.uses_expected:
            self.raw = keep * self.raw + c
            norm = float(x @ x)
            self.visits += x**2 / norm
            step = np.maximum(0.1, 1 / (self.visits + 1)) * x / norm
            self.expected += np.outer(self.trace - self.expected @ x, step)
            self.trace = self.expected @ x

    def true_online(
        self, x: Any, reward: float, y: Any, gamma: float, rho: float, terminated: bool, fresh: bool
    ) -> None:
        alpha, v = self.alpha / self.norm, self.w @ x
        v_next = 0.0 * v if terminated else self.w @ y
        old = v if fresh else self.v_old
        keep = rho * self.decay * (not fresh)
        self.e = keep[:, None] * self.e + np.outer(rho * alpha * (1 - keep * (self.e @ x)), x)
        delta = reward + gamma * v_next - v
        self.w = self.w + (delta + v - old)[:, None] * self.e - np.outer(alpha * rho * (v - old), x)
        self.v_old, self.decay = v_next, gamma * self.lam / max(1, rho)

    def learn_means(self, reward: float, g: float, rho: float) -> None:
        self.k += 1
        for j, window in enumerate(MEANS):
            if window > 0:
                self.mean[:2, j] = (1 - 1 / window) * self.mean[:2, j] + rho * self.k * np.array([reward, 1 - g])
                if self.mean[1, j] > 0:
                    self.mean[2, j] = self.mean[0, j] / self.mean[1, j]
        self.k *= min(rho, 1) * g

    def end(self) -> None:
        self.e[:], self.trace[:], self.raw[:], self.last, self.k = 0.0, 0.0, 0.0, None, 0.0
        self.back = self.back_weight = 0.0
        for s in self.systems:
            s.z[:] = 0.0

    # ---- the mixture --------------------------------------------------------------------------------------------

    def judged(self, sums: Any) -> Any:
        """A, B, Q: where z significantly contradicts ẑ, the evidence moves towards z."""
        A, B, Q, raw, doubt = sums
        if not self.uses_expected:
            return sums[:3]
        gap = raw - B
        share = np.maximum(0.0, 1 - 4 * np.divide(doubt, gap**2, out=np.full_like(gap, np.inf), where=gap**2 > 0))
        return np.array([A, B + share * gap, Q + share * (doubt - Q)])

    def update_weights(self) -> None:
        n, first, L = self.t - self.updated, self.first, self.L
        self.updated, self.window = self.t, self.window + n
        keep = (1 - n / self.window) ** (1.5 if self.uses_expected else 3)
        self.long, self.total = keep * self.long + self.since, keep * self.total + n
        for i in range(6):
            keep = np.exp(-n / (100 * 4**i))
            self.short[i], self.count[i] = keep * self.short[i] + self.since, keep * self.count[i] + n
        self.since = np.zeros_like(self.since)
        long, short, at = self.judged(self.long), self.short[:, :3], 0
        for s in self.systems:
            own = slice(at, at + len(s.experts))
            at += len(s.experts)
            for (A, B, Q), count in zip(short[:, :, own], self.count, strict=True):
                lost, before = A - 2 * B, (long[0] - 2 * long[1])[own]
                sure = (lost > 12 * np.sqrt(Q)) & (lost * self.total > 2 * before * count)
                if count <= 0.3 * s.age and sure.all():
                    s.fade(0.05 * count)
                    self.restarts += 1
                    break
        for i in range(6):
            A, B, Q = short[i]
            if self.count[i] <= 0.3 * self.window and ((12 * np.sqrt(Q) < 2 * B - A) & ~self.absent).any():
                self.long, self.window, self.total = self.short[i].copy(), self.count[i], self.count[i]
                self.changes += 1
                break
        if self.sparse and self.noise > 0:
            best = self.size * np.clip(self.noise / max(self.value, self.noise / 100), 0.01, 100)
            ridges = np.array([r for s in self.systems for _, r in s.experts])
            self.prior[: self.R, 0] = self.lambdas_prior + 0.5 * abs(np.log(ridges / best))
        due = self.lanes and self.t // 100 > self.copied
        if due:
            for j in range(L):
                k, other = first + L + j, first + j
                for (A, B, Q), count in zip(short, self.count, strict=True):
                    gap, sure = (A - 2 * B)[k] - (A - 2 * B)[other], 6 * (np.sqrt(Q[k]) + np.sqrt(Q[other]))
                    if gap > sure and count < 100 * self.age[j]:
                        self.age[j] = 0
                        self.restarts += 1
                        self.inherit(k, other)
                        break
            self.copied += 1
            self.age += 1
            self.copy += np.minimum(1, 2 / self.age)[:, None] * (self.w - self.copy)
        self.weigh()
        if due:
            self.move()

    def inherit(self, k: Any, other: Any) -> None:
        for rows in (self.trace, self.raw, self.long.T, self.expected):
            rows[k] = rows[other]
        self.short[:, :, k] = self.short[:, :, other]

    def move(self) -> None:
        L, low, high = self.L, self.alpha.min(), self.alpha.max()
        share = self.p[self.first : self.first + L] + self.p[self.first + L :]
        total, at_low, at_high = share.sum(), share[self.alpha == low].sum(), share[self.alpha == high].sum()
        if total > 0.05 and min(at_low, at_high) < 0.01 * total and max(at_low, at_high) > total / 2:
            edge, idle, alpha = (low, high, low / 3) if at_low > at_high else (high, low, high * 3)
            if 1e-7 <= alpha <= 1:
                to, of = np.flatnonzero(self.alpha == idle), np.flatnonzero(self.alpha == edge)
                for rows in (self.w, self.e, self.copy, self.v_old, self.decay, self.age):
                    rows[to] = rows[of]
                self.inherit(self.first + to, self.first + of)
                self.inherit(self.first + L + to, self.first + L + of)
                self.alpha[to] = alpha
                self.moves += 1

    def weigh(self) -> None:
        L, a = self.L, self.prior[:, 0]
        if self.lanes:
            best = min(0.1, 2 / np.sqrt(max(1, self.window / self.n)))
            far = 2 * abs(np.log(self.alpha / best)) + 8 * abs(self.lam - 0.4)
            a[self.first : self.first + L], a[self.first + L :] = far + 2, far
        A, B, Q = self.judged(self.long)
        known = (A > 0) & ~self.absent
        ratio = np.divide(Q, A, out=np.zeros_like(A), where=A > 0)
        noise = (self.p * ratio)[known].sum() / self.p[known].sum() if self.p[known].sum() > 0 else 0.0
        own = np.maximum(noise, ratio)
        score = a + self.prior[:, 1] * np.log(1 + self.window / self.prior[:, 2])
        score = score + np.divide(A - 2 * B, 2 * own, out=np.zeros_like(A), where=own > 0)
        score = np.where(self.absent, np.inf, score)
        self.p = np.exp(score.min() - score)
        self.p /= self.p.sum()


def means_prior(size: int) -> list[tuple[float, float, float]]:
    """Of the running means and 0."""
    falls = {np.inf: (0.5, 10.0 * (size + 1)), 0.0: (0.5, 10.0 * (size + 1))}
    return [(1.0 + 0.5 * (w == 0), *falls.get(w, (1.2, w))) for w in MEANS]


def sparse(n: int, room: int = 0) -> Plain:
    """AutoTD with sparse features; `room` is the number of observations with features of their own."""
    ridges = (0.01, 0.1, 1.0, 10.0, 100.0)
    systems = [System(lam, np.inf, n, [(n, r) for r in ridges]) for lam in (0.0, 0.8, 1.0)]
    prior = [(a, 0.0, 1.0) for a in (-1.5, -0.5, 1.5) for _ in ridges]
    if room:
        systems += [System(lam, np.inf, n + room, [(n + room, r) for r in ridges]) for lam in (0.0, 0.8)]
        prior += [(a + OF_OBSERVATIONS, 0.0, 1.0) for a in (-1.5, -0.5) for _ in ridges]
    return Plain(n, systems, prior + means_prior(n), True, np.ones(n + room), room)


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

    def clip(self, x: Any) -> Any:
        m, M = self.m[: len(x)], self.M[: len(x)]
        return np.where(M > 0, np.clip(x, m - 1.5 * M, m + 1.5 * M), x)


class PlainReadings:
    """AutoTD of vectors of d readings with m cosines."""

    def __init__(self, first: Any, directions: Any) -> None:
        d = self.d = first.shape[1] - 1
        D, m = d + 1, len(directions)
        self.f, self.directions, self.fixed = Front(first), directions, np.zeros((2, d))
        systems, prior = [], []
        for lam in (0.0, 0.8, 1.0):
            for w in (np.inf, 100.0 * D, 20.0 * D):
                systems.append(System(lam, w, D, [(D, 3.0)]))
                prior.append((2.0 * (lam == 1), 0.0 if w == np.inf else 1.2, w))
        for lam in (0.0, 0.95) if m else ():
            sets = sorted({0, min(40, m), m})
            experts = [(k, r) for r in (10.0, 300.0) for k in sets]
            systems.append(System(lam, np.inf, D + m, [(D + k, r) for k, r in experts]))
            prior += [(1.5 * (1 - k / m), 0.0, 1.0) for k, _ in experts]
        self.plain = Plain(D + m, systems, prior + means_prior(d), False, np.append(0.0, np.ones(d + m)))
        self.t, self.rebase, self.rows = 0, 8, list[Any]()

    def at(self, X: Any) -> Any:
        c, s = self.f.c[:-1], self.f.s[:-1]
        x, d = self.f.clip(X), self.d
        z = np.clip((x - self.fixed[0]) * self.fixed[1], -5, 5)
        cosines = np.sqrt(2) * np.cos(self.directions[:, :d] @ z + self.directions[:, d])
        return np.concatenate([[1.0], np.where(s > 0, (x - c) / np.where(s > 0, s, 1), 0.0), cosines])

    def predict(self, X: Any) -> float:
        return self.plain.predict(self.at(X))

    def move(self) -> None:
        """New coordinates, as one matrix: x_new = T x_old."""
        f, T = self.f, np.eye(self.plain.n)
        for i in range(self.d):
            c, s = f.m[i], np.sqrt(f.q[i])
            if f.s[i] > 0 and s > 1e-12 * abs(c):
                T[1 + i, 1 + i], T[1 + i, 0] = f.s[i] / s, (f.c[i] - c) / s
                f.c[i], f.s[i] = c, s
        for system in self.plain.systems:
            U = T[: system.n, : system.n]
            system.z, system.b, system.A = U @ system.z, U @ system.b, U @ system.A @ U.T

    def penalise(self) -> None:
        s, q = self.f.s[:-1], self.f.q[:-1]
        self.plain.q[1 : 1 + self.d] = np.where(s > 0, np.maximum(1e-6, q / np.where(s > 0, s, 1) ** 2), 1.0)

    def solve(self) -> None:
        for system in self.plain.systems:
            system.solve(self.plain.q, self.plain.mean[2, 0])

    def refit(self) -> None:
        """The systems with cosines anew, from all transitions so far."""
        f = self.f
        deviation = np.sqrt(f.q[:-1])
        self.fixed = np.array([f.m[:-1], np.where(deviation > 1e-12 * abs(f.m[:-1]), 1 / deviation, 0.0)])
        for system in self.plain.systems:
            if system.n > self.d + 1:
                system.A, system.b, system.z, system.age, system.due = 0 * system.A, 0 * system.b, 0 * system.z, 0, 0
                for X, r, Y, gamma, rho, terminated, truncated in self.rows:
                    reward = float(np.clip(r, f.m[-1] - 1.5 * f.M[-1], f.m[-1] + 1.5 * f.M[-1]))
                    g = 0.0 if terminated else gamma
                    system.learn(self.at(X), reward, self.at(Y), g, rho)
                    if terminated or truncated:
                        system.z[:] = 0.0
        self.solve()

    def update(
        self, X: Any, reward: float, Y: Any, gamma: float, rho: float, terminated: bool, truncated: bool
    ) -> float:
        self.t += 1
        self.rows.append((X, reward, Y, gamma, rho, terminated, truncated))
        r = float(self.f.see(np.append(X, reward), self.t)[-1])
        if self.t >= self.rebase:
            self.rebase *= 2
            self.move()
            self.penalise()
            self.solve()
        y = 0.0 * self.at(Y) if terminated else self.at(Y)
        u = self.plain.update(self.at(X), r, y, gamma, rho, terminated, truncated)
        if len(self.directions) and self.t in (32, 128, 512):
            self.refit()
        self.penalise()
        return u

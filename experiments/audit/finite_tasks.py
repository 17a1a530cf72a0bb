"""Finite tasks for audits: fast simulation with time limits, exact values, and critics of many qualities."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import njit

import tdlambda as td

TRAINING = 4000
"""Steps on which the critics are trained; audits use other ones."""
STREAM = 50
"""Steps of a stream that count as an episode."""


@dataclass
class Sample:
    """Steps of one trajectory after the other: states, and what `td.audit` takes."""

    state: Any
    next_state: Any
    reward: Any
    gamma: Any
    rho: Any
    terminated: Any
    truncated: Any

    def options(self) -> dict[str, Any]:
        names = ("reward", "gamma", "rho", "terminated", "truncated")
        return {name: getattr(self, name) for name in names}


@njit(cache=True)
def _simulate(
    policy_sums: Any, ratio: Any, indptr: Any, outcome_sums: Any, following: Any, reward: Any, start_sums: Any,
    terminal: Any, steps: int, episodes: int, limit: int, draws: Any,
) -> Any:  # fmt: skip
    """Draw steps until some episodes have ended, or as many steps as there is room for."""
    S, S2 = np.empty(steps, np.int64), np.empty(steps, np.int64)
    R, rho = np.empty(steps), np.empty(steps)
    ended, cut = np.zeros(steps, np.bool_), np.zeros(steps, np.bool_)
    n = done = age = k = 0
    s = -1
    actions = policy_sums.shape[1]
    for t in range(steps):
        if s < 0:
            s, age = np.searchsorted(start_sums, draws[k], side="right"), 0
            k += 1
        a = min(np.searchsorted(policy_sums[s], draws[k], side="right"), actions - 1)
        i, last = indptr[s * actions + a], indptr[s * actions + a + 1] - 1
        while i < last and draws[k + 1] >= outcome_sums[i]:
            i += 1
        k += 2
        S[t], R[t], S2[t], rho[t] = s, reward[i], following[i], ratio[s, a]
        age, s, n = age + 1, following[i], t + 1
        if terminal[s] or (limit > 0 and age >= limit):
            ended[t] = terminal[s]
            cut[t], s, done = not ended[t], -1, done + 1
        if 0 < episodes <= done:
            break
    return S[:n], S2[:n], R[:n], rho[:n], ended[:n], cut[:n]


class Finite:
    """A finite task with its critics; `setting` is on, off, limit, stream on or stream off."""

    def __init__(self, name: str, setting: str, build: Callable[[], Any], limit: int = 0) -> None:
        self.name, self.setting, self.build, self.limit = name, setting, build, limit

    def prepare(self) -> None:
        """Compute exact values and the distribution of the visited states, and train the critics."""
        task = self.build()
        mdp, n = task.mdp, task.mdp.n_states
        pi, b = (np.array([policy(s) for s in range(n)]) for policy in (task.target, task.behavior))
        o = mdp.outcomes
        sums = np.concatenate([np.cumsum(o.probability[i:j]) for i, j in zip(o.indptr[:-1], o.indptr[1:], strict=True)])
        self.terminal, self.discount = np.asarray(mdp.terminal), np.asarray(mdp.discount, float)
        ratio = np.divide(pi, b, out=np.zeros_like(pi), where=b > 0)
        self._arguments = (np.cumsum(b, axis=1), ratio, o.indptr, sums, o.next_state, o.reward, np.cumsum(mdp.start))
        self.v, self.features = np.asarray(task.exact.v()), task.features
        self.X = np.asarray(task.features.matrix(np.arange(n)), float) * ~self.terminal[:, None]
        P = np.zeros((n, n))
        np.add.at(P, (o.state, o.next_state), o.probability * b[o.state, o.action])
        self.d, self.length = self._visits(P, np.asarray(mdp.start, float))
        self.names, self.critics = self._trained()
        self.errors = np.array([float(self.d @ (V - self.v) ** 2) for V in self.critics])
        self.doubt = np.zeros((len(self.errors), len(self.errors)))
        kept = self.errors < 30 * np.median(self.errors)  # diverged critics are no challenge
        self.critics, self.errors, self.doubt = self.critics[kept], self.errors[kept], self.doubt[kept][:, kept]
        self.names = [name for name, k in zip(self.names, kept, strict=True) if k]

    def _visits(self, P: Any, start: Any) -> tuple[Any, float]:
        """The distribution of the states in which steps start, and the mean length of an episode."""
        live = ~self.terminal
        if "stream" in self.setting:
            d = start @ np.linalg.matrix_power(P, 2000)
        elif self.limit:
            p, d = start.copy(), np.zeros_like(start)
            for _ in range(self.limit):
                p = np.where(live, p, 0)
                d, p = d + p, p @ P
        else:
            d = np.linalg.solve(np.eye(len(P)) - (P * live[:, None] * live).T, np.where(live, start, 0))
        return d / d.sum(), float(d.sum())

    def sample(self, seed: int, episodes: int = 0, steps: int = 0) -> Sample:
        cap = steps or int(min(2_000_000, max(2000, episodes * (self.limit or 40 * self.length))))
        draws = np.random.default_rng(seed).random(3 * cap + 10)
        S, S2, R, rho, ended, cut = _simulate(*self._arguments, self.terminal, cap, episodes, self.limit, draws)
        return Sample(S, S2, R, self.discount[S2] * ~ended, rho, ended, cut)

    def data(self, seed: int, size: int) -> tuple[dict[str, Any], Sample]:
        """The critics' values on `size` episodes, or on as many stretches of a stream; and the steps."""
        stream = "stream" in self.setting
        sample = self.sample(seed, steps=STREAM * size) if stream else self.sample(seed, episodes=size)
        pairs = {
            name: (V[sample.state], V[sample.next_state]) for name, V in zip(self.names, self.critics, strict=True)
        }
        return pairs, sample

    def _trained(self) -> tuple[list[str], Any]:
        """Critics: learners of several settings and ages, least squares, Monte Carlo, and disturbed true values."""
        s, n = self.sample(12345, steps=TRAINING), len(self.v)
        steps = td.mdp.Transitions(
            s.state, np.zeros(0, int), s.reward, s.next_state, s.gamma, s.rho, s.terminated, s.truncated
        )
        largest, states, out = max(1.0, float((self.X**2).sum(1).max())), np.arange(n), {}
        for alpha, lam, part in (
            (0.3, 0.0, 1),
            (0.05, 0.0, 1),
            (0.05, 0.9, 1),
            (0.05, 0.9, 10),
            (0.01, 0.9, 2),
            (0.1, 0.95, 1),
        ):
            learner = td.TrueOnlineTD(self.features, alpha=alpha / largest, lam=lam, on_divergence="flag")
            learner.update_many(steps[: TRAINING // part])
            out[f"TD α={alpha} λ={lam} 1/{part}"] = learner.predict_many(states)
        auto = td.AutoTD(self.features)
        for half in (steps[: TRAINING // 2], steps[TRAINING // 2 :]):
            auto.update_many(half)
            out[f"AutoTD {auto.steps}"] = auto.predict_many(states)
        lstd = td.LSTD(self.features, lam=0.0)
        lstd.update_many(steps[: TRAINING // 4])
        out["LSTD 1/4"] = lstd.predict_many(states)
        mc = td.MonteCarlo(self.features, td.steps.OneOver("visits")) if self.setting in ("on", "limit") else None
        if mc is not None:
            mc.update_many(steps[: TRAINING // 2])
            out["Monte Carlo 1/2"] = mc.predict_many(states)
        mean = float(self.d @ self.v)
        spread = np.sqrt(self.d @ (self.v - mean) ** 2) + 1e-3 * np.abs(self.v).max()
        out["true + 0.3 sd"], out["mean"] = self.v + 0.3 * spread, np.full(n, mean)
        out["shrunk"] = mean + 0.7 * (self.v - mean)
        out["true + noise"] = self.v + 0.2 * spread * np.random.default_rng(1).normal(size=n)
        good = {k: np.asarray(V, float) for k, V in out.items() if np.isfinite(V).all()}
        return list(good), np.stack(list(good.values())) * ~self.terminal


def _garnet(seed: int, **options: Any) -> Callable[[], Any]:
    return lambda: td.make("Garnet-v0", seed=seed, **options)


def _made(task: str, *preset: str, **options: Any) -> Callable[[], Any]:
    return lambda: td.make(task, *preset, **options)


def fresh_tasks() -> list[Finite]:
    """Tasks on which nothing was chosen: the constants were chosen on Garnets 1 to 216 and other sizes of these."""
    return [
        Finite("ring of 9, 0.45", "on", _made("RingWorld-v0", n=9, target_left=0.45)),
        Finite("walk of 17", "on", _made("RandomWalk-v0", n=17)),
        Finite("walk of 11, drift", "on", _made("RandomWalk-v0", n=11, target_left=0.45)),
        Finite("Boyan's chain of 21", "on", _made("BoyanChain-v0", n=21)),
        Finite("Garnet 301", "on", _garnet(301, terminal=3, discount=1.0, on_policy=True)),
        Finite("Garnet 302, 14 features", "on",
               _garnet(302, n=40, terminal=4, discount=0.96, features=14, on_policy=True)),
        Finite("ring of 9, 0.5/0.35", "off", _made("RingWorld-v0", n=9, behavior_left=0.5, target_left=0.35)),
        Finite("ring of 13, 0.4/0.5", "off", _made("RingWorld-v0", n=13, behavior_left=0.4, target_left=0.5)),
        Finite("walk of 11, 0.5/0.44", "off", _made("RandomWalk-v0", n=11, behavior_left=0.5, target_left=0.44)),
        Finite("Garnet 303", "off", _garnet(303, terminal=3, discount=1.0)),
        Finite("Garnet 304, 50 states", "off", _garnet(304, n=50, terminal=6, discount=0.95)),
        Finite("Garnet 305, 13 features", "off", _garnet(305, terminal=4, discount=0.98, features=13)),
        Finite("walk of 17, limit 50", "limit", _made("RandomWalk-v0", n=17), 50),
        Finite("ring of 13, limit 30", "limit", _made("RingWorld-v0", n=13, target_left=0.5), 30),
        Finite("Garnet 306, limit 30", "limit", _garnet(306, on_policy=True), 30),
        Finite("Garnet 307, γ 0.98, limit 40", "limit", _garnet(307, discount=0.98, on_policy=True), 40),
        Finite("Garnet 308, 10 features, limit 25", "limit", _garnet(308, features=10, on_policy=True), 25),
        Finite("Garnet 309", "stream on", _garnet(309, on_policy=True)),
        Finite("Garnet 310, γ 0.9, 60 states", "stream on", _garnet(310, n=60, discount=0.9, on_policy=True)),
        Finite("Garnet 311, 12 features", "stream on", _garnet(311, features=12, on_policy=True)),
        Finite("Garnet 312, 15 states", "stream on", _garnet(312, n=15, on_policy=True)),
        Finite("Garnet 313", "stream off", _garnet(313)),
        Finite("Garnet 314, γ 0.9", "stream off", _garnet(314, discount=0.9)),
        Finite("Garnet 315, 12 features", "stream off", _garnet(315, features=12)),
        Finite("Garnet 316, 15 states", "stream off", _garnet(316, n=15)),
    ]  # fmt: skip

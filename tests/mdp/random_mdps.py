"""Random MDPs as plain arrays, and dense re-computations that share no code with the library."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

import tdlambda as td

Array = NDArray[Any]
SEEDS = st.integers(0, 2**32 - 1)


@dataclass
class Raw:
    """P[s, a, s'], E[r|s,a,s'], E[r²|s,a,s'], γ(s'), terminal mask, start; and a target and a behaviour policy."""

    P: Array
    R: Array
    R2: Array
    gamma: Array
    terminal: Array
    start: Array
    pi: Array
    b: Array

    @property
    def n(self) -> int:
        return len(self.gamma)

    def mdp(self) -> td.FiniteMDP:
        return td.FiniteMDP(
            self.P, self.R, self.R2, discount=self.gamma, terminal=self.terminal, start=self.start
        )  # fmt: skip

    def P_of(self, policy: Array) -> Array:
        """P_π by a loop; empty rows for terminal states."""
        out = np.zeros((self.n, self.n))
        for s in np.flatnonzero(~self.terminal):
            for a in range(self.P.shape[1]):
                out[s] += policy[s, a] * self.P[s, a]
        return out

    def g(self) -> Array:
        return np.where(self.terminal, 0.0, self.gamma)

    def v(self, policy: Array) -> Array:
        r = np.where(self.terminal, 0.0, np.einsum("sa,sat,sat->s", policy, self.P, self.R))
        return np.linalg.solve(np.eye(self.n) - self.P_of(policy) * self.g(), r)


def raw_mdp(seed: int, *, n: int = 5, actions: int = 2, episodic: bool = True, layered: bool = False) -> Raw:
    """A random MDP. `episodic`: the last state is terminal, reached from everywhere, and γ may be 1.

    `layered`: transitions only go to a higher state, so every trajectory is short.
    """
    rng = np.random.default_rng(seed)
    P = rng.random((n, actions, n)) * (rng.random((n, actions, n)) < 0.6)
    terminal = np.zeros(n, dtype=bool)
    if layered:
        P *= np.arange(n)[None, None, :] > np.arange(n)[:, None, None]
    if episodic or layered:
        terminal[-1] = True
        P[:, :, -1] += 0.05 + 0.3 * rng.random((n, actions))
    else:
        P[:, :, 0] += 0.05 + 0.3 * rng.random((n, actions))
    P /= P.sum(axis=2, keepdims=True)
    P[terminal] = 0.0
    R = rng.normal(size=P.shape)
    R2 = R**2 + rng.random(P.shape) * rng.integers(0, 2, P.shape)
    kind = rng.integers(3)
    gamma = rng.random(n) if kind == 0 else np.full(n, 1.0 if kind == 1 and (episodic or layered) else 0.9)
    start = rng.random(n) * ~terminal
    pi, other = rng.dirichlet(np.ones(actions), n), rng.dirichlet(np.ones(actions), n)
    if actions > 1:  # an action that only the behaviour takes
        pi[rng.integers(n)] = np.eye(actions)[rng.integers(actions)]
    b = 0.5 * pi + 0.5 * other
    return Raw(P, R, R2, gamma, terminal, start / start.sum(), pi, b)


@dataclass
class Dense:
    """E[G] and E[G²] of a λ-return from the second-moment system, dense, by loops over s, a, s'."""

    mean: Array
    variance: Array
    radius: float
    """The spectral radius of E[c²]."""


def dense_moments(raw: Raw, V: Array, lam: Array, pi: Array, b: Array, correction: str) -> Dense:
    """m = E[a + c m'], m₂ = E[a² + 2 a c m' + c² m₂'], with G = a + c G'."""
    n, g = raw.n, raw.g()
    V = np.where(raw.terminal, 0.0, V)
    a1, a2 = np.zeros(n), np.zeros(n)
    C1, AC, C2 = np.zeros((3, n, n))
    for s in np.flatnonzero(~raw.terminal):
        for act in range(raw.P.shape[1]):
            if b[s, act] == 0:
                continue
            rho = pi[s, act] / b[s, act]
            for t in range(n):
                p = b[s, act] * raw.P[s, act, t]
                c = rho * g[t] * lam[t]
                known = rho * g[t] * (1 - lam[t]) * V[t] + ((1 - rho) * V[s] if correction == "control-variate" else 0)
                first = rho * raw.R[s, act, t] + known
                second = rho**2 * raw.R2[s, act, t] + 2 * rho * raw.R[s, act, t] * known + known**2
                a1[s] += p * first
                a2[s] += p * second
                C1[s, t] += p * c
                AC[s, t] += p * first * c
                C2[s, t] += p * c * c
    m = np.linalg.solve(np.eye(n) - C1, a1)
    m2 = np.linalg.solve(np.eye(n) - C2, a2 + 2 * AC @ m)
    return Dense(m, m2 - m**2, float(np.abs(np.linalg.eigvals(C2)).max()))


def walk(n: int = 11, gamma: float = 0.95) -> td.FiniteMDP:
    """RingWorld: left or right on a line, -1 and +1 at its ends, from the middle."""
    P = np.zeros((n, 2, n))
    R = np.zeros((n, 2, n))
    for s in range(1, n - 1):
        P[s, 0, s - 1] = P[s, 1, s + 1] = 1.0
    R[1, 0, 0], R[n - 2, 1, n - 1] = -1.0, 1.0
    return td.FiniteMDP(P, R, discount=gamma, terminal=[0, n - 1], start=n // 2)

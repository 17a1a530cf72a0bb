"""The papers' equations in plain NumPy: dense vectors, one line an equation, nothing taken from the library."""

from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass
class Stream:
    """T transitions over T + 1 states of their own, so that x, γ, λ, ρ and the interest differ at every step."""

    X: Any
    reward: Any
    gamma: Any
    """γ, λ and interest of x_t, t = 0 … T."""
    lam: Any
    interest: Any
    rho: Any
    ends: Any
    """0: goes on, 1: terminates, 2: is truncated."""

    def play(self, learner: Any) -> Any:
        """A learner's weights after each step [step, feature]."""
        seen = []
        for t in range(len(self.reward)):
            end = self.ends[t]
            learner.update(t, self.reward[t], t + 1, self.gamma[t + 1], self.rho[t], bool(end == 1), bool(end == 2))
            seen.append(learner.weights.copy())
        return np.array(seen)


def stream(seed: int, on_policy: bool = False, lam: float | None = None, size: int = 4, steps: int = 25) -> Stream:
    """γ is 0 or 1 now and then, ρ is 0, λ is 1; episodes terminate, are truncated, and go on."""
    rng = np.random.default_rng(seed)
    n = steps + 1

    def some(low: float, high: float, often: float, values: list[float]) -> Any:
        return np.where(rng.random(n) < often, rng.choice(values, n), rng.uniform(low, high, n))

    rho = np.ones(steps) if on_policy else some(0.2, 2, 0.1, [0.0])[:-1]
    given = np.full(n, lam) if lam is not None else some(0, 1, 0.15, [0.0, 1.0])
    X, reward = rng.normal(size=(n, size)), rng.normal(size=steps)
    ends = rng.choice([0, 1, 2], steps, p=[0.84, 0.08, 0.08])
    return Stream(X, reward, some(0.2, 1, 0.2, [0.0, 1.0]), given, rng.uniform(0, 2, n), rho, ends)


def weights(kind: str, s: Stream, alpha: float, beta: float = 0.0, **given: Any) -> Any:
    """The weights of an algorithm after each step; all start at 0."""
    size = s.X.shape[1]
    w, h, e, e_b = (np.zeros(size) for _ in range(4))
    F = rho_old = v_old = 0.0
    first, seen = True, []
    for t in range(len(s.reward)):
        end = s.ends[t] == 1
        x, y = s.X[t], 0 * s.X[t] if end else s.X[t + 1]
        rho, lam, lam_next, g = s.rho[t], s.lam[t], s.lam[t + 1], 0.0 if end else s.gamma[t + 1]
        gamma = 0.0 if first else s.gamma[t]
        if first:
            e, e_b, F, v_old = 0 * e, 0 * e_b, 0.0, w @ x
        delta = s.reward[t] + g * w @ y - w @ x
        if kind in ("ETD", "true online ETD"):
            i = s.interest[t] if given.get("interest") is None else given["interest"]
            beta_f = given.get("beta_f")
            decay = gamma if beta_f is None else beta_f * (gamma > 0)
            F = rho_old * decay * F + i
            M = lam * i + (1 - lam) * F
        if kind == "ETD":
            e = rho * (gamma * lam * e + M * x)
            w = w + alpha * delta * e
        elif kind == "true online ETD":
            e = rho * (gamma * lam * e + alpha * M * (1 - rho * gamma * lam * x @ e) * x)
            v, next_v_old = w @ x, w @ y
            w = w + delta * e + (v - v_old) * (e - alpha * M * rho * x)
            v_old = next_v_old
        elif kind == "HTD":
            e, e_b = rho * (gamma * lam * e + x), gamma * lam * e_b + x
            w, h = (
                w + alpha * (delta * e + (x - g * y) * ((e - e_b) @ h)),
                h + beta * (delta * e - (x - g * y) * (e_b @ h)),
            )
        else:
            e = rho * (gamma * lam * e + x)
            change = {
                "GTD": delta * e - g * (1 - lam_next) * (e @ h) * y,
                "GTD gradient": delta * e - (x @ h) * x + (e @ h) * (x - g * y),
                "GTD2": (x @ h) * x - g * (1 - lam_next) * (e @ h) * y,
                "GTD2 gradient": (e @ h) * (x - g * y),
            }[kind]
            w, h = w + alpha * change, h + beta * (delta * e - (x @ h) * x - given.get("reg", 0.0) * h)
        rho_old, first = rho, bool(s.ends[t])
        seen.append(w)
    return np.array(seen)


def forward_view(s: Stream, alpha: float, beta_f: float | None) -> Any:
    """The emphatic online λ-return algorithm after each step of one episode: from w₀ again with the data so far."""
    T, online = len(s.reward), [np.zeros(s.X.shape[1])]
    M, F = np.zeros(T), 0.0
    for t in range(T):
        decay = s.gamma[t] if beta_f is None else beta_f * (s.gamma[t] > 0)
        F = (s.rho[t - 1] * decay * F if t else 0.0) + s.interest[t]
        M[t] = s.lam[t] * s.interest[t] + (1 - s.lam[t]) * F
    for t in range(1, T + 1):
        G = np.zeros(t)
        for k in reversed(range(t)):
            V = online[k] @ s.X[k + 1]
            beyond = s.lam[k + 1] * s.rho[k + 1] * (G[k + 1] - V) if k + 1 < t else 0.0
            G[k] = s.reward[k] + s.gamma[k + 1] * (V + beyond)
        w = online[0]
        for k in range(t):
            w = w + alpha * M[k] * s.rho[k] * (G[k] - w @ s.X[k]) * s.X[k]
        online.append(w)
    return np.array(online[1:])

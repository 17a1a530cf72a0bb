"""V and λ as one system, in expectation: what a value learner and META do to each other on a finite MDP.

Dense matrices, for tasks of some dozens of states. Every function accepts complex V and λ, so that derivatives can be
taken by a complex step, exact to rounding: f'(x) = Im f(x + ih) / h. The statistics M = v, L = E[G^λ] and
S = Var[G^λ] are those of the present V and λ, as if their learners were fast; all are of the target policy.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

Array = Any
FORMS: dict[str, Any] = {"one step": 1, "horizon 3": 3, "full": None, "derived": "derived", "printed": "printed"}
"""The meta-gradient: how far it reaches, or which of the thesis' one-step forms it is."""


@dataclass(frozen=True)
class Moments:
    """E[G^λ] and Var[G^λ] in each state, and E[δ; s' | s] of the errors δ of E[G^λ]."""

    mean: Array
    variance: Array
    error: Array


class System:
    """A finite task with features X of V and Z of λ = 1 - Z u; states of weight d in J, visited by the learner as D."""

    def __init__(self, task: Any, X: Array | None = None, Z: Array | None = None) -> None:
        mdp = task.mdp
        o, pi = mdp.outcomes, mdp.policy(task.target)
        weight = pi[o.state, o.action] * o.probability
        n = mdp.n_states
        self.n, self.live = n, ~mdp.terminal
        self.gamma = np.where(mdp.terminal, 0.0, mdp.discount)
        self.P, self.R, self.R2 = (o.matrix(weight * o.reward**k).toarray() for k in range(3))
        self.v = mdp.v(task.target)
        self.d = visits(mdp, task.target)
        self.D = mdp.under(task.behavior).state_distribution() * self.live
        self.D /= self.D.sum()
        self.X, self.Z = (np.eye(n)[:, self.live] if given is None else given * self.live[:, None] for given in (X, Z))

    def moments(self, V: Array, lam: Array) -> Moments:
        """Mean and variance of the λ-return that bootstraps from V."""
        c, ahead = self.gamma * lam, self.gamma * (1 - lam) * V
        mean = np.linalg.solve(np.eye(self.n) - self.P * c, self.R.sum(axis=1) + self.P @ ahead)
        q = ahead + c * mean - mean[:, None]  # [s, s']: δ without its reward
        square = (self.R2 + 2 * self.R * q + self.P * q**2).sum(axis=1)
        variance = np.linalg.solve(np.eye(self.n) - self.P * c**2, square)
        return Moments(mean, variance, self.R + self.P * q)

    def target_error(self, V: Array, lam: Array) -> Any:
        """J = ½ Σ d [(E[G^λ] - v)² + Var[G^λ]]."""
        found = self.moments(V, lam)
        return (self.d * ((found.mean - self.v) ** 2 + found.variance)).sum() / 2

    def gradient(self, V: Array, lam: Array, form: Any = None) -> Array:
        """∂J/∂λ(s): full (None), the exact one to a horizon, "derived" or "printed"."""
        found = self.moments(V, lam)
        gap, c, w = found.mean - V, self.gamma * lam, self.d / 2
        if form in ("derived", "printed"):
            sign = 1 if form == "printed" else -1
            bracket = lam * (gap**2 + found.variance) + sign * gap * (self.v - V)
            return self.d @ self.P * self.gamma**2 * bracket
        first, second, cross = (self.P * c).T, (self.P * c**2).T, (found.error * c).T
        mean_gradient = 2 * w * (found.mean - self.v)
        if form is None:
            y2 = np.linalg.solve(np.eye(self.n) - second, w + 0 * c)
            y1 = np.linalg.solve(np.eye(self.n) - first, mean_gradient + 2 * cross @ y2)
        else:
            y1, y2 = mean_gradient, w
            for _ in range(form - 1):
                y1, y2 = mean_gradient + first @ y1 + 2 * cross @ y2, w + second @ y2
        bias = y1 @ self.P + 2 * y2 @ found.error
        return self.gamma * (bias * gap + 2 * (y2 @ self.P) * c * found.variance)

    def value_step(self, w: Array, lam: Array, gradient: bool = False) -> Array:
        """The expected update of TD(λ) by α, b - A w; or of GTD with fast second weights, Aᵀ C⁻¹ (b - A w)."""
        kept = np.eye(self.n) - self.P * (self.gamma * lam)
        V = self.X @ w
        error = self.R.sum(axis=1) + self.P @ (self.gamma * V) - V * self.live
        step = self.X.T @ (self.D * np.linalg.solve(kept, error))
        if not gradient:
            return step
        A = self.X.T @ (self.D[:, None] * np.linalg.solve(kept, (np.eye(self.n) - self.P * self.gamma) @ self.X))
        C = self.X.T @ (self.D[:, None] * self.X)
        return A.T @ np.linalg.pinv(C) @ step

    def lam(self, u: Array) -> Array:
        """λ(s) = 1 - z·u, in [0, 1]; 0 in terminal states."""
        lam = 1 - self.Z @ u
        return np.where(lam.real < 0, 0, np.where(lam.real > 1, 1, lam)) * self.live


def visits(mdp: Any, policy: Any) -> Array:
    """Expected visits of each non-terminal state in an episode; in a task that goes on, its share of time."""
    d = mdp.under(policy).state_distribution()
    ends = d[mdp.terminal].sum()
    return np.where(mdp.terminal, 0.0, d) / (ends if ends > 0 else 1.0)


def by_complex_step(function: Callable[[Array], Array], at: Array, step: float = 1e-30) -> Array:
    """The Jacobian [output, input], exact to rounding."""
    columns = [function(at + 1j * step * e).imag / step for e in np.eye(at.size)]
    return np.stack(columns, axis=-1)


def by_differences(function: Callable[[Array], Array], at: Array, step: float = 1e-6) -> Array:
    """The Jacobian [output, input] by central differences."""
    columns = [(function(at + step * e) - function(at - step * e)) / (2 * step) for e in np.eye(at.size)]
    return np.stack(columns, axis=-1)

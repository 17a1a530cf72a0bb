"""The value error that updates towards a λ-return lead to, exactly.

**One update of a table.** V⁺(s) = V(s) + α (G - V(s)), with B = V(s) - v(s), b = E[G|s] - v(s), q = 1 - α:

    E[(V⁺(s) - v(s))²] = (q B + α b)² + α² Var[G|s]

since V⁺ - v = q B + α (G - v), and G - v has mean b. Weighted by w(s), with the value error VE, the target error J and
the mean squared size of the error that is corrected, D = ½ Σ w E[(G - V)²], this is

    J_α = (1 - α) VE + α J - α (1 - α) D

since |qx + αy|² = q|x|² + α|y|² - qα|x - y|². VE does not depend on λ, so J_α orders λ as J - (1 - α) D does: at α = 1
as the target error, as α → 0 as Σ w B b, in which no variance is left.

**n updates towards the same target** (independent draws of G, V of the other states held): by induction

    E[(V_n(s) - v(s))²] = (qⁿ B + (1 - qⁿ) b)² + α/(2 - α) (1 - q²ⁿ) Var[G|s]   →   b² + α/(2 - α) Var[G|s]

**n updates of any linear V = Xw**, s drawn from d and G from the current weights at each: with w̃ = (1, w), G has a mean
linear in w̃ and E[(G - V(s))²|s] = w̃ᵀ U_s w̃, so M = E[w̃ w̃ᵀ] obeys a linear recursion, exactly:

    M⁺ = M + α (L M + M Lᵀ) + α² Σ_s d(s) x̃(s) x̃(s)ᵀ tr(U_s M),      L w̃ = Σ_s d(s) x̃(s) (E[G|s] - V(s))
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from tdlambda.arrays import Floats


@dataclass(frozen=True)
class Parts:
    """B, b and Var of every state, and their weights."""

    weights: Floats
    before: Floats
    bias: Floats
    variance: Floats

    def squared_bias(self) -> float:
        """Σ w b²."""
        return self._sum(self.bias**2)

    def target_error(self) -> float:
        """2 J = Σ w (b² + Var)."""
        return self._sum(self.bias**2 + self.variance)

    def ahead(self, alpha: float, n: int = 1) -> float:
        """The value error of a table after n updates of each state towards the same target."""
        q = (1 - alpha) ** n
        noise = alpha / (2 - alpha) * (1 - q * q)
        return self._sum((q * self.before + (1 - q) * self.bias) ** 2 + noise * self.variance)

    def _sum(self, entries: Floats) -> float:
        used = self.weights > 0
        return float(self.weights[used] @ entries[used])


def parts(task: Any, V: Floats, lam: Any) -> Parts:
    """Of the target that TD(λ) moves towards, at these values."""
    mdp, v = task.mdp, task.exact.v()
    G = mdp.under(task.target, task.behavior).lambda_return(V, lam, correction="control-variate")
    return Parts(mdp.under(task.target).error_weights(), np.where(mdp.terminal, 0.0, V) - v, G.mean - v, G.variance)


class Linear:
    """Independent updates of V = Xw towards λ-returns; the same for every α."""

    def __init__(self, task: Any, X: Floats, lam: Any) -> None:
        mdp, o = task.mdp, task.mdp.outcomes
        n = mdp.n_states
        X = np.where(mdp.terminal[:, None], 0.0, X)
        self.x = np.hstack([np.zeros((n, 1)), X])
        one = np.zeros(self.x.shape[1])
        one[0] = 1.0
        pi, b = mdp.policy(task.target), mdp.policy(task.behavior)
        p = b[o.state, o.action] * o.probability
        rho = np.divide(pi, b, out=np.zeros_like(pi), where=b > 0)[o.state, o.action]
        gamma = rho * mdp.discount[o.next_state]
        keep = np.broadcast_to(np.asarray(lam, dtype=np.float64), n)[o.next_state]
        c = gamma * keep
        a = (rho * o.reward)[:, None] * one + (gamma * (1 - keep))[:, None] * self.x[o.next_state]
        a += (1 - rho)[:, None] * self.x[o.state]

        def by_state(entries: Floats) -> Floats:
            total = np.zeros((n, *entries.shape[1:]))
            np.add.at(total, o.state, p.reshape(-1, *(1,) * (entries.ndim - 1)) * entries)
            return total

        def solved(c: Floats, entries: Floats) -> Floats:
            system = np.eye(n) - o.matrix(p * c).toarray()
            return np.linalg.solve(system, entries.reshape(n, -1)).reshape(entries.shape)

        mean = solved(c, by_state(a))
        error = a + c[:, None] * mean[o.next_state] - mean[o.state]
        squares = by_state(error[:, :, None] * error[:, None, :])
        self.finite = bool(np.abs(np.linalg.eigvals(o.matrix(p * c**2).toarray())).max() < 1)
        variance = solved(c**2, squares) if self.finite else np.zeros_like(squares)
        step = mean - self.x
        self.U = variance + step[:, :, None] * step[:, None, :]
        d = np.where(mdp.terminal, 0.0, mdp.under(task.behavior).state_distribution())
        self.d = d / d.sum()
        self.L = (self.d[:, None] * self.x).T @ step
        weights, truth = mdp.under(task.target).error_weights(), mdp.v(task.target)[:, None] * one
        self.error = squared(weights, self.x - truth)
        self.target = squared(weights, mean - truth) + np.einsum("s,sij->ij", weights, variance)

    @cached_property
    def _noise(self) -> Floats:
        seen = self.d > 0
        x, U = self.x[seen], self.U[seen]
        outer = (x[:, :, None] * x[:, None, :]).reshape(len(x), -1)
        return (self.d[seen, None] * outer).T @ U.reshape(len(x), -1)

    def matrix(self, alpha: float) -> Floats:
        """One update, as a matrix on the entries of M."""
        one = np.eye(len(self.L))
        return (
            np.eye(one.size)
            + alpha * (np.kron(self.L, one) + np.kron(one, self.L))
            + alpha**2 * self._noise
        )  # fmt: skip

    def errors(self, alpha: float, w: Floats, doublings: int) -> Floats:
        """The expected value error after 0, 1, 2, 4, …, 2^doublings updates from these weights."""
        if not self.finite:
            return np.r_[self.value_error(w), np.full(doublings + 1, np.inf)]
        start = np.append(1.0, w)
        M, T, found = np.outer(start, start).ravel(), self.matrix(alpha), []
        with np.errstate(over="ignore", invalid="ignore"):
            for _ in range(doublings + 1):
                found.append(float(self.error.ravel() @ (T @ M)))
                T = T @ T
        out = np.r_[self.value_error(w), found]
        return np.where(np.isfinite(out) & (np.maximum.accumulate(np.abs(out)) < 1e100), out, np.inf)

    def value_error(self, w: Floats) -> Any:
        """Σ w(s) (V(s) - v(s))², of weights or of rows of them."""
        return of_weights(self.error, w)

    def target_error(self, w: Floats) -> Any:
        """Σ w(s) E[(G - v(s))²|s]."""
        return of_weights(self.target, w) if self.finite else np.full(np.shape(w)[:-1], np.inf)


def squared(weights: Floats, rows: Floats) -> Floats:
    """Σ w(s) (row_s · w̃)², as a matrix."""
    return (weights[:, None] * rows).T @ rows


def of_weights(form: Floats, w: Floats) -> Any:
    """A quadratic form of (1, w), for weights or rows of them."""
    full = np.concatenate([np.ones((*np.shape(w)[:-1], 1)), w], axis=-1)
    return np.einsum("...i,ij,...j->...", full, form, full)

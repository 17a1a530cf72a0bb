"""The overall target error J(λ), its gradients and its minimisers (Zhao 2020, chapter 4).

With w the weights of states (the ½ of the definition included in them) and m, Var as in `mdp.returns`:

    J(λ) = Σ w(s) [ (m(s) - v(s))² + Var(s) ]

λ(k) enters where k is the next state: a and c change by ∓ργ'V(k) and ργ', so m(s) by E[ργ'(m(k) - V(k))]. Two adjoint
systems collect the upstream effect of changes of m and Var, for any number of states:

    y₂ = w + E[c²]ᵀ y₂                          adjoint of Var(s)
    y₁ = 2w (m - v) + E[c]ᵀ y₁ + 2 E[δc]ᵀ y₂    adjoint of m(s)
    ∂J/∂λ(k) = Σ_s y₁(s) E[ργ'(m' - V'); k|s] + 2 y₂(s) E[ργ' (δ (m' - V') + c Var'); k|s]

Cutting the two series after n terms holds moments more than n steps ahead fixed: n = 1 is the exact one-step partial,

    w(s) 2 P(k|s) γ' { (L-V)(r + γ'V - v(s)) + γ'λ' [(L-V)² + Var] }     (on-policy, L = m(k), V = V(k), Var = Var(k)).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

import numpy as np
import scipy
from numpy.typing import ArrayLike

from tdlambda.arrays import Bools, Floats, choice
from tdlambda.mdp.overflow import in_range, quiet
from tdlambda.mdp.resolvent import Resolvent, cannot_reach
from tdlambda.mdp.return_statistics import Recursion
from tdlambda.showing import PrintedTable

GradientKind = Literal["full", "derived", "printed"]


@dataclass(frozen=True)
class Problem:
    """J as a function of λ: the λ-return, the true values, and the weights of states (with or without the ½)."""

    G: Recursion
    v: Floats
    w: Floats

    def at(self, lam: Floats) -> Problem:
        """The same problem at another λ."""
        G = self.G
        o, mdp = G.mdp.outcomes, G.mdp
        ratio = G.rho * mdp.discount[o.next_state]
        old, new = G.lam[o.next_state], lam[o.next_state]
        a = G.a + ratio * (old - new) * G.V[o.next_state]
        return replace(self, G=replace(G, lam=lam, a=a, c=ratio * new))

    @cached_property
    def matters(self) -> Bools:
        """The states whose λ-return J depends on at some λ: those that π reaches from a weighted one."""
        o, G = self.G.mdp.outcomes, self.G
        steps = G.expected(G.rho * G.mdp.discount[o.next_state])
        mask = np.ones(self.w.size, dtype=bool)
        mask[cannot_reach(steps.T, self.w > 0)] = False
        return mask


@dataclass(frozen=True, repr=False)
class BestLambda(PrintedTable):
    """The λ(s) that bounded optimisation found, and J there."""

    lam: Floats
    target_error: float


@quiet
def target_error(problem: Problem) -> float:
    """J(λ); infinite where a state of positive weight has infinite variance."""
    G, v, w = problem.G, problem.v, problem.w
    used = w > 0
    J = float((w[used] * ((G.mean[used] - v[used]) ** 2 + G.variance[used])).sum())
    return J if np.isinf(G.variance[used]).any() else in_range(J, "the target error")


@quiet
def gradient(problem: Problem, kind: GradientKind, horizon: int | None) -> Floats:
    """∇J(λ): full, up to a horizon, or in one of the one-step forms of Zhao (2020)."""
    choice(kind, "kind", "full", "derived", "printed")
    G = problem.G
    diverges = G.diverges & problem.matters
    if diverges.any():
        state = int(np.argmax(diverges))
        raise ValueError(f"lam: the λ-return from state {state} has infinite variance, so J(λ) has no gradient")
    if kind != "full":
        if horizon not in (None, 1):
            raise ValueError(f'horizon must be 1 or None with kind="{kind}", a one-step form; got {horizon}')
        return _thesis(problem, 1.0 if kind == "printed" else -1.0)
    mdp, o = G.mdp, G.mdp.outcomes
    y1, y2 = _adjoints(problem, horizon)
    change = G.rho * mdp.discount[o.next_state]
    bias = change * (G.mean - G.V)[o.next_state]
    variance = np.where(problem.matters, G.variance, 0.0)
    spread = change * G.c * variance[o.next_state] + G.error * bias
    into = G.weight * (y1[o.state] * bias + 2 * y2[o.state] * spread)
    return in_range(_into_states(problem, into), "the gradient")


def _adjoints(problem: Problem, horizon: int | None) -> tuple[Floats, Floats]:
    """(y₁, y₂), or their series cut after `horizon` terms."""
    G, w = problem.G, problem.w
    cross = G.expected(G.error * G.c).T
    mean_gradient = 2 * w * (G.mean - problem.v)
    if horizon is None:
        second = G.second
        if G.diverges.any():  # in states that do not matter: their rows are never used
            second = Resolvent(scipy.sparse.csr_array(second.matrix.multiply(problem.matters[:, None])))
        y2 = second.solve_transposed(w)
        return G.first.solve_transposed(mean_gradient + 2 * (cross @ y2)), y2
    y1, y2 = mean_gradient, w
    for _ in range(horizon - 1):
        y1, y2 = mean_gradient + G.first.matrix.T @ y1 + 2 * (cross @ y2), w + G.second.matrix.T @ y2
    return y1, y2


def _thesis(problem: Problem, sign: float) -> Floats:
    """2w(s) P_π(k|s) γ'² [ λ' ((V-L)² + Var) ± (V-L)(V-M) ], summed over s: minus is derived, plus is printed."""
    G, mdp = problem.G, problem.G.mdp
    o = mdp.outcomes
    variance = np.where(problem.matters, G.variance, 0.0)
    slope = meta_derivative(G.V, G.mean, problem.v, variance, mdp.discount, G.lam, "printed" if sign > 0 else "derived")
    into = 2 * problem.w[o.state] * G.weight * G.rho
    return in_range(_into_states(problem, into) * slope, "the gradient")


def _into_states(problem: Problem, entries: Floats) -> Floats:
    """Summed by next state; λ of a terminal state has no effect."""
    mdp = problem.G.mdp
    return np.where(mdp.terminal, 0.0, mdp.outcomes.by_next_state(entries))


def meta_derivative(
    V: ArrayLike, L: ArrayLike, M: ArrayLike, S: ArrayLike, gamma: ArrayLike, lam: ArrayLike,
    sign: Literal["derived", "printed"] = "derived",
) -> Floats:  # fmt: skip
    """γ'² [ λ' ((V-L)² + S) - (V-L)(V-M) ]: the derivative of one step's target error by λ', Zhao (2020).

    Parameters
    ----------
    V, L, M, S
        V(x'), E[G^λ], E[G] and Var[G^λ] at x'.
    gamma, lam
        γ' and λ', both in [0, 1].
    sign
        "derived" as above; "printed" has + for the second term, as the proposition prints it.

    Examples
    --------
    >>> import tdlambda as td
    >>> best = td.mdp.meta_minimizer(V=0.5, L=0.8, M=0.9, S=0.1)
    >>> float(best.round(4)), float(abs(td.mdp.meta_derivative(0.5, 0.8, 0.9, 0.1, 0.95, best)) < 1e-12)
    (0.6316, 1.0)
    """
    choice(sign, "sign", "derived", "printed")
    V, L, M, S, gamma, lam = (np.asarray(x, dtype=np.float64) for x in (V, L, M, S, gamma, lam))
    gap = V - L
    return np.asarray(gamma**2 * (lam * (gap**2 + S) + (1.0 if sign == "printed" else -1.0) * gap * (V - M)))


@quiet
def meta_minimizer(V: ArrayLike, L: ArrayLike, M: ArrayLike, S: ArrayLike) -> Floats:
    """(V-L)(V-M) / ((V-L)² + S), where `meta_derivative` is 0; not clipped, and 0 where it is 0/0.

    Parameters
    ----------
    V, L, M, S
        V(x'), E[G^λ], E[G] and Var[G^λ] at x'.

    Examples
    --------
    >>> import tdlambda as td
    >>> float(td.mdp.meta_minimizer(V=0.0, L=1.0, M=1.0, S=1.0))
    0.5
    """
    V, L, M, variance = (np.asarray(x, dtype=np.float64) for x in (V, L, M, S))
    above, square = in_range((V - L) * (V - M), "(V-L)(V-M)"), in_range((V - L) ** 2, "(V-L)²")
    below = square + variance
    return np.asarray(np.divide(above, below, out=np.zeros_like(below), where=below > 0))


@quiet
def best_lambda(problem: Problem) -> BestLambda:
    """The λ(s) in [0, 1] that minimises J, by L-BFGS-B with the exact gradient from four starting points."""
    n = problem.w.size
    half = problem.at(np.full(n, 0.5))
    greedy = meta_minimizer(problem.G.V, half.G.mean, problem.v, half.G.variance)
    best = BestLambda(np.zeros(n), target_error(problem.at(np.zeros(n))))
    if best.target_error == 0:
        return best
    scale = max(best.target_error, 1e-300)  # so that the optimiser's tolerances are relative

    def fun(lam: Floats) -> tuple[float, Floats]:
        here = problem.at(np.clip(lam, 0, 1))
        J = target_error(here)
        if not np.isfinite(J) or (here.G.diverges & here.matters).any():
            return 1e30, np.zeros(n)
        return J / scale, gradient(here, "full", None) / scale

    options = {"maxiter": 10_000, "maxfun": 100_000, "ftol": 1e-15, "gtol": 1e-10}
    for start in (np.zeros(n), np.full(n, 0.5), np.ones(n), np.clip(greedy, 0, 1)):
        found = scipy.optimize.minimize(fun, start, jac=True, method="L-BFGS-B", bounds=[(0, 1)] * n, options=options)
        lam = np.clip(found.x, 0, 1)
        J = target_error(problem.at(lam))
        if best.target_error > J:
            best = BestLambda(lam, J)
    return best

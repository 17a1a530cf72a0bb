"""Mean and variance of the λ-return from each state of a finite MDP.

A λ-return obeys one recursion, G_t = a_t + c_t G_{t+1}, with a and c known for each outcome (s, a, r, s'):

    c = ρ γ' λ'
    a = ρ (r' + γ' (1-λ') V(s'))                       "per-decision"
    a = ρ (r' + γ' (1-λ') V(s')) + (1-ρ) V(s)          "control-variate"

"per-decision" places ρ = π(a|s)/b(a|s) on the whole bracket, its own first reward included. "control-variate" is
the target that off-policy TD(λ) moves towards: V(s) + ρ (δ + γ'λ' (G' - V(s'))). Both have the same mean when V = v,
and at every V if λ = 1; on-policy (ρ = 1) they are the same. With expectations under the behaviour policy,

    m(s)   = E[ a + c m(s') ]
    Var(s) = E[ (a + c m(s') - m(s))² + c² Var(s') ]

which are two sparse linear systems. The second is the Bellman equation of direct VTD (Sherstan et al. 2018). As a sum
of squares it loses no digits, unlike m₂ - m². Where E[c²] does not contract and the future is random, there is no
finite solution, and Var is inf.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Literal

import numpy as np

from tdlambda.arrays import Bools, Floats, Matrix, choice
from tdlambda.mdp.overflow import in_range, quiet
from tdlambda.mdp.resolvent import Resolvent, cannot_reach, diverging
from tdlambda.mdp.values import require_proper
from tdlambda.showing import PrintedTable

if TYPE_CHECKING:
    from tdlambda.mdp.finite import FiniteMDP

Correction = Literal["per-decision", "control-variate"]
_ROUNDING = 1e-12
"""A return counts as deterministic if it differs from its mean by at most this fraction of its terms."""


@dataclass(frozen=True, repr=False)
class LambdaMoments(PrintedTable):
    """Mean E[G^λ|s] and variance Var[G^λ|s] of the λ-return from each state.

    >>> import tdlambda as td
    >>> td.make("TwoState-v0").mdp.under().lambda_return(V=0.0, lam=0.5).mean.round(3)
    array([0.25 , 0.556, 0.   ])
    """

    mean: Floats
    variance: Floats

    @property
    @quiet
    def second_moment(self) -> Floats:
        """E[(G^λ)²|s]."""
        return self.variance + in_range(self.mean**2, "a squared mean")


@dataclass(frozen=True)
class Recursion:
    """G = a + c G', for each outcome; `weight` is its probability b(a|s) p(s',r|s,a) under the behaviour policy."""

    mdp: FiniteMDP
    V: Floats
    lam: Floats
    weight: Floats
    rho: Floats
    a: Floats
    c: Floats

    def expected(self, entries: Floats) -> Matrix:
        """E[entries; s' | s] as a [state, next state] matrix, for a number at each outcome."""
        return self.mdp.outcomes.matrix(self.weight * entries)

    def expected_in_state(self, entries: Floats) -> Floats:
        """E[entries | s]."""
        return self.mdp.outcomes.by_state(self.weight * entries)

    @cached_property
    def first(self) -> Resolvent:
        """The resolvent (I - E[c])⁻¹ of the mean."""
        return Resolvent(self.expected(self.c))

    @cached_property
    def second(self) -> Resolvent:
        """The resolvent (I - E[c²])⁻¹ of the variance."""
        return Resolvent(self.expected(self.c**2))

    @cached_property
    def mean(self) -> Floats:
        """E[G|s]."""
        return self.first.solve(self.expected_in_state(self.a))

    @cached_property
    @quiet
    def error(self) -> Floats:
        """δ = a + c m(s') - m(s) for each outcome; its mean in each state is 0."""
        o = self.mdp.outcomes
        delta: Floats = self.a + self.c * self.mean[o.next_state] - self.mean[o.state]
        return delta

    @cached_property
    def diverges(self) -> Bools:
        """The states from which E[c²] does not contract, so that any variance is infinite."""
        return diverging(self.second.matrix)

    @cached_property
    @quiet
    def variance(self) -> Floats:
        """Var[G|s]."""
        source = in_range(self.expected_in_state(self.error**2), "a variance")
        if not self.diverges.any():
            return self.second.solve(source)
        o = self.mdp.outcomes
        size = np.abs(self.a) + np.abs(self.c * self.mean[o.next_state]) + np.abs(self.mean[o.state])
        noisy = source > _ROUNDING**2 * self.expected_in_state(size**2)
        variance = np.zeros(self.mdp.n_states)
        random = np.ones(self.mdp.n_states, dtype=bool)
        random[cannot_reach(self.second.matrix, noisy)] = False
        among = np.flatnonzero(random)
        M = self.second.matrix[among][:, among]
        infinite = diverging(M)
        variance[among[infinite]] = np.inf
        finite = among[~infinite]
        variance[finite] = Resolvent(self.second.matrix[finite][:, finite]).solve(source[finite])
        return variance


@quiet
def recursion(mdp: FiniteMDP, V: Floats, lam: Floats, pi: Floats, b: Floats, correction: Correction) -> Recursion:
    """The recursion G = a + c G' of the λ-return that bootstraps from V, under behaviour b, corrected towards π."""
    choice(correction, "correction", "per-decision", "control-variate")
    o = mdp.outcomes
    V = np.where(mdp.terminal, 0.0, V)
    weight = b[o.state, o.action] * o.probability
    with np.errstate(invalid="ignore", divide="ignore"):
        rho = np.where(weight > 0, pi[o.state, o.action] / b[o.state, o.action], 0.0)
    in_range(rho**2, "ρ²", "give behavior larger probabilities")
    gamma_next, lam_next = mdp.discount[o.next_state], lam[o.next_state]
    c = rho * gamma_next * lam_next
    a = rho * (o.reward + gamma_next * (1 - lam_next) * V[o.next_state])
    if correction == "control-variate":
        a += (1 - rho) * V[o.state]
    in_range(a, "a term of the λ-return")
    G = Recursion(mdp, V, lam, weight, rho, a, c)
    if not G.first.converges():
        require_proper(mdp, G.expected(rho))
        G.first.require_accurate()
    return G


def moments(G: Recursion) -> LambdaMoments:
    """Mean and variance of the λ-return."""
    return LambdaMoments(G.mean, G.variance)

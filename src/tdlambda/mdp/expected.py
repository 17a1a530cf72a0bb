"""The expected update of a learner with traces, before features: one row per state or per state-action pair.

With m the weights of the rows, M the trace's decay, k the correction's mean, N the discounted correction and r the
corrected reward, all expectations under the behaviour policy b, the update of V = X w is on average

    E[Δw] = Xᵀ diag(m) (I - M)⁻¹ (r - (diag(k) - N) X w)

| | state values | action values |
| --- | --- | --- |
| M | Σ_a b c p γ(s')λ(s') | p γ(s')λ(s') b(a' given s') c(s',a') |
| k | Σ_a b κ | 1 |
| N | Σ_a b κ p γ(s') | p γ(s') π(a' given s') |
| m | d, or the emphasis | d(s) b(a given s) |

Xᵀ diag(m) (I - M)⁻¹ holds m(s) E[e|s] for the trace e = γλ c⁻ e + x. (I - M)⁻¹(diag(k) - N) is I - Z for the operator
V ↦ v + Z (V - v) whose fixed point v is that of a table.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import scipy

from tdlambda.arrays import Floats, Matrix
from tdlambda.mdp.corrections import Correction, TraceCorrection, coefficient_tables, is_importance
from tdlambda.mdp.distribution import visited
from tdlambda.mdp.overflow import in_range, quiet
from tdlambda.mdp.resolvent import Resolvent
from tdlambda.mdp.values import expected_reward, require_proper, transition_matrix

if TYPE_CHECKING:
    from tdlambda.mdp.finite import FiniteMDP

_LARGEST = 5000
"""Largest number of rows of a dense matrix: 200 MB."""


@dataclass(frozen=True)
class ExpectedUpdate:
    """The expected update: `weights` m, `decay` M, `correction` k, `following` N and `reward` r as above."""

    weights: Floats
    decay: Matrix
    correction: Floats
    following: Matrix
    reward: Floats

    def weighted(self, weights: Floats) -> ExpectedUpdate:
        """The same update with other weights of the rows."""
        return replace(self, weights=weights)

    @cached_property
    def _resolvent(self) -> Resolvent:
        return Resolvent(self.decay)

    def __getstate__(self) -> dict[str, Any]:
        """The fields alone: a factorisation cannot be pickled."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def require_traces(self, mdp: FiniteMDP, pi: Floats) -> Self:
        """Validate that the expected trace is finite and can be computed in double precision."""
        if not self._resolvent.converges():
            require_proper(mdp, transition_matrix(mdp, pi))
            self._resolvent.require_accurate()
        return self

    @quiet
    def traced(self, X: Floats) -> Floats:
        """m(s) E[e|s], one row for each row of X."""
        return self._resolvent.solve_transposed(self.weights[:, None] * X)

    @quiet
    def without_bootstrap(self, X: Floats) -> Floats:
        """(diag(k) - N) X = E[κ(x - γ'x') | s]."""
        return self.correction[:, None] * X - self.following @ X

    def fixed_point(self) -> Floats:
        """The values v with k v = r + N v, the limit of tabular learning."""
        share = 1 / self.correction
        resolvent = Resolvent(scipy.sparse.csr_array(self.following.multiply(share[:, None])))
        resolvent.require_accurate()
        return resolvent.solve(self.reward * share)

    def remainder(self) -> Floats:
        """I - Z = (I - M)⁻¹ (diag(k) - N), dense."""
        require_small(self.correction.size)
        return self._resolvent.solve(np.diag(self.correction) - self.following.toarray())

    def key_matrix(self) -> Floats:
        """K = diag(m) (I - M)⁻¹ (diag(k) - N), with A = Xᵀ K X."""
        return in_range(self.weights[:, None] * self.remainder(), "the key matrix")


def require_small(rows: int) -> None:
    """Validate that a dense matrix of so many rows fits in memory."""
    if rows > _LARGEST:
        raise ValueError(f"a dense matrix is limited to {_LARGEST} states or state-action pairs; got {rows}")


def state_update(mdp: FiniteMDP, lam: Floats, pi: Floats, b: Floats, correction: Correction) -> ExpectedUpdate:
    """The expected update of state values, weighted by the behaviour policy's d."""
    o = mdp.outcomes
    if is_importance(correction):  # b ρ = π: using π itself avoids rounding
        traced = corrected = transition_matrix(mdp, pi)
        mean, reward = np.ones(mdp.n_states), expected_reward(mdp, pi)
    else:
        c, kappa = coefficient_tables(correction, pi, b, mdp.terminal)
        taken = b[o.state, o.action] * o.probability
        weights = taken * c[o.state, o.action], taken * kappa[o.state, o.action]
        traced, corrected = (o.matrix(w) for w in weights)
        mean = np.where(mdp.terminal, 1.0, (b * kappa).sum(axis=1))
        reward = o.by_state(weights[1] * o.reward)
    decay = scipy.sparse.csr_array(traced.multiply(mdp.discount * lam))
    following = scipy.sparse.csr_array(corrected.multiply(mdp.discount))
    return ExpectedUpdate(visited(mdp, b), decay, mean, following, reward).require_traces(mdp, pi)


def action_update(mdp: FiniteMDP, lam: Floats, pi: Floats, b: Floats, correction: Correction) -> ExpectedUpdate:
    """The expected update of action values, rows in the order of (state, action), weighted by d(s) b(a|s)."""
    name = correction.name if isinstance(correction, TraceCorrection) else correction
    if isinstance(name, str) and name == "vtrace":
        raise ValueError('correction "vtrace" is for state values only; use "retrace", which has the same coefficient')
    c, _ = coefficient_tables(correction, pi, b, mdp.terminal)
    traced = pi if is_importance(correction) else b * c
    decay = pair_matrix(mdp, traced * (mdp.discount * lam)[:, None])
    following = pair_matrix(mdp, pi * mdp.discount[:, None])
    o = mdp.outcomes
    reward = o.by_pair(o.probability * o.reward).ravel()
    weights = (visited(mdp, b)[:, None] * b).ravel()
    return ExpectedUpdate(weights, decay, np.ones(reward.size), following, reward).require_traces(mdp, pi)


def pair_matrix(mdp: FiniteMDP, entering: Floats) -> Matrix:
    """p(s'|s,a) entering(s',a') as a sparse [pair, next pair] matrix."""
    o, n, m = mdp.outcomes, mdp.n_states, mdp.n_actions
    leave = scipy.sparse.csr_array((o.probability, (o.state * m + o.action, o.next_state)), shape=(n * m, n))
    columns = (np.repeat(np.arange(n), m), np.arange(n * m))
    enter = scipy.sparse.csr_array((entering.ravel(), columns), shape=(n, n * m))
    matrix = scipy.sparse.csr_array(leave @ enter)
    matrix.eliminate_zeros()
    return matrix

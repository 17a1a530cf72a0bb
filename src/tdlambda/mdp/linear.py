"""Linear features on a finite MDP: what TD(λ) and GTD(λ) converge to.

With D the behaviour policy's distribution over non-terminal states, X the features [state, feature], and Γ, Λ the
discount and λ on entering a state, the expected update of TD(λ) with per-decision importance sampling is b - A w:

    A = Xᵀ D (I - P_π Γ Λ)⁻¹ (I - P_π Γ) X,    b = Xᵀ D (I - P_π Γ Λ)⁻¹ r_π,    C = Xᵀ D X
    MSPBE(w) = (b - A w)ᵀ C⁻¹ (b - A w)        (Maei 2011; Sutton & Barto 2018, section 11.7)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import scipy

from tdlambda.arrays import Floats
from tdlambda.mdp.distribution import state_distribution
from tdlambda.mdp.overflow import in_range, quiet
from tdlambda.mdp.resolvent import Resolvent
from tdlambda.mdp.values import expected_reward, require_proper, transition_matrix

if TYPE_CHECKING:
    from tdlambda.mdp.finite import FiniteMDP

_RANK_TOLERANCE = 1e-10


@dataclass(frozen=True)
class LinearSystem:
    """The expected update b - A w, and the feature covariance C."""

    A: Floats
    b: Floats
    C: Floats

    @quiet
    def td_fixed_point(self) -> Floats:
        """The least w with A w = b; an error where there is none (features that depend on each other, off-policy)."""
        A, b, s = self._scaled()
        w = _least_squares(A, b, s)
        if not np.allclose(A @ (w / s), b, rtol=0, atol=1e-8 * max(1e-300, float(np.abs(b).max()))):
            raise ValueError("features: A w = b has no solution, TD(λ) has no fixed point with these features")
        return in_range(w, "a weight")

    @quiet
    def gtd_fixed_point(self) -> Floats:
        """The least w among those of least MSPBE."""
        A, b, s = self._scaled()
        root = self._root_of_inverse_covariance()
        return in_range(_least_squares(root @ A, root @ b, s), "a weight")

    @quiet
    def mspbe(self, w: Floats) -> float:
        """(b - A w)ᵀ C⁻¹ (b - A w), with the pseudo-inverse where features depend on each other."""
        if w.shape != self.b.shape:
            raise ValueError(f"weights must have shape {self.b.shape}, one for each feature; got {w.shape}")
        if not np.isfinite(w).all():
            raise ValueError(f"weights must be finite; got {w.tolist()}")
        residual = self._root_of_inverse_covariance() @ (self._scale() * (self.b - self.A @ w))
        return in_range(float(residual @ residual), "the MSPBE")

    def _scale(self) -> Floats:
        """1 over each feature's root mean square: what counts as rank must not depend on a feature's unit."""
        size = np.sqrt(np.diag(self.C))
        return np.divide(1.0, size, out=np.ones_like(size), where=size > 0)

    def _scaled(self) -> tuple[Floats, Floats, Floats]:
        s = self._scale()
        return s[:, None] * self.A * s, s * self.b, s

    def _root_of_inverse_covariance(self) -> Floats:
        s = self._scale()
        eigenvalues, vectors = scipy.linalg.eigh(s[:, None] * self.C * s)
        kept = eigenvalues > _RANK_TOLERANCE * eigenvalues.max()
        root: Floats = (vectors[:, kept] / np.sqrt(eigenvalues[kept])).T
        return root


@quiet
def system(mdp: FiniteMDP, X: Floats, lam: Floats, pi: Floats, b: Floats) -> LinearSystem:
    """A, b and C of features X, λ, target policy π and behaviour policy b."""
    if X.ndim != 2 or X.shape[0] != mdp.n_states:
        raise ValueError(f"features must have shape ({mdp.n_states}, number of features); got {X.shape}")
    if not np.isfinite(X).all():
        state = int(np.argmax(~np.isfinite(X).all(axis=1)))
        raise ValueError(f"features of state {state} are not finite: {X[state].tolist()}")
    X = np.where(mdp.terminal[:, None], 0.0, X)
    d = np.where(mdp.terminal, 0.0, state_distribution(mdp, b, "direct", 1.0))
    d /= d.sum()
    P = transition_matrix(mdp, pi)
    bootstrap = X - P @ (mdp.discount[:, None] * X)
    traces = Resolvent(scipy.sparse.csr_array(P.multiply(mdp.discount * lam)))
    if not traces.converges():
        require_proper(mdp, P)
    traced = traces.solve(np.column_stack((bootstrap, expected_reward(mdp, pi))))
    weighted = X.T * d
    parts = (weighted @ traced[:, :-1], weighted @ traced[:, -1], weighted @ X)
    return LinearSystem(*(in_range(part, "A, b or C") for part in parts))


def _least_squares(A: Floats, b: Floats, s: Floats) -> Floats:
    """The least w = s u among those whose u solves A u = b best."""
    left, singular, right = scipy.linalg.svd(A, full_matrices=True)
    rank = int((singular > _RANK_TOLERANCE * singular.max(initial=0.0)).sum())
    w: Floats = s * (right[:rank].T @ ((left.T @ b)[:rank] / singular[:rank]))
    free = scipy.linalg.qr(s[:, None] * right[rank:].T, mode="economic")[0]  # the directions of w that A does not see
    return w - free @ (free.T @ w)

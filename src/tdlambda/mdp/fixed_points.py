"""Linear features on a finite MDP: fixed points and stability of TD(λ), ETD(λ) and gradient methods.

With D the behaviour policy's distribution over non-terminal states, X the features [state, feature], and Γ, Λ the
discount and λ on entering a state, the expected update of TD(λ) with per-decision importance sampling is b - A w:

    A = Xᵀ D (I - P_π Γ Λ)⁻¹ (I - P_π Γ) X,    b = Xᵀ D (I - P_π Γ Λ)⁻¹ r_π,    C = Xᵀ D X
    MSPBE(w) = (b - A w)ᵀ C⁻¹ (b - A w)        (Maei 2011; Sutton & Barto 2018, section 11.7)

ETD(λ) has the emphasis diag(m) in place of D (`mdp.emphasis`). Other trace coefficients and action values have other
matrices in place of P_π (`mdp.expected`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Literal

import numpy as np
import scipy

from tdlambda.arrays import Floats, choice, refuse
from tdlambda.mdp import stability
from tdlambda.mdp.corrections import Correction, is_importance
from tdlambda.mdp.emphasis import emphasis
from tdlambda.mdp.expected import ExpectedUpdate, action_update, state_update
from tdlambda.mdp.overflow import in_range, quiet
from tdlambda.showing import PrintedTable

if TYPE_CHECKING:
    from tdlambda.mdp.finite import FiniteMDP

_RANK_TOLERANCE = 1e-10


@dataclass(frozen=True, repr=False)
class LinearSystem(PrintedTable):
    """The expected update b - A w, and the feature covariance C.

    Attributes
    ----------
    A, b, C
        C is weighted as A is: by d, or by the emphasis m.
    update
        The same update before features.
    A_of_behavior
        Computes A of on-policy TD(λ) under the behaviour policy, which HTD(λ) needs.
    method
        "td" or "etd".

    Examples
    --------
    >>> import numpy as np
    >>> import tdlambda as td
    >>> baird = td.make("Baird-v0")
    >>> X = baird.features.matrix(np.arange(7))
    >>> off_policy = baird.exact.linear_system(X, 0.0)
    >>> off_policy.is_stable("td"), off_policy.is_stable("tdrc")
    (False, True)
    >>> baird.exact.linear_system(X, 0.0, method="etd").is_stable()
    True
    """

    A: Floats
    b: Floats
    C: Floats
    update: ExpectedUpdate | None = field(default=None, repr=False)
    A_of_behavior: Callable[[], Floats] | None = field(default=None, repr=False)
    method: Literal["td", "etd"] = "td"

    @quiet
    def td_fixed_point(self) -> Floats:
        """The minimum-norm w with A w = b; raise if none exists (possible off-policy with dependent features)."""
        A, b, s = self._scaled()
        w = _least_squares(A, b, s)
        if not np.allclose(A @ (w / s), b, rtol=0, atol=1e-8 * max(1e-300, float(np.abs(b).max()))):
            name = self.method.upper()
            raise ValueError(f"features: A w = b has no solution, so {name}(λ) has no fixed point with these features")
        return in_range(w, "a weight")

    @quiet
    def gtd_fixed_point(self) -> Floats:
        """The minimum-norm w among those that minimise the MSPBE."""
        A, b, s = self._scaled()
        root = self._root_of_inverse_covariance()
        return in_range(_least_squares(root @ A, root @ b, s), "a weight")

    @quiet
    def mspbe(self, w: Floats) -> float:
        """The MSPBE (b - A w)ᵀ C⁻¹ (b - A w), with the pseudo-inverse if features are linearly dependent."""
        w = np.asarray(w, dtype=np.float64)
        if w.shape != self.b.shape:
            raise ValueError(f"weights must have shape {self.b.shape}, one for each feature; got {w.shape}")
        if not np.isfinite(w).all():
            raise ValueError(f"weights must be finite; got {w.tolist()}")
        M, c = self.projected()
        residual = c - M @ w
        return in_range(float(residual @ residual), "the MSPBE")

    def key_matrix(self) -> Floats:
        """The key matrix K = diag(m) H (I - P_π Γ), with A = Xᵀ K X; one row per state or state-action pair."""
        return self.expected().key_matrix()

    def is_positive_definite(self, of: Literal["A", "K"] = "A") -> bool:
        """Whether wᵀAw > 0 for all w with Xw ≠ 0 in visited states, or vᵀKv > 0 for all values v of visited states.

        Either makes the expected update converge at a small enough step size; K does so for any features.
        """
        choice(of, "of", "A", "K")
        if of == "K":
            return stability.is_positive_definite(self.key_matrix(), self.expected().weights)
        root = self._root_of_inverse_covariance() * self._scale()
        return stability.is_positive_definite(root @ self.A @ root.T, np.ones(len(root)))

    def growth_rate(self, algorithm: stability.Algorithm = "td", *, ratio: float = 1.0, reg: float = 1.0) -> float:
        """The largest real part of the expected update's eigenvalues: errors grow if it is positive, else shrink.

        Directions of w that do not affect the values of visited states never change and are ignored.

        Parameters
        ----------
        algorithm
            "td" for the update b - A w itself (that of ETD in a system of method="etd"), "gtd" (also "tdc"), "gtd2",
            "tdrc" or "htd".
        ratio
            Ratio β/α of the two step sizes, positive.
        reg
            Regularisation of TDRC, at least 0.
        """
        choice(algorithm, "algorithm", *stability.ALGORITHMS)
        if algorithm != "td" and self.method == "etd":
            raise ValueError(f'algorithm must be "td" in a system of method="etd"; got {algorithm!r}')
        if algorithm == "htd" and self.A_of_behavior is None:
            raise ValueError('algorithm: "htd" is for state values with correction="importance"')
        basis = self._seen()
        A, C = basis.T @ self.A @ basis, basis.T @ self.C @ basis
        A_b = basis.T @ self.A_of_behavior() @ basis if algorithm == "htd" and self.A_of_behavior else None
        return stability.growth_rate(algorithm, A, C, A_b, ratio, reg)

    def is_stable(self, algorithm: stability.Algorithm = "td", *, ratio: float = 1.0, reg: float = 1.0) -> bool:
        """Whether the expected update converges at a small enough step size.

        Parameters
        ----------
        algorithm, ratio, reg
            See `growth_rate`.
        """
        return self.growth_rate(algorithm, ratio=ratio, reg=reg) < -1e-12 * float(np.abs(self.A).max())

    def expected(self) -> ExpectedUpdate:
        """The update before features."""
        if self.update is None:
            raise ValueError("only a system from PolicyView.linear_system has a key matrix")
        return self.update

    def projected(self) -> tuple[Floats, Floats]:
        """The M = C^{-½} A and c = C^{-½} b with MSPBE(w) = ‖c - M w‖², one row per independent feature."""
        root = self._root_of_inverse_covariance() * self._scale()
        return root @ self.A, root @ self.b

    def _scale(self) -> Floats:
        """1 over each feature's root mean square, so that numerical rank does not depend on the features' units."""
        size = np.sqrt(np.diag(self.C))
        return np.divide(1.0, size, out=np.ones_like(size), where=size > 0)

    def _scaled(self) -> tuple[Floats, Floats, Floats]:
        s = self._scale()
        return s[:, None] * self.A * s, s * self.b, s

    def _spectrum(self) -> tuple[Floats, Floats]:
        """The nonzero eigenvalues of the scaled C, and their eigenvectors."""
        s = self._scale()
        eigenvalues, vectors = scipy.linalg.eigh(s[:, None] * self.C * s)
        kept = eigenvalues > _RANK_TOLERANCE * eigenvalues.max()
        return eigenvalues[kept], vectors[:, kept]

    def _root_of_inverse_covariance(self) -> Floats:
        eigenvalues, vectors = self._spectrum()
        root: Floats = (vectors / np.sqrt(eigenvalues)).T
        return root

    def _seen(self) -> Floats:
        """An orthonormal basis of the weights that affect the value of a visited state."""
        basis: Floats = scipy.linalg.qr(self._spectrum()[1] / self._scale()[:, None], mode="economic")[0]
        return basis


@dataclass(frozen=True)
class Emphases:
    """The additional parameters of ETD(λ): the interest in each state, and β in place of γ in the follow-on trace."""

    interest: Floats
    beta: Floats | None


@quiet
def system(
    mdp: FiniteMDP,
    X: Floats,
    lam: Floats,
    pi: Floats,
    b: Floats,
    correction: Correction = "importance",
    emphatic: Emphases | None = None,
) -> LinearSystem:
    """A, b and C of features X, λ, target policy π and behaviour policy b; X has three axes for action values."""
    for_actions = X.ndim == 3
    if emphatic is not None and (for_actions or not is_importance(correction)):
        raise ValueError('method: "etd" is for state values, with correction="importance"')
    if for_actions:
        update, rows = action_update(mdp, lam, pi, b, correction), X.reshape(-1, X.shape[2])
    else:
        update, rows = state_update(mdp, lam, pi, b, correction), X
    if emphatic is not None:
        update = update.weighted(emphasis(mdp, lam, pi, b, emphatic.interest, emphatic.beta).emphasis)
    traced = update.traced(rows)
    parts = (traced.T @ update.without_bootstrap(rows), traced.T @ update.reward, (rows.T * update.weights) @ rows)
    A, target, C = (in_range(part, "A, b or C") for part in parts)
    plain = not for_actions and is_importance(correction)
    A_of_behavior = partial(_A_of_behavior, mdp, rows, lam, b) if plain else None
    return LinearSystem(A, target, C, update, A_of_behavior, "td" if emphatic is None else "etd")


def _A_of_behavior(mdp: FiniteMDP, X: Floats, lam: Floats, b: Floats) -> Floats:
    update = state_update(mdp, lam, b, b, "importance")
    return update.traced(X).T @ update.without_bootstrap(X)


@quiet
def expected_trace(mdp: FiniteMDP, X: Floats, lam: Floats, pi: Floats, b: Floats, correction: Correction) -> Floats:
    """z with D z = D X + ΓΛ P_cᵀ D z."""
    if X.ndim != 2:
        raise ValueError(f"features must have shape ({mdp.n_states}, number of features); got {X.shape}")
    update = state_update(mdp, lam, pi, b, correction)
    d = update.weights[:, None]
    traced = update.traced(X)
    return np.divide(traced, d, out=np.zeros_like(traced), where=d > 0)


def discrepancy(mdp: FiniteMDP, X: Floats, lam: Floats, other: Floats, pi: Floats) -> float:
    """‖X w_λ - X w_λ'‖ weighted by d (by d(s) π(a|s) for action values)."""
    one, two = (system(mdp, X, each, pi, pi) for each in (lam, other))
    difference = X.reshape(-1, X.shape[-1]) @ (one.td_fixed_point() - two.td_fixed_point())
    return float(np.sqrt(one.expected().weights @ difference**2))


def feature_table(mdp: FiniteMDP, features: object) -> Floats:
    """Features [state, feature] or [state, action, feature], or one-hot from an integer observation for each state.

    Those of terminal states are 0.
    """
    X = np.asarray(features)
    if X.shape == (mdp.n_states,) and X.dtype.kind in "iu":
        return np.where(mdp.terminal[:, None], 0.0, X[:, None] == np.unique(X[~mdp.terminal]))
    X = X.astype(np.float64)
    one = X.ndim == 2 and X.shape[0] == mdp.n_states
    if not one and not (X.ndim == 3 and X.shape[:2] == (mdp.n_states, mdp.n_actions)):
        raise ValueError(
            f"features must have shape ({mdp.n_states}, number of features); got {X.shape}. For action values the "
            f"shape is ({mdp.n_states}, {mdp.n_actions}, number of features); observations are {mdp.n_states} integers"
        )
    bad = ~np.isfinite(X).reshape(mdp.n_states, -1).all(axis=1)
    refuse(bad, lambda state: f"features of state {state} must be finite; got {X[state].tolist()}")
    return np.where(mdp.terminal.reshape(-1, *[1] * (X.ndim - 1)), 0.0, X)


def _least_squares(A: Floats, b: Floats, s: Floats) -> Floats:
    """The minimum-norm w = s u among the least-squares solutions u of A u = b."""
    left, singular, right = scipy.linalg.svd(A, full_matrices=True)
    rank = int((singular > _RANK_TOLERANCE * singular.max(initial=0.0)).sum())
    w: Floats = s * (right[:rank].T @ ((left.T @ b)[:rank] / singular[:rank]))
    free = scipy.linalg.qr(s[:, None] * right[rank:].T, mode="economic")[0]  # the null space of A
    return w - free @ (free.T @ w)

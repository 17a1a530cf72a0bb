"""Stability of expected updates, from the eigenvalues of the update matrix of w, or of (w, h) with second weights.

With A, b, C of `mdp.linear`, A_b the matrix A of on-policy TD(λ) under the behaviour policy and η = β/α, the mean
updates are

    TD, ETD   w: b - A w
    GTD, TDC  w: b - A w - (C - Aᵀ) h      h: η (b - A w - C h)                  (Maei 2011)
    GTD2      w: Aᵀ h                      h: η (b - A w - C h)
    TDRC      w: as TDC                    h: η (b - A w - (C + reg I) h)        (Ghiassian et al. 2020)
    HTD       w: b - A w + (A - A_b)ᵀ h    h: η (b - A w - A_bᵀ h)               (White & White 2016)

The update of (w, h) is linear; at small step sizes, errors shrink if all eigenvalues of its matrix have negative real
parts. GTD and GTD2 are taken in the form of the MSPBE's gradient: for V-trace, whose κ is not ρ, forms of their updates
that otherwise agree have different means.
"""

from typing import Literal

import numpy as np

from tdlambda.arrays import Floats, not_negative, positive

Algorithm = Literal["td", "gtd", "tdc", "gtd2", "tdrc", "htd"]
ALGORITHMS: tuple[Algorithm, ...] = ("td", "gtd", "tdc", "gtd2", "tdrc", "htd")
_ROUNDING = 1e-10


def growth_rate(algorithm: Algorithm, A: Floats, C: Floats, A_b: Floats | None, ratio: float, reg: float) -> float:
    """The largest real part of the eigenvalues of the update matrix of (w, h)."""
    if not A.size:
        raise ValueError("features must be nonzero in at least one visited state")
    return float(np.linalg.eigvals(joint_matrix(algorithm, A, C, A_b, ratio, reg)).real.max())


def joint_matrix(algorithm: Algorithm, A: Floats, C: Floats, A_b: Floats | None, ratio: float, reg: float) -> Floats:
    """The matrix of the mean update, of w alone for "td" and of (w, h) for the others."""
    ratio, reg = positive(ratio, "ratio"), not_negative(reg, "reg")
    if algorithm == "td":
        return -A
    if algorithm == "htd":
        if A_b is None:
            raise ValueError("A_b must be given for HTD: the matrix A of the behaviour policy")
        return np.block([[-A, (A - A_b).T], [-ratio * A, -ratio * A_b.T]])
    decay = C + reg * np.eye(len(C)) if algorithm == "tdrc" else C
    first = [np.zeros_like(A), A.T] if algorithm == "gtd2" else [-A, A.T - C]
    return np.block([first, [-ratio * A, -ratio * decay]])


def is_positive_definite(matrix: Floats, weights: Floats) -> bool:
    """Whether the symmetric part is positive definite on the rows of positive weight, each scaled by its weight."""
    live = weights > 0
    root = np.sqrt(weights[live])
    scaled = matrix[np.ix_(live, live)] / root[:, None] / root
    eigenvalues = np.linalg.eigvalsh((scaled + scaled.T) / 2)
    return bool(eigenvalues.size and eigenvalues[0] > _ROUNDING * np.abs(eigenvalues).max())

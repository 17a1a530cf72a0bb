"""Overshooting-bounded gradient descent (ObGD) for TD(λ): Elsayed, Vasan & Mahmood (2024).

    e  = ρ (γλ e + x)
    M  = α κ max(|δ|, 1) Σ|e|
    w += α / max(1, M) δ e

Hence Σ|Δw| ≤ min(|δ|, 1)/κ at every step. This prevents overshooting if |x_i| ≤ 1, so normalise the features.
"""

from __future__ import annotations

from tdlambda.algorithms.td import TD
from tdlambda.arrays import positive
from tdlambda.core import declare
from tdlambda.learners.step_size import StepSize


class ObGDTD(declare.AlgorithmDeclaration):
    """TD(λ) with ObGD."""

    parameters = "kappa"
    dots = {"v": "w.x", "v_next": "w.x'"}
    keeps = {"decay": 0.0}
    before_at = "live"

    @staticmethod
    def before(e, x, decay, rho):
        """The feature's share of Σ|e|, with the new trace."""
        size = abs(rho * (decay * e + x))
        return size

    @staticmethod
    def step(v, v_next, decay, size, alpha, kappa, reward, gamma_next, rho, lam_next):
        """Coefficients of the update."""
        delta = reward + gamma_next * v_next - v
        along = alpha / max(1.0, alpha * kappa * max(abs(delta), 1.0) * size) * delta
        keep, decay = rho * decay, gamma_next * lam_next
        return keep, along, decay

    @staticmethod
    def feature(w, e, x, keep, rho, along):
        """The update of one feature."""
        e = keep * e + rho * x
        w = w + along * e
        return w, e


class ObGD(StepSize):
    """ObGD: bounds each step so that the update does not overshoot, for features in [-1, 1].

    Parameters
    ----------
    alpha
        Step size α > 0 of updates that the bound does not limit.
    kappa
        Positive; a larger κ gives smaller steps, and above 1 no update overshoots.

    Examples
    --------
    >>> import tdlambda as td
    >>> v = td.TD(td.features.OneHot(3), alpha=td.steps.ObGD(), lam=0.8)
    >>> v.update(0, 1.0, 1, gamma=0.9)
    >>> v.predict(0)
    0.5
    """

    forms = {TD: ObGDTD}

    def __init__(self, alpha: float = 1.0, kappa: float = 2.0) -> None:
        self.alpha, self.kappa = positive(alpha, "alpha"), positive(kappa, "kappa")

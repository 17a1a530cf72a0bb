"""Implicit TD(λ): Tamar, Toulis, Mannor & Airoldi (2014).

    e  = ρ (γλ e + x)
    w += α / (1 + α |e|² / ρ) δ e

On-policy this solves w⁺ = w + α (r' + γ' w·x' + γλ e⁻·w - e·w⁺) e for the new weights w⁺. The form for ρ ≠ 1 is derived
here: with λ = 0 it solves w⁺ = w + αρ (r' + γ' w·x' - w⁺·x) x. A step with ρ = 0 leaves w unchanged.
"""

from __future__ import annotations

from tdlambda.algorithms.td import TD
from tdlambda.arrays import positive
from tdlambda.core import declare
from tdlambda.learners.step_size import StepSize


class ImplicitTD(declare.AlgorithmDeclaration):
    """TD(λ) with implicit steps."""

    dots = {"v": "w.x", "v_next": "w.x'", "ex": "e.x", "ee": "e.e", "xx": "x.x"}
    keeps = {"decay": 0.0}
    updates = """
        e  = keep e + rho x
        w += along e
    """

    @staticmethod
    def step(v, v_next, ex, ee, xx, decay, alpha, reward, gamma_next, rho, lam_next):
        """Coefficients of the update; length is |e|² / ρ with the new trace."""
        length = rho * (decay * decay * ee + 2 * decay * ex + xx)
        along = alpha / (1 + alpha * length) * (reward + gamma_next * v_next - v)
        keep, decay = rho * decay, gamma_next * lam_next
        return keep, along, decay


class Implicit(StepSize):
    """Implicit steps: α shrinks where the trace is long, so that V(x) never overshoots its target.

    Parameters
    ----------
    alpha
        Step size α > 0; it may be arbitrarily large.

    Examples
    --------
    >>> import tdlambda as td
    >>> v = td.TD(td.features.OneHot(3), alpha=td.steps.Implicit(100.0), lam=0.0)
    >>> v.update(0, 1.0, 1, gamma=0.9)
    >>> round(v.predict(0), 3)
    0.99
    """

    forms = {TD: ImplicitTD}

    def __init__(self, alpha: float = 0.5) -> None:
        self.alpha = positive(alpha, "alpha")

"""Intentional TD(λ): Sharifnassab, Elsayed, De Asis, Mahmood & Sutton (2026).

    e  = ρ (γλ e + x)
    s  = g s + (1 - g) |x|²,    n = g n + (1 - g)            a running mean of |x|², s/n
    w += η / √(|e|² s/n) δ e

g = γ'λ' is the forgetting factor of the mean; at a terminal state the previous factor is used. With λ = 0, V(x) moves
by exactly η δ. s and n carry over from one episode to the next.
"""

from __future__ import annotations

import math

from tdlambda.algorithms.td import TD
from tdlambda.arrays import fraction
from tdlambda.core import declare
from tdlambda.learners.step_size import StepSize


class IntentionalTD(declare.AlgorithmDeclaration):
    """TD(λ) with intentional steps; α is η."""

    dots = {"v": "w.x", "v_next": "w.x'", "ex": "e.x", "ee": "e.e", "xx": "x.x"}
    keeps = {"decay": 0.0}
    holds = {"total": 0.0, "weight": 0.0, "forget": 0.0}
    updates = """
        e  = keep e + rho x
        w += along e
    """

    @staticmethod
    def step(v, v_next, ex, ee, xx, decay, total, weight, forget, alpha, reward, gamma_next, rho, lam_next):
        """Coefficients of the update."""
        forget = gamma_next * lam_next if gamma_next > 0 else forget
        total = forget * total + (1 - forget) * xx
        weight = forget * weight + (1 - forget)
        keep = rho * decay
        length = keep * keep * ee + 2 * keep * rho * ex + rho * rho * xx
        square = length * (total / weight if weight > 0 else xx)
        along = alpha / math.sqrt(square) * (reward + gamma_next * v_next - v) if square > 0 else 0.0
        decay = gamma_next * lam_next
        return keep, along, decay, total, weight, forget


class Intentional(StepSize):
    """Intentional steps: each update moves V(x) by about a fixed fraction of its error, whatever the unit of x.

    Parameters
    ----------
    alpha
        The fraction η, in (0, 1].

    Examples
    --------
    >>> import tdlambda as td
    >>> v = td.TD(td.features.Dense(2), alpha=td.steps.Intentional(0.5), lam=0.0)
    >>> v.update([100.0, 0.0], 8.0, [0.0, 1.0], gamma=0.9)
    >>> v.predict([100.0, 0.0])
    4.0
    """

    forms = {TD: IntentionalTD}

    def __init__(self, alpha: float = 0.5) -> None:
        self.alpha = fraction(alpha, "alpha", zero=False)

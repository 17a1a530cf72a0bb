"""Intentional TD(λ) with a scale for each weight: intentional steps along e/√(mean (δe)²).

    e  = ρ (γλ e + x)
    q  = β q + (1 - β) (δ e)²,    d = 1/√(q / (1 - β^t))          a scale for each weight
    s  = g s + (1 - g) Σ d x²,    n = g n + (1 - g)               a running mean of Σ d x², s/n
    w += η / √(Σ d e² · s/n) δ d e

The step is that of `td.steps.Intentional` in the coordinates w/√d: the direction is that of RMSProp (Tieleman & Hinton
2012) with Adam's correction for the start (Kingma & Ba 2015), and the length is intentional (Sharifnassab et al. 2026).
It does not depend on the unit of the rewards or of any feature. With λ = 0, V(x) moves by about η δ. A weight whose
(δe)² has been 0 so far does not move.
"""

from __future__ import annotations

import math

from tdlambda.algorithms.td import TD
from tdlambda.arrays import fraction
from tdlambda.core import declare
from tdlambda.learners.step_size import StepSize


class IntentionalRMSTD(declare.AlgorithmDeclaration):
    """TD(λ) with intentional steps and a scale for each weight; α is η."""

    weight_rows, lasting_rows = "w q", "q"
    parameters = "beta"
    dots = {"v": "w.x", "v_next": "w.x'"}
    keeps = {"decay": 0.0}
    holds = {"total": 0.0, "weight": 0.0, "forget": 0.0, "fade": 1.0}
    before_at = "live"

    @staticmethod
    def before(e, q, x, v, v_next, decay, fade, beta, reward, gamma_next, rho):
        """The new trace and mean square; the feature's shares of Σ d e² and of Σ d x²."""
        e = rho * (decay * e + x)
        change = (reward + gamma_next * v_next - v) * e
        q = beta * q + (1 - beta) * change * change
        scale = math.sqrt((1 - fade * beta) / q) if q > 0 else 0.0
        length = scale * e * e
        square = scale * x * x
        return e, q, length, square

    @staticmethod
    def step(v, v_next, length, square, decay, total, weight, forget, fade, alpha, beta, reward, gamma_next, lam_next):
        """Coefficients of the update."""
        forget = gamma_next * lam_next if gamma_next > 0 else forget
        total = forget * total + (1 - forget) * square
        weight = forget * weight + (1 - forget)
        fade = fade * beta
        below = length * (total / weight if weight > 0 else square)
        along = alpha * math.sqrt((1 - fade) / below) * (reward + gamma_next * v_next - v) if below > 0 else 0.0
        decay = gamma_next * lam_next
        return along, decay, total, weight, forget, fade

    @staticmethod
    def feature(w, q, e, along):
        """The update of one feature."""
        w = w + along * e / math.sqrt(q) if q > 0 else w
        return w


class IntentionalRMS(StepSize):
    """Intentional steps with a scale for each weight, the root of its mean squared change.

    Parameters
    ----------
    alpha
        The fraction η of its error by which each update moves V(x), in (0, 1].
    beta
        Decay β of the mean squares, in [0, 1).

    Examples
    --------
    >>> import tdlambda as td
    >>> v = td.TD(td.features.Dense(2), alpha=td.steps.IntentionalRMS(0.5), lam=0.0)
    >>> v.update([100.0, 0.1], 8.0, [0.0, 1.0], gamma=0.9)
    >>> round(v.predict([100.0, 0.1]), 6), (v.weights * [100.0, 0.1]).round(3)
    (4.0, array([3.996, 0.004]))
    """

    forms = {TD: IntentionalRMSTD}

    def __init__(self, alpha: float = 0.3, beta: float = 0.999) -> None:
        self.alpha, self.beta = fraction(alpha, "alpha", zero=False), fraction(beta, "beta")
        if self.beta == 1:
            raise ValueError("beta must be below 1; got 1")

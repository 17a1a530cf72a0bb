"""TIDBD(λ), one step size per feature by meta-gradient descent: Kearney, Veeriah, Travnik, Sutton & Pilarski (2018).

    y   = x (semi-gradient)  or  x - γ' x' (ordinary gradient)
    α_i = α_i exp(θ δ y_i H_i)
    e   = ρ (γλ e + x)
    w_i += α_i δ e_i
    H_i = H_i [1 - α_i y_i e_i]⁺ + α_i δ e_i

a_i is α_i relative to the initial α. H carries over from one episode to the next. TIDBD was published on-policy; here ρ
enters the trace as in TD(λ). A good θ depends on the units of rewards and features (in `Autostep` it does not), and
learning diverges if θ is too large.
"""

from __future__ import annotations

import math

from tdlambda.algorithms.td import TD
from tdlambda.arrays import choice, not_negative, positive
from tdlambda.core import declare
from tdlambda.learners.step_size import StepSize

MOST = 20.0
"""Largest change of ln α_i in one step, so that a growing step size is reported as divergence before it overflows."""


def grown(z):
    """exp(z), clipped to [e^-20, e^20]; for small z by its series, at half the cost."""
    if abs(z) < 0.01:
        out = 1 + z * (1 + z * (1 / 2 + z * (1 / 6 + z * (1 / 24 + z * (1 / 120 + z * (1 / 720))))))
    else:
        out = math.exp(min(max(z, -MOST), MOST))
    return out


def moved(w, h, size, delta, e, y):
    """A weight and its meta-gradient trace after a step of this size."""
    by = size * delta * e
    return w + by, h * max(0.0, 1 - size * y * e) + by


class SemiTIDBD(declare.AlgorithmDeclaration):
    """TD(λ) with TIDBD by the semi-gradient."""

    weight_rows, parameters = "w a h", "theta"
    starts = {"a": 1.0}
    dots = {"v": "w.x", "v_next": "w.x'"}
    keeps = {"decay": 0.0}

    @staticmethod
    def step(v, v_next, decay, reward, gamma_next, rho, lam_next):
        """Coefficients of the update."""
        delta = reward + gamma_next * v_next - v
        keep, decay = rho * decay, gamma_next * lam_next
        return keep, delta, decay

    @staticmethod
    def feature(w, a, h, e, x, keep, rho, delta, alpha, theta):
        """The update of one feature; exp is computed only where the exponent is not 0."""
        push = theta * delta * x * h
        if push != 0:
            a = a * grown(push)
        e = keep * e + rho * x
        w, h = moved(w, h, alpha * a, delta, e, x)
        return w, a, h, e


class OrdinaryTIDBD(SemiTIDBD):
    """TD(λ) with TIDBD by the ordinary gradient."""

    @staticmethod
    def feature(w, a, h, e, x, x_next, keep, rho, delta, alpha, theta, gamma_next):
        """The update of one feature; exp is computed only where the exponent is not 0."""
        y = x - gamma_next * x_next
        push = theta * delta * y * h
        if push != 0:
            a = a * grown(push)
        e = keep * e + rho * x
        w, h = moved(w, h, alpha * a, delta, e, y)
        return w, a, h, e


class TIDBD(StepSize):
    """TIDBD: one step size per feature, adapted by meta-gradient descent on the squared TD error.

    Parameters
    ----------
    alpha
        Initial step size of every feature, positive.
    theta
        Meta step size θ ≥ 0; 0 gives TD(λ).
    gradient
        Gradient of the TD error: "ordinary" or "semi".

    Examples
    --------
    >>> import tdlambda as td
    >>> walk = td.make("RandomWalk-v0")
    >>> v = td.TD(walk.features, alpha=td.steps.TIDBD(0.05, theta=0.01), lam=0.9)
    >>> v.update_many(walk.sampler(seed=1).take(2_000))
    >>> bool(v.row("V_a").min() < 1 < v.row("V_a").max())          # α_i relative to the initial α
    True
    """

    def __init__(self, alpha: float = 0.01, theta: float = 0.01, gradient: str = "ordinary") -> None:
        self.alpha, self.theta = positive(alpha, "alpha"), not_negative(theta, "theta")
        self.gradient = choice(gradient, "gradient", "ordinary", "semi")

    @property
    def forms(self) -> dict[type[declare.AlgorithmDeclaration], type[declare.AlgorithmDeclaration]]:
        """The declaration for the chosen kind of gradient."""
        return {TD: OrdinaryTIDBD if self.gradient == "ordinary" else SemiTIDBD}

"""Autostep for TD(λ): Mahmood, Sutton, Degris & Pilarski (2012); Kearney et al. (2019).

    y   = x - γ' x'
    e   = ρ (γλ e + x)
    ν_i = max( |δ y_i H_i|, ν_i + (α_i y_i e_i / τ) (|δ y_i H_i| - ν_i) )
    α_i = α_i exp(θ δ y_i H_i / ν_i)
    M   = max(1, Σ α_i y_i e_i),    α_i = α_i / M where y_i ≠ 0
    w_i += α_i δ e_i
    H_i = H_i [1 - α_i y_i e_i]⁺ + α_i δ e_i

ν makes the step sizes independent of the unit of rewards, and M bounds the step. e is the new trace everywhere; a
transcription of the paper has the old trace in ν and M, so that its bound ignores the current step. M divides the step
sizes that appear in the sum.
"""

from __future__ import annotations

from tdlambda.algorithms.td import TD
from tdlambda.arrays import not_negative, positive
from tdlambda.core import declare
from tdlambda.learners.step_size import StepSize
from tdlambda.steps.tidbd import grown, moved


class AutostepTD(declare.AlgorithmDeclaration):
    """TD(λ) with Autostep."""

    weight_rows, parameters = "w a h nu", "theta tau"
    starts = {"a": 1.0}
    dots = {"v": "w.x", "v_next": "w.x'"}
    keeps = {"decay": 0.0}
    before_at = "live"

    @staticmethod
    def before(a, h, nu, e, x, x_next, v, v_next, decay, alpha, theta, tau, reward, gamma_next, rho):
        """The ν and α of one feature, and its contribution to M."""
        y = x - gamma_next * x_next
        after = rho * (decay * e + x)
        push = (reward + gamma_next * v_next - v) * y * h
        nu = max(abs(push), nu + alpha * a * y * after / tau * (abs(push) - nu))
        if push != 0:
            a = a * grown(theta * push / nu)
        most = alpha * a * y * after
        return a, nu, most

    @staticmethod
    def step(v, v_next, decay, most, reward, gamma_next, rho, lam_next):
        """Coefficients of the update."""
        delta = reward + gamma_next * v_next - v
        shrink = 1.0 / max(1.0, most)
        keep, decay = rho * decay, gamma_next * lam_next
        return keep, delta, shrink, decay

    @staticmethod
    def feature(w, a, h, e, x, x_next, keep, rho, delta, shrink, alpha, gamma_next):
        """The update of one feature."""
        y = x - gamma_next * x_next
        if y != 0:
            a = a * shrink
        e = keep * e + rho * x
        w, h = moved(w, h, alpha * a, delta, e, y)
        return w, a, h, e


class Autostep(StepSize):
    """Autostep: one step size per feature, adapted by normalised meta-gradients, with a bound on the total step.

    Parameters
    ----------
    alpha
        Initial step size of every feature, positive.
    theta
        Meta step size θ ≥ 0; 0.01 in the paper.
    tau
        Time scale τ > 0 of the normaliser, in steps.

    Examples
    --------
    >>> import tdlambda as td
    >>> walk = td.make("RandomWalk-v0")
    >>> v = td.TD(walk.features, alpha=td.steps.Autostep(), lam=0.9)
    >>> v.update_many(walk.sampler(seed=1).take(2_000))
    >>> bool(v.row("V_a").min() < 1 < v.row("V_a").max())          # α_i relative to the initial α
    True
    """

    forms = {TD: AutostepTD}

    def __init__(self, alpha: float = 0.1, theta: float = 0.01, tau: float = 1e4) -> None:
        self.alpha, self.theta, self.tau = positive(alpha, "alpha"), not_negative(theta, "theta"), positive(tau, "tau")

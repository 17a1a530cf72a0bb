"""GTD(λ), also known as TDC(λ): Maei (2011), Sutton & Barto (2018) section 12.11.

    δ  = r' + γ' w·x' - w·x
    e  = ρ (γλ e + x)
    w += α [ δ e - γ' (1-λ') (e·h) x' ]                     form="correction"
    w += α [ δ e - (h·x) x + (e·h) (x - γ' x') ]            form="gradient" (Elelimy et al. 2025)
    h += β [ δ e - (h·x) x ]

h estimates the part of δ that the features can explain. Both updates use h from before the step. The two forms have the
same mean, b - A w - (C - Aᵀ) h with C = E[x xᵀ], because E[γ'λ' e x'ᵀ] = E[e xᵀ] - C.
"""

from __future__ import annotations

from tdlambda.algorithms.second_weights import TwoForms
from tdlambda.core import declare


class GTD(TwoForms):
    """GTD(λ), also known as TDC(λ): gradient descent on the MSPBE, which converges off-policy with linear features.

    Parameters are those of `TwoForms`.

    Examples
    --------
    >>> import tdlambda as td
    >>> baird = td.make("Baird-v0")
    >>> v = td.GTD(baird.features, alpha=0.005, lam=0.0, beta=0.05, initial=baird.initial_weights)
    >>> v.update_many(baird.sampler(seed=1).take(20_000))
    >>> bool(abs(v.weights).max() < 20)
    True
    """

    correcting = "beta"
    updates = """
        e  = keep e + rho x
        w += along e + correct x'
        h += along_h e + back_h x
    """

    @staticmethod
    def step(v, v_next, hx, eh, decay, alpha, beta, reward, gamma_next, rho, lam_next):
        """Coefficients of the update; keep eh + ρ hx is e·h with the new trace."""
        delta = reward + gamma_next * v_next - v
        keep = rho * decay
        correct = -alpha * gamma_next * (1 - lam_next) * (keep * eh + rho * hx)
        along, along_h, back_h = alpha * delta, beta * delta, -beta * hx
        decay = gamma_next * lam_next
        return keep, along, correct, along_h, back_h, decay


class GradientTraceGTD(declare.AlgorithmDeclaration):
    """GTD(λ) in its gradient-trace form."""

    weight_rows, sizes, correcting, dots, keeps = "w h", "alpha beta", "beta", GTD.dots, GTD.keeps
    updates = """
        e  = keep e + rho x
        w += along e + back x + correct x'
        h += along_h e + back_h x
    """

    @staticmethod
    def step(v, v_next, hx, eh, decay, alpha, beta, reward, gamma_next, rho, lam_next):
        """Coefficients of the update; push is α e·h with the new trace."""
        delta = reward + gamma_next * v_next - v
        keep = rho * decay
        push = alpha * (keep * eh + rho * hx)
        back, correct = push - alpha * hx, -gamma_next * push
        along, along_h, back_h = alpha * delta, beta * delta, -beta * hx
        decay = gamma_next * lam_next
        return keep, along, back, correct, along_h, back_h, decay


GTD.gradient_form = GradientTraceGTD

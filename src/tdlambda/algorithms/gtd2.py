"""GTD2(λ): Sutton et al. (2009), with traces as in Maei (2011).

    δ  = r' + γ' w·x' - w·x
    e  = ρ (γλ e + x)
    w += α [ (h·x) x - γ' (1-λ') (e·h) x' ]                 form="correction"
    w += α (e·h) (x - γ' x')                                form="gradient" (Elelimy et al. 2025)
    h += β [ δ e - (h·x) x ]

Both updates use h from before the step. The two forms have the same mean, Aᵀh: the gradient of the MSPBE once h has
converged. At λ = 0 the first form has ρ on its second term only, the second form on both terms; both are published.
"""

from __future__ import annotations

from tdlambda.algorithms.second_weights import TwoForms
from tdlambda.core import declare


class GTD2(TwoForms):
    """GTD2(λ): gradient descent on the MSPBE; w learns from h alone, never from δ directly.

    Parameters are those of `TwoForms`.

    Examples
    --------
    >>> import tdlambda as td
    >>> baird = td.make("Baird-v0")
    >>> steps = baird.sampler(seed=1).take(20_000)
    >>> for form in ("correction", "gradient"):
    ...     v = td.GTD2(baird.features, 0.01, lam=0.0, beta=0.05, form=form, initial=baird.initial_weights)
    ...     v.update_many(steps)
    ...     print(form, f"{abs(v.weights).max():.1f}")                    # 10 at first
    correction 6.3
    gradient 6.6
    """

    updates = """
        e  = keep e + rho x
        w += push x - pull x'
        h += along_h e + back_h x
    """

    @staticmethod
    def step(v, v_next, hx, eh, decay, alpha, beta, reward, gamma_next, rho, lam_next):
        """Coefficients of the update; keep eh + ρ hx is e·h with the new trace."""
        delta, keep = reward + gamma_next * v_next - v, rho * decay
        push, pull = alpha * hx, alpha * gamma_next * (1 - lam_next) * (keep * eh + rho * hx)
        along_h, back_h = beta * delta, -beta * hx
        decay = gamma_next * lam_next
        return keep, push, pull, along_h, back_h, decay


class GradientTraceGTD2(declare.AlgorithmDeclaration):
    """GTD2(λ) in its gradient-trace form."""

    weight_rows, sizes, dots, keeps, updates = "w h", "alpha beta", GTD2.dots, GTD2.keeps, GTD2.updates

    @staticmethod
    def step(v, v_next, hx, eh, decay, alpha, beta, reward, gamma_next, rho, lam_next):
        """Coefficients of the update; push is α e·h with the new trace."""
        delta, keep = reward + gamma_next * v_next - v, rho * decay
        push = alpha * (keep * eh + rho * hx)
        pull = gamma_next * push
        along_h, back_h = beta * delta, -beta * hx
        decay = gamma_next * lam_next
        return keep, push, pull, along_h, back_h, decay


GTD2.gradient_form = GradientTraceGTD2

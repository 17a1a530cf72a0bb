"""TDRC(λ), TD with regularised corrections: Ghiassian et al. (2020).

    δ  = r' + γ' w·x' - w·x
    e  = ρ (γλ e + x)
    w += α [ δ e - γ' (1-λ') (e·h) x' ]
    h += β [ δ e - (h·x) x - reg h ]

Both updates use h from before the step. reg = 0 is GTD(λ); a larger reg makes h smaller and the update closer to TD(λ).
β reg is capped at 1: above 1, h would change sign at every step, and above 2 it would grow without bound.
"""

from tdlambda.algorithms.second_weights import SecondWeights
from tdlambda.arrays import not_negative


class TDRC(SecondWeights):
    """TDRC(λ): GTD(λ) with regularised second weights, so that one step size serves both w and h.

    Parameters
    ----------
    features, alpha, lam, beta, options
        See `SecondWeights`.
    reg
        Regularisation ≥ 0 that shrinks h towards 0, in units of |x|². The product β · reg is capped at 1.

    Examples
    --------
    >>> import tdlambda as td
    >>> baird = td.make("Baird-v0")
    >>> options = {"initial": baird.initial_weights, "on_divergence": "flag"}
    >>> v, plain = (kind(baird.features, alpha=0.01, lam=0.0, **options) for kind in (td.TDRC, td.TD))
    >>> for learner in (v, plain):
    ...     learner.update_many(baird.sampler(seed=1).take(20_000))
    >>> v.diverged_at, plain.diverged_at
    (None, 2701)
    """

    parameters, reg, ranges, correcting = "reg", 1.0, {"reg": not_negative}, "beta"
    updates = """
        e  = keep e + rho x
        w += along e + correct x'
        h  = shrink h + along_h e + back_h x
    """

    @staticmethod
    def step(v, v_next, hx, eh, decay, reg, alpha, beta, reward, gamma_next, rho, lam_next):
        """Coefficients of the update; keep eh + ρ hx is e·h with the new trace."""
        delta = reward + gamma_next * v_next - v
        keep, shrink = rho * decay, max(1 - beta * reg, 0.0)
        correct = -alpha * gamma_next * (1 - lam_next) * (keep * eh + rho * hx)
        along, along_h, back_h = alpha * delta, beta * delta, -beta * hx
        decay = gamma_next * lam_next
        return keep, along, correct, shrink, along_h, back_h, decay

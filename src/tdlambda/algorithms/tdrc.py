"""TDRC(λ), TD with regularised corrections: Ghiassian et al. (2020).

    δ  = r' + γ' w·x' - w·x
    e  = ρ (γλ e + x)
    w += α [ δ e - γ' (1-λ') (e·h) x' ]
    h += β [ δ e - (h·x) x - reg h ]

Both changes use h from before the step. reg = 0 is GTD(λ); the larger reg, the smaller h, and the closer to TD(λ).
β reg beyond 1 counts as 1: the sign of h would change at each step, and beyond 2 h would grow without bound.
"""

from tdlambda.algorithms.second_weights import SecondWeights
from tdlambda.arrays import not_negative


class TDRC(SecondWeights):
    """TDRC(λ): GTD(λ) whose second weights decay towards 0, so that one step size serves both.

    Parameters
    ----------
    features, alpha, lam, beta, options
        See `SecondWeights`.
    reg
        How strongly h is drawn to 0, in the unit of |x|². β · reg beyond 1 counts as 1.

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

"""TDRC(λ), TD with regularised corrections: Ghiassian et al. (2020).

    δ  = r' + γ' w·x' - w·x
    e  = ρ (γλ e + x)
    w += α [ δ e - γ' (1-λ') (e·h) x' ]
    h += β [ δ e - (h·x) x - reg h ]

Both changes use h from before the step. reg = 0 is GTD(λ); the larger reg, the smaller h, and the closer to TD(λ).
β reg beyond 1 counts as 1: the sign of h would change at each step, and beyond 2 h would grow without bound.
"""

from __future__ import annotations

from typing import Any

from tdlambda.algorithms.second_weights import SecondWeights
from tdlambda.arrays import not_negative
from tdlambda.features import Encoder
from tdlambda.learners.step_size import OneOver, StepSize


class TDRC(SecondWeights):
    """TDRC(λ): GTD(λ) whose second weights decay towards 0, so that one step size serves both.

    Parameters
    ----------
    features, alpha, lam
        See `Algorithm`.
    beta
        Step size of the second weights: a number; α itself by default. With a schedule for α, a factor on α.
    reg
        How strongly h is drawn to 0, in the unit of |x|². β · reg beyond 1 counts as 1.
    options
        The rest of `Algorithm`'s parameters.

    Examples
    --------
    >>> import tdlambda as td
    >>> lake = td.make("FrozenLake-v0")
    >>> v = td.TDRC(lake.features, alpha=0.003, lam=0.5)
    >>> v.update_many(lake.sampler(seed=1).take(50_000))
    >>> bool(lake.mdp.value_error(v.predict_many(range(16)), lake.target) < 0.0003)  # 0.0013 at first
    True
    """

    parameters, reg = "reg", 1.0
    dots = {"v": "w.x", "v_next": "w.x'", "hx": "h.x", "eh": "e.h"}
    keeps = {"decay": 0.0}
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

    def __init__(
        self,
        features: Encoder,
        alpha: float | OneOver | StepSize,
        lam: Any = 0.9,
        beta: float | None = None,
        reg: float = 1.0,
        **options: Any,
    ) -> None:
        super().__init__(features, alpha, lam, beta, reg=not_negative(reg, "reg"), **options)

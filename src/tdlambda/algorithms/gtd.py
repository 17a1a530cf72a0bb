"""GTD(λ), also known as TDC(λ): Maei (2011), Sutton & Barto (2018) section 12.11.

    δ  = r' + γ' w·x' - w·x
    e  = ρ (γλ e + x)
    w += α [ δ e - γ' (1-λ') (e·h) x' ]
    h += β [ δ e - (h·x) x ]

h estimates the part of δ that the features can explain; both changes use h from before the step.
"""

from __future__ import annotations

from typing import Any

from tdlambda.arrays import positive
from tdlambda.features import Encoder
from tdlambda.learners.algorithm import Algorithm
from tdlambda.learners.step_size import OneOver


class GTD(Algorithm):
    """GTD(λ): off-policy TD(λ) that converges with linear features, by gradient descent on the MSPBE.

    Parameters
    ----------
    features, alpha, lam
        See `Algorithm`.
    beta
        Step size of the second weights: a number; α itself by default. With a schedule for α, a factor on α.
    options
        The rest of `Algorithm`'s parameters.

    Examples
    --------
    >>> import tdlambda as td
    >>> baird = td.make("Baird-v0")
    >>> v = td.GTD(baird.features, alpha=0.005, lam=0.0, beta=0.05, initial=baird.initial_weights)
    >>> v.update_many(baird.sampler(seed=1).take(20_000))
    >>> bool(abs(v.weights).max() < 20)
    True
    """

    weight_rows, sizes = "w h", "alpha beta"
    dots = {"v": "w.x", "v_next": "w.x'", "hx": "h.x", "eh": "e.h"}
    keeps = {"decay": 0.0}
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

    def __init__(
        self, features: Encoder, alpha: float | OneOver, lam: Any = 0.9, beta: float | None = None, **options: Any
    ) -> None:
        super().__init__(features, alpha, lam, beta=1.0 if beta is None else positive(beta, "beta"), **options)
        self.beta = None if beta is None else float(beta)
        if beta is None and not isinstance(self.alpha, OneOver):  # with a schedule, β is a factor on α
            self._record["beta"] = self.alpha

"""Emphatic TD(λ): Sutton, Mahmood & White (2016). ETD(λ, β), in which F decays by β_F: Hallak et al. (2016).

    F  = ρ⁻ γ F⁻ + i                        (i at an episode's start)
    F  = ρ⁻ β_F F⁻ + i where γ > 0, else i  ETD(λ, β)
    M  = λ i + (1-λ) F
    δ  = r' + γ' w·x' - w·x
    e  = ρ (γλ e + M x)
    w += α δ e

True online ETD(λ) (Sutton 2015; Sutton, Mahmood & White 2016) is true online TD(λ) with step size α M:

    e  = ρ [ γλ e + α M (1 - ργλ x·e) x ]
    w += δ e + (w·x - w⁻·x) (e - α M ρ x)

γ, λ, ρ and the interest i belong to x; ρ⁻ and F⁻ to the step before. True online ETD(λ) equals, after every step,

    w_{k+1} = w_k + α M_k ρ_k (G_k - w_k·x_k) x_k

with the G of true online TD(λ). In the code, `follow` is F - i = ρ⁻γF⁻, so that M = i + (1-λ) follow. F is capped at
`MOST`: with ratios of 10⁶ it would overflow within 52 steps, and 0 · ∞ is NaN.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from tdlambda.arrays import fraction, not_negative, real
from tdlambda.core import declare
from tdlambda.features import Encoder
from tdlambda.learners.algorithm import Algorithm
from tdlambda.learners.step_size import Alpha
from tdlambda.rules import Lam

MOST = 1e100
"""The largest follow-on trace."""
BY_GAMMA = -1.0
"""Marks that no β_F was given: F then decays by γ."""


class Emphatic(Algorithm, base=True):
    """A learner with a follow-on trace F."""

    by_feature: ClassVar[type[declare.AlgorithmDeclaration]]
    """The declaration for one interest per feature."""
    interest: Any = 1.0
    beta_f: float | None = BY_GAMMA

    def __init__(
        self,
        features: Encoder,
        alpha: Alpha,
        lam: Lam = 0.9,
        interest: ArrayLike = 1.0,
        beta_f: float | None = None,
        **options: Any,
    ) -> None:
        by_feature = np.ndim(interest) > 0
        if by_feature:
            own = real(interest, "interest")
            if own.shape != (features.size,) or not ((own >= 0) & (own < np.inf)).all():
                raise ValueError(
                    f"interest must be a number of at least 0, or {features.size} of them, one for each feature; "
                    f"got {interest!r}"
                )
        self._by_feature = by_feature
        decay = BY_GAMMA if beta_f is None else fraction(beta_f, "beta_f")
        given: dict[str, Any] = {} if by_feature else {"interest": not_negative(interest, "interest")}
        super().__init__(features, alpha, lam, beta_f=decay, **given, **options)
        self.beta_f = None if beta_f is None else decay
        if by_feature:
            self.interest = own.tolist()
            for k in self.model.estimates:
                self.memory.row(f"{k}_interests")[:] = own

    @property
    def _declared(self) -> type[declare.AlgorithmDeclaration]:
        """The declaration for a scalar interest or for one per feature."""
        return self.by_feature if self._by_feature else type(self)


class ETD(Emphatic):
    """Emphatic TD(λ): stable off-policy, because each update is weighted by the emphasis M of its state.

    Parameters
    ----------
    features, alpha, lam, options
        See `Algorithm`.
    interest
        Interest i ≥ 0: how much the value of a state matters. One number applies to all states and has the same effect
        as multiplying α by it. With one number per feature, the interest in a state is their dot product with its
        features, which must not be negative.
    beta_f
        Decay of the follow-on trace F, in [0, 1]; γ by default. 0 gives TD(λ); values between 0 and γ trade
        variance for bias. At a state with γ = 0, F restarts in any case.

    Examples
    --------
    >>> import tdlambda as td
    >>> lake = td.make("FrozenLake-v0")
    >>> v = td.ETD(lake.features, alpha=0.001, lam=0.5)
    >>> before = lake.exact.value_error(v.predict_many(range(16)))
    >>> v.update_many(lake.sampler(seed=1).take(50_000))
    >>> after = lake.exact.value_error(v.predict_many(range(16)))
    >>> bool(after < before / 4)
    True
    """

    parameters = "interest beta_f"
    dots = {"v": "w.x", "v_next": "w.x'"}
    keeps = {"decay": 0.0, "follow": 0.0, "lam": 0.0}
    updates = """
        e  = keep e + new x
        w += along e
    """

    @staticmethod
    def step(v, v_next, interest, decay, follow, lam, beta_f, alpha, reward, gamma_next, rho, lam_next):
        """Coefficients of the update; follow is F - i, and new is ρ M."""
        along = alpha * (reward + gamma_next * v_next - v)
        keep, new = rho * decay, rho * (interest + (1 - lam) * follow)
        fall = gamma_next if beta_f < 0 else beta_f if gamma_next > 0 else 0.0
        follow = min(max(rho * fall * (follow + interest), 0.0), MOST)
        decay, lam = gamma_next * lam_next, lam_next
        return keep, new, along, decay, follow, lam


class TrueOnlineETD(Emphatic):
    """True online emphatic TD(λ): equals the emphatic online λ-return algorithm after every step.

    Parameters
    ----------
    features, alpha, lam, interest, beta_f, options
        See `ETD`.

    Examples
    --------
    >>> import tdlambda as td
    >>> v = td.TrueOnlineETD(td.features.OneHot(3), alpha=0.5, lam=0.0, interest=[1, 0, 0])
    >>> v.update(0, 1.0, 1, gamma=0.9)
    >>> v.update(1, 1.0, 2, gamma=0.9)                 # state 1 matters only through state 0: F = 0.9
    >>> v.weights
    array([0.5 , 0.45, 0.  ])
    """

    parameters, trace_scale = "interest beta_f", "alpha"
    dots = {"v": "w.x", "v_next": "w.x'", "ex": "e.x"}
    keeps = {"decay": 0.0, "follow": 0.0, "lam": 0.0, "v_old": "v"}
    updates = """
        e  = keep e + new x
        w += along e + back x
    """

    @staticmethod
    def step(v, v_next, ex, interest, decay, follow, lam, v_old, beta_f, alpha, reward, gamma_next, rho, lam_next):
        """Coefficients of the update; follow is F - i, size is α M ρ, v_old is w⁻·x."""
        delta = reward + gamma_next * v_next - v
        keep, size = rho * decay, alpha * rho * (interest + (1 - lam) * follow)
        new = size * (1 - keep * ex)
        along, back = delta + v - v_old, -(v - v_old) * size
        fall = gamma_next if beta_f < 0 else beta_f if gamma_next > 0 else 0.0
        follow = min(max(rho * fall * (follow + interest), 0.0), MOST)
        decay, lam, v_old = gamma_next * lam_next, lam_next, v_next
        return keep, new, along, back, decay, follow, lam, v_old


class ETDByFeature(declare.AlgorithmDeclaration):
    """ETD(λ) with interest i = u·x; u is the constant row `interests`."""

    weight_rows, parameters = "w interests", "beta_f"
    dots = {**ETD.dots, "interest": "interests.x"}
    keeps, step = ETD.keeps, staticmethod(ETD.step)
    updates = f"interests = interests \n {ETD.updates}"


class TrueOnlineETDByFeature(declare.AlgorithmDeclaration):
    """True online ETD(λ) with interest i = u·x."""

    weight_rows, parameters, trace_scale = "w interests", "beta_f", "alpha"
    dots = {**TrueOnlineETD.dots, "interest": "interests.x"}
    keeps, step = TrueOnlineETD.keeps, staticmethod(TrueOnlineETD.step)
    updates = f"interests = interests \n {TrueOnlineETD.updates}"


ETD.by_feature, TrueOnlineETD.by_feature = ETDByFeature, TrueOnlineETDByFeature

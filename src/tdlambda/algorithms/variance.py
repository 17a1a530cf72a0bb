"""The variance of the λ-return, learned alongside its mean by true online TD.

Three estimates run side by side on one stream: V, the value; J = E[G^λ], the mean of the λ-return that bootstraps from
V; and its variance (direct VTD, Sherstan et al. 2018) or second moment (VTD, White & White 2016). With
Ḡ = r' + γ' (1-λ') V(x') and δᴶ = Ḡ + γ'λ' J(x') - J(x),

    V:     reward r',                      discount γ'
    J:     reward Ḡ,                       discount γ'λ'
    Var:   reward δᴶ²,                     discount (γ'λ')²           "target": as under the target policy
           reward (ρ δᴶ + (ρ-1) J(x))²,    discount (ρ γ'λ')²         "corrected": of ρ (r' + γ' [...]), the return
                                                                      that learners use as a target
    E[G²]: reward Ḡ² + 2 γ'λ' Ḡ J(x'),     discount (γ'λ')²           "target"; "corrected": ρ² times both

The "target" form is corrected by ρ like any value. The "corrected" form is an expectation under the behaviour policy
and needs no correction. (Zhao 2020 writes the second moment in Ḡ where V belongs.)
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar, Literal

import numpy as np

from tdlambda.algorithms.true_online_td import TrueOnlineTD
from tdlambda.arrays import Floats, choice, fraction
from tdlambda.core import declare
from tdlambda.features import Encoder
from tdlambda.learners.algorithm import Algorithm
from tdlambda.learners.learner import Array
from tdlambda.learners.step_size import OneOver
from tdlambda.rules import Lam, Rule
from tdlambda.rules.return_moments import Moments


class VarianceLearner(Algorithm):
    """Base class of learners of three estimates: V, the mean J of the λ-return that bootstraps from V, its variance.

    All three share the features and the step size.

    Parameters
    ----------
    features, alpha, options
        See `Algorithm`.
    lam
        λ in [0, 1] of the λ-return and of the learner of V, which must not be learned; 1 for the full return.
    of
        "target": the variance of the λ-return under the target policy. "corrected": the variance of the return with
        importance-sampling ratios, G = ρ (r' + γ' [(1-λ') V(x') + λ' G']), which an off-policy learner uses as target.
    trace_lam
        Trace decay λ, in [0, 1], of the learners of the mean and the variance.
    """

    form: ClassVar[str]

    def __init__(
        self,
        features: Encoder,
        alpha: float | OneOver,
        lam: Lam = 1.0,
        of: Literal["target", "corrected"] = "target",
        trace_lam: float = 0.9,
        **options: Any,
    ) -> None:
        self.of, self.trace_lam = choice(of, "of", "target", "corrected"), fraction(trace_lam, "trace_lam")
        self._moments = Moments(self.form, self.of, self.trace_lam)
        super().__init__(features, alpha, lam, **options)
        if self.rule.learns():
            raise ValueError(f"lam of {type(self).__name__} must be fixed, such as 0.9; got {self.rule!r}")

    @property
    def _declared(self) -> type[declare.AlgorithmDeclaration]:
        """All three estimates learn by true online TD(λ)."""
        return TrueOnlineTD

    @property
    def learned_rule(self) -> Rule | None:
        """The declaration of the second moment or variance, learned together with the value."""
        return self._moments

    @abstractmethod
    def _variance(self, mean: Floats, second: Floats) -> Floats:
        """The variance, computed from the two learned moments."""

    def predict(self, obs: Any) -> float:
        """The variance of the λ-return from this observation; never negative."""
        x, xv = self.features.encode(obs)
        _, mean, second = self._estimates(x[None], xv[None])
        return float(np.maximum(0.0, self._variance(mean, second))[0])

    def predict_many(self, observations: Any) -> Floats:
        """The variance of the λ-return from each observation; never negative."""
        _, mean, second = self.estimates(observations)
        return np.maximum(0.0, self._variance(mean, second))

    def values(self, observations: Any) -> Floats:
        """The values V that the λ-return bootstraps from."""
        return self.estimates(observations)[0]

    def means(self, observations: Any) -> Floats:
        """The mean J of the λ-return from each observation."""
        return self.estimates(observations)[1]

    @property
    def weights(self) -> Array:
        """The weights of the variance (or, in VTD, of the second moment), as a read-only view."""
        return self.row("S_w")


class VTD(VarianceLearner):
    """VTD: learns the second moment of the λ-return; the variance is the second moment less the squared mean.

    Parameters are those of `VarianceLearner`; use it like `DirectVTD`.
    """

    form = "vtd"

    def _variance(self, mean: Floats, second: Floats) -> Floats:
        return second - mean**2


class DirectVTD(VarianceLearner):
    """Direct VTD: learns the variance itself from squared errors of the mean; accurate even where the mean is large.

    Parameters are those of `VarianceLearner`.

    Examples
    --------
    >>> import tdlambda as td
    >>> walk = td.make("RandomWalk-v0", n=3)
    >>> variance = td.DirectVTD(walk.features, alpha=td.steps.OneOver("visits", power=0.8), lam=1.0)
    >>> variance.update_many(walk.sampler(seed=1).take(200_000))
    >>> variance.predict(2), walk.mdp.under().return_variance()[2]
    (0.99..., np.float64(1.0))
    """

    form = "direct"

    def _variance(self, mean: Floats, second: Floats) -> Floats:  # noqa: ARG002
        return second

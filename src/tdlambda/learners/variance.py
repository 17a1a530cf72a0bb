"""What the two learners of the λ-return's variance have in common."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, Literal

import numpy as np

from tdlambda import memory
from tdlambda.arrays import Floats, choice, fraction
from tdlambda.features import Encoder
from tdlambda.learners.base import Array
from tdlambda.learners.step_size import OneOver
from tdlambda.learners.trace_learner import TraceLearner


class VarianceLearner(TraceLearner):
    """Learns V, the mean J of the λ-return that bootstraps from V, and its variance.

    Parameters
    ----------
    features, alpha
        See `TraceLearner`; all three estimates share them.
    lam
        λ of the λ-return (and of the learner of V); 1 for the full return.
    of
        "target": the variance that the λ-return has under the target policy. "corrected": that of the return with its
        importance ratios, G = ρ (r' + γ' [(1-λ') V(x') + λ' G']), as met by an off-policy learner.
    trace_lam
        The trace parameter of the learners of the mean and the variance.
    options
        The rest of `TraceLearner`'s parameters.
    """

    code = memory.TRUE_ONLINE_TD
    blocks = 3

    def __init__(
        self,
        features: Encoder,
        alpha: float | OneOver,
        lam: Any = 1.0,
        of: Literal["target", "corrected"] = "target",
        trace_lam: float = 0.9,
        **options: Any,
    ) -> None:
        super().__init__(features, alpha, lam, **options)
        choice(of, "of", "target", "corrected")
        self.of, self.trace_lam = of, fraction(trace_lam, "trace_lam")
        self._I[memory.CORRECTED] = of == "corrected"
        self._M[[memory.TRACE_LAM, memory.PACE]] = self.trace_lam, 1.0

    @abstractmethod
    def _variance(self, mean: Floats, second: Floats) -> Floats:
        """The variance from the two learnt moments."""

    def predict(self, obs: Any) -> float:
        """The variance of the λ-return from here; never negative."""
        x, xv = self.features.encode(obs)
        _, mean, second = self._estimates(x[None], xv[None])
        return float(np.maximum(0.0, self._variance(mean, second))[0])

    def predict_many(self, observations: Any) -> Floats:
        """The variance of the λ-return from each observation; never negative."""
        _, mean, second = self.estimates(observations)
        return np.maximum(0.0, self._variance(mean, second))

    def values(self, observations: Any) -> Floats:
        """V, the values that the λ-return bootstraps from."""
        return self.estimates(observations)[0]

    def means(self, observations: Any) -> Floats:
        """J, the mean of the λ-return."""
        return self.estimates(observations)[1]

    @property
    def weights(self) -> Array:
        """The weights of the second of the two moments learnt, as a view that cannot be written."""
        return self._row(4)

    def get_params(self) -> dict[str, Any]:
        """The constructor's arguments."""
        return super().get_params() | {"of": self.of, "trace_lam": self.trace_lam}

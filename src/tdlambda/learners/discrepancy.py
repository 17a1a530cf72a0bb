"""The λ-discrepancy, estimated from a stream: Allen, Kirtland, Tao et al. (2024).

    ‖v_λ1 - v_λ2‖_d

where v_λ is the limit of TD(λ) with one weight for each observation. If observations are Markov, the discrepancy is 0
for every pair of λ; if it is not 0, observations hide relevant state. `mdp.under(policy).lambda_discrepancy`
computes it exactly.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tdlambda.arrays import integer
from tdlambda.learners.learner import Learner, columns

CHUNK = 1000
"""Number of transitions between two comparisons of the predictions in `update_many`."""


class LambdaDiscrepancy:
    """The λ-discrepancy: root mean square difference of the predictions of two learners that differ only in λ.

    Parameters
    ----------
    learner
        A learner that takes λ, such as `td.TrueOnlineTD(features, alpha)`. Both learners start fresh with its other
        parameters.
    lams
        The two values of λ, in [0, 1].
    window
        Approximate number of latest steps over which differences are averaged, at least 1.

    Examples
    --------
    >>> import tdlambda as td
    >>> task = td.make("Aliased-v0")
    >>> found = td.learners.LambdaDiscrepancy(td.TrueOnlineTD(task.features, 0.01))
    >>> found.update_many(task.sampler(seed=1).take(50_000))
    >>> bool(abs(found.value - 0.5**0.5) < 0.05)
    True
    """

    def __init__(self, learner: Learner, lams: tuple[float, float] = (0.0, 1.0), window: int = 10_000) -> None:
        if not isinstance(learner, Learner) or "lam" not in learner.get_params():
            raise TypeError(f"learner must be a learner that takes lam, such as td.TrueOnlineTD; got {learner!r}")
        if len(lams) != 2:
            raise ValueError(f"lams must be two values of λ, such as (0, 1); got {lams!r}")
        self.window = integer(window, "window", 1)
        self.learners = tuple(type(learner)(**(learner.get_params() | {"lam": lam})) for lam in lams)
        self._mean, self._steps = 0.0, 0

    @property
    def value(self) -> float:
        """The discrepancy over the latest steps; 0 before the first."""
        return float(np.sqrt(self._mean))

    def update(self, obs: Any, reward: float, next_obs: Any, *rest: Any, **named: Any) -> None:
        """Update both learners with one transition.

        Parameters
        ----------
        obs, reward, next_obs, rest, named
            See `Learner.update`.
        """
        for one in self.learners:
            one.update(obs, reward, next_obs, *rest, **named)
        self._see(np.array([one.predict(obs) for one in self.learners])[:, None])

    def update_many(self, obs: Any, *rest: Any, **named: Any) -> None:
        """Update both learners with consecutive transitions: see `Learner.update_many`."""
        given = columns(obs, *rest, **named) if rest or named else columns(obs, None, None, None, 1.0, False, False)
        for begin in range(0, len(given), CHUNK):
            some = given[begin : begin + CHUNK]
            for one in self.learners:
                one.update_many(some)
            self._see(np.array([one.predict_many(some.obs) for one in self.learners]))

    def _see(self, predictions: Any) -> None:
        """Update the running mean of squared differences with predictions [learner, step]."""
        n = predictions.shape[1]
        self._steps += n
        rate = min(1.0, max(n / self._steps, n / self.window))
        self._mean += rate * (float(((predictions[0] - predictions[1]) ** 2).mean()) - self._mean)

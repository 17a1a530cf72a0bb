"""The offline λ-return algorithm: Sutton & Barto (2018), sections 12.1 and 12.8 to 12.9 for γ, λ and ρ at each step.

    G_t = R_{t+1} + γ_{t+1} [ V(x_{t+1}) + λ_{t+1} ρ_{t+1} (G_{t+1} - V(x_{t+1})) ]
    w  += α ρ_t (G_t - V(x_t)) x_t           for each t of the episode in order, at its end

The V in G is w₀·x with the weights at the start of the episode; the last G is one-step, R + γ' V(x'). The error of a
step uses the current weights, as in the book's equation 12.4. With `hold`, it uses w₀ too, which is the forward view of
TD(λ): accumulating traces give the same sum of updates if the weights are held during the episode.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from tdlambda.arrays import Floats, Ints
from tdlambda.compiled import kernel
from tdlambda.core.runtime import dot
from tdlambda.features import Encoder
from tdlambda.learners.episode import EpisodeLearner, learn
from tdlambda.learners.learner import Array
from tdlambda.learners.step_size import OneOver
from tdlambda.returns.targets import returns_of_actions
from tdlambda.rules import Lam


@kernel
def learn_episode(
    count: Array, number: Array, weights: Floats, visits: Floats, X: Ints, Xv: Floats, stored: Array, G: Floats,
    V: Floats, hold: bool,
) -> bool:  # fmt: skip
    """Update the weights step by step, until they exceed the bound. `V` receives w·x of each step before any update."""
    n, within = X.shape[1], True
    for t in range(G.size if hold else 0):
        V[t] = dot(weights, X[t], Xv[t], n)
    for t in range(G.size):
        if within:
            error = G[t] - (V[t] if hold else dot(weights, X[t], Xv[t], n))
            within = learn(count, number, weights, visits, G[t], stored[t].rho * error, X[t], Xv[t])
    return within


class LambdaReturn(EpisodeLearner):
    """The offline λ-return algorithm, on- and off-policy: the forward view, also a reference for other learners.

    It stores each episode, so memory grows with the longest one.

    Parameters
    ----------
    features, alpha
        See `ReturnLearner`.
    lam
        Trace decay λ: a number in [0, 1], one for each state, or a rule.
    hold
        Whether errors use the current weights (False), as in Sutton & Barto (2018), or those from the start of the
        episode (True), whose updates add up. The returns always use the weights from the start. With `hold=False`,
        λ = 1 on-policy equals `MonteCarlo`.
    initial, bound, on_divergence, dtype
        See `ReturnLearner`.

    Examples
    --------
    >>> import tdlambda as td
    >>> v = LambdaReturn(td.features.OneHot(3), alpha=0.5, lam=0.5, initial=1.0)
    >>> v.update(0, 1.0, 1, gamma=1.0)
    >>> v.update(1, 3.0, 2, gamma=1.0, terminated=True)
    >>> v.predict(0), v.predict(1)
    (2.0, 2.0)
    """

    def __init__(
        self,
        features: Encoder,
        alpha: float | OneOver,
        lam: Lam = 0.9,
        hold: bool = False,
        *,
        initial: ArrayLike = 0.0,
        bound: float = 1e3,
        on_divergence: Literal["raise", "flag"] = "raise",
        dtype: Literal["float64", "float32"] = "float64",
    ) -> None:
        if not isinstance(hold, bool):
            raise TypeError(f"hold must be True or False; got {hold!r}")
        super().__init__(features, alpha, lam, initial=initial, bound=bound, on_divergence=on_divergence, dtype=dtype)
        self.hold = hold

    def _finish(self, n: int) -> bool:
        stored = self._stored[:n]
        G = returns_of_actions(stored["reward"], stored["v_next"], stored["gamma"], stored["lam"], stored["rho"])
        return learn_episode(*self._arrays, G, np.empty(n), self.hold)

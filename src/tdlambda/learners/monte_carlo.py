"""Gradient Monte Carlo: Sutton & Barto (2018), sections 5.1 and 9.3; per-decision ρ: Precup, Sutton & Singh (2000).

    G_t = ρ_t (R_{t+1} + γ_{t+1} G_{t+1})
    w  += α (G_t - w·x_t) x_t                for each t of the episode in order, at its end

G after the last step is 0 if the episode terminated, and V(x') with the weights at that time if it was truncated.
The update follows the gradient of ½ (G_t - w·x_t)², so w converges, without bootstrapping, to the smallest mean squared
error that the features allow: the solution of E[x xᵀ] w = E[x v(s)]. On-policy and with every visit, the weights after
each terminated episode equal those of true online TD(1).
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from tdlambda.arrays import Bools, Floats, Ints, choice
from tdlambda.compiled import kernel
from tdlambda.core.runtime import dot
from tdlambda.features import Encoder
from tdlambda.learners.episode import EpisodeLearner, learn
from tdlambda.learners.learner import Array
from tdlambda.learners.step_size import OneOver


@kernel
def learn_episode(
    count: Array, number: Array, weights: Floats, visits: Floats, X: Ints, Xv: Floats, stored: Array, G: Floats,
    chosen: Bools,
) -> bool:  # fmt: skip
    """Compute the returns G backward, then update forward at the chosen steps, until the weights exceed the bound."""
    g = stored[chosen.size - 1].v_next
    for t in range(chosen.size - 1, -1, -1):
        g = stored[t].rho * (stored[t].reward + stored[t].gamma * g)
        G[t] = g
    within = True
    for t in range(chosen.size):
        if chosen[t] and within:
            error = G[t] - dot(weights, X[t], Xv[t], X.shape[1])
            within = learn(count, number, weights, visits, G[t], error, X[t], Xv[t])
    return within


def first_visits(X: Ints, Xv: Floats) -> Bools:
    """A mask of the rows whose feature vector occurs for the first time; the order of active features is ignored.

    >>> first_visits(np.array([[1, 2], [2, 1], [1, 2]]), np.array([[0.5, 1.0], [1.0, 0.5], [1.0, 1.0]]))
    array([ True, False,  True])
    """
    index = np.where(Xv == 0, -1, X)  # an index whose value is 0 is not active: it is padding
    order = np.lexsort((Xv, index), axis=1)
    rows = np.hstack([np.take_along_axis(columns, order, 1).astype(np.float64) for columns in (index, Xv + 0.0)])
    first = np.zeros(len(X), dtype=bool)
    first[list({row.tobytes(): t for t, row in reversed(list(enumerate(rows)))}.values())] = True
    return first


class MonteCarlo(EpisodeLearner):
    """Gradient Monte Carlo prediction: learns from returns at the end of each episode.

    It stores each episode, so memory grows with the longest one. With one-hot features and `OneOver("visits")`, the
    value of a state is the average of the returns from it. It has no λ; `lambda_at` is 1, the λ at which true online
    TD(λ) agrees with it.

    Parameters
    ----------
    features, alpha
        See `ReturnLearner`.
    visit
        "every" updates at each step; "first" only where a feature vector occurs for the first time in the episode.
    initial, bound, on_divergence, dtype
        See `ReturnLearner`.

    Examples
    --------
    >>> import tdlambda as td
    >>> v = MonteCarlo(td.features.OneHot(3), alpha=0.5)
    >>> v.update(0, 1.0, 1, gamma=0.9)
    >>> v.predict(0)
    0.0
    >>> v.update(1, 1.0, 2, gamma=1.0, terminated=True)
    >>> v.predict(0), v.predict(1)
    (0.95, 0.5)
    """

    def __init__(
        self,
        features: Encoder,
        alpha: float | OneOver,
        visit: Literal["every", "first"] = "every",
        *,
        initial: ArrayLike = 0.0,
        bound: float = 1e3,
        on_divergence: Literal["raise", "flag"] = "raise",
        dtype: Literal["float64", "float32"] = "float64",
    ) -> None:
        choice(visit, "visit", "every", "first")
        super().__init__(features, alpha, 1.0, initial=initial, bound=bound, on_divergence=on_divergence, dtype=dtype)
        self.visit = visit

    def _finish(self, n: int) -> bool:
        chosen = np.ones(n, dtype=bool) if self.visit == "every" else first_visits(self._X[:n], self._Xv[:n])
        return learn_episode(*self._arrays, np.empty(n), chosen)

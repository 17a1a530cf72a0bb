"""n-step TD: Sutton & Barto (2018), sections 7.1 and 7.3, with per-decision ρ (Precup, Sutton & Singh 2000).

    G_{t:h} = ρ_t (R_{t+1} + γ_{t+1} G_{t+1:h}),    G_{h:h} = w·x_h  (0 where the episode terminated)
    w += α (G_{τ:τ+n} - w·x_τ) x_τ,    τ = t - n + 1,    at step t, with the weights of that moment

At the end of an episode, the remaining steps are updated in order, with the return up to the end. If it was truncated,
they all bootstrap from w·x' as it was before the first of these updates.
"""

from __future__ import annotations

from typing import Any, Literal, SupportsIndex

import numpy as np
from numpy.typing import ArrayLike

from tdlambda.arrays import Floats, Ints, integer
from tdlambda.compiled import kernel
from tdlambda.core.runtime import dot
from tdlambda.features import Encoder
from tdlambda.learners.episode import Columns, ReturnLearner, learn
from tdlambda.learners.learner import Array
from tdlambda.learners.step_size import OneOver


@kernel
def learn_rows(
    count: Array, number: Array, weights: Floats, visits: Floats, X: Ints, Xv: Floats, stored: Array, G: Floats,
    columns: Columns,
) -> bool:  # fmt: skip
    """Learn from transitions in order; a ring buffer holds `count.stored` of the last n, the oldest at `count.head`."""
    x, xv, y, yv, reward, gamma, rho, _lam, terminated, truncated = columns
    c, n = count[0], len(stored)
    for t in range(reward.size):
        ended = terminated[t] or truncated[t]
        g = 0.0 if terminated[t] else dot(weights, y[t], yv[t], y.shape[1])
        at = (c.head + c.stored) % n
        for j in range(x.shape[1]):
            X[at, j], Xv[at, j] = x[t, j], xv[t, j]
        step = stored[at]
        step.reward, step.gamma, step.rho = reward[t], gamma[t], rho[t]
        c.stored += 1
        c.seen += 1
        if not ended and c.stored < n:
            continue
        for k in range(c.stored - 1, -1, -1):
            at = (c.head + k) % n
            g = stored[at].rho * (stored[at].reward + stored[at].gamma * g)
            G[at] = g
        within = True
        for _ in range(c.stored if ended else 1):
            at = c.head
            if within:
                error = G[at] - dot(weights, X[at], Xv[at], X.shape[1])
                within = learn(count, number, weights, visits, G[at], error, X[at], Xv[at])
            c.head = (at + 1) % n
            c.stored -= 1
        if ended:
            c.head = 0
        if not within:
            c.diverged_at = c.seen
            return False
    return True


class NStepTD(ReturnLearner):
    """n-step TD, on- and off-policy: TD(0) at n = 1, Monte Carlo once n exceeds the episode length.

    It stores n transitions, and a step costs O(n). It has no λ; `lambda_at` is 0. Off-policy, ρ multiplies the return,
    w += α (ρ (r' + γ' w·x') - w·x) x at n = 1, while in `TD` ρ multiplies the error, w += α ρ (r' + γ' w·x' - w·x) x
    (a control variate). The mean is the same where E[ρ] = 1, but the variance is larger here.

    Parameters
    ----------
    features, alpha
        See `ReturnLearner`.
    n
        Number of steps before bootstrapping, at least 1 and below 2**40.
    initial, bound, on_divergence, dtype
        See `ReturnLearner`.

    Examples
    --------
    >>> import tdlambda as td
    >>> v = NStepTD(td.features.OneHot(4), alpha=0.5, n=2)
    >>> v.update(0, 1.0, 1, gamma=1.0)
    >>> v.predict(0)
    0.0
    >>> v.update(1, 1.0, 2, gamma=1.0)
    >>> v.predict(0), v.predict(1)
    (1.0, 0.0)
    """

    def __init__(
        self,
        features: Encoder,
        alpha: float | OneOver,
        n: SupportsIndex,
        *,
        initial: ArrayLike = 0.0,
        bound: float = 1e3,
        on_divergence: Literal["raise", "flag"] = "raise",
        dtype: Literal["float64", "float32"] = "float64",
    ) -> None:
        self.n = integer(n, "n", 1)
        if self.n >= 2**40:
            raise ValueError(f"n must be below 2**40; got an integer of {self.n.bit_length()} bits")
        super().__init__(
            features, alpha, 0.0, self.n, initial=initial, bound=bound, on_divergence=on_divergence, dtype=dtype
        )
        self._G: Floats = np.empty(self.n)  # a work buffer, not part of the state

    def _take(self, *columns: Any) -> bool:
        return learn_rows(*self._arrays, self._G, columns)

    def _holds(self, capacity: int, stored: int, head: int) -> bool:
        return capacity == self.n and stored < self.n and head < self.n

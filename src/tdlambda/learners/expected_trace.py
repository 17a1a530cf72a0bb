"""Expected eligibility traces, ET(λ) and ET(λ, η): van Hasselt et al. (2021), with a linear expected trace Θx.

    e  = γλ ρ⁻ e + x                                          the trace itself
    Θ += β (e - Θx) xᵀ                                        Θx estimates E[e | x]
    z  = (1-η) Θx + η (γλ ρ⁻ z + x)                           what is credited, with the new Θ
    w += α ρ (r' + γ' w·x' - w·x) z

γ and λ belong to x, ρ to this step, ρ⁻ to the step before; an episode starts with e = z = 0. η = 1 is TD(λ): nothing
in z is expected. η = 0 is ET(λ): x credits all that usually comes before it, whether or not it came this time. With
one-hot features and the exact Θ the mean update is TD(λ)'s, for every η, with less variance. With features that states
share, Θ goes to E[e xᵀ] E[x xᵀ]⁻¹, and the fixed point of ET(λ) is TD(0)'s, not TD(λ)'s.

The paper is on-policy. The ratios are derived here: given x, what came before it is independent of what follows, so
E[ρδ e | x] = E[ρδ | x] E[e | x] as long as e has no ρ of this step in it. With ρ⁻ in e, as above, it is TD(λ)'s e/ρ.
"""

from typing import Any, ClassVar, Literal, SupportsIndex

import numpy as np
from numpy.typing import ArrayLike

from tdlambda.arrays import Bools, Floats, Ints, fraction, positive
from tdlambda.compiled import inlined, kernel
from tdlambda.core.runtime import LARGEST, absolute, dot, largest_value, mean_visits, scheduled
from tdlambda.features import Encoder
from tdlambda.learners.base import Array
from tdlambda.learners.matrix import MatrixLearner, add_rows, fade, largest, unwritable
from tdlambda.learners.step_size import OneOver, initial_weights
from tdlambda.rules import Lam

_MOST = LARGEST["float64"]
_LARGE = 1e100
"""A trace, expected or not, beyond this is divergence: β |x|² is too large."""


@inlined
def expect(theta: Floats, x: Ints, xv: Floats, out: Floats) -> None:
    """Out = Θ x."""
    out[:] = 0.0
    for j in range(x.size):
        if xv[j] != 0:
            row = theta[x[j]]
            for f in range(out.size):
                out[f] += xv[j] * row[f]


@inlined
def rate(settings: Floats, visits: Floats, updates: int, x: Ints, xv: Floats) -> float:
    """The step size of this update: scale / (offset + n)^power; visits are counted where there is room for them."""
    n = mean_visits(visits, x, xv) if visits.size else float(updates)
    return settings[0] if settings[2] == 0.0 else scheduled(settings[0], settings[1], settings[2], n)


@kernel
def learn_rows(
    theta: Floats, w: Floats, e: Floats, z: Floats, visits: Floats, trace_visits: Floats, expected: Floats,
    number: Array, count: Array, settings: Floats, eta: float,
    x: Ints, xv: Floats, y: Ints, yv: Floats, reward: Floats, gamma: Floats, rho: Floats, lam: Floats,
    terminated: Bools, truncated: Bools,
) -> bool:  # fmt: skip
    """Transitions in order. Θ is kept transposed: the active features of x are rows, and no others are touched."""
    s, c, active = number[0], count[0], x.shape[1]
    for t in range(reward.size):
        c.seen += 1
        c.updates += 1
        gamma_next = 0.0 if terminated[t] else gamma[t]
        keep = s.rho * s.gamma * s.lam
        fade(e, keep)
        for j in range(active):
            e[x[t, j]] += xv[t, j]
        if eta < 1.0:
            expect(theta, x[t], xv[t], expected)
            for f in range(e.size):
                expected[f] = e[f] - expected[f]
            add_rows(theta, expected, rate(settings[1], trace_visits, c.updates, x[t], xv[t]), x[t], xv[t])
            expect(theta, x[t], xv[t], expected)
        fade(z, eta * keep)
        for j in range(active):
            z[x[t, j]] += eta * xv[t, j]
        if eta < 1.0:
            for f in range(z.size):
                z[f] += (1 - eta) * expected[f]
        error = reward[t] - dot(w, x[t], xv[t], active)
        if gamma_next > 0:
            error += gamma_next * dot(w, y[t], yv[t], y.shape[1])
        along = rate(settings[0], visits, c.updates, x[t], xv[t]) * rho[t] * error
        most = largest(0.0, z)
        if not (most <= _LARGE and abs(along) * most + largest(0.0, w) <= _MOST and largest(0.0, e) <= _LARGE):
            c.diverged_at = c.seen
            return False
        for f in range(w.size):
            w[f] += along * z[f]
        limit = s.factor * largest_value(s, reward[t], gamma_next, rho[t])
        limit += s.factor * s.start * max(absolute(xv[t], active), absolute(yv[t], y.shape[1]))
        within = abs(dot(w, x[t], xv[t], active)) <= limit
        if gamma_next > 0:
            within &= abs(dot(w, y[t], yv[t], y.shape[1])) <= limit
        s.gamma, s.lam, s.rho, s.under_way = gamma_next, lam[t], rho[t], 1.0
        if terminated[t] or truncated[t]:
            e[:] = 0.0
            z[:] = 0.0
            s.under_way = 0.0
        if not within:
            c.diverged_at = c.seen
            return False
    return True


class ExpectedTrace(MatrixLearner):
    """TD with expected eligibility traces, ET(λ) and ET(λ, η): credits what usually leads here, not just what did now.

    A step costs O(active · size): only what Θ says of the active features is read and written. Θ has size² numbers.

    Parameters
    ----------
    features
        Encoder of observations.
    alpha
        Step size α of w: a number, or a schedule such as `td.steps.OneOver("visits")`.
    lam
        λ: a number, one for each state, or a rule.
    beta
        Step size β of Θ, in the same forms; α by default. Θ starts at 0. With one-hot features,
        `td.steps.OneOver("visits")`
        makes of Θ's columns the averages of the traces met.
    eta
        η: the share of the trace itself. 0 is ET(λ), 1 is TD(λ).
    initial
        Weights at the start: one number or one for each feature.
    bound
        How many times a prediction may exceed the largest value that rewards and discounts so far allow; beyond, it is
        divergence, as it is where β is too large for Θ.
    max_size
        The most features it accepts.
    on_divergence
        "raise" `Diverged` once, or "flag" it: see `diverged_at`. Either way the learner then learns no more.

    Examples
    --------
    >>> import tdlambda as td
    >>> v = ExpectedTrace(td.features.OneHot(4), alpha=0.5, lam=1.0, beta=td.steps.OneOver("visits"))
    >>> v.update(0, 0.0, 2, gamma=1.0)
    >>> v.update(2, 0.0, 3, gamma=1.0, terminated=True)
    >>> v.update(1, 0.0, 2, gamma=1.0)
    >>> v.update(2, 1.0, 3, gamma=1.0, terminated=True)  # 0 was not visited now, but leads to 2 as often as 1 does
    >>> v.weights
    array([0.25, 0.25, 0.5 , 0.  ])
    """

    parts: ClassVar[str] = "theta w e z visits trace_visits"
    numbers: ClassVar[str] = (
        f"{MatrixLearner.numbers} factor start most_reward most_gamma most_rho under_way length longest"
    )
    counted: ClassVar[str] = f"{MatrixLearner.counted} updates"

    def __init__(
        self,
        features: Encoder,
        alpha: float | OneOver,
        lam: Lam = 0.9,
        beta: float | OneOver | None = None,
        eta: float = 0.0,
        *,
        initial: ArrayLike = 0.0,
        max_size: SupportsIndex = 5000,
        bound: float = 1e3,
        on_divergence: Literal["raise", "flag"] = "raise",
    ) -> None:
        super().__init__(features, lam, max_size=max_size, bound=bound, on_divergence=on_divergence)
        size, self.eta = features.size, fraction(eta, "eta")
        self.alpha = alpha if isinstance(alpha, OneOver) else positive(alpha, "alpha")
        self.beta = beta if beta is None or isinstance(beta, OneOver) else positive(beta, "beta")
        self.initial = initial_weights(initial, size, "float64")
        self._theta: Floats = np.zeros((size, size))
        self._w: Floats = np.zeros(size) + self.initial
        self._z, self._expected = np.zeros(size), np.zeros(size)
        steps = (self.alpha, self.alpha if self.beta is None else self.beta)
        self._visits, self._trace_visits = (np.zeros(size if _by_visits(step) else 0) for step in steps)
        self._settings: Floats = np.empty((2, 3))
        for k, step in enumerate(steps):
            own = (step.scale, step.offset, step.power) if isinstance(step, OneOver) else (step, 0.0, 0.0)
            self._settings[k] = own
        self._number["factor"], self._number["start"] = self.bound, abs(self.initial).max()

    @property
    def weights(self) -> Array:
        """The weights w, as a view that cannot be written."""
        return unwritable(self._w)

    @property
    def trace(self) -> Array:
        """What the last step of an episode under way credited, z; it cannot be written."""
        return unwritable(self._z)

    def expected_trace(self, obs: Any) -> Floats:
        """Θ x(obs): an estimate of the trace on entering this observation."""
        index, value = self.features.encode(obs)
        return np.asarray(value @ self._theta[index], dtype=np.float64)

    def reset(self) -> None:
        """Set the traces to 0, as at an episode's start; keep what was learned."""
        super().reset()
        with self._guard:
            self._z[:] = 0.0
            self._number["under_way"] = 0.0

    def get_params(self) -> dict[str, Any]:
        """The constructor's arguments."""
        own = {"alpha": self.alpha, "beta": self.beta, "eta": self.eta, "initial": self.initial.tolist()}
        return super().get_params() | own

    def _take(
        self, x: Ints, xv: Floats, y: Ints, yv: Floats, reward: Floats, gamma: Floats, rho: Floats, lam: Floats,
        terminated: Bools, truncated: Bools,
    ) -> bool:  # fmt: skip
        own = (self._theta, self._w, self._e, self._z, self._visits, self._trace_visits, self._expected)
        rest = (self._number, self._count, self._settings, self.eta)
        return learn_rows(*own, *rest, x, xv, y, yv, reward, gamma, rho, lam, terminated, truncated)

    def _restore(self, state: dict[str, Array]) -> None:
        if "numbers" in state and state["numbers"].shape == (len(self.numbers.split()),):
            fixed = [self.numbers.split().index(name) for name in ("factor", "start")]
            if (state["numbers"][fixed] != self._number.view(np.float64)[fixed]).any():
                raise ValueError("state 'numbers' does not fit this learner: its limits are others")
        if any((state[name] < 0).any() for name in ("visits", "trace_visits") if name in state):
            raise ValueError("state does not fit this learner: visits must not be negative")
        super()._restore(state)


def _by_visits(step: float | OneOver) -> bool:
    return isinstance(step, OneOver) and step.by == "visits"

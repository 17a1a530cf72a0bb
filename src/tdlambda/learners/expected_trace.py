"""Expected eligibility traces, ET(λ) and ET(λ, η): van Hasselt et al. (2021), with a linear expected trace Θx.

    e  = γλ ρ⁻ e + x                                          the trace itself
    Θ += β (e - Θx) xᵀ                                        Θx estimates E[e | x]
    z  = (1-η) Θx + η (γλ ρ⁻ z + x)                           the trace that assigns credit, with the new Θ
    w += α ρ (r' + γ' w·x' - w·x) z

γ and λ belong to x, ρ to this step, ρ⁻ to the step before; an episode starts with e = z = 0. η = 1 is TD(λ), which uses
no expectation. η = 0 is ET(λ): x assigns credit to the states that usually precede it, whether or not they did this
time. With one-hot features and the exact Θ, the mean update equals that of TD(λ) for every η, with less variance. With
features shared by several states, Θ converges to E[e xᵀ] E[x xᵀ]⁻¹, and the fixed point of ET(λ) is that of TD(0), not
of TD(λ).

The paper is on-policy. The ratios are derived here: given x, the past is independent of the future, so
E[ρδ e | x] = E[ρδ | x] E[e | x] as long as e does not contain this step's ρ. With ρ⁻ in e, as above, e is TD(λ)'s e/ρ.
"""

from __future__ import annotations

from typing import Any, ClassVar, Literal, SupportsIndex

import numpy as np
from numpy.typing import ArrayLike

from tdlambda.arrays import Floats, Ints, fraction, positive, read_only
from tdlambda.compiled import inlined, kernel
from tdlambda.core.runtime import LARGEST, absolute, dot, largest_value, mean_visits, scheduled
from tdlambda.features import Encoder
from tdlambda.learners.episode import Columns
from tdlambda.learners.learner import Array
from tdlambda.learners.matrix import MatrixLearner, add_rows, fade, largest
from tdlambda.learners.step_size import OneOver, initial_weights
from tdlambda.rules import Lam

_MOST = LARGEST["float64"]
_LARGE = 1e100
"""A trace or expected trace that exceeds this has diverged, because β |x|² is too large."""


@inlined
def expect(theta: Floats, x: Ints, xv: Floats, out: Floats) -> None:
    """Write Θ x into `out`."""
    out[:] = 0.0
    for j in range(x.size):
        if xv[j] != 0:
            row = theta[x[j]]
            for f in range(out.size):
                out[f] += xv[j] * row[f]


@inlined
def rate(settings: Floats, visits: Floats, updates: int, x: Ints, xv: Floats) -> float:
    """The step size of this update, scale / (offset + n)^power; `visits` is empty unless n counts visits."""
    n = mean_visits(visits, x, xv) if visits.size else float(updates)
    return settings[0] if settings[2] == 0.0 else scheduled(settings[0], settings[1], settings[2], n)


@kernel
def learn_rows(
    theta: Floats, w: Floats, e: Floats, z: Floats, visits: Floats, trace_visits: Floats, expected: Floats,
    number: Array, count: Array, settings: Floats, eta: float,
    columns: Columns,
) -> bool:  # fmt: skip
    """Learn from transitions in order. Θ is kept transposed, so that only the rows of active features are touched."""
    x, xv, y, yv, reward, gamma, rho, lam, terminated, truncated = columns
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
    """TD with expected traces, ET(λ) and ET(λ, η): assigns credit to the states that usually precede the current one.

    Θ has size² numbers. A step costs O(active · size): it reads and writes only the columns of active features.

    Parameters
    ----------
    features
        Encoder of observations.
    alpha
        Step size α > 0 of w: a number, or a schedule such as `td.steps.OneOver("visits")`.
    lam
        Trace decay λ: a number in [0, 1], one for each state, or a rule.
    beta
        Step size β > 0 of Θ, in the same forms; α by default. Θ starts at 0. With one-hot features and
        `td.steps.OneOver("visits")`, the columns of Θ are the averages of the observed traces.
    eta
        Weight η, in [0, 1], of the actual trace against the expected one: 0 is ET(λ), 1 is TD(λ).
    initial
        Initial weights, finite: one number or one for each feature.
    bound
        Positive factor: a prediction has diverged when it exceeds `bound` times the largest value that the rewards and
        discounts so far allow. Too large a β makes Θ diverge.
    max_size
        Largest number of features accepted, at least 1.
    on_divergence
        "raise" raises `Diverged` once; "flag" only sets `diverged_at`. In both cases the learner stops learning.

    Examples
    --------
    >>> import tdlambda as td
    >>> v = ExpectedTrace(td.features.OneHot(4), alpha=0.5, lam=1.0, beta=td.steps.OneOver("visits"))
    >>> v.update(0, 0.0, 2, gamma=1.0)
    >>> v.update(2, 0.0, 3, gamma=1.0, terminated=True)
    >>> v.update(1, 0.0, 2, gamma=1.0)
    >>> v.update(2, 1.0, 3, gamma=1.0, terminated=True)  # credits 0 too, which precedes 2 as often as 1 does
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
        """The weights w, as a read-only view."""
        return read_only(self._w)

    @property
    def trace(self) -> Array:
        """The trace z of the last step, read-only; 0 between episodes."""
        return read_only(self._z)

    def expected_trace(self, obs: Any) -> Floats:
        """The expected trace Θ x(obs) on entering this observation."""
        index, value = self.features.encode(obs)
        return np.asarray(value @ self._theta[index], dtype=np.float64)

    def reset(self) -> None:
        """Set the traces to 0, as at the start of an episode; keep the weights."""
        super().reset()
        with self._guard:
            self._z[:] = 0.0
            self._number["under_way"] = 0.0

    def _take(self, *columns: Any) -> bool:
        own = (self._theta, self._w, self._e, self._z, self._visits, self._trace_visits, self._expected)
        rest = (self._number, self._count, self._settings, self.eta)
        return learn_rows(*own, *rest, columns)

    def _restore(self, state: dict[str, Array]) -> None:
        if "numbers" in state and state["numbers"].shape == (len(self.numbers.split()),):
            fixed = [self.numbers.split().index(name) for name in ("factor", "start")]
            if (state["numbers"][fixed] != self._number.view(np.float64)[fixed]).any():
                raise ValueError("state 'numbers' does not fit this learner: its limits are different")
        if any((state[name] < 0).any() for name in ("visits", "trace_visits") if name in state):
            raise ValueError("state does not fit this learner: visits must not be negative")
        super()._restore(state)


def _by_visits(step: float | OneOver) -> bool:
    return isinstance(step, OneOver) and step.by == "visits"

"""The Gaussian policy for actions in a box (Sutton & Barto 2018, section 13.7), each dimension on its own.

With u the action in units of the box (its middle is 0, its edges are -1 and 1), and for each dimension

    u ~ N(μ, σ²),   μ = θ_μ·x,   log σ = log σ₀ + B tanh(θ_σ·x / B)
    ∇_{θ_μ} log π(u|s) = (u - μ)/σ² x
    ∇_{θ_σ} log π(u|s) = ((u - μ)²/σ² - 1) (1 - tanh²(θ_σ·x / B)) x
    ∇_{θ_σ} H(π(·|s))  = (1 - tanh²(θ_σ·x / B)) x

B = ∞ is the book's σ = σ₀ exp(θ_σ·x); a finite B keeps σ within a factor e^B of σ₀, since ∇ log π grows without bound
as σ shrinks. An action outside the box is handled by the environment (`td.train` clips it); the density is that of the
action drawn, before clipping.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import gymnasium as gym
import numpy as np
from numpy.typing import ArrayLike

from tdlambda.arrays import Floats, positive, real
from tdlambda.control.policy import Behavior, Policy, PolicyKernel
from tdlambda.features import Encoder, Network

MeanAndSigma: TypeAlias = tuple[Floats, Floats]


def distribution(s: Any, out: Floats) -> None:
    """Replace the outputs, θ_μ·x and then θ_σ·x, by μ and then σ of each dimension; θ_σ·x is kept in the last part."""
    n = out.size // 4
    for i in range(n):
        u = out[3 * n + i] = out[n + i]
        u = s.log_sigma + (s.reach * math.tanh(u / s.reach) if s.reach > 0 else u)
        out[n + i] = math.exp(min(max(u, -700.0), 700.0))


def score(s: Any, action: int, point: Floats, out: Floats) -> None:
    """Replace μ and σ in `out` by the gradients with respect to the outputs of log π(point|s), then of H."""
    n = out.size // 4
    for i in range(n):
        away, slope = (point[i] - out[i]) / out[n + i], 1.0
        if s.reach > 0:
            slope -= math.tanh(out[3 * n + i] / s.reach) ** 2
        out[i] = away / out[n + i]
        out[n + i] = (away**2 - 1) * slope
        out[2 * n + i], out[3 * n + i] = 0.0, slope


class Gaussian(Policy):
    """A Gaussian policy for actions in a box; mean and standard deviation are functions of the features.

    θ is [row, feature]: a row for the mean of each dimension, then a row for the σ of each, in units of half the box.

    Parameters
    ----------
    low, high
        Bounds of the box, a number or one for each dimension; infinite or None for no bound. A dimension that is not
        bounded on both sides has middle 0 and unit 1.
    sigma
        σ₀ > 0, the standard deviation at θ = 0, in units of half the box.
    within
        Largest factor e^B > 1 between σ and σ₀; None for no limit.
    features, initial
        See `Policy`.

    Examples
    --------
    >>> import numpy as np, tdlambda as td
    >>> agent = td.ActorCritic(td.TrueOnlineTD(td.features.OneHot(2), alpha=0.1), td.control.Gaussian(-2, 2), eta=0.1)
    >>> agent.policy_at(0)                                 # mean and σ
    (array([0.]), array([1.]))
    >>> agent.update(0, [1.5], 1.0, 1, gamma=1.0, terminated=True)    # more than expected
    >>> mean, sigma = agent.policy_at(0)
    >>> bool(mean > 0)
    True
    """

    kernel = PolicyKernel("gaussian", distribution, score)

    def __init__(
        self,
        low: ArrayLike | Sequence[float | None],
        high: ArrayLike | Sequence[float | None],
        sigma: float = 0.5,
        within: float | None = 10.0,
        features: Encoder | Network | None = None,
        initial: ArrayLike = 0.0,
    ) -> None:
        super().__init__(features, initial)
        self.low, self.high = _bounds(low, "low", -np.inf), _bounds(high, "high", np.inf)
        if self.low.ndim != 1 or self.low.shape != self.high.shape or not (self.low < self.high).all():
            raise ValueError(f"low must be below high in every dimension, with equal shapes; got {low!r} and {high!r}")
        self.sigma, self.within = positive(sigma, "sigma"), None if within is None else positive(within, "within")
        if self.within is not None and self.within <= 1:
            raise ValueError(f"within must be above 1, or None; got {within}")
        self.dimensions, self.rows = self.low.size, 2 * self.low.size
        bounded = np.isfinite(self.low) & np.isfinite(self.high)
        self.middle = np.where(bounded, (np.where(bounded, self.low, 0) + np.where(bounded, self.high, 0)) / 2, 0.0)
        self.unit = np.where(bounded, self.high - self.middle, 1.0)

    def numbers(self) -> dict[str, float]:
        """The numbers log σ₀ and B (0 for infinite)."""
        return {"log_sigma": math.log(self.sigma), "reach": 0.0 if self.within is None else math.log(self.within)}

    def validated(self, action: Any) -> tuple[int, Floats]:
        """The action in units of the box."""
        point = real(action, "action")
        if point.size != self.dimensions or not np.isfinite(point).all():
            raise ValueError(f"action must be {self.dimensions} finite numbers; got {action!r}")
        return 0, (point.reshape(-1) - self.middle) / self.unit

    def distribution(self, out: Floats) -> MeanAndSigma:
        """Mean and standard deviation of each dimension."""
        n = self.dimensions
        return self.middle + self.unit * out[:n], self.unit * out[n : 2 * n]

    def draw(self, distribution: MeanAndSigma, rng: np.random.Generator) -> Floats:
        """Draw an action; it may lie outside the box."""
        mean, sigma = distribution
        return mean + sigma * rng.standard_normal(self.dimensions)

    def mode(self, distribution: MeanAndSigma) -> Floats:
        """The mean."""
        return distribution[0]

    def log_density(self, distribution: MeanAndSigma, action: Any) -> float:
        """The log density of the action, in the box's own units."""
        mean, sigma = distribution
        away = (self.middle + self.unit * self.validated(action)[1] - mean) / sigma
        return float(-(away**2 / 2 + np.log(sigma)).sum() - self.dimensions * math.log(2 * math.pi) / 2)

    def behavior(self, given: Behavior) -> Callable[[Any], MeanAndSigma]:
        """Build a behaviour policy from a pair (mean, σ), or a function from an observation to such a pair."""

        def checked(pair: Any, where: str) -> MeanAndSigma:
            try:
                mean, sigma = (np.broadcast_to(np.asarray(part, np.float64), self.dimensions) for part in pair)
            except (TypeError, ValueError):
                raise ValueError(f"behavior{where} must be a pair, mean and standard deviation; got {pair!r}") from None
            if not (np.isfinite(mean).all() and np.isfinite(sigma).all() and (sigma > 0).all()):
                raise ValueError(f"behavior{where} must be a finite mean and a positive σ; got {pair!r}")
            return mean, sigma

        if callable(given):
            return lambda obs: checked(given(obs), f" at observation {obs!r}")
        same = checked(given, "")
        return lambda _: same

    def for_space(self, space: gym.Space[Any]) -> Callable[[Any], Any]:
        """Convert actions to a `Box` of the same number of dimensions, by clipping."""
        if not isinstance(space, gym.spaces.Box):
            raise TypeError(
                f"env: its actions are {space}, but a Gaussian policy needs a Box; for Discrete actions, use "
                "td.control.Softmax"
            )
        size = int(np.prod(space.shape))
        if size != self.dimensions:
            raise ValueError(f"env has actions of {size} dimensions, but the policy has {self.dimensions}")
        low, high, shape, dtype = space.low, space.high, space.shape, space.dtype
        return lambda action: np.clip(np.reshape(action, shape), low, high).astype(dtype)

    def get_params(self) -> dict[str, Any]:
        """The constructor's arguments."""
        low, high = ([None if np.isinf(end) else end for end in ends.tolist()] for ends in (self.low, self.high))
        params = {"low": low, "high": high, "sigma": self.sigma, "within": self.within}
        return params | {"features": self.features, "initial": self.initial.tolist()}


def _bounds(given: Any, name: str, missing: float) -> Floats:
    """One end of the box, infinite where it is not bounded."""
    try:
        ends = np.array([missing if end is None else end for end in np.atleast_1d(given).tolist()], dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise TypeError(f"{name} must be a number, or one for each dimension; got {given!r}") from None
    if np.isnan(ends).any():
        raise ValueError(f"{name} must not be NaN; got {given!r}")
    return ends

"""AutoTD: prediction without a step size or λ to choose."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from statistics import NormalDist
from typing import Any, Literal

import numpy as np

from tdlambda.algorithms import TrueOnlineTD
from tdlambda.arrays import Bools, Floats, Ints, choice, confidence
from tdlambda.auto import layout
from tdlambda.auto.dense import Squares
from tdlambda.auto.explanation import Explanation
from tdlambda.auto.tables import Learners
from tdlambda.core import declare
from tdlambda.core.names import words
from tdlambda.features import Dense, Encoder
from tdlambda.learners.base import LEARNERS, REQUIRED, Array, Diverged, Learner, check_numbers, encoded
from tdlambda.learners.episode import BatchLearner
from tdlambda.mdp import Transitions

_PLAIN, _FLOAT = (float, np.float64), np.dtype(np.float64)
_NONE = np.zeros(0)


class AutoTD(BatchLearner):
    """Value prediction without choosing α or λ: on- or off-policy, episodic or continuing.

    AutoTD runs several experts side by side and predicts with a weighted mixture of them. The weights follow an
    estimate of each expert's value error, which needs no true values. Predictions are clipped to the range that the
    rewards and discounts seen so far allow.

    With sparse features, the experts are 24 learners (6 step sizes × 4 λ) and their averaged copies; up to 256
    features, 12 least-squares experts (3 λ × 4 degrees of regularisation) join them. When a short window significantly
    contradicts the long one, older data is forgotten. Step sizes are normalised: each is divided by the largest |x|²
    so far. If most of the weight is at one end of the range of step sizes, the range moves in that direction. A
    learner that diverges is dropped; `Diverged` is raised only if no expert is left. The cost of a step is proportional
    to the number of active features and live features; with least squares, to the active features times all features.

    For vectors of readings (`td.features.Dense`), the experts are LSTD(λ) with several λ and windows, running means,
    and the constant 0. With more than 64 readings there are fewer of these, plus learners with normalised step sizes;
    with more than 256 only the latter remain. Units and offsets of readings and rewards do not matter, an outlier is
    clipped to 1.5 times the largest deviation so far, and the first 32 transitions are held back. The cost of a step
    is proportional to the square of the number of readings.

    Parameters
    ----------
    features
        Encoder of observations.
    algorithm
        The learning algorithm: a class such as `td.TD` or your own `td.Algorithm`, or its name. Secondary step sizes
        such as β equal α; other parameters are attributes of the class. None means `td.TrueOnlineTD`, or least squares
        for vectors of readings.
    experts
        Additional learners of your own, with the same features. They are copied; each learns from every transition
        through its own `update`. One that diverges is left out.

    Examples
    --------
    >>> import tdlambda as td
    >>> ring = td.make("RingWorld-v0")
    >>> v = td.AutoTD(ring.features)
    >>> v.update_many(ring.sampler(seed=1).take(100_000))
    >>> bool(ring.exact.value_error(v.predict_many(range(11)), half=False) < 1e-4)
    True
    >>> round(sum(v.expert_weights().values()), 9)
    1.0
    >>> own = td.AutoTD(ring.features, experts=[td.NStepTD(ring.features, alpha=0.1, n=4)])
    >>> own.update_many(ring.sampler(seed=1).take(500))
    >>> "NStepTD 1" in own.expert_weights()
    True
    """

    def __init__(
        self,
        features: Encoder,
        *,
        algorithm: type[declare.Algorithm] | str | None = None,
        experts: Sequence[Learner] = (),
    ) -> None:
        super().__init__(features, layout.BEST_LAMBDA, layout.BOUND, "raise")
        dense = algorithm is None and isinstance(features, Dense)
        self.algorithm = None if dense else _declared(TrueOnlineTD if algorithm is None else algorithm)
        self.experts = _copies(experts, features)
        make: Any = Squares if self.algorithm is None else partial(Learners, algorithm=self.algorithm)
        names = [f"{type(e).__name__} {i}" for i, e in enumerate(self.experts, 1)]
        self._experts = make(features, counts=self._count, own=names)

    # ---- predictions ------------------------------------------------------------------------------------------

    def predict(self, obs: Any) -> float:
        """V(obs), the predicted value of an observation."""
        index, value = encoded(self.features.encode, obs, "obs")
        return float(self._experts.predict(index, value, self._own_at(obs)))

    def predict_many(self, observations: Any) -> Floats:
        """The predicted value V of each observation."""
        index, value = self.features.encode_batch(observations)
        own = np.zeros((len(index), len(self.experts)))
        for i, e in enumerate(self.experts):
            own[:, i] = e.predict_many(observations)
        found: Floats = self._experts.predict_many(index, value, own)
        return found

    def _own_at(self, obs: Any) -> Floats:
        """The predictions of the user's own experts."""
        return np.array([e.predict(obs) for e in self.experts], dtype=np.float64) if self.experts else _NONE

    @property
    def weights(self) -> Array:
        """The weights Σ p w of the mixture; predictions are w·x unless an expert's prediction was clipped.

        For vectors of readings: the slope of the prediction in each reading, within the range seen so far.
        """
        found = self._experts.coefficients
        for share, e in zip(self._experts.own_weights, self.experts, strict=True):
            found = found + share * e.weights
        found.flags.writeable = False
        return found

    def lambda_at(self, obs: Any) -> float:
        """The weighted mean λ of the experts; it is the same for every observation."""
        return float(self.lambdas([obs])[0])

    def lambdas(self, observations: Any) -> Floats:
        """`lambda_at` for each observation."""
        return np.full(len(observations), min(1.0, self._experts.lam))

    # ---- the mixture ------------------------------------------------------------------------------------------

    def expert_weights(self) -> dict[str, float]:
        """Each expert's weight p in the prediction, by name, largest first; the weights sum to 1."""
        return {e.name: e.weight for e in self._experts.experts()}

    def explain(self) -> Explanation:
        """An explanation of the mixture: the experts with the most weight, how certain that is, and the errors."""
        return self._experts.explain(self.steps)

    def interval(
        self, obs: Any, level: float = 0.9, of: Literal["value", "return"] = "value"
    ) -> tuple[float, float]:  # fmt: skip
        """An interval for v(obs), or for the return from obs.

        Parameters
        ----------
        obs
            An observation.
        level
            Nominal coverage, in (0, 1). The AutoTD page of the documentation reports the measured coverage.
        of
            "value": combines the least-squares uncertainty with the disagreement of the experts; it does not include
            the error of approximating v by a linear function of the features. "return": on-policy only, and equally
            wide everywhere.
        """
        low, high = self.interval_many([obs], level, of)[0]
        return float(low), float(high)

    def interval_many(
        self, observations: Any, level: float = 0.9, of: Literal["value", "return"] = "value"
    ) -> Floats:  # fmt: skip
        """An interval for each observation [observation, (low, high)].

        Parameters
        ----------
        observations
            Observations, one per row.
        level
            Nominal coverage, in (0, 1): see `interval`.
        of
            "value" or "return": see `interval`.
        """
        choice(of, "of", "value", "return")
        width = NormalDist().inv_cdf(0.5 + confidence(level) / 2)
        middle = self.predict_many(observations)
        if of == "value":
            deviation: Any = np.sqrt(self._experts.variance(*self.features.encode_batch(observations)))
        else:
            deviation = self._experts.return_error
            if deviation is None:
                raise ValueError(
                    'of="return" is not available off-policy, before the first updates, or while every discount so far '
                    'is 1; use of="value"'
                )
        half = width * np.broadcast_to(deviation, middle.shape)
        return np.column_stack([middle - half, middle + half])

    # ---- the interface of a learner ---------------------------------------------------------------------------

    def reset(self) -> None:
        """Discard the current episode; keep what was learned."""
        with self._guard:
            self._experts.end()
            for e in self.experts:
                e.reset()

    def get_params(self) -> dict[str, Any]:
        """The constructor's arguments; the algorithm by name, unless it is the default."""
        params: dict[str, Any] = {"features": self.features}
        own = self.algorithm
        if own is not None and (own is not TrueOnlineTD or isinstance(self.features, Dense)):
            params["algorithm"] = own.__name__ if _known().get(own.__name__) is own else own
        return params | ({"experts": list(self.experts)} if self.experts else {})

    def __reduce__(self) -> tuple[Any, ...]:
        """Support pickle and copy; the algorithm's class is included, so that another process can import it."""
        make, (kind, params, state) = super().__reduce__()
        return make, (kind, params | {"algorithm": self.algorithm}, state)

    def update(
        self,
        obs: Any,
        reward: float,
        next_obs: Any,
        gamma: float = REQUIRED,
        rho: float = 1.0,
        terminated: bool = False,
        truncated: bool = False,
    ) -> None:
        """Learn from one transition.

        Parameters
        ----------
        obs, next_obs
            Observations s_t and s_{t+1}.
        reward
            R_{t+1}, in [-1e100, 1e100], so that squared errors are finite.
        gamma
            γ_{t+1} in [0, 1], the discount on entering `next_obs`; taken as 0 when `terminated`.
        rho
            Importance-sampling ratio π(a|s)/b(a|s) ≥ 0 of the action taken; 1 on-policy.
        terminated, truncated
            As in Gymnasium: a terminated episode has no further return; a truncated one bootstraps from `next_obs`.
            Either way the traces are then reset.
        """
        if self.experts:
            self._experts.own[:] = self._own_at(obs), encoded(self._own_at, next_obs, "next_obs")
        elif (
            self.algorithm is None and type(obs) is type(next_obs) is np.ndarray
            and obs.dtype is next_obs.dtype is _FLOAT and obs.ndim == next_obs.ndim == 1
            and type(reward) in _PLAIN and type(gamma) is type(rho) is float
            and type(terminated) is type(truncated) is bool
        ):  # fmt: skip
            with self._guard:
                if self._experts.enter(obs, next_obs, reward, gamma, rho, terminated, truncated) > 0:
                    return
        super().update(obs, reward, next_obs, gamma, rho, terminated, truncated)  # raises the error for invalid input
        for e in self.experts:
            with suppress(Diverged):  # its predictions no longer change, so it loses its weight
                e.update(obs, reward, next_obs, gamma, rho, terminated, truncated)

    def _learn_many(self, c: Transitions) -> None:
        _require_moderate(c.reward)
        if not self.experts:
            super()._learn_many(c)
            return
        columns = (
            c.obs,
            c.reward.tolist(),
            c.next_obs,
            c.gamma.tolist(),
            c.rho.tolist(),
            c.terminated.tolist(),
            c.truncated.tolist(),
        )
        for reward, gamma, rho in zip(*(columns[k] for k in (1, 3, 4)), strict=True):
            check_numbers(reward, gamma, rho)
        encoded(self.features.encode_batch, c.obs, "obs")
        encoded(self.features.encode_batch, c.next_obs, "next_obs")
        for row in zip(*columns, strict=True):
            self.update(*row)

    def _learn(
        self, x: Ints, xv: Floats, y: Ints, yv: Floats, reward: float, gamma: float, rho: float, lam: float,
        terminated: bool, truncated: bool,
    ) -> None:  # fmt: skip
        _require_moderate(np.array([reward]))
        status = -1
        if x.shape == xv.shape == y.shape == yv.shape == (self.features.active,):
            status = self._experts.learn(x, xv, y, yv, reward, gamma, rho, terminated, truncated)
        if status < 0:  # raises the error for invalid input
            super()._learn(x, xv, y, yv, reward, gamma, rho, lam, terminated, truncated)
        elif status == 0:
            raise Diverged(self.steps)

    def _take(
        self, x: Ints, xv: Floats, y: Ints, yv: Floats, reward: Floats, gamma: Floats, rho: Floats,
        lam: Floats,  # noqa: ARG002, each learner has its own
        terminated: Bools, truncated: Bools,
    ) -> bool:  # fmt: skip
        return self._experts.learn_many(x, xv, y, yv, reward, gamma, rho, terminated, truncated)

    # ---- storage ----------------------------------------------------------------------------------------------

    def _state(self) -> dict[str, Array]:
        own = {f"{i}.{name}": array for i, e in enumerate(self.experts, 1) for name, array in e._state().items()}
        return self._experts.state() | own | {"counts": self._count.view(np.int64)}

    def _restore(self, state: dict[str, Array]) -> None:
        copies = [e.clone() for e in self.experts]
        for i, e in enumerate(copies, 1):
            e._restore({name.removeprefix(f"{i}."): a for name, a in state.items() if name.startswith(f"{i}.")})
        rest = {name: array for name, array in state.items() if not name[0].isdigit()}
        own = self._experts.state() | {"counts": self._count.view(np.int64)}
        new = self._fitted(rest, {name: (array.shape, str(array.dtype)) for name, array in own.items()})
        self._experts.require_sense(new)
        for name, array in own.items():
            array[:] = new[name]
        self.experts = tuple(copies)
        self._experts.restored(self.steps)


def _require_moderate(rewards: Floats) -> None:
    """Validate that errors of predictions of these rewards can be squared; NaN and ∞ have errors of their own."""
    bad = (np.abs(rewards) > layout.MOST_REWARD) & np.isfinite(rewards)
    if bad.any():
        t = int(np.argmax(bad))
        raise ValueError(
            f"reward must be within ±{layout.MOST_REWARD:g}, because AutoTD squares errors; got {rewards[t]}"
            + (f" (row {t})" if rewards.size > 1 else "")
        )


def _copies(experts: Sequence[Learner], features: Encoder) -> tuple[Learner, ...]:
    """Validate and copy the user's own experts."""
    if isinstance(experts, Learner) or not all(isinstance(e, Learner) for e in experts):
        raise TypeError(f"experts must be a list of learners, such as [td.LSTD(features, 0.9)]; got {experts!r}")
    for e in experts:
        if e.features != features:
            raise ValueError(f"experts must have the same features as AutoTD, {features!r}; got {e!r}")
    return tuple(e.clone() for e in experts)


def _known() -> dict[str, type[declare.Algorithm]]:
    """The declared algorithms by name."""
    kinds: dict[str, Any] = {name: kind for name, kind in LEARNERS.items() if hasattr(kind, "step")}
    return {name: kind for name, kind in kinds.items() if issubclass(kind, declare.Algorithm)}


def _declared(algorithm: Any) -> type[declare.Algorithm]:
    """The declaration that `algorithm` refers to."""
    if isinstance(algorithm, str) and algorithm not in _known():
        raise ValueError(f"algorithm must be one of {', '.join(_known())}, or a class; got {algorithm!r}")
    found = _known()[algorithm] if isinstance(algorithm, str) else algorithm
    if not (isinstance(found, type) and issubclass(found, declare.Algorithm) and hasattr(found, "step")):
        raise TypeError(f"algorithm must be a class such as td.TrueOnlineTD, declared by equations; got {algorithm!r}")
    for name in words(found.parameters):
        if getattr(found, name, None) is None:
            raise TypeError(
                f"algorithm: {found.__name__} needs a default of {name}; set the class attribute {name} = …"
            )
    return found

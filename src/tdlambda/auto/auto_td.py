"""The predictor a user holds."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from statistics import NormalDist
from typing import Any, Literal

import numpy as np

from tdlambda.algorithms import TrueOnlineTD
from tdlambda.arrays import Bools, Floats, Ints, choice, fraction
from tdlambda.auto import layout
from tdlambda.auto.dense import Squares
from tdlambda.auto.explanation import Explanation
from tdlambda.auto.tables import Learners
from tdlambda.core import declare
from tdlambda.core.names import words
from tdlambda.features import Dense, Encoder
from tdlambda.learners.base import LEARNERS, Array, Diverged, Learner, check_numbers
from tdlambda.learners.episode import BatchLearner
from tdlambda.mdp import Transitions

_PLAIN, _FLOAT = (float, np.float64), np.dtype(np.float64)
_NONE = np.zeros(0)


class AutoTD(BatchLearner):
    """A prediction that needs neither α nor λ, on- or off-policy, in episodes or without end.

    It runs several experts side by side and predicts by a mixture of them. The weights follow an estimate of each
    expert's value error that needs no true values. Predictions are kept within what rewards and
    discounts so far allow.

    Where features are sparse, the experts are 24 learners (6 step sizes × 4 λ), their averages over time, and up to 256
    features 12 by least squares (3 λ × 4 degrees of regularisation). When a short window surely contradicts the long
    one, what was observed before it is forgotten. Step sizes are for |x|² = 1: they are divided by the largest |x|² so
    far; where most of the weight stands at one end of them, they move on in that direction. A learner that diverges is
    dropped; only if no expert is left does it raise `Diverged`. A step costs in proportion to the active features and
    those with a live trace; with least squares, to the active features times all.

    For vectors of readings (`td.features.Dense`), the experts are LSTD(λ) with several λ and windows, running means,
    and 0; with
    more than 64 readings fewer of them, and learners whose step sizes are normalised; with more than 256 those alone.
    Neither units nor offsets of readings and rewards matter, one outlier is cut to 1.5 times the largest deviation so
    far, and the first 32 transitions are held back. A step costs in proportion to the square of the number of readings.

    Parameters
    ----------
    features
        Encoder of observations.
    algorithm
        How each learner learns: a class such as `td.TD`, or one of your own (`td.Algorithm`), or the name of one. Its
        further step sizes, such as β, equal α; its parameters are attributes of the class. None is `td.TrueOnlineTD`,
        or least squares for vectors of readings.
    experts
        Learners of your own beside these, with the same features. They are copied; each learns from every transition,
        through its own `update`, and one that diverges is left out.

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
        """V(obs)."""
        index, value = self.features.encode(obs)
        return float(self._experts.predict(index, value, self._own_at(obs)))

    def predict_many(self, observations: Any) -> Floats:
        """V of each observation."""
        index, value = self.features.encode_batch(observations)
        own = np.zeros((len(index), len(self.experts)))
        for i, e in enumerate(self.experts):
            own[:, i] = e.predict_many(observations)
        found: Floats = self._experts.predict_many(index, value, own)
        return found

    def _own_at(self, obs: Any) -> Floats:
        """What the user's own experts predict."""
        return np.array([e.predict(obs) for e in self.experts], dtype=np.float64) if self.experts else _NONE

    @property
    def weights(self) -> Array:
        """The weights Σ p w of the mixture: predictions are w·x wherever none had to be limited.

        For vectors of readings, the slope of the prediction in each, within what was seen so far.
        """
        found = self._experts.coefficients
        for share, e in zip(self._experts.own_weights, self.experts, strict=True):
            found = found + share * e.weights
        found.flags.writeable = False
        return found

    def lambda_at(self, obs: Any) -> float:
        """The mean λ of the experts, by weight; the same everywhere."""
        return float(self.lambdas([obs])[0])

    def lambdas(self, observations: Any) -> Floats:
        """The same for each of these observations."""
        return np.full(len(observations), min(1.0, self._experts.lam))

    # ---- what it believes -------------------------------------------------------------------------------------

    def expert_weights(self) -> dict[str, float]:
        """Each expert's share p in the prediction, by its name; largest first, and they add up to 1."""
        return {e.name: e.weight for e in self._experts.experts()}

    def explain(self) -> Explanation:
        """Which experts carry the weight now, how sure that is, and how far off predictions are."""
        return self._experts.explain(self.steps)

    def interval(
        self, obs: Any, coverage: float = 0.9, of: Literal["value", "return"] = "value"
    ) -> tuple[float, float]:  # fmt: skip
        """An interval for v(obs), or for the return that follows.

        Parameters
        ----------
        obs
            An observation.
        coverage
            The share of such intervals that should hold what they are for, in (0, 1). How many do was measured: see the
            documentation of AutoTD.
        of
            "value": what least squares leave open, and where experts differ. It knows nothing of values that no weights
            of the features can give. "return": on-policy alone, and as wide everywhere.
        """
        low, high = self.interval_many([obs], coverage, of)[0]
        return float(low), float(high)

    def interval_many(
        self, observations: Any, coverage: float = 0.9, of: Literal["value", "return"] = "value"
    ) -> Floats:  # fmt: skip
        """The same for each of these observations: [observation, low and high]."""
        choice(of, "of", "value", "return")
        if not 0 < fraction(coverage, "coverage") < 1:
            raise ValueError(f"coverage must be in (0, 1), such as 0.9; got {coverage}")
        middle = self.predict_many(observations)
        if of == "value":
            deviation: Any = np.sqrt(self._experts.variance(*self.features.encode_batch(observations)))
        else:
            deviation = self._experts.return_error
            if deviation is None:
                raise ValueError(
                    "of: there is no interval for the return before anything was learnt, nor off-policy, where returns "
                    "are those of another policy; take of='value'"
                )
        half = NormalDist().inv_cdf(0.5 + coverage / 2) * np.broadcast_to(deviation, middle.shape)
        return np.column_stack([middle - half, middle + half])

    # ---- the contract of a learner ----------------------------------------------------------------------------

    def reset(self) -> None:
        """Forget the episode under way; keep what was learnt."""
        with self._guard:
            self._experts.end()
            for e in self.experts:
                e.reset()

    def get_params(self) -> dict[str, Any]:
        """The constructor's arguments; the algorithm by its name, unless it is the default."""
        params: dict[str, Any] = {"features": self.features}
        own = self.algorithm
        if own is not None and (own is not TrueOnlineTD or isinstance(self.features, Dense)):
            params["algorithm"] = own.__name__ if _known().get(own.__name__) is own else own
        return params | ({"experts": list(self.experts)} if self.experts else {})

    def __reduce__(self) -> tuple[Any, ...]:
        """For pickle and copy: with the class of the algorithm, which another process can import."""
        make, (kind, params, state) = super().__reduce__()
        return make, (kind, params | {"algorithm": self.algorithm}, state)

    def update(
        self,
        obs: Any,
        reward: float,
        next_obs: Any,
        gamma: float,
        rho: float = 1.0,
        terminated: bool = False,
        truncated: bool = False,
    ) -> None:
        """Learn from one transition: see `Learner.update`."""
        if self.experts:
            self._experts.own[:] = self._own_at(obs), self._own_at(next_obs)
        elif (
            self.algorithm is None and type(obs) is type(next_obs) is np.ndarray
            and obs.dtype is next_obs.dtype is _FLOAT and obs.ndim == next_obs.ndim == 1
            and type(reward) in _PLAIN and type(gamma) is type(rho) is float
            and type(terminated) is type(truncated) is bool
        ):  # fmt: skip
            with self._guard:
                if self._experts.enter(obs, next_obs, reward, gamma, rho, terminated, truncated) > 0:
                    return
        super().update(obs, reward, next_obs, gamma, rho, terminated, truncated)  # says what is wrong, if it is
        for e in self.experts:
            with suppress(Diverged):  # it predicts what it did, and loses its weight
                e.update(obs, reward, next_obs, gamma, rho, terminated, truncated)

    def _learn_many(self, c: Transitions) -> None:
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
        for observations in (c.obs, c.next_obs):
            self.features.encode_batch(observations)
        for row in zip(*columns, strict=True):
            self.update(*row)

    def _learn(
        self, x: Ints, xv: Floats, y: Ints, yv: Floats, reward: float, gamma: float, rho: float, lam: float,
        terminated: bool, truncated: bool,
    ) -> None:  # fmt: skip
        status = -1
        if x.shape == xv.shape == y.shape == yv.shape == (self.features.active,):
            status = self._experts.learn(x, xv, y, yv, reward, gamma, rho, terminated, truncated)
        if status < 0:  # says what is wrong
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


def _copies(experts: Sequence[Learner], features: Encoder) -> tuple[Learner, ...]:
    """The user's own experts."""
    if isinstance(experts, Learner) or not all(isinstance(e, Learner) for e in experts):
        raise TypeError(f"experts must be a list of learners, such as [td.LSTD(features, 0.9)]; got {experts!r}")
    for e in experts:
        if e.features != features:
            raise ValueError(f"experts must have the features of AutoTD, {features!r}; got {e!r}")
    return tuple(e.clone() for e in experts)


def _known() -> dict[str, type[declare.Algorithm]]:
    """Algorithms by name."""
    kinds: dict[str, Any] = {name: kind for name, kind in LEARNERS.items() if hasattr(kind, "step")}
    return {name: kind for name, kind in kinds.items() if issubclass(kind, declare.Algorithm)}


def _declared(algorithm: Any) -> type[declare.Algorithm]:
    """The declaration that `algorithm` means."""
    if isinstance(algorithm, str) and algorithm not in _known():
        raise ValueError(f"algorithm must be one of {', '.join(_known())}, or a class; got {algorithm!r}")
    found = _known()[algorithm] if isinstance(algorithm, str) else algorithm
    if not (isinstance(found, type) and issubclass(found, declare.Algorithm) and hasattr(found, "step")):
        raise TypeError(f"algorithm must be a class such as td.TrueOnlineTD, declared by equations; got {algorithm!r}")
    for name in words(found.parameters):
        if getattr(found, name, None) is None:
            raise TypeError(f"algorithm: {found.__name__} needs a default of {name}, a class attribute {name} = …")
    return found

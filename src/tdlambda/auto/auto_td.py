"""The predictor a user holds."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from tdlambda.algorithms import TrueOnlineTD
from tdlambda.arrays import Bools, Floats, Ints
from tdlambda.auto import layout
from tdlambda.auto.dense import MANY, Squares
from tdlambda.auto.explanation import Explanation
from tdlambda.auto.tables import Learners
from tdlambda.core import declare
from tdlambda.core.names import words
from tdlambda.features import Dense, Encoder
from tdlambda.learners.base import LEARNERS, Array, Diverged
from tdlambda.learners.episode import BatchLearner

_PLAIN, _FLOAT = (float, np.float64), np.dtype(np.float64)


class AutoTD(BatchLearner):
    """A prediction that needs neither α nor λ, on- or off-policy, in episodes or without end.

    It runs several experts side by side and predicts by a mixture of them. The weights follow an estimate of each
    expert's value error that needs no true values (docs/auto-td.md). Predictions are kept within what rewards and
    discounts so far allow.

    Where features are sparse, the experts are 24 learners (6 step sizes × 4 λ) and their averages over time. When a
    short window surely contradicts the long one, what was observed before it is forgotten. Step sizes are for |x|² = 1:
    they are divided by the largest |x|² so far. A learner that diverges is dropped; only if all of them diverge does it
    raise `Diverged`. A step costs in proportion to the active features and those with a live trace.

    For vectors of readings (`td.Dense` of up to 256), the experts are LSTD(λ) with several λ and windows, running
    means, and 0. Neither units nor offsets of readings and rewards matter, one outlier is cut to 1.5 times the largest
    deviation so far, and the first 32 transitions are held back. A step costs in proportion to the square of the number
    of readings.

    Parameters
    ----------
    features
        Encoder of observations.
    algorithm
        How each learner learns: a class such as `td.TD`, or one of your own (`td.Algorithm`), or the name of one. Its
        further step sizes, such as β, equal α; its parameters are attributes of the class. None is `td.TrueOnlineTD`,
        or least squares for vectors of readings.

    Examples
    --------
    >>> import tdlambda as td
    >>> ring = td.make("RingWorld-v0")
    >>> v = td.AutoTD(ring.features)
    >>> v.update_many(ring.sampler(seed=1).take(100_000))
    >>> bool(ring.mdp.value_error(v.predict_many(range(11)), ring.target, half=False) < 1e-4)
    True
    >>> round(sum(v.weights().values()), 9)
    1.0
    >>> v.explain().experts[0].averaged
    True
    """

    def __init__(self, features: Encoder, *, algorithm: type[declare.Algorithm] | str | None = None) -> None:
        super().__init__(features, layout.BEST_LAMBDA, layout.BOUND, "raise")
        dense = algorithm is None and isinstance(features, Dense) and features.size <= MANY
        self.algorithm = None if dense else _declared(TrueOnlineTD if algorithm is None else algorithm)
        make: Any = Squares if self.algorithm is None else partial(Learners, algorithm=self.algorithm)
        self._experts = make(features, counts=self._count)

    # ---- predictions ------------------------------------------------------------------------------------------

    def predict(self, obs: Any) -> float:
        """V(obs)."""
        index, value = self.features.encode(obs)
        return float(self._experts.predict(index, value))

    def predict_many(self, observations: Any) -> Floats:
        """V of each observation."""
        found: Floats = self._experts.predict_many(*self.features.encode_batch(observations))
        return found

    @property
    def _coefficients(self) -> Array:
        return self._experts.coefficients

    def lambda_at(self, obs: Any) -> float:
        """The mean λ of the experts, by weight; the same everywhere."""
        return float(self.lambdas([obs])[0])

    def lambdas(self, observations: Any) -> Floats:
        """The same for each of these observations."""
        return np.full(len(observations), min(1.0, self._experts.lam))

    # ---- what it believes -------------------------------------------------------------------------------------

    def weights(self) -> dict[tuple[float, float, bool], float]:  # type: ignore[override]
        """Each learner's share p in the prediction, by its (α, λ, averaged over time?); the shares add up to 1.

        For least squares, see `expert_weights`.
        """
        return {(e.alpha or 0.0, e.lam, e.averaged): e.weight for e in self.explain().experts}

    def expert_weights(self) -> dict[str, float]:
        """Each expert's share p in the prediction, by its name; largest first, and they add up to 1."""
        return {e.name: e.weight for e in self.explain().experts}

    def explain(self) -> Explanation:
        """Which experts carry the weight now, and how sure that is."""
        return self._experts.explain(self.steps)

    # ---- the contract of a learner ----------------------------------------------------------------------------

    def reset(self) -> None:
        """Forget the episode under way; keep what was learnt."""
        with self._guard:
            self._experts.end()

    def get_params(self) -> dict[str, Any]:
        """The constructor's arguments; the algorithm by its name, unless it is the default."""
        params: dict[str, Any] = {"features": self.features}
        own = self.algorithm
        if own is not None and (own is not TrueOnlineTD or isinstance(self.features, Dense)):
            params["algorithm"] = own.__name__ if _known().get(own.__name__) is own else own
        return params

    def __reduce__(self) -> tuple[Any, ...]:
        """For pickle and copy: with the class of the algorithm, which another process can import."""
        make, (kind, params, state) = super().__reduce__()
        return make, (kind, params | {"algorithm": self.algorithm}, state)

    def update(
        self,
        obs: Any,
        reward: float,
        next_obs: Any,
        gamma: float = 1.0,
        rho: float = 1.0,
        terminated: bool = False,
        truncated: bool = False,
    ) -> None:
        """Learn from one transition: see `Learner.update`."""
        if (
            self.algorithm is None and type(obs) is type(next_obs) is np.ndarray
            and obs.dtype is next_obs.dtype is _FLOAT and obs.ndim == next_obs.ndim == 1
            and type(reward) in _PLAIN and type(gamma) is type(rho) is float
            and type(terminated) is type(truncated) is bool
        ):  # fmt: skip
            with self._guard:
                if self._experts.enter(obs, next_obs, reward, gamma, rho, terminated, truncated) > 0:
                    return
        super().update(obs, reward, next_obs, gamma, rho, terminated, truncated)  # says what is wrong, if it is

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
        return self._experts.state() | {"counts": self._count.view(np.int64)}

    def _restore(self, state: dict[str, Array]) -> None:
        own = self._state()
        new = self._fitted(state, {name: (array.shape, str(array.dtype)) for name, array in own.items()})
        self._experts.require_sense(new)
        for name, array in own.items():
            array[:] = new[name]
        self._experts.restored(self.steps)


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

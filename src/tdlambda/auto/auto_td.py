"""AutoTD: prediction without a step size or λ to choose."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cache
from statistics import NormalDist
from threading import Lock
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from tdlambda.algorithms import TrueOnlineTD
from tdlambda.arrays import Bools, Floats, Ints, choice, confidence, flag, integer
from tdlambda.auto.bank import Bank
from tdlambda.auto.expert_table import COSINES, FEW
from tdlambda.auto.explanation import Explanation
from tdlambda.auto.families.linear import BEST_LAMBDA, BOUND
from tdlambda.auto.families.networks import networks, with_each_lambda
from tdlambda.auto.transition import MOST_REWARD, STATES, TransitionColumns
from tdlambda.compiled import brief, entry
from tdlambda.core import declare
from tdlambda.core.memory import Episode
from tdlambda.core.names import words
from tdlambda.core.program import ANY_VECTOR
from tdlambda.features import Dense, Encoder, Leading, Network, OneHot
from tdlambda.features.encoder import first_misfit
from tdlambda.learners.algorithm import Algorithm
from tdlambda.learners.episode import BatchLearner, require_fit
from tdlambda.learners.learner import LEARNERS, REQUIRED, Array, Diverged, Learner, columns, encoded
from tdlambda.mdp import Transitions
from tdlambda.mdp.sampler import require_numbers
from tdlambda.rules import Fixed

_PLAIN, _FLOAT = (float, np.float64), np.dtype(np.float64)
_NONE = np.zeros(0)


class AutoTD(BatchLearner):
    """Value prediction without choosing α or λ: on- or off-policy, episodic or continuing.

    AutoTD runs several experts side by side and predicts with a weighted mixture of them. The weights follow an
    estimate of each expert's value error, which needs no true values. Predictions are clipped to the range that the
    rewards and discounts seen so far allow. When a short window significantly contradicts the long one, older data is
    forgotten.

    With sparse features, the experts are 24 learners (6 step sizes × 4 λ) and their averaged copies, running means,
    and up to 256 features LSTD(λ) with 3 λ × 5 ridges; if several are active at once, also LSTD(λ) with 2 λ × 5
    ridges on these features and one for each of up to 128 distinct observations. Step sizes are normalised: each is
    divided by the largest |x|² so far. If most of the weight is at one end of the range of step sizes, the range
    moves in that direction. A learner that diverges is dropped. The cost of a step is proportional to the number of
    active features and live features; with least squares, to the active features times all features.

    For vectors of readings (`td.features.Dense`), the experts are LSTD(λ) with several λ and windows, running means,
    and, up to 64 readings, LSTD(λ) on the readings and nested sets of random cosines of them. With more than 64
    readings there are learners and copies instead of the latter; with more than 256 no least squares. Units and offsets
    of readings and rewards do not matter, an outlier is clipped to 1.5 times the largest deviation so far, and the
    first 32 transitions are held back. The cost of a step is proportional to the square of the number of readings and
    cosines.

    Parameters
    ----------
    features
        Encoder of observations; or a `td.Network`, which with four λ joins the experts for vectors of readings.
    algorithm
        The learning algorithm: a class such as `td.TD` or your own `td.Algorithm`, or its name. Secondary step sizes
        such as β equal α; other parameters are attributes of the class. None means `td.TrueOnlineTD`, or no learners
        for vectors of up to 64 readings.
    experts
        Additional learners of your own: any `td.Learner` of the same observations, with an encoder of its own. They are
        copied; each learns from every transition through its own `update`. One that diverges is left out.
    random_features
        Number of random cosines of vectors of up to 64 readings, at least 0; without any, predictions are linear.
    built_in
        Whether the experts described above take part. If not, AutoTD mixes `experts` alone, or those of the network.

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
    >>> pairs = td.features.Table([[s // 2 == k for k in range(6)] for s in range(11)])  # an encoder of its own
    >>> own = td.AutoTD(ring.features, experts=[td.NStepTD(pairs, alpha=0.1, n=4)])
    >>> own.update_many(ring.sampler(seed=1).take(500))
    >>> "NStepTD 1" in own.expert_weights()
    True
    """

    def __init__(
        self,
        features: Encoder | Network,
        *,
        algorithm: type[declare.AlgorithmDeclaration] | str | None = None,
        experts: Sequence[Learner] = (),
        random_features: int = COSINES,
        built_in: bool = True,
    ) -> None:
        if isinstance(features, Network):
            experts = [*experts, *networks(features)]
            features = Dense(features.inputs)
        super().__init__(features, BEST_LAMBDA, BOUND, "raise")
        self.built_in = flag(built_in, "built_in")
        if not (self.built_in or experts):
            raise ValueError("built_in must be True without experts; got False, which leaves nothing to mix")
        self.algorithm = self._default_algorithm() if algorithm is None else _declared(algorithm)
        self.random_features = integer(random_features, "random_features", 0, 1000)
        self.experts = _copies(experts)
        lams = [e.rule.lam if isinstance(e.rule, Fixed) else np.nan for e in self.experts]
        own = [(f"{type(e).__name__} {i}", lam) for i, (e, lam) in enumerate(zip(self.experts, lams, strict=True), 1)]
        cosines = self.random_features if self.features.size <= FEW else 0
        self._bank = Bank(self.features, self.algorithm, cosines, own, self.built_in)
        self._bind()

    @classmethod
    def of_lambdas(cls, kind: type[Learner], given: tuple[Any, ...], options: dict[str, Any]) -> AutoTD:
        """A mixture of learners on a network that differ in λ; `lam="auto"` on a network.

        Parameters
        ----------
        kind
            Class of the learners.
        given, options
            The arguments of its constructor; `lam` is "auto" or a `td.rules.LambdaMixture`, whose `lams` is used.
        """
        network, experts = with_each_lambda(kind, given, options)
        mixture = cls(Dense(network.inputs), experts=experts, built_in=False)
        # Until an episode ends, equal rewards would fix the value, far from networks that begin near 0.
        mixture._bank.memory.mixture.number["ended"] = 1.0
        return mixture

    def _default_algorithm(self) -> type[declare.AlgorithmDeclaration] | None:
        few = isinstance(self.features, Dense) and self.features.size <= FEW
        return None if few or not self.built_in else TrueOnlineTD

    def _bind(self) -> None:
        """Allocate the columns of one transition, for `update`."""
        active = self.features.active
        index, value = np.zeros((2, 1, active), np.int64), np.zeros((2, 1, active))
        if isinstance(self.features, Dense | OneHot):
            index[:], value[:] = np.arange(active), 1.0
        self._row: tuple[Any, ...] = (
            index[0],
            value[0],
            index[1],
            value[1],
            *np.zeros((3, 1)),
            *np.zeros((2, 1), np.bool_),
        )
        self._first_rows = (index[0, 0], value[0, 0], index[1, 0], value[1, 0])
        self._seen = self._count.view(np.int64)[:1]
        self._entered: dict[int, Callable[..., int]] = {}  # for each array of predictions before an update
        self._ask: Callable[[int], float] | None = None
        self._asked, self._asking = (np.zeros((1, active), np.int64), value[0].copy()), Lock()
        self._asked_own = np.zeros((1, len(self.experts)))
        self._asked[0][:] = index[0]
        self._is_one_hot, self._is_dense = type(self.features) is OneHot, type(self.features) in (Dense, Leading)
        self._length = getattr(self.features, "dimensions", active)
        swift = self._is_dense and all(type(e) is AutoTD and e._is_dense and e._swift for e in self.experts)
        self._swift: bool = swift or not self.experts
        self._own = [np.zeros((1, 2, len(e.experts) + 1)) for e in self.experts] if swift else []  # type: ignore[attr-defined]
        self._before, self._recorded = (np.zeros((1, 2, len(self.experts) + more)) for more in (0, 1))
        kernel = None if isinstance(self.features, OneHot | Dense) else self.features.kernel
        self._encode = None if kernel is None else (_encoder(kernel.encode), kernel.numbers, kernel.dimensions)

    # ---- predictions ------------------------------------------------------------------------------------------

    def predict(self, obs: Any) -> float:
        """V(obs), the predicted value of an observation."""
        if self._swift:
            found = self._predicted(obs)
            if found is not None:
                return found
        index, value = encoded(self.features.encode, obs, "obs")
        return float(self._bank.predict(index[None], value[None], self._own_at(obs)[None])[0])

    def _predicted(self, obs: Any) -> float | None:
        """The prediction at an observation that compiled code can read; None if it is not one."""
        if self._ask is None:
            self._ask = self._bank.asking_one(*self._asked, self._asked_own)
        if self._is_one_hot:
            if type(obs) is not int or not 0 <= obs < self.features.size:
                return None
            with self._asking:
                return self._ask(obs)
        if type(obs) is not np.ndarray or obs.dtype is not _FLOAT or obs.ndim != 1:
            return None
        x, xv = self._asked
        with self._asking:
            if self._encode is not None:
                encode, constants, n = self._encode
                if obs.size != n or not self.features.settled or encode(obs, constants, x[0], xv[0]):
                    return None
            elif self._is_dense and obs.size == self._length:
                xv[0] = obs[: xv.size]
            else:
                return None
            for i, e in enumerate(self.experts):
                own = e._predicted(obs)  # type: ignore[attr-defined]
                if own is None:
                    return None
                self._asked_own[0, i] = own
            found = self._ask(-1)
        return found if found == found else None

    def predict_many(self, observations: Any) -> Floats:
        """The predicted value V of each observation."""
        index, value = self.features.encode_batch(observations)
        own = np.zeros((len(index), len(self.experts)))
        for i, e in enumerate(self.experts):
            own[:, i] = e.predict_many(observations)
        return self._bank.predict(index, value, own)

    def _own_at(self, obs: Any) -> Floats:
        """The predictions of the user's own experts."""
        return np.array([e.predict(obs) for e in self.experts], dtype=np.float64) if self.experts else _NONE

    @property
    def weights(self) -> Array:
        """The weights Σ p w of the mixture, without running means and what is known of single observations.

        For vectors of readings: the slope of the prediction in each reading, within the range seen so far.
        """
        found = self._bank.coefficients
        for share, e in zip(self._bank.own_weights, self.experts, strict=True):
            if e.features != self.features:
                raise TypeError(f"weights: an expert has other features, {e.features!r}; use predict or predict_many")
            found = found + share * e.weights
        found.flags.writeable = False
        return found

    def lambda_at(self, obs: Any) -> float:
        """The weighted mean λ of the experts; it is the same for every observation."""
        return float(self.lambdas([obs])[0])

    def lambdas(self, observations: Any) -> Floats:
        """`lambda_at` for each observation."""
        return np.full(len(observations), min(1.0, self._bank.lam))

    # ---- the mixture ------------------------------------------------------------------------------------------

    def expert_weights(self) -> dict[str, float]:
        """Each expert's weight p in the prediction, by name, largest first; the weights sum to 1."""
        return {e.name: e.weight for e in self._bank.experts()}

    def explain(self) -> Explanation:
        """An explanation of the mixture: the experts with the most weight, how certain that is, and the errors."""
        return self._bank.explain(self.steps)

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
            "value": combines the least-squares uncertainty with the disagreement of the experts. With sparse features
            and at most 128 distinct observations, it includes the error of approximating v by the features; with more,
            a rough estimate of it; for vectors of readings, it is the uncertainty within the span of the features.
            v(obs) is the mean value of the states that give this observation. "return": on-policy only, and equally
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
            if not self.built_in:
                raise ValueError('of="value" needs the built-in experts; use of="return"')
            deviation: Any = np.sqrt(self._bank.variance(*self.features.encode_batch(observations)))
        else:
            deviation = self._bank.return_error
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
            self._bank.end()
            for e in self.experts:
                e.reset()

    def episode(self) -> Episode:
        """A copy of what `reset` discards, to go on with later, when several streams take turns."""
        own: dict[str, Any] = {f"{i}.": e for i, e in enumerate(self.experts, 1) if hasattr(e, "episode")}
        found = self._bank.episode()
        for prefix, e in own.items():
            part: Episode = e.episode()
            found.rows.update({prefix + name: row for name, row in part.rows.items()})
            found.numbers.update({prefix + name: value for name, value in part.numbers.items()})
        return found

    def resume(self, episode: Episode) -> None:
        """Go on with an episode."""
        with self._guard:
            self._bank.resume(episode)
            for i, e in enumerate(self.experts, 1):
                if hasattr(e, "resume"):
                    parts: Any = (
                        {name.removeprefix(f"{i}."): x for name, x in part.items() if name.startswith(f"{i}.")}
                        for part in episode
                    )
                    e.resume(Episode(*parts))
                else:
                    e.reset()

    def get_params(self) -> dict[str, Any]:
        """The constructor's arguments; the algorithm by name, unless it is the default."""
        params: dict[str, Any] = {"features": self.features}
        own = self.algorithm
        if own is not None and own is not self._default_algorithm():
            params["algorithm"] = own.__name__ if _known().get(own.__name__) is own else own
        params |= {"experts": list(self.experts)} if self.experts else {}
        params |= {"random_features": self.random_features} if self.random_features != COSINES else {}
        return params | ({} if self.built_in else {"built_in": False})

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
        if (
            self._swift and type(reward) in _PLAIN and type(gamma) in _PLAIN and type(rho) in _PLAIN
            and type(terminated) is bool and type(truncated) is bool
        ):  # fmt: skip
            ended = terminated + 2 * truncated
            if not self._guard.quiet.acquire(False):
                self._guard.refuse()
            try:
                if self._enter(obs, next_obs, reward, gamma, rho, ended, self._before):
                    return
            finally:
                self._guard.quiet.release()
        self._before[0, 0], self._before[0, 1] = self._own_at(obs), encoded(self._own_at, next_obs, "next_obs")
        super().update(obs, reward, next_obs, gamma, rho, terminated, truncated)  # raises the error for invalid input
        for e in self.experts:
            with suppress(Diverged):  # its predictions no longer change, so it loses its weight
                e.update(obs, reward, next_obs, gamma, rho, terminated, truncated)

    def _enter(
        self, obs: Any, next_obs: Any, reward: float, gamma: float, rho: float, ended: int, before: Floats
    ) -> bool:  # fmt: skip
        """Learn from a transition that compiled code can read; return False, without any change, if it is not one."""
        learn = self._entered.get(id(before))
        if learn is None:
            given = (*self._row, before, self._seen)
            learn = self._entered[id(before)] = self._bank.learning(TransitionColumns(*given))
        if self._is_one_hot:
            if type(obs) is not int or type(next_obs) is not int:
                return False
            return not learn(obs, next_obs, reward, gamma, rho, ended + STATES)
        if (
            type(obs) is not np.ndarray or type(next_obs) is not np.ndarray or obs.dtype is not _FLOAT
            or next_obs.dtype is not _FLOAT or obs.ndim != 1 or next_obs.ndim != 1
        ):  # fmt: skip
            return False
        x, xv, y, yv = self._first_rows
        if self._encode is not None:
            encode, constants, n = self._encode
            if not (self.features.settled and obs.size == next_obs.size == n):
                return False
            if encode(obs, constants, x, xv) + encode(next_obs, constants, y, yv):
                return False
        elif self._is_dense and obs.size == next_obs.size == self._length:
            if obs.size > xv.size:
                obs, next_obs = obs[: xv.size], next_obs[: yv.size]
            xv[:], yv[:] = obs, next_obs
        else:
            return False
        if self._own and self._misfit() >= 0:
            return False  # before an expert of fewer readings learns
        for i, own in enumerate(self._own):
            if not self.experts[i]._enter(obs, next_obs, reward, gamma, rho, ended, own):  # type: ignore[attr-defined]
                return False
            before[0, :, i] = own[0, :, -1]
        return not learn(0, 0, reward, gamma, rho, ended)

    def _misfit(self) -> int:
        x, xv, y, yv, *_ = self._row
        return max(first_misfit(x, xv, xv.size), first_misfit(y, yv, yv.size))

    def prequential(
        self,
        obs: Any,
        reward: ArrayLike | None = None,
        next_obs: Any = None,
        gamma: ArrayLike | None = None,
        rho: ArrayLike = 1.0,
        terminated: ArrayLike = False,
        truncated: ArrayLike = False,
    ) -> Floats:
        """Learn as `update_many` does; return V(obs) and V(next_obs) before each update [transition, 2].

        Parameters
        ----------
        obs, reward, next_obs, gamma, rho, terminated, truncated
            Columns of consecutive transitions, or `Transitions`: see `update_many`.
        """
        one = isinstance(reward, np.ndarray) and reward.size == 1
        if one and all(isinstance(c, np.ndarray) for c in (obs, next_obs, gamma, rho, terminated, truncated)):
            r, g, p, over, cut = (c.item() for c in (reward, gamma, rho, terminated, truncated))  # type: ignore[union-attr]
            found = self.learn_row(obs[0], r, next_obs[0], g, p, over + 2 * cut)
            if found is not None:
                return found
        given = columns(obs, reward, next_obs, gamma, rho, terminated, truncated)
        if not self.features.settled:
            return _one_by_one(self, given)
        with self._guard:
            return self._follow(given, recorded=True)[:, :, -1]

    def learn_row(
        self, obs: Any, reward: float, next_obs: Any, gamma: float, rho: float, ended: int
    ) -> Floats | None:  # fmt: skip
        """Learn from one transition as `prequential` does; return None, without any change, where only that can.

        Parameters
        ----------
        obs, reward, next_obs, gamma, rho
            As in `update`, with the ranges there; numbers are Python floats.
        ended
            1 if the transition terminates, plus 2 if it is truncated.
        """
        if not self._swift:
            return None
        with self._guard:
            if self._enter(obs, next_obs, reward, gamma, rho, ended, self._recorded):
                return self._recorded[:, :, -1].copy()
        return None

    def _learn_many(self, c: Transitions) -> None:
        self._follow(c, recorded=False)

    def _follow(self, c: Transitions, recorded: bool) -> Floats:
        """Learn from validated columns; return predictions before each update [transition, (x, x'), expert].

        Those of the mixture come last, if they are recorded.
        """
        before = np.zeros((len(c), 2, len(self.experts) + recorded))
        if self.experts:  # one of them must not learn from rows that another refuses
            require_numbers(c)
            _require_moderate(c.reward)
            for features in (self.features, *(e.features for e in self.experts)):
                for name, rows in (("obs", c.obs), ("next_obs", c.next_obs)):
                    if isinstance(features, Network):
                        encoded(features.vectors, rows, name)
                    else:
                        require_fit(features, name, *encoded(features.encode_batch, rows, name))
        for i, e in enumerate(self.experts):
            if type(e) is AutoTD and e.features.settled:
                before[:, :, i] = e._follow(c, recorded=True)[:, :, -1]
            else:
                before[:, :, i] = _one_by_one(e, c)
        one, self._before = self._before, before
        try:
            super()._learn_many(c)
        finally:
            self._before = one
        return before

    def _take(
        self, x: Ints, xv: Floats, y: Ints, yv: Floats, reward: Floats, gamma: Floats, rho: Floats,
        lam: Floats,  # noqa: ARG002, each learner has its own
        terminated: Bools, truncated: Bools,
    ) -> bool:  # fmt: skip
        given: Any = (x, xv, y, yv, reward, gamma, rho, terminated, truncated, self._before, self._seen)
        bad = self._bank.learn(TransitionColumns(*map(np.ascontiguousarray, given)))
        if bad:
            _require_moderate(reward)
            raise ValueError(f"row {bad - 1} of the transitions is invalid")
        return True

    # ---- storage ----------------------------------------------------------------------------------------------

    def _state(self) -> dict[str, Array]:
        own = {f"{i}.{name}": array for i, e in enumerate(self.experts, 1) for name, array in e._state().items()}
        return self._bank.state() | own | {"counts": self._count.view(np.int64)}

    def _restore(self, state: dict[str, Array]) -> None:
        copies = [e.clone() for e in self.experts]
        for i, e in enumerate(copies, 1):
            e._restore({name.removeprefix(f"{i}."): a for name, a in state.items() if name.startswith(f"{i}.")})
        rest = {name: array for name, array in state.items() if not name[0].isdigit()}
        if any(name in state for name in ("front", "copies")):
            raise ValueError("this AutoTD was saved by tdlambda 0.2, whose experts are others; train a new one")
        own = self._bank.state() | {"counts": self._count.view(np.int64)}
        new = self._fitted(rest, {name: (array.shape, str(array.dtype)) for name, array in own.items()})
        self._bank.require_sense(new, int(new["counts"][0]))
        for name, array in own.items():
            array[:] = new[name]
        self.experts = tuple(copies)
        self._bind()


def _one_by_one(learner: Learner, c: Transitions) -> Floats:
    """The predictions of any learner at both observations before each update [transition, 2], while it learns."""
    found = np.empty((len(c), 2))
    if isinstance(learner, Algorithm) and learner.follow(c, found):
        return found
    for t in range(len(c)):
        found[t] = learner.predict(c.obs[t]), learner.predict(c.next_obs[t])
        with suppress(Diverged):  # its predictions no longer change
            learner.update(
                c.obs[t], float(c.reward[t]), c.next_obs[t], float(c.gamma[t]), float(c.rho[t]),
                bool(c.terminated[t]), bool(c.truncated[t]),
            )  # fmt: skip
    return found


@cache
def _encoder(encode: Any) -> Any:
    """The machine code of an encoder's kernel."""
    rows = (ANY_VECTOR, np.zeros(1), np.zeros(1, np.int64), np.zeros(1))
    return entry(brief(encode), *rows)


def _require_moderate(rewards: Floats) -> None:
    """Validate that errors of predictions of these rewards can be squared; NaN and ∞ have errors of their own."""
    bad = (np.abs(rewards) > MOST_REWARD) & np.isfinite(rewards)
    if bad.any():
        t = int(np.argmax(bad))
        raise ValueError(
            f"reward must be within ±{MOST_REWARD:g}, because AutoTD squares errors; got {rewards[t]}"
            + (f" (row {t})" if rewards.size > 1 else "")
        )


def _copies(experts: Sequence[Learner]) -> tuple[Learner, ...]:
    """Validate and copy the user's own experts."""
    if isinstance(experts, Learner) or not all(isinstance(e, Learner) for e in experts):
        raise TypeError(f"experts must be a list of learners, such as [td.LSTD(features, 0.9)]; got {experts!r}")
    return tuple(e.clone() for e in experts)


def _known() -> dict[str, type[declare.AlgorithmDeclaration]]:
    """The declared algorithms by name."""
    kinds: dict[str, Any] = {name: kind for name, kind in LEARNERS.items() if hasattr(kind, "step")}
    return {name: kind for name, kind in kinds.items() if issubclass(kind, declare.AlgorithmDeclaration)}


def _declared(algorithm: Any) -> type[declare.AlgorithmDeclaration]:
    """The declaration that `algorithm` refers to."""
    if isinstance(algorithm, str) and algorithm not in _known():
        raise ValueError(f"algorithm must be one of {', '.join(_known())}, or a class; got {algorithm!r}")
    found = _known()[algorithm] if isinstance(algorithm, str) else algorithm
    if not (isinstance(found, type) and issubclass(found, declare.AlgorithmDeclaration) and hasattr(found, "step")):
        raise TypeError(f"algorithm must be a class such as td.TrueOnlineTD, declared by equations; got {algorithm!r}")
    for name in words(found.parameters):
        if getattr(found, name, None) is None:
            raise TypeError(
                f"algorithm: {found.__name__} needs a default of {name}; set the class attribute {name} = …"
            )
    return found

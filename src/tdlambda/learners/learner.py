"""The interface that all learners share."""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar, Protocol, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from tdlambda.arrays import Array as Array
from tdlambda.arrays import Floats, Ints, column, finite, flag, fraction, not_negative, plain, refuse, rows
from tdlambda.documenting import complete
from tdlambda.features import Encoder, Network
from tdlambda.learners.guard import Guard
from tdlambda.learners.saved import SAVED, Saved
from tdlambda.mdp import Transitions
from tdlambda.mdp.corrections import TraceCorrection
from tdlambda.mdp.sampler import require_numbers
from tdlambda.rules import Fixed, Lam, PerState, Rule, as_rule
from tdlambda.showing import call, says_arguments

LEARNERS: dict[str, type[Learner]] = SAVED["learner"]  # type: ignore[assignment]
"""Every learner class by name; only these can be loaded from a file."""


_Encoding = TypeVar("_Encoding")
_OBSERVATION = re.compile(r"\A(observations?|obs)(?=\[| must |:)")


REQUIRED: Any = None
"""Default of γ in `update`, which needs γ: without a default, Python's own message would not say what to pass."""
NO_GAMMA = "gamma is missing: pass the discount on entering next_obs, such as gamma=0.99"


class Diverged(ArithmeticError):  # noqa: N818, it says what happened
    """Raised when a learner's predictions exceed its bound or its weights are no longer finite.

    Parameters
    ----------
    step
        The update, counted from 1, at which the learner diverged; also an attribute.

    Examples
    --------
    >>> import tdlambda as td
    >>> v = td.TD(td.features.Dense(1), alpha=1.0, lam=0.0)
    >>> for _ in range(20):
    ...     v.update([3.0], 1.0, [1.0], gamma=0.9)
    Traceback (most recent call last):
    tdlambda.learners.learner.Diverged: diverged at step 7: a prediction is far beyond what rewards...
    """

    def __init__(self, step: int) -> None:
        super().__init__(
            f"diverged at step {step}: a prediction is far beyond what rewards and discounts allow. Use a smaller "
            "alpha, a smaller lam, or a gradient method such as td.TrueOnlineGTD. The learner keeps its last weights "
            "and has stopped learning"
        )
        self.step = step

    def __reduce__(self) -> tuple[Any, ...]:
        """Rebuild from the step in pickle and copy, which by default rebuild an exception from its message."""
        return type(self), (self.step,), self.__dict__


class OnlineLearner(Protocol):
    """The methods that `learn` needs of a learner; `Learner` has them."""

    def reset(self) -> None:
        """Discard the unfinished episode."""

    def update(
        self, obs: Any, reward: float, next_obs: Any, gamma: float, rho: float, terminated: bool, truncated: bool, /
    ) -> None:
        """Learn from one transition."""


class Learner(Saved):
    """Base class of learners, which learn a prediction V(s) = w·x(s) from a stream of transitions.

    A subclass implements learning from one validated transition (`_learn`), saving and restoring its state (`_state`,
    `_restore`) and discarding an unfinished episode (`reset`).

    Only one thread at a time may change a learner. While one thread is in `update_many`, a call from another thread
    that would change the learner raises RuntimeError, "in use by another thread"; copying waits. Different learners
    can run in different threads.
    """

    role, kept_as = "learner", {"lam": "rule"}
    takes_adaptive: ClassVar[bool] = False
    """Whether λ can be learned alongside the value."""
    takes_networks: ClassVar[bool] = False
    """Whether the value may be a `td.Network`."""
    state_power: ClassVar[int] = 1
    """Power of the number of features with which the state grows: 2 if it holds a matrix over the features."""

    def __init_subclass__(cls, base: bool = False, **options: Any) -> None:
        """Register the class so that it can be loaded by name; `base=True` marks an abstract base class."""
        super().__init_subclass__(**options)
        abstract = any(getattr(getattr(cls, name, None), "__isabstractmethod__", False) for name in dir(cls))
        if not abstract and not base:
            LEARNERS.setdefault(cls.__name__, cls)
        complete(cls)
        says_arguments(cls)

    def __init__(self, features: Encoder | Network, lam: Lam) -> None:
        if isinstance(features, Network) and not self.takes_networks:
            raise TypeError(
                f"features: {type(self).__name__} needs a value that is linear in features, such as "
                "td.features.Dense; a td.Network needs td.TD with a step size of td.steps"
            )
        if not isinstance(features, Encoder | Network):
            raise TypeError(f"features must be an encoder such as td.features.OneHot(11); got {features!r}")
        self.features: Any = features.copy()  # one that adapts to observations belongs to one learner
        self.rule = as_rule(lam)
        self._guard = Guard("learner")
        check_states(self.rule, features)
        if self.rule.learns() and not self.takes_adaptive:
            raise ValueError(
                f"lam: {type(self).__name__} cannot use {type(self.rule).__name__}, which learns λ at every step; "
                "pass a number, or use TD, TrueOnlineTD, GTD or TrueOnlineGTD"
            )

    # ---- interface -------------------------------------------------------------------------------------------

    def predict(self, obs: Any) -> float:
        """V(obs)."""
        index, value = encoded(self.features.encode, obs, "obs")
        return float(value @ self.weights[index])

    def predict_many(self, observations: Any) -> Floats:
        """V(obs) of each observation."""
        index, value = self.features.encode_batch(observations)
        return np.asarray((value * self.weights[index]).sum(axis=1), dtype=np.float64)

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
            The observations S_t and S_{t+1}, in any form that the encoder accepts.
        reward
            The reward R_{t+1}: any finite number.
        gamma
            Discount γ_{t+1} in [0, 1] on entering `next_obs`; required, and treated as 0 when `terminated`.
        rho
            Importance-sampling ratio π(a|s)/b(a|s) of the action taken, finite and ≥ 0; 1 on-policy.
        terminated, truncated
            As in Gymnasium. After a terminated step the return is 0; after a truncated step the learner bootstraps from
            `next_obs` and starts a new episode.
        """
        r, g, p = check_numbers(reward, gamma, rho)
        ends, truncates = flag(terminated, "terminated"), flag(truncated, "truncated")
        with self._guard:
            lam = self._lam_at(next_obs)
            x, xv = encoded(self.features.encode, obs, "obs")
            y, yv = encoded(self.features.encode, next_obs, "next_obs")
            self._learn(x, xv, y, yv, r, g, p, lam, ends, truncates)
            if not self.features.settled:
                self.features.observe(obs)

    def update_many(
        self,
        obs: Any,
        reward: ArrayLike | None = None,
        next_obs: Any = None,
        gamma: ArrayLike | None = None,
        rho: ArrayLike = 1.0,
        terminated: ArrayLike = False,
        truncated: ArrayLike = False,
        behavior: ArrayLike | None = None,
    ) -> None:
        """Learn from consecutive transitions: columns of equal length (or one number for all rows), or `Transitions`.

        `behavior` is b(a|s), in (0, 1], which the trace corrections "tree" and "abtd" need.
        """
        given = columns(obs, reward, next_obs, gamma, rho, terminated, truncated, behavior)
        while not self.features.settled and len(given):
            given = self._learn_first(given)
        with self._guard:
            self._learn_many(given)

    def _learn_first(self, c: Transitions) -> Transitions:
        """Learn from the first transitions one by one, while the encoder adapts; return the others."""
        require_numbers(c)
        for name, some in (("obs", c.obs), ("next_obs", c.next_obs)):
            encoded(self.features.encode_batch, some, name)
        done = 0
        while done < len(c) and not self.features.settled:
            row = (c.obs[done], float(c.reward[done]), c.next_obs[done], float(c.gamma[done]), float(c.rho[done]))
            ends = bool(c.terminated[done]), bool(c.truncated[done])
            more: dict[str, Any] = {"behavior": float(c.behavior[done])} if needs_behavior(self) else {}
            self.update(*row, *ends, **more)
            done += 1
        return c[done:]

    def lambda_at(self, obs: Any) -> float:
        """The λ in use at this observation."""
        return self.rule.at(obs)

    def lambdas(self, observations: Any) -> Floats:
        """The λ in use at each of these observations."""
        return self._lam_many(rows(observations, "observations"), len(observations))

    @property
    @abstractmethod
    def weights(self) -> Array:
        """The weights w, as a read-only view."""

    @abstractmethod
    def reset(self) -> None:
        """Discard the unfinished episode (traces, stored steps); keep the weights."""

    @classmethod
    def _least_bytes(cls, params: dict[str, Any]) -> int:
        encoders = [value for value in params.values() if isinstance(value, Encoder | Network)]
        return max((4 * encoder.size**cls.state_power for encoder in encoders), default=0)

    def __repr__(self) -> str:
        """The call that builds an equal learner."""
        return call(self, readable(self.get_params()))

    def _lam_at(self, obs: Any) -> float:
        """The rule's λ at one observation."""
        return fraction(self.rule.at(obs), "lam")

    def _lam_many(self, observations: Any, n: int) -> Floats:
        """The rule's λ at n observations, validated because compiled code reads n numbers."""
        lam = np.asarray(self.rule.at_many(observations, n))
        if lam.shape != (n,) or lam.dtype.kind not in "fiub":
            raise ValueError(
                f"lam: {type(self.rule).__name__}.at_many must return {n} numbers, one for each observation; got "
                f"{lam.dtype} of shape {lam.shape}"
            )
        refuse(~((lam >= 0) & (lam <= 1)), lambda row: f"lam must be in [0, 1]; got {lam[row]} (row {row})")
        return plain(lam, np.float64)

    # ---- to be implemented by subclasses ---------------------------------------------------------------------

    def _learn(
        self, x: Ints, xv: Floats, y: Ints, yv: Floats, reward: float, gamma: float, rho: float, lam: float,
        terminated: bool, truncated: bool,
    ) -> None:  # fmt: skip
        """Learn from one transition whose numbers are validated."""
        raise NotImplementedError(f"{type(self).__name__} must implement _learn or update")

    def _learn_many(self, c: Transitions) -> None:
        """Validate all rows, then learn from one after another."""
        lam = self._lam_many(c.next_obs, len(c))
        require_numbers(c)
        x, xv = encoded(self.features.encode_batch, c.obs, "obs")
        y, yv = encoded(self.features.encode_batch, c.next_obs, "next_obs")
        for t in range(len(c)):
            self._learn(
                x[t], xv[t], y[t], yv[t], float(c.reward[t]), float(c.gamma[t]), float(c.rho[t]), float(lam[t]),
                bool(c.terminated[t]), bool(c.truncated[t]),
            )  # fmt: skip


def readable(params: dict[str, Any]) -> dict[str, Any]:
    """A constructor's arguments as a user would write them: λ as a number, a correction by its name alone."""
    short = dict(params)
    if isinstance(short.get("lam"), Fixed):
        short["lam"] = short["lam"].lam
    correction = short.get("correction")
    if isinstance(correction, TraceCorrection) and correction == TraceCorrection(correction.name):
        short["correction"] = correction.name
    return short


def check_states(rule: Rule, features: Encoder | Network) -> None:
    """Validate that a table of λ has one number for each state."""
    if isinstance(rule, PerState) and features.states not in (None, rule.lam.size):
        raise ValueError(
            f"lam must have {features.states} numbers, one for each state of {features!r}; got {rule.lam.size}"
        )


def encoded(encode: Callable[[Any], _Encoding], obs: Any, name: str) -> _Encoding:
    """The encoding of an observation, or of several; an error names the argument instead of "observation"."""
    try:
        return encode(obs)
    except (TypeError, ValueError) as error:
        said, n = _OBSERVATION.subn(name, str(error))
        if not n:  # of an encoder of the user's own
            raise
        error.args = (said,)
        raise error from None


def needs_behavior(learner: Any) -> bool:
    """Whether `update` of this learner needs b(a|s)."""
    correction = getattr(learner, "correction", None)
    return isinstance(correction, TraceCorrection) and correction.needs_behavior


def check_numbers(reward: Any, gamma: Any, rho: Any) -> tuple[float, float, float]:
    """(reward, γ, ρ) as floats; an error names the invalid one."""
    if isinstance(rho, bool | np.bool_):
        raise TypeError(f"rho must be a number; got {rho}: pass terminated and truncated by name")
    if gamma is None:
        raise TypeError(NO_GAMMA)
    return finite(reward, "reward"), fraction(gamma, "gamma"), not_negative(rho, "rho")


def columns(
    obs: Any, reward: Any, next_obs: Any, gamma: Any, rho: Any, terminated: Any, truncated: Any, behavior: Any = None
) -> Transitions:
    """Columns of equal length from the arguments of `update_many`."""
    needed = {"reward": reward, "next_obs": next_obs, "gamma": gamma}
    if isinstance(obs, Transitions):
        if extra := [name for name, value in (needed | {"behavior": behavior}).items() if value is not None]:
            raise TypeError(f"{' and '.join(extra)} must be left out, because Transitions contains all columns")
        return obs
    if missing := [name for name, value in needed.items() if value is None]:
        raise TypeError(f"update_many needs {', '.join(missing)}: pass obs, reward, next_obs and gamma, or Transitions")
    rewards = column(reward, "reward")
    rest = {"gamma": gamma, "rho": rho, "terminated": terminated, "truncated": truncated}
    rest |= {} if behavior is None else {"behavior": behavior}
    for name, value in rest.items():
        array = rows(value, name)
        rest[name] = np.full(rewards.size, array) if array.ndim == 0 else array
    return Transitions(obs, np.zeros(0, np.int64), rewards, next_obs, **rest)

"""What every learner offers to its user."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tdlambda.arrays import Floats, Ints, column, flag, fraction, not_negative, number, plain, rows
from tdlambda.features import Encoder
from tdlambda.learners.guard import Guard
from tdlambda.mdp import Transitions
from tdlambda.mdp.corrections import TraceCorrection
from tdlambda.rules import Fixed, Lam, PerState, Rule, as_rule
from tdlambda.showing import call

if TYPE_CHECKING:
    from pathlib import Path

Array = NDArray[Any]
LEARNERS: dict[str, type[Learner]] = {}
"""Every learner by its name; what may be loaded from a file."""


_AnyLearner = TypeVar("_AnyLearner", bound="Learner")


class Diverged(ArithmeticError):  # noqa: N818, it says what happened
    """The predictions of a learner are beyond its bound, or its weights are no longer numbers.

    Attributes
    ----------
    step
        The update, counted from 1, at which it happened.

    Examples
    --------
    >>> import tdlambda as td
    >>> v = td.TD(td.features.Dense(1), alpha=1.0, lam=0.0)
    >>> for _ in range(20):
    ...     v.update([3.0], 1.0, [1.0], gamma=0.9)
    Traceback (most recent call last):
    tdlambda.learners.base.Diverged: diverged at step 7: a prediction is far beyond what rewards and discounts allow...
    """

    def __init__(self, step: int) -> None:
        super().__init__(
            f"diverged at step {step}: a prediction is far beyond what rewards and discounts allow. Take a smaller "
            "alpha, a smaller lam, or a gradient method (TrueOnlineGTD); the learner keeps its last weights and learns "
            "no more"
        )
        self.step = step

    def __reduce__(self) -> tuple[Any, ...]:
        """For pickle and copy: an exception would be built anew from its message."""
        return type(self), (self.step,), self.__dict__


class Learner(ABC):
    """A prediction V(s) = w·x(s), learned from a stream of transitions.

    A subclass says how it learns from one checked transition (`_learn`), what its state is (`_state`, `_restore`)
    and how it forgets an unfinished episode (`reset`).

    One learner belongs to one thread at a time: while a thread is in `update_many`, calls from another that would
    change the learner raise RuntimeError, "in use by another thread"; copies wait. Many learners in many threads are
    safe.
    """

    takes_adaptive: ClassVar[bool] = False
    """Whether λ may be learned beside the value."""

    def __init_subclass__(cls, base: bool = False, **options: Any) -> None:
        """Learners can be loaded by name; a `base` only serves to make other classes."""
        super().__init_subclass__(**options)
        abstract = any(getattr(getattr(cls, name, None), "__isabstractmethod__", False) for name in dir(cls))
        if not abstract and not base:
            LEARNERS.setdefault(cls.__name__, cls)

    def __init__(self, features: Encoder, lam: Lam) -> None:
        if not isinstance(features, Encoder):
            raise TypeError(f"features must be an encoder such as td.features.OneHot(11); got {features!r}")
        self.features = features
        self.rule = as_rule(lam)
        self._guard = Guard("learner")
        check_states(self.rule, features)
        if self.rule.learns() and not self.takes_adaptive:
            raise ValueError(
                f"lam: {type(self).__name__} cannot take {type(self.rule).__name__}, which learns λ beside the value, "
                "step by step; give it a number, or take TD, TrueOnlineTD, GTD or TrueOnlineGTD"
            )

    # ---- what a user calls -----------------------------------------------------------------------------------

    def predict(self, obs: Any) -> float:
        """V(obs)."""
        index, value = self.features.encode(obs)
        return float(value @ self.weights[index])

    def predict_many(self, observations: Any) -> Floats:
        """V of each observation."""
        index, value = self.features.encode_batch(observations)
        return np.asarray((value * self.weights[index]).sum(axis=1), dtype=np.float64)

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
        """Learn from one transition.

        Parameters
        ----------
        obs, reward, next_obs
            x_t, R_{t+1}, x_{t+1}.
        gamma
            γ_{t+1}, the discount on entering `next_obs`; taken as 0 when `terminated`.
        rho
            π(a|s)/b(a|s) of the action taken; 1 on-policy.
        terminated, truncated
            As in Gymnasium: terminated, nothing follows; truncated, bootstrap from `next_obs`, then start anew.
        """
        r, g, p = check_numbers(reward, gamma, rho)
        ended, cut = flag(terminated, "terminated"), flag(truncated, "truncated")
        with self._guard:
            lam = self._lam_at(next_obs)
            (x, xv), (y, yv) = self.features.encode(obs), self.features.encode(next_obs)
            self._learn(x, xv, y, yv, r, g, p, lam, ended, cut)

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
        """Learn from consecutive transitions, columns of equal length (or one number for all), or `Transitions`.

        `behavior` is b(a|s), which some corrections of traces need.
        """
        given = columns(obs, reward, next_obs, gamma, rho, terminated, truncated, behavior)
        with self._guard:
            self._learn_many(given)

    def lambda_at(self, obs: Any) -> float:
        """The λ in use at this observation."""
        return self.rule.at(obs)

    @property
    @abstractmethod
    def weights(self) -> Array:
        """The weights w, as a view that cannot be written."""

    @abstractmethod
    def reset(self) -> None:
        """Forget the episode under way (traces, stored steps); keep what was learned."""

    @abstractmethod
    def get_params(self) -> dict[str, Any]:
        """The constructor's arguments."""

    def clone(self) -> Self:
        """A learner in the same state that shares nothing with this one."""
        with self._guard.quiet:
            return _in_state(type(self), self.get_params(), self._state())

    def __reduce__(self) -> tuple[Any, ...]:
        """For pickle and copy: what `clone` is made of, and not the machine code that a learner has found."""
        with self._guard.quiet:
            state = {name: array.copy() for name, array in self._state().items()}
            return _in_state, (type(self), self.get_params(), state)

    def save(self, path: str | Path) -> None:
        """Write everything that `td.load` needs to a file, at once or not at all."""
        from tdlambda.learners.storage import save

        with self._guard.quiet:
            save(self, path)

    def __repr__(self) -> str:
        """How to build it."""
        return call(self, readable(self.get_params()))

    def _lam_at(self, obs: Any) -> float:
        """λ of one observation, from any rule."""
        return fraction(self.rule.at(obs), "lam")

    def _lam_many(self, observations: Any, n: int) -> Floats:
        """λ of n observations, from any rule: compiled code reads as many."""
        lam = np.asarray(self.rule.at_many(observations, n))
        if lam.shape != (n,) or lam.dtype.kind not in "fiub":
            raise ValueError(
                f"lam: {type(self.rule).__name__}.at_many must give {n} numbers, one for each observation; got "
                f"{lam.dtype} of shape {lam.shape}"
            )
        bad = ~((lam >= 0) & (lam <= 1))
        if bad.any():
            row = int(np.argmax(bad))
            raise ValueError(f"lam must be in [0, 1]; got {lam[row]} (row {row})")
        return plain(lam, np.float64)

    # ---- what a subclass says --------------------------------------------------------------------------------

    def _learn(
        self, x: Ints, xv: Floats, y: Ints, yv: Floats, reward: float, gamma: float, rho: float, lam: float,
        terminated: bool, truncated: bool,
    ) -> None:  # fmt: skip
        """One transition whose numbers are checked."""
        raise NotImplementedError(f"{type(self).__name__} must say how it learns, in _learn or in update")

    @abstractmethod
    def _state(self) -> dict[str, Array]:
        """Arrays that hold everything learned."""

    @abstractmethod
    def _restore(self, state: dict[str, Array]) -> None:
        """Take over such arrays; an error if they do not fit."""

    def _learn_many(self, c: Transitions) -> None:
        """Check all, then learn one by one."""
        lam = self._lam_many(c.next_obs, len(c))
        for t in range(len(c)):
            check_numbers(c.reward[t], c.gamma[t], c.rho[t])
        (x, xv), (y, yv) = self.features.encode_batch(c.obs), self.features.encode_batch(c.next_obs)
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


def check_states(rule: Rule, features: Encoder) -> None:
    """Refuse a table of λ that has not one for each state."""
    if isinstance(rule, PerState) and features.states not in (None, rule.lam.size):
        raise ValueError(
            f"lam must have {features.states} numbers, one for each state of {features!r}; got {rule.lam.size}"
        )


def check_numbers(reward: Any, gamma: Any, rho: Any) -> tuple[float, float, float]:
    """(reward, γ, ρ) as floats, or an error that names the one that cannot be."""
    r = number(reward, "reward")
    if not np.isfinite(r):
        raise ValueError(f"reward must be finite; got {reward}")
    return r, fraction(gamma, "gamma"), not_negative(rho, "rho")


def columns(
    obs: Any, reward: Any, next_obs: Any, gamma: Any, rho: Any, terminated: Any, truncated: Any, behavior: Any = None
) -> Transitions:
    """Columns of equal length from what `update_many` is given."""
    if isinstance(obs, Transitions):
        if reward is not None or next_obs is not None:
            raise TypeError("reward and next_obs: Transitions bring their own")
        return obs
    if reward is None or next_obs is None or gamma is None:
        raise TypeError("update_many needs obs, reward, next_obs and gamma, or Transitions")
    rewards = column(reward, "reward")
    rest = {"gamma": gamma, "rho": rho, "terminated": terminated, "truncated": truncated}
    rest |= {} if behavior is None else {"behavior": behavior}
    for name, value in rest.items():
        array = rows(value, name)
        rest[name] = np.full(rewards.size, array) if array.ndim == 0 else array
    return Transitions(obs, np.zeros(0, np.int64), rewards, next_obs, **rest)


def _in_state(kind: type[_AnyLearner], params: dict[str, Any], state: dict[str, Array]) -> _AnyLearner:
    learner = kind(**params)
    learner._restore({name: array.copy() for name, array in state.items()})
    return learner

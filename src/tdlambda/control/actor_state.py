"""The actor's state, and its compiled functions."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from types import ModuleType
from typing import Any

import numpy as np

from tdlambda.arrays import Array, Floats, Ints, choice, integer, not_negative, number, positive, read_only
from tdlambda.control import actor
from tdlambda.control.actor_modules import ActorForm, actor_module
from tdlambda.control.policy import Policy
from tdlambda.core.memory import Layout, Memory
from tdlambda.core.program import bound
from tdlambda.core.runtime import DENSE_SIZE, DIVERGED, OK
from tdlambda.features import Encoder
from tdlambda.learners import OneOver
from tdlambda.learners.learner import encoded

MOVING = {"emphasis": "f8", "decay": "f8", "delta": "f8", "steps": "i8", "diverged_at": "i8"}
"""Numbers that an update changes: I and γλ of x_t, δ, updates so far, the update at which it diverged (-1: none)."""
FIXED = {
    "eta": "f8", "offset": "f8", "power": "f8", "tau": "f8", "tolerance": "f8", "bound": "f8",
    "warm_up": "i8", "size": "i8", "n_live": "i8",
}  # fmt: skip
"""Numbers that an update does not change, and the number of live features, which follows from the traces."""


_X = (np.zeros(1, np.int64), np.zeros(1))


class Actor:
    """A policy with its parameters θ, their trace z, and I. Parameters are those of `ActorCritic`.

    Examples
    --------
    >>> import tdlambda as td
    >>> actor = Actor(td.control.Softmax(2), td.features.OneHot(3), 0.1, True, "discounted", 0.0, 0, 1e-8, 1e12)
    >>> actor.view(0).shape, actor.distribution(1)
    ((2, 3), array([0.5, 0.5]))
    """

    def __init__(
        self, policy: Policy, features: Encoder, eta: float | OneOver, traced: bool, weighting: str,
        entropy: float, warm_up: int, trace_tolerance: float, bound: float,
    ) -> None:  # fmt: skip
        if isinstance(eta, OneOver) and eta.by != "steps":
            raise ValueError(f'eta must be a number or a schedule over steps, td.steps.OneOver("steps"); got {eta!r}')
        choice(weighting, "weighting", *actor.WEIGHTINGS)
        if not 0 <= number(trace_tolerance, "trace_tolerance") < 1:
            raise ValueError(f"trace_tolerance must be in [0, 1); got {trace_tolerance}")
        self.policy, self.sparse = policy, features.size > DENSE_SIZE
        self.features: Any = features
        self.form = ActorForm(policy.kernel, weighting, traced, self.sparse, isinstance(eta, OneOver))
        rows, size = policy.rows, features.size
        if policy.initial.shape not in ((), (rows, size)):
            shape = policy.initial.shape
            raise ValueError(f"policy: initial must be one number or of shape ({rows}, {size}); got shape {shape}")
        theta, trace = ([f"{name}_{i}" for i in range(rows)] for name in ("theta", "trace"))
        traces = tuple(trace) if traced else ()
        kinds = MOVING | FIXED | dict.fromkeys(policy.numbers(), "f8")
        layout = Layout(
            rows=(*theta, *traces), size=size, record=np.dtype(list(kinds.items())), traces=traces, fading=traces,
            changing=frozenset([*MOVING, "n_live"]), within_episode=("emphasis", "decay"), lists_live=self.sparse,
        )  # fmt: skip
        given = {"tau": not_negative(entropy, "entropy"), "bound": positive(bound, "bound"), "emphasis": 1.0}
        given |= {"tolerance": trace_tolerance, "size": size, "diverged_at": -1}
        given["warm_up"] = integer(warm_up, "warm_up", 0, 2**62)
        if isinstance(eta, OneOver):
            given |= {"eta": eta.scale, "offset": eta.offset, "power": eta.power}
        else:
            given["eta"] = positive(eta, "eta")
        initial = dict(zip(theta, np.broadcast_to(policy.initial, (rows, size)), strict=True))
        self.memory = Memory(layout, given | policy.numbers(), initial)
        self.out: Floats = np.zeros(2 * rows)

    @property
    def arrays(self) -> tuple[Any, ...]:
        """The arrays that compiled code works on."""
        return self.memory.record, self.memory.rows, self.memory.live, self.out

    @cached_property
    def module(self) -> ModuleType:
        """The generated module."""
        return actor_module(self.form)

    def _entry(self, name: str, *examples: Any) -> Callable[..., Any]:
        """Machine code with the actor's arrays bound to it."""
        return bound(self.module, name, self.arrays, *examples)

    @cached_property
    def _check(self) -> Callable[..., int]:
        return self._entry("check", *_X)

    @cached_property
    def _distribution(self) -> Callable[..., None]:
        return self._entry("distribution", *_X)

    @cached_property
    def _choose(self) -> Callable[..., int]:
        return self._entry("choose", *_X, 0.0)

    @cached_property
    def _learn(self) -> Callable[..., int]:
        return self._entry("learn", *_X, np.zeros(1), 0, np.zeros(0), 0.0, 0.0, 0.0, 0.0, 0)

    def encode(self, obs: Any) -> tuple[Ints, Floats]:
        """The features x of an observation, with indices validated for compiled code."""
        x, xv = encoded(self.features.encode, obs, "obs")
        if self._check(x, xv) != OK:
            raise ValueError(f"obs: feature values and |x|² must be finite; got {obs!r}")
        return x, xv

    def choose(self, obs: Any, u: float) -> int:
        """The discrete action that a uniform random number u selects."""
        return self._choose(*self.encode(obs), u)

    def distribution(self, obs: Any) -> Any:
        """π(·|obs)."""
        self._distribution(*self.encode(obs))
        return self.policy.distribution(self.out)

    def ahead(self, next_obs: Any) -> Floats:  # noqa: ARG002
        """What an update needs of the next observation: nothing, for linear features."""
        return _X[1]

    def learn(
        self, x: Ints, xv: Floats, yv: Floats, action: int, point: Floats,
        delta: float, rho: float, gamma_next: float, decay_next: float, ended: int,
    ) -> bool:  # fmt: skip
        """Learn from one step; return whether θ has just left its bound."""
        return self._learn(x, xv, yv, action, point, delta, rho, gamma_next, decay_next, ended) == DIVERGED

    def begin(self) -> None:
        """Begin a new episode."""
        self._entry("begin")()

    def episode(self) -> Any:
        """A copy of what belongs to the current episode."""
        return self.memory.episode()

    def resume(self, episode: Any) -> None:
        """Go on with an episode."""
        self.memory.resume(episode)

    def state_dict(self) -> dict[str, Array]:
        """The arrays that hold everything learned."""
        return self.memory.state_dict()

    def load(self, state: dict[str, Array]) -> None:
        """Copy a state of `state_dict`; if it does not fit, raise ValueError and change nothing."""
        self.memory.load(state)

    def view(self, first: int) -> Floats:
        """The policy's rows from row `first` on, as a read-only view."""
        return read_only(self.memory.rows[first : first + self.policy.rows, : self.features.size])

    @property
    def steps(self) -> int:
        """Number of updates so far."""
        return int(self.memory["steps"])

    @property
    def diverged_at(self) -> int | None:
        """The update, counted from 1, at which it diverged."""
        step = int(self.memory["diverged_at"])
        return None if step < 0 else step

    def stop(self) -> None:
        """Stop learning, because the critic has diverged at the current step."""
        self.memory["diverged_at"] = self.steps + 1

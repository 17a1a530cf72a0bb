"""The actor's state, three arrays as `memory` has them, and the doors to its compiled mathematics."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tdlambda import memory
from tdlambda.arrays import Floats, Ints, choice, integer, not_negative, number, positive
from tdlambda.control import actor, driver
from tdlambda.control.policy import Policy
from tdlambda.features import Encoder
from tdlambda.learners import OneOver
from tdlambda.learners.driver import DIVERGED, OK

_COUNTS = [memory.STEPS, memory.DIVERGED_AT, memory.UNDER_WAY]
_MOVING = [actor.EMPHASIS, memory.FIRST_BLOCK + memory.DECAY, memory.FIRST_BLOCK + memory.DELTA]
_CONSTANTS = np.setdiff1d(np.arange(actor.NUMBERS), _MOVING)


class Actor:
    """A policy with its parameters θ, their trace z, and I. Parameters are those of `ActorCritic`.

    Examples
    --------
    >>> import tdlambda as td
    >>> actor = Actor(td.Softmax(2), td.OneHot(3), 0.1, True, "discounted", 0.0, 0, 1e-8, 1e12)
    >>> actor.rows(0).shape, actor.distribution(1)
    ((2, 3), array([0.5, 0.5]))
    """

    def __init__(
        self, policy: Policy, features: Encoder, eta: float | OneOver, traced: bool, weighting: str,
        entropy: float, warm_up: int, trace_tolerance: float, bound: float,
    ) -> None:  # fmt: skip
        if isinstance(eta, OneOver) and eta.by != "steps":
            raise ValueError('eta: a schedule of the actor goes by steps, td.OneOver("steps")')
        choice(weighting, "weighting", *actor.WEIGHTINGS)
        entropy = not_negative(entropy, "entropy")
        if not 0 <= number(trace_tolerance, "trace_tolerance") < 1:
            raise ValueError(f"trace_tolerance must be in [0, 1); got {trace_tolerance}")
        self.policy, self.features = policy, features
        rows, size = policy.rows, features.size
        width, dense, traces = actor.width(size), size <= memory.DENSE_SIZE, rows if traced else 0
        if policy.initial.shape not in ((), (rows, size)):
            shape = policy.initial.shape
            raise ValueError(f"policy: initial must be one number or of shape ({rows}, {size}); got shape {shape}")
        self.F: Floats = np.zeros((rows + traces, width))
        self.F[:rows, :size] = policy.initial
        self.M: Floats = np.zeros(actor.NUMBERS)
        self.I: Ints = np.zeros(memory.LIVE + (0 if dense else 2 * width), dtype=np.int64)
        self.S: Floats = np.zeros(2 * rows)
        self.M[[memory.TOLERANCE, memory.BOUND, actor.ENTROPY, actor.EMPHASIS]] = (
            trace_tolerance, positive(bound, "bound"), entropy, 1.0,
        )  # fmt: skip
        self.I[[memory.DENSE, memory.SIZE, memory.BLOCKS, memory.DIVERGED_AT]] = dense, size, 1, -1
        self.I[[memory.WEIGHT_ROWS, memory.TRACE_ROWS]] = rows, traces
        self.I[memory.WARM_UP] = integer(warm_up, "warm_up", 0, 2**62)
        self.I[[actor.POLICY, actor.WEIGHTING]] = policy.code, actor.WEIGHTINGS.index(weighting)
        if isinstance(eta, OneOver):
            self.I[memory.SCHEDULE] = memory.BY_STEPS
            self.M[[memory.ALPHA, memory.OFFSET, memory.POWER]] = eta.scale, eta.offset, eta.power
        else:
            self.M[memory.ALPHA] = positive(eta, "eta")
        policy.setup(self.M)

    def encode(self, obs: Any) -> tuple[Ints, Floats]:
        """x of an observation, such that compiled code can follow its indices."""
        x, xv = self.features.encode(obs)
        if driver.check(self.I, x, xv) != OK:
            raise ValueError(f"obs: feature values must be finite, |x|² too; got {obs!r}")
        return x, xv

    def choose(self, obs: Any, u: float) -> int:
        """An action of a softmax policy, by a uniform number."""
        return driver.choose(self.F, self.M, self.I, self.S, *self.encode(obs), u)

    def distribution(self, obs: Any) -> Any:
        """π(·|obs)."""
        driver.distribution(self.F, self.M, self.I, self.S, *self.encode(obs))
        return self.policy.distribution(self.S)

    def learn(
        self, x: Ints, xv: Floats, action: int, point: Floats,
        delta: float, rho: float, gamma_next: float, gamma_lam_next: float, ended: int,
    ) -> bool:  # fmt: skip
        """One step; whether θ has just left its bound."""
        state = (self.F, self.M, self.I, self.S)
        status = driver.learn(*state, x, xv, action, point, delta, rho, gamma_next, gamma_lam_next, ended)
        return status == DIVERGED

    def begin(self) -> None:
        """A new episode."""
        driver.begin(self.F, self.M, self.I)

    def rows(self, first: int) -> Floats:
        """As many rows as the policy has, from this one, as a view that cannot be written."""
        view = self.F[first : first + self.policy.rows, : self.features.size]
        view.flags.writeable = False
        return view

    @property
    def steps(self) -> int:
        """Updates so far."""
        return int(self.I[memory.STEPS])

    @property
    def diverged_at(self) -> int | None:
        """The update, counted from 1, at which it diverged."""
        step = int(self.I[memory.DIVERGED_AT])
        return None if step < 0 else step

    def stop(self) -> None:
        """Learn no more: the critic has diverged at the step that would come now."""
        self.I[memory.DIVERGED_AT] = self.steps + 1

    def state(self) -> dict[str, NDArray[Any]]:
        """Copies of the arrays that hold everything learnt. The list of live traces follows from the traces."""
        return {"F": self.F.copy(), "M": self.M.copy(), "I": self.I[_COUNTS]}

    def restore(self, state: dict[str, NDArray[Any]]) -> None:
        """Take over such arrays; an error if they do not fit."""
        own = self.state()
        if set(state) != set(own):
            raise ValueError(f"state must have the parts {sorted(own)}; got {sorted(state)}")
        for name, array in own.items():
            if state[name].shape != array.shape or state[name].dtype != array.dtype:
                raise ValueError(f"state {name!r} does not fit this agent")
        if not np.array_equal(state["M"][_CONSTANTS], self.M[_CONSTANTS]):
            raise ValueError("state 'M' does not fit this agent: its step sizes or limits are others")
        if state["I"][0] < 0 or state["I"][1] < -1:
            raise ValueError("state: a count is negative")
        self.F[:], self.M[:], self.I[_COUNTS] = state["F"], state["M"], state["I"]
        if not self.I[memory.DENSE]:
            live = np.flatnonzero(self.F[self.policy.rows :, : self.features.size].any(axis=0))
            self.I[memory.N_LIVE], self.I[memory.LIVE :] = live.size, 0
            self.I[memory.LIVE : memory.LIVE + live.size] = live
            self.I[memory.LIVE + self.F.shape[1] + live] = 1

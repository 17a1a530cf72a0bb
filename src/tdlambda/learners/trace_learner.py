"""Learners whose state is the three arrays of `memory` and whose mathematics is compiled."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike

from tdlambda import (
    learners,  # its `driver` imports each algorithm's mathematics, so it comes last
    memory,
)
from tdlambda.arrays import Floats, Ints, choice, flag, number, plain, positive, rows
from tdlambda.compiled import entry
from tdlambda.features import Encoder, OneHot
from tdlambda.lambdas import Adaptive, Fixed
from tdlambda.learners.base import Array, Diverged, Learner, check_numbers
from tdlambda.learners.step_size import OneOver, initial_weights
from tdlambda.mdp import Transitions

_PLAIN = (float, np.float64)


class TraceLearner(Learner):
    """A learner with eligibility traces: rows of weights, then rows of traces, over the features.

    Parameters
    ----------
    features
        Encoder of observations.
    alpha
        Step size α: a number, or a schedule such as `td.OneOver("visits")`.
    lam
        λ: a number, one for each state, a rule, or the name of one: "auto" is `td.ValueErrorGreedy()`, "meta"
        `td.Meta()`, "greedy" `td.Greedy()`.
    initial
        Weights at the start: one number or one for each feature.
    trace_tolerance
        With more than 128 features, traces are kept for those features only where some trace exceeds this (times α
        for traces that carry α); 0 keeps all that are not exactly 0. A dropped trace would have changed a weight by
        at most tolerance · α · Σ |δ| (γλρ)^k over the following steps k.
    bound
        How many times a prediction may exceed the largest value that rewards and discounts so far allow (the largest
        reward over 1 - γ, or over ten of the longest episodes); beyond, it is divergence. Of a variance, its square.
    on_divergence
        "raise" `Diverged` once, or "flag" it: see `diverged_at`. Either way the learner then learns no more.
    dtype
        "float64", or "float32" for weights and traces at half the memory.
    """

    takes_adaptive = True
    code: ClassVar[int]
    weight_rows: ClassVar[int] = 1
    trace_rows: ClassVar[int] = 1
    blocks: int = 1
    bundle: int = memory.ALONE

    def __init__(
        self,
        features: Encoder,
        alpha: float | OneOver,
        lam: Any,
        *,
        initial: ArrayLike = 0.0,
        trace_tolerance: float = 1e-8,
        bound: float = 1e3,
        on_divergence: Literal["raise", "flag"] = "raise",
        dtype: Literal["float64", "float32"] = "float64",
    ) -> None:
        super().__init__(features, lam)
        choice(on_divergence, "on_divergence", "raise", "flag")
        choice(dtype, "dtype", "float64", "float32")
        if not 0 <= number(trace_tolerance, "trace_tolerance") < 1:
            raise ValueError(f"trace_tolerance must be in [0, 1); got {trace_tolerance}")
        start = initial_weights(initial, features.size, dtype)
        self.alpha = alpha if isinstance(alpha, OneOver) else positive(alpha, "alpha")
        self.initial, self.trace_tolerance, self.dtype = start, float(trace_tolerance), dtype
        self.bound, self.on_divergence = positive(bound, "bound"), on_divergence
        self._lam = self.rule.lam if isinstance(self.rule, Fixed) else None
        self._lam_features = features
        if isinstance(self.rule, Adaptive):
            if self.bundle != memory.ALONE:
                raise ValueError(f"lam: {type(self).__name__} needs a λ that stays as it is, not {self.rule!r}")
            self.blocks, self.bundle, self._lam = self.rule.blocks, self.rule.bundle, 1.0
            self._lam_features = self.rule.features or features
        self._one_hot = type(features) is OneHot and self._lam_features is features

        size = features.size
        self._by_visits = by_visits = isinstance(alpha, OneOver) and alpha.by == "visits"
        rows = self.blocks * (self.weight_rows + self.trace_rows)
        width = size + (-size % 4 if size <= memory.DENSE_SIZE else (64 - size) % 512)
        self._F: Array = np.zeros((rows + by_visits, width), dtype=dtype)
        self._F[0, :size] = start
        own = 0
        if isinstance(self.rule, Adaptive):
            own = self._lam_features.size + self.rule.slots + self.rule.rows * size
        self._M: Floats = np.zeros(memory.LAMBDA + own)
        self._I: Ints = np.zeros(memory.LIVE + (0 if size <= memory.DENSE_SIZE else 2 * width), dtype=np.int64)
        self._M[[memory.TOLERANCE, memory.BOUND]] = self.trace_tolerance, memory.largest_weight(dtype)
        self._M[[memory.FACTOR, memory.START]] = self.bound, abs(start).max()
        self._I[memory.DENSE] = size <= memory.DENSE_SIZE
        self._I[[memory.DIVERGED_AT, memory.SIZE, memory.ALGORITHM]] = -1, size, self.code
        self._I[memory.LAM_SIZE] = self._lam_features.size
        self._I[[memory.WEIGHT_ROWS, memory.TRACE_ROWS]] = self.weight_rows, self.trace_rows
        self._I[[memory.BLOCKS, memory.BUNDLE]] = self.blocks, self.bundle
        if isinstance(self.alpha, OneOver):
            self._I[memory.SCHEDULE] = memory.BY_VISITS if by_visits else memory.BY_STEPS
            self._M[[memory.ALPHA, memory.OFFSET, memory.POWER]] = self.alpha.scale, self.alpha.offset, self.alpha.power
        else:
            self._M[memory.ALPHA] = self.alpha

        if isinstance(self.rule, Adaptive):
            self.rule.setup(self._M, self._I)
        self._bind()

    def _bind(self) -> None:
        """Hand the state to the compiled code once: at half a microsecond an update, looking it up would count."""
        self._update = partial(learners.driver.update, self._F, self._M, self._I)
        self._update_index: Callable[..., int] = self._first_update_index

    def _first_update_index(self, *step: Any) -> int:
        """Find the machine code at the first update, and remember it."""
        state = (self._F, self._M, self._I)
        enter = partial(entry(learners.driver.update_index, *state, 0.0, 0, 0, 0.0, 0.0, 0.0, 0), *state)
        if self._lam is None:
            self._update_index = lambda s, s_next, *numbers: enter(self._lam_at(s_next), s, s_next, *numbers)
        else:
            self._update_index = partial(enter, self._lam)
        return self._update_index(*step)

    def predict(self, obs: Any) -> float:
        """V(obs)."""
        if self._one_hot and type(obs) is int and 0 <= obs < self.features.size:
            return float(self._F[0, obs])
        return super().predict(obs)

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
        ended = 0
        if terminated is not False and flag(terminated, "terminated"):
            ended = 1
        if truncated is not False and flag(truncated, "truncated"):
            ended += 2
        try:
            try:
                plain_numbers = type(0.0 + reward + gamma + rho) in _PLAIN
            except (TypeError, OverflowError):  # text, say, which adds to no number
                plain_numbers = False
            if not plain_numbers:
                reward, gamma, rho = check_numbers(reward, gamma, rho)
            if type(obs) is int and type(next_obs) is int and self._one_hot:
                status = self._update_index(obs, next_obs, reward, gamma, rho, ended)
            else:
                x, (y, yv) = self.features.encode(obs), self.features.encode(next_obs)
                z, zv = (y, yv) if self._lam_features is self.features else self._lam_features.encode(next_obs)
                lam = self._lam_at(next_obs) if self._lam is None else self._lam
                status = self._update(*x, y, yv, z, zv, float(reward), float(gamma), float(rho), lam, ended)
        except (TypeError, ValueError, OverflowError):
            check_numbers(reward, gamma, rho)
            self.features.encode(obs), self.features.encode(next_obs)  # an integer too large for a machine
            raise
        if status:
            self._refuse(status, obs, reward, next_obs, gamma, rho)

    def _learn_many(self, c: Transitions) -> None:
        self._I[memory.BUSY] = 1  # until it is done, `update` refuses other threads
        try:
            self._learn_columns(c)
        finally:
            self._I[memory.BUSY] = 0

    def _learn_columns(self, c: Transitions) -> None:
        lam = self._lam_many(c.next_obs, len(c)) if self._lam is None else np.array([self._lam])
        state: Any = (self._F, self._M, self._I)
        numbers: Any = (c.reward, c.gamma, c.rho, lam, c.terminated, c.truncated)
        obs, next_obs = c.obs, c.next_obs
        if not len(c):
            return
        if self._one_hot and obs.dtype == next_obs.dtype == np.int64 and obs.ndim == next_obs.ndim == 1:
            indices: Any = (plain(obs, np.int64), plain(next_obs, np.int64))
            status, t = learners.driver.update_many_indices(*state, *indices, *numbers)
        else:
            after = self.features.encode_batch(next_obs)
            same = self._lam_features is self.features
            z = after if same else self._lam_features.encode_batch(next_obs)
            encoded: Any = (*self.features.encode_batch(obs), *after, *z)
            status, t = learners.driver.update_many(*state, *encoded, *numbers)
        if status:
            self._refuse(status, c.obs[t], c.reward[t], c.next_obs[t], c.gamma[t], c.rho[t], f" (row {t})")

    def _refuse(self, status: int, obs: Any, reward: Any, next_obs: Any, gamma: Any, rho: Any, where: str = "") -> None:
        """Raise what a status says."""
        d = learners.driver
        if status == d.DIVERGED:
            if self.on_divergence == "raise":
                raise Diverged(int(self._I[memory.DIVERGED_AT]))
            return
        if status == d.IN_USE:
            self._guard.refuse()
        size = self.features.size
        raise ValueError(
            {
                d.REWARD: f"reward must be finite; got {reward}",
                d.GAMMA_RANGE: f"gamma must be in [0, 1]; got {gamma}",
                d.RHO_RANGE: f"rho must be finite and not negative; got {rho}",
                d.OBS: f"obs: a feature index must be from 0 to {size - 1}; got {obs}",
                d.NEXT_OBS: f"next_obs: a feature index must be from 0 to {size - 1}; got {next_obs}",
                d.OBS_VALUES: f"obs: feature values must be finite, |x|² too; got {obs}",
                d.NEXT_OBS_VALUES: f"next_obs: feature values must be finite, |x|² too; got {next_obs}",
            }[status]
            + where
        )

    def lambda_at(self, obs: Any) -> float:
        """The λ in use at this observation."""
        if not isinstance(self.rule, Adaptive):
            return super().lambda_at(obs)
        index, value = self._lam_features.encode(obs)
        x, xv = self.features.encode(obs)
        estimates = self._estimates(x[None], xv[None])
        return float(self.rule.values(self._M, self._I, estimates, index[None], value[None])[0])

    def lambdas(self, observations: Any) -> Floats:
        """The λ in use at each of these observations."""
        if not isinstance(self.rule, Adaptive):
            return self._lam_many(rows(observations, "observations"), len(observations))
        estimates = self._estimates(*self.features.encode_batch(observations))
        return self.rule.values(self._M, self._I, estimates, *self._lam_features.encode_batch(observations))

    def estimates(self, observations: Any) -> Floats:
        """All that is learnt, [estimate, observation]: V, and what a rule or a variance learner learns beside it.

        `td.Greedy`: E[G], Var[G] (or E[G²]). `td.Meta`: E[G], E[G^λ], Var[G^λ]. `td.ValueErrorGreedy`: E[G] as it is
        learnt, and averaged.
        """
        return self._estimates(*self.features.encode_batch(observations))

    def _estimates(self, index: Ints, value: Floats) -> Floats:
        rows = range(0, self.blocks * (self.weight_rows + self.trace_rows), self.weight_rows + self.trace_rows)
        return np.stack([(value * self._F[row][index]).sum(axis=1) for row in rows]).astype(np.float64)

    @property
    def weights(self) -> Array:
        """The weights w, as a view that cannot be written."""
        return self._row(0)

    @property
    def trace(self) -> Array:
        """The eligibility trace e, as a view that cannot be written."""
        return self._row(self.weight_rows)

    @property
    def td_error(self) -> float:
        """δ of the last update."""
        return float(self._M[memory.FIRST_BLOCK + memory.DELTA])

    @property
    def steps(self) -> int:
        """Updates so far."""
        return int(self._I[memory.STEPS])

    @property
    def diverged_at(self) -> int | None:
        """The update, counted from 1, at which the learner diverged; None if it has not."""
        step = int(self._I[memory.DIVERGED_AT])
        return None if step < 0 else step

    def _row(self, row: int) -> Array:
        view = self._F[row, : self.features.size]
        view.flags.writeable = False
        return view

    def reset(self) -> None:
        """Set the traces to 0, as at an episode's start; keep what was learnt."""
        with self._guard:
            memory.clear_traces(self._F, self._I)

    def get_params(self) -> dict[str, Any]:
        """The constructor's arguments."""
        return {
            "features": self.features,
            "alpha": self.alpha,
            "lam": self.rule,
            "initial": self.initial.tolist(),
            "trace_tolerance": self.trace_tolerance,
            "bound": self.bound,
            "on_divergence": self.on_divergence,
            "dtype": self.dtype,
        }

    def _state(self) -> dict[str, Array]:
        return {"F": self._F, "M": self._M, "I": self._I}

    def _restore(self, state: dict[str, Array]) -> None:
        own = self._state()
        for name, array in own.items():
            given = state.get(name)
            if given is None or given.shape != array.shape or given.dtype != array.dtype:
                raise ValueError(f"state {name!r} does not fit this learner")
        if set(state) != set(own):
            raise ValueError(f"state has unknown parts {sorted(set(state) - set(own))}")
        memory.require_same_kind(state["I"], self._I, self._F.shape[1])
        given, constants = state["M"], np.r_[: memory.MOST_REWARD, memory.PACE : memory.RHO_ACC, memory.RHO_CLIP]
        constants = np.r_[constants, memory.FORGETTING, memory.STRETCH]
        if not np.array_equal(given[constants], self._M[constants]):
            raise ValueError("state 'M' does not fit this learner: its step sizes or limits are others")
        most = given[[memory.MOST_REWARD, memory.MOST_GAMMA, memory.MOST_RHO]]
        if (
            (state["I"][[memory.STEPS, memory.UNDER_WAY]] < 0).any()
            or not ((most >= 0) & (most <= [np.inf, 1, np.inf])).all()
            or (self._by_visits and not (state["F"][-1] >= 0).all())
        ):
            raise ValueError("state: a count is negative, or a largest number is out of its range")
        self._F, self._M, self._I = state["F"], state["M"], state["I"]
        self._bind()

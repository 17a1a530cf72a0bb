"""What learners share that move w·x_t towards a return G_t once it is known:

    w += α (G_t - w·x_t) x_t

One transition is a batch of one: `update` and `update_many` run the same compiled code and give the same bits.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from tdlambda import memory
from tdlambda.arrays import Bools, Floats, Ints, choice, positive
from tdlambda.compiled import inlined, kernel
from tdlambda.features import Encoder
from tdlambda.features.base import first_misfit
from tdlambda.learners.base import Array, Diverged, Learner, check_numbers
from tdlambda.learners.step_size import OneOver, initial_weights
from tdlambda.mdp import Transitions
from tdlambda.memory import (
    DIVERGED_AT,
    FACTOR,
    LIVE,
    MOST_REWARD,
    SCHEDULE,
    START,
    STEPS,
    Index,
    Value,
    add_within,
    dot,
    step_size,
)

# I, beside the slots of `memory` (whose STEPS counts the updates of w here): transitions seen, stored, where they begin
SEEN, STORED, HEAD = LIVE, LIVE + 1, LIVE + 2
COUNTERS = LIVE + 3
# N [row, stored transition]
REWARD, DISCOUNT, RATIO, LAMBDA, V_NEXT = range(5)


@inlined
def learn(F: Floats, M: Floats, I: Ints, target: float, error: float, x: Index, xv: Value) -> bool:
    """W += α error x, with α of this update. Whether w·x is then within what the targets so far allow."""
    I[STEPS] += 1
    M[MOST_REWARD] = max(M[MOST_REWARD], abs(target))
    within = add_within(F[0], step_size(F, M, I, x, xv) * error, x, xv, len(x), M)
    x1 = 0.0
    for j in range(len(x)):
        x1 += abs(xv[j])
    return within & (abs(dot(F[0], x, xv, len(x))) <= M[FACTOR] * (M[MOST_REWARD] + M[START] * x1))


@kernel
def store(
    F: Floats, I: Ints, X: Ints, Xv: Floats, N: Floats, start: int, stop: int, x: Ints, xv: Floats, y: Ints, yv: Floats,
    reward: Floats, gamma: Floats, rho: Floats, lam: Floats, terminated: Bools,
) -> None:  # fmt: skip
    """Keep the transitions start..stop-1. V(x') is taken now: the weights do not move before the episode's end."""
    for t in range(start, stop):
        at = I[STORED]
        for j in range(x.shape[1]):
            X[at, j], Xv[at, j] = x[t, j], xv[t, j]
        N[REWARD, at], N[DISCOUNT, at], N[RATIO, at], N[LAMBDA, at] = reward[t], gamma[t], rho[t], lam[t]
        N[V_NEXT, at] = 0.0 if terminated[t] else dot(F[0], y[t], yv[t], y.shape[1])
        I[STORED] += 1
        I[SEEN] += 1


class BatchLearner(Learner):
    """A learner whose one way to learn is from checked columns (`_take`); it counts them and may diverge."""

    def __init__(self, features: Encoder, lam: Any, bound: float, on_divergence: Literal["raise", "flag"]) -> None:
        super().__init__(features, lam)
        choice(on_divergence, "on_divergence", "raise", "flag")
        self.bound, self.on_divergence = positive(bound, "bound"), on_divergence
        self._I: Ints = np.zeros(COUNTERS, dtype=np.int64)
        self._I[DIVERGED_AT] = -1

    @abstractmethod
    def _take(
        self, x: Ints, xv: Floats, y: Ints, yv: Floats, reward: Floats, gamma: Floats, rho: Floats, lam: Floats,
        terminated: Bools, truncated: Bools,
    ) -> bool:  # fmt: skip
        """Learn from columns, at least one row; False, at once and with its counter set, where it diverges."""

    @property
    def steps(self) -> int:
        """Transitions so far."""
        return int(self._I[SEEN])

    @property
    def diverged_at(self) -> int | None:
        """The transition, counted from 1, at which the learner diverged; None if it has not."""
        step = int(self._I[DIVERGED_AT])
        return None if step < 0 else step

    def _learn(
        self, x: Ints, xv: Floats, y: Ints, yv: Floats, reward: float, gamma: float, rho: float, lam: float,
        terminated: bool, truncated: bool,
    ) -> None:  # fmt: skip
        numbers = np.array([[reward], [gamma], [rho], [lam]])
        self._batch(x[None], xv[None], y[None], yv[None], *numbers, np.array([terminated]), np.array([truncated]))

    def _learn_many(self, c: Transitions) -> None:
        lam = self._lam_many(c.next_obs, len(c))
        good = np.isfinite(c.reward) & (c.gamma >= 0) & (c.gamma <= 1) & (c.rho >= 0) & (c.rho < np.inf)
        if not good.all():
            t = int(np.argmin(good))
            try:
                check_numbers(c.reward[t], c.gamma[t], c.rho[t])
            except ValueError as error:
                raise ValueError(f"{error} (row {t})") from None
        encoded = (*self.features.encode_batch(c.obs), *self.features.encode_batch(c.next_obs))
        self._batch(*encoded, c.reward, c.gamma, c.rho, lam, c.terminated, c.truncated)

    def _batch(self, x: Ints, xv: Floats, y: Ints, yv: Floats, *columns: Any) -> None:
        """Check what an encoder gave; then learn, unless diverged before."""
        if not len(x):
            return
        for name, index, value in (("obs", x, xv), ("next_obs", y, yv)):
            row = first_misfit(index, value, self.features.size)
            if row >= 0:
                raise ValueError(
                    f"{name}: feature indices must be from 0 to {self.features.size - 1} and values finite, |x|² too; "
                    f"got {index[row]} and {value[row]} (row {row})"
                )
        if self.diverged_at is None and not self._take(x, xv, y, yv, *columns) and self.on_divergence == "raise":
            raise Diverged(int(self._I[DIVERGED_AT]))

    def _fitted(self, state: dict[str, Array], expected: dict[str, tuple[tuple[int, ...], str]]) -> dict[str, Array]:
        """Own copies of a state's arrays; an error unless shapes, dtypes and counters are such as can be."""
        if set(state) != set(expected):
            raise ValueError(f"state must have the parts {sorted(expected)}; got {sorted(state)}")
        for name, (shape, dtype) in expected.items():
            if state[name].shape != shape or state[name].dtype != dtype:
                raise ValueError(f"state {name!r} does not fit this learner")
        I, least = state["I"], np.zeros(COUNTERS, dtype=np.int64)
        least[DIVERGED_AT] = -1
        if (least > I).any() or I[SCHEDULE] != self._I[SCHEDULE] or I[DIVERGED_AT] > I[SEEN]:
            raise ValueError("state 'I' does not fit this learner: a counter is out of its range")
        return {name: np.array(array, order="C") for name, array in state.items()}


def refuse_lam(options: dict[str, Any], why: str) -> None:
    """Say that a learner takes no λ, and what does."""
    if "lam" in options:
        raise TypeError(f"lam: {why}")


class ReturnLearner(BatchLearner):
    """W += α (G - w·x) x: weights, a step size, visit counts where it goes by visits, and transitions stored.

    Parameters
    ----------
    features
        Encoder of observations.
    alpha
        Step size α: a number, or a schedule such as `td.OneOver("visits")`, which counts updates of w.
    initial
        Weights at the start: one number or one for each feature.
    bound
        How many times a prediction may exceed the largest return so far; beyond, it is divergence.
    on_divergence
        "raise" `Diverged` once, or "flag" it: see `diverged_at`. Either way the learner then learns no more.
    dtype
        "float64", or "float32" for weights at half the memory.
    """

    def __init__(
        self,
        features: Encoder,
        alpha: float | OneOver,
        lam: Any,
        room: int,
        *,
        initial: ArrayLike = 0.0,
        bound: float = 1e3,
        on_divergence: Literal["raise", "flag"] = "raise",
        dtype: Literal["float64", "float32"] = "float64",
    ) -> None:
        super().__init__(features, lam, bound, on_divergence)
        choice(dtype, "dtype", "float64", "float32")
        start = initial_weights(initial, features.size, dtype)
        self.alpha = alpha if isinstance(alpha, OneOver) else positive(alpha, "alpha")
        self.initial, self.dtype = start, dtype
        by_visits = isinstance(alpha, OneOver) and alpha.by == "visits"
        self._F: Array = np.zeros((1 + by_visits, features.size), dtype=dtype)
        self._F[0] = start
        self._M: Floats = np.zeros(memory.FIRST_BLOCK)
        self._M[[memory.BOUND, FACTOR, START]] = memory.largest_weight(dtype), self.bound, abs(start).max()
        if isinstance(self.alpha, OneOver):
            self._I[SCHEDULE] = memory.BY_VISITS if by_visits else memory.BY_STEPS
            self._M[[memory.ALPHA, memory.OFFSET, memory.POWER]] = self.alpha.scale, self.alpha.offset, self.alpha.power
        else:
            self._M[memory.ALPHA] = self.alpha
        self._X: Ints = np.zeros((room, features.active), dtype=np.int64)
        self._Xv: Floats = np.zeros((room, features.active))
        self._N: Floats = np.zeros((V_NEXT + 1, room))

    @property
    def weights(self) -> Array:
        """The weights w, as a view that cannot be written."""
        view = self._F[0]
        view.flags.writeable = False
        return view

    def reset(self) -> None:
        """Forget the transitions stored; keep what was learnt."""
        with self._guard:
            self._I[[STORED, HEAD]] = 0

    def get_params(self) -> dict[str, Any]:
        """The constructor's arguments."""
        own = {"features": self.features, "alpha": self.alpha, "initial": self.initial.tolist(), "bound": self.bound}
        return own | {"on_divergence": self.on_divergence, "dtype": self.dtype}

    def _state(self) -> dict[str, Array]:
        return {"F": self._F, "M": self._M, "I": self._I, "X": self._X, "Xv": self._Xv, "N": self._N}

    def _restore(self, state: dict[str, Array]) -> None:
        room = state["N"].shape[-1] if "N" in state and state["N"].ndim else 0
        features = (room, self.features.active)
        new = self._fitted(state, {
            "F": (self._F.shape, self.dtype), "M": (self._M.shape, "float64"), "I": (self._I.shape, "int64"),
            "X": (features, "int64"), "Xv": (features, "float64"), "N": ((V_NEXT + 1, room), "float64"),
        })  # fmt: skip
        M = new["M"]
        if not np.array_equal(M[:MOST_REWARD], self._M[:MOST_REWARD]) or not M[MOST_REWARD] >= 0:
            raise ValueError("state 'M' does not fit this learner: its step sizes or limits are others")
        F, I, N = new["F"], new["I"], new["N"]
        fractions = N[[DISCOUNT, LAMBDA]]
        if not (
            self._has_room(room, int(I[STORED]), int(I[HEAD]))
            and first_misfit(new["X"], new["Xv"], self.features.size) < 0
            and np.isfinite(N[:V_NEXT]).all()
            and (N[RATIO] >= 0).all()
            and ((fractions >= 0) & (fractions <= 1)).all()
        ):
            raise ValueError("state: the stored transitions do not fit this learner")
        if not (F[1:] >= 0).all() or (I[DIVERGED_AT] < 0 and not np.isfinite(F).all()):
            raise ValueError("state 'F' does not fit this learner: weights must be finite, visits not negative")
        self._F, self._M, self._I, self._X, self._Xv, self._N = F, M, I, new["X"], new["Xv"], N

    @abstractmethod
    def _has_room(self, room: int, stored: int, head: int) -> bool:
        """Whether so many transitions, from `head` on, can be stored in this room."""


class EpisodeLearner(ReturnLearner):
    """Stores an episode and learns at its end (`_finish`). Memory grows with the longest episode."""

    def __init__(self, features: Encoder, alpha: float | OneOver, lam: Any, **options: Any) -> None:
        super().__init__(features, alpha, lam, 0, **options)

    @abstractmethod
    def _finish(self, n: int) -> bool:
        """Learn from the n transitions stored. Whether the weights are within the bound."""

    def _take(
        self, x: Ints, xv: Floats, y: Ints, yv: Floats, reward: Floats, gamma: Floats, rho: Floats, lam: Floats,
        terminated: Bools, truncated: Bools,
    ) -> bool:  # fmt: skip
        columns = (x, xv, y, yv, reward, gamma, rho, lam, terminated)
        start = 0
        for stop in (np.flatnonzero(terminated | truncated) + 1).tolist():
            self._store(columns, start, stop)
            within = self._finish(int(self._I[STORED]))
            self._I[STORED] = 0
            if not within:
                self._I[DIVERGED_AT] = self._I[SEEN]
                return False
            start = stop
        self._store(columns, start, len(reward))
        return True

    def _store(self, columns: tuple[Any, ...], start: int, stop: int) -> None:
        stored, room = int(self._I[STORED]), self._N.shape[1]
        more = max(stored + stop - start, 2 * room) - room
        if stored + stop - start > room:
            self._X, self._Xv = np.pad(self._X, ((0, more), (0, 0))), np.pad(self._Xv, ((0, more), (0, 0)))
            self._N = np.pad(self._N, ((0, 0), (0, more)))
        store(self._F, self._I, self._X, self._Xv, self._N, start, stop, *columns)

    def _state(self) -> dict[str, Array]:
        n, parts = int(self._I[STORED]), super()._state()
        return parts | {"X": self._X[:n], "Xv": self._Xv[:n], "N": self._N[:, :n]}

    def _has_room(self, room: int, stored: int, head: int) -> bool:
        return stored == room and head == 0

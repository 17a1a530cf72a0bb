"""Base classes of learners that move w·x_t towards a return G_t once it is known.

    w += α (G_t - w·x_t) x_t

One transition is a batch of one: `update` and `update_many` run the same compiled code and give identical results.
"""

from __future__ import annotations

from abc import abstractmethod
from functools import cache
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike

from tdlambda.arrays import Bools, Floats, Ints, choice, clipped, positive, read_only
from tdlambda.compiled import inlined, kernel, numba
from tdlambda.core.runtime import LARGEST, dot, mean_visits, scheduled
from tdlambda.features import Encoder
from tdlambda.features.encoder import first_misfit
from tdlambda.learners.learner import Array, Diverged, Learner, encoded
from tdlambda.learners.step_size import OneOver, initial_weights
from tdlambda.mdp import Transitions
from tdlambda.mdp.sampler import require_numbers
from tdlambda.rules import Lam

Columns = tuple[Ints, Floats, Ints, Floats, Floats, Floats, Floats, Floats, Bools, Bools]
"""Transitions by column: features x and x' (indices and values), reward, γ', ρ, λ', terminated, truncated."""


def record(kind: Literal["f8", "i8"], names: str, rows: int = 1) -> Array:
    """A record of named zeros. Compiled code writes `row = array[0]; row.name += 1`, Python `array["name"] += 1`.

    >>> count = record("i8", "seen stored")
    >>> count["seen"] += 3
    >>> count.view(np.int64)
    array([3, 0])
    """
    return np.zeros(rows, dtype=_named(kind, names))


@cache  # Numba finds the code for a dtype much faster if it is the same object each time
def _named(kind: str, names: str) -> Any:
    fields: Any = [(name, kind) for name in names.split()]
    # Uncompiled code needs np.record to write `row.name`; compiled code is faster to call with a plain dtype.
    return np.dtype((np.record, fields) if numba.config.DISABLE_JIT else fields)


@inlined
def step_size(c: Any, s: Any, visits: Floats, x: Ints, xv: Floats) -> float:
    """The step size α of this update; a constant α has power 0, and `visits` is empty unless n counts visits."""
    n = mean_visits(visits, x, xv) if visits.size else float(c.updates)
    return s.alpha if s.power == 0.0 else scheduled(s.alpha, s.offset, s.power, n)


@inlined
def learn(
    count: Array, number: Array, weights: Floats, visits: Floats, target: float, error: float, x: Ints, xv: Floats
) -> bool:  # fmt: skip
    """Apply w += α error x; return whether w·x is then within what the targets so far allow."""
    c, s = count[0], number[0]
    c.updates += 1
    s.most_target = max(s.most_target, abs(target))
    along, x1, within = step_size(c, s, visits, x, xv) * error, 0.0, True
    for j in range(len(x)):
        w = weights[x[j]] + along * xv[j]
        weights[x[j]] = w
        within &= abs(w) <= s.bound
        x1 += abs(xv[j])
    return within & (abs(dot(weights, x, xv, len(x))) <= s.factor * (s.most_target + s.start * x1))


@kernel
def store(
    count: Array, weights: Floats, X: Ints, Xv: Floats, stored: Array, start: int, stop: int,
    columns: Columns,
) -> None:  # fmt: skip
    """Store the transitions start..stop-1, with V(x') now: the weights do not change before the episode's end."""
    x, xv, y, yv, reward, gamma, rho, lam, terminated, _truncated = columns
    c = count[0]
    for t in range(start, stop):
        step = stored[c.stored]
        for j in range(x.shape[1]):
            X[c.stored, j], Xv[c.stored, j] = x[t, j], xv[t, j]
        step.reward, step.gamma, step.rho, step.lam = reward[t], gamma[t], rho[t], lam[t]
        step.v_next = 0.0 if terminated[t] else dot(weights, y[t], yv[t], y.shape[1])
        c.stored += 1
        c.seen += 1


def require_fit(features: Encoder, name: str, index: Ints, value: Floats) -> None:
    """Validate the indices and values of encoded observations."""
    row = first_misfit(index, value, features.size)
    if row >= 0:
        raise ValueError(
            f"{name}: feature indices must be from 0 to {features.size - 1}, feature values and |x|² must be finite; "
            f"got {index[row]} and {value[row]} (row {row})"
        )


class BatchLearner(Learner):
    """Base class of learners that learn from validated columns (`_take`), count transitions and detect divergence."""

    counted: ClassVar[str] = "seen diverged_at"
    """Names of its counters: transitions seen, the one at which it diverged (-1: none), then a subclass's own."""

    def __init__(self, features: Encoder, lam: Lam, bound: float, on_divergence: Literal["raise", "flag"]) -> None:
        super().__init__(features, lam)
        choice(on_divergence, "on_divergence", "raise", "flag")
        self.bound, self.on_divergence = positive(bound, "bound"), on_divergence
        self._count = record("i8", self.counted)
        self._count["diverged_at"] = -1

    @abstractmethod
    def _take(
        self, x: Ints, xv: Floats, y: Ints, yv: Floats, reward: Floats, gamma: Floats, rho: Floats, lam: Floats,
        terminated: Bools, truncated: Bools,
    ) -> bool:  # fmt: skip
        """Learn from columns of at least one row; on divergence set the counter and return False at once."""

    @property
    def steps(self) -> int:
        """Number of transitions so far."""
        return int(self._count["seen"][0])

    @property
    def diverged_at(self) -> int | None:
        """The transition, counted from 1, at which the learner diverged; None if it has not."""
        step = int(self._count["diverged_at"][0])
        return None if step < 0 else step

    def _learn(
        self, x: Ints, xv: Floats, y: Ints, yv: Floats, reward: float, gamma: float, rho: float, lam: float,
        terminated: bool, truncated: bool,
    ) -> None:  # fmt: skip
        columns = [np.array([value]) for value in (reward, gamma, rho, lam, terminated, truncated)]
        self._batch(x[None], xv[None], y[None], yv[None], *columns)

    def _learn_many(self, c: Transitions) -> None:
        lam = self._lam_many(c.next_obs, len(c))
        require_numbers(c)
        x, xv = encoded(self.features.encode_batch, c.obs, "obs")
        y, yv = encoded(self.features.encode_batch, c.next_obs, "next_obs")
        self._batch(x, xv, y, yv, c.reward, c.gamma, c.rho, lam, c.terminated, c.truncated)

    def _batch(self, x: Ints, xv: Floats, y: Ints, yv: Floats, *columns: Any) -> None:
        """Validate the encoder's output, then learn, unless the learner has diverged."""
        if not len(x):
            return
        require_fit(self.features, "obs", x, xv)
        require_fit(self.features, "next_obs", y, yv)
        if self.diverged_at is None and not self._take(x, xv, y, yv, *columns):
            self._clip()
            if self.on_divergence == "raise":
                raise Diverged(int(self._count["diverged_at"][0]))

    def _clip(self) -> None:
        """Make the weights finite after divergence, where they are not checked before they change."""

    def _fitted(self, state: dict[str, Array], expected: dict[str, tuple[tuple[int, ...], str]]) -> dict[str, Array]:
        """Copies of a state's arrays, after validating their shapes and dtypes and the values of "counts"."""
        if set(state) != set(expected):
            raise ValueError(f"state must have the parts {sorted(expected)}; got {sorted(state)}")
        for name, (shape, dtype) in expected.items():
            if state[name].shape != shape or state[name].dtype != dtype:
                raise ValueError(f"state {name!r} does not fit this learner")
        new = {name: np.array(array, order="C") for name, array in state.items()}
        count, least = new["counts"].view(self._count.dtype), record("i8", self.counted)
        least["diverged_at"] = -1
        if (new["counts"] < least.view(np.int64)).any() or count["diverged_at"] > count["seen"]:
            raise ValueError("state 'counts' does not fit this learner: a counter is out of range")
        return new


_FIXED = "alpha offset power bound factor start"
"""Numbers of a `ReturnLearner` that never change. The step size is alpha / (offset + n)^power. A weight may not exceed
`bound`, nor a prediction w·x factor · (most_target + start · Σ|x|), where `start` is the largest initial weight and
`most_target` the largest target so far."""


class ReturnLearner(BatchLearner):
    """Base class of learners from returns, w += α (G - w·x) x: weights, step size, visit counts, stored transitions.

    Parameters
    ----------
    features
        Encoder of observations.
    alpha
        Step size α > 0: a number, or a schedule such as `td.steps.OneOver("visits")`, which counts updates of w.
    initial
        Initial weights, finite: one number or one for each feature.
    bound
        Positive factor: a prediction has diverged when it exceeds `bound` times the largest return so far.
    on_divergence
        "raise" raises `Diverged` once; "flag" only sets `diverged_at`. In both cases the learner stops learning.
    dtype
        "float64", or "float32", which halves the memory of the weights.
    """

    counted: ClassVar[str] = "seen diverged_at updates stored head"
    """In addition to `BatchLearner`'s: updates of w, number of stored transitions, position of the oldest."""
    columns: ClassVar[str] = "reward gamma rho"
    """The columns stored of a transition in addition to its features."""

    def __init__(
        self,
        features: Encoder,
        alpha: float | OneOver,
        lam: Lam,
        capacity: int = 0,
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
        self._weights: Array = np.zeros(features.size, dtype=dtype)
        self._weights[:] = start
        self._visits: Array = np.zeros(features.size if by_visits else 0, dtype=dtype)
        schedule = self.alpha.numbers() if isinstance(self.alpha, OneOver) else {"alpha": self.alpha}
        self._number = record("f8", f"{_FIXED} most_target")
        limits = {"bound": LARGEST[dtype], "factor": self.bound, "start": abs(start).max()}
        for name, value in (schedule | limits).items():
            self._number[name] = value
        self._X: Ints = np.zeros((capacity, features.active), dtype=np.int64)
        self._Xv: Floats = np.zeros((capacity, features.active))
        self._stored = record("f8", self.columns, capacity)

    @property
    def weights(self) -> Array:
        """The weights w, as a read-only view."""
        return read_only(self._weights)

    def _clip(self) -> None:
        self._weights[:] = clipped(self._weights, LARGEST[self.dtype])

    def reset(self) -> None:
        """Discard the stored transitions; keep the weights."""
        with self._guard:
            self._count["stored"] = self._count["head"] = 0

    @property
    def _arrays(self) -> tuple[Array, Array, Array, Array, Ints, Floats, Array]:
        """The arrays that its compiled code works on."""
        return (self._count, self._number, self._weights, self._visits, self._X, self._Xv, self._stored)

    def _state(self) -> dict[str, Array]:
        parts = {"weights": self._weights, "visits": self._visits, "X": self._X, "Xv": self._Xv}
        parts |= {"numbers": self._number.view(np.float64), "counts": self._count.view(np.int64)}
        return parts | {name: self._stored[name] for name in self.columns.split()}

    def _restore(self, state: dict[str, Array]) -> None:
        capacity = state["reward"].size if "reward" in state else 0
        rows = dict.fromkeys(("X", "Xv", *self.columns.split()), capacity)
        new = self._fitted(state, {
            name: ((rows.get(name, len(array)), *array.shape[1:]), str(array.dtype))
            for name, array in self._state().items()
        })  # fmt: skip
        number, count = new["numbers"].view(self._number.dtype), new["counts"].view(self._count.dtype)
        fixed = _FIXED.split()
        if number[fixed] != self._number[fixed] or not number["most_target"] >= 0:
            raise ValueError("state 'numbers' does not fit this learner: its step sizes or limits are different")
        fractions = [new[name] for name in ("gamma", "lam") if name in new]
        if not (
            self._holds(capacity, int(count["stored"][0]), int(count["head"][0]))
            and first_misfit(new["X"], new["Xv"], self.features.size) < 0
            and np.isfinite(new["reward"]).all()
            and ((new["rho"] >= 0) & (new["rho"] < np.inf)).all()
            and all(((part >= 0) & (part <= 1)).all() for part in fractions)
        ):
            raise ValueError("state: the stored transitions do not fit this learner")
        finite = all(np.isfinite(new[name]).all() for name in ("weights", "visits"))
        if not (new["visits"] >= 0).all() or (count["diverged_at"] < 0 and not finite):
            raise ValueError("state does not fit this learner: weights must be finite, visits not negative")
        self._weights, self._visits, self._X, self._Xv = (new[name] for name in ("weights", "visits", "X", "Xv"))
        self._number, self._count, self._stored = number, count, record("f8", self.columns, capacity)
        for name in self.columns.split():
            self._stored[name] = new[name]

    @abstractmethod
    def _holds(self, capacity: int, stored: int, head: int) -> bool:
        """Whether a buffer of `capacity` transitions may hold `stored` of them, starting at `head`."""


class EpisodeLearner(ReturnLearner):
    """Base class of learners that store an episode and learn at its end (`_finish`); memory grows with the longest."""

    columns: ClassVar[str] = "reward gamma rho lam v_next"

    @abstractmethod
    def _finish(self, n: int) -> bool:
        """Learn from the n stored transitions; return whether the weights are within the bound."""

    def _take(self, *columns: Any) -> bool:
        *_, terminated, truncated = columns
        start, count = 0, self._count
        for stop in (np.flatnonzero(terminated | truncated) + 1).tolist():
            within = self._finish(self._store(columns, start, stop))
            count["stored"] = 0
            if not within:
                count["diverged_at"] = count["seen"]
                return False
            start = stop
        if start < len(terminated):
            self._store(columns, start, len(terminated))
        return True

    def _store(self, columns: Any, start: int, stop: int) -> int:
        """Store the transitions start..stop-1, growing the buffer if needed; return how many it now holds."""
        needed, capacity = int(self._count["stored"][0]) + stop - start, len(self._stored)
        if needed > capacity:
            parts = (self._X, self._Xv, self._stored)
            self._X, self._Xv, self._stored = (_enlarged(array, max(needed, 2 * capacity)) for array in parts)
        store(self._count, self._weights, self._X, self._Xv, self._stored, start, stop, columns)
        return needed

    def _state(self) -> dict[str, Array]:
        n, parts = int(self._count["stored"][0]), super()._state()
        return parts | {name: parts[name][:n] for name in ("X", "Xv", *self.columns.split())}

    def _holds(self, capacity: int, stored: int, head: int) -> bool:
        return stored == capacity and head == 0


def _enlarged(array: Array, rows: int) -> Array:
    larger = np.zeros((rows, *array.shape[1:]), dtype=array.dtype)
    larger[: len(array)] = array
    return larger

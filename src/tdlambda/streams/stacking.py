"""A learner beside simple predictors: what a user might pick instead, and the nearest known rows."""

from __future__ import annotations

from collections.abc import Sequence
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from tdlambda.arrays import Floats, choice, flag, integer, not_negative
from tdlambda.compiled import entry
from tdlambda.core.memory import Episode, under, with_prefix
from tdlambda.core.tables import table
from tdlambda.features import Dense
from tdlambda.learners.episode import record
from tdlambda.learners.learner import REQUIRED, Array, Learner, check_numbers, columns
from tdlambda.mdp import Transitions
from tdlambda.mdp.sampler import require_numbers
from tdlambda.streams.stacking_step import (
    AVERAGE,
    FIRST,
    NEAR,
    NEIGHBOURS,
    NUMBERS,
    Stack,
    StackColumns,
    combine,
    follow,
)

CELLS, ROWS = 100_000, 3000
"""Largest number of readings that the neighbours store, and of rows."""
KINDS = ("return", "sum", "mean", "max")
OF_OTHERS = 0.1
"""Prior weight of each predictor but the running mean, relative to its weight: in the first steps, it is safest."""
_SCRATCH = ("value", "distance", "nearest", "reading", "factor", "prior")
_OPEN = ("value", "x", "step")
_COUNTS = ("steps", "errors", "evidence", "answers", "total", "past", "past_weight", "low", "high")
"""Numbers that each of several streams has to itself, with `products` and `weight`."""


class Stacking(Learner):
    """A convex combination of a learner with simple predictors, whose weights minimise errors of known returns.

    The simple predictors are the running mean, readings that are themselves predictions (such as the last value, or the
    mean if the last day repeats), and the mean return of the 15 nearest of the latest rows ("stacking": Wolpert 1992;
    Breiman 1996). A return is known up to a bootstrap by the combination after `steps` transitions, or at the end of an
    episode. Learning is on-policy, and γ must be constant within an episode.

    Parameters
    ----------
    learner
        The learner, of vectors of readings; it is copied.
    steps
        Number of transitions after which a return counts as known, at least 1.
    horizon
        Sum of the discounts of a return, 1/(1 - γ).
    readings
        Triples (name, k, factor): factor times reading k is a prediction.
    compared
        Number of leading readings that neighbours compare; 0 for no neighbours.
    stride
        Number of transitions between two returns that are compared with predictions, at least 1.
    of
        What is predicted: "return", or the "sum", "mean" or "max" of the rewards of the next `steps` transitions. Of
        such a window, the learner predicts the discounted mean with the same mean distance, γ = 1 - 2/(steps + 1).
    exceeds
        Any number: each reward is replaced by 1 if it exceeds this, else 0.
    several
        Whether several streams take turns (`episode`, `resume`, `begin`): each has its own running mean, errors and
        weights; the learner and the neighbours learn from all.

    Examples
    --------
    >>> import numpy as np, tdlambda as td
    >>> y = np.cumsum(np.random.default_rng(0).normal(size=1000))
    >>> v = td.streams.Stacking(td.AutoTD(td.features.Dense(1)), steps=30, horizon=10.0, readings=[("last", 0, 10.0)])
    >>> v.update_many(y[:-1, None], y[1:], y[1:, None], gamma=0.9)
    >>> list(v.expert_weights())
    ['learner', 'neighbours', 'running mean', 'last']
    """

    def __init__(
        self,
        learner: Learner,
        *,
        steps: int = 30,
        horizon: float = 10.0,
        readings: Sequence[Sequence[Any]] = (),
        compared: int = 0,
        stride: int = 1,
        of: str = "return",
        exceeds: float | None = None,
        several: bool = False,
    ) -> None:
        if not isinstance(learner, Learner) or not isinstance(learner.features, Dense):
            raise TypeError(f"learner must be a learner of vectors of readings, td.features.Dense; got {learner!r}")
        super().__init__(learner.features, 0.0)
        self.learner: Any = learner.clone()
        self.features = self.learner.features
        self.open_steps, self.stride = integer(steps, "steps", 1), integer(stride, "stride", 1)
        self.horizon, d = not_negative(horizon, "horizon"), self.features.size
        self.readings = [(str(name), integer(k, "readings", 0, d - 1), float(factor)) for name, k, factor in readings]
        self.compared, self.of = integer(compared, "compared", 0, d), choice(of, "of", *KINDS)
        self.exceeds, self.several = None if exceeds is None else float(exceeds), flag(several, "several")
        self._stack = self._first()
        self._bind()

    def _first(self) -> Stack:
        K, m, H = FIRST + len(self.readings), self.compared, self.open_steps
        M = min(ROWS, CELLS // m) if m else 0
        prior = np.full(K, OF_OTHERS)
        prior[AVERAGE] = 1.0
        prior[NEAR] *= M > 0
        prior /= prior.sum()
        number = record("f8", NUMBERS)
        number["horizon"], number["stride"] = self.horizon, self.stride
        number["of"] = KINDS.index(self.of)
        number["scale"] = 1.0 if self.of == "return" else (1 - self._gamma) * (H if self.of == "sum" else 1)
        return Stack(
            reading=np.array([k for _, k, _ in self.readings], dtype=np.int64),
            factor=np.array([factor for *_, factor in self.readings], dtype=np.float64),
            open_value=np.zeros((H, K)), open_x=np.zeros((H, m)),
            open_step=np.zeros((H, 2)), products=np.zeros((K, K)), weight=prior.copy(), prior=prior,
            near_x=np.zeros((m, M)), near_return=np.zeros(M), moments=np.zeros((2, m)), last=np.zeros(m + 1),
            value=np.zeros(K), distance=np.zeros(M), nearest=np.zeros((NEIGHBOURS, 2)), number=number,
        )  # fmt: skip

    @property
    def _gamma(self) -> float:
        """The discount that stands for a window."""
        return 1 - 2 / (self.open_steps + 1)

    @property
    def _replaces(self) -> bool:
        """Whether the learner gets other rewards or discounts, so that it cannot validate those that were passed."""
        return self.exceeds is not None or self.of != "return"

    def _bind(self) -> None:
        """Bind machine code to the arrays, and allocate the columns of one transition."""
        d, ones, flags = self.features.size, np.zeros((2, 1)), np.zeros((2, 1), np.bool_)
        x, found = np.zeros((2, 1, d)), np.zeros((2, 1, 2))
        self._row = StackColumns(x[0], x[1], found[0], ones[0], ones[1], flags[0], flags[1], found[1])
        self._table, self._row_table = table(self._stack), table(self._row)
        self._follow_rows = entry(follow, self._table, self._row_table)
        self._asked, self._asking = (np.zeros((1, d)), np.zeros(1), np.zeros(1)), Lock()
        self._combine_rows = entry(combine, self._table, *self._asked)

    # ---- predictions ------------------------------------------------------------------------------------------

    def predict(self, obs: Any) -> float:
        """V(obs), the predicted return."""
        x, learned, found = self._asked
        with self._asking:
            x[0], learned[0] = obs, self.learner.predict(obs)
            self._combine_rows(self._table, x, learned, found)
            return float(found[0])

    def predict_many(self, observations: Any) -> Floats:
        """The predicted return of each observation."""
        learned = self.learner.predict_many(observations)
        return self._combined(np.ascontiguousarray(observations, dtype=np.float64), learned)

    def _combined(self, X: Floats, learned: Floats, stack: Any = None) -> Floats:
        found = np.empty(len(X))
        self._combine_rows(stack or self._table, X, np.ascontiguousarray(learned), found)
        return found

    def predict_elsewhere(self, observations: Any, episode: Episode | None) -> Floats:
        """The predicted return of observations of another of several streams, where `episode` is; None if it is new."""
        X, s = np.ascontiguousarray(observations, dtype=np.float64), self._stack
        if self.several:
            s = s._replace(products=s.products.copy(), weight=s.weight.copy(), number=s.number.copy())
            _enter_stream(s, episode)
        return self._combined(X, self.learner.predict_many(X), table(s))

    def expert_weights(self) -> dict[str, float]:
        """The weight of each predictor; the weights sum to 1."""
        names = ["learner", "neighbours", "running mean", *(name for name, *_ in self.readings)]
        return dict(zip(names, self._stack.weight.tolist(), strict=True))

    @property
    def weights(self) -> Array:
        """Not available: predictions are not linear in the readings."""
        raise TypeError("weights: predictions are not linear in the readings; use predict or predict_many")

    @property
    def steps(self) -> int:
        """Number of transitions so far."""
        return int(self._stack.number["rows"][0])

    # ---- learning ---------------------------------------------------------------------------------------------

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
            R_{t+1}, in [-1e100, 1e100].
        gamma
            γ_{t+1} in [0, 1], the discount on entering `next_obs`.
        rho
            Must be 1: learning is on-policy.
        terminated, truncated
            As in Gymnasium.
        """
        if type(reward) is not float or type(gamma) is not float or type(obs) is not np.ndarray:
            super().update_many(
                np.asarray(obs, dtype=np.float64)[None], [reward], np.asarray(next_obs, dtype=np.float64)[None],
                gamma if gamma is None else [gamma], [rho], [terminated], [truncated],
            )  # fmt: skip
        elif self.learn_row(obs, reward, next_obs, gamma, rho, bool(terminated) + 2 * bool(truncated)) is None:
            columns_of_one = (np.array([value]) for value in (gamma, rho, terminated, truncated))
            with self._guard:
                self._follow(obs[None], np.array([reward]), next_obs[None], *columns_of_one)

    def learn_row(
        self, obs: Any, reward: float, next_obs: Any, gamma: float, rho: float, ended: int
    ) -> Floats | None:  # fmt: skip
        """Learn from one transition as `prequential` does; return None, without any change, where only that can.

        Parameters
        ----------
        obs, reward, next_obs, gamma, rho
            As in `update`; numbers are Python floats.
        ended
            1 if the transition terminates, plus 2 if it is truncated.
        """
        learn, c = getattr(self.learner, "learn_row", None), self._row
        if learn is None or rho != 1:
            return None
        with self._guard:
            if self._replaces:
                check_numbers(reward, gamma, 1.0)
                reward = reward if self.exceeds is None else float(reward > self.exceeds)
                gamma = gamma if self.of == "return" else self._gamma
            learned = learn(obs, reward, next_obs, gamma, 1.0, ended)
            if learned is None:
                return None
            c.x[0], c.y[0], c.learned[0], c.reward[0], c.gamma[0] = obs, next_obs, learned[0], reward, gamma
            c.ended[0], c.followed[0] = ended & 1, not ended
            self._follow_rows(self._table, self._row_table)
            return c.found.copy()

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
        """Learn as `update_many` does; return V(obs) before each update and V(next_obs) [transition, 2].

        V(next_obs) takes into account the returns that became known with the transition.

        Parameters
        ----------
        obs, reward, next_obs, gamma, rho, terminated, truncated
            Columns of consecutive transitions, or `Transitions`: see `update_many`.
        """
        given: tuple[Any, ...] = (obs, reward, next_obs, gamma, rho, terminated, truncated)
        if not all(isinstance(column, np.ndarray) for column in given):
            c = columns(*given)
            given = (c.obs, c.reward, c.next_obs, c.gamma, c.rho, c.terminated, c.truncated)
        if len(given[1]) == 1:
            r, g, p, over, cut = (column.item() for k, column in enumerate(given) if k not in (0, 2))
            if (found := self.learn_row(given[0][0], r, given[2][0], g, p, bool(over) + 2 * bool(cut))) is not None:
                return found
        with self._guard:
            return self._follow(*given)

    def _learn_many(self, c: Transitions) -> None:
        self._follow(c.obs, c.reward, c.next_obs, c.gamma, c.rho, c.terminated, c.truncated)

    def _follow(
        self, obs: Any, reward: Any, next_obs: Any, gamma: Any, rho: Any, terminated: Any, truncated: Any
    ) -> Floats:
        if not (rho == 1).all():
            raise ValueError("rho must be 1: the returns of a policy that does not act are not known")
        found = np.empty((len(reward), 2))
        if not len(found):
            return found
        if self._replaces:
            require_numbers(columns(obs, reward, next_obs, gamma, rho, terminated, truncated))
        if self.exceeds is not None:
            reward = (reward > self.exceeds).astype(np.float64)
        gamma = gamma if self.of == "return" else np.full(len(reward), self._gamma)
        learned = self.learner.prequential(obs, reward, next_obs, gamma, rho, terminated, truncated)  # validates them
        X, Y, r, g, v = (np.ascontiguousarray(x, dtype=np.float64) for x in (obs, next_obs, reward, gamma, learned))
        ended = np.ascontiguousarray(terminated)
        self._follow_rows(self._table, table(StackColumns(X, Y, v, r, g, ended, ~(ended | truncated), found)))
        return found

    def reset(self) -> None:
        """Discard the current episode; keep what was learned."""
        with self._guard:
            self.learner.reset()
            self._stack.number["count"] = 0.0

    def episode(self) -> Episode:
        """A copy of what `reset` discards, to go on with later, when several streams take turns."""
        found, s = self.learner.episode(), self._stack
        n = int(s.number["count"][0])
        order = (int(s.number["head"][0]) + np.arange(n)) % len(s.open_step)
        found.rows.update({f"open.{k}": getattr(s, f"open_{k}")[order] for k in _OPEN})
        if self.several:
            found.rows.update({"own.products": s.products.copy(), "own.weight": s.weight.copy()})
            found.numbers.update({f"own.{k}": float(s.number[k][0]) for k in _COUNTS})
        return found

    def begin(self) -> None:
        """Begin another stream."""
        self.reset()
        if self.several:
            with self._guard:
                _enter_stream(self._stack, None)

    def resume(self, episode: Episode) -> None:
        """Go on with an episode."""
        with self._guard:
            rows = {name: row for name, row in episode.rows.items() if not name.startswith(("open.", "own."))}
            if self.several:
                _enter_stream(self._stack, episode)
            self.learner.resume(episode._replace(rows=rows))
            n = len(episode.rows["open.step"]) if "open.step" in episode.rows else 0
            self._stack.number["head"], self._stack.number["count"] = 0.0, n
            for k in _OPEN if n else ():
                getattr(self._stack, f"open_{k}")[:n] = episode.rows[f"open.{k}"]

    # ---- storage ----------------------------------------------------------------------------------------------

    def get_params(self) -> dict[str, Any]:
        """The constructor's arguments, by name."""
        return {
            "learner": self.learner, "steps": self.open_steps, "horizon": self.horizon,
            "readings": [list(one) for one in self.readings], "compared": self.compared, "stride": self.stride,
            "of": self.of, "exceeds": self.exceeds, "several": self.several,
        }  # fmt: skip

    def _state(self) -> dict[str, Array]:
        own = {name: array for name, array in self._stack._asdict().items() if name not in _SCRATCH}
        own["number"] = own["number"].view(np.float64)
        return own | with_prefix("learner.", self.learner._state())

    def _restore(self, state: dict[str, Array]) -> None:
        new = {name: array for name, array in state.items() if not name.startswith("learner.")}
        first = self._first()
        for name, own in first._asdict().items():
            if name in _SCRATCH:
                continue
            own = own.view(np.float64) if name == "number" else own
            given = new.pop(name, np.zeros(0))
            if given.shape != own.shape or given.dtype != own.dtype or not np.isfinite(given).all():
                raise ValueError(f"state {name!r} does not fit this learner")
            own[:] = given
        n, H = first.number.view(np.recarray)[0], self.open_steps
        whole = all(v >= 0 and v == np.floor(v) for v in (n.steps, n.head, n.count, n.stored))
        same = ["horizon", "stride", "of", "scale"]
        fixed = all(n[name] == self._stack.number[name][0] for name in same)
        if new or not (whole and fixed and n.head < H and n.count <= H and (first.weight >= 0).all()):
            raise ValueError("state does not fit this learner: a number is out of range")
        copy = self.learner.clone()
        copy._restore(under("learner.", state))
        self.learner, self._stack = copy, first
        self.features = copy.features
        self._bind()


def _enter_stream(s: Stack, episode: Episode | None) -> None:
    """Put what belongs to one of several streams into the arrays; that of a new one without an episode."""
    known = episode is not None and "own.weight" in episode.rows
    s.products[:] = episode.rows["own.products"] if known else 0.0  # type: ignore[union-attr]
    s.weight[:] = episode.rows["own.weight"] if known else s.prior  # type: ignore[union-attr]
    for k in _COUNTS:
        s.number[k] = episode.numbers[f"own.{k}"] if known else 0.0  # type: ignore[union-attr]

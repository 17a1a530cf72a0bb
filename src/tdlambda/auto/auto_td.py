"""The predictor a user holds."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from tdlambda import memory
from tdlambda.arrays import Bools, Floats, Ints
from tdlambda.auto import bank, layout
from tdlambda.auto.explanation import Expert, Explanation
from tdlambda.auto.mixing import sync_all, weigh
from tdlambda.compiled import entry
from tdlambda.engine.driver import take_bounds
from tdlambda.engine.lanes import ALLOWED, SCRATCH
from tdlambda.engine.plan import aligned
from tdlambda.features import Encoder
from tdlambda.learners.base import Array, Diverged
from tdlambda.learners.episode import SEEN, BatchLearner

_TOLERANCE = 1e-8
_PARTS = ("F", "M", "L", "T", "Z", "visits", "D", "N", "J", "I")


class AutoTD(BatchLearner):
    """A prediction that needs neither α nor λ, on- or off-policy, in episodes or without end.

    It runs 24 true online TD(λ) learners (6 step sizes × 4 λ) side by side, averages each over time, and predicts by a
    mixture of the 48. The weights follow an estimate of each expert's value error that needs no truth, see
    docs/auto-td.md; when a shorter past surely contradicts the longer one, the longer is forgotten.

    Step sizes are for |x|² = 1: they are divided by the largest |x|² so far. A learner that diverges is dropped, and
    predictions are kept within what rewards and discounts so far allow; only if all of them diverge does it raise
    `Diverged`. A step costs in proportion to the active features and those with a live trace, not to all there are.

    Parameters
    ----------
    features
        Encoder of observations.

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

    def __init__(self, features: Encoder) -> None:
        super().__init__(features, layout.BEST_LAMBDA, layout.BOUND, "raise")
        pairs = np.array([(alpha, lam) for alpha in layout.ALPHAS for lam in layout.LAMBDAS])
        size, lanes = features.size, len(pairs)
        self._F: Floats = aligned(np.zeros((size, 2, lanes)))
        self._M: Floats = aligned(np.zeros((memory.LAMBDA, lanes)))
        self._M[memory.ALPHA], self._M[memory.TRACE_LAM] = pairs.T
        self._M[memory.TOLERANCE], self._M[memory.BOUND] = _TOLERANCE, self.bound
        self._S: Floats = aligned(np.zeros((SCRATCH, lanes)))
        self._S[ALLOWED] = np.inf  # what is beyond all reason is dropped by its weights; predictions are limited
        self._L: Ints = np.zeros(memory.LIVE + 2 * size, dtype=np.int64)
        self._L[[memory.WEIGHT_ROWS, memory.TRACE_ROWS, memory.BLOCKS, memory.SIZE]] = 1, 1, 1, size
        self._L[[memory.ALGORITHM, memory.DENSE]] = memory.TRUE_ONLINE_TD, size <= memory.DENSE_SIZE
        self._T: Floats = aligned(np.zeros((size, 1, lanes)))
        self._Z: Floats = aligned(np.zeros((size, 1, 2 * lanes)))
        self._visits: Floats = np.zeros(size)
        self._D: Floats = aligned(np.zeros((layout.EXPERT_SLOTS, 2 * lanes)))
        self._N: Floats = np.zeros(layout.BANK_SLOTS)
        self._J: Ints = np.zeros(layout.SYNCED + size, dtype=np.int64)
        weigh(self._M, self._D, self._N, size)
        self._step: Callable[..., int] = self._first_step

    # ---- predictions ------------------------------------------------------------------------------------------

    def predict(self, obs: Any) -> float:
        """V(obs)."""
        index, value = self.features.encode(obs)
        return float(self._mixture(index[None], value[None])[0])

    def predict_many(self, observations: Any) -> Floats:
        """V of each observation."""
        return self._mixture(*self.features.encode_batch(observations))

    def _mixture(self, index: Ints, value: Floats) -> Floats:
        out, scratch = np.empty(len(index)), np.empty(self._D.shape[1])
        index, value = np.ascontiguousarray(index), np.ascontiguousarray(value)
        bank.predict_rows(out, self._F, self._T, self._D, self._N, self._J, scratch, index, value)
        return out

    @property
    def _coefficients(self) -> Array:
        """Weights w = Σ p w of the features; predictions are w·x wherever none had to be limited."""
        return self._expert_weights() @ self._D[layout.WEIGHT]

    def _expert_weights(self) -> Floats:
        """Weights [feature, expert] of learners and twins."""
        T, J = self._T.copy(), self._J.copy()
        sync_all(self._F, T, self._D, J)
        return np.hstack([self._F[:, 0], T[:, 0]])

    def lambda_at(self, obs: Any) -> float:
        """The mean λ of the experts, by weight; the same everywhere."""
        return float(self.lambdas([obs])[0])

    def lambdas(self, observations: Any) -> Floats:
        """The same for each of these observations."""
        lam = np.tile(self._M[memory.TRACE_LAM], 2)
        return np.full(len(observations), min(1.0, float(self._D[layout.WEIGHT] @ lam)))

    # ---- what it believes -------------------------------------------------------------------------------------

    def weights(self) -> dict[tuple[float, float, bool], float]:  # type: ignore[override]
        """Each expert's share p in the prediction, by its (α, λ, averaged over time?); the shares add up to 1."""
        return {(e.alpha, e.lam, e.averaged): e.weight for e in self.explain().experts}

    def explain(self) -> Explanation:
        """Which α and λ carry the weight now, and how sure that is."""
        D, N, J = self._D, self._N, self._J
        pairs = [(alpha, lam) for alpha in layout.ALPHAS for lam in layout.LAMBDAS]
        count = max(1.0, float(N[layout.COUNT]))
        # Σ of squares is kept with the window's own weights; the variance of a weighted sum has their squares
        shorter = (layout.WINDOW + 1) / (2 * layout.WINDOW + 1)
        loss = (D[layout.LONG + layout.ENERGY] - 2 * D[layout.LONG + layout.GAIN]) / count
        error = 2 * np.sqrt(shorter * D[layout.LONG + layout.NOISE]) / count
        experts = [
            Expert(*pairs[l % len(pairs)], l >= len(pairs), *(float(row[l]) for row in (D[layout.WEIGHT], loss, error)))
            for l in range(D.shape[1])
            if not D[layout.DROPPED, l]
        ]
        experts.sort(key=lambda e: -e.weight)
        seen = (int(J[slot]) for slot in (layout.CHANGES, layout.RESTARTS, layout.DROPS))
        window = min(self.steps, round(float(N[layout.STEPS])) + self.steps % layout.EVERY)
        return Explanation(tuple(experts), self.steps, window, *seen)

    # ---- the contract of a learner ----------------------------------------------------------------------------

    def reset(self) -> None:
        """Forget the episode under way; keep what was learnt."""
        with self._guard:
            bank.end(self._F, self._S, self._L, self._D)

    def get_params(self) -> dict[str, Any]:
        """The constructor's arguments."""
        return {"features": self.features}

    def _learn(
        self, x: Ints, xv: Floats, y: Ints, yv: Floats, reward: float, gamma: float, rho: float, lam: float,
        terminated: bool, truncated: bool,
    ) -> None:  # fmt: skip
        x, y = (np.ascontiguousarray(index, dtype=np.int64) for index in (x, y))
        xv, yv = (np.ascontiguousarray(value, dtype=np.float64) for value in (xv, yv))
        status = -1
        if x.shape == xv.shape == y.shape == yv.shape == (self.features.active,) and self.diverged_at is None:
            status = self._step(x, xv, y, yv, reward, gamma, rho, terminated, truncated)
        if status < 0:  # says what is wrong
            super()._learn(x, xv, y, yv, reward, gamma, rho, lam, terminated, truncated)
        elif not self._counted(1):
            raise Diverged(self.steps)

    def _first_step(self, *step: Any) -> int:
        """Find the machine code at the first update, and remember it: looking for it costs more than an update."""
        self._step = partial(entry(bank.learn_row, *self._bank, *step), *self._bank)
        return self._step(*step)

    def _counted(self, rows: int) -> bool:
        """Count transitions. Whether any learner is left."""
        self._I[SEEN] += rows
        left = not self._D[layout.DROPPED].all()
        if not left:
            self._I[memory.DIVERGED_AT] = self._I[SEEN]
        return left

    @property
    def _bank(self) -> tuple[Any, ...]:
        return (self._F, self._M, self._S, self._L, self._T, self._Z, self._visits, self._D, self._N, self._J)

    def _take(
        self, x: Ints, xv: Floats, y: Ints, yv: Floats, reward: Floats, gamma: Floats, rho: Floats,
        lam: Floats,  # noqa: ARG002, each learner has its own
        terminated: Bools, truncated: Bools,
    ) -> bool:  # fmt: skip
        columns: Any = map(np.ascontiguousarray, (x, xv, y, yv, reward, gamma, rho, terminated, truncated))
        return self._counted(bank.learn_rows(*self._bank, *columns))

    def _state(self) -> dict[str, Array]:
        return {name: getattr(self, f"_{name}") for name in _PARTS}

    def _restore(self, state: dict[str, Array]) -> None:
        new = self._fitted(state, {name: (array.shape, str(array.dtype)) for name, array in self._state().items()})
        self._require_sense(new)
        for name in _PARTS:
            setattr(self, f"_{name}", aligned(new[name]) if new[name].ndim > 1 else new[name])
        self._step = self._first_step
        take_bounds(self._F, self._S, self._L)

    def _require_sense(self, new: dict[str, Array]) -> None:
        """Refuse indices that compiled code would follow out of its arrays, and numbers that cannot be."""
        D, N, J, M = new["D"], new["N"], new["J"], new["M"]
        memory.require_same_kind(new["L"], self._L, self.features.size)
        constant = [memory.TOLERANCE, memory.BOUND, memory.TRACE_LAM]
        alive = D[layout.DROPPED, : M.shape[1]] == 0
        if not (
            np.isin(D[layout.DROPPED], (0.0, 1.0)).all()
            and np.array_equal(M[constant], self._M[constant])
            and np.array_equal(M[memory.ALPHA], np.where(alive, np.repeat(layout.ALPHAS, len(layout.LAMBDAS)), 0.0))
            and (J >= 0).all()
            and (J[layout.SYNCED :] <= J[layout.LOOKS]).all()
            and (D[[layout.WEIGHT, layout.AGE]] >= 0).all()
            and (D[layout.WEIGHT] <= 1 + 1e-9).all()
            and (N[layout.MOST_REWARD :] >= 0).all()
            and 0 <= N[layout.GAMMA] <= N[layout.MOST_GAMMA] <= 1
            and N[layout.RHO] >= 0
            and (new["visits"] >= 0).all()
        ):
            raise ValueError("state does not fit this learner: its numbers cannot have come about")

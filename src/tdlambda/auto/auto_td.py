"""The predictor a user holds."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache, cached_property, partial
from typing import Any

import numpy as np

from tdlambda.algorithms import TrueOnlineTD
from tdlambda.arrays import Bools, Floats, Ints
from tdlambda.auto import layout
from tdlambda.auto.explanation import Expert, Explanation
from tdlambda.auto.layout import Memory
from tdlambda.auto.mixing import weigh
from tdlambda.auto.modules import lanes_type, module_of
from tdlambda.compiled import entry
from tdlambda.core import declare
from tdlambda.core.names import words
from tdlambda.core.runtime import DENSE_SIZE
from tdlambda.engine.block import aligned
from tdlambda.features import Encoder
from tdlambda.learners.base import LEARNERS, Array, Diverged
from tdlambda.learners.episode import BatchLearner

_TOLERANCE = 1e-8
"""Traces that are smaller, times α, are dropped."""
_COUNTERS = ("under_way", "n_live")
"""What the lanes count, as far as a file must hold it."""


class AutoTD(BatchLearner):
    """A prediction that needs neither α nor λ, on- or off-policy, in episodes or without end.

    It runs 24 learners (6 step sizes × 4 λ) side by side, averages each over time, and predicts by a mixture of the 48.
    The weights follow an estimate of each expert's value error that needs no true values (docs/auto-td.md). When a
    short window surely contradicts the long one, what was observed before it is forgotten.

    Step sizes are for |x|² = 1: they are divided by the largest |x|² so far. A learner that diverges is dropped, and
    predictions are kept within what rewards and discounts so far allow; only if all of them diverge does it raise
    `Diverged`. A step costs in proportion to the active features and those with a live trace, not to all there are.

    Parameters
    ----------
    features
        Encoder of observations.
    algorithm
        How each learner learns: a class such as `td.TD`, or one of your own (`td.Algorithm`), or the name of one. Its
        further step sizes, such as β, equal α; its parameters are attributes of the class.

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

    def __init__(self, features: Encoder, *, algorithm: type[declare.Algorithm] | str = TrueOnlineTD) -> None:
        super().__init__(features, layout.BEST_LAMBDA, layout.BOUND, "raise")
        declared: Any = _declared(algorithm)
        self.algorithm: type[declare.Algorithm] = declared
        self._module = module_of(declared)
        # No prediction of a learner counts as divergence: the mixture gives it no weight, and limits what it predicts.
        numbers = {"tolerance": _TOLERANCE, "bound": self.bound, "allowed": np.inf, "allowed_square": np.inf}
        numbers |= {name: float(getattr(declared, name)) for name in words(declared.parameters)}
        size, rows, n = features.size, len(declared.row_names()), layout.LANES
        state, first = layout.record(lanes_type(declared)), _first_state()
        state["size"], state["sparse"] = size, size > DENSE_SIZE
        self._memory = Memory(
            F=aligned(np.zeros((size, rows, n))),
            N=aligned(np.array([np.full(n, numbers.get(name, 0.0)) for name in self._module.NAMES])),
            U=np.zeros((0, 0, n)),
            order=np.zeros(size, dtype=np.int64),
            listed=np.zeros(size, dtype=np.int64),
            state=state,
            copies=aligned(np.zeros((size, 1, n))),
            expected=aligned(np.zeros((size, 1, layout.EXPERTS))),
            visits=np.zeros(size),
            synced=np.zeros(size, dtype=np.int64),
            bank=aligned(first.view(np.float64)).view(first.dtype),
            counts=self._count,
        )

    # ---- predictions ------------------------------------------------------------------------------------------

    def predict(self, obs: Any) -> float:
        """V(obs)."""
        index, value = self.features.encode(obs)
        return float(self._mixture(index[None], value[None])[0])

    def predict_many(self, observations: Any) -> Floats:
        """V of each observation."""
        return self._mixture(*self.features.encode_batch(observations))

    def _mixture(self, index: Ints, value: Floats) -> Floats:
        out, scratch = np.empty(len(index)), np.empty(layout.EXPERTS)
        x, xv = np.ascontiguousarray(index, np.int64), np.ascontiguousarray(value, np.float64)
        self._predict_rows(out, scratch, x, xv)
        return out

    @cached_property
    def _predict_rows(self) -> Callable[..., None]:
        given = (np.zeros(1), np.zeros(1), np.zeros((1, 1), np.int64), np.zeros((1, 1)))
        return partial(entry(self._module.predict_rows, self._memory, *given), self._memory)

    @property
    def _coefficients(self) -> Array:
        """Weights w = Σ p w of the features; predictions are w·x wherever none had to be limited."""
        return self._expert_weights() @ self._bank["weight"]

    def _expert_weights(self) -> Floats:
        """Weights [feature, expert] of learners and averaged copies."""
        m = self._memory._replace(copies=self._memory.copies.copy(), synced=self._memory.synced.copy())
        self._module.sync_all(m)
        return np.hstack([m.F[:, 0], m.copies[:, 0]])

    def lambda_at(self, obs: Any) -> float:
        """The mean λ of the experts, by weight; the same everywhere."""
        return float(self.lambdas([obs])[0])

    def lambdas(self, observations: Any) -> Floats:
        """The same for each of these observations."""
        mean = float(self._bank["weight"] @ np.tile(self._bank["lam"], 2))
        return np.full(len(observations), min(1.0, mean))

    # ---- what it believes -------------------------------------------------------------------------------------

    @property
    def _bank(self) -> Any:
        """The record of the bank: see `layout.STATE`."""
        return self._memory.bank[0]

    def weights(self) -> dict[tuple[float, float, bool], float]:  # type: ignore[override]
        """Each expert's share p in the prediction, by its (α, λ, averaged over time?); the shares add up to 1."""
        return {(e.alpha, e.lam, e.averaged): e.weight for e in self.explain().experts}

    def explain(self) -> Explanation:
        """Which α and λ carry the weight now, and how sure that is."""
        bank, n = self._bank, layout.LANES
        count = max(1.0, float(bank["count"]))
        # Σ of squares is kept with the window's own weights; the variance of a weighted sum has their squares
        shorter = (layout.WINDOW + 1) / (2 * layout.WINDOW + 1)
        loss = (bank["long"]["energy"] - 2 * bank["long"]["gain"]) / count
        error = 2 * np.sqrt(shorter * bank["long"]["noise"]) / count
        experts = [
            Expert(*layout.PAIRS[l % n], l >= n, *(float(row[l]) for row in (bank["weight"], loss, error)))
            for l in range(layout.EXPERTS)
            if not bank["dropped"][l % n]
        ]
        experts.sort(key=lambda e: -e.weight)
        window = min(self.steps, round(float(bank["window"])) + self.steps % layout.EVERY)
        seen = (int(bank[name]) for name in ("changes", "restarts", "drops"))
        return Explanation(tuple(experts), self.steps, window, *seen)

    # ---- the contract of a learner ----------------------------------------------------------------------------

    def reset(self) -> None:
        """Forget the episode under way; keep what was learnt."""
        with self._guard:
            self._module.end(self._memory)

    def get_params(self) -> dict[str, Any]:
        """The constructor's arguments; the algorithm by its name, unless it is the default."""
        params: dict[str, Any] = {"features": self.features}
        if self.algorithm is not TrueOnlineTD:
            name, own = self.algorithm.__name__, self.algorithm
            params["algorithm"] = name if _known().get(name) is own else own
        return params

    def __reduce__(self) -> tuple[Any, ...]:
        """For pickle and copy: with the class of the algorithm, which another process can import."""
        make, (kind, params, state) = super().__reduce__()
        return make, (kind, params | {"algorithm": self.algorithm}, state)

    def _learn(
        self, x: Ints, xv: Floats, y: Ints, yv: Floats, reward: float, gamma: float, rho: float, lam: float,
        terminated: bool, truncated: bool,
    ) -> None:  # fmt: skip
        x, y = (np.ascontiguousarray(index, dtype=np.int64) for index in (x, y))
        xv, yv = (np.ascontiguousarray(value, dtype=np.float64) for value in (xv, yv))
        status = -1
        if x.shape == xv.shape == y.shape == yv.shape == (self.features.active,):
            status = self._learn_row(x, xv, y, yv, reward, gamma, rho, terminated, truncated)
        if status < 0:  # says what is wrong
            super()._learn(x, xv, y, yv, reward, gamma, rho, lam, terminated, truncated)
        elif status == 0:
            raise Diverged(self.steps)

    @cached_property
    def _learn_row(self) -> Callable[..., int]:
        """The machine code with the memory bound to it: looking for it costs more than an update."""
        given = (np.zeros(1, np.int64), np.zeros(1)) * 2
        return partial(entry(self._module.learn_row, self._memory, *given, 0.0, 0.0, 0.0, False, False), self._memory)

    def _take(
        self, x: Ints, xv: Floats, y: Ints, yv: Floats, reward: Floats, gamma: Floats, rho: Floats,
        lam: Floats,  # noqa: ARG002, each learner has its own
        terminated: Bools, truncated: Bools,
    ) -> bool:  # fmt: skip
        columns: Any = map(np.ascontiguousarray, (x, xv, y, yv, reward, gamma, rho, terminated, truncated))
        return self._module.learn_rows(self._memory, *columns)

    # ---- storage ----------------------------------------------------------------------------------------------

    def _state(self) -> dict[str, Array]:
        m = self._memory
        arrays = ("F", "order", "listed", "copies", "expected", "visits", "synced")
        found = {name: getattr(m, name) for name in arrays} | {"counts": self._count.view(np.int64)}
        found |= {name: m.N[self._module.NAMES.index(name)] for name in self._module.KEPT}
        found |= {name: m.state[name] for name in _COUNTERS}
        return found | {name: array for name, array in _leaves(m.bank) if name not in layout.DERIVED}

    def _restore(self, state: dict[str, Array]) -> None:
        own = self._state()
        new = self._fitted(state, {name: (array.shape, str(array.dtype)) for name, array in own.items()})
        self._require_sense(new)
        for name, array in own.items():
            array[:] = new[name]
        self._memory.state["steps"] = self._count["seen"]
        self._bank["alpha"][:] = np.where(self._bank["dropped"], 0.0, np.transpose(layout.PAIRS)[0])

    def _require_sense(self, new: dict[str, Array]) -> None:
        """Refuse indices that compiled code would follow out of its arrays, and numbers that cannot be."""
        n, listed = int(new["n_live"][0]), np.zeros(self.features.size, dtype=np.int64)
        live = new["order"][: max(0, n)]
        good = 0 <= n <= listed.size and bool(((live >= 0) & (live < listed.size)).all())
        if good:
            listed[live] = 1
        if not good or listed.sum() != n or not np.array_equal(listed, new["listed"]):
            raise ValueError("state: the list of live traces is not consistent")
        largest = ("most_reward", "most_norm", "length", "longest", "window", "count", "short_count")
        counts = ("under_way", "synced", "updates", "restarts", "changes", "drops")
        if not (
            np.isin(new["dropped"], (0, 1)).all()
            and new["dropped"].sum() == new["drops"][0]
            and all((new[name] >= 0).all() for name in (*largest, *counts, "weight", "age", "rho", "visits"))
            and (new["synced"] <= new["updates"]).all()
            and (new["weight"] <= 1 + 1e-9).all()
            and 0 <= new["gamma"][0] <= new["most_gamma"][0] <= 1
        ):
            raise ValueError("state does not fit this learner: its numbers cannot have come about")


def _known() -> dict[str, type[declare.Algorithm]]:
    """Algorithms by name."""
    kinds: dict[str, Any] = {name: kind for name, kind in LEARNERS.items() if hasattr(kind, "step")}
    return {name: kind for name, kind in kinds.items() if issubclass(kind, declare.Algorithm)}


def _declared(algorithm: Any) -> type[declare.Algorithm]:
    """The declaration that `algorithm` means."""
    if isinstance(algorithm, str) and algorithm not in _known():
        raise ValueError(f"algorithm must be one of {', '.join(_known())}, or a class; got {algorithm!r}")
    found = _known()[algorithm] if isinstance(algorithm, str) else algorithm
    if not (isinstance(found, type) and issubclass(found, declare.Algorithm) and hasattr(found, "step")):
        raise TypeError(f"algorithm must be a class such as td.TrueOnlineTD, declared by equations; got {algorithm!r}")
    for name in words(found.parameters):
        if getattr(found, name, None) is None:
            raise TypeError(f"algorithm: {found.__name__} needs a default of {name}, a class attribute {name} = …")
    return found


@cache
def _first_state() -> Array:
    """The record of a bank that has learnt nothing."""
    state = layout.record(layout.STATE)
    state["alpha"], state["lam"] = np.transpose(layout.PAIRS)
    weigh(state.view(np.recarray)[0], 1)
    return state


def _leaves(array: Array, name: str = "") -> Iterator[tuple[str, Array]]:
    """The parts of a structured array that are plain, by name: "long.energy"."""
    if array.dtype.names is None:
        yield name, array
    for inner in array.dtype.names or ():
        yield from _leaves(array[inner], f"{name}.{inner}" if name else inner)

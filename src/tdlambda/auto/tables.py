"""The experts of `AutoTD` for sparse features: learners with traces, and their averaged copies."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache, cached_property, partial
from typing import Any

import numpy as np

from tdlambda.arrays import Floats, Ints
from tdlambda.auto import errors, layout
from tdlambda.auto.explanation import Expert, Explanation, mean_lam
from tdlambda.auto.layout import Memory
from tdlambda.auto.mixing import weigh
from tdlambda.auto.modules import lanes_type, module_of
from tdlambda.auto.systems import ERROR, first_systems
from tdlambda.compiled import entry
from tdlambda.core.lane_memory import aligned
from tdlambda.core.names import words
from tdlambda.core.runtime import DENSE_SIZE
from tdlambda.features import Encoder
from tdlambda.learners.base import Array

_TOLERANCE = 1e-8
"""Traces smaller than this, times α, are dropped."""
_COUNTERS = ("under_way", "n_live")
"""Counters of the lanes that a file must hold."""


class Learners:
    """24 learners of one algorithm and their averaged copies: see `bank`."""

    def __init__(self, features: Encoder, algorithm: Any, counts: Array, own: Sequence[str] = ()) -> None:
        self.size, self.module, self.own_names = features.size, module_of(algorithm), own
        # A large prediction does not count as divergence: the mixture clips it and gives the learner no weight.
        numbers = {"tolerance": _TOLERANCE, "bound": layout.BOUND, "allowed": np.inf, "allowed_square": np.inf}
        numbers |= {name: float(getattr(algorithm, name)) for name in words(algorithm.parameters)}
        size, rows, n = features.size, len(algorithm.row_names()), layout.LANES
        state, first = layout.record(lanes_type(algorithm)), _first_state()
        state["size"], state["sparse"] = size, size > DENSE_SIZE
        systems = first_systems(size)
        experts = layout.EXPERTS + systems.prior.size + len(own)
        self.memory = Memory(
            F=aligned(np.zeros((size, rows, n))),
            N=aligned(np.array([np.full(n, numbers.get(name, 0.0)) for name in self.module.NAMES])),
            U=np.zeros((0, 0, n)),
            order=np.zeros(size, dtype=np.int64),
            listed=np.zeros(size, dtype=np.int64),
            state=state,
            copies=aligned(np.zeros((size, 1, n))),
            expected=aligned(np.zeros((size, 1, experts))),
            visits=np.zeros(size),
            synced=np.zeros(size, dtype=np.int64),
            weight=aligned(np.full(experts, 1.0 / experts)),
            value=aligned(np.zeros(experts)),
            z=aligned(np.zeros(experts)),
            score=aligned(np.zeros(experts)),
            since=aligned(np.zeros((3, experts))),
            long=aligned(np.zeros((3, experts))),
            short=aligned(np.zeros((layout.SCALES, 3, experts))),
            own=np.zeros((2, len(own))),
            errors=np.zeros(errors.ROWS),
            recent=np.zeros((errors.RECENT, features.active), dtype=np.int64),
            recent_value=np.zeros((errors.RECENT, features.active)),
            systems=systems,
            bank=aligned(first.view(np.float64)).view(first.dtype),
            counts=counts,
        )
        weigh(self.memory, self.memory.bank.view(np.recarray)[0])

    @property
    def bank(self) -> Any:
        """The record of the bank: see `layout.STATE`."""
        return self.memory.bank[0]

    @property
    def own(self) -> Floats:
        """Predictions of the user's own experts at x and x'; set them before each transition."""
        return self.memory.own

    @property
    def own_weights(self) -> Floats:
        """Weights of the user's own experts in the mixture."""
        return self.memory.weight[self.memory.weight.size - len(self.own_names) :]

    def predict(self, index: Ints, value: Floats, own: Floats) -> float:
        """The mixture's prediction at an observation at which the user's own experts predict `own`."""
        x, xv = np.ascontiguousarray(index, np.int64), np.ascontiguousarray(value, np.float64)
        return self._predict_row(np.empty(self.memory.weight.size), x, xv, own)

    @cached_property
    def _predict_row(self) -> Callable[..., float]:
        given = (np.zeros(1), np.zeros(1, np.int64), np.zeros(1), np.zeros(1))
        return partial(entry(self.module.predict_row, self.memory, *given), self.memory)

    def predict_many(self, index: Ints, value: Floats, own: Floats) -> Floats:
        """The mixture's prediction at each observation."""
        out, scratch = np.empty(len(index)), np.empty(self.memory.weight.size)
        x, xv = np.ascontiguousarray(index, np.int64), np.ascontiguousarray(value, np.float64)
        self._predict_rows(out, scratch, x, xv, own)
        return out

    @cached_property
    def _predict_rows(self) -> Callable[..., None]:
        given = (np.zeros(1), np.zeros(1), np.zeros((1, 1), np.int64), np.zeros((1, 1)), np.zeros((1, 1)))
        return partial(entry(self.module.predict_rows, self.memory, *given), self.memory)

    @property
    def coefficients(self) -> Array:
        """Weights w = Σ p w of the features, without the user's own experts."""
        return self.weights() @ self.memory.weight[: self.memory.weight.size - len(self.own_names)]

    def weights(self) -> Floats:
        """Weights [feature, expert] of learners, averaged copies and least squares."""
        m = self.memory._replace(copies=self.memory.copies.copy(), synced=self.memory.synced.copy())
        self.module.sync_all(m)
        return np.hstack([m.F[:, 0], m.copies[:, 0], m.systems.solved[:, 0]])

    def variance(self, index: Ints, value: Floats) -> Floats:
        """The variance of v around each prediction: least-squares uncertainty plus expert disagreement."""
        m, q = self.memory, self.memory.systems
        W, p = self.weights(), m.weight[: m.weight.size - len(self.own_names)]
        V = np.einsum("tj,tjk->tk", value, W[index])
        found: Floats = ((V - (V @ p)[:, None]) ** 2) @ p
        if q.lam.size:
            X = np.zeros((len(index), self.size + 1))
            np.add.at(X, (np.arange(len(index))[:, None], index), value)
            X[:, -1] = X[:, :-1].sum(axis=1)  # a common level of all weights, with a flat prior
            l = int(np.argmax(p[layout.EXPERTS :].reshape(q.lam.size, -1).sum(axis=1)))
            inverse = np.divide(1.0, q.C[l], out=np.zeros(self.size), where=q.C[l] > 0)
            A = np.vstack([q.A[l], q.A[l].sum(axis=0)])
            M = (A * inverse) @ A.T + np.diag(np.append(np.full(self.size, q.ratio[l]), 1e-9 * q.ratio[l]) + 1e-300)
            found = found + q.moments[ERROR] * np.einsum("ti,it->t", X, np.linalg.solve(M, X.T))
        return found

    @property
    def return_error(self) -> float | None:
        """See `errors.return_error`."""
        return errors.return_error(self.memory.errors)

    @property
    def value_error(self) -> float | None:
        """Estimate of √E[(v - u)²] at recent observations."""
        known = min(errors.RECENT, int(self.memory.counts["seen"][0]) // errors.SKIPPED)
        if known < errors.RECENT or not self.memory.systems.lam.size:
            return None
        return float(np.sqrt(self.variance(self.memory.recent, self.memory.recent_value).mean()))

    @property
    def lam(self) -> float:
        """The weighted mean λ of the experts."""
        return mean_lam(self.experts())

    def experts(self) -> tuple[Expert, ...]:
        """All experts that were not dropped, sorted by weight."""
        m, bank, n = self.memory, self.bank, layout.LANES
        count = max(1.0, float(bank["count"]))
        # Σ (δẑ)² is kept with the window's weights, but the variance of a weighted sum needs their squares.
        shorter = (layout.WINDOW + 1) / (2 * layout.WINDOW + 1)
        loss = (m.long[layout.ENERGY] - 2 * m.long[layout.GAIN]) / count
        error = 2 * np.sqrt(shorter * m.long[layout.NOISE]) / count
        pairs = [(float(bank["alpha"][k]), float(bank["lam"][k])) for k in range(n)]
        kinds: list[Any] = [{"alpha": a, "lam": z, "averaged": copy} for copy in (False, True) for a, z in pairs]
        kinds += [{"lam": float(z), "kind": "LSTD", "ridge": float(k)} for z in m.systems.lam for k in m.systems.ridge]
        kinds += [{"kind": name} for name in self.own_names]
        found = [Expert(float(m.weight[l]), float(loss[l]), float(error[l]), **kind) for l, kind in enumerate(kinds)]
        left = [e for l, e in enumerate(found) if l >= 2 * n or not bank["dropped"][l % n]]
        return tuple(sorted(left, key=lambda e: -e.weight))

    def explain(self, steps: int) -> Explanation:
        """An explanation of the current weights."""
        window = min(steps, round(float(self.bank["window"])) + steps % layout.EVERY)
        changes, restarts, drops, moves = (int(self.bank[k]) for k in ("changes", "restarts", "drops", "moves"))
        return Explanation(
            self.experts(), steps, window, changes, restarts, drops, moves,
            value_error=self.value_error, return_error=self.return_error,
        )  # fmt: skip

    def end(self) -> None:
        """Discard the current episode."""
        self.module.end(self.memory)

    def learn(self, x: Ints, xv: Floats, y: Ints, yv: Floats, *numbers: Any) -> int:
        """Learn from one transition; return 1, 0 if it dropped the last learner, or -1 if its features are invalid."""
        x, y = (np.ascontiguousarray(index, dtype=np.int64) for index in (x, y))
        xv, yv = (np.ascontiguousarray(value, dtype=np.float64) for value in (xv, yv))
        return self._learn_row(x, xv, y, yv, *numbers)

    @cached_property
    def _learn_row(self) -> Callable[..., int]:
        """Machine code with the memory bound to it; to look it up at each call would cost more than an update."""
        given = (np.zeros(1, np.int64), np.zeros(1)) * 2
        return partial(entry(self.module.learn_row, self.memory, *given, 0.0, 0.0, 0.0, False, False), self.memory)

    def learn_many(self, *columns: Any) -> bool:
        """Learn from transitions in order; return whether a learner is left."""
        return bool(self.module.learn_rows(self.memory, *map(np.ascontiguousarray, columns)))

    # ---- storage ----------------------------------------------------------------------------------------------

    def state(self) -> dict[str, Array]:
        """The arrays of the state."""
        m = self.memory
        arrays = (
            "F",
            "order",
            "listed",
            "copies",
            "expected",
            "visits",
            "synced",
            "weight",
            "z",
            "since",
            "long",
            "short",
            "errors",
            "recent",
            "recent_value",
        )
        found = {name: getattr(m, name) for name in arrays}
        found |= {
            f"systems.{name}": getattr(m.systems, name)
            for name in ("due", "age", "moments", "ratio", "trace", "A", "b", "C", "solved")
        }
        found |= {name: m.N[self.module.NAMES.index(name)] for name in self.module.KEPT}
        found |= {name: m.state[name] for name in _COUNTERS}
        return found | {name: array for name, array in _leaves(m.bank) if name not in layout.DERIVED}

    def restored(self, seen: int) -> None:
        """Recompute the state that is derived from restored arrays."""
        self.memory.state["steps"] = seen

    def require_sense(self, new: dict[str, Array]) -> None:
        """Validate restored arrays: indices must be within bounds and numbers within range."""
        n, listed = int(new["n_live"][0]), np.zeros(self.size, dtype=np.int64)
        live = new["order"][: max(0, n)]
        good = 0 <= n <= listed.size and bool(((live >= 0) & (live < listed.size)).all())
        if good:
            listed[live] = 1
        if not good or listed.sum() != n or not np.array_equal(listed, new["listed"]):
            raise ValueError("state: the list of live features is not consistent")
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
            raise ValueError("state does not fit this learner: its counts, weights or discounts are not consistent")


@cache
def _first_state() -> Array:
    """The record of an untrained bank."""
    state = layout.record(layout.STATE)
    state["alpha"], state["lam"] = np.transpose(layout.PAIRS)
    return state


def _leaves(array: Array, name: str = "") -> Iterator[tuple[str, Array]]:
    """Yield the plain parts of a structured array with their names, such as "long.energy"."""
    if array.dtype.names is None:
        yield name, array
    for inner in array.dtype.names or ():
        yield from _leaves(array[inner], f"{name}.{inner}" if name else inner)

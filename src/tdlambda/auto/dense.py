"""The experts of `AutoTD` for observations that are vectors of readings: least squares and running means."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, partial
from typing import Any

import numpy as np

from tdlambda.arrays import Floats, Ints
from tdlambda.auto import squares
from tdlambda.auto.coordinates import ROWS, SCALE
from tdlambda.auto.explanation import Expert, Explanation
from tdlambda.auto.squares import HELD, Memory
from tdlambda.compiled import entry
from tdlambda.core.records import named
from tdlambda.features import Encoder
from tdlambda.learners.base import Array

FEW, MANY = 64, 256
"""Up to FEW features, least squares with every λ and window; up to MANY, one of them."""
LAMBDAS, WINDOWS = (0.0, 0.8, 1.0), (np.inf, 100.0, 20.0)
"""Of least squares; windows in steps for each feature."""
MEANS = (np.inf, 1000.0, 100.0, 10.0, 1.0, 0.0)
"""Windows of running means; 0 is the prediction 0."""
OF_LAMBDA, OF_WINDOW, OF_MEAN, OF_ALL, OF_ZERO = {1.0: 2.0}, 1.2, 1.0, 0.5, 0.5
"""Prior penalties: for λ = 1; for each factor e in t/window; for a mean; for each factor e in t where it is of all
steps; for 0, beyond a mean's."""
_ANY = np.zeros((2, 2))[:, 0]
"""A vector of any stride, to compile for."""
_CONSTANT = ("lam", "window", "mean_window", "prior", "room", "value", "number")


def memory(d: int) -> Memory:
    """The arrays of experts that have learnt nothing."""
    D, every = d + 1, d <= FEW
    lam, window = LAMBDAS if every else (0.8,), [w * D for w in (WINDOWS if every else WINDOWS[:1])]
    prior = [(OF_LAMBDA.get(l, 0.0), 0.0 if w == np.inf else OF_WINDOW, w) for l in lam for w in window]
    for w in MEANS:
        falls = (OF_ALL, 10.0 * D) if w in (0, np.inf) else (OF_WINDOW, w)
        prior.append((OF_MEAN + OF_ZERO * (w == 0), *falls))
    L, F, K = len(lam), len(window), len(prior)
    number = np.zeros(1, named(squares.NUMBERS))
    number["rebase"] = 8
    return Memory(
        front=np.zeros((ROWS, D)), lam=np.array(lam), window=np.array(window), z=np.zeros((L, D)),
        A=np.zeros((L, F, D, D)), b=np.zeros((L, F, D)), w=np.zeros((L, F, D)), mean_window=np.array(MEANS),
        means=np.zeros((3, len(MEANS))), value=np.zeros(K), trace=np.zeros(K), sums=np.zeros((3, K)),
        weight=np.full(K, 1.0 / K), prior=np.array(prior, dtype=np.float64).T.copy(),
        held=np.zeros((HELD, 2 * d + 6)), room=np.zeros((4 + D, D)), number=number,
    )  # fmt: skip


class Squares:
    """Least squares with several λ and windows, running means, and 0: see `squares`."""

    def __init__(self, features: Encoder, counts: Array) -> None:
        self.memory, self.counts = memory(features.size), counts

    def predict(self, index: Ints, value: Floats) -> float:  # noqa: ARG002, all features are active
        """The mixture at an observation."""
        return self._predict_row(value, np.empty(self.memory.room.shape[1]), np.empty(self.memory.weight.size))

    @cached_property
    def _predict_row(self) -> Callable[..., float]:
        return partial(entry(squares.predict_row, self.memory, _ANY, np.zeros(1), np.zeros(1)), self.memory)

    def predict_many(self, index: Ints, value: Floats) -> Floats:  # noqa: ARG002
        """The mixture at each observation."""
        return self.each(value)[0]

    def each(self, X: Floats) -> tuple[Floats, Floats]:
        """The mixture and every expert [observation, expert]."""
        out, each = np.zeros(len(X)), np.zeros((len(X), self.memory.weight.size))
        squares.predict_rows(self.memory, np.ascontiguousarray(X), np.empty(self.memory.room.shape[1]), out, each)
        return out, each

    @property
    def coefficients(self) -> Array:
        """The slope of the prediction in each feature, within what was seen so far."""
        m = self.memory
        share, scale = m.weight[: m.lam.size * m.window.size], m.front[SCALE, :-1]
        w = share @ m.w.reshape(share.size, -1)[:, :-1]
        return np.divide(w, scale, out=np.zeros(scale.size), where=scale > 0)

    @property
    def lam(self) -> float:
        """The mean λ, by weight."""
        return sum(e.weight * e.lam for e in self.explain(0).experts)

    def explain(self, steps: int) -> Explanation:
        """Which experts carry the weight now."""
        m, s = self.memory, self.memory.number[0]
        kinds = [(lam, window, "LSTD") for lam in m.lam for window in m.window]
        kinds += [(1.0, window, "mean" if window else "zero") for window in m.mean_window]
        count = max(1.0, float(s["steps"]) / (1 + squares.KEPT)) * np.exp(s["first_unit"] - s["unit"])
        loss = (m.sums[0] - 2 * m.sums[1]) / count
        error = 2 * np.sqrt((1 + squares.KEPT) / (1 + 2 * squares.KEPT) * m.sums[2]) / count
        experts = [
            Expert(None, float(lam), False, float(m.weight[k]), float(loss[k]), float(error[k]), kind, float(window))
            for k, (lam, window, kind) in enumerate(kinds)
        ]
        by_weight = tuple(sorted(experts, key=lambda e: -e.weight))
        return Explanation(by_weight, steps, steps, 0, 0, 0, int(s["clips"]))

    def end(self) -> None:
        """Forget the episode under way."""
        squares.end(self.memory)

    def learn(self, x: Ints, xv: Floats, y: Ints, yv: Floats, *numbers: Any) -> int:
        """One transition: 1; -1, with nothing done, if its features are no good."""
        return self.enter(xv, yv, *numbers) if x.shape == y.shape else -1

    @cached_property
    def enter(self) -> Callable[..., int]:
        """The machine code of one transition between vectors of any stride, with the memory bound to it."""
        given = (_ANY, _ANY, 0.0, 0.0, 0.0, False, False)
        return partial(entry(squares.learn_row, self.memory, self.counts, *given), self.memory, self.counts)

    def learn_many(self, x: Ints, xv: Floats, y: Ints, yv: Floats, *columns: Any) -> bool:  # noqa: ARG002
        """Transitions in order; True: it never diverges."""
        squares.learn_rows(self.memory, self.counts, *map(np.ascontiguousarray, (xv, yv, *columns)))
        return True

    # ---- storage ----------------------------------------------------------------------------------------------

    def state(self) -> dict[str, Array]:
        """Arrays that hold everything learnt."""
        kept = {name: getattr(self.memory, name) for name in Memory._fields if name not in _CONSTANT}
        return kept | {"number": self.memory.number.view(np.float64)}

    def restored(self, seen: int) -> None:
        """Nothing follows from them."""

    def require_sense(self, new: dict[str, Array]) -> None:
        """Refuse what cannot have come about."""
        s, seen = new["number"].view(squares.NUMBERS)[0], int(new["counts"][0])
        good = s["held"] == min(HELD, seen) and s["steps"] == (seen if seen >= HELD else 0)
        shares = bool((new["weight"] >= 0).all()) and abs(new["weight"].sum() - 1) < 1e-6
        if not (good and shares and 0 <= s["most_gamma"] <= 1 and s["rebase"] >= 8):
            raise ValueError("state does not fit this learner: its numbers cannot have come about")

"""The experts of `AutoTD` for vectors of readings: least squares and running means."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property, partial
from typing import Any

import numpy as np

from tdlambda.arrays import Floats, Ints
from tdlambda.auto import errors, squares
from tdlambda.auto.coordinates import CENTER, CLIP, LARGEST, MEAN, ROWS, SCALE, SQUARE
from tdlambda.auto.explanation import Expert, Explanation, mean_lam
from tdlambda.auto.squares import HELD, Memory
from tdlambda.compiled import entry
from tdlambda.core.records import named
from tdlambda.features import Encoder
from tdlambda.learners.base import Array

FEW, MANY = 64, 256
"""Up to FEW features, least squares with every λ and window; up to MANY, one least-squares expert and gradient experts;
with more, gradient experts only."""
LAMBDAS, WINDOWS = (0.0, 0.8, 1.0), (np.inf, 100.0, 20.0)
"""λ and windows of least squares; windows in steps per feature."""
MEANS = (np.inf, 1000.0, 100.0, 10.0, 1.0, 0.0)
"""Windows of running means, in steps; 0 stands for the constant prediction 0."""
PACES = tuple((alpha, lam) for alpha in (0.3, 0.1, 0.03, 0.01, 0.003) for lam in (0.0, 0.8, 0.95))
"""α for E|x|² = 1, and λ, of gradient experts."""
OF_LAMBDA, OF_WINDOW, OF_MEAN, OF_ALL, OF_ZERO, OF_GRADIENT, OF_PACE = {1.0: 2.0}, 1.2, 1.0, 0.5, 0.5, 2.0, 2.0
"""Prior penalties: for λ = 1; for each factor e in t/window; for a mean; for each factor e in t, for the mean of all
steps and for 0; for 0, in addition to a mean's; for a gradient expert if there is least squares; for a difference of 1
from λ = 0.8, for a gradient expert."""
_ANY = np.zeros((2, 2))[:, 0]
"""An example of a vector of any stride, to compile for."""
_CONSTANT = ("lam", "window", "mean_window", "pace", "prior", "room", "value", "own", "number")


def memory(d: int, own: int = 0) -> Memory:
    """The arrays of untrained experts."""
    D, every = d + 1, d <= FEW
    lam = LAMBDAS if every else (0.8,) if d <= MANY else ()
    window = [w * D for w in (WINDOWS if every else WINDOWS[:1])] if lam else []
    pace = () if every else PACES
    prior = [(OF_LAMBDA.get(l, 0.0), 0.0 if w == np.inf else OF_WINDOW, w) for l in lam for w in window]
    for w in MEANS:
        falls = (OF_ALL, 10.0 * D) if w in (0, np.inf) else (OF_WINDOW, w)
        prior.append((OF_MEAN + OF_ZERO * (w == 0), *falls))
    prior += [(OF_GRADIENT * bool(lam) + OF_PACE * abs(l - 0.8), 0.0, 1.0) for _, l in pace] * 2
    prior += [(0.0, 0.0, 1.0)] * own
    L, F, K = len(lam), len(window), len(prior)
    number = np.zeros(1, named(squares.NUMBERS))
    number["rebase"] = 8
    weight = np.full(K, 1.0 / (K - 1))
    weight[L * F + len(MEANS) - 1] = 0.0
    return Memory(
        front=np.zeros((ROWS, D)), lam=np.array(lam), window=np.array(window), z=np.zeros((L, D)),
        A=np.zeros((L, F, D, D)), b=np.zeros((L, F, D)), w=np.zeros((L, F, D)), due=np.zeros((L, F)),
        S=np.zeros((D, D) if L else (0, 0)), errors=np.zeros(errors.ROWS), recent=np.zeros((errors.RECENT, D)),
        pace=np.array(pace).reshape(-1, 2).T.copy(), gradient=np.zeros((3, len(pace), D)), own=np.zeros((2, own)),
        mean_window=np.array(MEANS), means=np.zeros((3, len(MEANS))), value=np.zeros(K), trace=np.zeros(K),
        sums=np.zeros((3, K)), weight=weight, prior=np.array(prior, dtype=np.float64).T.copy(),
        held=np.zeros((HELD, 2 * d + 6 + 2 * own)), room=np.zeros((4 + D, D)), number=number,
    )  # fmt: skip


class Squares:
    """Least squares with several λ and windows, running means, and the constant 0: see `squares`."""

    def __init__(self, features: Encoder, counts: Array, own: Sequence[str] = ()) -> None:
        self.memory, self.counts, self.own_names = memory(features.size, len(own)), counts, own

    @property
    def own(self) -> Floats:
        """Predictions of the user's own experts at x and x'; set them before each transition."""
        return self.memory.own

    @property
    def own_weights(self) -> Floats:
        """Weights of the user's own experts in the mixture."""
        return self.memory.weight[self.memory.weight.size - len(self.own_names) :]

    def predict(self, index: Ints, value: Floats, own: Floats) -> float:  # noqa: ARG002, all features are active
        """The mixture's prediction at an observation at which the user's own experts predict `own`."""
        return self._predict_row(value, np.empty(self.memory.room.shape[1]), np.empty(self.memory.weight.size), own)

    @cached_property
    def _predict_row(self) -> Callable[..., float]:
        given = (_ANY, np.zeros(1), np.zeros(1), np.zeros(1))
        return partial(entry(squares.predict_row, self.memory, *given), self.memory)

    def predict_many(self, index: Ints, value: Floats, own: Floats) -> Floats:  # noqa: ARG002
        """The mixture's prediction at each observation."""
        return self.each(value, own)[0]

    def each(self, X: Floats, own: Floats) -> tuple[Floats, Floats]:
        """The predictions of the mixture and of every expert [observation, expert]."""
        out, each = np.zeros(len(X)), np.zeros((len(X), self.memory.weight.size))
        squares.predict_rows(self.memory, np.ascontiguousarray(X), np.empty(self.memory.room.shape[1]), out, each, own)
        return out, each

    @property
    def coefficients(self) -> Array:
        """The slope of the prediction in each feature, within the range seen so far."""
        m = self.memory
        n, scale = m.lam.size * m.window.size, m.front[SCALE, :-1]
        w = np.vstack([m.w.reshape(n, scale.size + 1), *m.gradient[::2]])[:, :-1]
        by_gradients = slice(n + len(MEANS), m.weight.size - len(self.own_names))
        w = np.concatenate([m.weight[:n], m.weight[by_gradients]]) @ w
        return np.divide(w, scale, out=np.zeros(scale.size), where=scale > 0)

    def variance(self, index: Ints, value: Floats) -> Floats:  # noqa: ARG002
        """The variance of v around each prediction: least-squares uncertainty plus expert disagreement."""
        out, each = self.each(value, np.tile(self.own[:1], (len(value), 1)))
        found: Floats = ((each - out[:, None]) ** 2) @ self.memory.weight
        return found + self._left_open(np.array([self._place(row) for row in value]))

    def _place(self, row: Floats) -> Floats:
        """The coordinates of an observation."""
        f = self.memory.front[:, :-1]
        limit = np.where(f[LARGEST] > 0, CLIP * f[LARGEST], np.inf)
        moved = np.clip(row, f[MEAN] - limit, f[MEAN] + limit) - f[CENTER]
        return np.append(np.divide(moved, f[SCALE], out=np.zeros(len(row)), where=f[SCALE] > 0), 1.0)

    def _left_open(self, X: Floats) -> Floats:
        """The variance of w·x in these coordinates, from LSTD with the middle λ."""
        m, middle = self.memory, self.memory.lam.size // 2
        if not m.number[0]["ready"] or not m.lam.size:
            return np.zeros(len(X))
        f = m.front[:, :-1]
        ridge = np.where(f[SCALE] > 0, np.maximum(1e-6, f[SQUARE] / np.where(f[SCALE] > 0, f[SCALE], 1) ** 2), 1.0)
        A = m.A[middle, 0] + squares.RIDGE * np.diag(np.append(ridge, 0.0))
        Y = np.linalg.lstsq(A.T, X.T, rcond=None)[0]
        found: Floats = np.einsum("it,it->t", Y, m.S @ Y)
        return np.maximum(found, 0.0)

    @property
    def return_error(self) -> float | None:
        """See `errors.return_error`."""
        return errors.return_error(self.memory.errors)

    @property
    def value_error(self) -> float | None:
        """Least-squares estimate of √E[(v - u)²] at recent observations."""
        if self.memory.number[0]["steps"] < errors.RECENT * errors.SKIPPED or not self.memory.lam.size:
            return None
        return float(np.sqrt(self._left_open(self.memory.recent).mean()))

    @property
    def lam(self) -> float:
        """The weighted mean λ of the experts."""
        return mean_lam(self.experts())

    def experts(self) -> tuple[Expert, ...]:
        """All experts, sorted by weight."""
        m, s = self.memory, self.memory.number[0]
        kinds: list[Any] = [{"lam": float(lam), "kind": "LSTD", "window": float(w)} for lam in m.lam for w in m.window]
        kinds += [{"lam": 1.0, "kind": "mean" if w else "zero", "window": float(w)} for w in m.mean_window]
        paces = [(float(a), float(lam)) for a, lam in m.pace.T]
        kinds += [{"alpha": a, "lam": lam, "averaged": copy} for copy in (False, True) for a, lam in paces]
        kinds += [{"kind": name} for name in self.own_names]
        count = max(1.0, float(s["steps"]) / (1 + squares.KEPT)) * np.exp(s["first_unit"] - s["unit"])
        loss = (m.sums[0] - 2 * m.sums[1]) / count
        error = 2 * np.sqrt((1 + squares.KEPT) / (1 + 2 * squares.KEPT) * m.sums[2]) / count
        found = [Expert(float(m.weight[k]), float(loss[k]), float(error[k]), **kind) for k, kind in enumerate(kinds)]
        return tuple(sorted(found, key=lambda e: -e.weight))

    def explain(self, steps: int) -> Explanation:
        """An explanation of the current weights."""
        return Explanation(
            self.experts(), steps, steps, 0, 0, 0, clipped=int(self.memory.number[0]["clips"]),
            value_error=self.value_error, return_error=self.return_error,
        )  # fmt: skip

    def end(self) -> None:
        """Discard the current episode."""
        squares.end(self.memory)

    def learn(self, x: Ints, xv: Floats, y: Ints, yv: Floats, *numbers: Any) -> int:
        """Learn from one transition; return 1, or -1 without any change if its features are invalid."""
        return self.enter(xv, yv, *numbers) if x.shape == y.shape else -1

    @cached_property
    def enter(self) -> Callable[..., int]:
        """Machine code of one transition between vectors of any stride, with the memory bound to it."""
        given = (_ANY, _ANY, 0.0, 0.0, 0.0, False, False)
        return partial(entry(squares.learn_row, self.memory, self.counts, *given), self.memory, self.counts)

    def learn_many(self, x: Ints, xv: Floats, y: Ints, yv: Floats, *columns: Any) -> bool:  # noqa: ARG002
        """Learn from transitions in order; return True, because it never diverges."""
        squares.learn_rows(self.memory, self.counts, *map(np.ascontiguousarray, (xv, yv, *columns)))
        return True

    # ---- storage ----------------------------------------------------------------------------------------------

    def state(self) -> dict[str, Array]:
        """The arrays of the state."""
        kept = {name: getattr(self.memory, name) for name in Memory._fields if name not in _CONSTANT}
        return kept | {"number": self.memory.number.view(np.float64)}

    def restored(self, seen: int) -> None:
        """Do nothing: no state is derived from the arrays."""

    def require_sense(self, new: dict[str, Array]) -> None:
        """Validate a restored state."""
        s, seen = new["number"].view(squares.NUMBERS)[0], int(new["counts"][0])
        good = s["held"] == min(HELD, seen) and s["steps"] == (seen if seen >= HELD else 0)
        shares = bool((new["weight"] >= 0).all()) and abs(new["weight"].sum() - 1) < 1e-6
        if not (good and shares and 0 <= s["most_gamma"] <= 1 and s["rebase"] >= 8):
            raise ValueError("state does not fit this learner: its counts, weights or discounts are not consistent")

"""Prediction intervals from the recent errors of the predictions themselves.

At each step, the return of a prediction made H steps ago becomes known up to a bootstrap of small weight:

    e = r_1 + γ_1 (r_2 + γ_2 ( … + γ_H v(s_H))) - v(s_0)

The interval at a row is its prediction plus quantiles of the latest such errors. It assumes nothing about the features
or the distribution, works for every learner and for windows, and follows the present: an error leaves after KEPT
horizons.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tdlambda.arrays import Bools, Floats, Ints
from tdlambda.compiled import kernel
from tdlambda.streams.question import Question, is_number

PER_HORIZON, KEPT = 4, 60
"""Errors kept per horizon, and horizons for which they are kept."""
MOST_STEPS = 1000
"""Largest number of steps of a return before its bootstrap."""
TAIL = 0.05
"""Weight of the bootstrap."""
LEAST = 16
"""Smallest number of errors for an interval."""


class Scales(NamedTuple):
    """For each question, the steps until a return is known, and the steps between two errors that are kept."""

    steps: Ints
    stride: Ints

    @classmethod
    def of(cls, questions: list[Question], lengths: list[int]) -> Scales:
        """The scales of these questions; `lengths` are those of windows, in rows."""
        steps, stride = [], []
        for question, length in zip(questions, lengths, strict=True):
            gamma = float(question.discount) if is_number(question.discount) else 0.95  # type: ignore[arg-type]
            h = length if question.window else 1 / max(1e-3, 1 - gamma)
            steps.append(
                1
                if question.window or gamma == 0
                else min(MOST_STEPS, int(np.ceil(np.log(TAIL) / np.log(min(gamma, 0.999)))))
            )
            stride.append(max(1, round(h / PER_HORIZON)))
        return cls(np.array(steps), np.array(stride))


class Errors(NamedTuple):
    """The latest errors of each question: a ring [question, error], and their number so far."""

    ring: Floats
    total: Ints

    @classmethod
    def none(cls, n: int) -> Errors:
        """No errors of n questions."""
        return cls(np.zeros((n, PER_HORIZON * KEPT)), np.zeros(n, dtype=np.int64))

    def copied(self) -> Errors:
        """A copy."""
        return Errors(self.ring.copy(), self.total.copy())

    def add(self, q: int, error: float) -> None:
        """Add an error of a question."""
        self.ring[q, self.total[q] % self.ring.shape[1]] = error
        self.total[q] += 1

    def limits(self, q: int, level: float) -> tuple[float, float]:
        """Quantiles of the errors, so that a share `level` lies between them; infinite if they are too few.

        Errors within two horizons are hardly independent, so there are n = total / (2 PER_HORIZON) of them; quantiles
        are multiplied by 1 + 1/√n, because the errors so far rarely include the largest.
        """
        n = min(int(self.total[q]), self.ring.shape[1])
        if n < LEAST:
            return -np.inf, np.inf
        ordered = np.sort(self.ring[q, :n])
        at = max(0.0, (1 - level) / 2 * (n + 1) - 1)  # the next error is one more
        k, rest = int(at), at - int(at)
        low = ordered[k] + rest * (ordered[k + 1] - ordered[k])
        high = ordered[n - 1 - k] + rest * (ordered[n - 2 - k] - ordered[n - 1 - k])
        wider = 1 + np.sqrt(2 * PER_HORIZON / self.total[q])
        return float(low * wider), float(high * wider)


class Open(NamedTuple):
    """Predictions of one stream whose returns are not known: v, r and γ in rings [question, 3, step], and counts."""

    ring: Floats
    total: Ints
    """Number of steps in the ring, and steps so far [question, 2]."""

    @classmethod
    def none(cls, scales: Scales) -> Open:
        """No open predictions."""
        n = scales.steps.size
        return cls(np.zeros((n, 3, int(scales.steps.max(initial=1)))), np.zeros((n, 2), dtype=np.int64))

    def copied(self) -> Open:
        """A copy."""
        return Open(self.ring.copy(), self.total.copy())


@kernel
def note(
    open_: Any, errors: Any, scales: Any, v: Floats, after: Floats, reward: Floats, gamma: Floats, awake: Bools,
    cut: bool, ended: bool,
) -> None:  # fmt: skip
    """A step: keep the prediction v, and the error of the one made H steps ago if it is its turn."""
    for q in range(v.size):
        H, ring = scales.steps[q], open_.ring[q]
        if cut:
            open_.total[q, 0] = 0
        if not awake[q]:
            open_.total[q, 0] = 0
            continue
        t = open_.total[q, 1]
        at = t % H
        ring[0, at], ring[1, at], ring[2, at] = v[q], reward[q], 0.0 if ended else gamma[q]
        open_.total[q, 1] = t + 1
        open_.total[q, 0] = min(H, open_.total[q, 0] + 1)
        if open_.total[q, 0] < H or t % scales.stride[q] != 0:
            continue
        answer = after[q]
        for k in range(H):
            i = (at - k) % H
            answer = ring[1, i] + ring[2, i] * answer
        n = errors.total[q]
        errors.ring[q, n % errors.ring.shape[1]] = answer - ring[0, (at + 1) % H]
        errors.total[q] = n + 1

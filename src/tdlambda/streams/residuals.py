"""Prediction intervals from the recent errors of the predictions themselves.

At each step, the return of a prediction made H steps ago becomes known up to a bootstrap of small weight:

    e = r_1 + γ_1 (r_2 + γ_2 ( … + γ_H v(s_H))) - v(s_0)

The interval at a row is its prediction plus quantiles of the latest such errors, with their distances from the median
times a factor e^f that follows its own coverage: f rises by RATE LEVEL if an error falls outside the interval that was
given H steps ago, and falls by RATE (1 - LEVEL) otherwise (adaptive conformal inference: Gibbs & Candès 2021). It
assumes nothing about the features or the distribution, works for every learner and for windows, and follows the
present: an error leaves after KEPT horizons.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from tdlambda.arrays import Bools, Floats, Ints
from tdlambda.compiled import kernel, part
from tdlambda.streams.question import Question, is_number
from tdlambda.streams.turns import is_turn

PER_HORIZON, KEPT = 4, 60
"""About as many errors are kept per horizon, and horizons for which they are kept."""
MOST_STEPS = 1000
"""Largest number of steps of a return before its bootstrap."""
TAIL = 0.05
"""Weight of the bootstrap."""
LEAST = 16
"""Smallest number of errors for an interval."""
LEVEL = 0.9
"""Nominal coverage of the interval that the factor is learned from."""
RATE, NARROWEST, WIDEST = 0.06, -0.7, 3.0
"""Step size of the factor's logarithm, and its limits."""
VALUE, REWARD, GAMMA, LOW, HIGH, OPEN_ROWS = range(6)
"""Rows of the ring of open predictions."""


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
    """The latest errors of each question."""

    ring: Floats
    """In order of arrival, a ring [question, error]."""
    ordered: Floats
    """The same, sorted."""
    total: Ints
    """Their number so far [question]."""
    factor: Floats
    """Logarithm of the factor of the width [question]."""

    @classmethod
    def none(cls, n: int) -> Errors:
        """No errors of n questions."""
        ring, ordered = np.zeros((2, n, PER_HORIZON * KEPT))
        return cls(ring, ordered, np.zeros(n, dtype=np.int64), np.zeros(n))

    def copied(self) -> Errors:
        """A copy."""
        return Errors(self.ring.copy(), self.ordered.copy(), self.total.copy(), self.factor.copy())

    def add(self, q: int, error: float) -> None:
        """Add an error of a question, whose interval is taken to be the present one."""
        add_to(self, q, error)

    def limits(self, q: int, level: float) -> tuple[float, float]:
        """Limits of the errors, so that a share `level` lies between them; infinite if they are too few.

        Errors within two horizons are hardly independent, so there are n = total / (2 PER_HORIZON) of them; quantiles
        are multiplied by 1 + 1/√n, because the errors so far rarely include the largest.
        """
        low, high = limits_of(self, q, level)
        return low, high


class Open(NamedTuple):
    """Predictions of one stream whose returns are not known: rings [question, row, step], and counts."""

    ring: Floats
    total: Ints
    """Number of steps in the ring, and steps so far [question, 2]."""

    @classmethod
    def none(cls, scales: Scales) -> Open:
        """No open predictions."""
        n = scales.steps.size
        return cls(np.zeros((n, OPEN_ROWS, int(scales.steps.max(initial=1)))), np.zeros((n, 2), dtype=np.int64))

    def copied(self) -> Open:
        """A copy."""
        return Open(self.ring.copy(), self.total.copy())


@part
def quantiles(errors: Any, q: int, level: float) -> tuple[float, float]:
    """Limits of the errors of question q."""
    ordered, total = errors.ordered[q], errors.total[q]
    n = min(total, ordered.size)
    if n < LEAST:
        return -math.inf, math.inf
    at = max(0.0, (1.0 - level) / 2.0 * (n + 1) - 1.0)  # the next error is one more
    k = int(at)
    rest = at - k
    low = ordered[k] + rest * (ordered[k + 1] - ordered[k])
    high = ordered[n - 1 - k] + rest * (ordered[n - 2 - k] - ordered[n - 1 - k])
    wider = (1.0 + math.sqrt(2.0 * PER_HORIZON / total)) * math.exp(errors.factor[q])
    middle = 0.5 * (ordered[n // 2] + ordered[(n - 1) // 2])  # not 0: errors of one sign would move away from it
    return middle + wider * (low - middle), middle + wider * (high - middle)


@part
def insert(errors: Any, q: int, error: float) -> None:
    """Add an error; the oldest one leaves."""
    ring, ordered = errors.ring[q], errors.ordered[q]
    size, total = ring.size, errors.total[q]
    n, old = min(total, size), ring[total % size]
    if n == size:
        k = 0
        while k < n - 1 and ordered[k] != old:
            k += 1
        n -= 1
        for i in range(k, n):
            ordered[i] = ordered[i + 1]
    while n > 0 and ordered[n - 1] > error:
        ordered[n] = ordered[n - 1]
        n -= 1
    ordered[n] = ring[total % size] = error
    errors.total[q] = total + 1


@part
def adapt(errors: Any, q: int, error: float, low: float, high: float) -> None:
    """Update the factor with an error, for which an interval was given."""
    if low > -math.inf:
        missed = 1.0 if error < low or error > high else 0.0
        changed = errors.factor[q] + RATE * (missed - (1.0 - LEVEL))
        errors.factor[q] = min(max(changed, NARROWEST), WIDEST)


@kernel
def add_to(errors: Any, q: int, error: float) -> None:
    """Add an error, whose interval is taken to be the present one."""
    low, high = quantiles(errors, q, LEVEL)
    adapt(errors, q, error, low, high)
    insert(errors, q, error)


@kernel
def limits_of(errors: Any, q: int, level: float) -> tuple[float, float]:
    """Limits of the errors of question q."""
    return quantiles(errors, q, level)


@part
def resolve(open_: Any, errors: Any, q: int, H: int, after: float) -> None:
    """The return of the prediction that was made H steps ago is known."""
    ring, at = open_.ring[q], (open_.total[q, 1] - 1) % H
    answer = after
    for k in range(H):
        i = (at - k) % H
        answer = ring[REWARD, i] + ring[GAMMA, i] * answer
    first = (at + 1) % H
    error = answer - ring[VALUE, first]
    adapt(errors, q, error, ring[LOW, first], ring[HIGH, first])
    insert(errors, q, error)


@kernel
def note(
    open_: Any, errors: Any, scales: Any, v: Floats, reward: Floats, gamma: Floats, awake: Bools, cut: Bools,
    ended: Bools, level: float, limits: Floats,
) -> None:  # fmt: skip
    """Keep the predictions of consecutive steps, and the errors of those whose returns become known.

    `v` [step, (before, after), question]; `limits` [step, question, 2] receives the interval of each prediction.
    """
    n, questions = awake.shape
    for q in range(questions):
        H, ring = scales.steps[q], open_.ring[q]
        low, high = quantiles(errors, q, LEVEL)
        first, last = quantiles(errors, q, level)
        for s in range(n):
            limits[s, q, 0], limits[s, q, 1] = v[s, 0, q] + first, v[s, 0, q] + last
            if cut[s] or not awake[s, q]:
                open_.total[q, 0] = 0
            if not awake[s, q]:
                continue
            t = open_.total[q, 1]
            at = t % H
            ring[VALUE, at], ring[REWARD, at], ring[GAMMA, at] = v[s, 0, q], reward[s, q], gamma[s, q]
            if ended[s]:
                ring[GAMMA, at] = 0.0
            ring[LOW, at], ring[HIGH, at] = low, high
            open_.total[q, 1] = t + 1
            open_.total[q, 0] = min(H, open_.total[q, 0] + 1)
            if open_.total[q, 0] == H and is_turn(float(t), float(scales.stride[q])):
                resolve(open_, errors, q, H, v[s, 1, q])
                low, high = quantiles(errors, q, LEVEL)
                first, last = quantiles(errors, q, level)

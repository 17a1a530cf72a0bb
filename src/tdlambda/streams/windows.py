"""Windows ahead: how much, how high, or whether more than a bound, in the next rows or the next hours.

The answer at a row is known once the window has passed; rows wait until then. `Stacking` learns a window by TD and uses
such answers to weigh its predictors; other learners learn each answer as an episode of one step.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from tdlambda.arrays import Bools, Floats, Ints
from tdlambda.learners.learner import Array
from tdlambda.streams.question import Question, duration


class Waiting(NamedTuple):
    """The rows of a stream whose windows have not passed, in order."""

    X: Array
    time: Floats
    value: Floats
    """The cumulant of each window question at each row [row, window]."""
    made: Floats
    """The prediction made at each row; NaN if it was not kept."""
    number: Ints
    """Number of each row."""
    upto: Ints
    """For each window, the number of waiting rows whose window has passed."""


class Lessons(NamedTuple):
    """Answers that became known: of window `w`, at observations X."""

    X: Array
    answer: Floats
    made: Floats
    number: Ints
    """The row at which each answer belongs, and the one that completed it."""
    arrival: Ints


@dataclass
class Windows:
    """The window questions of a Horde: their indices, and what they ask."""

    where: list[int]
    questions: list[Question]

    @classmethod
    def of(cls, questions: Sequence[Question]) -> Windows:
        """Those of all questions that are about windows."""
        where = [q for q, question in enumerate(questions) if question.window]
        return cls(where, [questions[q] for q in where])

    def begin(self, X: Array) -> Waiting:
        """No rows waiting; X has the form of observations."""
        n, none = len(self.where), np.zeros(0)
        return Waiting(
            X[:0], none, np.zeros((0, n)), np.zeros((0, n)), none.astype(np.int64), np.zeros(n, dtype=np.int64)
        )

    def take(
        self, old: Waiting, X: Array, time: Floats, value: Floats, number: Ints, fresh: Bools
    ) -> tuple[Waiting, list[Lessons]]:
        """Rows of one stream arrive: those that still wait, and for each window the answers that became known."""
        made = np.full(value.shape, np.nan)
        rows = Waiting(
            np.concatenate([old.X, X]), np.concatenate([old.time, time]), np.concatenate([old.value, value]),
            np.concatenate([old.made, made]), np.concatenate([old.number, number]), old.upto,
        )  # fmt: skip
        starts = np.flatnonzero(fresh) + len(old.X)
        edges = [0, *(int(s) for s in starts if s > 0), len(rows.X)]
        upto, found = np.zeros(len(self.where), dtype=np.int64), []
        for w, question in enumerate(self.questions):
            parts, begin = [], int(old.upto[w])
            for a, b in pairwise(edges):
                first = max(begin, a)
                some, ends, arrives = _complete(question, rows.time[a:b], first - a)
                parts.append(_answers(question, rows, w, a + some, a + ends, a + arrives))
                begin = first + some.size if b == len(rows.X) else b
            upto[w] = begin
            found.append(Lessons(*(np.concatenate(column) for column in zip(*parts, strict=True))))
        drop = int(upto.min()) if upto.size else len(rows.X)
        return Waiting(
            rows.X[drop:], rows.time[drop:], rows.value[drop:], rows.made[drop:], rows.number[drop:], upto - drop
        ), found


def _complete(question: Question, time: Floats, begin: int) -> tuple[Ints, Ints, Ints]:
    """Rows from `begin` on whose window has passed, the last row in each window, and the row that completed it."""
    n = len(time)
    some = np.arange(begin, n)
    if question.steps is not None:
        some = some[some + question.steps < n]
        return some, some + question.steps, some + question.steps
    assert question.next is not None
    until = time[some] + duration(question.next)
    some = some[until <= time[-1]] if n else some
    until = until[: some.size]
    return some, np.searchsorted(time, until, side="right") - 1, np.searchsorted(time, until, side="left")


def _answers(question: Question, rows: Waiting, w: int, some: Ints, ends: Ints, arrives: Ints) -> Lessons:
    """The answers at these rows; not where a value in the window is missing, or where it has no row."""
    c = rows.value[:, w]
    lost = np.concatenate([[0], np.cumsum(np.isnan(c))])
    good = (ends > some) & (lost[ends + 1] == lost[some + 1])
    some, ends, arrives = some[good], ends[good], arrives[good]
    known = np.nan_to_num(c)
    if question.exceeds is not None:
        above = np.concatenate([[0], np.cumsum(known > question.exceeds)])
        answer = (above[ends + 1] > above[some + 1]).astype(np.float64)
    elif question.of == "max":
        answer = np.array([known[i + 1 : j + 1].max() for i, j in zip(some, ends, strict=True)], dtype=np.float64)
    else:
        answer = np.array([known[i + 1 : j + 1].sum() for i, j in zip(some, ends, strict=True)], dtype=np.float64)
        if question.of == "mean":
            answer /= ends - some
    return Lessons(rows.X[some], answer, rows.made[some, w], rows.number[some], rows.number[arrives])


def typical(question: Question, every: float | None) -> int:
    """The length of a window in rows."""
    if question.steps is not None:
        return question.steps
    assert question.next is not None
    return max(1, round(duration(question.next) / every)) if every else 24


def require_time(questions: dict[str, Question], time: Any) -> None:
    """Validate that a window of time has a column of times."""
    for name, question in questions.items():
        if question.next is not None and time is None:
            raise ValueError(
                f"question {name!r}: next={question.next!r} needs a column of times; name it with time=, "
                "or give the window in rows with steps="
            )

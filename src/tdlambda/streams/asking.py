"""Validation of the questions and learners of a Horde, and evaluation of all questions at once."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from tdlambda.arrays import Bools, Floats, Ints
from tdlambda.auto import AutoTD
from tdlambda.features import Dense, Encoder, Network
from tdlambda.learners.learner import Learner
from tdlambda.showing import wrong_arguments
from tdlambda.streams.batch import Batch, Name
from tdlambda.streams.question import Question, is_number

INFINITE = (np.inf, -np.inf)
Factory: TypeAlias = Callable[[Any], Learner]
"""A function that builds a learner for given features."""


def named(questions: Any) -> dict[str, Question]:
    """Questions by name."""
    if isinstance(questions, Question):
        questions = [questions]
    if isinstance(questions, Mapping):
        found = {str(name): question for name, question in questions.items()}
    elif isinstance(questions, list | tuple):
        found = {}
        for question in questions:
            cumulant = getattr(question, "cumulant", None)
            name = str(cumulant) if isinstance(cumulant, str | int) else "question"
            while name in found:
                base, _, n = name.rpartition(" ")
                name = f"{base} {int(n) + 1}" if base and n.isdigit() else f"{name} 2"
            found[name] = question
    else:
        raise TypeError(f"questions must be a td.Question, or a dict or list of them; got {questions!r}")
    for name, question in found.items():
        if not isinstance(question, Question):
            raise TypeError(f"questions: {name!r} must be a td.Question; got {question!r}")
    if not found:
        raise ValueError("questions must contain at least one td.Question; got none")
    return found


def refuse_endless(questions: dict[str, Question], terminated: Name | None) -> None:
    """Validate that γ is below 1 if no row ends an episode, because the return would have no end."""
    for name, question in questions.items():
        if terminated is None and is_number(question.discount) and question.discount == 1:
            given = "gamma" if question.horizon is None else f"horizon={question.horizon:g} means that gamma"
            raise ValueError(
                f"question {name!r}: {given} is 1, so its return never ends; use a gamma below 1 or a shorter horizon, "
                "or name the column that is true where an episode ends: td.Horde(…, terminated=…)"
            )


def makers(learner: Any, questions: dict[str, Question]) -> dict[str, Factory]:
    """The function that builds each question's learner."""
    if isinstance(learner, Mapping):
        lost = [name for name in questions if name not in learner]
        if lost:
            raise ValueError(f"learner must have an entry for each question; {lost[0]!r} is missing")
        return {name: learner[name] for name in questions}
    if not callable(learner) or (isinstance(learner, type) and wrong_arguments("", learner, (), 1)):
        raise TypeError(
            f"learner must be a function of the features, such as lambda x: td.TD(x, alpha=0.1); got {learner!r}"
        )
    return dict.fromkeys(questions, learner)


def made(make: Factory, encoder: Encoder | Network) -> Learner:
    """A new learner for these features; one with a network is the only expert of an `AutoTD` on them."""
    learner = make(encoder)
    if isinstance(learner, Learner) and isinstance(encoder, Dense) and learner.features is not encoder:
        own = learner.features
        same = own.inputs == encoder.size if isinstance(own, Network) else own == encoder
        learner = AutoTD(encoder, experts=[learner], built_in=False) if same else learner
    if isinstance(encoder, Network) and isinstance(learner, AutoTD):
        raise TypeError(
            'learner: lam="auto" mixes several networks, so questions on one network cannot have it; for a mixture '
            "each, give td.features.Dense(n) as features, and let learner build td.TD on td.Network(x.size)"
        )
    if not isinstance(learner, Learner) or learner.features is not encoder:
        raise TypeError(f"learner must return a learner for the features it is given; it returned {learner!r}")
    return learner


class Answers(NamedTuple):
    """Inputs of all questions at some transitions [transition, question]; valid until the next call of `Asker.ask`."""

    reward: Floats
    gamma: Floats
    rho: Floats
    behavior: Floats | None
    awake: Bools
    """Whether no input is missing."""


class Asker:
    """Evaluates all questions at once: those with a column and a constant γ together, the others one by one."""

    def __init__(self, questions: dict[str, Question]) -> None:
        self.questions, n = questions, len(questions)
        self.gamma, self.rho, self.scale, self.which = np.ones(n), np.ones(n), np.ones(n), np.zeros(n, dtype=np.int64)
        self.columns: list[Any] = []
        self.others: list[tuple[int, str, Question]] = []
        for q, (name, question) in enumerate(questions.items()):
            simple = not callable(question.cumulant) and is_number(question.discount) and question.terminal is None
            if not (simple and question.target is None and (question.rho is None or is_number(question.rho))):
                self.others.append((q, name, question))
                continue
            self.gamma[q] = float(question.discount)  # type: ignore[arg-type]
            self.rho[q] = 1.0 if question.rho is None else float(question.rho)  # type: ignore[arg-type]
            self.scale[q] = 1 - self.gamma[q] if question.average else 1.0
            if question.cumulant not in self.columns:
                self.columns.append(question.cumulant)
            self.which[q] = self.columns.index(question.cumulant)
        self._row = self.gamma[None], self.rho[None]
        self.scaled, self.sources = bool((self.scale != 1).any()), self.which.tolist()
        self._room = (np.zeros((0, n)),) * 3
        self.one_by_one = np.array([q for q, _, _ in self.others], dtype=np.int64)

    def ask(self, rows: Batch, at: Ints, after: Ints) -> Answers:
        """The inputs of the transitions from the rows `at` to the rows `after`."""
        if at.size == 1 and not self.others:
            return self._ask_row(rows, after.item())
        shape, behavior = (at.size, len(self.questions)), None
        if self._room[0].shape[0] < at.size:
            self._room = (np.zeros(shape), np.tile(self.gamma, (at.size, 1)), np.tile(self.rho, (at.size, 1)))
        reward, gamma, rho = (array[: at.size] for array in self._room)
        if self.columns:
            read = np.array([rows.numbers(name, "cumulant")[after] for name in self.columns])
            if np.isinf(read).any():
                c, k = (int(i) for i in np.argwhere(np.isinf(read))[0])
                _refuse_infinite(self.columns[c], rows.first + int(after[k]), read[c, k])
            np.take(np.ascontiguousarray(read.T), self.which, axis=1, out=reward, mode="clip")
            if self.scaled:
                reward *= self.scale
        for q, name, question in self.others:
            asked = question.ask(name, rows, at, after)
            reward[:, q], gamma[:, q], rho[:, q] = asked.reward, asked.gamma, asked.rho
            if asked.behavior is not None:
                behavior = np.ones(shape) if behavior is None else behavior
                behavior[:, q] = asked.behavior
        awake = ~np.isnan(reward)
        if self.others:
            some = self.one_by_one
            awake[:, some] &= ~(np.isnan(gamma[:, some]) | np.isnan(rho[:, some]))
        return Answers(reward, gamma, rho, behavior, awake)

    def _ask_row(self, rows: Batch, i: int) -> Answers:
        """The inputs of the transition to row i, if all questions are about columns, with constant γ and ρ."""
        read = [rows.numbers(name, "cumulant").item(i) for name in self.columns]
        for name, value in zip(self.columns, read, strict=True):
            if value in INFINITE:
                _refuse_infinite(name, rows.first + i, value)
        reward = np.array([[read[k] for k in self.sources]])
        if self.scaled:
            reward *= self.scale
        return Answers(reward, *self._row, None, reward == reward)


def _refuse_infinite(name: Any, row: int, value: float) -> None:
    raise ValueError(f"column {name!r}, row {row}: the value must be finite; got {value}")

"""Questions and learners as a user may give them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from tdlambda.features import Encoder
from tdlambda.learners.base import Learner
from tdlambda.streams.question import Question

Factory: TypeAlias = Callable[[Encoder], Learner]
"""What makes a learner for given features."""


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
        raise TypeError(f"questions must be td.Question(…), several by name, or a list; got {questions!r}")
    for name, question in found.items():
        if not isinstance(question, Question):
            raise TypeError(f"questions: {name!r} must be a td.Question; got {question!r}")
    if not found:
        raise ValueError("questions: there is none")
    return found


def makers(learner: Any, questions: dict[str, Question]) -> dict[str, Factory]:
    """What makes each question's learner."""
    if isinstance(learner, Mapping):
        lost = [name for name in questions if name not in learner]
        if lost:
            raise ValueError(f"learner: there is none for {lost[0]!r}")
        return {name: learner[name] for name in questions}
    if not callable(learner):
        raise TypeError(
            f"learner must make a learner for given features, such as lambda x: td.TD(x, alpha=0.1); got {learner!r}"
        )
    return dict.fromkeys(questions, learner)


def made(make: Factory, encoder: Encoder) -> Learner:
    """A learner for these features."""
    learner = make(encoder)
    if not isinstance(learner, Learner) or learner.features is not encoder:
        raise TypeError(f"learner must make a learner for the features it is given; got {learner!r}")
    return learner

"""What must hold of a call to a learner, whatever it was given."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import tdlambda as td
from attacks.harness import Failed
from attacks.hostile import EITHER, SAME, WRONG, Verdict
from attacks.subjects import Subject

NAMED = re.compile(
    r"\b(obs|observations?|next_obs|reward|gamma|rho|lam|terminated|truncated|action|features|function|matrix|table|"
    r"learners?|encoding|state|alpha|initial|bound|column)\b|λ"
)


def judge(
    label: str, subject: Subject, verdict: Verdict, act: Callable[[Any], None],
    plainly: Callable[[Any], None] | None = None,
) -> None:  # fmt: skip
    """Do it, and hold what came of it against what must."""
    before, clone = subject.state(), subject.clone() if plainly and verdict <= EITHER else None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            warnings.filterwarnings("ignore", "overflow", RuntimeWarning)  # of numbers such as 1e300
            act(subject.learner)
    except td.Diverged:
        if not subject.diverged:
            raise Failed(f"{label}: raised Diverged, but diverged_at is None") from None
        if verdict == WRONG:
            raise Failed(f"{label}: learned from what must be refused, and diverged") from None
    except (TypeError, ValueError) as error:
        if verdict == SAME:
            raise Failed(f"{label}: refused what is in order: {brief(error)}") from error
        require_named(error, label)
        if subject.state() != before:
            raise Failed(f"{label}: refused, but the learner has changed") from error
        return
    except Failed:
        raise
    except Exception as error:
        raise Failed(f"{label}: {brief(error)}") from error
    else:
        if verdict == WRONG:
            raise Failed(f"{label}: accepted")
    if not subject.diverged and not subject.finite():
        raise Failed(f"{label}: the learner is not finite, and does not say that it diverged")
    if clone is not None and plainly is not None:
        with suppress(td.Diverged):
            plainly(clone.learner)
        if clone.state() != subject.state():
            raise Failed(f"{label}: learned something else than from the plain values")


def require_named(error: Exception, label: str) -> None:
    """A message must say which argument is wrong."""
    if not NAMED.search(str(error)):
        raise Failed(f"{label}: the message names no argument: {brief(error)}") from error


def brief(error: BaseException) -> str:
    """The kind of an error, without what differs from case to case."""
    return f"{type(error).__name__}: {re.sub(r'[-+]?[0-9][0-9.e+-]*', '#', str(error))[:120]}"

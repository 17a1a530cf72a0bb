"""Which parameters are compiled in `make test`: each is a model of its own, which takes seconds."""

from collections.abc import Callable, Collection, Iterable
from typing import Any

import pytest

COSTLY, SLOW = pytest.mark.costly, pytest.mark.slow


def cases(every: Iterable[Any], compiled: Collection[Any], others: pytest.MarkDecorator = COSTLY) -> list[Any]:
    """All cases, for `pytest.mark.parametrize`; `others` marks those that are not among `compiled`."""
    return [pytest.param(case, marks=[] if case in compiled else [others]) for case in every]


def pairs(
    first: Iterable[Any],
    second: Iterable[Any],
    quick: Callable[[Any, Any], bool],
    others: pytest.MarkDecorator = COSTLY,
) -> list[Any]:
    """All pairs, for `pytest.mark.parametrize`; `others` marks those that are not quick."""
    all_of_second = list(second)
    return [pytest.param(a, b, marks=[] if quick(a, b) else [others]) for a in first for b in all_of_second]

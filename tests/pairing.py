"""Which pairs of parameters a quick run takes: each pair is a model of its own, which takes seconds to compile."""

from collections.abc import Callable, Iterable
from typing import Any

import pytest


def pairs(first: Iterable[Any], second: Iterable[Any], quick: Callable[[Any, Any], bool]) -> list[Any]:
    """All pairs, for `pytest.mark.parametrize`; those that are not quick are marked slow."""
    all_of_second = list(second)
    return [pytest.param(a, b, marks=[] if quick(a, b) else [pytest.mark.slow]) for a in first for b in all_of_second]

"""Which pairs of parameters a quick run takes: each pair is a model of its own, which takes seconds to compile."""

import os
from collections.abc import Callable, Iterable
from typing import Any

import pytest


def pairs(first: Iterable[Any], second: Iterable[Any], quick: Callable[[Any, Any], bool]) -> list[Any]:
    """All pairs, for `pytest.mark.parametrize`; those that are not quick are slow, unless nothing is compiled."""
    all_of_second, interpreted = list(second), os.environ.get("NUMBA_DISABLE_JIT", "0") != "0"
    every = [(a, b) for a in first for b in all_of_second]
    return [pytest.param(a, b, marks=[] if interpreted or quick(a, b) else [pytest.mark.slow]) for a, b in every]

"""Results beyond the range of double precision raise an error, instead of NaN or a spurious infinity."""

import sys
from typing import TypeVar

import numpy as np

from tdlambda.arrays import Floats

_Answer = TypeVar("_Answer", float, Floats)

quiet = np.errstate(over="ignore", invalid="ignore")
"""A decorator for functions whose results go through `in_range`; it silences NumPy's warnings."""


def in_range(answer: _Answer, what: str, remedy: str = "scale down rewards, V and features") -> _Answer:
    """The result itself if it is finite; otherwise raise OverflowError.

    >>> in_range(np.array([1.0, np.inf]), "v")
    Traceback (most recent call last):
    OverflowError: v exceeds 1.8e+308, the largest number in double precision: scale down rewards, V and features
    """
    if not np.isfinite(answer).all():
        raise OverflowError(
            f"{what} exceeds {sys.float_info.max:.1e}, the largest number in double precision: {remedy}"
        )
    return answer

"""Checks of what the user gives."""

import operator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tdlambda.arrays import unmasked


def integer(name: str, value: Any) -> int:
    """The integer that was given under this name (a bool or a float is none), or raise."""
    try:
        if isinstance(value, bool) or np.ma.is_masked(value):
            raise TypeError
        return operator.index(value)
    except TypeError:
        raise TypeError(f"{name} must be an integer; got {value!r}") from None


def whole_number(name: str, value: Any, least: int) -> int:
    """The integer of at least `least` that was given under this name, or raise."""
    number = integer(name, value)
    if number < least:
        raise ValueError(f"{name} must be at least {least}; got {number}")
    if number >= 2**62:
        raise ValueError(f"{name} must be below 2**62; got a number of {number.bit_length()} bits")
    return number


def choice(name: str, value: Any, options: tuple[str, ...]) -> str:
    """The option that was given under this name, or raise."""
    if not isinstance(value, str) or value not in options:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, options))}; got {value!r}")
    return value


def fresh_array(name: str, given: Any) -> NDArray[Any]:
    """A copy in C order: compiled code then sees one array type, and may write to it."""
    try:
        return np.array(unmasked(given, name), order="C")
    except ValueError as error:
        raise ValueError(f"{name} must be a scalar or a rectangular array; got {given!r}: {error}") from None

"""Validation of arguments."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tdlambda.arrays import integer, unmasked


def whole_number(name: str, value: Any, least: int) -> int:
    """The argument of this name as an int; raise if it is not an integer of at least `least`."""
    number = integer(value, name, least)
    if number >= 2**62:
        raise ValueError(f"{name} must be below 2**62; got an integer of {number.bit_length()} bits")
    return number


def fresh_array(name: str, given: Any) -> NDArray[Any]:
    """A copy in C order, so that compiled code sees one array type and may write to it."""
    try:
        return np.array(unmasked(given, name), order="C")
    except ValueError as error:
        raise ValueError(f"{name} must be a scalar or a rectangular array; got {given!r}: {error}") from None

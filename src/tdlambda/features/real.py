"""Observations that are vectors of real numbers."""

from typing import Any

import numpy as np

from tdlambda.arrays import Floats
from tdlambda.compiled import compiled, inlined, kernel
from tdlambda.features.arguments import fresh_array

_FLOAT64 = np.dtype(np.float64)


def real_array(name: str, given: Any) -> Floats:
    """The argument as a new array of float64 in C order; raise if it is not real numbers."""
    array = fresh_array(name, given)
    if array.dtype == _FLOAT64:
        return array
    # NumPy would also read "1.5" as a number and drop an imaginary part.
    if array.dtype.kind not in "fiub":
        raise TypeError(f"{name} must be real numbers; got {given!r}")
    return array.astype(np.float64)


def real_vector(observation: Any, length: int) -> Floats:
    """One observation as a new vector of this length; a scalar is accepted for length 1."""
    vector = real_array("observation", observation)
    if vector.shape == (length,):
        return vector
    if vector.shape == () and length == 1:
        return vector.reshape(1)
    raise ValueError(f"observation must have the shape ({length},); got the shape {vector.shape}")


def real_vectors(observations: Any, length: int) -> Floats:
    """The observations as a new [n, length] array; shape [n] is accepted for length 1."""
    vectors = real_array("observations", observations)
    if vectors.ndim == 2 and vectors.shape[1] == length:
        return vectors
    if vectors.ndim == 1 and (length == 1 or vectors.size == 0):
        return vectors.reshape(-1, length)
    raise ValueError(f"observations must have the shape (n, {length}); got the shape {vectors.shape}")


def entry_name(vectors: Floats, position: int) -> str:
    """The name of the entry at a flat position, as the user would index it."""
    if vectors.ndim == 1:
        return f"observation[{position}]"
    row, column = divmod(position, vectors.shape[1])
    return f"observations[{row}][{column}]"


@inlined
def overflows(x: Floats) -> bool:
    """Whether |x|² is not finite, as it is if an entry of x is not finite."""
    norm = 0.0
    for entry in range(x.size):
        norm += x[entry] * x[entry]
    return not norm < np.inf


@kernel
def first_overflow(rows: Floats, length: int) -> int:
    """The first row whose |x|² is not finite, or -1; the rows, each of this length, are stored one after another."""
    for row in range(rows.size // length):
        if overflows(rows[row * length : (row + 1) * length]):
            return row
    return -1


@compiled
def first_not_finite(values: Floats) -> int:
    """The first flat position of a NaN or an infinity, or -1."""
    for position in range(values.size):
        if not np.isfinite(values[position]):
            return position
    return -1

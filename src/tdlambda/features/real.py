"""Observations that are vectors of real numbers."""

from typing import Any

import numpy as np

from tdlambda.compiled import compiled
from tdlambda.features.arguments import fresh_array
from tdlambda.features.base import Values

_FLOAT64 = np.dtype(np.float64)


def real_array(name: str, given: Any) -> Values:
    """Return a fresh array of float64 in C order, or raise."""
    array = fresh_array(name, given)
    if array.dtype == _FLOAT64:
        return array
    # NumPy would also read "1.5" as a number and drop an imaginary part.
    if array.dtype.kind not in "fiub":
        raise TypeError(f"{name} must be real numbers, got {given!r}")
    return array.astype(np.float64)


def real_vector(observation: Any, length: int) -> Values:
    """Return one observation as a fresh vector of this length; a scalar will do for the length 1."""
    vector = real_array("observation", observation)
    if vector.shape == (length,):
        return vector
    if vector.shape == () and length == 1:
        return vector.reshape(1)
    raise ValueError(f"observation must have the shape ({length},), got the shape {vector.shape}")


def real_vectors(observations: Any, length: int) -> Values:
    """Return n observations as a fresh [n, length] array; [n] will do for the length 1."""
    vectors = real_array("observations", observations)
    if vectors.ndim == 2 and vectors.shape[1] == length:
        return vectors
    if vectors.ndim == 1 and (length == 1 or vectors.size == 0):
        return vectors.reshape(-1, length)
    raise ValueError(f"observations must have the shape (n, {length}), got the shape {vectors.shape}")


def entry_name(vectors: Values, position: int) -> str:
    """Name the entry at a flat position as the user would index it."""
    if vectors.ndim == 1:
        return f"observation[{position}]"
    row, column = divmod(position, vectors.shape[1])
    return f"observations[{row}][{column}]"


@compiled
def first_overflow(rows: Values) -> int:
    """Return the first row whose |x|² is not finite, or -1."""
    for row in range(rows.shape[0]):
        norm = 0.0
        for entry in range(rows.shape[1]):
            norm += rows[row, entry] * rows[row, entry]
        if not norm < np.inf:
            return row
    return -1


@compiled
def first_not_finite(values: Values) -> int:
    """Return the first flat position of a NaN or an infinity, or -1."""
    for position in range(values.size):
        if not np.isfinite(values[position]):
            return position
    return -1

"""Array types, and the checks that turn a user's input into one of them or say what is wrong with it."""

import operator
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

Floats: TypeAlias = NDArray[np.float64]
Ints: TypeAlias = NDArray[np.int64]
Bools: TypeAlias = NDArray[np.bool_]
Matrix: TypeAlias = "sparse.csr_array[np.float64, tuple[int, int]]"


def per_state(value: ArrayLike, n: int, name: str, low: float = -np.inf, high: float = np.inf) -> Floats:
    """A number for each of `n` states from one number or `n` of them; finite and within [low, high].

    >>> per_state(0.5, 3, "lam", 0, 1)
    array([0.5, 0.5, 0.5])
    """
    array = np.asarray(value, dtype=np.float64)
    if array.shape not in ((), (n,)):
        raise ValueError(f"{name} must be a number or have shape ({n},), one for each state; got {array.shape}")
    array = np.broadcast_to(array, (n,)).copy()
    bad = ~(np.isfinite(array) & (array >= low) & (array <= high))
    if bad.any():
        state = int(np.argmax(bad))
        bounds = "finite" if np.isinf(low) and np.isinf(high) else f"in [{low:g}, {high:g}]"
        raise ValueError(f"{name} of state {state} is {array[state]}; it must be {bounds}")
    return array


def integer(value: object, name: str, low: int, high: int | None = None) -> int:
    """A Python int within [low, high] from anything that is exactly an integer, or an error that says so."""
    try:
        number = operator.index(value)  # type: ignore[arg-type]  # the error is the point
    except TypeError:
        raise TypeError(f"{name} must be an integer; got {value!r}") from None
    if number < low or (high is not None and number > high):
        bounds = f"at least {low}" if high is None else f"from {low} to {high}"
        raise ValueError(f"{name} must be {bounds}; got {number}")
    return number

"""Integer observations: states numbered from 0."""

from typing import Any

import numpy as np

from tdlambda.arrays import integer
from tdlambda.features.arguments import fresh_array
from tdlambda.features.encoder import Indices


def state_index(observation: Any, n: int) -> int:
    """The observation as a Python int; raise unless it is from 0 to n - 1."""
    if type(observation) is int and 0 <= observation < n:
        return observation
    return integer(observation, "observation", 0, n - 1)


def state_indices(observations: Any, n: int) -> Indices:
    """The observations as a new array of integers; raise unless they are from 0 to n - 1."""
    states = fresh_array("observations", observations)
    if states.shape == (0,):
        # An empty list has no integer type of its own.
        return np.empty(0, dtype=np.int64)
    if states.dtype.kind not in "iu":
        raise TypeError(f"observations must be integers; got an array of {states.dtype}")
    if states.ndim != 1:
        raise ValueError(f"observations must be one-dimensional; got the shape {states.shape}")
    outside = (states < 0) | (states >= n)
    if outside.any():
        row = int(outside.argmax())
        raise ValueError(f"observations must be from 0 to {n - 1:,}; got {states[row]:,} (row {row:,})")
    return states.astype(np.int64, copy=False)

"""Observations that are features already."""

from typing import Any, SupportsIndex

import numpy as np
from numpy.typing import ArrayLike

from tdlambda.features.arguments import whole_number
from tdlambda.features.base import Encoder, Indices, Values
from tdlambda.features.real import entry_name, first_not_finite, first_overflow, real_vector, real_vectors


class Dense(Encoder):
    """The observation itself as the feature vector: x(s) = s.

    Parameters
    ----------
    n
        Length of the vector; each entry must be finite.

    Examples
    --------
    >>> from tdlambda.features import Dense
    >>> Dense(3).encode([0.5, 0.0, -2.0])
    (array([0, 1, 2]), array([ 0.5,  0. , -2. ]))
    """

    def __init__(self, n: SupportsIndex) -> None:
        self.size = whole_number("n", n, least=1)
        self.active = self.size
        self._indices = np.arange(self.size, dtype=np.int64)

    def encode(self, observation: ArrayLike) -> tuple[Indices, Values]:
        """Return the indices 0..n-1 and the observation's entries."""
        return self._indices.copy(), _finite(real_vector(observation, self.size))

    def encode_batch(self, observations: ArrayLike) -> tuple[Indices, Values]:
        """Encode m vectors, [m, n]; both results have the shape [m, n]."""
        values = _finite(real_vectors(observations, self.size))
        return np.tile(self._indices, (values.shape[0], 1)), values

    def get_params(self) -> dict[str, Any]:
        """Return the constructor's arguments as plain data."""
        return {"n": self.size}


def _finite(vectors: Values) -> Values:
    rows = vectors.reshape(-1, vectors.shape[-1])
    row = first_overflow(rows)
    if row >= 0:
        position = first_not_finite(vectors.reshape(-1))
        if position >= 0:
            raise ValueError(f"{entry_name(vectors, position)} must be finite, got {float(vectors.flat[position])}")
        raise ValueError(f"observation: |x|² must be finite, got {rows[row]}")
    return vectors

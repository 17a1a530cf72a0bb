"""The first entries of a vector as features."""

from collections.abc import Mapping
from math import isfinite
from typing import ClassVar, SupportsIndex

import numpy as np
from numpy.typing import ArrayLike

from tdlambda.features.arguments import whole_number
from tdlambda.features.dense import Dense, require_finite
from tdlambda.features.encoder import Indices, Values, as_vector
from tdlambda.features.real import real_vectors


class Leading(Dense):
    """The first `size` entries of a vector of `n` readings: nested sets of features, for experts of `td.AutoTD`.

    Parameters
    ----------
    n
        Length of the vector, at least 1.
    size
        Number of features, from 1 to n.

    Examples
    --------
    >>> from tdlambda.features import Leading
    >>> Leading(3, 2).encode([0.5, 0.0, -2.0])
    (array([0, 1]), array([0.5, 0. ]))
    """

    kept_as: ClassVar[Mapping[str, str]] = {"n": "dimensions"}

    def __init__(self, n: SupportsIndex, size: SupportsIndex) -> None:
        self.dimensions = whole_number("n", n, least=1)
        super().__init__(size)
        self._kernel = None  # there is no compiled form
        if self.size > self.dimensions:
            raise ValueError(f"size must be at most n = {self.dimensions}; got {self.size}")

    def encode(self, observation: ArrayLike) -> tuple[Indices, Values]:
        """The indices 0..size-1 and the observation's first entries."""
        vector = np.array(as_vector(observation, self.dimensions)[: self.size])
        if not isfinite(vector.dot(vector)):
            require_finite(vector)
        return self._indices.copy(), vector

    def encode_batch(self, observations: ArrayLike) -> tuple[Indices, Values]:
        """The indices and values of m vectors [m, n], each of shape [m, size]."""
        values = require_finite(np.ascontiguousarray(real_vectors(observations, self.dimensions)[:, : self.size]))
        return np.tile(self._indices, (values.shape[0], 1)), values

"""Observations that already are feature vectors."""

from collections.abc import Mapping
from typing import ClassVar, SupportsIndex

import numpy as np
from numpy.typing import ArrayLike

from tdlambda.features.arguments import whole_number
from tdlambda.features.encoder import Encoder, EncoderKernel, Indices, Values, as_vector
from tdlambda.features.real import entry_name, first_not_finite, first_overflow, overflows, real_vectors


class Dense(Encoder):
    """The observation itself as the feature vector: x(s) = s.

    Parameters
    ----------
    n
        Length of the vector, at least 1. The entries must be finite, and so must |x|².

    Examples
    --------
    >>> from tdlambda.features import Dense
    >>> Dense(3).encode([0.5, 0.0, -2.0])
    (array([0, 1, 2]), array([ 0.5,  0. , -2. ]))
    """

    kept_as: ClassVar[Mapping[str, str]] = {"n": "size"}

    def __init__(self, n: SupportsIndex) -> None:
        self.size = whole_number("n", n, least=1)
        self.active = self.size
        self._indices = np.arange(self.size, dtype=np.int64)
        self._kernel = EncoderKernel(encode_vector, np.empty(0), self.size)

    def encode(self, observation: ArrayLike) -> tuple[Indices, Values]:
        """The indices 0..n-1 and the observation's entries."""
        return self._indices.copy(), require_finite(as_vector(observation, self.size).copy())

    def encode_batch(self, observations: ArrayLike) -> tuple[Indices, Values]:
        """The indices and values of m vectors [m, n], each of shape [m, n]."""
        values = require_finite(real_vectors(observations, self.size))
        return np.tile(self._indices, (values.shape[0], 1)), values


def require_finite(vectors: Values) -> Values:
    """The vectors, after validating that |x|² is finite."""
    flat = vectors.reshape(-1)
    length = vectors.shape[-1]
    row = first_overflow(flat, length)
    if row >= 0:
        position = first_not_finite(flat)
        if position >= 0:
            raise ValueError(f"{entry_name(vectors, position)} must be finite; got {float(flat[position])}")
        raise ValueError(f"observation: |x|² must be finite; got {flat[row * length : (row + 1) * length]}")
    return vectors


def encode_vector(obs: Values, numbers: Values, index: Indices, value: Values) -> int:  # noqa: ARG001
    """The kernel of `Dense`, which needs no numbers; see `EncoderKernel`."""
    if overflows(obs):
        return 1
    for i in range(obs.size):
        index[i] = i
        value[i] = obs[i]
    return 0

"""Observations that already are encoded."""

from typing import SupportsIndex

import numpy as np
from numpy.typing import ArrayLike

from tdlambda.features.arguments import whole_number
from tdlambda.features.encoder import Encoder, EncoderKernel, Indices, Values, first_misfit
from tdlambda.features.real import real_vector, real_vectors


class Encoded(Encoder):
    """Features that are already encoded: an observation holds the indices, then the values, of the active features.

    This lets several learners on one stream share one encoding, as in `td.Horde`.

    Parameters
    ----------
    size
        Number of features, at least 1.
    active
        Number of active features in an observation, at least 1.

    Examples
    --------
    >>> from tdlambda.features import Encoded
    >>> Encoded(10, 2).encode([3, 7, 1.0, 0.5])
    (array([3, 7]), array([1. , 0.5]))
    """

    def __init__(self, size: SupportsIndex, active: SupportsIndex) -> None:
        self.size, self.active = whole_number("size", size, least=1), whole_number("active", active, least=1)
        self._kernel = EncoderKernel(encode_encoded, np.array([float(self.size)]), 2 * self.active)

    def encode(self, observation: ArrayLike) -> tuple[Indices, Values]:
        """The two halves of the observation: indices and values."""
        index, value = self._halves(real_vector(observation, 2 * self.active).reshape(1, -1))
        return index[0], value[0]

    def encode_batch(self, observations: ArrayLike) -> tuple[Indices, Values]:
        """The indices and values of n observations, each of shape [n, active]."""
        return self._halves(real_vectors(observations, 2 * self.active))

    def _halves(self, rows: Values) -> tuple[Indices, Values]:
        where, value = rows[:, : self.active], np.ascontiguousarray(rows[:, self.active :])
        with np.errstate(invalid="ignore"):
            index = np.ascontiguousarray(where).astype(np.int64)
        bad = first_misfit(index, value, self.size)
        if not (whole := (index == where).all(axis=1)).all():
            bad = int(np.argmin(whole))
        if bad >= 0:
            raise ValueError(
                f"observation must have integer indices from 0 to {self.size - 1}, then finite values; got {rows[bad]}"
            )
        return index, value


def encode_encoded(obs: Values, numbers: Values, index: Indices, value: Values) -> int:
    """The kernel of `Encoded`; its only number is the number of features."""
    n, norm = obs.size // 2, 0.0
    for j in range(n):
        at = obs[j]
        if not (at >= 0.0 and at < numbers[0] and at == np.floor(at)):
            return 1
        norm += obs[n + j] * obs[n + j]
    if not norm < np.inf:
        return 1
    for j in range(n):
        index[j] = int(obs[j])
        value[j] = obs[n + j]
    return 0

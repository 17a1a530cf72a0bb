"""One feature per state."""

from collections.abc import Mapping
from typing import ClassVar, SupportsIndex

import numpy as np
from numpy.typing import ArrayLike

from tdlambda.features.arguments import whole_number
from tdlambda.features.discrete import state_index, state_indices
from tdlambda.features.encoder import Encoder, EncoderKernel, Indices, Values


class OneHot(Encoder):
    """The tabular case: state s has the single active feature s.

    xᵢ(s) = 1 if i = s else 0 (Sutton & Barto 2018, section 9.4, where tabular methods are linear ones).

    Parameters
    ----------
    n
        Number of states, at least 1; observations are integers in 0..n-1.

    Examples
    --------
    >>> from tdlambda.features import OneHot
    >>> encoder = OneHot(5)
    >>> encoder.encode(3)
    (array([3]), array([1.]))
    >>> encoder.dense(3)
    array([0., 0., 0., 1., 0.])
    """

    states: int
    kept_as: ClassVar[Mapping[str, str]] = {"n": "size"}

    def __init__(self, n: SupportsIndex) -> None:
        self.size = whole_number("n", n, least=1)
        self.active = 1
        self.states = self.size
        self._ones = np.ones(1)

    @property
    def loop_kernel(self) -> EncoderKernel | None:
        """The kernel for compiled loops, in which a state is a vector of one number."""
        return EncoderKernel(encode_state, np.array([float(self.size)]), 1, binary=True)

    def encode(self, observation: SupportsIndex) -> tuple[Indices, Values]:
        """The state as the only index, with the value 1."""
        indices = np.empty(1, dtype=np.int64)
        indices[0] = state_index(observation, self.size)
        return indices, self._ones.copy()

    def encode_batch(self, observations: ArrayLike) -> tuple[Indices, Values]:
        """The indices and values of n states, each of shape [n, 1]."""
        indices = state_indices(observations, self.size).reshape(-1, 1)
        return indices, np.ones(indices.shape)


def encode_state(obs: Values, numbers: Values, index: Indices, value: Values) -> int:
    """The kernel of `OneHot`; see `EncoderKernel`."""
    if not 0 <= obs[0] < numbers[0] or obs[0] != int(obs[0]):
        return 1
    index[0], value[0] = int(obs[0]), 1.0
    return 0

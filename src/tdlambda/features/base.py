"""What every encoder offers."""

from abc import ABC, abstractmethod
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tdlambda.compiled import compiled

Indices: TypeAlias = NDArray[np.int64]
Values: TypeAlias = NDArray[np.float64]


class Encoder(ABC):
    """A feature map x(s), given as the indices and values of its active entries.

    The value estimate is linear in the features, v(s) = wᵀx(s) = Σⱼ values[j] · w[indices[j]]
    (Sutton & Barto 2018, eq. 9.8): equal indices add.

    Attributes
    ----------
    size
        Number of features: the length of x and of w.
    active
        Number of entries in an encoding. Shorter encodings are padded with index 0 and value 0.0.

    Examples
    --------
    >>> from tdlambda.features import Encoder, OneHot
    >>> encoder: Encoder = OneHot(3)
    >>> encoder.size, encoder.active
    (3, 1)
    >>> encoder.encode(2)
    (array([2]), array([1.]))
    >>> encoder.matrix([2, 0])
    array([[0., 0., 1.],
           [1., 0., 0.]])
    >>> type(encoder)(**encoder.get_params()) == encoder
    True
    """

    size: int
    active: int

    @abstractmethod
    def encode(self, observation: Any) -> tuple[Indices, Values]:
        """Return the indices and the values of one observation's features, each of length ``active``."""

    @abstractmethod
    def encode_batch(self, observations: Any) -> tuple[Indices, Values]:
        """Return the indices and the values of n observations, each of shape [n, active]."""

    @abstractmethod
    def get_params(self) -> dict[str, Any]:
        """Return the constructor's arguments as plain data, fit for JSON."""

    def dense(self, observation: Any) -> Values:
        """Return the feature vector x(s), of length ``size``."""
        indices, values = self.encode(observation)
        x = np.zeros(self.size)
        _add_at(indices.reshape(1, -1), values.reshape(1, -1), x.reshape(1, -1))
        return x

    def matrix(self, observations: Any) -> Values:
        """Return the feature matrix X, of shape [n, size]: one observation's x(s) a row."""
        indices, values = self.encode_batch(observations)
        X = np.zeros((indices.shape[0], self.size))
        _add_at(indices, values, X)
        return X

    def __eq__(self, other: object) -> bool:
        """Tell whether the other is of the same type with the same parameters."""
        if not isinstance(other, Encoder) or type(self) is not type(other):
            return NotImplemented
        return self.get_params() == other.get_params()

    def __hash__(self) -> int:
        """Hash what equal encoders share and what is cheap to read."""
        return hash((type(self), self.size, self.active))

    def __repr__(self) -> str:
        """Write the call that makes an equal encoder."""
        arguments = ", ".join(f"{name}={value!r}" for name, value in self.get_params().items())
        return f"{type(self).__name__}({arguments})"


@compiled
def _add_at(indices: Indices, values: Values, X: Values) -> None:
    for row in range(indices.shape[0]):
        for entry in range(indices.shape[1]):
            X[row, indices[row, entry]] += values[row, entry]

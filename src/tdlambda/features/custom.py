"""Features from the user's own function."""

from collections.abc import Callable, Iterable
from typing import Any, NoReturn, SupportsIndex

import numpy as np

from tdlambda.features.arguments import fresh_array, whole_number
from tdlambda.features.encoder import Encoder, Indices, Values
from tdlambda.features.real import first_not_finite, first_overflow, real_array

_DENSE, _INDICES, _VALUES = "function's vector", "function's indices", "function's values"


class Custom(Encoder):
    """Features computed by your own function, x(s) = function(s), validated at each call.

    Parameters
    ----------
    function
        Function of an observation that returns a dense vector (array or list) of length `size`, or a tuple
        (indices, values) of at most `active` entries each; a tuple always means the latter. The encoder can be
        pickled if the function can be, that is, if it is defined at the top level of a module.
    size
        Number of features, at least 1.
    active
        Largest number of entries in an encoding, at least 1; `size` by default. If it is smaller, a dense vector is
        reduced to its non-zeros.

    Examples
    --------
    >>> from tdlambda.features import Custom
    >>> Custom(lambda word: [len(word), word.count("a")], size=2).encode("banana")
    (array([0, 1]), array([6., 3.]))
    >>> Custom(lambda s: ([s, s + 1], [0.5, 0.5]), size=10, active=2).encode(4)
    (array([4, 5]), array([0.5, 0.5]))
    """

    def __init__(
        self, function: Callable[[Any], Any], size: SupportsIndex, active: SupportsIndex | None = None
    ) -> None:
        if not callable(function):
            raise TypeError(f"function must be callable; got {function!r}")
        self.function = function
        self.size = whole_number("size", size, least=1)
        self.active = self.size if active is None else whole_number("active", active, least=1)

    def encode(self, observation: Any) -> tuple[Indices, Values]:
        """The function's features, padded to `active`."""
        features = self.function(observation)
        if isinstance(features, tuple):
            found, given = self._sparse(features)
        else:
            found, given = self._reduced(features)
        if found.size > self.active:
            raise ValueError(f"function must return at most {self.active} active features; got {found.size}")
        indices = np.zeros(self.active, dtype=np.int64)
        values = np.zeros(self.active)
        indices[: found.size] = found
        values[: found.size] = given
        if first_overflow(values, self.active) >= 0:
            raise ValueError(f"function's features must have a finite |x|²; got {values}")
        return indices, values

    def encode_batch(self, observations: Iterable[Any]) -> tuple[Indices, Values]:
        """The indices and values of n observations, with one call of the function each; both of shape [n, active]."""
        encodings = [self.encode(observation) for observation in observations]
        indices = np.array([indices for indices, _ in encodings], dtype=np.int64)
        values = np.array([values for _, values in encodings], dtype=np.float64)
        return indices.reshape(-1, self.active), values.reshape(-1, self.active)

    def get_params(self) -> NoReturn:
        """Raise TypeError, because a function is not plain data."""
        raise TypeError(f"Custom cannot be stored as plain data, because it contains a function: {self.function!r}")

    def __eq__(self, other: object) -> bool:
        """Whether the other encoder has the same function and sizes."""
        if not isinstance(other, Custom):
            return NotImplemented
        mine = (type(self), self.function, self.size, self.active)
        return mine == (type(other), other.function, other.size, other.active)

    __hash__ = Encoder.__hash__

    def __repr__(self) -> str:
        """The constructor's call."""
        return f"Custom(function={self.function!r}, size={self.size}, active={self.active})"

    def _sparse(self, features: tuple[Any, ...]) -> tuple[Indices, Values]:
        if len(features) != 2:
            raise ValueError(f"function must return a vector or (indices, values); got {features!r}")
        values = _vector(_VALUES, features[1])
        indices = fresh_array(_INDICES, features[0])
        if indices.shape != values.shape:
            raise ValueError(f"function must return as many indices as values; got {indices.shape} and {values.shape}")
        if indices.dtype.kind not in "iu" and indices.size > 0:
            raise TypeError(f"{_INDICES} must be integers; got {features[0]!r}")
        if ((indices < 0) | (indices >= self.size)).any():
            raise ValueError(f"{_INDICES} must be from 0 to {self.size - 1}; got {features[0]!r}")
        return indices.astype(np.int64), values

    def _reduced(self, features: Any) -> tuple[Indices, Values]:
        vector = _vector(_DENSE, features)
        if vector.size != self.size:
            raise ValueError(f"{_DENSE} must have the length {self.size}; got {vector.size}")
        if self.active >= self.size:
            return np.arange(self.size, dtype=np.int64), vector
        indices = np.flatnonzero(vector).astype(np.int64)
        return indices, vector[indices]


def _vector(name: str, given: Any) -> Values:
    vector = real_array(name, given)
    if vector.ndim != 1:
        raise ValueError(f"{name} must be one-dimensional; got the shape {vector.shape}")
    if first_not_finite(vector) >= 0:
        raise ValueError(f"{name} must be finite; got {given!r}")
    return vector

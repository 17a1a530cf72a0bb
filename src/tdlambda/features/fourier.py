"""The Fourier cosine basis of a box."""

import math
from typing import Any, SupportsIndex

import numpy as np
from numpy.typing import ArrayLike

from tdlambda.compiled import compiled
from tdlambda.features.arguments import whole_number
from tdlambda.features.base import Indices, Values
from tdlambda.features.box import BoxEncoder, Outside, to_unit_box
from tdlambda.features.real import real_vector, real_vectors

# 16 GiB an encoding: far beyond use, and well before NumPy's own messages turn obscure.
_MOST_FEATURES = 2**31


class Fourier(BoxEncoder):
    """The full Fourier cosine basis: xᵢ(s) = cos(π cᵢ·s̄), with s̄ the observation scaled to [0, 1]ᵈ.

    The cᵢ are all vectors of d integers in 0..order, in row-major order, the last dimension fastest:
    (order + 1)ᵈ dense features, the first of them constant. Konidaris, Osentoski & Thomas (2011), Value
    Function Approximation in Reinforcement Learning using the Fourier Basis.

    Parameters
    ----------
    low, high
        The box's bounds, one of each for each dimension.
    order
        The highest frequency along a dimension, in half periods a box.
    outside
        "clip" or "raise": what becomes of an observation outside the box.

    Examples
    --------
    >>> from tdlambda.features import Fourier
    >>> encoder = Fourier(low=0, high=3, order=2)
    >>> encoder.dense(1).round(3)
    array([ 1. ,  0.5, -0.5])
    >>> encoder.scales
    array([1. , 1. , 0.5])
    """

    def __init__(self, low: ArrayLike, high: ArrayLike, order: SupportsIndex = 3, outside: Outside = "clip") -> None:
        super().__init__(low, high, outside)
        self.order = whole_number("order", order, least=0)
        self.size = (self.order + 1) ** self._dimensions
        if self.size > _MOST_FEATURES:
            raise ValueError(
                f"order must give at most 2**31 features, got {self.size} "
                f"(order={self.order}, {self._dimensions} dimensions)"
            )
        self.active = self.size
        frequencies = np.indices((self.order + 1,) * self._dimensions).reshape(self._dimensions, -1).T
        self._frequencies = np.array(frequencies, dtype=np.float64, order="C")
        self._indices = np.arange(self.size, dtype=np.int64)

    @property
    def scales(self) -> Values:
        """The paper's step-size factors, one a feature: αᵢ = α/‖cᵢ‖, and α for c = 0."""
        norms = np.sqrt((self._frequencies**2).sum(axis=1))
        norms[0] = 1.0
        return np.asarray(1.0 / norms)

    def encode(self, observation: ArrayLike) -> tuple[Indices, Values]:
        """Return the indices 0..size-1 and the value of each feature."""
        return self._indices.copy(), self._cosines(real_vector(observation, self._dimensions))

    def encode_batch(self, observations: ArrayLike) -> tuple[Indices, Values]:
        """Encode n observations, [n, dimensions]; both results have the shape [n, size]."""
        values = self._cosines(real_vectors(observations, self._dimensions)).reshape(-1, self.size)
        return np.tile(self._indices, (values.shape[0], 1)), values

    def get_params(self) -> dict[str, Any]:
        """Return the constructor's arguments as plain data."""
        return {
            "low": self._low.tolist(),
            "high": self._high.tolist(),
            "order": self.order,
            "outside": self.outside,
        }

    def _cosines(self, points: Values) -> Values:
        values = np.empty(points.size // self._dimensions * self.size)
        wrong = _fill_cosines(points.reshape(-1), self._low, self._high, self._clip, self._frequencies, values)
        if wrong >= 0:
            self._refuse(points, wrong)
        return values


@compiled
def _fill_cosines(points: Values, low: Values, high: Values, clip: bool, frequencies: Values, values: Values) -> int:
    wrong = to_unit_box(points, low, high, clip)
    if wrong >= 0:
        return wrong
    size, d = frequencies.shape
    for row in range(points.size // d):
        for feature in range(size):
            product = 0.0
            for i in range(d):
                product += frequencies[feature, i] * points[row * d + i]
            values[row * size + feature] = math.cos(math.pi * product)
    return -1

"""The Fourier cosine basis of a box."""

from typing import SupportsIndex

import numpy as np
from numpy.typing import ArrayLike

from tdlambda.compiled import inlined, kernel
from tdlambda.features.arguments import whole_number
from tdlambda.features.box import BOUNDS, BoxEncoder, Outside, coordinate, first_outside
from tdlambda.features.encoder import EncoderKernel, Indices, Values, as_vector
from tdlambda.features.real import real_vectors

# 16 GiB per encoding: far beyond practical use, and below the sizes at which NumPy's own messages become obscure.
_MOST_FEATURES = 2**31


class Fourier(BoxEncoder):
    """The full Fourier cosine basis: xᵢ(s) = cos(π cᵢ·s̄), with s̄ the observation scaled to [0, 1]ᵈ.

    The cᵢ are all vectors of d integers in 0..order, in row-major order, the last dimension fastest:
    (order + 1)ᵈ dense features, the first of them constant. Konidaris, Osentoski & Thomas (2011), Value
    Function Approximation in Reinforcement Learning using the Fourier Basis.

    Parameters
    ----------
    low, high
        Finite bounds of the box, low < high, one of each per dimension.
    order
        Highest frequency along a dimension, in half periods per box, at least 0.
    outside
        Treatment of an observation outside the box: "clip" or "raise".

    Examples
    --------
    >>> from tdlambda.features import Fourier
    >>> encoder = Fourier(low=0, high=3, order=2)
    >>> encoder.dense(1).round(3)
    array([ 1. ,  0.5, -0.5])
    >>> encoder.scales
    array([1. , 1. , 0.5])
    """

    _kernel: EncoderKernel

    def __init__(self, low: ArrayLike, high: ArrayLike, order: SupportsIndex = 3, outside: Outside = "clip") -> None:
        super().__init__(low, high, outside)
        self.order = whole_number("order", order, least=0)
        self.size = (self.order + 1) ** self._dimensions
        if self.size > _MOST_FEATURES:
            raise ValueError(
                f"order must give at most 2**31 features; got {self.size} "
                f"(order={self.order}, {self._dimensions} dimensions)"
            )
        self.active = self.size
        self._indices = np.arange(self.size, dtype=np.int64)
        self._kernel = EncoderKernel(encode_cosines, np.append(self._bounds, self.order + 1.0), self._dimensions)

    @property
    def scales(self) -> Values:
        """The paper's step-size factors, one per feature: αᵢ = α/‖cᵢ‖, and α for c = 0."""
        frequencies = np.indices((self.order + 1,) * self._dimensions, dtype=np.float64)
        norms = np.sqrt((frequencies**2).sum(axis=0)).reshape(-1)
        norms[0] = 1.0
        return np.asarray(1.0 / norms)

    def encode(self, observation: ArrayLike) -> tuple[Indices, Values]:
        """The indices 0..size-1 and the value of each feature."""
        point = as_vector(observation, self._dimensions)
        values = np.empty(self.size)
        self._fill(point, point, values)
        return self._indices.copy(), values

    def encode_batch(self, observations: ArrayLike) -> tuple[Indices, Values]:
        """The indices and values of n observations [n, dimensions], each of shape [n, size]."""
        points = real_vectors(observations, self._dimensions)
        values = np.empty((points.shape[0], self.size))
        self._fill(points, points.reshape(-1), values.reshape(-1))
        return np.tile(self._indices, (values.shape[0], 1)), values

    def _fill(self, points: Values, flat: Values, values: Values) -> None:
        wrong = _fill_cosines(flat, self._kernel.numbers, self._dimensions, self.size, values)
        if wrong >= 0:
            self._refuse(points, wrong)


def encode_cosines(obs: Values, numbers: Values, index: Indices, value: Values) -> int:
    """The kernel of `Fourier`; see `EncoderKernel`."""
    if first_outside(obs, numbers) >= 0:
        return 1
    for feature in range(index.size):
        index[feature] = feature
    cosines(obs, numbers, value)
    return 0


@inlined
def cosines(obs: Values, numbers: Values, value: Values) -> None:
    """Fill in the value of each feature; the numbers are those of the box, then order + 1."""
    frequencies = int(numbers[BOUNDS * obs.size])
    # With c·s̄ over the first dimensions known for all their frequencies, the next dimension gives each of these sums a
    # block of `frequencies` sums. Blocks are written from the last to the first, so no sum is overwritten before use.
    value[0] = 0.0
    sums = 1
    for i in range(obs.size):
        point = coordinate(obs, numbers, i)
        for block in range(sums - 1, -1, -1):
            product = value[block]
            for c in range(frequencies):
                value[block * frequencies + c] = product + c * point
        sums *= frequencies
    for feature in range(sums):
        value[feature] = np.cos(np.pi * value[feature])


@kernel
def _fill_cosines(points: Values, numbers: Values, dimensions: int, size: int, values: Values) -> int:
    """Fill in the features of each flat point.

    Return the flat position of the first invalid entry, or -1.
    """
    for row in range(points.size // dimensions):
        obs = points[row * dimensions : (row + 1) * dimensions]
        wrong = first_outside(obs, numbers)
        if wrong >= 0:
            return row * dimensions + wrong
        cosines(obs, numbers, values[row * size : (row + 1) * size])
    return -1

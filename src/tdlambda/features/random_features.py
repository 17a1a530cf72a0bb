"""Random features of vectors of readings, standardised online."""

from __future__ import annotations

from typing import Any, ClassVar, SupportsIndex

import numpy as np
from numpy.typing import ArrayLike

from tdlambda.compiled import inlined, kernel
from tdlambda.features.arguments import whole_number
from tdlambda.features.dense import require_finite
from tdlambda.features.encoder import Encoder, EncoderKernel, Indices, Values, as_vector
from tdlambda.features.real import overflows, real_array, real_vectors

FIRST, LAST = 8, 1024
"""Centres and scales are set after FIRST, 2 FIRST, 4 FIRST, …, LAST observations, and are fixed from then on."""
FARTHEST = 5.0
"""Standardised readings are clipped to ±FARTHEST."""
BANDWIDTHS = (0.8, 1.6, 3.2)
"""Standard deviations of random frequencies, times √n; each third of the features has one of them."""
MEAN, VARIANCE, CENTER, SCALE, COUNT = range(5)
"""Rows of `moments`."""


def frequencies(n: int, m: int, seed: int) -> Values:
    """Random frequencies of n standardised readings, then a phase [m, n + 1]; low frequencies come first."""
    rng = np.random.default_rng(seed)
    widths = np.repeat(BANDWIDTHS, -(-m // len(BANDWIDTHS)))[:m]
    return np.column_stack([rng.normal(size=(m, n)) * widths[:, None] / np.sqrt(n), rng.uniform(0, 2 * np.pi, m)])


class RandomFeatures(Encoder):
    """Base class of fixed random functions of online-standardised readings: x_i = f(a_i·z + b_i).

    z = (s - centre)/scale, clipped to ±5. Centre and scale are the mean and deviation of the observations learned from
    so far; they change after 8, 16, 32, …, 1024 observations and then stay fixed. A learner copies the encoder and
    passes it each observation that it learns from (`observe`); predictions do not change it.
    """

    curve: ClassVar[Any]
    """f, as the kernel of the encoder."""
    rectified: ClassVar[bool]

    def __init__(
        self, n: SupportsIndex, m: SupportsIndex, seed: SupportsIndex = 0, moments: ArrayLike | None = None
    ) -> None:
        self.dimensions, self.size = whole_number("n", n, least=1), whole_number("m", m, least=1)
        self.active, self.seed = self.size, whole_number("seed", seed, least=0)
        self.moments = np.zeros((COUNT + 1, self.dimensions))
        if moments is not None:
            given = real_array("moments", moments)
            positive = given.shape == self.moments.shape and (given[[VARIANCE, SCALE, COUNT]] >= 0).all()
            if not (positive and np.isfinite(given).all()):
                raise ValueError(
                    f"moments must be {COUNT + 1} rows of {self.dimensions} finite numbers, as get_params returns them"
                )
            self.moments[:] = given
        self._indices = np.arange(self.size, dtype=np.int64)
        scaling = np.repeat([0.0, 1.0], self.dimensions)
        self._numbers = np.concatenate([scaling, self._directions().ravel()])
        self._standardise()

    def _directions(self) -> Values:
        """a and b [m, n + 1]."""
        raise NotImplementedError

    @property
    def settled(self) -> bool:
        """Whether centres and scales are fixed, that is, after 1024 observations."""
        return bool(self.moments[COUNT, 0] >= LAST)

    def observe(self, observation: ArrayLike) -> None:
        """Update the moments."""
        if self.settled:
            return
        x, (mean, variance, center, scale, count) = as_vector(observation, self.dimensions), self.moments
        count += 1
        error = x - mean
        mean += error / count
        variance += (error * (x - mean) - variance) / count
        seen = int(count[0])
        if seen >= FIRST and seen & (seen - 1) == 0:
            center[:], scale[:] = mean, np.sqrt(np.maximum(variance, 0.0))
            self._standardise()

    def _standardise(self) -> None:
        n, (_, _, center, scale, count) = self.dimensions, self.moments
        if count[0] >= FIRST:
            moves = scale > 1e-12 * np.abs(center)
            inverse = np.divide(1.0, scale, out=np.zeros(n), where=moves)
            self._numbers[: 2 * n] = np.concatenate([center, np.where(np.isfinite(inverse), inverse, 0.0)])

    def encode(self, observation: ArrayLike) -> tuple[Indices, Values]:
        """The indices 0..m-1 and the value of each feature."""
        values, vector = np.empty(self.size), require_finite(as_vector(observation, self.dimensions))
        _fill(vector, self._numbers, self.dimensions, self.size, self.rectified, values)
        return self._indices.copy(), values

    def encode_batch(self, observations: ArrayLike) -> tuple[Indices, Values]:
        """The indices and values of k observations [k, n], each of shape [k, m]."""
        vectors = require_finite(real_vectors(observations, self.dimensions))
        values = np.empty((len(vectors), self.size))
        _fill(vectors.reshape(-1), self._numbers, self.dimensions, self.size, self.rectified, values.reshape(-1))
        return np.tile(self._indices, (len(vectors), 1)), values

    @property
    def kernel(self) -> EncoderKernel | None:
        """The compiled form of `encode`; None before centres and scales are fixed."""
        return EncoderKernel(type(self).curve, self._numbers, self.dimensions) if self.settled else None

    def copy(self) -> RandomFeatures:
        """An independent copy."""
        return type(self)(**self.get_params())

    def get_params(self) -> dict[str, Any]:
        """The constructor's arguments as plain data; the moments only after the first observation."""
        own: dict[str, Any] = {"n": self.dimensions, "m": self.size, "seed": self.seed}
        return own | ({"moments": self.moments.tolist()} if self.moments[COUNT, 0] > 0 else {})


def encode_random_cosines(obs: Values, numbers: Values, index: Indices, value: Values) -> int:
    """The kernel of `RandomFourier`; its numbers are centres, inverse scales, and rows of frequencies and phases."""
    if overflows(obs):
        return 1
    for i in range(index.size):
        index[i] = i
        value[i] = np.sqrt(2.0 / index.size) * np.cos(projection(obs, numbers, i))
    return 0


def encode_random_rectified(obs: Values, numbers: Values, index: Indices, value: Values) -> int:
    """The kernel of `RandomReLU`; its numbers are centres, inverse scales, and rows of directions and offsets."""
    if overflows(obs):
        return 1
    for i in range(index.size):
        index[i] = i
        value[i] = np.sqrt(2.0 / index.size) * max(0.0, projection(obs, numbers, i))
    return 0


class RandomFourier(RandomFeatures):
    """Random Fourier features: x_i = √(2/m) cos(a_i·z + b_i), of standardised readings z.

    The frequencies a_i are normal with deviations 0.8, 1.6 and 3.2, divided by √n, for a third of the features each;
    the phases b_i are uniform. Rahimi & Recht (2007), Random Features for Large-Scale Kernel Machines. Centres and
    scales of the readings are learned from the first 1024 observations: see `settled`.

    Parameters
    ----------
    n
        Number of readings in an observation, at least 1.
    m
        Number of features, at least 1.
    seed
        Seed of the frequencies and phases, at least 0.
    moments
        Running moments of the readings, as `get_params` returns them; by default none.

    Examples
    --------
    >>> import numpy as np, tdlambda as td
    >>> v = td.TD(td.features.RandomFourier(2, 50), alpha=0.1, lam=0.8)
    >>> rng = np.random.default_rng(0)
    >>> X = 300 + 20 * rng.normal(size=(2001, 2))
    >>> v.update_many(X[:-1], np.sin(X[:-1, 0] / 20), X[1:], gamma=0.0)
    >>> v.features.settled, bool(abs(v.predict([300, 300]) - np.sin(15)) < 0.2)
    (True, True)
    """

    curve, rectified = staticmethod(encode_random_cosines), False

    def _directions(self) -> Values:
        return frequencies(self.dimensions, self.size, self.seed)


class RandomReLU(RandomFeatures):
    """Random rectified features: x_i = √(2/m) max(0, a_i·z + b_i), of standardised readings z.

    The directions a_i are normal with deviation 1/√n, the offsets b_i normal with deviation 1. Centres and scales of
    the readings are learned from the first 1024 observations: see `settled`.

    Parameters
    ----------
    n
        Number of readings in an observation, at least 1.
    m
        Number of features, at least 1.
    seed
        Seed of the directions and offsets, at least 0.
    moments
        Running moments of the readings, as `get_params` returns them; by default none.

    Examples
    --------
    >>> from tdlambda.features import RandomReLU
    >>> index, value = RandomReLU(2, 5).encode([0.5, -1.0])
    >>> index, bool((value >= 0).all())
    (array([0, 1, 2, 3, 4]), True)
    """

    curve, rectified = staticmethod(encode_random_rectified), True

    def _directions(self) -> Values:
        rng = np.random.default_rng(self.seed)
        a = rng.normal(size=(self.size, self.dimensions)) / np.sqrt(self.dimensions)
        return np.column_stack([a, rng.normal(size=self.size)])


@inlined
def projection(obs: Values, numbers: Values, i: int) -> float:
    """a·z + b of feature i."""
    n = obs.size
    at = 2 * n + i * (n + 1)
    total = numbers[at + n]
    for k in range(n):
        z = (obs[k] - numbers[k]) * numbers[n + k]
        total += numbers[at + k] * min(max(z, -FARTHEST), FARTHEST)
    return total


@kernel
def _fill(vectors: Values, numbers: Values, n: int, m: int, rectified: bool, values: Values) -> None:
    """Write the features of each flat vector."""
    for row in range(vectors.size // n):
        obs = vectors[row * n : (row + 1) * n]
        for i in range(m):
            a = projection(obs, numbers, i)
            values[row * m + i] = np.sqrt(2.0 / m) * (max(0.0, a) if rectified else np.cos(a))

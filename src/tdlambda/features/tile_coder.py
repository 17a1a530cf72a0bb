"""Tile coding of a box."""

import math
from typing import Any, Literal, SupportsIndex

import numpy as np
from numpy.typing import ArrayLike

from tdlambda.arrays import choice
from tdlambda.features.arguments import whole_number
from tdlambda.features.box import BoxEncoder, Outside
from tdlambda.features.encoder import EncoderKernel, Indices, Values, as_vector
from tdlambda.features.hashing import hash_tiles
from tdlambda.features.real import real_vectors
from tdlambda.features.tiling import encode_hashed_tiles, encode_tiles, tile_points, tiling_numbers

# Beyond this, float64, in which tiles are computed, cannot represent every tile number.
_MOST_TILES = 2**53


class TileCoder(BoxEncoder):
    """Tile coding: several grids over a box, each offset by a fraction of a tile.

    Along dimension i (from 0), tiling k has the tile ⌊(xᵢ - lowᵢ)/(highᵢ - lowᵢ) · tilesᵢ + oₖᵢ⌋, clipped
    to 0..tilesᵢ-1: nothing wraps around. With n tilings the offsets are oₖᵢ = ((k·dᵢ mod n) + ½)/n - ½
    tiles, evenly spaced and centred, for the displacement vector d = (1, 1, 1, ...) ("symmetric") or
    (1, 3, 5, ...) ("asymmetric", Miller & Glanz 1996). Sutton & Barto (2018), section 9.5.4, recommend
    the latter with a power of two of at least 4 · dimensions tilings; where n shares a factor with dᵢ,
    some tilings have the same offset along dimension i.

    Parameters
    ----------
    low, high
        Finite bounds of the box, low < high, one of each per dimension.
    tilings
        Number n of tilings, at least 1, which is also the number of active tiles.
    tiles
        Number of tiles along each dimension, at least 1, or one number for all dimensions.
    offsets
        "symmetric" or "asymmetric".
    bias
        Whether to add a last feature that is always 1.
    hash_size
        Number of features into which all tiles are hashed, at least 1; None gives each tile its own. Tiles of one
        encoding may be hashed to the same slot: their index then occurs twice, and equal indices add.
    outside
        Treatment of an observation outside the box: "clip" or "raise".

    Examples
    --------
    >>> from tdlambda.features import TileCoder
    >>> encoder = TileCoder(low=[0, 0], high=[1, 1], tilings=2, tiles=4)
    >>> encoder.size
    32
    >>> encoder.encode([0.0, 1.0])
    (array([ 3, 19]), array([1., 1.]))
    """

    _kernel: EncoderKernel

    def __init__(
        self,
        low: ArrayLike,
        high: ArrayLike,
        tilings: SupportsIndex = 8,
        tiles: ArrayLike = 8,
        offsets: Literal["symmetric", "asymmetric"] = "symmetric",
        bias: bool = False,
        hash_size: SupportsIndex | None = None,
        outside: Outside = "clip",
    ) -> None:
        super().__init__(low, high, outside)
        self.tilings = whole_number("tilings", tilings, least=1)
        self.tiles = _checked_tiles(tiles, self._dimensions)
        self.offsets = choice(offsets, "offsets", "symmetric", "asymmetric")
        if not isinstance(bias, bool):
            raise TypeError(f"bias must be True or False; got {bias!r}")
        self.bias = bias
        self.hash_size = None if hash_size is None else whole_number("hash_size", hash_size, least=1)
        tile_count = self.tilings * math.prod(self.tiles)
        if tile_count >= 2**62:
            raise ValueError(
                "tilings * prod(tiles) must be below 2**62; "
                f"got {tile_count} (tilings={self.tilings}, tiles={self.tiles})"
            )
        self.size = (self.hash_size or tile_count) + bias
        self.active = self.tilings + bias
        d = np.arange(self._dimensions)
        displacement = 2 * d + 1 if offsets == "asymmetric" else np.ones_like(d)
        k = np.arange(self.tilings)[:, None]
        self._offsets = (k * displacement % self.tilings + 0.5) / self.tilings - 0.5
        self._tile_counts = np.array(self.tiles, dtype=np.int64)
        self._ones = np.ones(self.active)
        self._owner = np.full(self.hash_size or 0, -1, dtype=np.int64)
        self._collisions = 0
        numbers = tiling_numbers(self._bounds, self.tiles, self._offsets, bias)
        if self.hash_size is None:
            self._kernel = EncoderKernel(encode_tiles, numbers, self._dimensions, binary=True)
        else:
            numbers = np.append(numbers, [self.tilings, self.hash_size])
            self._kernel = EncoderKernel(encode_hashed_tiles, numbers, self._dimensions)

    @property
    def collisions(self) -> int:
        """Number of encodings so far in which a tile was hashed to a slot that another tile owns.

        A diagnostic of `hash_size`; the encodings do not depend on it. Always 0 without hashing.
        """
        return self._collisions

    @property
    def kernel(self) -> EncoderKernel | None:
        """The compiled form of `encode`; None with `hash_size`, because compiled code does not count collisions."""
        return self._kernel if self.hash_size is None else None

    @property
    def loop_kernel(self) -> EncoderKernel | None:
        """The kernel for compiled loops, which do not count collisions."""
        return self._kernel

    def encode(self, observation: ArrayLike) -> tuple[Indices, Values]:
        """The active tile of each tiling (and the bias), with the value 1."""
        point = as_vector(observation, self._dimensions)
        indices = np.empty(self.active, np.int64)
        self._tile(point, point, indices)
        return indices, self._ones.copy()

    def encode_batch(self, observations: ArrayLike) -> tuple[Indices, Values]:
        """The indices and values of n observations [n, dimensions], each of shape [n, active]."""
        points = real_vectors(observations, self._dimensions)
        indices = np.empty((points.shape[0], self.active), np.int64)
        self._tile(points, points.reshape(-1), indices.reshape(-1))
        return indices, np.ones(indices.shape)

    def _tile(self, points: Values, flat: Values, indices: Indices) -> None:
        wrong = tile_points(flat, self._kernel.numbers, self._dimensions, self.active, indices)
        if wrong >= 0:
            self._refuse(points, wrong)
        if self.hash_size is not None:
            self._collisions += hash_tiles(indices, self.active, self.tilings, self._owner)


def _checked_tiles(tiles: Any, dimensions: int) -> tuple[int, ...]:
    if np.ndim(tiles) == 0:
        return (_tile_count("tiles", tiles),) * dimensions
    if len(tiles) != dimensions:
        raise ValueError(f"tiles must be one number or one for each of {dimensions} dimensions; got {tiles!r}")
    return tuple(_tile_count(f"tiles[{i}]", count) for i, count in enumerate(tiles))


def _tile_count(name: str, given: Any) -> int:
    count = whole_number(name, given, least=1)
    if count > _MOST_TILES:
        raise ValueError(f"{name} must be at most 2**53, the precision of float64; got {count}")
    return count

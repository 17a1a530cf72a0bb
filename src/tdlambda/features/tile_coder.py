"""Tile coding of a box."""

import math
from typing import Any, Literal, SupportsIndex

import numpy as np
from numpy.typing import ArrayLike

from tdlambda.features.arguments import choice, whole_number
from tdlambda.features.base import Indices, Values
from tdlambda.features.box import BoxEncoder, Outside
from tdlambda.features.hashing import hash_tiles
from tdlambda.features.real import real_vector, real_vectors
from tdlambda.features.tiling import tile_points


class TileCoder(BoxEncoder):
    """Tile coding: several grids laid over a box, each moved by a fraction of a tile.

    Along dimension i (from 0), tiling k has the tile ⌊(xᵢ - lowᵢ)/(highᵢ - lowᵢ) · tilesᵢ + oₖᵢ⌋, clipped
    to 0..tilesᵢ-1: nothing wraps around. With n tilings the offsets are oₖᵢ = ((k·dᵢ mod n) + ½)/n - ½
    tiles, evenly spaced and centred, for the displacement vector d = (1, 1, 1, ...) ("symmetric") or
    (1, 3, 5, ...) ("asymmetric", Miller & Glanz 1996). Sutton & Barto (2018), section 9.5.4, recommend
    the latter with a power of two of at least 4 · dimensions tilings; where n shares a factor with dᵢ,
    some tilings have the same offset along dimension i.

    Parameters
    ----------
    low, high
        The box's bounds, one of each for each dimension.
    tilings
        Number of tilings, n: the number of active tiles.
    tiles
        Number of tiles along each dimension, or one number for all.
    offsets
        "symmetric" or "asymmetric".
    bias
        Add a last feature that is always 1.
    hash_size
        Hash all tiles into this many features; None gives each tile its own. Tiles of one encoding may
        come to the same slot: their index then occurs twice, and equal indices add.
    outside
        "clip" or "raise": what becomes of an observation outside the box.

    Examples
    --------
    >>> from tdlambda.features import TileCoder
    >>> encoder = TileCoder(low=[0, 0], high=[1, 1], tilings=2, tiles=4)
    >>> encoder.size
    32
    >>> encoder.encode([0.0, 1.0])
    (array([ 3, 19]), array([1., 1.]))
    """

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
        self.offsets = choice("offsets", offsets, ("symmetric", "asymmetric"))
        if not isinstance(bias, bool):
            raise TypeError(f"bias must be True or False, got {bias!r}")
        self.bias = bias
        self.hash_size = None if hash_size is None else whole_number("hash_size", hash_size, least=1)
        tile_count = self.tilings * math.prod(self.tiles)
        if tile_count >= 2**62:
            raise ValueError(
                "tilings * prod(tiles) must be below 2**62, "
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

    @property
    def collisions(self) -> int:
        """Encodings so far in which a tile came to a slot first taken by another tile.

        A diagnostic of ``hash_size``; the encodings do not depend on it. Always 0 without hashing.
        """
        return self._collisions

    def encode(self, observation: ArrayLike) -> tuple[Indices, Values]:
        """Return the active tile of each tiling (and the bias), with the value 1."""
        return self._tile(real_vector(observation, self._dimensions)), self._ones.copy()

    def encode_batch(self, observations: ArrayLike) -> tuple[Indices, Values]:
        """Encode n observations, [n, dimensions]; both results have the shape [n, active]."""
        indices = self._tile(real_vectors(observations, self._dimensions)).reshape(-1, self.active)
        return indices, np.ones(indices.shape)

    def get_params(self) -> dict[str, Any]:
        """Return the constructor's arguments as plain data."""
        return {
            "low": self._low.tolist(),
            "high": self._high.tolist(),
            "tilings": self.tilings,
            "tiles": list(self.tiles),
            "offsets": self.offsets,
            "bias": self.bias,
            "hash_size": self.hash_size,
            "outside": self.outside,
        }

    def _tile(self, points: Values) -> Indices:
        indices = np.empty(points.size // self._dimensions * self.active, dtype=np.int64)
        wrong = tile_points(
            points.reshape(-1),
            self._low,
            self._high,
            self._clip,
            self._tile_counts,
            self._offsets,
            self.active,
            self.size - 1,
            indices,
        )
        if wrong >= 0:
            self._refuse(points, wrong)
        if self.hash_size is not None:
            self._collisions += hash_tiles(indices, self.active, self.tilings, self._owner)
        return indices


def _checked_tiles(tiles: Any, dimensions: int) -> tuple[int, ...]:
    if np.ndim(tiles) == 0:
        return (whole_number("tiles", tiles, least=1),) * dimensions
    if len(tiles) != dimensions:
        raise ValueError(f"tiles must be one number or one for each of {dimensions} dimensions, got {tiles!r}")
    return tuple(whole_number(f"tiles[{i}]", count, least=1) for i, count in enumerate(tiles))

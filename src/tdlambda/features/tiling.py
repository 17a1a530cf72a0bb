"""The active tile of each tiling at a point."""

import numpy as np

from tdlambda.compiled import inlined, kernel, lanewise
from tdlambda.features.box import BOUNDS, coordinate, first_outside
from tdlambda.features.encoder import Indices, Values
from tdlambda.features.hashing import slot


def tiling_numbers(bounds: Values, tiles: tuple[int, ...], offsets: Values, bias: bool) -> Values:
    """The constants for `tile_point`: the bounds, then for each dimension its tiles and the offset of each tiling.

    The bias is one more tiling with offset -∞, so that every point is in its first tile.
    """
    blocks = np.empty((len(tiles), 1 + len(offsets) + bias))
    blocks[:, 0] = tiles
    blocks[:, 1 : 1 + len(offsets)] = offsets.T
    blocks[:, 1 + len(offsets) :] = -np.inf
    return np.concatenate([bounds.reshape(-1), blocks.reshape(-1)])


def encode_tiles(obs: Values, numbers: Values, index: Indices, value: Values) -> int:
    """The kernel of `TileCoder` without hashing; see `EncoderKernel`."""
    if first_outside(obs, numbers) >= 0:
        return 1
    tile_point(obs, numbers, index)
    for k in range(value.size):
        value[k] = 1.0
    return 0


def encode_hashed_tiles(obs: Values, numbers: Values, index: Indices, value: Values) -> int:
    """The kernel of `TileCoder` with hashing; the last two numbers are those of tilings and of slots."""
    if first_outside(obs, numbers) >= 0:
        return 1
    tile_point(obs, numbers, index)
    tilings, slots = int(numbers[numbers.size - 2]), int(numbers[numbers.size - 1])
    for k in range(value.size):
        index[k] = slot(index[k], slots) if k < tilings else slots
        value[k] = 1.0
    return 0


@lanewise
def tile_point(obs: Values, numbers: Values, index: Indices) -> None:
    """Fill in the tile of the observation in each tiling, by the numbers of `tiling_numbers`."""
    start = BOUNDS * obs.size
    # Dimension by dimension, so that each coordinate is scaled once and the inner loop runs along the offsets.
    for i in range(obs.size):
        point = coordinate(obs, numbers, i)
        tiles = numbers[start]
        count = int(tiles)
        for k in range(index.size):
            before = index[k] if i > 0 else k
            index[k] = before * count + int(cell(point, tiles, numbers[start + 1 + k]))
        start += 1 + index.size


@inlined
def cell(point: float, tiles: float, offset: float) -> float:
    """The tile of a point in [0, 1] along one dimension, as a float, so that the compiler can vectorise the loop."""
    return min(max(np.floor(point * tiles + offset), 0.0), tiles - 1.0)


@kernel
def tile_points(points: Values, numbers: Values, dimensions: int, active: int, indices: Indices) -> int:
    """Fill in the tiles of each flat point.

    Return the flat position of the first invalid entry, or -1.
    """
    for row in range(points.size // dimensions):
        obs = points[row * dimensions : (row + 1) * dimensions]
        wrong = first_outside(obs, numbers)
        if wrong >= 0:
            return row * dimensions + wrong
        tile_point(obs, numbers, indices[row * active : (row + 1) * active])
    return -1

"""Which tile of each tiling a point is in."""

import numpy as np

from tdlambda.compiled import compiled, inlined
from tdlambda.features.base import Indices, Values
from tdlambda.features.box import to_unit_box


@inlined
def cell(point: float, tiles: float, offset: float) -> float:
    """The tile, along one dimension, of a point in [0, 1]; as a float, which the compiler can make vectors of."""
    return min(max(np.floor(point * tiles + offset), 0.0), tiles - 1.0)


@compiled
def tile_points(
    points: Values,
    low: Values,
    high: Values,
    clip: bool,
    tiles: Indices,
    offsets: Values,
    active: int,
    last: int,
    indices: Indices,
) -> int:
    """Fill in the tile of each flat point in each tiling, and ``last`` as the bias where active > tilings.

    Return the flat position of the first entry of the points that has to be refused, or -1.
    """
    wrong = to_unit_box(points, low, high, clip)
    if wrong >= 0:
        return wrong
    tilings, d = offsets.shape
    for row in range(points.size // d):
        for k in range(tilings):
            tile = k
            for i in range(d):
                tile = tile * tiles[i] + int(cell(points[row * d + i], tiles[i], offsets[k, i]))
            indices[row * active + k] = tile
        if active > tilings:
            indices[row * active + tilings] = last
    return -1

"""Hashing of tiles into a fixed number of slots."""

import numpy as np

from tdlambda.compiled import inlined, kernel
from tdlambda.features.encoder import Indices


@inlined
def mix(z: np.uint64) -> np.uint64:
    """The SplitMix64 finaliser of z: a bijection of the 64-bit integers, the same on every machine.

    Steele, Lea & Flood (2014), Fast Splittable Pseudorandom Number Generators, with the constants of
    Stafford's variant 13.
    """
    # Numba turns a mix of signed and unsigned integers into floats, so each constant is unsigned.
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@inlined
def slot(tile: int, slots: int) -> np.int64:
    """The slot that a tile is hashed to."""
    return np.int64(mix(np.uint64(tile)) % np.uint64(slots))


@kernel
def hash_tiles(indices: Indices, active: int, tilings: int, owner: Indices) -> int:
    """Replace the tiles by their slots, the first `tilings` of each `active` flat entries; the bias comes last.

    The first tile in a slot becomes its owner. Return the number of encodings in which a tile was hashed to a slot
    that another tile owns.
    """
    collisions = 0
    for start in range(0, indices.size, active):
        collided = False
        for entry in range(start, start + tilings):
            tile = indices[entry]
            taken = slot(tile, owner.size)
            if owner[taken] < 0:
                owner[taken] = tile
            collided |= owner[taken] != tile
            indices[entry] = taken
        if active > tilings:
            indices[start + tilings] = owner.size
        collisions += collided
    return collisions

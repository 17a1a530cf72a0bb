"""Hashing of tiles into a fixed number of slots."""

import numpy as np

from tdlambda.compiled import compiled
from tdlambda.features.base import Indices

# Numba turns a mix of signed and unsigned integers into floats, so each constant is unsigned.
_FIRST = np.uint64(0xBF58476D1CE4E5B9)
_SECOND = np.uint64(0x94D049BB133111EB)
_30, _27, _31 = np.uint64(30), np.uint64(27), np.uint64(31)


@compiled
def mix(z: np.uint64) -> np.uint64:
    """Return the SplitMix64 finaliser of z: a bijection of the 64-bit integers, the same on every machine.

    Steele, Lea & Flood (2014), Fast Splittable Pseudorandom Number Generators, with the constants of
    Stafford's variant 13.
    """
    z = (z ^ (z >> _30)) * _FIRST
    z = (z ^ (z >> _27)) * _SECOND
    return z ^ (z >> _31)


@compiled
def hash_tiles(indices: Indices, active: int, tilings: int, owner: Indices) -> int:
    """Replace the tiles by their slots, the first ``tilings`` of each ``active`` flat entries.

    A slot's first tile becomes its owner. Return in how many encodings some tile came to a slot that
    another tile owns.
    """
    slots = np.uint64(owner.size)
    collisions = 0
    for start in range(0, indices.size, active):
        collided = False
        for entry in range(start, start + tilings):
            tile = indices[entry]
            slot = np.int64(mix(np.uint64(tile)) % slots)
            if owner[slot] < 0:
                owner[slot] = tile
            collided |= owner[slot] != tile
            indices[entry] = slot
        collisions += collided
    return collisions

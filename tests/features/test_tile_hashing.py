import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tdlambda.compiled import kernel
from tdlambda.features import TileCoder, hashing

MASK = 2**64 - 1


@kernel
def mix(z: np.uint64) -> np.uint64:
    return hashing.mix(z)


def plain_mix(z: int) -> int:
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 & MASK
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB & MASK
    return z ^ (z >> 31)


def test_published_outputs_of_splitmix64() -> None:
    # The generator's first outputs for the seed 1234567: it mixes multiples of the golden gamma.
    outputs = [6457827717110365317, 3203168211198807973, 9817491932198370423, 4593380528125082431]
    for k, output in enumerate(outputs, start=1):
        assert int(mix(np.uint64((1234567 + k * 0x9E3779B97F4A7C15) & MASK))) == output


@given(z=st.integers(0, MASK))
def test_mix_against_python_integers(z: int) -> None:
    assert int(mix(np.uint64(z))) == plain_mix(z)


def test_golden_encodings() -> None:
    coder = TileCoder([0, 0], [1, 1], tilings=4, tiles=8, hash_size=1000, bias=True)
    assert (coder.size, coder.active) == (1001, 5)
    assert coder.encode([0.0, 0.0])[0].tolist() == [0, 955, 534, 594, 1000]
    assert coder.encode([0.3, 0.7])[0].tolist() == [41, 391, 71, 44, 1000]


@given(
    points=st.lists(st.lists(st.floats(0, 1), min_size=2, max_size=2), max_size=30),
    hash_size=st.integers(1, 60),
    bias=st.booleans(),
)
def test_slots_and_collisions_by_brute_force(points: list[list[float]], hash_size: int, bias: bool) -> None:
    plain = TileCoder([0, 0], [1, 1], tilings=3, tiles=4)
    hashed = TileCoder([0, 0], [1, 1], tilings=3, tiles=4, hash_size=hash_size, bias=bias)
    batched = TileCoder([0, 0], [1, 1], tilings=3, tiles=4, hash_size=hash_size, bias=bias)
    owners: dict[int, int] = {}
    collisions = 0
    for point in points:
        tiles = plain.encode(point)[0].tolist()
        slots = [plain_mix(tile) % hash_size for tile in tiles]
        foreign = [owners.setdefault(slot, tile) != tile for slot, tile in zip(slots, tiles, strict=True)]
        collisions += any(foreign)
        assert hashed.encode(point)[0].tolist() == slots + [hash_size] * bias
        assert hashed.collisions == collisions
    batched.encode_batch(points)
    assert batched.collisions == collisions
    assert plain.collisions == 0


def test_encoding_does_not_depend_on_history() -> None:
    used, fresh = (TileCoder(0, 1, tiles=100, hash_size=50) for _ in range(2))
    used.encode_batch(np.linspace(0, 1, 500))
    assert used.collisions > 0
    assert used.encode(0.4)[0].tolist() == fresh.encode(0.4)[0].tolist()
    assert used == fresh


def test_equal_indices_add() -> None:
    coder = TileCoder(0, 1, tilings=3, hash_size=1)
    assert coder.encode(0.5)[0].tolist() == [0, 0, 0]
    assert coder.dense(0.5).tolist() == [3.0]
    assert coder.matrix([0.5, 0.1]).tolist() == [[3.0], [3.0]]
    assert coder.collisions == 4


def test_pickle_keeps_the_count_and_params_do_not() -> None:
    coder = TileCoder(0, 1, tilings=3, hash_size=1)
    coder.encode(0.5)
    again = pickle.loads(pickle.dumps(coder))
    assert again.collisions == 1
    again.encode(0.5)
    assert (again.collisions, coder.collisions) == (2, 1)
    assert TileCoder(**coder.get_params()).collisions == 0


def test_refused_observations_are_not_counted() -> None:
    coder = TileCoder(0, 1, tilings=3, hash_size=1)
    with pytest.raises(ValueError, match=r"observations\[1\]\[0\] must be a number"):
        coder.encode_batch([0.5, np.nan])
    assert coder.collisions == 0


def test_tiles_beyond_32_bits() -> None:
    coder = TileCoder([0, 0], [1, 1], tilings=1, tiles=2**30, hash_size=10**6)
    assert coder.encode([1, 1])[0].tolist() == [plain_mix(2**60 - 1) % 10**6]

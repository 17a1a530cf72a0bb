import math
from fractions import Fraction
from typing import Any, Literal

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tdlambda.features import TileCoder

Offsets = Literal["symmetric", "asymmetric"]


@st.composite
def coders(draw: st.DrawFn) -> TileCoder:
    d = draw(st.integers(1, 4))
    low = draw(st.lists(st.floats(-100, 100), min_size=d, max_size=d))
    return TileCoder(
        low,
        [bound + draw(st.floats(0.01, 100)) for bound in low],
        tilings=draw(st.integers(1, 16)),
        tiles=draw(st.one_of(st.integers(1, 6), st.lists(st.integers(1, 6), min_size=d, max_size=d))),
        offsets=draw(st.sampled_from(["symmetric", "asymmetric"])),
        bias=draw(st.booleans()),
    )


def point_in(coder: TileCoder, unit: list[float]) -> list[float]:
    low, high = coder.low, coder.high
    return [float(low[i] + u * (high[i] - low[i])) for i, u in enumerate(unit[: low.size])]


units = st.lists(st.floats(-0.5, 1.5), min_size=4, max_size=4)


def plain_tiles(coder: TileCoder, point: list[float]) -> list[int]:
    """The definition, by loops over Python numbers."""
    result = []
    n = coder.tilings
    for k in range(n):
        index = k * math.prod(coder.tiles)
        for i, x in enumerate(point):
            low, high = float(coder.low[i]), float(coder.high[i])
            scaled = (min(max(x, low), high) - low) / (high - low) * coder.tiles[i]
            displacement = 1 if coder.offsets == "symmetric" else (1, 3, 5, 7)[i]
            offset = ((k * displacement) % n + 0.5) / n - 0.5
            cell = min(max(math.floor(scaled + offset), 0), coder.tiles[i] - 1)
            index += cell * math.prod(coder.tiles[i + 1 :])
        result.append(index)
    if coder.bias:
        result.append(n * math.prod(coder.tiles))
    return result


@given(coder=coders(), unit=units)
def test_against_plain_loops(coder: TileCoder, unit: list[float]) -> None:
    point = point_in(coder, unit)
    indices, values = coder.encode(point)
    assert indices.tolist() == plain_tiles(coder, point)
    assert values.tolist() == [1.0] * coder.active


def test_one_dimension_by_hand() -> None:
    # Two tilings of four tiles, moved by a quarter of a tile down and up: their cuts, in tiles from low,
    # are 1.25, 2.25, 3.25 (features 0..3) and 0.75, 1.75, 2.75 (features 4..7).
    coder = TileCoder(10, 14, tilings=2, tiles=4)
    assert (coder.size, coder.active) == (8, 2)
    points = [10.0, 10.7, 10.8, 11.2, 11.3, 11.7, 11.8, 12.2, 12.3, 12.7, 12.8, 13.2, 13.3, 14.0]
    first = [0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3]
    second = [4, 4, 5, 5, 5, 5, 6, 6, 6, 6, 7, 7, 7, 7]
    assert coder.encode_batch(points)[0].T.tolist() == [first, second]


def test_two_dimensions_by_hand() -> None:
    coder = TileCoder([0, 0], [2, 3], tilings=1, tiles=[2, 3], bias=True)
    assert (coder.size, coder.active, coder.tiles) == (7, 2, (2, 3))
    points = [[r + 0.5, c + 0.5] for r in range(2) for c in range(3)]
    assert coder.encode_batch(points)[0].tolist() == [[tile, 6] for tile in range(6)]


@pytest.mark.parametrize(
    ("offsets", "expected"),
    [
        ("symmetric", [[-3, -3, -3], [-1, -1, -1], [1, 1, 1], [3, 3, 3]]),
        ("asymmetric", [[-3, -3, -3], [-1, 3, -1], [1, 1, 1], [3, -1, 3]]),
    ],
)
def test_offsets_by_hand(offsets: Offsets, expected: list[list[int]]) -> None:
    # In eighths of a tile: the cut between the two tiles of 8 units is at 8 - offset.
    coder = TileCoder([0] * 3, [16] * 3, tilings=4, tiles=2, offsets=offsets)
    for i in range(3):
        for k in range(4):
            cut = 8 - expected[k][i]
            below, at = np.full(3, 0.0), np.full(3, 0.0)
            below[i], at[i] = cut - 1e-9, cut
            stride = 4 >> i
            assert coder.encode(below)[0][k] == 8 * k
            assert coder.encode(at)[0][k] == 8 * k + stride


@pytest.mark.parametrize("tilings", [1, 2, 5, 8])
def test_offsets_are_evenly_spaced_and_centred(tilings: int) -> None:
    coder = TileCoder(0, 1, tilings=tilings, tiles=3)
    grid = np.linspace(0, 1, 3 * 1200 + 1)
    tiles = coder.encode_batch(grid)[0] - 3 * np.arange(tilings)
    first_cuts = sorted(Fraction(int((tiles[:, k] == 0).sum()), 1200) for k in range(tilings))
    spaced = [Fraction(2 * k + 1, 2 * tilings) + Fraction(1, 2) for k in range(tilings)]
    np.testing.assert_allclose([float(cut) for cut in first_cuts], [float(cut) for cut in spaced], atol=2e-3)


@given(coder=coders(), unit=units)
def test_one_active_tile_a_tiling(coder: TileCoder, unit: list[float]) -> None:
    indices, _ = coder.encode(point_in(coder, unit))
    tiles_each = math.prod(coder.tiles)
    assert (indices[: coder.tilings] // tiles_each).tolist() == list(range(coder.tilings))
    assert coder.size == coder.tilings * tiles_each + coder.bias
    assert coder.active == coder.tilings + coder.bias
    if coder.bias:
        assert indices[-1] == coder.size - 1


@given(coder=coders())
def test_edges_are_in_the_first_and_the_last_tile(coder: TileCoder) -> None:
    starts = np.arange(coder.tilings) * math.prod(coder.tiles)
    assert coder.encode(coder.low)[0][: coder.tilings].tolist() == starts.tolist()
    last = starts + math.prod(coder.tiles) - 1
    assert coder.encode(coder.high)[0][: coder.tilings].tolist() == last.tolist()


@given(coder=coders(), a=st.floats(-1, 0.2499), b=st.floats(0.7501, 2), unit=units, dimension=st.integers(0, 3))
def test_no_wrap_around(coder: TileCoder, a: float, b: float, unit: list[float], dimension: int) -> None:
    i = dimension % len(coder.tiles)
    assume(coder.tiles[i] > 1)
    # Even with two tiles, offsets of less than half a tile keep the cut between 1/4 and 3/4 of the box.
    near_low, near_high = point_in(coder, unit), point_in(coder, unit)
    near_low[i] = float(coder.low[i] + a * (coder.high[i] - coder.low[i]))
    near_high[i] = float(coder.low[i] + b * (coder.high[i] - coder.low[i]))
    shared = set(coder.encode(near_low)[0].tolist()) & set(coder.encode(near_high)[0].tolist())
    assert shared == ({coder.size - 1} if coder.bias else set())


@given(coder=coders(), unit=units, dimension=st.integers(0, 3), step=st.floats(0, 0.999))
def test_a_small_step_changes_few_tiles(coder: TileCoder, unit: list[float], dimension: int, step: float) -> None:
    """Cuts along a dimension are 1/tilings of a tile apart if the displacement is coprime to tilings."""
    i = dimension % len(coder.tiles)
    displacement = 1 if coder.offsets == "symmetric" else 2 * i + 1
    assume(math.gcd(displacement, coder.tilings) == 1)
    before = point_in(coder, unit)
    after = list(before)
    after[i] += step * float(coder.high[i] - coder.low[i]) / coder.tiles[i] / coder.tilings
    changed = int((coder.encode(before)[0] != coder.encode(after)[0]).sum())
    assert changed <= 1


@given(coder=coders(), unit=units, other=units)
def test_far_points_share_no_tile(coder: TileCoder, unit: list[float], other: list[float]) -> None:
    """A tile at the edge is up to one and a half tiles wide, any other exactly one."""
    a, b = point_in(coder, unit), point_in(coder, other)
    width = (coder.high - coder.low) / coder.tiles
    far = np.abs(np.clip(a, coder.low, coder.high) - np.clip(b, coder.low, coder.high)) >= 1.5001 * width
    shared = (coder.encode(a)[0] == coder.encode(b)[0])[: coder.tilings]
    assert not (far.any() and shared.any() and min(coder.tiles) > 1)


def test_size_limit_and_large_ids() -> None:
    coder = TileCoder([0, 0], [1, 1], tilings=1, tiles=[2**31, 2**30])
    assert coder.encode([1, 1])[0].tolist() == [2**61 - 1]
    most = TileCoder(0, 1, tilings=1, tiles=2**53, bias=True)
    assert most.encode(1)[0].tolist() == [2**53 - 1, 2**53]
    for hash_size in (None, 16):
        with pytest.raises(ValueError, match=r"tilings \* prod\(tiles\) must be below 2\*\*62; got \d+ \("):
            TileCoder([0, 0], [1, 1], tilings=1, tiles=2**31, hash_size=hash_size)


def test_tiles_for_all_equals_tiles_for_each() -> None:
    assert TileCoder([0, 0], [1, 1], tiles=3) == TileCoder([0, 0], [1, 1], tiles=[3, 3])
    assert TileCoder([0, 0], [1, 1], tiles=np.array([3, 4])).tiles == (3, 4)
    assert TileCoder([0, 0], [1, 1]).size == 8 * 64


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"tilings": 0}, ValueError, "tilings must be at least 1; got 0"),
        ({"tilings": 2.0}, TypeError, r"tilings must be an integer; got 2\.0"),
        ({"tiles": 0}, ValueError, "tiles must be at least 1; got 0"),
        ({"tiles": 1.5}, TypeError, r"tiles must be an integer; got 1\.5"),
        ({"tiles": "8"}, TypeError, "tiles must be an integer; got '8'"),
        ({"tiles": 2**53 + 1}, ValueError, r"tiles must be at most 2\*\*53, the precision of float64; got 9"),
        ({"tiles": [4, 2**60]}, ValueError, r"tiles\[1\] must be at most 2\*\*53, .*; got 1152921504606846976"),
        ({"tiles": [4, 0]}, ValueError, r"tiles\[1\] must be at least 1; got 0"),
        ({"tiles": [4, 4.5]}, TypeError, r"tiles\[1\] must be an integer; got 4\.5"),
        ({"tiles": [4]}, ValueError, r"tiles must be one number or one for each of 2 dimensions; got \[4\]"),
        ({"offsets": "random"}, ValueError, 'offsets must be "symmetric" or "asymmetric"; got \'random\''),
        ({"bias": 1}, TypeError, "bias must be True or False; got 1"),
        ({"hash_size": 0}, ValueError, "hash_size must be at least 1; got 0"),
        ({"hash_size": 1e6}, TypeError, r"hash_size must be an integer; got 1000000\.0"),
    ],
)
def test_bad_arguments(arguments: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        TileCoder([0, 0], [1, 1], **arguments)

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tdlambda.features import GridTilings

# Groups: [r=0 | r>0], [r>1] x [c=3], [r=3] x [c>1], [c=0 | c>0]; one line a state, row by row.
FROZEN_LAKE = [
    [1, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1, 0],
    [1, 0, 1, 0, 0, 0, 1, 0, 0, 0, 0, 1],
    [1, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 1],
    [1, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1],
    [0, 1, 1, 0, 0, 0, 1, 0, 0, 0, 1, 0],
    [0, 1, 1, 0, 0, 0, 1, 0, 0, 0, 0, 1],
    [0, 1, 1, 0, 0, 0, 0, 1, 0, 0, 0, 1],
    [0, 1, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1],
    [0, 1, 0, 0, 1, 0, 1, 0, 0, 0, 1, 0],
    [0, 1, 0, 0, 1, 0, 1, 0, 0, 0, 0, 1],
    [0, 1, 0, 0, 1, 0, 0, 1, 0, 0, 0, 1],
    [0, 1, 0, 0, 0, 1, 0, 1, 0, 0, 0, 1],
    [0, 1, 0, 0, 1, 0, 0, 0, 1, 0, 1, 0],
    [0, 1, 0, 0, 1, 0, 0, 0, 1, 0, 0, 1],
    [0, 1, 0, 0, 1, 0, 0, 0, 0, 1, 0, 1],
    [0, 1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 1],
]


def test_frozen_lake() -> None:
    encoder = GridTilings.frozen_lake()
    assert (encoder.size, encoder.active, encoder.shape) == (12, 4, (4, 4))
    X = encoder.matrix(range(16))
    np.testing.assert_array_equal(X, FROZEN_LAKE)
    assert np.linalg.matrix_rank(X) == 9
    for state in range(16):
        r, c = divmod(state, 4)
        group_2, group_3 = [0] * 4, [0] * 4
        group_2[2 * (r > 1) + (c == 3)] = 1
        group_3[2 * (r == 3) + (c > 1)] = 1
        assert encoder.dense(state).tolist() == [r == 0, r > 0, *group_2, *group_3, c == 0, c > 0]


@st.composite
def grids(draw: st.DrawFn) -> tuple[list[int], list[list[list[int]]]]:
    shape = draw(st.lists(st.integers(1, 5), min_size=1, max_size=3))
    tiling = st.tuples(*(st.sets(st.integers(1, n - 1)) if n > 1 else st.just(set[int]()) for n in shape))
    cuts = draw(st.lists(tiling, min_size=1, max_size=3))
    return shape, [[sorted(points) for points in one] for one in cuts]


@given(grid=grids())
def test_against_plain_loops(grid: tuple[list[int], list[list[list[int]]]]) -> None:
    shape, cuts = grid
    encoder = GridTilings(shape, cuts)
    for state in range(int(np.prod(shape))):
        coordinates = np.unravel_index(state, shape)
        expected, first = [], 0
        for tiling in cuts:
            cells = tuple(sum(point <= c for point in points) for points, c in zip(tiling, coordinates, strict=True))
            counts = tuple(len(points) + 1 for points in tiling)
            expected.append(first + int(np.ravel_multi_index(cells, counts)))
            first += int(np.prod(counts))
        indices, values = encoder.encode(state)
        assert indices.tolist() == expected
        assert values.tolist() == [1.0] * len(cuts)
        assert encoder.size == first


def test_memory_does_not_grow_with_the_number_of_states() -> None:
    side = 100_000
    encoder = GridTilings((side, side, side), [((side // 2,), (), (1,))])
    assert encoder.encode(side**3 - 1)[0].tolist() == [3]
    assert encoder.encode(side**3 - side)[0].tolist() == [2]
    assert encoder.encode(0)[0].tolist() == [0]


def test_observation_errors() -> None:
    encoder = GridTilings.frozen_lake()
    for state in (-1, 16):
        with pytest.raises(ValueError, match=rf"observation must be from 0 to 15; got {state}"):
            encoder.encode(state)
        with pytest.raises(ValueError, match=rf"observations must be from 0 to 15; got {state} \(row 1\)"):
            encoder.encode_batch([0, state])
    with pytest.raises(TypeError, match=r"observation must be an integer; got 1\.5"):
        encoder.encode(1.5)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("shape", "cuts", "error", "message"),
    [
        ((), [()], ValueError, r"shape must have at least one dimension; got \(\)"),
        ((4,), [], ValueError, r"cuts must have at least one tiling; got \[\]"),
        ((4, 0), [((), ())], ValueError, r"shape\[1\] must be at least 1; got 0"),
        ((4.0,), [((),)], TypeError, r"shape\[0\] must be an integer; got 4\.0"),
        ((2**31, 2**31), [((), ())], ValueError, r"shape must have fewer than 2\*\*62 states"),
        ((4, 4), [((1,),)], ValueError, r"cuts\[0\] must have one entry for each of 2 dimensions"),
        ((4,), [((1,),), ((0,),)], ValueError, r"cuts\[1\]\[0\]\[0\] must be at least 1; got 0"),
        ((4,), [((1, 4),)], ValueError, r"cuts\[0\]\[0\] must have cut points in 1\.\.3; got \(1, 4\)"),
        ((4,), [((2, 1),)], ValueError, r"cuts\[0\]\[0\] must be increasing; got \(2, 1\)"),
        ((4,), [((2, 2),)], ValueError, r"cuts\[0\]\[0\] must be increasing; got \(2, 2\)"),
        ((4,), [((1.5,),)], TypeError, r"cuts\[0\]\[0\]\[0\] must be an integer; got 1\.5"),
    ],
)
def test_bad_arguments(shape: Any, cuts: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        GridTilings(shape, cuts)

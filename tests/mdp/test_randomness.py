"""xoshiro256++ and the choice of an index by its probability."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from random_mdps import Array
from searching import examples

from tdlambda.randomness import pick, running_sums, stream, uniform

MASK = 2**64 - 1


def rotate(x: int, k: int) -> int:
    return ((x << k) | (x >> (64 - k))) & MASK


def xoshiro(s: list[int]) -> int:
    """Blackman & Vigna's next(), in plain integers."""
    result = (rotate((s[0] + s[3]) & MASK, 23) + s[0]) & MASK
    t = (s[1] << 17) & MASK
    s[2] ^= s[0]
    s[3] ^= s[1]
    s[1] ^= s[2]
    s[0] ^= s[3]
    s[2] ^= t
    s[3] = rotate(s[3], 45)
    return result


@pytest.mark.parametrize("seed", [0, 1, 2**40 + 3])
def test_uniform_against_plain_integers(seed: int) -> None:
    state = stream(seed)
    plain = [int(x) for x in state]
    for _ in range(1000):
        assert uniform(state) == (xoshiro(plain) >> 11) * 2.0**-53
    assert [int(x) for x in state] == plain


def test_published_first_outputs() -> None:
    """State 1, 2, 3, 4 gives 41943041 first: rotl(1 + 4, 23) + 1."""
    state = np.array([1, 2, 3, 4], dtype=np.uint64)
    assert uniform(state) == (41943041 >> 11) * 2.0**-53


def test_streams() -> None:
    np.testing.assert_array_equal(stream(3), np.random.SeedSequence(3).generate_state(4, np.uint64))
    assert len({tuple(stream(seed)) for seed in range(1000)}) == 1000
    with pytest.raises(ValueError, match="seed must be a non-negative integer; got -1"):
        stream(-1)
    state = stream(12)
    draws = np.array([uniform(state) for _ in range(20_000)])
    assert 0 <= draws.min() < draws.max() < 1
    counts = np.bincount((draws * 20).astype(int), minlength=20)
    assert ((counts - 1000) ** 2 / 1000).sum() < 50  # χ² with 19 degrees of freedom


ROWS = st.lists(
    st.lists(st.one_of(st.just(0.0), st.floats(1e-12, 1.0)), min_size=1, max_size=9).filter(any), min_size=1, max_size=5
)
UNIFORM = st.floats(0, 1, exclude_max=True)


def table(rows: list[list[float]]) -> tuple[Array, Array]:
    indptr = np.concatenate(([0], np.cumsum([len(row) for row in rows])))
    return indptr, np.concatenate([np.array(row) / sum(row) for row in rows])


@examples(100)
@given(ROWS, UNIFORM)
def test_pick_is_the_first_sum_above(rows: list[list[float]], u: float) -> None:
    indptr, p = table(rows)
    sums = running_sums(indptr, p)
    for first, last in pairwise(indptr):
        row = sums[first:last]
        np.testing.assert_allclose(row, np.cumsum(p[first:last]), atol=1e-12)
        assert row[-1] == 1
        for x in (u, 0.0, float(np.nextafter(1, 0))):
            chosen = pick(sums, first, last, x)
            assert chosen == first + np.flatnonzero(x < row)[0]
            assert p[chosen] > 0


def test_rounding_never_reaches_what_cannot_happen() -> None:
    p = np.array([0.1] * 10 + [0.0, 0.0])  # sums to 1 - 1e-16
    assert p[:10].cumsum()[-1] < 1
    sums = running_sums(np.array([0, 12]), p)
    assert sums[9:].tolist() == [1, 1, 1]
    assert pick(sums, 0, 12, np.nextafter(1, 0)) == 9


def test_empty_rows_are_allowed() -> None:
    sums = running_sums(np.array([0, 0, 2, 2]), np.array([0.25, 0.75]))
    assert sums.tolist() == [0.25, 1.0]

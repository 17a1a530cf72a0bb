import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tdlambda.features import Fourier


@given(d=st.integers(1, 3), order=st.integers(0, 4), unit=st.lists(st.floats(0, 1), min_size=3, max_size=3))
def test_against_the_formula(d: int, order: int, unit: list[float]) -> None:
    low, high = np.array([-2.0, 0.0, 3.0])[:d], np.array([1.0, 0.5, 30.0])[:d]
    encoder = Fourier(low, high, order=order)
    c = np.array(list(itertools.product(range(order + 1), repeat=d)))
    expected = np.cos(np.pi * c @ np.array(unit[:d]))
    indices, values = encoder.encode(low + unit[:d] * (high - low))
    assert encoder.size == encoder.active == (order + 1) ** d
    assert indices.tolist() == list(range(encoder.size))
    np.testing.assert_allclose(values, expected, atol=1e-12)


def test_by_hand() -> None:
    half, root = 0.5, np.sqrt(0.5)
    np.testing.assert_allclose(Fourier(0, 1).dense(1 / 3), [1, half, -half, -1], atol=1e-15)
    # Frequencies (0,0), (0,1), (1,0), (1,1) at the point (1/4, 1).
    expected = [1, -1, root, -root]
    np.testing.assert_allclose(Fourier([0, 0], [4, 2], order=1).dense([1, 2]), expected, atol=1e-15)


def test_edges_alternate() -> None:
    encoder = Fourier(-5, 5, order=4)
    np.testing.assert_allclose(encoder.dense(-5), [1, 1, 1, 1, 1], atol=1e-15)
    np.testing.assert_allclose(encoder.dense(5), [1, -1, 1, -1, 1], atol=1e-15)


def test_scales() -> None:
    np.testing.assert_allclose(Fourier(0, 1, order=3).scales, [1, 1, 1 / 2, 1 / 3])
    two = Fourier([0, 0], [1, 1], order=2).scales
    norms = [1, 1, 2, 1, np.sqrt(2), np.sqrt(5), 2, np.sqrt(5), np.sqrt(8)]
    np.testing.assert_allclose(two, 1 / np.array(norms))
    assert Fourier([0, 0], [1, 1], order=0).scales.tolist() == [1.0]


def test_orthogonal_on_the_box() -> None:
    midpoints = (np.arange(64) + 0.5) / 64
    X = Fourier(0, 1, order=5).matrix(midpoints)
    np.testing.assert_allclose(X.T @ X / 64, np.diag([1, 0.5, 0.5, 0.5, 0.5, 0.5]), atol=1e-12)


@pytest.mark.parametrize(
    ("order", "error", "message"),
    [
        (-1, ValueError, "order must be at least 0; got -1"),
        (1.5, TypeError, r"order must be an integer; got 1\.5"),
        (True, TypeError, "order must be an integer; got True"),
        (2**16, ValueError, r"order must give at most 2\*\*31 features; got 4295098369 \(order=65536"),
    ],
)
def test_bad_order(order: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        Fourier([0, 0], [1, 1], order=order)

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from tdlambda.features import Table

sparse_floats = st.one_of(st.just(0.0), st.floats(-1e6, 1e6))
matrices = arrays(np.float64, array_shapes(min_dims=2, max_dims=2, max_side=6), elements=sparse_floats)


def test_padding_and_order() -> None:
    encoder = Table([[0, 0, 7], [0, 0, 0], [5, 0, 6]])
    assert (encoder.size, encoder.active) == (3, 2)
    indices, values = encoder.encode_batch([0, 1, 2])
    assert indices.tolist() == [[2, 0], [0, 0], [0, 2]]
    assert values.tolist() == [[7.0, 0.0], [0.0, 0.0], [5.0, 6.0]]


@given(matrix=matrices)
def test_rows_come_back(matrix: np.ndarray[tuple[int, int], np.dtype[np.float64]]) -> None:
    encoder = Table(matrix)
    assert encoder.active == max(1, max(sum(entry != 0 for entry in row) for row in matrix))
    np.testing.assert_array_equal(encoder.matrix(range(len(matrix))), matrix)
    assert encoder == Table(matrix.tolist())


def test_does_not_keep_the_callers_array() -> None:
    matrix = np.eye(2)
    encoder = Table(matrix)
    matrix[:] = 9
    np.testing.assert_array_equal(encoder.matrix([0, 1]), np.eye(2))


def test_observation_errors() -> None:
    encoder = Table(np.eye(2))
    with pytest.raises(ValueError, match=r"observation must be from 0 to 1; got 2"):
        encoder.encode(2)
    with pytest.raises(ValueError, match=r"observation must be from 0 to 1; got -1"):
        encoder.encode(-1)
    with pytest.raises(ValueError, match=r"observations must be from 0 to 1; got -1 \(row 0\)"):
        encoder.encode_batch([-1])


@pytest.mark.parametrize(
    ("matrix", "error", "message"),
    [
        ([1.0, 2.0], ValueError, r"matrix must be a non-empty two-dimensional array; got the shape \(2,\)"),
        ([[]], ValueError, r"matrix must be a non-empty two-dimensional array; got the shape \(1, 0\)"),
        ([[0.0, 1.0], [2.0, np.nan]], ValueError, r"matrix must be finite; got matrix\[1\]\[1\] = nan"),
        ([[0.0, np.inf]], ValueError, r"matrix must be finite; got matrix\[0\]\[1\] = inf"),
        ([[1j]], TypeError, "matrix must be real numbers; got"),
        ([["1"]], TypeError, "matrix must be real numbers; got"),
        ([[1.0], [1.0, 2.0]], ValueError, "matrix must be a scalar or a rectangular array; got"),
    ],
)
def test_bad_matrix(matrix: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        Table(matrix)

from typing import Any

import numpy as np
import pytest

from tdlambda.features import Dense


def test_pass_through() -> None:
    encoder = Dense(3)
    indices, values = encoder.encode([1, -0.5, 0])
    assert (encoder.size, encoder.active) == (3, 3)
    assert indices.tolist() == [0, 1, 2]
    assert values.tolist() == [1.0, -0.5, 0.0]
    assert encoder.encode_batch([[1, 2, 3], [4, 5, 6]])[0].tolist() == [[0, 1, 2], [0, 1, 2]]
    assert encoder.matrix([[1, 2, 3], [4, 5, 6]]).tolist() == [[1, 2, 3], [4, 5, 6]]
    assert Dense(1).encode(2.5)[1].tolist() == [2.5]


def test_result_is_a_copy() -> None:
    observation = np.ones(2)
    values = Dense(2).encode(observation)[1]
    values[0] = 5.0
    assert observation.tolist() == [1.0, 1.0]


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_not_finite(value: float) -> None:
    with pytest.raises(ValueError, match=rf"observation\[1\] must be finite; got {value}"):
        Dense(2).encode([0.0, value])
    with pytest.raises(ValueError, match=rf"observations\[1\]\[0\] must be finite; got {value}"):
        Dense(2).encode_batch([[0.0, 1.0], [value, np.nan]])


def test_wrong_shape_or_kind() -> None:
    with pytest.raises(ValueError, match=r"observation must have the shape \(2,\); got the shape \(3,\)"):
        Dense(2).encode([1, 2, 3])
    with pytest.raises(ValueError, match=r"observations must have the shape \(n, 2\); got the shape \(1, 3\)"):
        Dense(2).encode_batch([[1, 2, 3]])
    with pytest.raises(TypeError, match="observation must be real numbers; got 'ab'"):
        Dense(2).encode("ab")


@pytest.mark.parametrize(("n", "error"), [(0, ValueError), (1.0, TypeError), (None, TypeError)])
def test_bad_n(n: Any, error: type[Exception]) -> None:
    with pytest.raises(error, match=f"n must be .*; got {n}"):
        Dense(n)

import copy
import pickle
from typing import Any

import numpy as np
import pytest

from tdlambda.features import Custom


def identity(observation: Any) -> Any:
    return observation


def test_dense_vector() -> None:
    encoder = Custom(identity, size=3)
    assert encoder.active == 3
    for vector in ([0, 2, 0], np.array([0.0, 2.0, 0.0])):
        indices, values = encoder.encode(vector)
        assert indices.tolist() == [0, 1, 2]
        assert values.tolist() == [0.0, 2.0, 0.0]


def test_dense_vector_reduced_to_its_nonzeros() -> None:
    encoder = Custom(identity, size=4, active=2)
    indices, values = encoder.encode_batch([[0, 0, 0, 7], [1, 0, 2, 0], [0, 0, 0, 0]])
    assert indices.tolist() == [[3, 0], [0, 2], [0, 0]]
    assert values.tolist() == [[7.0, 0.0], [1.0, 2.0], [0.0, 0.0]]
    with pytest.raises(ValueError, match="function must return at most 2 active features; got 3"):
        encoder.encode([1, 1, 0, 1])


def test_indices_and_values() -> None:
    encoder = Custom(identity, size=4, active=3)
    indices, values = encoder.encode(([3, 3], [0.5, 1]))
    assert indices.tolist() == [3, 3, 0]
    assert values.tolist() == [0.5, 1.0, 0.0]
    assert encoder.dense(([3, 3], [0.5, 1])).tolist() == [0, 0, 0, 1.5]
    assert encoder.dense(([], [])).tolist() == [0, 0, 0, 0]
    with pytest.raises(ValueError, match="function must return at most 3 active features; got 4"):
        encoder.encode(([0, 1, 2, 3], [1, 1, 1, 1]))


def test_batch_takes_any_iterable() -> None:
    encoder = Custom(identity, size=2)
    assert encoder.matrix([k, 1] for k in range(3)).tolist() == [[0, 1], [1, 1], [2, 1]]


@pytest.mark.parametrize(
    ("returned", "error", "message"),
    [
        ([1, 2], ValueError, "function's vector must have the length 3; got 2"),
        ([[1, 2, 3]], ValueError, r"function's vector must be one-dimensional; got the shape \(1, 3\)"),
        (1.0, ValueError, r"function's vector must be one-dimensional; got the shape \(\)"),
        ([1, np.nan, 2], ValueError, r"function's vector must be finite; got \[1, nan, 2\]"),
        (None, TypeError, "function's vector must be real numbers; got None"),
        ((1, 2, 3), ValueError, r"function must return a vector or \(indices, values\); got \(1, 2, 3\)"),
        (
            ([0, 1], [1.0]),
            ValueError,
            r"function must return as many indices as values; got \(2,\) and \(1,\)",
        ),
        (([3], [1.0]), ValueError, r"function's indices must be from 0 to 2; got \[3\]"),
        (([-1], [1.0]), ValueError, r"function's indices must be from 0 to 2; got \[-1\]"),
        (([0.0], [1.0]), TypeError, r"function's indices must be integers; got \[0\.0\]"),
        (([0], [np.inf]), ValueError, r"function's values must be finite; got \[inf\]"),
        (([0], ["1"]), TypeError, "function's values must be real numbers; got"),
        ((0, 1.0), ValueError, r"function's values must be one-dimensional; got the shape \(\)"),
    ],
)
def test_bad_result(returned: Any, error: type[Exception], message: str) -> None:
    encoder = Custom(identity, size=3)
    with pytest.raises(error, match=message):
        encoder.encode(returned)
    with pytest.raises(error, match=message):
        encoder.encode_batch([returned])


def test_params_cannot_be_stored() -> None:
    message = "Custom cannot be stored as plain data, because it contains a function: <function"
    with pytest.raises(TypeError, match=message):
        Custom(identity, size=3).get_params()


def test_equality_and_copies() -> None:
    encoder = Custom(identity, size=3, active=2)
    assert encoder == Custom(identity, size=3, active=2)
    assert hash(encoder) == hash(Custom(identity, size=3, active=2))
    assert encoder != Custom(identity, size=3)
    assert encoder != Custom(identity, size=4, active=2)
    assert encoder != Custom(len, size=3, active=2)
    assert pickle.loads(pickle.dumps(encoder)) == copy.deepcopy(encoder) == encoder


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"function": 3, "size": 3}, TypeError, "function must be callable; got 3"),
        ({"size": 0}, ValueError, "size must be at least 1; got 0"),
        ({"size": 2.0}, TypeError, r"size must be an integer; got 2\.0"),
        ({"size": 2, "active": 0}, ValueError, "active must be at least 1; got 0"),
        ({"size": 2, "active": "1"}, TypeError, "active must be an integer; got '1'"),
    ],
)
def test_bad_arguments(arguments: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        Custom(**{"function": identity} | arguments)

"""Bounds and observations, which the encoders of a box treat alike."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tdlambda.features import Fourier, TileCoder
from tdlambda.features.box import Outside

LOW, HIGH = [-1.0, 0.0, 5.0], [1.0, 10.0, 5.5]
both = pytest.mark.parametrize("kind", [TileCoder, Fourier])
Kind = type[TileCoder] | type[Fourier]


@both
@given(point=st.lists(st.floats(allow_nan=False, width=64), min_size=3, max_size=3))
def test_clipped_is_the_nearest_point(kind: Kind, point: list[float]) -> None:
    encoder = kind(LOW, HIGH)
    np.testing.assert_array_equal(encoder.dense(point), encoder.dense(np.clip(point, LOW, HIGH)))


@both
@given(point=st.tuples(st.floats(-1, 1), st.floats(0, 10), st.floats(5, 5.5)))
def test_outside_does_not_matter_inside(kind: Kind, point: tuple[float, ...]) -> None:
    clip, refuse = kind(LOW, HIGH, outside="clip"), kind(LOW, HIGH, outside="raise")
    np.testing.assert_array_equal(clip.dense(point), refuse.dense(point))
    assert clip != refuse


@both
def test_both_edges_are_inside(kind: Kind) -> None:
    encoder = kind(LOW, HIGH, outside="raise")
    encoder.encode(LOW)
    encoder.encode(HIGH)


@both
@pytest.mark.parametrize("value", [-0.001, 10.001, np.inf, -np.inf, 1e300])
def test_raise(kind: Kind, value: float) -> None:
    encoder = kind(LOW, HIGH, outside="raise")
    tail = rf'must be in \[0\.0, 10\.0\] under outside="raise"; got {value}'.replace("+", r"\+")
    with pytest.raises(ValueError, match=r"observation\[1\] " + tail):
        encoder.encode([0.0, value, 5.0])
    with pytest.raises(ValueError, match=r"observations\[2\]\[1\] " + tail):
        encoder.encode_batch([[0.0, 1.0, 5.0], [1.0, 1.0, 5.0], [0.0, value, 5.0], [0.0, 1.0, np.nan]])


@both
@pytest.mark.parametrize("outside", ["clip", "raise"])
def test_nan(kind: Kind, outside: Outside) -> None:
    encoder = kind(LOW, HIGH, outside=outside)
    with pytest.raises(ValueError, match=r"observation\[2\] must be a number; got nan"):
        encoder.encode([0.0, 0.0, np.nan])
    with pytest.raises(ValueError, match=r"observations\[1\]\[0\] must be a number; got nan"):
        encoder.encode_batch([[0.0, 0.0, 5.0], [np.nan, 0.0, 5.0]])


@both
def test_shapes(kind: Kind) -> None:
    encoder = kind(LOW, HIGH)
    with pytest.raises(ValueError, match=r"observation must have the shape \(3,\); got the shape \(2,\)"):
        encoder.encode([0.0, 0.0])
    with pytest.raises(ValueError, match=r"observation must have the shape \(3,\); got the shape \(\)"):
        encoder.encode(0.0)
    with pytest.raises(ValueError, match=r"observation must have the shape \(3,\); got the shape \(1, 3\)"):
        encoder.encode([[0.0, 0.0, 5.0]])
    for wrong in ([0.0, 0.0, 5.0], [[0.0, 0.0]], 0.0, np.zeros((1, 1, 3))):
        with pytest.raises(ValueError, match=r"observations must have the shape \(n, 3\); got the shape"):
            encoder.encode_batch(wrong)
    with pytest.raises(ValueError, match="observation must be a scalar or a rectangular array"):
        encoder.encode([0.0, [1.0, 2.0], 3.0])  # type: ignore[arg-type]


@both
def test_one_dimension_takes_scalars(kind: Kind) -> None:
    encoder = kind(0, 1)
    assert encoder == kind([0.0], [1.0])
    np.testing.assert_array_equal(encoder.dense(0.3), encoder.dense([0.3]))
    np.testing.assert_array_equal(encoder.matrix([0.3, 0.9]), encoder.matrix([[0.3], [0.9]]))


@both
@pytest.mark.parametrize("observation", ["abc", ["1", "2", "3"], [1j, 0, 0], [None, 0, 0], None, {}])
def test_not_real(kind: Kind, observation: Any) -> None:
    encoder = kind(LOW, HIGH)
    with pytest.raises(TypeError, match="observation must be real numbers; got"):
        encoder.encode(observation)


@both
def test_any_real_type_and_layout_and_left_alone(kind: Kind) -> None:
    encoder = kind(LOW, HIGH)
    expected = encoder.dense([1.0, 3.0, 9.0])
    strided = np.array([1.0, 0.0, 3.0, 0.0, 9.0, 0.0])[::2]
    frozen = np.array([1.0, 3.0, 9.0])
    frozen.flags.writeable = False
    for point in (strided, frozen, frozen.astype(np.float32), frozen.astype(">f8"), np.array([1, 3, 9])):
        before = point.copy()
        np.testing.assert_array_equal(encoder.dense(point), expected)
        np.testing.assert_array_equal(encoder.matrix(np.array([point, point]).T.copy().T)[1], expected)
        np.testing.assert_array_equal(point, before)


@both
def test_batch_is_left_alone(kind: Kind) -> None:
    points = np.array([[1.0, 3.0, 9.0], [-5.0, 3.0, 5.2]])
    kind(LOW, HIGH).encode_batch(points)
    assert points.tolist() == [[1.0, 3.0, 9.0], [-5.0, 3.0, 5.2]]


@both
def test_bounds_are_copies(kind: Kind) -> None:
    low = np.array([0.0])
    encoder = kind(low, [1.0])
    low[0] = encoder.low[0] = encoder.high[0] = 0.5
    assert (encoder.low.tolist(), encoder.high.tolist()) == ([0.0], [1.0])


@both
@pytest.mark.parametrize(
    ("low", "high", "error", "message"),
    [
        ([0.0, 1.0], [1.0, 1.0], ValueError, "low must be below high in each dimension; got low="),
        (2, 1, ValueError, "low must be below high in each dimension; got low=2, high=1"),
        ([0.0], [1.0, 2.0], ValueError, "low and high must have the same length; got 1 .* and 2"),
        ([-np.inf], [1.0], ValueError, r"low must be finite; got \[-inf\]"),
        ([0.0], [np.nan], ValueError, r"high must be finite; got \[nan\]"),
        ([-1.7e308], [1.7e308], ValueError, "high - low must be finite; got low="),
        ([], [], ValueError, r"low must be a number or a non-empty vector; got \[\]"),
        ([0.0], [[1.0]], ValueError, r"high must be a number or a non-empty vector; got \[\[1\.0\]\]"),
        ("zero", [1.0], TypeError, "low must be real numbers; got 'zero'"),
    ],
)
def test_bad_bounds(kind: Kind, low: Any, high: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        kind(low, high)


@both
@pytest.mark.parametrize("outside", ["wrap", None, ["clip"]])
def test_bad_outside(kind: Kind, outside: Any) -> None:
    with pytest.raises(ValueError, match='outside must be "clip" or "raise"; got'):
        kind(0, 1, outside=outside)

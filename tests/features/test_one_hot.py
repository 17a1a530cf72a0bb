import numpy as np
import pytest

from tdlambda.features import OneHot


@pytest.mark.parametrize("state", [3, np.int64(3), np.uint8(3), np.array(3), np.array(3, dtype=np.int16)])
def test_encode_any_kind_of_integer(state: int) -> None:
    encoder = OneHot(5)
    indices, values = encoder.encode(state)
    assert indices.tolist() == [3]
    assert values.tolist() == [1.0]
    assert (encoder.size, encoder.active) == (5, 1)


def test_matrix_is_the_identity() -> None:
    np.testing.assert_array_equal(OneHot(6).matrix(range(6)), np.eye(6))
    np.testing.assert_array_equal(OneHot(300).matrix(np.array([7], dtype=np.uint8))[0], np.eye(300)[7])


def test_size_is_not_held_in_memory() -> None:
    assert OneHot(2**50).encode(2**50 - 1)[0].tolist() == [2**50 - 1]


@pytest.mark.parametrize("state", [-1, 5, 10**30, np.int64(-1), np.uint64(2**63)])
def test_out_of_range(state: int) -> None:
    with pytest.raises(ValueError, match=rf"observation must be from 0 to 4; got {state:,}"):
        OneHot(5).encode(state)


@pytest.mark.parametrize("state", [0.5, 3.0, True, np.True_, "3", None, np.array([3]), [3], np.float64(1)])
def test_not_an_integer(state: int) -> None:
    with pytest.raises(TypeError, match="observation must be an integer; got"):
        OneHot(5).encode(state)


def test_batch_errors() -> None:
    encoder = OneHot(5)
    with pytest.raises(ValueError, match=r"observations must be from 0 to 4; got 5 \(row 2\)"):
        encoder.encode_batch([0, 4, 5, -1])
    with pytest.raises(ValueError, match=r"observations must be from 0 to 4; got -1 \(row 1\)"):
        encoder.encode_batch([0, -1])
    with pytest.raises(ValueError, match=r"observations must be from 0 to 4; got 18,446,744,073,709,551,615"):
        encoder.encode_batch(np.array([2**64 - 1], dtype=np.uint64))
    with pytest.raises(TypeError, match="observations must be integers; got an array of float64"):
        encoder.encode_batch([0.0, 1.0])
    with pytest.raises(TypeError, match="observations must be integers; got an array of bool"):
        encoder.encode_batch([True])
    with pytest.raises(ValueError, match=r"observations must be one-dimensional; got the shape \(1, 2\)"):
        encoder.encode_batch([[0, 1]])
    with pytest.raises(ValueError, match=r"observations must be one-dimensional; got the shape \(\)"):
        encoder.encode_batch(3)
    with pytest.raises(ValueError, match="observations must be a scalar or a rectangular array"):
        encoder.encode_batch([[0, 1], [2]])


@pytest.mark.parametrize("n", [0, -3])
def test_n_too_small(n: int) -> None:
    with pytest.raises(ValueError, match=f"n must be at least 1; got {n}"):
        OneHot(n)


@pytest.mark.parametrize("n", [2.0, 2.5, True, "3", None])
def test_n_not_an_integer(n: int) -> None:
    with pytest.raises(TypeError, match=f"n must be an integer; got {n!r}"):
        OneHot(n)


def test_the_kernel_of_compiled_loops_accepts_states_only() -> None:
    kernel = OneHot(3).loop_kernel
    assert kernel is not None
    for state, status in ((2.0, 0), (1.5, 1), (-1.0, 1), (3.0, 1), (np.nan, 1)):
        index, value = np.full(1, 7), np.zeros(1)
        assert kernel.encode(np.array([state]), kernel.numbers, index, value) == status
        assert (index[0], value[0]) == ((7, 0.0) if status else (state, 1.0))

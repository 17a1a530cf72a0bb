"""What holds for every encoder."""

import copy
import json
import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tdlambda.features import (
    Custom,
    Dense,
    Encoded,
    Encoder,
    Fourier,
    GridTilings,
    OneHot,
    RandomFourier,
    RandomReLU,
    Table,
    TileCoder,
)
from tdlambda.features.encoder import Values


def ramp(s: Any) -> tuple[list[int], list[float]]:
    """Ragged on purpose: s mod 4 entries."""
    return list(range(s % 4)), [float(s)] * (s % 4)


def square(s: Any) -> list[float]:
    return [float(s), float(s) ** 2, 0.0]


def integers(encoder: Encoder, n: int) -> tuple[Encoder, st.SearchStrategy[Any]]:
    return encoder, st.integers(0, n - 1)


def reals(encoder: Encoder, d: int) -> tuple[Encoder, st.SearchStrategy[Any]]:
    return encoder, st.lists(st.floats(-3, 3), min_size=d, max_size=d)


MATRIX = [[0.0, 1.5, 0.0, -2.0], [0.0, 0.0, 0.0, 0.0], [1.0, 2.0, 3.0, 4.0]]
STORABLE = {
    "one-hot": integers(OneHot(7), 7),
    "table": integers(Table(MATRIX), 3),
    "lake": integers(GridTilings.frozen_lake(), 16),
    "grid 3d": integers(GridTilings((2, 5, 3), [((1,), (2, 4), ()), ((), (1,), (1, 2))]), 30),
    "tiles": reals(TileCoder([-1, 0], [1, 2], tilings=4, tiles=[3, 5]), 2),
    "asymmetric": reals(TileCoder([-1] * 3, [1] * 3, tiles=2, offsets="asymmetric", bias=True), 3),
    "hashed": reals(TileCoder([-1, 0], [1, 2], hash_size=11, bias=True), 2),
    "fourier": reals(Fourier([-1, 0], [1, 2], order=2), 2),
    "dense": reals(Dense(3), 3),
    "random cosines": reals(RandomFourier(2, 7, seed=3), 2),
    "random rectified": reals(RandomReLU(3, 5), 3),
}
ALL = STORABLE | {
    "custom sparse": integers(Custom(ramp, size=5, active=3), 50),
    "custom dense": integers(Custom(square, size=3), 50),
    "custom reduced": integers(Custom(square, size=3, active=2), 50),
}
each = pytest.mark.parametrize("name", ALL)
each_storable = pytest.mark.parametrize("name", STORABLE)


def by_hand(encoder: Encoder, observation: Any) -> Values:
    x = np.zeros(encoder.size)
    for index, value in zip(*encoder.encode(observation), strict=True):
        x[index] += value
    return x


@each
@given(data=st.data())
def test_batch_and_dense_agree_with_encode(name: str, data: st.DataObject) -> None:
    encoder, observations = ALL[name]
    batch = data.draw(st.lists(observations, min_size=1, max_size=6))
    indices, values = encoder.encode_batch(batch)
    X = encoder.matrix(batch)
    assert indices.shape == values.shape == (len(batch), encoder.active)
    assert indices.dtype == np.int64
    assert values.dtype == X.dtype == np.float64
    assert X.shape == (len(batch), encoder.size)
    assert ((indices >= 0) & (indices < encoder.size)).all()
    for row, observation in enumerate(batch):
        one_indices, one_values = encoder.encode(observation)
        assert one_indices.dtype == np.int64
        assert one_values.dtype == np.float64
        np.testing.assert_array_equal(indices[row], one_indices)
        np.testing.assert_array_equal(values[row], one_values)
        np.testing.assert_array_equal(X[row], encoder.dense(observation))
        np.testing.assert_array_equal(X[row], by_hand(encoder, observation))


@each
def test_empty_batch(name: str) -> None:
    encoder, _ = ALL[name]
    indices, values = encoder.encode_batch([])
    assert indices.shape == values.shape == (0, encoder.active)
    assert indices.dtype == np.int64
    assert values.dtype == np.float64
    assert encoder.matrix([]).shape == (0, encoder.size)


@each
@given(data=st.data())
def test_results_belong_to_the_caller(name: str, data: st.DataObject) -> None:
    encoder, observations = ALL[name]
    observation = data.draw(observations)
    before = encoder.dense(observation)
    for array in (*encoder.encode(observation), *encoder.encode_batch([observation])):
        array[:] = 0
    np.testing.assert_array_equal(encoder.dense(observation), before)


@each_storable
@given(data=st.data())
def test_params_round_trip_through_json(name: str, data: st.DataObject) -> None:
    encoder, observations = STORABLE[name]
    params = json.loads(json.dumps(encoder.get_params()))
    again = type(encoder)(**params)
    assert params == encoder.get_params()
    assert again == encoder
    assert hash(again) == hash(encoder)
    observation = data.draw(observations)
    np.testing.assert_array_equal(again.dense(observation), encoder.dense(observation))


@each
@given(data=st.data())
def test_pickle_and_copy(name: str, data: st.DataObject) -> None:
    encoder, observations = ALL[name]
    observation = data.draw(observations)
    for again in (pickle.loads(pickle.dumps(encoder)), copy.deepcopy(encoder), copy.copy(encoder)):
        assert again is not encoder
        assert again == encoder
        assert (again.size, again.active) == (encoder.size, encoder.active)
        np.testing.assert_array_equal(again.dense(observation), encoder.dense(observation))


@each
def test_equal_only_to_itself(name: str) -> None:
    for other, (encoder, _) in ALL.items():
        assert (encoder == ALL[name][0]) is (other == name)
    assert ALL[name][0] != name


@pytest.mark.parametrize("name", [name for name in STORABLE if name != "table"])
def test_repr_makes_an_equal_encoder(name: str) -> None:
    encoder, _ = STORABLE[name]
    assert eval(repr(encoder)) == encoder


def test_repr_of_what_cannot_be_written_out() -> None:
    assert repr(Table(MATRIX)) == "Table(matrix=<3 states, 4 features, 4 active>)"
    assert "square" in repr(Custom(square, size=3))


def test_the_row_with_a_wrong_index_is_named() -> None:
    encoder = Encoded(5, 2)
    with pytest.raises(ValueError, match=r"got \[1\.5 0\.  1\.  1\. \]"):
        encoder.encode_batch([[0, 1, 1.0, 1.0], [1.5, 0, 1.0, 1.0]])

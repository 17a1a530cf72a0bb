"""The compiled form of an encoder encodes as the encoder does."""

import copy
import itertools
import math
import pickle
from functools import cache
from types import FunctionType, ModuleType
from typing import Any

import numpy as np
import pytest

from tdlambda.compiled import kernel
from tdlambda.features import Custom, Dense, Encoder, Fourier, GridTilings, OneHot, Table, TileCoder
from tdlambda.features.encoder import EncoderKernel, Indices, Values, as_vector

LOW, HIGH = [-1.0, 0.1, 5.0], [1.0, 10.0, 5.5]


def boxes(kind: Any, **options: Any) -> list[Encoder]:
    made = [kind(LOW[:d], HIGH[:d], outside=outside, **options) for d in (1, 2, 3) for outside in ("clip", "raise")]
    return [*made, kind([-1e-310, -1e307], [1e-310, 1e307], outside="clip", **options)]


ENCODERS: list[Encoder] = [
    *itertools.chain.from_iterable(
        boxes(TileCoder, offsets=offsets, bias=bias, tilings=tilings, hash_size=hash_size)
        for offsets in ("symmetric", "asymmetric")
        for bias in (False, True)
        for tilings in (1, 8)
        for hash_size in (None, 37)
    ),
    TileCoder([0, 0], [1, 1], tilings=5, tiles=[3, 7], bias=True),
    TileCoder([0, 0], [1, 1], tilings=1, tiles=[2**31, 2**30]),
    TileCoder([0, 0], [1, 1], tilings=3, tiles=2**30, bias=True, hash_size=10**6),
    TileCoder(0, 1, tiles=1),
    *itertools.chain.from_iterable(boxes(Fourier, order=order) for order in (0, 1, 3)),
    Fourier([0] * 4, [1] * 4, order=2),
    Dense(1),
    Dense(4),
]
each = pytest.mark.parametrize("encoder", ENCODERS, ids=repr)


def kernel_of(encoder: Encoder) -> EncoderKernel:
    """Its kernel; with hashing it is private, because it does not count collisions."""
    found = encoder._kernel if isinstance(encoder, TileCoder) else encoder.kernel
    assert found is not None
    return found


compile_once = cache(kernel)


def observations(encoder: Encoder, n: int) -> Values:
    """Points inside the bounds, around them and far beyond, with bounds, cuts, zeros, NaN and infinities mixed in."""
    random = np.random.default_rng(1)
    d = kernel_of(encoder).dimensions
    low, high = getattr(encoder, "low", np.full(d, -2.0)), getattr(encoder, "high", np.full(d, 2.0))
    points = low + random.random((n, d)) * (high - low)
    around = low + (random.random((n, d)) * 1.5 - 0.25) * (high - low)
    cuts = low + random.integers(-1, 130, (n, d)) / 128 * (high - low)
    far = random.standard_normal((n, d)) * 10.0 ** random.integers(-320, 308, (n, d))
    special = random.choice([0.0, -0.0, 5e-324, 1e154, -1.4e154, 1.7e308, np.inf, -np.inf, np.nan], (n, d))
    edges = [low, high, np.nextafter(low, -np.inf), np.nextafter(high, np.inf), np.nextafter(low, high)]
    for share, other in ((0.1, around), (0.2, cuts), (0.02, far), (0.05, special)):
        points = np.where(random.random((n, d)) < share, other, points)
    for edge in edges:
        points = np.where(random.random((n, d)) < 0.03, edge, points)
    return np.concatenate([points, edges, np.full((1, d), np.nan)])


@each
def test_same_bits_and_same_refusals(encoder: Encoder) -> None:
    compiled = kernel_of(encoder)
    encode = compile_once(compiled.encode)
    numbers = compiled.numbers.copy()
    refused = 0
    points = observations(encoder, 2000)
    for point in points:
        before = point.copy()
        index, value = np.full(encoder.active, -7), np.full(encoder.active, np.nan)
        answer = encode(point, compiled.numbers, index, value)
        assert point.tobytes() == before.tobytes()
        try:
            indices, values = encoder.encode(point)
        except ValueError:
            refused += 1
            assert answer == 1
            assert (index == -7).all()
            assert np.isnan(value).all()
        else:
            assert answer == 0
            np.testing.assert_array_equal(index, indices)
            assert value.tobytes() == values.tobytes()
            assert ((index >= 0) & (index < encoder.size)).all()
    assert 0 < refused < len(points) * 0.9
    np.testing.assert_array_equal(compiled.numbers, numbers)


@each
def test_batches_have_the_same_bits(encoder: Encoder) -> None:
    compiled = kernel_of(encoder)
    encode = compile_once(compiled.encode)
    encodings = []
    points = []
    for point in observations(encoder, 500):
        index, value = np.empty(encoder.active, dtype=np.int64), np.empty(encoder.active)
        if encode(point, compiled.numbers, index, value) == 0:
            points.append(point)
            encodings.append((index, value))
    indices, values = encoder.encode_batch(points)
    assert np.array([index for index, _ in encodings]).tobytes() == indices.tobytes()
    assert np.array([value for _, value in encodings]).tobytes() == values.tobytes()


@pytest.mark.parametrize("outside", ["clip", "raise"])
def test_tiles_against_the_definition(outside: Any) -> None:
    coder = TileCoder(LOW, HIGH, tilings=8, tiles=[3, 4, 5], offsets="asymmetric", bias=True, outside=outside)
    compiled = kernel_of(coder)
    encode = compile_once(compiled.encode)
    index, value = np.empty(9, dtype=np.int64), np.empty(9)
    for point in observations(coder, 500):
        clipped = [min(max(x, low), high) for x, low, high in zip(point.tolist(), LOW, HIGH, strict=True)]
        inside = all(low <= x <= high for x, low, high in zip(point, LOW, HIGH, strict=True))
        refused = bool(np.isnan(point).any()) or (outside == "raise" and not inside)
        assert encode(point, compiled.numbers, index, value) == refused
        if refused:
            continue
        for k in range(8):
            tile = k
            for i, tiles in enumerate((3, 4, 5)):
                scaled = (clipped[i] - LOW[i]) / (HIGH[i] - LOW[i]) * tiles
                offset = (k * (2 * i + 1) % 8 + 0.5) / 8 - 0.5
                tile = tile * tiles + min(max(math.floor(scaled + offset), 0), tiles - 1)
            assert index[k] == tile
        assert index[8] == 480 == coder.size - 1
        assert value.tolist() == [1.0] * 9


def test_fourier_against_the_definition() -> None:
    encoder = Fourier(LOW, HIGH, order=3)
    compiled = kernel_of(encoder)
    index, value = np.empty(64, dtype=np.int64), np.empty(64)
    assert compile_once(compiled.encode)(np.array([0.0, 5.05, 5.4]), compiled.numbers, index, value) == 0
    c = np.array(list(itertools.product(range(4), repeat=3)))
    np.testing.assert_allclose(value, np.cos(np.pi * c @ [0.5, 0.5, 0.8]), atol=1e-12)
    assert index.tolist() == list(range(64))


def test_dense_against_the_definition() -> None:
    encode = compile_once(kernel_of(Dense(2)).encode)
    for point, refused in (([1.0, -0.0], 0), ([1e154, 1e153], 0), ([1.3e154, 1.3e154], 1), ([np.inf, 0.0], 1)):
        index, value = np.zeros(2, dtype=np.int64), np.zeros(2)
        assert encode(np.array(point), np.empty(0), index, value) == refused
        assert index.tolist() == ([0, 0] if refused else [0, 1])
        assert value.tolist() == ([0.0, 0.0] if refused else point)


@each
def test_form(encoder: Encoder) -> None:
    compiled = kernel_of(encoder)
    assert compiled.numbers.dtype == np.float64
    assert compiled.numbers.ndim == 1
    assert compiled.numbers.flags.carray
    assert compiled.dimensions == (encoder.size if isinstance(encoder, Dense) else len(encoder.get_params()["low"]))
    for again in (pickle.loads(pickle.dumps(encoder)), copy.deepcopy(encoder), copy.copy(encoder)):
        assert kernel_of(again).encode is compiled.encode
        np.testing.assert_array_equal(kernel_of(again).numbers, compiled.numbers)


def called(function: Any) -> set[Any]:
    """The functions that a kernel calls, itself included; fails if its source could not be copied elsewhere."""
    plain = getattr(function, "py_func", function)
    assert isinstance(plain, FunctionType)
    assert plain.__closure__ is None
    assert plain.__name__ == plain.__qualname__
    found = {plain}
    for name in plain.__code__.co_names:
        value = plain.__globals__.get(name)
        if isinstance(value, ModuleType):
            assert (name, value) == ("np", np)
        elif value is not None and type(value) not in (int, float):
            found |= called(value)
    return found


def test_source_can_be_copied() -> None:
    for encode in {kernel_of(encoder).encode for encoder in ENCODERS}:
        assert isinstance(encode, FunctionType)
        names = [function.__name__ for function in called(encode)]
        assert len(names) == len(set(names))


def test_without_a_kernel() -> None:
    assert OneHot(3).kernel is None
    assert Table([[1.0]]).kernel is None
    assert GridTilings.frozen_lake().kernel is None
    assert Custom(lambda s: [s], size=1).kernel is None
    # Compiled code would not count collisions.
    assert TileCoder(0, 1, hash_size=5).kernel is None


class Doubled(TileCoder):
    def encode(self, observation: Any) -> tuple[Indices, Values]:
        indices, values = super().encode(observation)
        return indices, 2 * values


class DoubledInBatches(Dense):
    def encode_batch(self, observations: Any) -> tuple[Indices, Values]:
        indices, values = super().encode_batch(observations)
        return indices, 2 * values


class Named(Dense):
    pass


class Own(Dense):
    kernel = None

    def encode(self, observation: Any) -> tuple[Indices, Values]:
        return super().encode(observation)


class Compiled(Dense):
    @property
    def kernel(self) -> EncoderKernel | None:
        return self._kernel

    def encode(self, observation: Any) -> tuple[Indices, Values]:
        return super().encode(observation)


def test_whoever_encodes_otherwise_does_not_inherit_the_kernel() -> None:
    assert Doubled(0, 1).kernel is None
    assert type("Again", (Doubled,), {})(0, 1).kernel is None
    assert DoubledInBatches(1).kernel is None
    assert Own(1).kernel is None
    assert Named(1).kernel is not None
    assert Compiled(1).kernel is not None


def test_a_vector_is_taken_as_it_is() -> None:
    vector = np.array([1.0, 2.0])
    assert as_vector(vector, 2) is vector


def frozen(vector: Values) -> Values:
    vector.flags.writeable = False
    return vector


def unaligned() -> Values:
    return np.frombuffer(b"." + np.array([1.0, 2.0]).tobytes(), offset=1)


@pytest.mark.parametrize(
    "given",
    [
        [1, 2],
        (1.0, 2.0),
        np.array([1, 2]),
        np.array([1, 2], dtype=np.float32),
        np.array([1, 2], dtype=">f8"),
        np.array([1.0, 0.0, 2.0, 0.0])[::2],
        np.array([2.0, 1.0])[::-1],
        frozen(np.array([1.0, 2.0])),
        np.array([1.0, 2.0]).view(np.recarray),
        np.ma.array([1.0, 2.0]),
        unaligned(),
    ],
    ids=repr,
)
def test_anything_else_becomes_such_a_vector(given: Any) -> None:
    vector = as_vector(given, 2)
    assert vector.tolist() == [1.0, 2.0]
    assert type(vector) is np.ndarray
    assert vector.dtype == np.float64
    assert vector.flags.carray
    assert not np.shares_memory(vector, np.asarray(given))


def test_a_number_is_a_vector_of_length_1() -> None:
    assert as_vector(0.5, 1).tolist() == [0.5]
    assert as_vector(np.array(0.5), 1).tolist() == [0.5]


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        (np.zeros(3), ValueError, r"observation must have the shape \(2,\); got the shape \(3,\)"),
        (np.zeros((1, 2)), ValueError, r"observation must have the shape \(2,\); got the shape \(1, 2\)"),
        (0.5, ValueError, r"observation must have the shape \(2,\); got the shape \(\)"),
        ("ab", TypeError, "observation must be real numbers; got 'ab'"),
        (np.zeros(2, dtype=complex), TypeError, "observation must be real numbers; got"),
        ([1.0, [2.0]], ValueError, "observation must be a scalar or a rectangular array"),
        (np.ma.array([1.0, 2.0], mask=[True, False]), ValueError, "observation: masked values"),
    ],
)
def test_what_is_no_vector(given: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        as_vector(given, 2)

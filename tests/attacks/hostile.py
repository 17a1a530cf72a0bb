"""Inputs in disguise: each a value, and what a learner must make of it."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from enum import IntEnum
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from attacks.guards import guarded

Array = NDArray[Any]
RNG: TypeAlias = np.random.Generator


class Verdict(IntEnum):
    """What must come of a call; the greatest verdict of its arguments counts."""

    SAME = 0
    """It is accepted and means what the plain value means."""
    EITHER = 1
    """It is refused, or means what the plain value means."""
    ANY = 2
    """It is refused, or accepted, and the learner stays finite or says that it diverged."""
    WRONG = 3
    """It is refused."""


Given: TypeAlias = tuple[Any, Verdict]
SAME, EITHER, ANY, WRONG = Verdict
HUGE = 10**400
NEITHER = [None, 1j, object(), "", [], {}, np.ma.masked, np.datetime64(0, "s"), HUGE, [0.5, 0.5], slice(None), int]
"""No number, no flag and no observation."""
TEXT = ["0.5", b"0.5", "False", "nan", "１", bytearray(b"1"), np.str_("1"), np.bytes_(b"1")]
NOT_FINITE = [np.nan, np.inf, -np.inf, np.float32(np.nan)]
EXTREME = [-0.0, 5e-324, -5e-324, 1e-308, 1e308, -1.7976931348623157e308, 1e200, 2**63, 10**300, -(2**64)]


def _masked(value: Any) -> Any:
    return np.ma.array(value, mask=True)


# ---- one number, one flag, one observation --------------------------------------------------------------------


def number(rng: RNG, plain: float, low: float, high: float) -> Given:
    """A number in [low, high] in disguise."""
    same = [float(plain), np.float64(plain)]
    either: list[Any] = [np.float32(plain), np.array(plain), Fraction(plain), Decimal(plain), np.longdouble(plain)]
    any_ = [x for x in EXTREME if low <= x <= high]
    wrong: list[Any] = [x for x in EXTREME if not low <= x <= high]
    wrong += [*NOT_FINITE, *NEITHER, *TEXT, _masked(plain), np.array([plain, plain]), np.array(str(plain))]
    return _one_of(rng, same, [*either, np.array([plain]), [plain]], any_, wrong)


def flag(rng: RNG, plain: bool) -> Given:
    """True or False in disguise."""
    same = [plain, np.bool_(plain)]
    either = [int(plain), np.int8(plain), float(plain), np.array(plain), np.array([plain]), [plain]]
    wrong = [*TEXT, np.nan, 2, -1, 0.5, object(), "", _masked(plain), np.array([plain, plain]), [plain, plain], 1j]
    return _one_of(rng, same, either, [None, [], {}], wrong)


def state(rng: RNG, plain: int, n: int) -> Given:
    """A state's number in 0..n-1 in disguise."""
    same = [plain, np.int64(plain), np.uint16(plain), np.int32(plain)]
    either = [np.array(plain), np.array([plain]), float(plain), [plain]]
    wrong = [-1, n, n + 1, 2**31, 2**63 - 1, 2**63, -(2**63), 2**64, HUGE, plain + 0.5, *NOT_FINITE, *TEXT, None]
    wrong += [object(), _masked(plain), np.uint64(2**64 - 1), np.array([plain, plain]), (plain, plain), 1j, {}]
    return _one_of(rng, same, either, [], wrong)


def vector(rng: RNG, plain: Array) -> Given:
    """An observation that is a vector, in disguise."""
    same: list[Any] = [
        plain,
        plain.tolist(),
        tuple(plain),
        plain.astype(np.float32),
        plain.astype(">f8"),
        guarded(plain),
    ]
    same += [np.repeat(plain, 2)[::2]]
    either: list[Any] = [plain.astype(object), np.ma.array(plain), plain.data, plain.astype(np.longdouble)]
    any_ = [plain * 1e300, plain * 0.0, plain * 5e-324, np.full_like(plain, np.inf), np.full_like(plain, -1e308)]
    wrong: list[Any] = [
        plain[:-1],
        np.append(plain, 0.0),
        plain[None],
        plain.astype(str),
        plain.astype("S9"),
        plain + 0j,
        None,
    ]
    wrong += [np.full_like(plain, np.nan), np.ma.array(plain, mask=True), [*plain[:-1], None], "text", b"bytes", {}]
    wrong += [np.zeros((3, 0)), plain.astype("datetime64[s]"), [[1.0], [1.0, 2.0]], [*plain[:-1], HUGE]]
    return _one_of(rng, same, either, any_, wrong)


def _one_of(rng: RNG, *by_verdict: list[Any]) -> Given:
    verdict = Verdict(int(rng.choice([k for k, some in enumerate(by_verdict) if some])))
    some = by_verdict[verdict]
    return some[int(rng.integers(len(some)))], verdict


# ---- columns --------------------------------------------------------------------------------------------------

Disguise: TypeAlias = Callable[[RNG, Array], Any]
_ROWS: dict[Verdict, list[Disguise]] = {
    SAME: [
        lambda rng, a: guarded(a, bool(rng.integers(2))),
        lambda rng, a: np.repeat(a, 3, axis=0)[::3],
        lambda rng, a: a[::-1].copy()[::-1],
        lambda rng, a: np.asfortranarray(a),
        lambda rng, a: a.astype(a.dtype.newbyteorder()),
        lambda rng, a: a.astype({"i": np.uint16, "f": np.float32}.get(a.dtype.kind, a.dtype)),
        lambda rng, a: _read_only(a),
        lambda rng, a: np.lib.stride_tricks.as_strided(a, a.shape, a.strides),
        lambda rng, a: np.frombuffer(b"\0" + a.tobytes(), np.uint8)[1:].view(a.dtype).reshape(a.shape),  # not aligned
    ],
    EITHER: [
        lambda rng, a: a.tolist(),
        lambda rng, a: tuple(a),
        lambda rng, a: a.astype(object),
        lambda rng, a: np.ma.array(a),
        lambda rng, a: np.ascontiguousarray(a).data,
        lambda rng, a: a.astype(np.longdouble) if a.dtype.kind == "f" else a.astype(np.int16),
        lambda rng, a: np.asmatrix(a.reshape(len(a), -1)),
    ],
    WRONG: [
        lambda rng, a: np.stack([a] * 7, axis=0),
        lambda rng, a: np.stack([a, a], axis=1),
        lambda rng, a: np.stack([a, a], axis=-1)[..., None],
        lambda rng, a: a.astype(str),
        lambda rng, a: a.astype("S9"),
        lambda rng, a: a + 0j,
        lambda rng, a: a.astype("datetime64[s]"),
        lambda rng, a: np.ma.array(a, mask=np.arange(a.size).reshape(a.shape) % 3 == rng.integers(2)),
        lambda rng, a: [*a.tolist()[:-1], None],
        lambda rng, a: [*a.tolist()[:-1], "1"],
        lambda rng, a: [*a.tolist()[:-1], HUGE],
        lambda rng, a: [*a.tolist()[:-1], [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]],
        lambda rng, a: np.zeros(len(a), dtype="i8,f8"),
        lambda rng, a: {"a": 1},
        lambda rng, a: "column",
        lambda rng, a: np.zeros((len(a), 0)),
    ],
}  # fmt: skip
_LENGTHS: list[Disguise] = [
    lambda rng, a: guarded(a[:-1]),
    lambda rng, a: guarded(a[: len(a) // 2]),
    lambda rng, a: np.concatenate([a, a]),
    lambda rng, a: a[None],
]


def rows(rng: RNG, plain: Array, alone: bool = False) -> Given:
    """A column of at least two rows in disguise: another layout, type or dimension or, unless it is alone, length."""
    verdict = (SAME, EITHER, WRONG)[int(rng.integers(3))]
    some = _ROWS[verdict] + (_LENGTHS if verdict == WRONG and not alone else [])
    return some[int(rng.integers(len(some)))](rng, plain), verdict


def spoiled(rng: RNG, plain: Array, values: list[Given]) -> Given:
    """A column with one entry replaced."""
    value, verdict = values[int(rng.integers(len(values)))]
    column = plain.astype(np.result_type(plain, np.asarray(value)))
    column[int(rng.integers(len(column)))] = value
    return guarded(column), verdict


def _read_only(a: Array) -> Array:
    a = a.copy()
    a.flags.writeable = False
    return a

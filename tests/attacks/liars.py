"""Encoders and rules of a user's own that break their contract, from the start or after some good answers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

import tdlambda as td
from attacks.guards import guarded
from tdlambda.rules import Rule

Array = NDArray[Any]
STATES = 5


def _poke(array: Array, value: Any) -> Array:
    """A copy whose last entry is another."""
    array = array.copy()
    array.flat[-1:] = value
    return array


# How an encoding (indices, values), of one observation or of many, may be wrong; True: it must be refused.
ENCODINGS: dict[str, tuple[Callable[[Array, Array], Any], bool]] = {
    "honest": (lambda i, v: (i, v), False),
    "index of size": (lambda i, v: (_poke(i, STATES), v), True),
    "index far out": (lambda i, v: (_poke(i, 2**40), v), True),
    "index -1": (lambda i, v: (_poke(i, -1), v), True),
    "index far below": (lambda i, v: (_poke(i, -(2**40)), v), True),
    "fewer entries": (lambda i, v: (guarded(i[..., :-1]), guarded(v[..., :-1])), True),
    "more entries": (lambda i, v: (np.concatenate([i, i], -1), np.concatenate([v, v], -1)), True),
    "fewer values": (lambda i, v: (i, guarded(v[..., :-1])), True),
    "fewer indices": (lambda i, v: (guarded(i[..., :-1]), v), True),
    "half the rows": (lambda i, v: (guarded(i[: len(i) // 2]), guarded(v[: len(v) // 2])), True),
    "flat": (lambda i, v: (np.int64(0), np.float64(0.5)), True),
    "nested": (lambda i, v: (i[None], v[None]), True),
    "NaN": (lambda i, v: (i, _poke(v, np.nan)), True),
    "infinite": (lambda i, v: (i, _poke(v, np.inf)), True),
    "huge": (lambda i, v: (i, v * 1e300), False),
    "float indices": (lambda i, v: (i.astype(float), v), False),
    "int32 indices": (lambda i, v: (i.astype(np.int32), v), False),
    "uint64 indices": (lambda i, v: (_poke(i.astype(np.uint64), 2**64 - 1), v), True),
    "float32 values": (lambda i, v: (i, v.astype(np.float32)), False),
    "strided": (lambda i, v: (np.repeat(i, 2, -1)[..., ::2], np.repeat(v, 2, -1)[..., ::2]), False),
    "lists": (lambda i, v: (i.tolist(), v.tolist()), False),
    "text": (lambda i, v: (i, v.astype(str)), True),
    "complex": (lambda i, v: (i, v + 1j), True),
    "None": (lambda i, v: None, True),
    "indices alone": (lambda i, v: i, True),
    "objects": (lambda i, v: (i.astype(object), v.astype(object)), False),
    "masked": (lambda i, v: (i, np.ma.array(v, mask=True)), False),
}


class Liar(td.Encoder):
    """Two of five features are active; wrong in one way, once `after` encodings have been right."""

    def __init__(self, fault: str, after: int = 0) -> None:
        self.size, self.active, self.fault, self.after = STATES, 2, fault, after
        self.calls = 0

    def encode(self, observation: Any) -> Any:
        index, value = self._right(np.array([observation]))
        return self._told(index[0], value[0])

    def encode_batch(self, observations: Any) -> Any:
        return self._told(*self._right(np.asarray(observations)))

    def get_params(self) -> dict[str, Any]:
        return {"fault": self.fault, "after": self.after}

    def _right(self, states: Array) -> tuple[Array, Array]:
        if states.dtype.kind not in "iu":
            raise TypeError(f"observations must be integers; got {states.dtype}")
        index = np.stack([states % STATES, (states + 1) % STATES], axis=-1).astype(np.int64)
        return index, np.full(index.shape, 0.5)

    def _told(self, index: Array, value: Array) -> Any:
        self.calls += 1
        return (index, value) if self.calls <= self.after else ENCODINGS[self.fault][0](index, value)


RULES: dict[str, tuple[Callable[[Array], Any], bool]] = {
    "honest": (lambda lam: lam, False),
    "too few": (lambda lam: guarded(lam[:-1]), True),
    "too many": (lambda lam: np.concatenate([lam, lam]), True),
    "above 1": (lambda lam: _poke(lam, 1.5), True),
    "below 0": (lambda lam: _poke(lam, -1e-9), True),
    "NaN": (lambda lam: _poke(lam, np.nan), True),
    "nested": (lambda lam: lam[None], True),
    "scalar": (lambda lam: 0.5, False),
    "None": (lambda lam: None, True),
    "text": (lambda lam: lam.astype(str), True),
    "complex": (lambda lam: lam + 1j, True),
    "masked": (lambda lam: np.ma.array(lam, mask=True), False),
    "list": (lambda lam: lam.tolist(), False),
    "float32": (lambda lam: lam.astype(np.float32), False),
    "integers": (lambda lam: np.ones(len(lam), dtype=np.int64), False),
    "strided": (lambda lam: np.repeat(lam, 2)[::2], False),
    "swapped": (lambda lam: lam.astype(">f8"), False),
}


class LyingRule(Rule):
    """λ = ½ everywhere; wrong in one way."""

    def __init__(self, fault: str) -> None:
        self.fault = fault

    def at(self, obs: Any) -> Any:  # noqa: ARG002
        told = RULES[self.fault][0](np.full(1, 0.5))
        return told[0] if isinstance(told, np.ndarray) and told.shape == (1,) else told

    def at_many(self, observations: Any, n: int) -> Any:  # noqa: ARG002
        return RULES[self.fault][0](np.full(n, 0.5))

    def get_params(self) -> dict[str, Any]:
        return {"fault": self.fault}

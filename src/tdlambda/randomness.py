"""Random numbers inside compiled code: xoshiro256++ (Blackman & Vigna 2021).

It uses integer arithmetic only, so a seed gives the same numbers on every machine. Each stream has its own state, so
the number of threads does not matter.
"""

from __future__ import annotations

import ctypes
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tdlambda.compiled import compiled

_TO_UNIT = 2.0**-53


def stream(seed: int) -> NDArray[np.uint64]:
    """The state of a new random stream with a `seed` ≥ 0; different seeds give statistically independent streams.

    >>> stream(7).dtype, stream(7).shape
    (dtype('uint64'), (4,))
    """
    if seed < 0:
        raise ValueError(f"seed must be a non-negative integer; got {seed}")
    return np.asarray(np.random.SeedSequence(seed).generate_state(4, np.uint64), dtype=np.uint64)


def check_generator(rng: Any) -> None:
    """Raise TypeError if this is no NumPy generator."""
    if not isinstance(rng, np.random.Generator):
        raise TypeError(f"rng must be a generator, such as np.random.default_rng(0); got {rng!r}")


class Drawing(NamedTuple):
    """Addresses of a NumPy generator's `random()`, for `called`; a call from Python would be much slower.

    The generator's lock is not taken, because that would add a fifth to the time of `act`. Code that draws must keep
    the GIL (`compiled.brief`), so that numbers drawn one at a time by other threads do not interfere. Arrays drawn by
    other threads do: NumPy releases the GIL for these.
    """

    rng: np.random.Generator | None
    function: int
    state: int
    interface: Any = None
    """Kept alive, like the generator, so that the addresses stay valid."""

    @classmethod
    def of(cls, rng: np.random.Generator) -> Drawing:
        """The addresses of a generator's functions."""
        interface: Any = rng.bit_generator.ctypes
        function: Any = ctypes.cast(interface.next_double, ctypes.c_void_p).value
        return cls(rng, function, interface.state_address, interface)


@compiled
def _rotate(x: np.uint64, k: int) -> np.uint64:
    return (x << np.uint64(k)) | (x >> np.uint64(64 - k))


@compiled
def uniform(s: NDArray[np.uint64]) -> float:
    """The next number of the stream `s`, uniform on [0, 1); for compiled code such as a `td.tasks.World`.

    >>> import tdlambda as td
    >>> random = td.randomness.stream(7)
    >>> 0 <= td.tasks.uniform(random) < 1
    True
    """
    result = _rotate(s[0] + s[3], 23) + s[0]
    t = s[1] << np.uint64(17)
    s[2] ^= s[0]
    s[3] ^= s[1]
    s[1] ^= s[2]
    s[0] ^= s[3]
    s[2] ^= t
    s[3] = _rotate(s[3], 45)
    return float((result >> np.uint64(11)) * _TO_UNIT)


def running_sums(indptr: NDArray[np.int64], probability: NDArray[np.float64]) -> NDArray[np.float64]:
    """The running sums of the probabilities of each row `indptr[i]:indptr[i+1]`.

    From the last positive probability on they are exactly 1, so that `pick` never returns an index of probability 0
    because of rounding.
    """
    sums = np.empty_like(probability)
    for first, last in pairwise(indptr):
        row = probability[first:last]
        sums[first:last] = np.cumsum(row)
        sums[first + np.flatnonzero(row).max(initial=0) : last] = 1.0
    return sums


@compiled
def pick(sums: NDArray[np.float64], first: int, last: int, u: float) -> int:
    """The first index in [first, last) with u < sums[index]."""
    while first < last - 1:
        middle = (first + last - 1) // 2
        if u < sums[middle]:
            last = middle + 1
        else:
            first = middle + 1
    return first

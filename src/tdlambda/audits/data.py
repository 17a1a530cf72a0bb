"""The steps of an audit, one environment after the other, in parts that fit into memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tdlambda.arrays import Bools, Floats

Array = NDArray[Any]
PART = 1 << 16
"""Steps converted to double precision at a time."""


@dataclass
class AuditedSteps:
    """Arrays [T, N], read in parts of a flat sequence: all steps of environment 0, then those of 1, and so on."""

    values: list[tuple[Array, Array]]
    """V(s_t) and V(s_{t+1}) of each critic."""
    reward: Array
    gamma: Array
    rho: Array
    terminated: Bools
    truncated: Bools
    features: Sequence[tuple[Array, Array]] = ()
    """Further columns of the basis."""
    ends: Bools = field(init=False)

    def __post_init__(self) -> None:
        """Find the ends of the episodes."""
        self.ends = (self.terminated | self.truncated).T.reshape(-1)

    @property
    def size(self) -> int:
        """Number of steps."""
        return self.reward.size

    @property
    def episodes(self) -> int:
        """Number of episodes, including parts of episodes."""
        return int(self.ends.sum())

    @property
    def critics(self) -> int:
        """Number of critics."""
        return len(self.values)

    @property
    def width(self) -> int:
        """Number of columns of the basis."""
        return len(self.values) + len(self.features)

    def parts(self) -> Iterator[slice]:
        """Consecutive slices of the flat sequence."""
        for first in range(0, self.size, PART):
            yield slice(first, min(first + PART, self.size))

    def columns(self, part: slice) -> tuple[Floats, Floats]:
        """Columns at s_t and at s_{t+1}, each [column, step]; those of a terminal state are 0."""
        pairs = [*self.values, *self.features]
        here, after = (np.array([self.flat(pair[side], part) for pair in pairs]) for side in (0, 1))
        after[:, self.flat(self.terminated, part) != 0] = 0.0
        return here, after

    def numbers(self, part: slice) -> tuple[Floats, Floats, Floats]:
        """Rewards, discounts (0 where an episode terminates) and ratios."""
        gamma = np.where(self.flat(self.terminated, part) != 0, 0.0, self.flat(self.gamma, part))
        return self.flat(self.reward, part), gamma, self.flat(self.rho, part)

    def flat(self, array: Array, part: slice) -> Floats:
        """Some steps of an array [T, N] in double precision."""
        T = array.shape[0]
        first, last = part.start // T, -(-part.stop // T)
        if last - first == 1:  # one environment
            some = array[part.start - first * T : part.stop - first * T, first]
        else:
            some = array[:, first:last].T.reshape(-1)[part.start - first * T : part.stop - first * T]
        return np.ascontiguousarray(some, dtype=np.float64)

"""Tilings of a discrete grid."""

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Self, SupportsIndex

import numpy as np
from numpy.typing import ArrayLike

from tdlambda.compiled import compiled
from tdlambda.features.arguments import whole_number
from tdlambda.features.discrete import state_index, state_indices
from tdlambda.features.encoder import Encoder, Indices, Values


class GridTilings(Encoder):
    """Tilings of a grid of states, each cut along grid lines, with one active feature per tiling.

    The grid's form of tile coding (Sutton & Barto 2018, section 9.5.4). Along a dimension, the cell of
    the coordinate c is the number of cut points <= c; a tiling has Π (number of cuts + 1) features, one
    for each combination of cells in row-major order, and the tilings' features follow each other.

    Parameters
    ----------
    shape
        Length of the grid along each dimension, at least 1: (rows, columns, ...). An observation is a
        state's row-major number, row · columns + column for two dimensions.
    cuts
        For each tiling, for each dimension, the increasing cut points, in 1..length-1.

    Examples
    --------
    >>> from tdlambda.features import GridTilings
    >>> encoder = GridTilings((2, 3), [((1,), ()), ((), (1, 2))])
    >>> encoder.size
    5
    >>> encoder.encode(5)
    (array([1, 4]), array([1., 1.]))
    """

    states: int

    def __init__(
        self,
        shape: Sequence[SupportsIndex],
        cuts: Sequence[Sequence[Sequence[SupportsIndex]]],
    ) -> None:
        for name, given in (("shape", shape), ("cuts", cuts)):
            if not _is_list(given):
                raise TypeError(f"{name} must be a list; got {given!r}")
        if len(shape) == 0:
            raise ValueError(f"shape must have at least one dimension; got {shape!r}")
        if len(cuts) == 0:
            raise ValueError(f"cuts must have at least one tiling; got {cuts!r}")
        self.shape = tuple(whole_number(f"shape[{d}]", length, least=1) for d, length in enumerate(shape))
        self.states = math.prod(self.shape)
        if self.states >= 2**62:
            raise ValueError(f"shape must have fewer than 2**62 states; got {shape!r}")
        self.cuts = tuple(_checked_tiling(k, tiling, self.shape) for k, tiling in enumerate(cuts))
        self.active = len(self.cuts)
        cells = [[len(points) + 1 for points in tiling] for tiling in self.cuts]
        self.size = sum(math.prod(row) for row in cells)
        self._lengths = np.array(self.shape, dtype=np.int64)
        # A state's index in a tiling is a sum of one term per dimension, so memory grows with the sum of
        # the lengths and not with their product. The tiling's first index is part of the first term.
        self._terms = np.empty((sum(self.shape), self.active), dtype=np.int64)
        start = 0
        for k, tiling in enumerate(self.cuts):
            columns = [
                np.searchsorted(points, np.arange(length), side="right") * math.prod(cells[k][d + 1 :])
                for d, (points, length) in enumerate(zip(tiling, self.shape, strict=True))
            ]
            columns[0] = columns[0] + start
            self._terms[:, k] = np.concatenate(columns)
            start += math.prod(cells[k])
        self._ones = np.ones(self.active)

    @classmethod
    def frozen_lake(cls) -> Self:
        """The 12 features, 4 active, of the 4x4 FrozenLake.

        For row r and column c: [r = 0 | r > 0], [r > 1] x [c = 3], [r = 3] x [c > 1], [c = 0 | c > 0].
        """
        return cls((4, 4), [((1,), ()), ((2,), (3,)), ((3,), (2,)), ((), (1,))])

    def encode(self, observation: SupportsIndex) -> tuple[Indices, Values]:
        """The state's feature in each tiling, with the value 1."""
        state = np.array([state_index(observation, self.states)], dtype=np.int64)
        indices = np.empty((1, self.active), dtype=np.int64)
        _sum_terms(state, self._lengths, self._terms, indices)
        return indices[0], self._ones.copy()

    def encode_batch(self, observations: ArrayLike) -> tuple[Indices, Values]:
        """The indices and values of n states, each of shape [n, number of tilings]."""
        states = state_indices(observations, self.states)
        indices = np.empty((states.size, self.active), dtype=np.int64)
        _sum_terms(states, self._lengths, self._terms, indices)
        return indices, np.ones(indices.shape)


def _is_list(given: object) -> bool:
    if isinstance(given, np.ndarray):
        return given.ndim > 0
    return isinstance(given, Sequence) and not isinstance(given, str | bytes)


def _checked_tiling(
    k: int, tiling: Sequence[Sequence[SupportsIndex]], shape: tuple[int, ...]
) -> tuple[tuple[int, ...], ...]:
    if not _is_list(tiling) or len(tiling) != len(shape):
        raise ValueError(f"cuts[{k}] must have one entry for each of {len(shape)} dimensions; got {tiling!r}")
    checked = []
    for d, (points, length) in enumerate(zip(tiling, shape, strict=True)):
        name = f"cuts[{k}][{d}]"
        if not _is_list(points):
            raise TypeError(f"{name} must be a list of cut points; got {points!r}")
        whole = tuple(whole_number(f"{name}[{j}]", point, least=1) for j, point in enumerate(points))
        if any(point >= length for point in whole):
            raise ValueError(f"{name} must have cut points in 1..{length - 1}; got {points!r}")
        if any(left >= right for left, right in pairwise(whole)):
            raise ValueError(f"{name} must be increasing; got {points!r}")
        checked.append(whole)
    return tuple(checked)


@compiled
def _sum_terms(states: Indices, lengths: Indices, terms: Indices, indices: Indices) -> None:
    indices[:] = 0
    for row in range(states.size):
        rest = states[row]
        first = terms.shape[0]
        for d in range(lengths.size - 1, -1, -1):
            first -= lengths[d]
            coordinate = rest % lengths[d]
            rest //= lengths[d]
            for k in range(terms.shape[1]):
                indices[row, k] += terms[first + coordinate, k]

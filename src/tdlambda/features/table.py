"""Features looked up in a given matrix."""

from typing import Any, SupportsIndex

import numpy as np
from numpy.typing import ArrayLike

from tdlambda.features.discrete import state_index, state_indices
from tdlambda.features.encoder import Encoder, Indices, Values
from tdlambda.features.real import first_not_finite, first_overflow, real_array


class Table(Encoder):
    """Features looked up in a matrix: state s has the features of row s, x(s) = Xᵀeₛ.

    Only non-zero entries are stored, so `active` is the largest number of them in a row (at least 1).

    Parameters
    ----------
    matrix
        Real, finite feature matrix X, [number of states, size]; observations are integers that select a row.

    Examples
    --------
    >>> from tdlambda.features import Table
    >>> encoder = Table([[0, 2, 0], [1, 0, -1]])
    >>> encoder.size, encoder.active
    (3, 2)
    >>> encoder.encode(0)
    (array([1, 0]), array([2., 0.]))
    >>> encoder.dense(1)
    array([ 1.,  0., -1.])
    """

    states: int

    def __init__(self, matrix: ArrayLike) -> None:
        X = real_array("matrix", matrix)
        if X.ndim != 2 or X.size == 0:
            raise ValueError(f"matrix must be a non-empty two-dimensional array; got the shape {X.shape}")
        position = first_not_finite(X.reshape(-1))
        if position >= 0:
            row, column = divmod(position, X.shape[1])
            raise ValueError(f"matrix must be finite; got matrix[{row}][{column}] = {X[row, column]}")
        row = first_overflow(X.reshape(-1), X.shape[1])
        if row >= 0:
            raise ValueError(f"matrix: |x|² must be finite; got the row {X[row]}")
        nonzero = X != 0.0
        self.size = X.shape[1]
        self.active = max(1, int(nonzero.sum(axis=1).max()))
        self.states = X.shape[0]
        self._indices = np.zeros((self.states, self.active), dtype=np.int64)
        self._values = np.zeros((self.states, self.active))
        rows, columns = np.nonzero(nonzero)
        entries = (nonzero.cumsum(axis=1) - 1)[rows, columns]
        self._indices[rows, entries] = columns
        self._values[rows, entries] = X[rows, columns]

    def encode(self, observation: SupportsIndex) -> tuple[Indices, Values]:
        """The non-zeros of the state's row, in the order of their indices, padded with zeros."""
        state = state_index(observation, self.states)
        return self._indices[state].copy(), self._values[state].copy()

    def encode_batch(self, observations: ArrayLike) -> tuple[Indices, Values]:
        """The indices and values of n states, each of shape [n, active]."""
        states = state_indices(observations, self.states)
        return self._indices[states], self._values[states]

    def get_params(self) -> dict[str, Any]:
        """The constructor's arguments as plain data."""
        return {"matrix": self.matrix(np.arange(self.states)).tolist()}

    def __repr__(self) -> str:
        """The call with the shape of the matrix instead of its entries."""
        return f"Table(matrix=<{self.states} states, {self.size} features, {self.active} active>)"

"""Policies over a finite set of states."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from tdlambda.arrays import Floats, refuse


class TabularPolicy:
    """A policy π(a|s) as a table: call it with a state, or pass it wherever an array [state, action] is expected.

    Parameters
    ----------
    probabilities
        Probabilities [state, action], each row with sum 1.

    Examples
    --------
    >>> policy = TabularPolicy([[0.5, 0.5], [1.0, 0.0]])
    >>> policy(1)
    array([1., 0.])
    """

    def __init__(self, probabilities: ArrayLike) -> None:
        table = np.asarray(probabilities, dtype=np.float64)
        if table.ndim != 2:
            raise ValueError(f"probabilities must have shape [state, action]; got {table.shape}")
        self.probabilities = policy_table(table, *table.shape)
        self.probabilities.flags.writeable = False

    def __call__(self, state: int) -> Floats:
        """The probability of each action in `state`."""
        row: Floats = self.probabilities[state]
        return row

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Floats:
        """The table itself."""
        return np.array(self.probabilities, dtype=dtype, copy=copy)

    def __repr__(self) -> str:
        """The rows, or the one row that all states share."""
        rows = self.probabilities
        same = bool((rows == rows[0]).all())
        return f"TabularPolicy({rows[0].tolist() if same else rows.tolist()}{' in every state' if same else ''})"


Policy = ArrayLike | TabularPolicy
"""Type of a policy: a table [state, action], one row for all states, or one integer action for each state."""


def policy_table(policy: ArrayLike | TabularPolicy, n_states: int, n_actions: int, name: str = "policy") -> Floats:
    """The validated [state, action] table of a policy.

    Accepts the table itself, one row for all states, or one integer action for each state. With as many states as
    actions, `[1, 0]` are actions and `[1.0, 0.0]` is a row.
    """
    array = np.asarray(policy)
    if array.shape == (n_states,) and np.issubdtype(array.dtype, np.integer):
        bad = (array < 0) | (array >= n_actions)
        refuse(bad, lambda s: f"{name} of state {s} must be from 0 to {n_actions - 1}; got action {array[s]}")
        table = np.zeros((n_states, n_actions))
        table[np.arange(n_states), array] = 1.0
        return table
    array = np.array(array, dtype=np.float64)
    if array.shape == (n_actions,):
        array = np.tile(array, (n_states, 1))
    if array.shape != (n_states, n_actions):
        raise ValueError(
            f"{name} must have shape ({n_states}, {n_actions}), ({n_actions},), or be {n_states} integer actions; "
            f"got {array.shape}"
        )
    bad = ~(np.isfinite(array) & (array >= 0)).all(axis=1)
    bad |= np.abs(array.sum(axis=1) - 1) > 1e-6  # allow single precision
    refuse(bad, lambda s: f"{name} of state {s} must be probabilities that sum to 1; got {array[s].tolist()}")
    exact = np.abs(array.sum(axis=1, keepdims=True) - 1) < 1e-12
    return np.where(exact, array, array / array.sum(axis=1, keepdims=True))

"""The four-argument dynamics p(s', r | s, a) as a list of outcomes, one for each possible (s, a, s', r)."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import scipy
from numpy.typing import ArrayLike

from tdlambda.arrays import Bools, Floats, Ints, Matrix, refuse
from tdlambda.mdp.overflow import in_range, quiet

Table = Mapping[int, Mapping[int, Sequence[tuple[float, int, float, bool]]]]
"""A Gymnasium toy-text table: P[s][a] = [(probability, s', reward, terminated), ...]."""
Tables: TypeAlias = "ArrayLike | Sequence[scipy.sparse.sparray | scipy.sparse.spmatrix]"  # text: slow to import
"""Dense numbers, or a sparse [state, next state] matrix for each action."""
_SUM_TOLERANCE = 1e-6
"""Tolerance on the sum of a row (for single-precision input); within it, the row is scaled to 1."""


@dataclass(frozen=True)
class Outcomes:
    """The possible outcomes: from `state`, `action` leads to `next_state` with `reward` and `probability`.

    Sorted by (state, action); the outcomes of the pair (s, a) are `indptr[s * n_actions + a]` to the next.
    Terminal states have none.
    """

    n_states: int
    n_actions: int
    state: Ints
    action: Ints
    next_state: Ints
    reward: Floats
    probability: Floats
    indptr: Ints

    def by_state(self, entries: Floats) -> Floats:
        """Sum a number for each outcome over the outcomes of each state."""
        return np.bincount(self.state, weights=entries, minlength=self.n_states).astype(np.float64, copy=False)

    def by_next_state(self, entries: Floats) -> Floats:
        """Sum a number for each outcome over the outcomes that lead to each state."""
        return np.bincount(self.next_state, weights=entries, minlength=self.n_states).astype(np.float64, copy=False)

    def by_pair(self, entries: Floats) -> Floats:
        """Sum a number for each outcome into a [state, action] array."""
        pairs = self.n_states * self.n_actions
        sums = np.bincount(self.state * self.n_actions + self.action, weights=entries, minlength=pairs)
        return sums.astype(np.float64, copy=False).reshape(self.n_states, self.n_actions)

    def matrix(self, entries: Floats) -> Matrix:
        """Sum a number for each outcome into a sparse [state, next state] matrix."""
        return scipy.sparse.csr_array((entries, (self.state, self.next_state)), shape=(self.n_states, self.n_states))


def build(n_states: int, n_actions: int, columns: tuple[Any, ...], terminal: Bools) -> Outcomes:
    """Validate outcomes, drop those of terminal states, merge equal ones (their probabilities add), and sort."""
    s, a, n = (np.asarray(x, dtype=np.int64) for x in columns[:3])
    r, p = (np.asarray(x, dtype=np.float64) for x in columns[3:])

    def require(good: Bools, what: str, value: Floats | Ints) -> None:
        refuse(~good, lambda k: f"state {s[k]}, action {a[k]}, next state {n[k]}: {what}; got {value[k]}")

    for index, bound, name in ((s, n_states, "state"), (a, n_actions, "action"), (n, n_states, "next state")):
        require((index >= 0) & (index < bound), f"{name} must be from 0 to {bound - 1}", index)
    used = ~terminal[s]
    s, a, n, r, p = s[used], a[used], n[used], r[used], p[used]
    require(np.isfinite(p) & (p >= 0), "probability must be finite and not negative", p)
    require(np.isfinite(r), "reward must be finite", r)

    keep = p > 0
    s, a, n, r, p = s[keep], a[keep], n[keep], r[keep], p[keep]
    order = np.lexsort((r, n, a, s))
    s, a, n, r, p = s[order], a[order], n[order], r[order], p[order]
    if s.size:
        new = np.ones(s.size, dtype=bool)
        new[1:] = (np.diff(s) != 0) | (np.diff(a) != 0) | (np.diff(n) != 0) | (np.diff(r) != 0)
        first = np.flatnonzero(new)
        p = np.add.reduceat(p, first)
        s, a, n, r = s[first], a[first], n[first], r[first]

    pair = s * n_actions + a
    total = np.bincount(pair, weights=p, minlength=n_states * n_actions)
    bad = (np.abs(total - 1) > _SUM_TOLERANCE) & ~np.repeat(terminal, n_actions)
    refuse(bad, lambda k: f"state {k // n_actions}, action {k % n_actions}: probabilities must sum to 1; "
                          f"got {total[k]:.9g} (list a state that ends the episode in terminal)")  # fmt: skip
    indptr = np.concatenate(([0], np.cumsum(np.bincount(pair, minlength=n_states * n_actions))))
    return Outcomes(n_states, n_actions, s, a, n, r, p / total[pair], indptr.astype(np.int64))


@quiet
def from_arrays(transitions: Any, rewards: Any, squared_rewards: Any) -> tuple[int, int, tuple[Any, ...]]:
    """Outcome columns from p(s'|s,a), E[r|s,a,s'] and, for random rewards, E[r²|s,a,s'].

    Only two moments of a random reward are given and used, so it is represented by mean ± standard deviation, with
    equal probability.
    """
    matrices = _by_action(transitions)
    n_states, n_actions = matrices[0].shape[0], len(matrices)
    columns = []
    for action, matrix in enumerate(matrices):
        entries = scipy.sparse.coo_array(matrix)
        s, n = (x.astype(np.int64) for x in entries.coords)
        mean = _entries(rewards, "rewards", n_states, n_actions, action, s, n)
        columns.append((s, np.full(s.size, action), n, mean, entries.data.astype(np.float64)))
        if squared_rewards is None:
            continue
        square = _entries(squared_rewards, "squared_rewards", n_states, n_actions, action, s, n)
        variance = square - in_range(mean**2, "a squared reward")
        bad = variance < -1e-9 * np.maximum(1, square)
        if bad.any():
            k = int(np.argmax(bad))
            raise ValueError(
                f"state {s[k]}, action {action}, next state {n[k]}: squared_rewards must be at least the square of the "
                f"mean reward {mean[k]}; got {square[k]}"
            )
        deviation = np.sqrt(np.maximum(variance, 0))
        s, a, n, mean, p = columns.pop()
        columns += [(s, a, n, mean + sign * deviation, p / 2) for sign in (-1, 1)]
    return n_states, n_actions, tuple(np.concatenate(x) for x in zip(*columns, strict=True))


def from_rows(rows: Iterable[Sequence[float]]) -> tuple[Any, ...]:
    """Outcome columns from rows (state, action, next state, reward, probability)."""
    table = np.array(rows if isinstance(rows, np.ndarray) else [tuple(row) for row in rows], dtype=np.float64)
    if table.ndim != 2 or table.shape[1] != 5:
        raise ValueError(f"rows must be (state, action, next_state, reward, probability); got shape {table.shape}")
    indices = table[:, :3]
    bad = ~(np.isfinite(indices) & (indices == np.floor(indices))).all(axis=1)
    refuse(bad, lambda k: f"row {k}: state, action and next_state must be integers; got {indices[k].tolist()}")
    return (*indices.astype(np.int64).T, table[:, 3], table[:, 4])


def from_table(table: Table) -> tuple[int, int, tuple[Any, ...], Ints]:
    """Outcome columns and terminal states from a Gymnasium toy-text table, P[s][a] = [(p, s', r, terminated)].

    A state is terminal if every transition into it from another state is marked `terminated`. A state that no other
    state enters is terminal if all its own transitions stay there and are marked so. Other transitions marked
    `terminated` lead to one additional state, appended to the others.
    """
    _check_table(table)
    n_states, n_actions = len(table), len(table[0])
    rows = np.array(
        [
            (s, a, n, r, p, done)
            for s, actions in table.items()
            for a, outcomes in actions.items()
            for p, n, r, done in outcomes
        ],
        dtype=np.float64,
    )
    s, n = rows[:, 0].astype(np.int64), rows[:, 2].astype(np.int64)
    done, stays, happens = rows[:, 5] > 0, s == n, rows[:, 4] > 0

    def among(which: Ints) -> Bools:
        return np.bincount(which, minlength=n_states) > 0

    goes_on = among(n[happens & ~done])
    left_only = among(s[happens & ~stays]) & ~among(n[happens & ~stays])
    ends = among(n[happens & done]) & ~goes_on & ~left_only
    mixed = happens & done & ~ends[n]
    if mixed.any():
        n[mixed] = n_states
        ends = np.append(ends, True)
    columns = (s, rows[:, 1].astype(np.int64), n, rows[:, 3], rows[:, 4])
    return len(ends), n_actions, columns, np.flatnonzero(ends)


def _check_table(table: Table) -> None:
    if not len(table) or set(table) != set(range(len(table))):
        raise ValueError(f"table must have the states 0 to n-1 as keys; got {sorted(table, key=str)[:5]}")
    for state, actions in table.items():
        if set(actions) != set(range(len(table[0]))):
            raise ValueError(f"table of state {state} must have actions 0 to {len(table[0]) - 1}; got {list(actions)}")
        for action, outcomes in actions.items():
            for _, successor, _, _ in outcomes:
                if not 0 <= successor < len(table):
                    raise ValueError(
                        f"table of state {state}, action {action}: next state must be from 0 to {len(table) - 1}; got "
                        f"{successor}"
                    )


def _by_action(transitions: Any) -> list[Any]:
    """One [state, next state] matrix for each action."""
    if scipy.sparse.issparse(transitions):
        transitions = [transitions]
    if not _is_sparse_list(transitions):
        dense = np.asarray(transitions, dtype=np.float64)
        dense = dense[:, None, :] if dense.ndim == 2 else dense
        if dense.ndim != 3 or dense.shape[0] != dense.shape[2] or 0 in dense.shape:
            raise ValueError(
                "transitions must have shape [state, action, next state], or [state, next state] for one action, "
                f"or be a list of sparse [state, next state] matrices, one for each action; got {dense.shape}"
            )
        return list(dense.transpose(1, 0, 2))
    n = transitions[0].shape[0]
    for action, matrix in enumerate(transitions):
        if matrix.shape != (n, n) or n == 0:
            raise ValueError(f"transitions of action {action} must have shape ({n}, {n}); got {matrix.shape}")
    return list(transitions)


def _is_sparse_list(given: Any) -> bool:
    return isinstance(given, list | tuple) and len(given) > 0 and all(scipy.sparse.issparse(m) for m in given)


def _entries(given: Any, name: str, n_states: int, n_actions: int, action: int, s: Ints, n: Ints) -> Floats:
    """The values at the transitions (s, action, n) of rewards given per transition, per pair or per state."""
    if _is_sparse_list(given):
        if len(given) != n_actions:
            raise ValueError(f"{name} must have one matrix for each of {n_actions} actions; got {len(given)}")
        given = given[action]
    if scipy.sparse.issparse(given):
        if given.shape != (n_states, n_states):
            raise ValueError(f"{name} of action {action} must have shape {(n_states,) * 2}; got {given.shape}")
        picked = scipy.sparse.csr_array(given)[s, n]
        dense = picked.toarray() if scipy.sparse.issparse(picked) else picked  # depends on SciPy's version
        return np.asarray(dense, dtype=np.float64).ravel()
    array = np.asarray(given, dtype=np.float64)
    if array.shape == (n_states, n_states) and n_actions == 1:
        return array[s, n]
    if array.shape == (n_states, n_actions, n_states):
        return array[s, action, n]
    if array.shape == (n_states, n_actions):
        return array[s, action]
    if array.shape == (n_states,):
        return array[s]
    raise ValueError(
        f"{name} must have shape ({n_states}, {n_actions}, {n_states}), ({n_states}, {n_actions}) or ({n_states},); "
        f"got {array.shape}"
    )

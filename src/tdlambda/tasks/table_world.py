"""A finite MDP as a compiled world, whose `numbers` hold its tables one after another."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tdlambda.arrays import Floats
from tdlambda.mdp import FiniteMDP
from tdlambda.randomness import pick, running_sums, uniform
from tdlambda.tasks.world import World, states

HEAD = 8
"""Number of entries before the tables: the number of actions, then the offset of each table."""


def table_world(mdp: FiniteMDP, limit: int = 0) -> World:
    """The compiled world of a finite MDP; observations are states.

    Parameters
    ----------
    mdp
        The model.
    limit
        Number of steps after which an episode is truncated; 0 for no limit.

    Examples
    --------
    >>> import tdlambda as td
    >>> table_world(td.make("RingWorld-v0").mdp).env().reset(seed=0)[0]
    5
    """
    o = mdp.outcomes
    tables: list[Any] = [
        running_sums(np.array([0, mdp.n_states]), mdp.start), running_sums(o.indptr, o.probability),
        o.indptr, o.next_state, o.reward, mdp.discount, mdp.terminal,
    ]  # fmt: skip
    begins = HEAD + np.concatenate([[0], np.cumsum([len(table) for table in tables])])
    head = [mdp.n_actions, *begins[1:-1], begins[-1]]
    numbers = np.concatenate([np.asarray(part, dtype=np.float64) for part in (head, *tables)])
    return World(begin, move, numbers, size=1, actions=mdp.n_actions, limit=limit, space=states(mdp.n_states))


def begin(numbers: Floats, state: Floats, random: NDArray[np.uint64]) -> None:
    """Draw a state from d₀."""
    state[0] = pick(numbers, HEAD, int(numbers[1]), uniform(random)) - HEAD


def move(numbers: Floats, state: Floats, action: int, random: NDArray[np.uint64]) -> tuple[float, float, bool]:
    """Take one step: draw (s', r) from p(·|s, a)."""
    sums, rows, to = int(numbers[1]), int(numbers[2]), int(numbers[3])
    reward, discount, terminal = int(numbers[4]), int(numbers[5]), int(numbers[6])
    pair = rows + int(state[0]) * int(numbers[0]) + action
    k = pick(numbers, sums + int(numbers[pair]), sums + int(numbers[pair + 1]), uniform(random)) - sums
    state[0] = numbers[to + k]
    after = int(state[0])
    return numbers[reward + k], numbers[discount + after], numbers[terminal + after] > 0.0

"""The memory of many learners on one stream: packed from the memories of learners, and unpacked into them.

F [feature, row, lane] has the rows over the features, U [feature, row, lane] those of the rule for λ, and N [number,
lane] the numbers; lanes are innermost, so that a step of all lanes is a few vector operations. What the lanes share is
the record `state`, the list of live features, and the counts of visits.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple, Self

import numpy as np

from tdlambda.arrays import Array, Bools, Floats, Ints, aligned, clipped
from tdlambda.compiled import IS_COMPILED
from tdlambda.core.memory import VISITS, Memory
from tdlambda.core.model import Model
from tdlambda.core.names import words
from tdlambda.core.records import named
from tdlambda.core.runtime import DENSE_SIZE
from tdlambda.core.schedules import lanes

LINE = 8 if IS_COMPILED else 1
"""Numbers in a cache line; 1 if uncompiled, because padding lanes would then cost as much as the others."""
SHARED = ("steps", "since", "length", "longest", *lanes.SHARED_FLOATS)
"""Numbers that all lanes have in common."""


class LaneState(NamedTuple):
    """The rows and numbers of one lane."""

    F: Floats
    U: Floats
    N: Floats


class LaneMemory:
    """The arrays of the lanes of one block.

    Parameters
    ----------
    model
        The model that the lanes run; it may lack estimates of the learners' model.
    memories
        The learners' memories, which must have the same layout.
    names
        Names of the numbers of a lane, in their order in N.
    """

    def __init__(self, model: Model, memories: Sequence[Memory], names: Sequence[str]) -> None:
        first = memories[0]
        size, places = first.layout.size, [first.layout.rows.index(name) for name in model.rows]
        self.model, self.names = model, list(names)
        self.F = np.stack([one.rows[places, :size].T for one in memories], axis=2)
        self.U = np.stack([one.rule_rows.T for one in memories], axis=2)
        self.N = np.array([np.broadcast_to(_initial(model, memories, name), len(memories)) for name in names])
        self.order: Ints = np.zeros(size, dtype=np.int64)
        self.listed: Ints = np.zeros(size, dtype=np.int64)
        self.visits: Floats = np.array(first.row(VISITS)) if VISITS in first.layout.rows else np.zeros(0)
        self.state: Array = np.zeros(1, named(lanes.state_type(model)))
        for name in self.state.dtype.names or ():
            if name in first:
                self.state[name] = first.record[name]
        self.state["under_way"] = self.state["n_live"] = 0
        self.state["sparse"], self.state["scale"] = size > DENSE_SIZE, -1.0
        self.state["started"] = any(one["start"] > 0 for one in memories)

    def copy(self) -> Self:
        """An independent copy."""
        other = object.__new__(type(self))
        vars(other).update({k: v.copy() if isinstance(v, np.ndarray) else v for k, v in vars(self).items()})
        other.F, other.U, other.N = aligned(self.F), aligned(self.U), aligned(self.N)
        return other

    @property
    def arrays(self) -> tuple[Any, ...]:
        """The arrays that generated code works on."""
        return self.F, self.N, self.U, self.order, self.listed, self.state, self.visits

    @property
    def steps(self) -> int:
        """Number of transitions so far."""
        return int(self.state["steps"][0])

    @property
    def live(self) -> Ints:
        """Indices of the live features."""
        return self.order[: int(self.state["n_live"][0])]

    def number(self, name: str) -> Floats:
        """A number by name, [lane]."""
        return self.N[self.names.index(name)]

    def row(self, name: str) -> Floats:
        """A row by name, [feature, lane]."""
        return self.F[:, self.model.rows.index(name)]

    def resume(self, live: Ints) -> None:
        """Go on in the middle of an episode, with these live features."""
        self.order[: live.size], self.listed[live] = live, 1
        self.state["n_live"], self.state["under_way"] = live.size, 1

    def lane(self, lane: int) -> LaneState:
        """Views of a lane's rows and numbers."""
        return LaneState(self.F[:, :, lane], self.U[:, :, lane], self.N[:, lane])

    def saved(self, lane: int) -> LaneState:
        """A copy of a lane's rows and numbers, in which ±∞ is the lane's bound and NaN is 0."""
        bound = self.number("bound")[lane]
        return LaneState(*(clipped(array, bound) for array in self.lane(lane)))

    def repeat(self, lane: int, lanes: Bools) -> None:
        """Copy one lane into others."""
        for array in (self.F, self.U, self.N):
            array[..., lanes] = array[..., lane, None]

    def write(self, state: LaneState, memory: Memory) -> None:
        """Write the state of a lane into a learner's memory, but for its count of steps and its live features."""
        for i, name in enumerate(self.model.rows):
            memory.row(name)[:] = state.F[:, i]
        memory.rule_rows[:] = state.U.T
        if self.visits.size:
            memory.row(VISITS)[:] = self.visits
        numbers = dict(zip(self.names, state.N, strict=True))
        for name in [*self.model.kept, "td_error"]:
            if name in numbers:
                memory[name] = numbers[name]
        for name in [*SHARED, "under_way"]:
            memory[name] = numbers[name] if name in numbers else self.state[name][0]
        memory["last_lam"] = numbers.get("lam_next", memory["last_lam"])


def _initial(model: Model, memories: Sequence[Memory], name: str) -> list[float] | float:
    """The initial values of a number: one for each lane, or one for all."""
    known = memories[0]
    if name in known and (name not in model.results or name in model.held):
        return [one[name] for one in memories]
    k, _, own = name.partition("_")
    if model.without(own, k):
        return 0.0
    if own in words(model.algorithm.sizes) and k in model.estimates:
        pace = model.estimates[k].pace
        given = [pace] if pace in known and pace not in model.results else []
        return [math.prod(one[what] for what in (*given, own)) for one in memories]
    return np.inf if name.startswith("allowed") else 0.0

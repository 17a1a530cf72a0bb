"""From learners to blocks of lanes, and back."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from tdlambda import memory
from tdlambda.arrays import Bools, Floats, Ints
from tdlambda.engine import driver
from tdlambda.engine.lanes import ALLOWED, ALLOWED_SQUARE, SCRATCH, WEIGHT_BOUND
from tdlambda.features import Encoder
from tdlambda.lambdas import Adaptive, Fixed, PerState
from tdlambda.learners.base import Array, Learner
from tdlambda.learners.trace_learner import TraceLearner
from tdlambda.memory import (
    BLOCKS,
    BOUND,
    CUMULANT,
    DISCOUNT,
    DIVERGED_AT,
    FIRST_BLOCK,
    LIVE,
    N_LIVE,
    RATIO,
    SLOTS,
    STEPS,
    UNDER_WAY,
)

WIDTH = 96
"""Lanes in a block, at most. With few a step's own cost counts; many leave the nearest cache; and powers of two put too
many rows into the same corner of it."""

_SHARED = [memory.LAST_DISCOUNT, memory.MOST_REWARD, memory.MOST_GAMMA, memory.MOST_RHO]
"""Numbers that are the same in all lanes of a block."""

LINE = 8
"""Numbers in a line of the cache."""


@dataclass(frozen=True)
class Group:
    """Learners of one kind, which differ in numbers only, and so can be lanes of one block."""

    learners: tuple[TraceLearner, ...]
    where: tuple[int, ...]
    """Their places among all learners."""

    @cached_property
    def memory(self) -> tuple[Floats, Floats]:
        """F and M of all, side by side; the last learner again and again until a line of the cache is full."""
        lanes = [*self.learners, *self.learners[-1:] * (-len(self.learners) % LINE)]
        F = np.stack([learner._F[:, : self.features.size].T for learner in lanes], axis=2)
        return F, np.stack([learner._M for learner in lanes], axis=1)

    @property
    def features(self) -> Encoder:
        """The encoder of all of them."""
        return self.learners[0].features

    @property
    def lam_features(self) -> Encoder:
        """The encoder that λ is a function of."""
        return self.learners[0]._lam_features

    def lam_table(self, observations: Any) -> Floats:
        """λ [observation, lane] where it does not learn; one row if it is the same everywhere."""
        rules = [learner.rule for learner in self.learners]
        table = np.zeros((1, self.memory[1].shape[1]))
        if all(isinstance(rule, Fixed | Adaptive) for rule in rules):
            table[0, : len(rules)] = [rule.lam if isinstance(rule, Fixed) else 1.0 for rule in rules]
            return table
        table = np.repeat(table, len(observations), axis=0)
        columns = [learner._lam_many(observations, len(observations)) for learner in self.learners]
        table[:, : len(rules)] = np.transpose(columns)
        return table


def plan(learners: list[Learner], width: int = WIDTH) -> tuple[list[Group], list[int]]:
    """Groups of at most `width` lanes, about even; and the places of learners that run as themselves."""
    kinds: dict[Any, list[int]] = {}
    alone = []
    encoders: list[Encoder] = []
    for place, learner in enumerate(learners):
        if _has_lanes(learner):
            kinds.setdefault(_kind(learner, encoders), []).append(place)
        else:
            alone.append(place)
    groups = []
    for places in kinds.values():
        size = -(-len(places) // -(-len(places) // width))
        size = min(width, size + -size % LINE)
        for first in range(0, len(places), size):
            where = tuple(places[first : first + size])
            groups.append(Group(tuple(learners[place] for place in where), where))  # type: ignore[misc]
    return groups, alone


def _has_lanes(learner: Learner) -> bool:
    return (
        isinstance(learner, TraceLearner)
        and learner.dtype == "float64"
        and (type(learner.rule) in (Fixed, PerState) or isinstance(learner.rule, Adaptive))
    )


def _kind(learner: Any, encoders: list[Encoder]) -> tuple[Any, ...]:
    """What lanes of one block share: the algorithm, all switches, the encoders, and the number of steps so far."""
    I = learner._I
    switches = tuple(int(I[slot]) for slot in (STEPS, memory.SCHEDULE, *range(memory.OPTION, LIVE)))
    tabular = isinstance(learner.rule, PerState)
    return (
        switches, learner._M.size, *learner._M[[*_SHARED, memory.STRETCH]].tolist(), tabular,
        _place(learner.features, encoders), _place(learner._lam_features, encoders),
    )  # fmt: skip


def _place(encoder: Encoder, encoders: list[Encoder]) -> int:
    """Equal encoders have one number."""
    for k, known in enumerate(encoders):
        if known is encoder or known == encoder:
            return k
    encoders.append(encoder)
    return len(encoders) - 1


def aligned(array: Floats) -> Floats:
    """A copy that begins where a line of the cache does: vectors across two lines are slow."""
    room = np.empty(array.size + LINE)
    begin = -(room.ctypes.data // 8) % LINE
    copy = room[begin : begin + array.size].reshape(array.shape)
    copy[:] = array
    return copy


class Block:
    """The lanes of a group, at work on one stream."""

    def __init__(self, group: Group) -> None:
        self.group = group
        first, size = group.learners[0], group.features.size
        self.F, self.M = map(aligned, group.memory)
        self.S = aligned(np.zeros((SCRATCH, self.M.shape[1])))
        self.S[[ALLOWED, ALLOWED_SQUARE]] = np.inf  # until the first step says what is
        self.I: Ints = np.zeros(LIVE + 2 * size, dtype=np.int64)
        self.I[:LIVE] = first._I[:LIVE]
        self.I[[N_LIVE, UNDER_WAY]] = 0
        self.frozen: dict[int, tuple[Array, Floats, int]] = {}
        driver.take_bounds(self.F, self.S, self.I)

    def beyond(self) -> Bools:
        """Lanes whose bound on the weights, or whose last prediction, has passed what it may be."""
        blocks, bundle = int(self.I[BLOCKS]), int(self.I[memory.BUNDLE])
        within = (self.S[WEIGHT_BOUND : WEIGHT_BOUND + blocks] <= self.M[BOUND]).all(axis=0)
        within &= np.isfinite(self.M[FIRST_BLOCK + blocks * SLOTS :]).all(axis=0)  # what a rule keeps
        for k in range(blocks):
            allowed = self.S[ALLOWED_SQUARE if memory.is_square(bundle, k, blocks) else ALLOWED]
            within &= abs(self.M[FIRST_BLOCK + k * SLOTS + memory.V_OLD]) <= allowed
        return ~within & (self.M[BOUND] < np.inf)

    def diverged(self) -> Bools:
        """Lanes of which a weight or a prediction is out of bounds now."""
        self.F[:, :, list(self.frozen)] = 0.0  # what goes on there may in time leave all bounds, to nobody's harm
        driver.take_bounds(self.F, self.S, self.I)
        return self.beyond()

    def freeze(self, lane: int) -> None:
        """Keep a lane as it is, and let what goes on in its place be 0 and harmless."""
        self.frozen[lane] = (self.F[:, :, lane].copy(), self.M[:, lane].copy(), int(self.I[STEPS]))
        self.F[:, :, lane] = 0.0
        self.M[~np.isin(np.arange(len(self.M)), _SHARED), lane] = 0.0
        self.M[BOUND, lane] = np.inf
        for k in range(self.I[BLOCKS]):  # `lanes.spread` takes one lane's word for all, which no longer holds
            self.M[FIRST_BLOCK + k * SLOTS + np.array([CUMULANT, DISCOUNT, RATIO])] = np.nan
        driver.take_bounds(self.F, self.S, self.I)

    def learner(self, lane: int) -> TraceLearner:
        """A learner in this lane's state, which can go on by itself."""
        twin = self.group.learners[lane].clone()
        F, M, steps = self.frozen.get(lane, (self.F[:, :, lane], self.M[:, lane], -1))
        twin._F[:, : self.group.features.size] = F.T
        twin._M[:] = M
        twin._I[STEPS] = self.I[STEPS] if steps < 0 else steps
        twin._I[DIVERGED_AT] = steps
        counters = [UNDER_WAY, memory.SINCE, memory.LENGTH, memory.LONGEST]
        twin._I[counters] = self.I[counters]
        if not twin._I[memory.DENSE] and steps < 0:
            live, width = self.I[LIVE : LIVE + self.I[N_LIVE]], twin._F.shape[1]
            twin._I[N_LIVE] = live.size
            twin._I[LIVE : LIVE + live.size] = live
            twin._I[LIVE + width + live] = 1
        return twin

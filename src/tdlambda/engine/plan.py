"""Assignment of learners to blocks of lanes."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from tdlambda.arrays import Floats
from tdlambda.core.lane_memory import LINE, SHARED
from tdlambda.core.memory import VISITS
from tdlambda.core.names import words
from tdlambda.features import Encoder
from tdlambda.learners.algorithm import Algorithm
from tdlambda.learners.learner import Learner
from tdlambda.mdp import Transitions
from tdlambda.rules import Fixed, PerState

WIDTH = 96
"""Largest number of lanes in a block. With few lanes the overhead of a step dominates, many lanes do not fit the
first-level cache, and power-of-two widths cause cache-set conflicts."""


@dataclass(frozen=True)
class Group:
    """Learners that differ only in numbers, and can therefore be lanes of one block."""

    learners: tuple[Algorithm, ...]
    where: tuple[int, ...]
    """Their indices among all learners."""
    starts: dict[Any, Any] = field(default_factory=dict, compare=False, repr=False)
    """Initial attributes of blocks, which are the same for every seed."""

    @cached_property
    def lanes(self) -> list[Algorithm]:
        """The learners, padded with copies of the last to a multiple of a cache line."""
        return [*self.learners, *self.learners[-1:] * (-len(self.learners) % LINE)]

    @property
    def features(self) -> Encoder:
        """The encoder that all learners share."""
        return self.learners[0].features

    @property
    def lam_features(self) -> Encoder:
        """The encoder of the features on which λ depends."""
        return self.learners[0].lam_features

    def columns(self, c: Transitions) -> tuple[Any, ...]:
        """The columns that lanes learn from besides observations; a correction changes ρ and adds factors on λ'."""
        if not self.learners[0].model.corrected:
            return c.reward, c.gamma, c.rho, c.terminated, c.truncated
        rho, factor = self.learners[0].correction.factors(c.rho, c.behavior)
        return c.reward, c.gamma, rho, factor, c.terminated, c.truncated

    def lam_table(self, observations: Any) -> Floats:
        """λ [observation, lane] of rules that do not learn; a single row if λ is the same at all observations."""
        rules = [learner.rule for learner in self.learners]
        table = np.zeros((1, len(self.lanes)))
        if all(isinstance(rule, Fixed) or rule.learns() for rule in rules):
            table[0, : len(rules)] = [rule.lam if isinstance(rule, Fixed) else 1.0 for rule in rules]
            return table
        table = np.repeat(table, len(observations), axis=0)
        columns = [learner.lambdas(observations) for learner in self.learners]
        table[:, : len(rules)] = np.transpose(columns)
        return table


def plan(learners: list[Learner], width: int = WIDTH) -> tuple[list[Group], list[int]]:
    """Groups of at most `width` lanes, of similar size, and the indices of learners that run individually."""
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
        isinstance(learner, Algorithm)
        and learner.dtype == "float64"
        and isinstance(learner.features, Encoder)  # and no network
        and learner.features.settled
        and (type(learner.rule) in (Fixed, PerState) or learner.rule.learns())
    )


def _kind(learner: Any, encoders: list[Encoder]) -> tuple[Any, ...]:
    """A key of everything that the lanes of a block share: model, encoders, counters, and largest numbers so far."""
    memory, rule = learner.memory, learner.learned_rule
    shared = [*SHARED, "warm_up", *(words(rule.shared) if rule is not None else [])]
    visits = memory.row(VISITS).tobytes() if VISITS in memory.layout.rows else b""
    return (
        learner.model, learner.correction, isinstance(learner.rule, PerState),
        *(memory[name] for name in shared), visits,
        _place(learner.features, encoders), _place(learner.lam_features, encoders),
    )  # fmt: skip


def _place(encoder: Encoder, encoders: list[Encoder]) -> int:
    """The index of an encoder among the known ones; equal encoders have the same index."""
    for k, known in enumerate(encoders):
        if known is encoder or known == encoder:
            return k
    encoders.append(encoder)
    return len(encoders) - 1

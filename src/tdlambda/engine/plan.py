"""From learners to blocks of lanes, and back."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, cached_property
from types import ModuleType
from typing import Any

import numpy as np

from tdlambda.arrays import Bools, Floats, Ints
from tdlambda.core.declare import Model, words
from tdlambda.core.records import named
from tdlambda.core.runtime import DENSE_SIZE
from tdlambda.core.schedules import lanes
from tdlambda.core.source import load
from tdlambda.features import Encoder, OneHot
from tdlambda.learners.algorithm import Algorithm
from tdlambda.learners.base import Array, Learner
from tdlambda.rules import Fixed, PerState

WIDTH = 96
"""Lanes in a block, at most. Few lanes leave the overhead of a step visible, many leave the first-level cache, and
power-of-two widths cause cache-set conflicts."""
LINE = 8
"""Numbers in a line of the cache."""
_COUNTERS = ("steps", "since", "length", "longest")
"""Counters that lanes and learners exchange."""


@cache
def module_of(model: Model, one_hot: bool, one_z: bool, per_lane: tuple[str, ...] = ()) -> ModuleType:
    """The generated module for lanes of this model."""
    return load(f"lanes_{model.name}", lanes.generate(model, one_hot, one_z, per_lane))


@dataclass(frozen=True)
class Group:
    """Learners of one kind, which differ in numbers only, and so can be lanes of one block."""

    learners: tuple[Algorithm, ...]
    where: tuple[int, ...]
    """Their places among all learners."""

    @cached_property
    def lanes(self) -> list[Algorithm]:
        """The learners; the last again and again until a line of the cache is full."""
        return [*self.learners, *self.learners[-1:] * (-len(self.learners) % LINE)]

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
        table = np.zeros((1, len(self.lanes)))
        if all(isinstance(rule, Fixed) or rule.learns() for rule in rules):
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
        isinstance(learner, Algorithm)
        and learner.dtype == "float64"
        and (type(learner.rule) in (Fixed, PerState) or learner.rule.learns())
    )


def _kind(learner: Any, encoders: list[Encoder]) -> tuple[Any, ...]:
    """What lanes of one block share: the model, the encoders, counters, and the largest numbers so far."""
    record, rule = learner._record[0], learner._beside
    shared = [*_COUNTERS, *lanes.SHARED_FLOATS, "warm_up", *(words(rule.shared) if rule is not None else [])]
    visits = learner._rows[-1].tobytes() if learner.model.sizes_by == "visits" else b""
    return (
        learner.model, isinstance(learner.rule, PerState), *(record[name].item() for name in shared), visits,
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
        self.group, first = group, group.learners[0]
        self.model, size = first.model, group.features.size
        one_hot = type(group.features) is OneHot
        self.module = module_of(
            self.model, one_hot, one_hot if self.model.over_x else type(group.lam_features) is OneHot
        )
        rows = len(self.model.rows)
        self.F: Floats = aligned(np.stack([one._rows[:rows, :size].T for one in group.lanes], axis=2))
        self.U: Floats = aligned(np.stack([one._own.T for one in group.lanes], axis=2))
        self.N: Floats = aligned(np.zeros((len(self.module.NAMES), len(group.lanes))))
        self.visits: Floats = np.array(first._rows[-1, :size]) if self.model.sizes_by == "visits" else np.zeros(0)
        self.order: Ints = np.zeros(size, dtype=np.int64)
        self.listed: Ints = np.zeros(size, dtype=np.int64)
        self.state: Array = np.zeros(1, named(lanes.state_type(self.model)))
        for name in self.state.dtype.names or ():
            if name in (first._record.dtype.names or ()):
                self.state[name] = first._record[name]
        self.state["under_way"] = self.state["n_live"] = 0
        self.state["sparse"], self.state["scale"] = size > DENSE_SIZE, -1.0
        self.state["started"] = any(one._record["start"][0] > 0 for one in group.learners)
        for name in self.module.NAMES:
            self.number(name)[:] = [_number(one, name) for one in group.lanes]
        self.frozen: dict[int, tuple[Array, Array, Floats, int]] = {}
        self.take_tops()

    @property
    def memory(self) -> tuple[Any, ...]:
        """What the generated module works on."""
        return self.F, self.N, self.U, self.order, self.listed, self.state, self.visits

    @property
    def steps(self) -> int:
        """Transitions so far."""
        return int(self.state["steps"][0])

    def number(self, name: str) -> Floats:
        """A number by name, [lane]."""
        return self.N[self.module.NAMES.index(name)]

    def row(self, name: str) -> Floats:
        """A row by name, [feature, lane]."""
        return self.F[:, self.model.rows.index(name)]

    def take_tops(self) -> None:
        """Set the bounds on traces and weights to the largest of each."""
        algorithm = self.model.algorithm
        for k in self.model.estimates:
            for what, rows in (("trace", words(algorithm.trace_rows)), ("weight", words(algorithm.weight_rows))):
                if rows and f"{k}_{what}_top" in self.module.NAMES:
                    most = np.max([np.abs(self.row(f"{k}_{r}")).max(axis=0) for r in rows], axis=0)
                    self.number(f"{k}_{what}_top")[:] = most

    def beyond(self) -> Bools:
        """Lanes whose bound on the weights has passed what it may be, or whose rule has made what is no number."""
        tops = [self.number(f"{k}_weight_top") for k in self.model.estimates]
        within = (np.array(tops) <= self.number("bound")).all(axis=0)
        names = [] if self.model.rule is None else [*self.model.rule.keeps, *self.model.results]
        for name in names:
            within &= np.isfinite(self.number(name))
        if self.U.size:
            within &= np.isfinite(self.U).all(axis=(0, 1))
            if self.model.rule is not None:
                within &= (np.abs(self.U) <= self.model.rule.row_bound).all(axis=(0, 1))
        return ~within & (self.number("bound") < np.inf)

    def diverged(self, stopped: bool) -> Bools:
        """Lanes of which a weight or, where the last step `stopped`, a prediction is out of bounds."""
        self.F[:, :, list(self.frozen)] = 0.0  # what goes on there may in time leave all bounds, to nobody's harm
        self.take_tops()
        out = (self.number("out") > 0) & (self.number("bound") < np.inf)
        return self.beyond() | out if stopped else self.beyond()

    def freeze(self, lane: int) -> None:
        """Keep a lane as it is, and let what goes on in its place be 0 and harmless."""
        self.frozen[lane] = (self.F[:, :, lane].copy(), self.U[:, :, lane].copy(), self.N[:, lane].copy(), self.steps)
        self.F[:, :, lane], self.U[:, :, lane], self.N[:, lane] = 0.0, 0.0, 0.0
        self.number("bound")[lane] = np.inf
        self.take_tops()

    def learner(self, lane: int) -> Algorithm:
        """A learner in this lane's state, which can go on by itself."""
        twin, size, rows = self.group.learners[lane].clone(), self.group.features.size, len(self.model.rows)
        F, U, N, steps = self.frozen.get(lane, (self.F[:, :, lane], self.U[:, :, lane], self.N[:, lane], -1))
        twin._rows[:rows, :size], twin._own[:] = F.T, U.T
        if self.visits.size:
            twin._rows[-1, :size] = self.visits
        numbers = dict(zip(self.module.NAMES, N, strict=True))
        for name in [*self.model.kept, "td_error"]:
            if name in numbers:
                twin._record[name] = numbers[name]
        for name in [*_COUNTERS, *lanes.SHARED_FLOATS, "under_way"]:
            twin._record[name] = self.state[name]
        twin._record["last_lam"] = numbers.get("lam_next", twin._record["last_lam"][0])
        twin._record["steps"] = self.steps if steps < 0 else steps
        twin._record["diverged_at"] = steps
        if twin._sparse and steps < 0:
            twin._list(self.order[: int(self.state["n_live"][0])])
        return twin


def _number(learner: Algorithm, name: str) -> float:
    """What a lane begins with."""
    record, model = learner._record[0], learner.model
    known = learner._record.dtype.names or ()
    if name in known and name not in model.results:
        return float(record[name])
    k, _, own = name.partition("_")
    if own in words(model.algorithm.sizes) and k in model.estimates:
        pace = model.estimates[k].pace
        factor = float(record[pace]) if pace in known and pace not in model.results else 1.0
        return factor * float(record[own])
    return np.inf if name.startswith("allowed") else 0.0

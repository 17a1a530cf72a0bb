"""A block of lanes that learns from one stream: its memory by name, divergence, and conversion back to learners."""

from __future__ import annotations

import math
from dataclasses import replace
from types import ModuleType
from typing import Any, cast

import numpy as np

from tdlambda.arrays import Bools, Floats, Ints, clipped
from tdlambda.core.model import Model
from tdlambda.core.names import words
from tdlambda.core.records import named
from tdlambda.core.runtime import DENSE_SIZE
from tdlambda.core.schedules import lanes
from tdlambda.engine import sharing
from tdlambda.engine.plan import COUNTERS, LINE, Group, module_of
from tdlambda.features import OneHot
from tdlambda.learners.algorithm import Algorithm
from tdlambda.learners.base import Array


def aligned(array: Floats) -> Floats:
    """A copy aligned to a cache line, because vector loads across two lines are slow."""
    room = np.empty(array.size + LINE)
    begin = -(room.ctypes.data // 8) % LINE
    copy = room[begin : begin + array.size].reshape(array.shape)
    copy[:] = array
    return copy


class Block:
    """The lanes of a group, learning from one stream.

    An estimate that is the same in several lanes, such as META's E[G] in lanes that differ only in κ, is learned once,
    in its own lane (`apart`), and its predictions are shared.

    `per_lane` lists which of "reward", "gamma_next" and "rho" are columns [step, lane], for many predictions on one
    stream.
    """

    shared: sharing.Sharing | None
    model: Model
    module: ModuleType
    one_hot: bool
    one_z: bool
    places: list[int]
    """Indices of the learner's rows that the block has."""
    F: Floats
    U: Floats
    N: Floats

    def __init__(self, group: Group, share: bool = True, per_lane: tuple[str, ...] = ()) -> None:
        start = group.starts.get((share, per_lane))
        if start is None:
            start = group.starts[share, per_lane] = self._start(group, share, per_lane)
        self.__dict__ |= start
        self.group, first, size = group, group.learners[0], group.features.size
        self.F, self.U, self.N = aligned(start["F"]), aligned(start["U"]), aligned(start["N"])
        self.source: Ints = np.minimum(np.arange(self.N.shape[1]), len(group.learners) - 1)
        """The learner that each lane computes: its own, or another one's once its own has diverged."""
        if self.shared is not None:
            self.shared = replace(self.shared, where=self.shared.where.copy(), lam=self.shared.lam.copy(), kept={})
        self.apart = None if self.shared is None else Block(self.shared.group, share=False)
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
        self.frozen: dict[int, tuple[Array, Array, Floats, int]] = {}
        self._advance = self.module.advance
        if self.apart is not None:
            both = (self.module, self.apart.module, self.model, self.one_hot, self.one_z)
            self._advance = sharing.module_of_both(*both).advance
        self.take_tops()

    @staticmethod
    def _start(group: Group, share: bool, per_lane: tuple[str, ...]) -> dict[str, Any]:
        """The initial attributes of every block of a group, by name."""
        first, size = group.learners[0], group.features.size
        shared = sharing.found(group) if share and not per_lane else None
        model = first.model if shared is None else shared.model
        one_hot = type(group.features) is OneHot
        one_z = one_hot if model.over_x else type(group.lam_features) is OneHot
        module = module_of(model, one_hot, one_z, per_lane)
        places = [first.model.rows.index(name) for name in model.rows]
        N = np.array([np.broadcast_to(_numbers(group.lanes, name), len(group.lanes)) for name in module.NAMES])
        return {
            "shared": shared, "model": model, "one_hot": one_hot, "one_z": one_z, "module": module, "places": places,
            "F": np.stack([one._rows[places, :size].T for one in group.lanes], axis=2),
            "U": np.stack([one._own.T for one in group.lanes], axis=2), "N": N,
        }  # fmt: skip

    def advance(self, *stretch: Any) -> int:
        """Learn from a stretch of a stream; return where to continue: its end, or after a step that left the bounds."""
        if self.apart is None or self.shared is None:
            return int(self._advance(*self.memory, *stretch))
        return int(self._advance(*self.memory, *self.apart.memory, self.shared.where, self.shared.lam, *stretch))

    @property
    def memory(self) -> tuple[Any, ...]:
        """The arrays that the generated module works on."""
        return self.F, self.N, self.U, self.order, self.listed, self.state, self.visits

    @property
    def steps(self) -> int:
        """Number of transitions so far."""
        return int(self.state["steps"][0])

    def number(self, name: str) -> Floats:
        """A number by name, [lane]."""
        return self.N[self.module.NAMES.index(name)]

    def row(self, name: str) -> Floats:
        """A row by name, [feature, lane]."""
        return self.F[:, self.model.rows.index(name)]

    def reset(self) -> None:
        """Discard the current episode: set every trace to 0."""
        self.module.end(*self.memory[:-1])

    def take_tops(self) -> None:
        """Set the bounds on traces and weights to the largest |trace| and |weight|."""
        algorithm = self.model.algorithm
        for k in self.model.estimates:
            for what, rows in (("trace", words(algorithm.trace_rows)), ("weight", words(algorithm.weight_rows))):
                if rows and f"{k}_{what}_top" in self.module.NAMES:
                    most = np.max([np.abs(self.row(f"{k}_{r}")).max(axis=0) for r in rows], axis=0)
                    self.number(f"{k}_{what}_top")[:] = most

    def beyond(self) -> Bools:
        """The lanes whose weights may be out of bounds, or whose rule has computed a number that is not finite."""
        tops = [self.number(f"{k}_weight_top") for k in self.model.estimates]
        within = (np.array(tops) <= self.number("bound")).all(axis=0)
        names = [] if self.model.rule is None else [*self.model.rule.keeps, *self.model.results]
        for name in names:
            within &= np.isfinite(self.number(name))
        if self.U.size:
            within &= np.isfinite(self.U).all(axis=(0, 1))
            if self.model.rule is not None:
                within &= (np.abs(self.U) <= self.model.rule.row_bound).all(axis=(0, 1))
        if self.apart is not None and self.shared is not None:
            within &= ~self.apart.beyond()[self.shared.where]
        return cast(Bools, ~within)

    @property
    def stopped(self) -> bool:
        """Whether the last step had a prediction out of bounds."""
        return bool(self.number("out").any()) or (self.apart is not None and self.apart.stopped)

    @property
    def learning(self) -> bool:
        """Whether any learner has not diverged."""
        return len(self.frozen) < len(self.group.learners)

    def diverged(self) -> Bools:
        """The learners with a weight, or a prediction of the last step, that is out of bounds, and not yet frozen."""
        self.take_tops()
        found = self.beyond() | (self.number("out") > 0)
        self.number("out")[:] = 0.0
        if self.apart is not None and self.shared is not None:
            out = np.zeros(self.apart.N.shape[1], dtype=bool)
            out[: len(self.apart.group.learners)] = self.apart.diverged()
            found |= out[self.shared.where]
        found[list(self.frozen)] = False
        return found[: len(self.group.learners)]

    def freeze(self, lane: int) -> None:
        """Save the state of a learner that diverged; lanes that computed it repeat one that has not.

        A lane must compute something, and whatever it computes after divergence would overflow again and again, each
        time stopping all lanes. A copy of another lane stops none.
        """
        F, U, N = (clipped(array[..., lane], self.number("bound")[lane]) for array in (self.F, self.U, self.N))
        self.frozen[lane] = (F, U, N, self.steps)
        if self.apart is not None and self.shared is not None:
            self.shared.keep(lane, self.apart)
        if self.learning:
            self._repeat()

    def _repeat(self) -> None:
        """Copy a learner that has not diverged into every lane of a learner that has."""
        live = next(lane for lane in range(len(self.group.learners)) if lane not in self.frozen)
        lost = np.isin(self.source, list(self.frozen))
        self.source[lost] = live
        for array in (self.F, self.U, self.N):
            array[..., lost] = array[..., live, None]
        if self.apart is not None and self.shared is not None:
            self.shared.where[lost] = self.shared.where[live]
            for place in set(range(len(self.apart.group.learners))) - {*self.shared.where} - {*self.apart.frozen}:
                self.apart.freeze(place)
            self.shared.lam[:] = self.shared.lam[self.apart.source]

    def learner(self, lane: int) -> Algorithm:
        """A learner in this lane's state, which can continue on its own."""
        copy, size = self.group.learners[lane].clone(), self.group.features.size
        F, U, N, steps = self.frozen.get(lane, (self.F[:, :, lane], self.U[:, :, lane], self.N[:, lane], -1))
        copy._rows[self.places, :size], copy._own[:] = F.T, U.T
        if self.apart is not None and self.shared is not None:
            self.shared.restore(lane, self.apart, copy)
        if self.visits.size:
            copy._rows[-1, :size] = self.visits
        numbers = dict(zip(self.module.NAMES, N, strict=True))
        for name in [*self.model.kept, "td_error"]:
            if name in numbers:
                copy._record[name] = numbers[name]
        for name in [*COUNTERS, *lanes.SHARED_FLOATS, "under_way"]:
            copy._record[name] = numbers.get(name, self.state[name])
        copy._record["last_lam"] = numbers.get("lam_next", copy._record["last_lam"][0])
        copy._record["steps"] = self.steps if steps < 0 else steps
        copy._record["diverged_at"] = steps
        if copy._sparse and steps < 0:
            copy._list(self.order[: int(self.state["n_live"][0])])
        return copy


def _numbers(learners: list[Algorithm], name: str) -> list[float] | float:
    """The initial values of a number: one for each lane, or one for all."""
    model, known = learners[0].model, learners[0]._record.dtype.names or ()
    if name in known and (name not in model.results or name in model.held):
        return [one._record[name].item() for one in learners]
    k, _, own = name.partition("_")
    if model.without(own, k):
        return 0.0
    if own in words(model.algorithm.sizes) and k in model.estimates:
        pace = model.estimates[k].pace
        given = [pace] if pace in known and pace not in model.results else []
        return [math.prod(one._record[what].item() for what in (*given, own)) for one in learners]
    return np.inf if name.startswith("allowed") else 0.0

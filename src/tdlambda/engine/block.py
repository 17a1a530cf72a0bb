"""A block of lanes that learns from one stream: its memory by name, divergence, and conversion back to learners."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any, NamedTuple, cast

import numpy as np

from tdlambda.arrays import Bools, Floats, Ints
from tdlambda.core.lane_memory import LaneMemory, LaneState
from tdlambda.core.model import Model
from tdlambda.core.names import words
from tdlambda.core.program import lanes_module
from tdlambda.engine import sharing
from tdlambda.engine.plan import Group
from tdlambda.features import OneHot
from tdlambda.learners.algorithm import Algorithm


class Start(NamedTuple):
    """What every block of a group begins with, whatever the seed."""

    shared: sharing.Sharing | None
    model: Model
    module: ModuleType
    advance: Any
    memory: LaneMemory


class Frozen(NamedTuple):
    """The state of a lane when it diverged, and the step at which it did."""

    state: LaneState
    step: int


class Block:
    """The lanes of a group, learning from one stream.

    An estimate that is the same in several lanes, such as META's E[G] in lanes that differ only in κ, is learned once,
    in its own lane (`apart`), and its predictions are shared.

    `per_lane` lists which of "reward", "gamma_next" and "rho" are columns [step, lane], for many predictions on one
    stream.
    """

    def __init__(self, group: Group, share: bool = True, per_lane: tuple[str, ...] = ()) -> None:
        start: Start | None = group.starts.get((share, per_lane))
        if start is None:
            start = group.starts[share, per_lane] = self._start(group, share, per_lane)
        self.group, self.model, self.module, self._advance = group, start.model, start.module, start.advance
        self.memory = start.memory.copy()
        self.source: Ints = np.minimum(np.arange(self.lanes), len(group.learners) - 1)
        """The learner that each lane computes: its own, or another one's once its own has diverged."""
        self.shared = None if start.shared is None else start.shared.fresh()
        self.apart = None if self.shared is None else Block(self.shared.group, share=False)
        self.frozen: dict[int, Frozen] = {}
        self.take_tops()

    @staticmethod
    def _start(group: Group, share: bool, per_lane: tuple[str, ...]) -> Start:
        """What every block of a group begins with."""
        shared = sharing.sharing_of(group) if share and not per_lane else None
        model = group.learners[0].model if shared is None else shared.model
        one_hot = type(group.features) is OneHot
        one_z = one_hot if model.over_x else type(group.lam_features) is OneHot
        module, memories = lanes_module(model, one_hot, one_z, per_lane), [one.memory for one in group.lanes]
        advance = module.advance
        if shared is not None:
            apart = Block(shared.group, share=False)
            advance = sharing.module_of_both(module, apart.module, model, one_hot, one_z).advance
        return Start(shared, model, module, advance, LaneMemory(model, memories, module.NAMES))

    def advance(self, *stretch: Any) -> int:
        """Learn from a stretch of a stream; return where to continue: its end, or after a step that left the bounds."""
        if self.apart is None or self.shared is None:
            return int(self._advance(*self.memory.arrays, *stretch))
        return int(
            self._advance(*self.memory.arrays, *self.apart.memory.arrays, self.shared.where, self.shared.lam, *stretch)
        )

    @property
    def steps(self) -> int:
        """Number of transitions so far."""
        return self.memory.steps

    @property
    def lanes(self) -> int:
        """Number of lanes, including those that only pad the block."""
        return self.memory.N.shape[1]

    def number(self, name: str) -> Floats:
        """A number by name, [lane]."""
        return self.memory.number(name)

    def reset(self) -> None:
        """Discard the current episode: set every trace to 0."""
        self.module.end(*self.memory.arrays[:-1])

    def take_tops(self) -> None:
        """Set the bounds on traces and weights to the largest |trace| and |weight|."""
        algorithm = self.model.algorithm
        for k in self.model.estimates:
            for what, rows in (("trace", words(algorithm.trace_rows)), ("weight", words(algorithm.weight_rows))):
                if rows and f"{k}_{what}_top" in self.module.NAMES:
                    most = np.max([np.abs(self.memory.row(f"{k}_{r}")).max(axis=0) for r in rows], axis=0)
                    self.number(f"{k}_{what}_top")[:] = most

    def beyond(self) -> Bools:
        """The lanes whose weights may be out of bounds, or whose rule has computed a number that is not finite."""
        tops = [self.number(f"{k}_weight_top") for k in self.model.estimates]
        within = (np.array(tops) <= self.number("bound")).all(axis=0)
        names = [] if self.model.rule is None else [*self.model.rule.keeps, *self.model.results]
        for name in names:
            within &= np.isfinite(self.number(name))
        U = self.memory.U
        if U.size:
            within &= np.isfinite(U).all(axis=(0, 1))
            if self.model.rule is not None:
                within &= (np.abs(U) <= self.model.rule.row_bound).all(axis=(0, 1))
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
            out = np.zeros(self.apart.lanes, dtype=bool)
            out[: len(self.apart.group.learners)] = self.apart.diverged()
            found |= out[self.shared.where]
        found[list(self.frozen)] = False
        return found[: len(self.group.learners)]

    def freeze(self, lane: int) -> None:
        """Save the state of a learner that diverged; lanes that computed it repeat one that has not.

        A lane must compute something, and whatever it computes after divergence would overflow again and again, each
        time stopping all lanes. A copy of another lane stops none.
        """
        self.frozen[lane] = Frozen(self.memory.saved(lane), self.steps)
        if self.apart is not None and self.shared is not None:
            self.shared.keep(lane, self.apart)
        if self.learning:
            self._repeat()

    def _repeat(self) -> None:
        """Copy a learner that has not diverged into every lane of a learner that has."""
        live = next(lane for lane in range(len(self.group.learners)) if lane not in self.frozen)
        lost = np.isin(self.source, list(self.frozen))
        self.source[lost] = live
        self.memory.repeat(live, lost)
        if self.apart is not None and self.shared is not None:
            self.shared.where[lost] = self.shared.where[live]
            for place in set(range(len(self.apart.group.learners))) - {*self.shared.where} - {*self.apart.frozen}:
                self.apart.freeze(place)
            self.shared.lam[:] = self.shared.lam[self.apart.source]

    def checkpoint(self) -> Callable[[], None]:
        """A function that restores the present state, as often as it is called."""
        frozen, source = dict(self.frozen), self.source.copy()
        kept = [(array, array.copy()) for array in self.memory.arrays]

        def restore() -> None:
            for array, copy in kept:
                array[...] = copy
            self.frozen, self.source[:] = dict(frozen), source

        return restore

    def learner(self, lane: int) -> Algorithm:
        """A learner in this lane's state, which can continue on its own."""
        copy, frozen = self.group.learners[lane].clone(), self.frozen.get(lane)
        memory = copy.memory
        self.memory.write(self.memory.lane(lane) if frozen is None else frozen.state, memory)
        if self.apart is not None and self.shared is not None:
            self.shared.restore(lane, self.apart, memory)
        if frozen is None:
            memory["diverged_at"] = -1
            memory.list_live(self.memory.live)
        else:
            memory["steps"] = memory["diverged_at"] = frozen.step
        return copy

"""The state of a Horde, which changes by whole chunks of rows, whatever interrupts the learning."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from tdlambda.arrays import Floats
from tdlambda.learners.base import Array
from tdlambda.streams.batch import LARGEST, Batch, Schema
from tdlambda.streams.crew import Crew, Steps
from tdlambda.streams.following import Following
from tdlambda.streams.front import Alarm, Front

Loss: TypeAlias = tuple[int, int, str]
"""A learner that diverged: index of the row, question, kind of alarm."""
REPLAYED = 256
"""Largest number of transitions between two copies of the learners, if rows come in smaller chunks."""
Record: TypeAlias = Callable[["State", Batch, "Chunk", int, Floats, Floats], None]
"""Called for each transition before its update: state, rows, chunk, index, predictions at both ends."""


@dataclass(slots=True)
class State:
    """The state of a Horde after a row: it is replaced, not changed, except for its learners."""

    front: Front
    following: Following
    crew: Crew
    spread: Crew | None
    """Learners of the variances of the returns."""
    schema: Schema
    rows: int = 0
    last: Batch | None = None
    obs: Array | None = None
    """The last row, and its observation."""
    fresh: bool = True
    begun: bool = True
    """Whether the next row starts a new segment, and whether the last row did."""
    alarms: tuple[Alarm, ...] = ()
    alarm_count: int = 0

    @property
    def here(self) -> Any:
        """The observation of the last row."""
        assert self.obs is not None
        return self.obs[-1] if self.obs.ndim > 1 else int(self.obs[-1])

    def deviation(self, obs: Any) -> Floats:
        """The standard deviation of every return at one observation; infinite if its learner diverged."""
        assert self.spread is not None
        return np.where(self.spread.diverged(), np.inf, np.sqrt(np.maximum(self.spread.predict(obs), 0.0)))


@dataclass(slots=True)
class Chunk:
    """Transitions between rows of X, which are learned together."""

    X: Array
    steps: Steps
    singly: bool
    """Whether the questions take turns after each transition, so that predictions can be read before each."""

    def learn(
        self, state: State, rows: Batch | None = None, record: Record | None = None
    ) -> list[tuple[int, int, str]]:
        """Learn; return the learners that diverged."""
        X, crew, spread = self.X, state.crew, state.spread
        if not self.singly:
            return [(len(X) - 1, q, "diverged") for q in crew.advance(X, self.steps)]
        lost = []
        for t in range(len(self.steps)):
            one, at = self.steps.one(t), int(self.steps.at[t])
            v, after = crew.predict(X[at]), crew.predict(X[at + 1])
            if record is not None and rows is not None:
                record(state, rows, self, t, v, after)
            if spread is not None:
                gamma = np.where(one.terminated[:, None], 0.0, one.gamma)
                delta = np.clip(one.reward + gamma * after - v, -LARGEST, LARGEST)  # its square must be finite
                squares = replace(one, reward=delta**2, gamma=one.gamma**2)
                lost += [(at + 1, q, "variance") for q in spread.advance(X, squares)]
            lost += [(at + 1, q, "diverged") for q in crew.advance(X, one)]
        return lost


class _Page(NamedTuple):
    state: State | None
    restores: tuple[Callable[[], None], ...]
    """Functions that restore the learners to their condition before the chunks in `log`; empty if there was no copy."""
    log: tuple[Chunk, ...]
    steps: int
    """Number of transitions in `log`."""
    open: bool
    """Whether a chunk is being learned."""


class Journal:
    """The state of a Horde, replaced as a whole once a chunk has been learned.

    Learners change in place, so a chunk begins with a note of how to undo it: a copy of all learners, and the chunks
    learned since the copy. A chunk counts only when it is closed, by a single assignment. Otherwise the next reader
    restores the copy and learns those chunks again. An exception of any kind, in any thread and at any point, therefore
    needs no handler, and an interrupted recovery starts again.
    """

    def __init__(self, state: State | None = None) -> None:
        self.lock = threading.RLock()
        """Held while a chunk is learned and while the learners are read."""
        self._page = _Page(state, (), (), 0, False)

    @property
    def state(self) -> State | None:
        """The state after the last complete chunk; None before the first row."""
        if not self._page.open:
            return self._page.state
        with self.lock:
            if self._page.open:
                self._recover()
            return self._page.state

    def replace(self, state: State) -> None:
        """Replace the state by one with the same learners in the same condition."""
        with self.lock:
            self._page = self._page._replace(state=state)

    def open(self, chunk: Chunk) -> None:
        """Prepare for learning this chunk."""
        page, n = self._page, len(chunk.steps)
        if page.state is not None and (not page.restores or page.steps + n > REPLAYED):
            crews = [crew for crew in (page.state.crew, page.state.spread) if crew is not None]
            page = _Page(page.state, tuple(crew.checkpoint() for crew in crews), (), 0, False)
        self._page = _Page(page.state, page.restores, page.log, page.steps, True)

    def close(self, chunk: Chunk, state: State) -> bool:
        """Count the chunk as learned; False if somebody has read the Horde and so has undone the chunk."""
        page, n = self._page, len(chunk.steps)
        if not page.open:
            self._page = page._replace(open=True)  # what was learned after that is undone too
            return False
        if not page.restores or page.steps + n > REPLAYED:
            self._page = _Page(state, (), (), 0, False)
        else:
            kept = Chunk(chunk.X, chunk.steps.copied(), chunk.singly)
            self._page = _Page(state, page.restores, (*page.log, kept), page.steps + n, False)
        return True

    def _recover(self) -> None:
        """Undo the chunk that was interrupted."""
        page = self._page
        for restore in page.restores:
            restore()
        for chunk in page.log:
            assert page.state is not None
            chunk.learn(page.state)
        self._page = page._replace(open=False)

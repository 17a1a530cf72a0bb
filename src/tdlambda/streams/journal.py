"""The state of a Horde, which changes by whole chunks of rows, whatever interrupts the learning."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol, TypeAlias

import numpy as np

from tdlambda.arrays import Floats, Ints
from tdlambda.learners.learner import Array
from tdlambda.streams.batch import Batch, Schema
from tdlambda.streams.crew import Crew, Steps
from tdlambda.streams.following import Following
from tdlambda.streams.front import Alarm, Front
from tdlambda.streams.quality import Quality
from tdlambda.streams.residuals import LEVEL, Errors, Open, Scales, note
from tdlambda.streams.turns import is_turn
from tdlambda.streams.windows import Lessons, Waiting

Loss: TypeAlias = tuple[int, int]
"""A learner that diverged: index of the row, question."""
REPLAYED = 256
"""Largest number of transitions between two copies of the learners, if rows come in smaller chunks."""
LEAST_TOGETHER, TOGETHER, CALLS = 64, 256, 16
"""If predictions are recorded, transitions are predicted and learned in about CALLS calls, each of so many of them."""


class Record(Protocol):
    """What keeps the predictions."""

    level: float
    """Nominal coverage of the intervals that it keeps."""

    def record(self, state: State, chunk: Chunk, some: Ints, crew: Crew, v: Floats, limits: Floats | None) -> None:
        """Record transitions `some`: predictions [transition, (before, after), question], and intervals, if any."""


@dataclass(slots=True)
class Place:
    """Where a stream is: the memory of its features, its last row, and what is not finished. Replaced, not changed."""

    memory: Floats
    last: Batch
    obs: Array
    """The last row, and its observation."""
    fresh: bool = False
    begun: bool = True
    """Whether the next row starts a new segment, and whether the last row did."""
    episodes: dict[int, Any] = field(default_factory=dict)
    """Traces of learners that several streams share, while another stream is learned from."""
    waiting: Waiting | None = None
    open: Open | None = None
    errors: Errors | None = None
    """With intervals: predictions whose answers are not known, and the latest errors of known ones."""

    @property
    def here(self) -> Any:
        """The observation of the last row."""
        return self.obs[-1] if self.obs.ndim > 1 else int(self.obs[-1])


@dataclass(slots=True)
class State:
    """The state of a Horde after a row: it is replaced, not changed, except for its learners."""

    front: Front
    following: Following
    schema: Schema
    crews: dict[Any, Crew]
    """The learners of each stream; those that all streams share have the key None."""
    places: dict[Any, Place]
    scales: Scales
    rows: int = 0
    stream: Any = None
    loaded: Any = None
    """The stream of the last row, and the one whose traces are in shared learners."""
    alarms: tuple[Alarm, ...] = ()
    alarm_count: int = 0
    quality: Quality = field(default_factory=Quality)


class Run(NamedTuple):
    """Transitions of one stream in a row."""

    crew: Any
    stream: Any
    some: Ints
    """Their indices; ascending."""


@dataclass(slots=True)
class Chunk:
    """Transitions between rows of X and answers of windows, which are learned together."""

    X: Array
    steps: Steps
    runs: list[Run]
    lessons: dict[Any, list[tuple[int, Lessons]]]
    """For each crew, the answers of each window question that became known, in order of arrival."""
    shared: bool
    """Whether several streams share the learners, so that traces are exchanged between runs."""
    singly: bool
    """Whether predictions are kept or recorded before each transition."""
    number: Ints
    """Number of each row of X."""
    stream: Any
    """The stream whose traces are in the shared learners before the chunk."""
    episodes: dict[Any, dict[int, Any]]
    """Traces of the other streams before the chunk, and after it."""
    crews: dict[Any, Crew]
    """The learners, including those of streams that begin here."""
    errors: dict[Any, Errors] = field(default_factory=dict)
    open: dict[Any, Open] = field(default_factory=dict)
    """By stream, copies that learning changes: errors and open predictions; none when the chunk is replayed."""
    made: dict[int, Floats] = field(default_factory=dict)
    """Predictions at rows, by number, for the errors of windows."""

    def learn(
        self, state: State, record: Record | None = None, only: Any = None
    ) -> tuple[list[Loss], dict[Any, dict[int, Any]]]:  # fmt: skip
        """Learn; return the learners that diverged, and the traces of streams that share learners.

        `only` restricts it to some crews.
        """
        lost: list[Loss] = []
        current, episodes = self.stream, dict(self.episodes)
        taught: dict[Any, list[int]] = {key: [0] * len(lessons) for key, lessons in self.lessons.items()}
        for run in self.runs:
            if only is not None and run.crew not in only:
                continue
            crew = self.crews[run.crew]
            if run.stream in self.open and run.stream not in self.errors:
                self.errors[run.stream] = self._first_errors(state, current)
            if self.shared and run.stream != current:
                episodes[current] = crew.episodes()
                crew.resume(episodes.get(run.stream, {}))
                current = run.stream
            if self.singly:
                lost += self._watched(state, crew, run, record, taught)
            else:
                lost += [(len(self.X) - 1, q) for q in crew.advance(self.X, self.steps.part(run.some))]
        for key in self.lessons:
            if only is None or key in only:
                lost += self._teach(state, key, self.crews[key], taught, np.inf)
        return lost, episodes

    def _first_errors(self, state: State, last: Any) -> Errors:
        """The errors that a new stream starts with: those of the `last` one, if streams share learners."""
        before = self.errors.get(last) or (state.places[last].errors if last in state.places else None)
        return before.copied() if before is not None and self.shared else Errors.none(state.scales.steps.size)

    def kept(self) -> None:
        """Release what is not needed to learn the chunk again, and copy what the next chunk overwrites."""
        self.errors, self.open, self.made = {}, {}, {}
        if self.steps.reward.base is not None:
            self.steps = self.steps.copied()

    def _watched(
        self, state: State, crew: Crew, run: Run, record: Record | None, taught: dict[Any, list[int]]
    ) -> list[Loss]:  # fmt: skip
        """Learn, and keep the predictions before each update."""
        X, s, lost, windows = self.X, self.steps, [], run.crew in self.lessons
        errors, open_, begin = self.errors.get(run.stream), self.open.get(run.stream), 0
        most = min(TOGETHER, max(LEAST_TOGETHER, run.some.size // CALLS))
        while begin < run.some.size:
            some = run.some[begin : begin + most]
            together = not windows and crew.foresees(part := s.part(some))
            if together:
                v = crew.prequential(X, part)
            else:
                some = some[:1]
                part = s.part(some)
                at, to = int(part.at[0]), int(part.to[0])
                x, y = (X[at], X[to]) if X.ndim > 1 else (int(X[at]), int(X[to]))
                v = np.stack([crew.predict(x), crew.predict(y)])[None]
            begin += some.size
            limits = None
            if errors is not None and open_ is not None:
                limits = np.empty((some.size, v.shape[2], 2))
                level = LEVEL if record is None else record.level
                awake = part.awake.copy()
                awake[:, [q for q, _ in self.lessons.get(run.crew, ())]] = False  # see _teach
                columns = (part.reward, part.gamma, awake, part.cut, part.terminated)
                note(open_, errors, state.scales, v, *columns, level, limits)
            if record is not None:
                record.record(state, self, some, crew, v, limits)
            if not together:
                lost += [(to, q) for q in crew.advance(X, part)]
            if windows:
                self.made[int(self.number[at])] = v[0, 0]
                lost += self._teach(state, run.crew, crew, taught, self.number[to], errors)
        return lost

    def _teach(
        self, state: State, key: Any, crew: Crew, taught: dict[Any, list[int]], upto: float,
        errors: Errors | None = None,
    ) -> list[Loss]:  # fmt: skip
        """Learn the answers that arrived up to row number `upto`; `errors` are those of their stream."""
        lost, begins = [], taught[key]
        for k, (q, given) in enumerate(self.lessons[key]):
            begin = begins[k]
            end = int(np.searchsorted(given.arrival, upto, side="right")) if upto < np.inf else given.answer.size
            if end <= begin:
                continue
            begins[k] = end
            if errors is not None:
                for i in range(begin, end):
                    number = int(given.number[i])
                    made = self.made[number][q] if number in self.made else given.made[i]
                    if made == made and is_turn(float(number), float(state.scales.stride[q])):
                        errors.add(q, float(given.answer[i] - made))
            if not crew.teach(q, given.X[begin:end], given.answer[begin:end]):
                lost.append((len(self.X) - 1, q))
        return lost


class _Page(NamedTuple):
    state: State | None
    restores: dict[Any, tuple[int, Callable[[], None]]]
    """For each crew, how many chunks of `log` came before its copy, and a function that restores it."""
    log: tuple[Chunk, ...]
    steps: int
    """Number of transitions in `log`."""
    open: bool
    """Whether a chunk is being learned."""


class Journal:
    """The state of a Horde, replaced as a whole once a chunk has been learned.

    Learners change in place, so a chunk begins with a note of how to undo it: a copy of its learners, and the chunks
    learned since the copy. A chunk counts only when it is closed, by a single assignment. Otherwise the next reader
    restores the copies and learns those chunks again. An exception of any kind, in any thread and at any point,
    therefore needs no handler, and an interrupted recovery starts again.
    """

    def __init__(self, state: State | None = None) -> None:
        self.lock = threading.RLock()
        """Held while a chunk is learned and while the learners are read."""
        self._page = _Page(state, {}, (), 0, False)

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
        state = page.state
        if state is not None:
            if page.steps + n > REPLAYED:
                page = _Page(state, {}, (), 0, False)
            new = [key for key in chunk.crews if key in state.crews and key not in page.restores]
            if new:
                more = {key: (len(page.log), state.crews[key].checkpoint()) for key in new}
                page = page._replace(restores=page.restores | more)
        self._page = _Page(page.state, page.restores, page.log, page.steps, True)

    def close(self, chunk: Chunk, state: State) -> bool:
        """Count the chunk as learned; False if somebody has read the Horde and so has undone the chunk."""
        page, n = self._page, len(chunk.steps)
        if not page.open:
            self._page = page._replace(open=True)  # what was learned after that is undone too
            return False
        if page.state is None or page.steps + n > REPLAYED or not page.restores:
            self._page = _Page(state, {}, (), 0, False)
        else:
            chunk.kept()
            self._page = _Page(state, page.restores, (*page.log, chunk), page.steps + n, False)
        return True

    def _recover(self) -> None:
        """Undo the chunk that was interrupted."""
        page = self._page
        for _, restore in page.restores.values():
            restore()
        for i, chunk in enumerate(page.log):
            assert page.state is not None
            chunk.learn(page.state, only={key for key, (at, _) in page.restores.items() if at <= i})
        self._page = page._replace(open=False)

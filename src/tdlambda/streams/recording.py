"""What a Horde predicted while it learned, and what then happened."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from tdlambda.arrays import Bools, Floats, Ints
from tdlambda.learners.learner import Array
from tdlambda.streams import baselines as rivals
from tdlambda.streams.crew import Crew, Steps
from tdlambda.streams.journal import Chunk, State
from tdlambda.streams.question import Question
from tdlambda.streams.returns import Realised, realised
from tdlambda.streams.scored import Scored
from tdlambda.streams.windows import typical

if TYPE_CHECKING:
    from tdlambda.streams.horde import Horde

SAMPLES = 200
"""Approximate number of times at which the learner's λ and its experts' weights are recorded."""


@dataclass
class _ChunkRecord:
    """The records of one chunk."""

    number: Ints
    stream: list[Any]
    steps: Steps
    """Transitions; `at` and `to` are numbers of rows."""
    X: Array
    """Observations before each transition."""
    v: Floats
    after: Floats
    """Predictions before and after each transition [transition, question]."""
    limits: Floats | None


@dataclass
class Recorder:
    """Records every prediction before its update."""

    horde: Horde
    level: float
    baselines: Sequence[str] | None
    """Names of the baselines; None for all."""
    pages: list[_ChunkRecord] = field(default_factory=list)
    answers: dict[int, list[tuple[Ints, Floats]]] = field(default_factory=dict)
    """Of each window question: rows, and their answers."""
    samples: list[tuple[int, list[dict[str, float]], list[float]]] = field(default_factory=list)
    stride: int = 32
    every: float | None = None
    _chunk: Chunk | None = None
    _seen: int = 0

    def record(self, state: State, chunk: Chunk, some: Ints, crew: Crew, v: Floats, limits: Floats | None) -> None:
        """Record transitions with the predictions before each update [transition, (before, after), question]."""
        if chunk is not self._chunk:
            self._turn(state, chunk)
        page = self.pages[-1]
        page.v[some], page.after[some] = v[:, 0], v[:, 1]
        if page.limits is not None and limits is not None:
            page.limits[some] = limits
        self._seen += some.size
        if self._seen // self.stride > (self._seen - some.size) // self.stride:
            at = int(chunk.steps.at[some[-1]])
            self._sample(int(page.number[some[-1]]), crew, chunk.X[at] if chunk.X.ndim > 1 else int(chunk.X[at]))

    def _turn(self, state: State, chunk: Chunk) -> None:
        self._chunk, s, n = chunk, chunk.steps.copied(), len(chunk.steps)
        self.every = state.following.usual
        stream: list[Any] = [None] * n
        if chunk.shared or len(chunk.runs) > 1 or (chunk.runs and chunk.runs[0].stream is not None):
            for run in chunk.runs:
                for t in run.some.tolist():
                    stream[t] = run.stream
        shape = (n, len(self.horde.questions))
        limits = np.full((*shape, 2), np.nan) if chunk.open else None
        X = chunk.X[s.at] if self.baselines is None or {*self.baselines} & {*rivals.OF_X} else np.empty((n, 0))
        s.at, s.to = chunk.number[s.at], chunk.number[s.to]
        self.pages.append(_ChunkRecord(s.at, stream, s, X, np.full(shape, np.nan), np.full(shape, np.nan), limits))
        for lessons in chunk.lessons.values():
            for q, given in lessons:
                self.answers.setdefault(q, []).append((given.number, given.answer))

    def _sample(self, row: int, crew: Crew, obs: Any) -> None:
        weights, lams = [], []
        for q in range(min(crew.n, 20)):
            one: Any = crew.learner(q)
            weights.append(one.expert_weights() if hasattr(one, "expert_weights") else {})
            lams.append(0.0 if weights[-1] else float(one.lambda_at(obs)))
        self.samples.append((row, weights, lams))
        if len(self.samples) >= 2 * SAMPLES:
            self.samples, self.stride = self.samples[1::2], 2 * self.stride

    # ---- scores -----------------------------------------------------------------------------------------------

    def scored(self, tolerance: float, period: int | None) -> dict[str, Scored]:
        """The scores of every question."""
        whole, self.pages = _joined(self.pages), []
        front = self.horde._at_work("prequential").front
        dense = whole.X.ndim == 2 and front.encoder.active == front.encoder.size and whole.X.shape[1] <= 256
        found, importance = {}, self.horde.importance()
        for q, (name, question) in enumerate(self.horde.questions.items()):
            found[name] = self._one(whole, q, name, question, tolerance, period, dense)
            found[name].importance = dict(list(importance[name].items())[:30])
        return found

    def _one(
        self, whole: _ChunkRecord, q: int, name: str, question: Question, tolerance: float, period: int | None,
        dense: bool,
    ) -> Scored:  # fmt: skip
        s, w = whole.steps, question.window
        reward, gamma, rho = s.reward[:, q], s.gamma[:, q], s.rho[:, q]
        some = np.flatnonzero(~(np.isnan(gamma) | np.isnan(rho)))
        streams = [whole.stream[i] for i in some.tolist()]
        order = (
            np.arange(some.size) if not streams or streams[0] is None else np.argsort(_codes(streams), kind="stable")
        )
        own = some[order]
        reward, gamma, rho, ended = reward[own], gamma[own], rho[own], s.terminated[own]
        same = np.append(False, np.array([streams[a] == streams[b] for a, b in pairwise(order)], dtype=bool))
        follows = same & (s.at[own] == np.append(-1, s.to[own][:-1])) & ~s.cut[own]
        if w:
            G = self._windows(q, whole.number[own], typical(question, self.every))
        else:
            G = realised(reward, gamma, ended, follows, tolerance)
        off = not question.on_policy
        names, found = self.baselines, rivals.available(period, dense) if not off else []
        wanted = [n for n in found if names is None or n in names]
        edges = [0, *np.flatnonzero(~same)[1:].tolist(), own.size]
        rival = {n: _rival(n, question, reward, gamma, ended, G, whole.X[own], period, edges) for n in wanted}
        v, after = whole.v[own, q], whole.after[own, q]
        delta = rho * (reward + np.where(ended, 0, gamma) * after - v) if not w else G.value - v
        back = np.argsort(order)
        known_at = np.where(G.known, order[np.minimum(G.known_at, own.size - 1)], own.size)
        inputs: dict[str, Any] = {
            "value_next": after, "reward": reward, "gamma": gamma, "rho": rho, "terminated": ended,
            "truncated": ~np.append(follows[1:], False) & ~ended,
        }  # fmt: skip
        if w:
            answer = np.where(G.known, G.value, np.nan)
            zeros = np.zeros(own.size)
            inputs |= {"reward": answer, "gamma": zeros, "terminated": ~np.isnan(zeros), "truncated": np.isnan(zeros)}
        samples = [(t, weights[q], lam[q]) for t, weights, lam in self.samples] if q < 20 else []
        limits = None if whole.limits is None else whole.limits[own, q][back]
        return Scored(
            name, whole.number[own][back], v[back], Realised(G.value[back], known_at[back], G.horizon[back]),
            delta[back], {n: p[back] for n, p in rival.items()}, limits, self.level, off, samples,
            {n: x[back] for n, x in inputs.items()}, int(np.isnan(reward).sum()),
            streams if streams[:1] != [None] else [],
        )  # fmt: skip

    def _windows(self, q: int, number: Ints, length: int) -> Realised:
        """The answers of a window at these rows."""
        value, known = np.zeros(number.size), np.zeros(number.size, dtype=bool)
        given = self.answers.get(q, [])
        if given and number.size:
            rows, answers = (np.concatenate(part) for part in zip(*given, strict=True))
            order = np.argsort(number, kind="stable")
            place = np.searchsorted(number[order], rows)
            good = (place < number.size) & (number[order][np.minimum(place, number.size - 1)] == rows)
            value[order[place[good]]], known[order[place[good]]] = answers[good], True
        at = np.where(known, np.minimum(np.arange(number.size) + length - 1, number.size - 1), number.size)
        return Realised(value, at, np.full(number.size, length / 3))


def _joined(pages: list[_ChunkRecord]) -> _ChunkRecord:
    """All records, in order of their rows; the columns of the parts are released one by one."""
    steps = [page.steps for page in pages]
    return _ChunkRecord(
        _column(pages, "number"), [key for page in pages for key in page.stream],
        Steps(**{name: _column(steps, name) for name in list(vars(pages[0].steps))}),
        *(_column(pages, name) for name in ("X", "v", "after", "limits")),
    )  # fmt: skip


def _column(parts: Sequence[Any], name: str) -> Any:
    """An array of all parts, which give theirs up, so that memory does not hold it twice; None if one has none."""
    arrays = [vars(part).pop(name) for part in reversed(parts)]
    if any(array is None for array in arrays):
        return None
    whole, at = np.empty((sum(map(len, arrays)), *arrays[0].shape[1:]), arrays[0].dtype), 0
    while arrays:
        array = arrays.pop()
        whole[at : at + len(array)] = array
        at += len(array)
    return whole


def _codes(keys: list[Any]) -> Ints:
    """A number for each key, in order of appearance."""
    known: dict[Any, int] = {}
    return np.array([known.setdefault(key, len(known)) for key in keys])


def _rival(
    name: str, question: Question, reward: Floats, gamma: Floats, ended: Bools, G: Realised, X: Array,
    period: int | None, edges: list[int],
) -> Floats:  # fmt: skip
    """A baseline's predictions, in each stream by itself."""
    parts = []
    for a, b in pairwise(edges):
        n = b - a
        own = Realised(G.value[a:b], np.where(G.known_at[a:b] < G.value.size, G.known_at[a:b] - a, n), G.horizon[a:b])
        parts.append(rivals.predictions(name, question, reward[a:b], gamma[a:b], ended[a:b], own, X[a:b], period))
    return np.concatenate(parts) if parts else np.zeros(0)

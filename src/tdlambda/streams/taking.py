"""From rows to a chunk that can be learned: streams, features, questions and windows, without changing anything."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from operator import itemgetter
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from tdlambda.arrays import Bools, Floats, Ints
from tdlambda.auto import AutoTD
from tdlambda.auto.expert_table import MANY
from tdlambda.features import Category, Columns, Cosines, Encoder, Network
from tdlambda.features.default_terms import Target, default_terms
from tdlambda.features.terms import Name
from tdlambda.learners.learner import Array
from tdlambda.streams.asking import Asker, Factory, made
from tdlambda.streams.batch import LOOKED_AT, Batch, Schema, from_row, stacked
from tdlambda.streams.cell_kinds import looks_dated
from tdlambda.streams.crew import Crew, Steps
from tdlambda.streams.default_learner import default_learner
from tdlambda.streams.following import Following, before
from tdlambda.streams.front import Alarm, Front
from tdlambda.streams.journal import Chunk, Loss, Place, Run, State
from tdlambda.streams.quality import Quality
from tdlambda.streams.question import Question, is_number
from tdlambda.streams.reading import batches
from tdlambda.streams.residuals import Open, Scales
from tdlambda.streams.windows import Lessons, Waiting, Windows, require_time, typical

ALARMS = 1000
"""Number of alarms kept."""
STREAMS = 2000
"""Number of streams that share learners whose places are kept; the one whose last row is oldest is forgotten first."""
MACHINES = 16
"""Number of streams that have a feature of their own."""
ONLY: list[Any] = [None]
NOTHING, FIRST_ROW, SECOND_ROW = np.arange(0), np.arange(1), np.arange(1, 2)
YES_NO = np.array([False]), np.array([True])
"""The streams, indices and flags of a single row that follows another."""
APART = NOTHING, NOTHING, NOTHING, np.zeros(0, dtype=bool), np.zeros(0, dtype=bool)
"""The same of one that follows none."""
Finish: TypeAlias = Callable[[list[Loss], dict[Any, dict[int, Any]]], State]
"""The state after a chunk, from the learners that diverged and the traces of streams."""


class Links(NamedTuple):
    """How rows follow each other, and the last rows of their streams."""

    keys: list[Any]
    """The stream of each row."""
    touched: list[Any]
    """The distinct streams, beginning with the known ones."""
    places: list[Place]
    """Where the known streams are."""
    rows: Batch
    """The rows preceded by the last ones of known streams; the rows alone if that is enough."""
    at: Ints
    to: Ints
    after: Ints
    """Rows before and after each transition, counted from the first last row; and those after it among the new rows."""
    fresh: Bools
    """Whether each row begins a segment."""
    begun: Bools
    ended: Bools
    """Whether each transition begins a segment, and whether it ends an episode."""
    stream: Ints
    """The index of each row's stream in `touched`."""
    counts: tuple[int, int, dict[Name, int] | None]
    """Gaps, repeated times, and missing times by column."""


@dataclass
class Taker:
    """The constant part of a Horde: what is asked, and how rows are read."""

    questions: dict[str, Question]
    makers: dict[str, Factory]
    asker: Asker
    windows: Windows
    features: Columns | Encoder | Network | None
    following: Following
    observed: Any
    missing: str
    share: bool
    intervals: bool
    _needed: tuple[bool, list[Any]] | None = None

    @property
    def chooses(self) -> bool:
        """Whether features are chosen from the first rows."""
        return self.features is None or (isinstance(self.features, Columns) and not self.features.terms)

    def needed(self, following: Following) -> list[Any] | None:
        """The columns that questions and rules for rows read; None if functions may read any."""
        if self._needed is None:
            sources = ("cumulant", "discount", "rho", "target", "behavior", "terminal")
            found = [getattr(question, name) for question in self.questions.values() for name in sources]
            names = [s for s in found if isinstance(s, str | int) and not isinstance(s, bool)]
            everything = any(callable(s) for s in found)
            self._needed = (everything, [*dict.fromkeys([*names, following.by, following.time, following.terminated])])
        return None if self._needed[0] else self._needed[1]

    def copied(self) -> Taker:
        """A copy for another Horde, with separate buffers."""
        return replace(self, asker=Asker(self.questions))

    def without_makers(self) -> Taker:
        """Such a copy without the functions that build learners, which may not be copied."""
        return replace(self.copied(), makers={})

    # ---- the first rows ---------------------------------------------------------------------------------------

    def begin(self, batch: Batch, schema: Schema) -> State:
        """The state before the first row: choose the features, if none were given, and build the learners."""
        following, first = replace(self.following), batch.part(0, max(LOOKED_AT, 2))
        if following.time is None:
            following.time = next(
                (name for name in batch.columns if name in batch.times and _ascends(first, name)), None
            )
        following.check(batch)
        require_time(self.questions, following.time)
        for name, question in self.questions.items():
            if not callable(question.cumulant):
                batch.numbers(question.cumulant, f"question {name!r}: cumulant")
        every = following.every(first)
        following.usual = every
        apart = {following.by, following.time, following.terminated, *batch.times}
        some = {name: column for name, column in first.columns.items() if name not in apart}
        numbers = [name for name, column in some.items() if column.dtype != object]
        lengths = [typical(q, every) if q.window else 0 for q in self.questions.values()]
        asked = list(dict.fromkeys(q.cumulant for q in self.questions.values() if not callable(q.cumulant)))
        features = self.features
        if features is None or (isinstance(features, Columns) and not features.terms):
            full = [name for name in numbers if not np.isnan(some[name]).all()]
            texts = [n for n, c in some.items() if c.dtype == object and any(v is not None for v in c)]
            targets = [
                _target(q, n) for q, n in zip(self.questions.values(), lengths, strict=True) if not callable(q.cumulant)
            ]
            features = default_terms(full, texts, following.time, every, targets)
            if following.by is not None and self.share:
                kept = [term for term in features.terms if not isinstance(term, Cosines)]
                core = features.nested[:1] if features.nested else ()
                features = Columns(*kept, Category(following.by, most=MACHINES), nested=core)
            if not features.terms:
                raise ValueError("features: no column has a value in the first rows; give features, or other rows")
        observed = list(self.observed or numbers) if isinstance(features, Encoder | Network) else []
        as_is = isinstance(features, Columns) and features.size <= MANY
        as_is = as_is and all(make is AutoTD for make in self.makers.values())
        front = Front(features, observed, asked, self.missing, as_is)
        if len(batch) > 1 and not self.chooses:
            front.refuse_empty(batch)
        scales = Scales.of(list(self.questions.values()), lengths)
        crews = {None: self._new_crew(front, every)} if self.share or following.by is None else {}
        undated = {n: str(c[0]) for n, c in some.items() if c.dtype == object and looks_dated(n, c[c != None])}  # noqa: E711
        return State(front, following, schema, crews, {}, scales, rows=batch.first, quality=Quality(undated=undated))

    def _new_crew(self, front: Front, every: float | None) -> Crew:
        fleet = self.following.by is not None and self.share
        alone = range(len(self.questions)) if fleet else self.windows.where
        makers = [
            default_learner(front, question, typical(question, every) if question.window else 0, fleet)
            if make is AutoTD
            else make
            for question, make in zip(self.questions.values(), self.makers.values(), strict=True)
        ]
        return Crew(front.encoder, [made(make, front.seen_by_learners) for make in makers], alone=alone)

    def first_guess(self, batch: Batch) -> dict[str, float]:
        """Predictions from the mean of the first rows, before the features are chosen."""
        Schema().fitted(batch)
        prev = before(self.following.streams(batch)) if self.following.by in (None, *batch.columns) else np.array([-1])
        to = np.flatnonzero(prev >= 0)
        asked, found = self.asker.ask(batch, prev[to], to), {}
        for q, (name, question) in enumerate(self.questions.items()):
            c, gamma = asked.reward[:, q], asked.gamma[:, q]
            c, gamma = c[np.isfinite(c)], gamma[np.isfinite(gamma)]
            mean = float(c.mean()) if c.size else 0.0
            if question.exceeds is not None:
                found[name] = float((c > question.exceeds).any()) if c.size else 0.0
            elif question.of == "max":
                found[name] = float(c.max()) if c.size else 0.0
            elif question.window:
                found[name] = mean * (1 if question.of == "mean" else typical(question, None))
            else:
                found[name] = mean / max(1e-3, 1 - float(gamma.mean()) if gamma.size else 1.0)
        return found

    # ---- streams ----------------------------------------------------------------------------------------------

    def crew_key(self, key: Any) -> Any:
        """The key of the learners of a stream."""
        return None if self.share or self.following.by is None else key

    def crew(self, state: State, key: Any) -> Crew:
        """The learners of a stream."""
        return state.crews[self.crew_key(key)]

    def key(self, state: State, by: Any) -> Any:
        """The stream that `by` names; that of the last row if it is None."""
        if by is None:
            return state.stream
        if self.following.by is None:
            raise ValueError(
                "by: this Horde has one stream; name the column that identifies streams: td.Horde(…, by=…)"
            )
        if by not in state.places:
            shown = ", ".join(map(repr, list(state.places)[:5]))
            raise ValueError(f"by: the stream {by!r} has no row yet; streams are {shown}")
        return by

    # ---- rows -------------------------------------------------------------------------------------------------

    def prepared(self, state: State, batch: Batch, schema: Schema, recording: bool) -> tuple[Chunk, Finish]:
        """A chunk, and the function that gives the state after it."""
        if self.missing == "raise":
            _refuse_unreadable(batch)
        links = self._linked(state, batch)
        k, to, old, touched, n = len(links.places), links.to, links.places, links.touched, len(links.keys)
        fresh, after = links.fresh, links.after
        seen = after if links.rows is batch else to
        raw, front = state.front.read(batch), state.front.copied()
        asked = self.asker.ask(links.rows, links.at, seen)
        if self.missing == "raise":
            self._refuse(links.rows, seen, asked.awake)
        memories = [place.memory for place in old] + [front.new_memory() for _ in touched[k:]]
        memory = np.array(memories) if len(memories) > 1 else memories[0][None].copy()
        given = raw.copy()
        X, alarms = front.encode(batch, raw, fresh, links.stream, memory)
        far = 0
        if raw.tobytes() != given.tobytes():
            lost = np.isnan(raw) != np.isnan(given)
            far = int(np.count_nonzero(lost))
            self._leave_out(front, lost[after], asked.awake)
        whole = np.concatenate([*(place.obs for place in old), X])
        number = np.array([place.last.first for place in old] + [batch.first + i for i in range(n)], dtype=np.int64)
        waiting, lessons = self._lessons(state, touched, links.stream, X, batch, asked.reward, after, fresh)
        crews = {self.crew_key(key): None for key in touched}
        new = {key: state.crews.get(key) or self._new_crew(state.front, state.following.usual) for key in crews}
        taught = next(iter(new.values())).taught(self.windows.where) if self.windows.where else []
        if taught:
            asked.awake[:, taught] = False
        steps = Steps(links.at, to, *asked[:4], links.ended, links.begun, asked.awake)
        in_turn = bool(taught) and isinstance(self.features, Network)  # their lessons change what the others learn with
        chunk = Chunk(
            whole, steps, self._runs(touched, links.stream, after), lessons,
            self.share and self.following.by is not None, recording or self.intervals or in_turn, number, state.loaded,
            {key: place.episodes for key, place in zip(touched, old, strict=False)}, new,
        )  # fmt: skip
        if self.intervals:
            none = Open.none(state.scales)
            known = zip(touched, old, strict=False)
            chunk.errors = {key: place.errors.copied() for key, place in known if place.errors is not None}
            opened = [place.open or none for place in old] + [none for _ in touched[k:]]
            chunk.open = {key: one.copied() for key, one in zip(touched, opened, strict=True)}

        def finish(lost: list[Loss], episodes: dict[Any, dict[int, Any]]) -> State:
            names = list(self.questions)
            said = [replace(alarm, stream=links.keys[alarm.row - batch.first]) for alarm in alarms]
            said += [Alarm(int(number[i]), names[q], "diverged") for i, q in lost]
            places = self._places(state, links, batch, memory, X, episodes, chunk, waiting)
            quality = state.quality.after(batch, *links.counts, far)
            return State(
                front, state.following, schema, {**state.crews, **new}, places, state.scales,
                batch.first + n, links.keys[-1],
                chunk.runs[-1].stream if chunk.runs else state.loaded,
                (*state.alarms, *said)[-ALARMS:] if said else state.alarms, state.alarm_count + len(said), quality,
            )  # fmt: skip

        return chunk, finish

    def _linked(self, state: State, batch: Batch) -> Links:
        """How the rows follow each other and the last rows of their streams."""
        following, only = state.following, state.places.get(None)
        alone = only is not None and len(batch) == 1 and not self.asker.others
        found = following.step(only.last, batch) if alone else None  # type: ignore[union-attr]
        if only is not None and found is not None:
            apart, gaps, same = found[0] or only.fresh, *found[1:]
            how = APART if apart else (FIRST_ROW, SECOND_ROW, FIRST_ROW, YES_NO[only.begun], YES_NO[False])
            at, to, after, begins, ends = how
            return Links(
                ONLY, ONLY, [only], batch, at, to, after, YES_NO[apart], begins, ends, FIRST_ROW, (gaps, same, None)
            )
        keys = following.streams(batch)
        last, filled = state.places.get(keys[0]), 0
        if following.time is not None:
            filled = following.fill_times(batch, None if last is None else float(last.last.columns[following.time][0]))
        distinct = list(dict.fromkeys(keys))
        known = [key for key in distinct if key in state.places]
        k, old = len(known), [state.places[key] for key in known]
        touched = known + [key for key in distinct if key not in state.places]
        rows = stacked([place.last for place in old], batch, self.needed(following))
        prev = before([*known, *keys])
        cut, ended, (gaps, same) = following.breaks(rows, prev, k)
        for i, place in enumerate(old):
            if place.fresh:
                cut[k:][prev[k:] == i] = True
        to = np.flatnonzero(~cut[k:]) + k
        index = {key: i for i, key in enumerate(touched)}
        stream = np.zeros(len(keys), dtype=np.int64) if len(touched) == 1 else np.array([index[key] for key in keys])
        times: Any = {following.time: filled} if filled else None
        at, fresh = prev[to], cut[k:]
        begun = np.array([place.begun for place in old] + fresh.tolist(), dtype=bool)
        return Links(keys, touched, old, rows, at, to, to - k, fresh, begun[at], ended[to], stream, (gaps, same, times))

    def _places(
        self, state: State, links: Links, batch: Batch, memory: Floats, X: Array, episodes: dict[Any, dict[int, Any]],
        chunk: Chunk, waiting: dict[Any, Waiting],
    ) -> dict[Any, Place]:  # fmt: skip
        """The place of each stream after the chunk, in the order of their last rows."""
        places, touched, loaded = dict(state.places), links.touched, state.loaded
        if loaded in places and loaded in episodes and loaded not in touched:
            places[loaded] = replace(places[loaded], episodes=episodes[loaded])
        ends = {key: i for i, key in enumerate(links.keys)}
        index = {key: i for i, key in enumerate(touched)}
        for key, i in sorted(ends.items(), key=itemgetter(1)) if len(ends) > 1 else ends.items():
            places.pop(key, None)
            places[key] = Place(
                memory[index[key]], batch.part(i, i + 1), X[i : i + 1], False, bool(links.fresh[i]),
                episodes.get(key, {}), _made(waiting.get(key), chunk.made, self.windows.where), chunk.open.get(key),
                chunk.errors.get(key),
            )  # fmt: skip
        if self.share and len(places) > STREAMS:
            for key in list(places)[: len(places) - STREAMS]:
                del places[key]
        return places

    def _leave_out(self, front: Front, far: Bools, awake: Bools) -> None:
        """Do not learn from steps whose cumulant is far outside its range."""
        for q, question in enumerate(self.questions.values()):
            if question.cumulant in front.columns and not callable(question.cumulant):
                awake[:, q] &= ~far[:, front.columns.index(question.cumulant)]

    def _runs(self, touched: list[Any], stream: Ints, to: Ints) -> list[Run]:
        """The transitions to these rows, by stream."""
        if len(touched) == 1:
            some = FIRST_ROW if to.size == 1 else np.arange(to.size)
            return [Run(self.crew_key(touched[0]), touched[0], some)] if to.size else []
        of = stream[to]
        if not self.share:
            groups = [(i, np.flatnonzero(of == i)) for i in range(len(touched))]
        else:
            edges = np.flatnonzero(np.diff(of)) + 1
            groups = [(int(of[some[0]]), some) for some in np.split(np.arange(to.size), edges) if some.size]
        return [Run(self.crew_key(touched[i]), touched[i], some) for i, some in groups if some.size]

    def _lessons(
        self, state: State, touched: list[Any], stream: Ints, X: Array, batch: Batch, reward: Floats, to: Ints,
        fresh: Bools,
    ) -> tuple[dict[Any, Waiting], dict[Any, list[tuple[int, Lessons]]]]:  # fmt: skip
        """The rows of each stream whose windows have not passed, and the answers of each crew that became known."""
        w = self.windows
        if not w.where:
            return {}, {}
        value = np.full((len(batch), len(w.where)), np.nan)
        value[to] = reward[:, w.where]
        time, number = np.zeros(len(batch)), np.arange(batch.first, batch.first + len(batch))
        if state.following.time is not None:
            time = batch.columns[state.following.time]
        waiting: dict[Any, Waiting] = {}
        found: dict[Any, list[list[Lessons]]] = {}
        for i, key in enumerate(touched):
            mine = stream == i
            place = state.places.get(key)
            old = place.waiting if place is not None and place.waiting is not None else w.begin(X)
            waiting[key], lessons = w.take(old, X[mine], time[mine], value[mine], number[mine], fresh[mine])
            found.setdefault(self.crew_key(key), []).append(lessons)
        return waiting, {
            key: [(q, _sorted([lessons[j] for lessons in some])) for j, q in enumerate(w.where)]
            for key, some in found.items()
        }  # fmt: skip

    def _refuse(self, rows: Batch, to: Ints, awake: Bools) -> None:
        """Raise ValueError if a question lacks a value."""
        if not awake.all():
            t, q = (int(i) for i in np.argwhere(~awake)[0])
            raise ValueError(
                f"question {list(self.questions)[q]!r}: its cumulant, gamma or rho is missing at row "
                f'{rows.first + int(to[t])}; use missing="hold" or "mask" to skip such steps, or drop such rows'
            )

    def peek(self, state: State, row: Any, by: Any) -> list[Any]:
        """Predictions at a possible next row, or at each of several; the state does not change."""
        one = isinstance(row, dict) or (hasattr(row, "keys") and not hasattr(row, "columns"))
        one = one and all(np.ndim(value) == 0 for value in row.values())
        one = one or (not hasattr(row, "keys") and np.ndim(row) == 1 and not hasattr(row, "columns"))
        front, memories, found = state.front.copied(), {}, []
        last: dict[Any, Batch] = {key: place.last for key, place in state.places.items()}
        for batch in [from_row(row, state.rows)] if one else batches(row, 10_000, state.rows):
            state.schema.fitted(batch)
            keys = state.following.streams(batch)
            if by is not None:
                keys = [self.key(state, by)] * len(batch)
            if state.following.time is not None:
                state.following.fill_times(batch, None)
            touched = list(dict.fromkeys(keys))
            known = [key for key in touched if key in last]
            rows = stacked([last[key] for key in known], batch)
            fresh, _, _ = state.following.breaks(rows, before([*known, *keys]), len(known))
            for key in touched:
                if key not in memories:
                    memories[key] = state.places[key].memory if key in state.places else front.new_memory()
            memory = np.stack([memories[key] for key in touched])
            stream = np.array([touched.index(key) for key in keys])
            X, _ = front.encode(batch, front.read(batch), fresh[len(known) :], stream, memory)
            memories |= {key: memory[i] for i, key in enumerate(touched)}
            last |= {key: batch.part(i, i + 1) for i, key in enumerate(keys)}
            found.append(self._predicted(state, keys, X, one))
        return found[0].tolist() if one else list(np.concatenate(found).T)

    def predicted(self, state: State, key: Any, X: Array) -> Floats:
        """Predictions at observations of a stream [observation, question]."""
        crew = self.crew(state, self._known(state, key))
        if not self.share or self.following.by is None or key == state.loaded:
            return crew.predict_many(X)
        return crew.predict_elsewhere(X, state.places[key].episodes if key in state.places else {})

    def _predicted(self, state: State, keys: list[Any], X: Array, one: bool) -> Floats:
        if self.following.by is None:
            crew = self.crew(state, None)
            return crew.predict(X[0] if X.ndim > 1 else int(X[0])) if one else crew.predict_many(X)
        found = np.empty((len(X), len(self.questions)))
        for key in dict.fromkeys(keys):
            mine = [i for i, k in enumerate(keys) if k == key]
            found[mine] = self.predicted(state, key, X[mine])
        return found[0] if one else found

    def _known(self, state: State, key: Any) -> Any:
        return key if self.share or key in state.places else self.key(state, key)


def _refuse_unreadable(batch: Batch) -> None:
    for name, bad in batch.unreadable.items():
        if bad.size:
            raise ValueError(
                f"column {name!r}, row {batch.first + int(bad[0])}: the value must be a number or date, as in other "
                f'rows; got {batch.examples[name]!r}; use missing="hold" to count such cells as missing'
            )


def _target(question: Question, length: int) -> Target:
    gamma = float(question.discount) if is_number(question.discount) else 0.95  # type: ignore[arg-type]
    return Target(question.cumulant, 1.0 if question.window else gamma, length)  # type: ignore[arg-type]


def _ascends(rows: Batch, name: Name) -> bool:
    known = rows.columns[name][~np.isnan(rows.columns[name])]
    return bool((np.diff(known) >= 0).mean() > 0.5) if known.size > 1 else True


def _sorted(parts: list[Lessons]) -> Lessons:
    """The answers of several streams in order of arrival."""
    if len(parts) == 1:
        return parts[0]
    whole = Lessons(*(np.concatenate(column) for column in zip(*parts, strict=True)))
    order = np.argsort(whole.arrival, kind="stable")
    found: Any = (column[order] for column in whole)
    return Lessons(*found)


def _made(waiting: Waiting | None, made_at: dict[int, Floats], where: list[int]) -> Waiting | None:
    """Waiting rows with the predictions that were made at them."""
    if waiting is None or not made_at:
        return waiting
    made = waiting.made.copy()
    for i, n in enumerate(waiting.number.tolist()):
        if n in made_at:
            made[i] = made_at[n][where]
    return waiting._replace(made=made)

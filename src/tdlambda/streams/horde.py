"""Many predictions on one stream of rows."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any, Self

import numpy as np

from tdlambda.arrays import Bools, choice, confidence, integer, positive
from tdlambda.auto import AutoTD
from tdlambda.auto.dense import MANY
from tdlambda.features import Columns, Encoder
from tdlambda.features.columns import Name, default
from tdlambda.learners.base import Array, Learner
from tdlambda.progress import Bar
from tdlambda.showing import says_arguments
from tdlambda.streams.asking import Asker, Factory, made, makers, named, refuse_endless
from tdlambda.streams.batch import Batch, Schema, from_row, joined, parts
from tdlambda.streams.crew import Crew, Steps
from tdlambda.streams.following import Following, Groups
from tdlambda.streams.front import Alarm, Front
from tdlambda.streams.journal import Chunk, Journal, Record, State
from tdlambda.streams.question import Question
from tdlambda.streams.reading import Data, Drawn, Row, batches, length, one_pass

CHUNK = 10_000
AT_ONCE = 2**19
"""Rows × questions learned at a time, so that their data stay in the cache."""
LOOKED_AT = 100
"""Number of first rows from which features are chosen."""
ALARMS = 1000
"""Number of alarms kept."""


@says_arguments
class Horde:
    """Many predictions about one stream of rows: one learner per question, one shared encoding of the rows.

    Rows are in order of time. You need not shift any column: for the step from row t to row t + 1, each question reads
    its reward and γ at row t + 1 and ρ at row t.

    Parameters
    ----------
    features
        `td.features.Columns`, or any encoder of the numeric columns. None chooses features from the first rows.
    questions
        A `td.Question`, a dict of questions by name, or a list; questions in a list are named after their cumulants.
    learner
        A function that builds a learner for given features, such as `td.AutoTD` or
        `lambda x: td.TrueOnlineTD(x, alpha=0.01, lam=0.9)`; or a dict with one for each question. Learners of the same
        kind run as lanes of one compiled block.
    by
        Column that identifies the stream, such as a machine or an episode. Where it changes, traces are reset. All rows
        of one stream must be contiguous.
    time
        Column of dates or numbers, non-decreasing. Default: the only column of dates, if there is exactly one.
    gap
        Largest distance between consecutive rows: a positive number (in seconds for dates) or a timedelta. Across a
        larger gap, traces are reset.
    terminated
        Column that is true at a row that ends an episode; γ is 0 on entering that row.
    missing
        What to do with missing values: "raise" raises an error with row and column; "hold" repeats the last reading;
        "mask" uses the mean. With "hold" and "mask", a question whose own cumulant, γ or ρ is missing skips that step.
    observed
        Columns passed to your own encoder, in order. Default: all numeric columns.
    variance
        Also learn the variance of each return, for `interval`; this needs a second learner for each question.

    Examples
    --------
    >>> import numpy as np, tdlambda as td
    >>> hours = np.arange(3000)
    >>> frame = {"flow": 10 + np.sin(hours / 4) + np.random.default_rng(0).normal(0, 0.1, 3000)}
    >>> horde = td.Horde(None, {"next hours": td.Question("flow", horizon=6, average=True)}).learn(frame)
    >>> 9 < horde.predict()["next hours"] < 11
    True
    >>> horde
    <Horde of 1 question, 4 features, 3,000 rows>
    """

    def __init__(
        self,
        features: Columns | Encoder | None = None,
        questions: Question | Mapping[str, Question] | Sequence[Question] | None = None,
        learner: Factory | Mapping[str, Factory] = AutoTD,
        *,
        by: Name | None = None,
        time: Name | None = None,
        gap: float | timedelta | None = None,
        terminated: Name | None = None,
        missing: str = "raise",
        observed: Sequence[Name] | None = None,
        variance: bool = False,
    ) -> None:
        if features is not None and not isinstance(features, Columns | Encoder):
            raise TypeError(f"features must be td.features.Columns, an encoder or None; got {features!r}")
        self.questions = named(questions)
        self._makers = makers(learner, self.questions)
        self._asker = Asker(self.questions)
        gap = gap.total_seconds() if isinstance(gap, timedelta) else gap
        self._following = Following(by, time, None if gap is None else positive(gap, "gap"), terminated)
        refuse_endless(self.questions, terminated)
        self._features, self.observed, self.variance = features, observed, bool(variance)
        self.missing = choice(missing, "missing", "raise", "hold", "mask")
        self._journal = Journal()
        self._drawn: Drawn | None = None

    # ---- what a user calls ------------------------------------------------------------------------------------

    def learn(
        self,
        data: Data,
        *,
        chunk: int = CHUNK,
        skip: int = 0,
        save: str | Path | None = None,
        progress: bool | None = None,
    ) -> Self:
        """Learn from rows: a data frame, an array [row, column], a CSV or Parquet file by path, or a generator.

        Parameters
        ----------
        data
            A frame of pandas, Polars, PyArrow or any library that Narwhals supports; a dict of columns; a NumPy array;
            a path; an iterator of dicts, arrays or frames.
        chunk
            Number of rows held in memory at a time, at least 1; it does not affect the result.
        skip
            Number of rows to skip, at least 0: `horde.learn(path, skip=horde.rows)` continues where a saved Horde
            stopped.
        save
            File to save to after every chunk.
        progress
            Whether to show a progress bar; None shows one in a terminal for data that take more than a second.
        """
        for _ in self._reading(data, chunk, skip, progress):
            if save is not None:
                self.save(save)
        return self

    def update(self, row: Row) -> None:
        """Learn from the step to this row (a dict or an array) and move to it."""
        with self._journal.lock:
            self._take(from_row(row, self.rows))

    def predict(self, row: Row | Data | None = None) -> dict[str, Any]:
        """The predictions by name: at the last row, at a possible next row, or at each row of a frame."""
        with self._journal.lock:
            state = self._at_work("predict")
            if row is None:
                found = state.crew.predict(state.here).tolist()
            else:
                X, one = self._peek(state, row)
                found = state.crew.predict(X[0]).tolist() if one else state.crew.predict_many(X).T
        return dict(zip(self.questions, found, strict=True))

    def interval(self, level: float = 0.9) -> dict[str, tuple[float, float]]:
        """For each question, an interval that contains its return with probability `level`, in (0, 1).

        The interval assumes a normal distribution. The variance of the return is learned from the TD errors δ,
        E[Σ γ^2k δ²] (Sherstan et al. 2018). This is correct if the features are a Markov state, and too small if
        successive errors are correlated. `td.streams.prequential` measures the actual coverage. If the learner of a
        variance diverges, an alarm says so, and the interval is (-inf, inf).
        """
        with self._journal.lock:
            state = self._at_work("interval")
            if state.spread is None:
                raise ValueError("interval: the variance was not learned; use td.Horde(…, variance=True)")
            from scipy.stats import norm

            half = float(norm.ppf(0.5 + confidence(level) / 2)) * state.deviation(state.here)
            v = state.crew.predict(state.here)
        limits = zip((v - half).tolist(), (v + half).tolist(), strict=True)
        return dict(zip(self.questions, limits, strict=True))

    def reset(self) -> None:
        """Declare that the next row does not follow the last one; traces are reset."""
        with self._journal.lock:
            if (state := self._journal.state) is not None:
                self._journal.replace(replace(state, fresh=True))

    @property
    def rows(self) -> int:
        """Number of rows learned so far: all of them by every question, whatever interrupted the learning."""
        state = self._journal.state
        return 0 if state is None else state.rows

    @property
    def alarms(self) -> list[Alarm]:
        """Anomalies of sensors and learners, in order; the last 1,000 are kept."""
        state = self._journal.state
        return [] if state is None else list(state.alarms)

    @property
    def alarm_count(self) -> int:
        """Number of alarms so far, including those that are no longer kept."""
        state = self._journal.state
        return 0 if state is None else state.alarm_count

    @property
    def features(self) -> Columns | Encoder | None:
        """The features; None if they have not been chosen yet."""
        state = self._journal.state
        return self._features if state is None else state.front.features

    @property
    def learners(self) -> dict[str, Learner]:
        """A copy of each question's learner in its current state: `horde.learners["flow"].explain()`."""
        with self._journal.lock:
            crew = self._at_work("learners").crew
            copies = [crew.alone[q].clone() if q in crew.alone else crew.learner(q) for q in range(crew.n)]
        return dict(zip(self.questions, copies, strict=True))

    @property
    def feature_names(self) -> list[str]:
        """Names of the features, in order."""
        return self._at_work("feature_names").front.names

    def importance(self) -> dict[str, dict[str, float]]:
        """For each question, how much one standard deviation of each feature changes the prediction.

        Features are sorted by importance, largest first.
        """
        with self._journal.lock:
            scale, names, learners = self._at_work("importance").front.scale(), self.feature_names, self.learners
        found = {}
        for name, learner in learners.items():
            size = np.abs(learner.weights[: scale.size]) * scale
            found[name] = {names[i]: float(size[i]) for i in np.argsort(-size, kind="stable")}
        return found

    def save(self, path: str | Path) -> None:
        """Save to a file, atomically; `td.load` reads it."""
        from tdlambda.streams.storage import save

        with self._journal.lock:
            save(self, path)

    def __reduce__(self) -> tuple[Any, ...]:
        """Support pickle and copy: the copy shares nothing with this Horde and has no learner factory."""
        with self._journal.lock:
            state = copy.deepcopy(self._journal.state)
        apart: dict[str, Any] = {"_journal": None, "_drawn": None, "_makers": {} if state else self._makers}
        return _restored, (type(self), vars(self) | apart, state)

    def __repr__(self) -> str:
        """A one-line summary."""
        q, state = len(self.questions), self._journal.state
        size = "" if state is None else f"{state.front.encoder.size} features, "
        return f"<Horde of {q} question{'s' * (q != 1)}, {size}{self.rows:,} rows>"

    # ---- rows -------------------------------------------------------------------------------------------------

    def _reading(
        self, data: Any, chunk: int, skip: int, progress: bool | None, record: Record | None = None
    ) -> Iterator[int]:
        """Learn from rows, chunk by chunk; yield the number of rows so far.

        If an interrupt comes after rows were drawn from an iterator, the next call with this iterator learns from them.
        """
        chunk, skip = integer(chunk, "chunk", 1), integer(skip, "skip", 0)
        if isinstance(data, Mapping) and all(np.ndim(value) == 0 for value in data.values()):
            raise TypeError("data: a dict must contain columns; for one row, use update(row)")
        groups, seen, read = Groups(self._following.by), self.rows, 0
        try:
            with Bar(length(data), progress, "rows") as bar:
                for batch in self._batches(data, chunk, skip):
                    read = batch.first + len(batch) - seen + skip
                    batch = batch.part(max(0, seen - batch.first), len(batch))
                    if not len(batch):
                        continue
                    groups.check(batch)
                    state = self._journal.state
                    schema = (state.schema if state else Schema()).fitted(batch)
                    start = self._begin(batch) if state is None and len(batch) > 1 else None
                    for part in parts(batch, min(chunk, max(64, AT_ONCE // len(self.questions)))):
                        self._take(part, record, schema, start)
                        bar.update(self.rows - seen + skip)
                        yield self.rows
            if read < skip:
                raise ValueError(f"skip must be at most the number of rows, {read}; got {skip}")
        except Exception:  # rows that are refused are not tried again
            self._drawn = None
            raise

    def _batches(self, data: Any, chunk: int, skip: int) -> Iterator[Batch]:
        """Yield the rows in batches, numbered so that the first row to learn from has the number `rows`."""
        rows = self.rows
        least = 0 if self._journal.state is not None else skip + LOOKED_AT
        if not one_pass(data):
            yield from joined(batches(data, chunk, rows - skip), least)
            return
        drawn = self._drawn
        if drawn is None or drawn.data is not data:
            drawn = Drawn(data)
        drawn.renumber(rows, skip)
        self._drawn = drawn
        for batch in drawn.batches(chunk, least):
            yield batch
            drawn.forget(self.rows)
        self._drawn = None

    def _take(
        self, batch: Batch, record: Record | None = None, schema: Schema | None = None, start: State | None = None,
        last_try: bool = False,
    ) -> None:  # fmt: skip
        """Learn from the steps to these rows, as a whole or not at all; `start` is the state before the first row."""
        with self._journal.lock:
            state = self._journal.state or start or self._begin(batch)
            if batch.first != state.rows:
                raise RuntimeError(
                    f"the Horde has learned other rows while this call was reading data: row {batch.first} is next, "
                    f"but {state.rows} rows were learned; let one thread at a time call learn"
                )
            schema = schema or state.schema.fitted(batch)
            raw, front = state.front.read(batch), state.front.copied()
            rows = batch.after(state.last)
            new = len(rows) - len(batch)  # index of the first new row
            fresh, ended = state.following.breaks(rows)
            fresh[new] |= state.fresh
            at = np.flatnonzero(~fresh[1:])
            asked = self._asker.ask(rows, at)
            if self.missing == "raise" and not asked.awake.all():
                self._refuse_missing(rows, at, asked.awake)
            X, alarms = front.encode(batch, raw, fresh[new:])
            X = X if state.obs is None else np.concatenate([state.obs, X])
            begun = np.concatenate([[state.begun], fresh[1:]]) if new else fresh
            steps = Steps(at, *asked[:4], ended[at + 1], begun[at], asked.awake)
            chunk = Chunk(X, steps, singly=record is not None or self.variance)

            self._journal.open(chunk)
            names = list(self.questions)
            alarms += [Alarm(rows.first + i, names[q], kind) for i, q, kind in chunk.learn(state, rows, record)]
            after = State(
                front, state.following, state.crew, state.spread, schema, batch.first + len(batch),
                rows.part(len(rows) - 1, len(rows)), X[-1:], False, bool(begun[-1]),
                (*state.alarms, *alarms)[-ALARMS:] if alarms else state.alarms, state.alarm_count + len(alarms),
            )  # fmt: skip
            if self._journal.close(chunk, after):
                return
            if last_try or record is not None or self._journal.state is None:
                raise RuntimeError("the Horde was read while it was learning, by a signal handler or its own learner")
            self._take(batch, schema=schema, last_try=True)

    def _begin(self, batch: Batch) -> State:
        """The state before the first row: choose the features, if none were given, and build the learners."""
        following = replace(self._following)
        if following.time is None and len(batch.times) == 1:
            (following.time,) = batch.times
        following.check(batch)
        apart = {following.by, following.time, following.terminated, *batch.times}
        numbers = [name for name, column in batch.columns.items() if column.dtype != object and name not in apart]
        for name, question in self.questions.items():
            if not callable(question.cumulant):
                batch.numbers(question.cumulant, f"question {name!r}: cumulant")
        asked = list(dict.fromkeys(q.cumulant for q in self.questions.values() if not callable(q.cumulant)))
        features = self._features
        if features is None or (isinstance(features, Columns) and not features.terms):
            texts = [name for name, column in batch.columns.items() if column.dtype == object and name not in apart]
            features = default(numbers, texts, following.time, following.every(batch.part(0, LOOKED_AT)), asked)
        observed = list(self.observed or numbers) if isinstance(features, Encoder) else []
        makers = list(self._makers.values())
        as_is = isinstance(features, Columns) and features.size <= MANY and all(m is AutoTD for m in makers)
        front = Front(features, observed, asked, self.missing, as_is)
        if len(batch) > 1:
            front.refuse_empty(batch)
        crew = Crew(front.encoder, [made(make, front.encoder) for make in makers])
        spread = Crew(front.encoder, [made(make, front.encoder) for make in makers]) if self.variance else None
        return State(front, following, crew, spread, Schema(), rows=batch.first)

    def _refuse_missing(self, rows: Batch, at: Any, awake: Bools) -> None:
        t, q = (int(i) for i in np.argwhere(~awake)[0])
        name = list(self.questions)[q]
        raise ValueError(
            f"question {name!r}: its cumulant, gamma or rho is missing at row {rows.first + int(at[t]) + 1}; "
            'use missing="hold" or "mask" to skip such steps, or drop such rows'
        )

    def _peek(self, state: State, row: Any) -> tuple[Array, bool]:
        """Observations of possible next rows, and whether there is a single row; the state does not change."""
        front, last, X = state.front.copied(), state.last, []
        one = isinstance(row, Mapping) and all(np.ndim(value) == 0 for value in row.values())
        one = one or (not isinstance(row, Mapping) and np.ndim(row) == 1 and not hasattr(row, "columns"))
        for batch in [from_row(row, state.rows)] if one else batches(row, CHUNK, state.rows):
            state.schema.fitted(batch)
            rows = batch.after(last)
            fresh, _ = state.following.breaks(rows)
            X.append(front.encode(batch, front.read(batch), fresh[len(rows) - len(batch) :])[0])
            last = batch.part(len(batch) - 1, len(batch))
        return np.concatenate(X), one

    def _at_work(self, what: str) -> State:
        if (state := self._journal.state) is None:
            raise ValueError(f"{what}: the Horde has not seen a row yet; call learn or update first")
        return state


def _restored(kind: type[Horde], own: dict[str, Any], state: State | None) -> Horde:
    horde = object.__new__(kind)
    vars(horde).update(own, _journal=Journal(state))
    return horde

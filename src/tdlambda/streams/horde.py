"""Many predictions on one stream of rows."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any, Self

import numpy as np

from tdlambda.arrays import Floats, choice, confidence, integer, positive
from tdlambda.auto import AutoTD
from tdlambda.features import Columns, Encoder, Network
from tdlambda.features.terms import Name
from tdlambda.learners.learner import Learner
from tdlambda.progress import Bar
from tdlambda.showing import says_arguments
from tdlambda.streams.asking import Asker, Factory, makers, named, refuse_endless
from tdlambda.streams.batch import LOOKED_AT, Batch, Schema, from_row, from_rows, joined, parts
from tdlambda.streams.following import Following
from tdlambda.streams.front import Alarm
from tdlambda.streams.journal import Journal, Record, State
from tdlambda.streams.quality import Quality
from tdlambda.streams.question import Question
from tdlambda.streams.reading import Data, Drawn, Row, batches, length, one_pass
from tdlambda.streams.residuals import Errors
from tdlambda.streams.taking import Taker
from tdlambda.streams.windows import Windows

CHUNK = 4_096
AT_ONCE = 2**19
"""Rows × questions learned at a time, so that their data stay in the cache."""


@says_arguments
class Horde:
    """Many predictions about one stream of rows: one learner per question, one shared encoding of the rows.

    Rows are in order of time. You need not shift any column: for the step from row t to row t + 1, each question reads
    its reward and γ at row t + 1 and ρ at row t.

    Parameters
    ----------
    features
        `td.features.Columns`, or any encoder of the numeric columns. None chooses features from the first rows. With a
        `td.Network`, all questions share its hidden layers: see the page on networks.
    questions
        A `td.Question`, a dict of questions by name, or a list; questions in a list are named after their cumulants.
    learner
        A function that builds a learner for given features, such as `td.AutoTD` or
        `lambda x: td.TrueOnlineTD(x, alpha=0.01, lam=0.9)`; or a dict with one for each question. Learners of the same
        kind run as lanes of one compiled block.
    by
        Column that identifies the stream of a row, such as a machine or an episode. The rows of several streams may be
        interleaved: each stream has its own lags, seasons and traces.
    share
        With `by`: whether all streams share one learner for each question, with the stream as a feature, or each stream
        has learners of its own.
    time
        Column of dates or numbers, non-decreasing in each stream. Default: the first column of dates.
    gap
        Largest distance between consecutive rows: a positive number (in seconds for dates) or a timedelta. Across a
        larger gap, traces are reset.
    terminated
        Column that is true at a row that ends an episode; γ is 0 on entering that row.
    missing
        What to do with missing and unreadable values: "hold" repeats the last reading; "mask" uses the mean; "raise"
        raises an error with row and column. With "hold" and "mask", a question whose own cumulant, γ or ρ is missing
        skips that step, and `quality` counts the values.
    observed
        Columns passed to your own encoder, in order. Default: all numeric columns.
    intervals
        Also keep the errors of recent predictions, for `interval`; then every row is predicted before it is learned.

    Examples
    --------
    >>> import numpy as np, tdlambda as td
    >>> hours = np.arange(3000)
    >>> frame = {"flow": 10 + np.sin(hours / 4) + np.random.default_rng(0).normal(0, 0.1, 3000)}
    >>> horde = td.Horde(None, {"next hours": td.Question("flow", horizon=6, average=True)}).learn(frame)
    >>> 9 < horde.predict()["next hours"] < 11
    True
    >>> horde
    <Horde of 1 question, 54 features, 3,000 rows>
    """

    def __init__(
        self,
        features: Columns | Encoder | Network | None = None,
        questions: Question | Mapping[str, Question] | Sequence[Question] | None = None,
        learner: Factory | Mapping[str, Factory] = AutoTD,
        *,
        by: Name | None = None,
        share: bool = True,
        time: Name | None = None,
        gap: float | timedelta | None = None,
        terminated: Name | None = None,
        missing: str = "hold",
        observed: Sequence[Name] | None = None,
        intervals: bool = False,
    ) -> None:
        if features is not None and not isinstance(features, Columns | Encoder | Network):
            raise TypeError(f"features must be td.features.Columns, an encoder, a td.Network or None; got {features!r}")
        self.questions = named(questions)
        gap = gap.total_seconds() if isinstance(gap, timedelta) else gap
        following = Following(by, time, None if gap is None else positive(gap, "gap"), terminated)
        refuse_endless(self.questions, terminated)
        self.observed, self.intervals, self.share = observed, bool(intervals), bool(share)
        self.missing = choice(missing, "missing", "raise", "hold", "mask")
        self._taker = Taker(
            self.questions, makers(learner, self.questions), Asker(self.questions),
            Windows.of(list(self.questions.values())), features, following, observed, self.missing, self.share,
            self.intervals,
        )  # fmt: skip
        self._journal = Journal()
        self._drawn: Drawn | None = None
        self._early: tuple[Any, ...] = ()

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
        """Learn from the step to this row (a dict or an array) and move to it.

        Without `features`, the first 100 rows are kept until the features are chosen, and then learned.
        """
        with self._journal.lock:
            state = self._journal.state
            if state is None and self._taker.chooses:
                from_rows([*self._early[:1], row], len(self._early))  # validates it
                early = (*self._early, row if not hasattr(row, "copy") else row.copy())
                if len(early) >= LOOKED_AT:
                    self._early_learned(early)
                else:
                    self._early = early
            else:
                self._take(from_row(row, 0 if state is None else state.rows))

    def _early_learned(self, rows: tuple[Any, ...]) -> None:
        """Choose the features from the first rows, and learn from them."""
        self._take(from_rows(list(rows), 0))
        self._early = ()

    def predict(self, row: Row | Data | None = None, *, by: Any = None) -> dict[str, Any]:
        """The predictions by name: at the last row, at a possible next row, or at each row of a frame.

        `by` is the stream, such as a machine; by default that of the last row. Before the features are chosen, the
        prediction is the mean so far.
        """
        with self._journal.lock:
            state = self._journal.state
            if state is None and self._early:
                return self._taker.first_guess(from_rows(list(self._early), 0))
            state = self._at_work("predict")
            if row is None:
                found = self._here(state, self._taker.key(state, by)).tolist()
            else:
                found = self._taker.peek(state, row, by)
        return dict(zip(self.questions, found, strict=True))

    def _here(self, state: State, key: Any) -> Floats:
        """The predictions at the last row of a stream."""
        place = state.places[key]
        if self._taker.following.by is None:
            return self._taker.crew(state, key).predict(place.here)
        return self._taker.predicted(state, key, place.obs[-1:])[0]

    def interval(self, level: float = 0.9, *, by: Any = None) -> dict[str, tuple[float, float]]:
        """For each question, an interval that contains its answer with probability `level`, in (0, 1).

        It is the prediction plus quantiles of the errors of recent predictions, whose answers are known by now, so its
        width follows the present: an error counts for 60 horizons, and a factor follows the actual coverage. Until
        there are sixteen errors, it is unbounded. `td.streams.prequential` measures the actual coverage. `by` is the
        stream, as in `predict`.
        """
        level = confidence(level)
        with self._journal.lock:
            if not self.intervals:
                raise ValueError("interval: errors of predictions were not kept; use td.Horde(…, intervals=True)")
            state = self._journal.state
            if state is None and self._early:
                return dict.fromkeys(self.questions, (-np.inf, np.inf))
            state = self._at_work("interval")
            key = self._taker.key(state, by)
            v = self._here(state, key)
            errors = state.places[key].errors or Errors.none(len(self.questions))
            limits = [errors.limits(q, level) for q in range(len(self.questions))]
        found = {}
        for (name, asked), m, (low, high) in zip(self.questions.items(), v.tolist(), limits, strict=True):
            least, most = (-np.inf, np.inf) if asked.exceeds is None else (0.0, 1.0)
            found[name] = max(m + low, least), min(m + high, most)
        return found

    def reset(self) -> None:
        """Declare that the next row does not follow the last one; traces are reset."""
        with self._journal.lock:
            if (state := self._journal.state) is not None:
                places = {key: replace(place, fresh=True) for key, place in state.places.items()}
                self._journal.replace(replace(state, places=places))

    @property
    def rows(self) -> int:
        """Number of rows learned so far: all of them by every question, whatever interrupted the learning."""
        state = self._journal.state
        return len(self._early) if state is None else state.rows

    @property
    def streams(self) -> list[Any]:
        """The streams seen so far: the values of the column `by`."""
        state = self._journal.state
        return [] if state is None else sorted((key for key in state.places if key is not None), key=str)

    @property
    def quality(self) -> Quality:
        """What was missing, unreadable or repeated in the rows so far; `print` shows one line."""
        state = self._journal.state
        return Quality(len(self._early)) if state is None else state.quality

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
    def features(self) -> Columns | Encoder | Network | None:
        """The features; None if they have not been chosen yet."""
        state = self._journal.state
        return self._taker.features if state is None else state.front.given

    @property
    def learners(self) -> dict[str, Learner]:
        """A copy of each question's learner in its current state: `horde.learners["flow"].expert_weights()`.

        If each stream has its own, those of the stream of the last row.
        """
        with self._journal.lock:
            state = self._at_work("learners")
            crew = self._taker.crew(state, state.stream)
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
            state = self._at_work("importance")
            scale, names, learners = state.front.scale(), self.feature_names, self.learners
            here = state.places[state.stream].here
        if isinstance(state.front.given, Network):
            scale = next(iter(learners.values())).memory.deviations  # type: ignore[attr-defined]
        found = {}
        for name, learner in learners.items():
            size = np.abs(_slopes(learner, here, scale))
            found[name] = {names[i]: float(size[i]) for i in np.argsort(-size, kind="stable")}
        return found

    def save(self, path: str | Path) -> None:
        """Save to a file, atomically; `td.load` reads it."""
        from tdlambda.streams.horde_file import save

        with self._journal.lock:
            save(self, path)

    def __reduce__(self) -> tuple[Any, ...]:
        """Support pickle and copy: the copy shares nothing with this Horde and has no learner factory."""
        with self._journal.lock:
            state = copy.deepcopy(self._journal.state)
            taker = self._taker.copied() if state is None else self._taker.without_makers()
        apart: dict[str, Any] = {"_journal": None, "_drawn": None, "_taker": taker}
        return _restored, (type(self), vars(self) | apart, state)

    def __repr__(self) -> str:
        """A one-line summary."""
        q, state = len(self.questions), self._journal.state
        size = "" if state is None else f"{state.front.encoder.size} features, "
        several = f"{len(state.places):,} streams, " if state is not None and None not in state.places else ""
        return f"<Horde of {q} question{'s' * (q != 1)}, {size}{several}{self.rows:,} rows>"

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
        if self._early and self._journal.state is None:
            self._early_learned(self._early)
        seen, read = self.rows, 0
        size = min(chunk, max(64, AT_ONCE // len(self.questions)))
        try:
            with Bar(length(data), progress, "rows") as bar:
                for batch in self._batches(data, chunk, skip):
                    read = batch.first + len(batch) - seen + skip
                    batch = batch.part(max(0, seen - batch.first), len(batch))
                    if not len(batch):
                        continue
                    state = self._journal.state
                    schema = (state.schema if state else Schema()).fitted(batch)
                    start = self._taker.begin(batch, schema) if state is None else None
                    for part in parts(batch, size):
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
            state = self._journal.state or start
            if schema is None:
                schema = (state.schema if state else Schema()).fitted(batch)
            state = state or self._taker.begin(batch, schema)
            if batch.first != state.rows:
                raise RuntimeError(
                    f"the Horde has learned other rows while this call was reading data: row {batch.first} is next, "
                    f"but {state.rows} rows were learned; let one thread at a time call learn"
                )
            chunk, finish = self._taker.prepared(state, batch, schema, record is not None)
            self._journal.open(chunk)
            lost, episodes = chunk.learn(state, record)
            if self._journal.close(chunk, finish(lost, episodes)):
                return
            if last_try or record is not None or self._journal.state is None:
                raise RuntimeError("the Horde was read while it was learning, by a signal handler or its own learner")
            self._take(batch, schema=schema, last_try=True)

    def _at_work(self, what: str) -> State:
        if (state := self._journal.state) is None:
            if self._early:
                raise ValueError(
                    f"{what}: features are chosen after {LOOKED_AT} rows; got {len(self._early)}. Call learn with a "
                    "table, or give features"
                )
            raise ValueError(f"{what}: the Horde has not seen a row yet; call learn or update first")
        return state


def _slopes(learner: Any, here: Any, scale: Any) -> Any:
    """The change of a prediction by one deviation of each feature: from the weights, else by differences."""
    try:
        return learner.weights[: scale.size] * scale
    except (TypeError, AttributeError):  # experts with features of their own, or a network
        steps = np.diag(scale / 2)
        return learner.predict_many(here + steps) - learner.predict_many(here - steps)


def _restored(kind: type[Horde], own: dict[str, Any], state: State | None) -> Horde:
    horde = object.__new__(kind)
    vars(horde).update(own, _journal=Journal(state))
    return horde

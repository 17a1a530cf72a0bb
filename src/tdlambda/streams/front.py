"""Encoding of rows, once for all questions, with checks of each sensor."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from tdlambda.arrays import Bools, Floats, Ints, plain
from tdlambda.features import Category, Columns, Cosines, Dense, Encoded, Encoder, Network, OneHot, Tiles
from tdlambda.features import row_history as history
from tdlambda.features import standardisation as running
from tdlambda.features.row_plan import row_plan, times_of
from tdlambda.features.sensor_checks import EVENTS, STUCK_FOR
from tdlambda.features.terms import Name
from tdlambda.learners.learner import Array
from tdlambda.showing import visible
from tdlambda.streams.batch import LARGEST, Batch

FEW = 64
"""Up to this many features, categories and tiles are encoded as dense vectors; categories also for AutoTD."""
_WORDS = {
    "outlier": "a reading far outside its range",
    "stuck": f"the same value {STUCK_FOR} times or more",
    "change": "its level or unit has changed",
    "diverged": "the learner diverged and has stopped learning",
}


@dataclass(frozen=True)
class Alarm:
    """An anomaly: its row, its column or question, its kind, and the stream of its row, such as a machine."""

    row: int
    name: Name
    kind: str
    stream: Any = None

    @property
    def where(self) -> str:
        """Its stream, if there are several, and its name."""
        return f"{self.name}" if self.stream is None else f"{self.stream}, {self.name}"

    def __str__(self) -> str:
        """The anomaly as a phrase, with its row and name."""
        return visible(f"row {self.row:,}, {self.where}: {_WORDS[self.kind]}")


def summarised(alarms: Iterable[Alarm]) -> list[str]:
    """One line for each column and kind of a stream, the kinds that matter most and the most frequent first."""
    groups: dict[tuple[str, str], list[int]] = {}
    for alarm in alarms:
        groups.setdefault((alarm.where, alarm.kind), []).append(alarm.row)
    kinds = list(_WORDS)[::-1]
    order = sorted(groups, key=lambda group: (kinds.index(group[1]), -len(groups[group])))
    lines = []
    for name, kind in order:
        rows = groups[name, kind]
        shown = ", ".join(f"{row:,}" for row in rows[:3]) + (f" and {len(rows) - 3:,} more" if len(rows) > 3 else "")
        lines.append(f"{name}: {_WORDS[kind]} (row{'s' * (len(rows) > 1)} {shown})")
    return lines


class Front:
    """The encoder of a Horde, shared by all questions and streams, with what it has learned: scales, categories.

    The memory of each stream (lags, means, seasons) is a vector that the caller keeps: see `row_history`. With `as_is`,
    numbers of `Columns` are passed unscaled, to learners that scale their inputs themselves.
    """

    def __init__(
        self, features: Columns | Encoder | Network, observed: list[Name], watched: list[Name], missing: str,
        as_is: bool,
    ) -> None:  # fmt: skip
        self.given, self.observed, self.missing = features, observed, missing
        if isinstance(features, Network):
            if observed and len(observed) != features.inputs:
                raise ValueError(
                    f"features: the network has {features.inputs} inputs, but there are {len(observed)} columns of "
                    f"numbers: {', '.join(map(str, observed))}; choose among them with observed="
                )
            features = Dense(features.inputs)
        self.features = features
        self.terms = features.terms if isinstance(features, Columns) else ()
        read = {name: None for term in self.terms for name in term.columns}
        self.watched: list[Name] = list(dict.fromkeys([*read, *watched]))
        self.columns: list[Name] = list(dict.fromkeys([*self.watched, *observed]))
        seen = set(observed)
        self.needed = np.array([name in read or name in seen for name in self.columns], dtype=bool)
        place = {name: i for i, name in enumerate(self.columns)}
        self.seen_at = [place[name] for name in observed]
        sparse = [term for term in self.terms if isinstance(term, Category | Tiles)]
        dense = [term for term in self.terms if not isinstance(term, Category | Tiles)]
        self.times = times_of(dense)
        self.plan, self.memory_size = row_plan(
            dense,
            self.columns,
            len(self.watched),
            bool(getattr(features, "constant", 0)),
            getattr(features, "window", 2000.0),
        )
        self.tiles_at = {term: [place[name] for name in term.of] for term in sparse if isinstance(term, Tiles)}
        self.signals = np.zeros((self.plan.signal_column.size, running.ROWS))
        self.moments = np.zeros((self.plan.cosines.shape[1] - 1, running.ROWS + 1))
        self.values: dict[Name, list[Any]] = {
            term.column: list(term.values or ()) for term in sparse if isinstance(term, Category)
        }
        self.held = np.zeros(len(observed))
        self._layout(dense, sparse, as_is)

    def _layout(self, dense: list[Any], sparse: list[Any], as_is: bool) -> None:
        """Set the layout of the features and the encoder that learners see."""
        f = self.features
        self.sparse = sparse
        if isinstance(f, Encoder):
            self.encoder: Encoder = f if type(f) in (Dense, OneHot) else Encoded(f.size, f.active)
            self.names = [f"feature {k}" for k in range(f.size)]
            if isinstance(self.given, Network) and self.observed:
                self.names = [str(name) for name in self.observed]
            self.dense = self.as_is = False
            self.flags = np.array([False, self.missing != "mask", False])
            return
        if f.size == 0:
            raise ValueError("features must not be empty; give Columns at least one term")
        last = [name for term in dense if isinstance(term, Cosines) for name in term.names]
        self.names = [name for term in dense if not isinstance(term, Cosines) for name in term.names]
        self.names += ["constant"] * f.constant + last
        self.names += [name for term in sparse for name in term.names]
        self.dense = not sparse or f.size <= FEW or (as_is and not self.tiles_at)
        active = f.size - sum(term.size for term in sparse)
        active += sum(term.tilings if isinstance(term, Tiles) else 1 for term in sparse)
        self.encoder = Dense(f.size) if self.dense else Encoded(f.size, active)
        self.as_is = as_is and self.dense
        self.flags = np.array([self.as_is, self.missing != "mask", True])

    # ---- encoding ---------------------------------------------------------------------------------------------

    def new_memory(self) -> Floats:
        """The memory of a new stream."""
        return history.empty(self.plan, self.memory_size)

    @property
    def seen_by_learners(self) -> Encoder | Network:
        """The features of learners: a network if that was given, else the encoder."""
        return self.given if isinstance(self.given, Network) else self.encoder

    def copied(self) -> Front:
        """A copy with its own state, which encoding changes; the layout, which never changes, is shared."""
        front = object.__new__(Front)
        vars(front).update(vars(self))
        front.signals, front.moments = self.signals.copy(), self.moments.copy()
        if self.values:
            front.values = {name: list(known) for name, known in self.values.items()}
        return front

    def read(self, rows: Batch) -> Floats:
        """The readings [row, column]; ValueError if they cannot be encoded, before any state changes."""
        if len(rows) == 1:
            columns = rows.columns if rows.complete else {n: rows.numbers(n, "features") for n in self.columns}
            one = [columns[name].item() for name in self.columns]
            raw, good = np.array([one], dtype=np.float64), _moderate(one, rows.complete)
        else:
            raw = np.empty((len(rows), len(self.columns)))
            for c, name in enumerate(self.columns):
                raw[:, c] = rows.numbers(name, "features")
            good = bool(np.abs(raw).max(initial=0.0) < LARGEST)
        if not good:  # also if one is NaN
            bad = np.abs(raw) >= LARGEST
            if self.missing == "raise":
                bad |= np.isnan(raw) & self.needed
            if bad.any():
                i, c = (int(k) for k in np.argwhere(bad)[0])
                _refuse(self.columns[c], rows.first + i, raw[i, c])
        for term in self.sparse:
            if isinstance(term, Category):
                column = rows.require(term.column, "features")
                if self.missing == "raise":
                    lost = np.array([v is None for v in column]) if column.dtype == object else np.isnan(column)
                    if lost.any():
                        _refuse(term.column, rows.first + int(np.argmax(lost)), np.nan)
        return raw

    def read_times(self, rows: Batch) -> Floats:
        """The times [row, column of times]."""
        if not self.times:
            return np.empty((len(rows), 0))
        if len(self.times) == 1:
            t = rows.numbers(self.times[0], "features").reshape(-1, 1)
        else:
            t = np.empty((len(rows), len(self.times)))
            for c, name in enumerate(self.times):
                t[:, c] = rows.numbers(name, "features")
        if t.size and np.isnan(t).any():
            i, c = (int(k) for k in np.argwhere(np.isnan(t))[0])
            refuse_missing(self.times[c], rows.first + i)
        return t

    def refuse_empty(self, rows: Batch) -> None:
        """Validate that no column is empty."""
        for name in [*self.columns, *self.values]:
            column = rows.require(name, "features")
            if all(v is None for v in column) if column.dtype == object else bool(np.isnan(column).all()):
                raise ValueError(f"column {name!r} has no value in {len(rows)} rows; leave the column out")

    def encode(
        self, rows: Batch, raw: Floats, fresh: Bools, stream: Ints, memory: Floats
    ) -> tuple[Array, list[Alarm]]:  # fmt: skip
        """Update the state and the memories; return observations for learners [row, …] and the anomalies.

        `memory` [stream, …] holds the memories of the streams, and `stream` is each row's stream. Readings far outside
        their range count as missing, and become NaN in `raw`, unless the features are an encoder of the user's own.
        """
        n, plan = len(rows), self.plan
        out, z = (
            np.empty((n, plan.kind.size + len(plan.cosines))),
            np.empty((n, len(self.signals) if self.tiles_at else 0)),
        )
        events = np.empty((n * plan.checked, 3), dtype=np.int64)  # at most one for each reading
        run = history.run if n > 1 else history.run_row
        found = run(
            plan, raw, self.read_times(rows), fresh, stream, memory, self.signals, self.moments, out, z, self.flags,
            events,
        )  # fmt: skip
        said = events[:found].tolist() if found else ()
        alarms = [Alarm(rows.first + t, self.columns[c], EVENTS[k]) for t, c, k in said]
        if isinstance(self.features, Encoder):
            return self._encoded(raw[:, self.seen_at]), alarms
        if not self.sparse:
            return out, alarms
        return self._joined(out, [self._sparse(term, rows, z) for term in self.sparse]), alarms

    def _sparse(self, term: Any, rows: Batch, z: Floats) -> tuple[int, Ints, Floats]:
        """Size, indices and values of a category or of tiles."""
        if isinstance(term, Tiles):
            index = term.indices(z[:, self.tiles_at[term]])
            return term.size, index, np.ones(index.shape)
        known, given = self.values[term.column], rows.columns[term.column]
        index, value = np.zeros((len(rows), 1), dtype=np.int64), np.ones((len(rows), 1))
        at = {v: k for k, v in enumerate(known)}
        for t, v in enumerate(given.tolist()):
            if v is None or v != v:
                value[t] = 0.0
                continue
            if v not in at and term.values is None and len(known) < term.most:
                at[v] = len(known)
                known.append(v)
            index[t] = at.get(v, term.size - 1)
        return term.size, index, value

    def _joined(self, X: Floats, sparse: list[tuple[int, Ints, Floats]]) -> Array:
        if self.dense:
            blocks = [X]
            for size, index, value in sparse:
                block = np.zeros((len(X), size))
                np.add.at(block, (np.arange(len(X))[:, None], index), value)
                blocks.append(block)
            return plain(np.column_stack(blocks) if len(blocks) > 1 else X, np.float64)
        indices, values, begin = [np.tile(np.arange(float(X.shape[1])), (len(X), 1))], [X], X.shape[1]
        for size, index, value in sparse:
            indices.append(begin + index)
            values.append(value)
            begin += size
        return plain(np.column_stack([*indices, *values]), np.float64)

    def _encoded(self, obs: Floats) -> Array:
        """Observations for a user's own encoder, encoded once."""
        f = self.features
        assert isinstance(f, Encoder)
        if np.isnan(obs.sum()):
            for i, c in zip(*np.nonzero(np.isnan(obs)), strict=True):  # a missing reading repeats the last one
                obs[i, c] = obs[i - 1, c] if i else self.held[c]
        self.held = obs[-1].copy()
        if isinstance(f, OneHot):
            return plain(f.encode_batch(obs[:, 0].astype(np.int64))[0][:, 0], np.int64)
        if isinstance(f, Dense):
            return plain(obs, np.float64)
        return plain(np.column_stack(f.encode_batch(obs)), np.float64)

    def scale(self) -> Floats:
        """The standard deviation of each feature that comes from a signal; 1 for the others."""
        size = np.ones(len(self.names))
        signal = self.plan.signal
        if self.as_is:
            size[: signal.size] = np.where(signal < 0, 1.0, np.sqrt(self.signals[signal, running.SQUARE]))
        if "constant" in self.names:
            size[self.names.index("constant")] = 0.0
        return size

    # ---- storage ----------------------------------------------------------------------------------------------

    def arrays(self) -> dict[str, Array]:
        """The state as arrays, without the categories."""
        return {"signals": self.signals, "moments": self.moments, "held": self.held}

    def restore(self, arrays: dict[str, Array], values: list[list[Any]]) -> None:
        """Restore the state from such arrays and the known categories."""
        for name, own in self.arrays().items():
            given = arrays[name]
            if given.shape != own.shape or given.dtype != own.dtype:
                raise ValueError(f"its array {name!r} does not match the features")
        self.signals, self.moments, self.held = arrays["signals"], arrays["moments"], arrays["held"]
        self.values = {name: list(known) for name, known in zip(self.values, values, strict=True)}

    def require_memory(self, memory: Floats) -> None:
        """Validate the memory of a stream from a file."""
        if memory.shape != (self.memory_size,) or memory.dtype != np.float64:
            raise ValueError("its array 'memory' does not match the features")
        plan = self.plan
        counts = [
            memory[:3],
            *(memory[a : a + 2] for a, t in zip(plan.season_at, plan.season_time, strict=True) if t < 0),
        ]
        for some in counts:
            if not ((some >= 0) & (some < 2**53) & (some == np.floor(some))).all():
                raise ValueError("its position in the history of readings is out of range")
        lengths = [memory[a] for a, t in zip(plan.season_at, plan.season_time, strict=True) if t < 0]
        if not (memory[0] < plan.depth and memory[1] <= plan.depth and all(p <= history.RING for p in lengths)):
            raise ValueError("its position in the history of readings is out of range")


def _moderate(values: list[float], complete: bool) -> bool:
    """Whether all values are numbers below the bound; `complete` if they are known to be numbers."""
    if complete:
        return min(values, default=0.0) > -LARGEST and max(values, default=0.0) < LARGEST
    return all(-LARGEST < v < LARGEST for v in values)


def refuse_missing(name: Name, row: int) -> None:
    """Raise ValueError that says where a value is missing, and what can be done."""
    raise ValueError(
        f'column {name!r}, row {row}: the value is missing; use missing="hold" to repeat the last one or '
        'missing="mask" to use the mean, or drop such rows'
    )


def _refuse(name: Name, row: int, value: float) -> None:
    if np.isnan(value):
        refuse_missing(name, row)
    raise ValueError(f"column {name!r}, row {row}: the absolute value must be finite and below 1e150; got {value}")

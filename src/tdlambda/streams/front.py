"""Encoding of rows, once for all questions, with checks of each sensor."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tdlambda.arrays import Bools, Floats, Ints, plain
from tdlambda.features import (
    Category,
    Columns,
    Cycle,
    Dense,
    Difference,
    Encoded,
    Encoder,
    Lag,
    Number,
    OneHot,
    Tiles,
    running,
)
from tdlambda.features.columns import Name
from tdlambda.learners.base import Array
from tdlambda.streams.batch import LARGEST, Batch

FEW = 64
"""Up to this many features, categories and tiles are encoded as dense vectors."""
_WORDS = {
    "outlier": "a reading far outside its range",
    "stuck": f"the same value {running.STUCK_FOR} times",
    "change": "its level or unit has changed; its scale is estimated again",
    "diverged": "the learner diverged and has stopped learning",
    "variance": "the learner of the variance diverged and has stopped learning; the interval is unbounded",
}


@dataclass(frozen=True)
class Alarm:
    """An anomaly: its row, its column or question, and its kind."""

    row: int
    name: Name
    kind: str

    def __str__(self) -> str:
        """The anomaly as a phrase, with its row and name."""
        return f"row {self.row:,}, {self.name}: {_WORDS[self.kind]}"


class Front:
    """The encoder of a Horde, shared by all questions, with its state: last readings, means, categories.

    With `as_is`, numbers of `Columns` are passed unscaled, to learners that scale their inputs themselves.
    """

    def __init__(
        self, features: Columns | Encoder, observed: list[Name], watched: list[Name], missing: str, as_is: bool
    ) -> None:
        self.features, self.observed, self.missing = features, observed, missing
        self.terms = features.terms if isinstance(features, Columns) else ()
        read = [name for term in self.terms for name in term.columns]
        watched = list(dict.fromkeys([*read, *watched]))
        self.columns: list[Name] = list(dict.fromkeys([*watched, *observed]))
        self.needed = np.array([name in read or name in observed for name in self.columns], dtype=bool)
        self.seen_at = [self.columns.index(name) for name in observed]
        place = {name: i for i, name in enumerate(self.columns)}
        self.signals: list[tuple[int, int]] = [(i, 0) for i in range(len(watched))]
        of, lags, self.names = [], [0] * 0, [""] * 0
        for term in self.terms:
            if isinstance(term, Number | Lag | Difference):
                for step in (0,) if isinstance(term, Number) else term.steps:
                    own = (place[term.column], step if isinstance(term, Difference) else 0)
                    if own not in self.signals:
                        self.signals.append(own)
                    of.append(self.signals.index(own))
                    lags.append(step if isinstance(term, Lag) else 0)
                self.names += term.names
        self.feature_of, self.lag_of = np.array(of, dtype=np.int64), np.array(lags, dtype=np.int64)
        self.column_of, self.apart = (np.array(part, dtype=np.int64) for part in _transposed(self.signals))
        depth = 1 + max([0, *lags, *(apart for _, apart in self.signals)])
        self.history, self.place = np.zeros((depth, len(self.columns))), np.zeros(2, dtype=np.int64)
        self.state = np.zeros((len(self.signals), running.ROWS))
        self.state[:, running.SAID] = running.SILENCE
        self.values: dict[Name, list[Any]] = {
            term.column: list(term.values or ()) for term in self.terms if isinstance(term, Category)
        }
        self.held = np.zeros(len(observed))
        self._layout(as_is)

    def _layout(self, as_is: bool) -> None:
        """Set the layout of the features and the encoder that learners see."""
        f = self.features
        if isinstance(f, Encoder):
            self.encoder: Encoder = f if type(f) in (Dense, OneHot) else Encoded(f.size, f.active)
            self.names = [f"feature {k}" for k in range(f.size)]
            self.dense = self.as_is = False
            return
        if f.size == 0:
            raise ValueError("features must not be empty; give Columns at least one term")
        cycles = [term for term in self.terms if isinstance(term, Cycle)]
        self.names += [name for term in cycles for name in term.names] + ["constant"] * f.constant
        sparse = [term for term in self.terms if isinstance(term, Category | Tiles)]
        self.names += [name for term in sparse for name in term.names]
        self.dense = not sparse or f.size <= FEW
        active = f.size - sum(term.size for term in sparse)
        active += sum(term.tilings if isinstance(term, Tiles) else 1 for term in sparse)
        self.encoder = Dense(f.size) if self.dense else Encoded(f.size, active)
        self.as_is = as_is and self.dense

    # ---- encoding ---------------------------------------------------------------------------------------------

    def copied(self) -> Front:
        """A copy with its own state, which encoding changes; the layout, which never changes, is shared."""
        front = object.__new__(Front)
        vars(front).update(vars(self))
        front.history, front.place, front.state = self.history.copy(), self.place.copy(), self.state.copy()
        front.values = {name: list(known) for name, known in self.values.items()}
        return front

    def read(self, rows: Batch) -> Floats:
        """The readings [row, column]; ValueError if they cannot be encoded, before any state changes."""
        raw = np.empty((len(rows), len(self.columns)))
        for c, name in enumerate(self.columns):
            raw[:, c] = rows.numbers(name, "features")
        if not np.abs(raw).max(initial=0.0) < LARGEST:  # also true if one is NaN
            bad = np.abs(raw) >= LARGEST
            if self.missing == "raise":
                bad |= np.isnan(raw) & self.needed
            if bad.any():
                i, c = (int(k) for k in np.argwhere(bad)[0])
                _refuse(self.columns[c], rows.first + i, raw[i, c])
        for term in self.terms:
            if isinstance(term, Category | Cycle) and term.column is not None:
                column = rows.require(term.column, "features")
                lost = np.array([v is None for v in column]) if column.dtype == object else np.isnan(column)
                if lost.any() and (self.missing == "raise" or isinstance(term, Cycle)):
                    _refuse(term.column, rows.first + int(np.argmax(lost)), np.nan)
                if isinstance(term, Cycle):
                    rows.numbers(term.column, "features")
        return raw

    def refuse_empty(self, rows: Batch) -> None:
        """Validate that no column is empty."""
        categories = [term.column for term in self.terms if isinstance(term, Category)]
        for name in [*self.columns, *categories]:
            column = rows.require(name, "features")
            if all(v is None for v in column) if column.dtype == object else bool(np.isnan(column).all()):
                raise ValueError(f"column {name!r} has no value in {len(rows)} rows; leave the column out")

    def encode(self, rows: Batch, raw: Floats, fresh: Bools) -> tuple[Array, list[Alarm]]:
        """Update the state; return observations for learners [row, …] and the anomalies."""
        n = len(rows)
        tiled = any(isinstance(term, Tiles) for term in self.terms)
        out, z = np.empty((n, self.feature_of.size)), np.empty((n, len(self.signals) if tiled else 0))
        events = np.empty((n * len(self.signals), 3), dtype=np.int64)  # at most one for each reading
        window = self.features.window if isinstance(self.features, Columns) else 2000.0
        found = running.run(
            raw, fresh, self.history, self.place, self.state, self.column_of, self.apart, self.feature_of, self.lag_of,
            out, z, window, self.as_is, self.missing != "mask", events,
        )  # fmt: skip
        alarms = [Alarm(rows.first + int(t), self.columns[s], running.EVENTS[k]) for t, s, k in events[:found]]
        if isinstance(self.features, Encoder):
            return self._encoded(raw[:, self.seen_at]), alarms
        parts = [out, *(term.values(self._times(term, rows)) for term in self.terms if isinstance(term, Cycle))]
        X = np.column_stack([*parts, np.ones((n, int(self.features.constant)))])
        sparse = [self._sparse(term, rows, z) for term in self.terms if isinstance(term, Category | Tiles)]
        return self._joined(X, sparse), alarms

    def _times(self, term: Cycle, rows: Batch) -> Array:
        return np.arange(rows.first, rows.first + len(rows)) if term.column is None else rows.columns[term.column]

    def _sparse(self, term: Any, rows: Batch, z: Floats) -> tuple[int, Ints, Floats]:
        """Size, indices and values of a category or of tiles."""
        if isinstance(term, Tiles):
            index = term.indices(z[:, [self.columns.index(name) for name in term.of]])
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
        if self.as_is:
            size[: self.feature_of.size] = np.sqrt(self.state[self.feature_of, running.SQUARE])
        if "constant" in self.names:
            size[self.names.index("constant")] = 0.0
        return size

    # ---- storage ----------------------------------------------------------------------------------------------

    def arrays(self) -> dict[str, Array]:
        """The state as arrays, without the categories."""
        return {"history": self.history, "place": self.place, "signals": self.state, "held": self.held}

    def restore(self, arrays: dict[str, Array], values: list[list[Any]]) -> None:
        """Restore the state from such arrays and the known categories."""
        for name, own in self.arrays().items():
            given = arrays[name]
            if given.shape != own.shape or given.dtype != own.dtype:
                raise ValueError(f"its array {name!r} does not match the features")
        self.history, self.place, self.state = arrays["history"], arrays["place"], arrays["signals"]
        self.held = arrays["held"]
        if not (0 <= self.place[0] < len(self.history) and 0 <= self.place[1] <= len(self.history)):
            raise ValueError("its position in the history of readings is out of range")
        self.values = {name: list(known) for name, known in zip(self.values, values, strict=True)}


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


def _transposed(pairs: list[tuple[int, int]]) -> tuple[list[int], list[int]]:
    return [a for a, _ in pairs], [b for _, b in pairs]

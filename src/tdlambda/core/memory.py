"""The memory of a compiled model: the only place that knows how rows, numbers and live features are laid out.

Layout      names -> places, for one learner of a model
Memory      the arrays of one learner: views and numbers by name, episodes, saving, copies

`core.lane_memory` has the arrays of many learners on one stream, `core.lazy_memory` those of the lazy schedule.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple, Self

import numpy as np

from tdlambda.arrays import Array, Floats, Ints, clipped
from tdlambda.core.model import Model
from tdlambda.core.names import words
from tdlambda.core.records import named
from tdlambda.core.runtime import DENSE_SIZE, LARGEST
from tdlambda.core.schedules import one

VISITS = "visits"
"""The row that counts the visits of each feature, if step sizes depend on them."""
_MAXIMA = ("most_reward", "most_gamma", "most_rho")
_COUNTERS = ("steps", "under_way", "n_live", "diverged_at", "since", "length", "longest")


def padded(size: int) -> int:
    """The length of a row in memory.

    Short rows are padded to whole vectors of four, long ones so that their addresses do not differ by a multiple of
    4096 bytes, which would cause cache-set conflicts.
    """
    return size + (-size % 4 if size <= DENSE_SIZE else (64 - size) % 512)


@dataclass(frozen=True)
class Layout:
    """The names and places of a learner's rows and numbers."""

    rows: tuple[str, ...]
    """Rows over the features."""
    size: int
    """Number of features."""
    record: np.dtype[Any]
    """Names and types of the numbers."""
    traces: tuple[str, ...]
    """Rows that are 0 at the start of an episode."""
    fading: tuple[str, ...]
    """Rows over the features whose nonzero entries keep a feature live."""
    changing: frozenset[str]
    """Numbers that learning changes."""
    within_episode: tuple[str, ...] = ()
    """Numbers that belong to the current episode."""
    lists_live: bool = False
    """Whether the features with nonzero traces are listed."""
    rule_rows: tuple[str, ...] = ()
    """Rows of the rule for λ."""
    rule_size: int = 0
    """Number of features of the rule."""
    dtype: str = "float64"


@cache
def layout_of(model: Model, size: int, rule_size: int, dtype: str) -> Layout:
    """The layout of one learner of a model."""
    a, rule = model.algorithm, model.rule
    record, lasting = one.state_type(model), one.lasting(a)
    traces = [f"{k}_{row}" for k in model.estimates for row in words(a.trace_rows)]
    fading = [f"{k}_{row}" for k in model.estimates for row in [*words(a.trace_rows), *lasting]]
    return Layout(
        rows=(*model.rows, *([VISITS] if model.sizes_by == "visits" else [])),
        size=size,
        record=record,
        traces=(*traces, *(words(rule.trace_rows) if rule is not None else [])),
        fading=tuple(fading),
        changing=frozenset([*_MAXIMA, "td_error", "last_lam", *model.kept, *_COUNTERS]),
        within_episode=(*(name for name in model.kept if name not in model.held), "under_way", "length"),
        lists_live=size > DENSE_SIZE or one.always_sparse(model),
        rule_rows=tuple(model.rule_rows),
        rule_size=rule_size,
        dtype=dtype,
    )


class Episode(NamedTuple):
    """A copy of the traces and numbers that belong to one episode."""

    rows: dict[str, Array]
    numbers: dict[str, float]


class Memory:
    """The arrays of one learner.

    Parameters
    ----------
    layout
        Names and places.
    numbers
        Initial values of numbers, by name; the others are 0.
    rows
        Initial values of rows, by name: one number, or one for each feature; the others are 0.

    Examples
    --------
    >>> import tdlambda as td
    >>> memory = td.TD(td.features.OneHot(3), alpha=0.5, initial=2.0).memory
    >>> memory["alpha"], memory.row("V_w")
    (0.5, array([2., 2., 2.]))
    """

    def __init__(self, layout: Layout, numbers: Mapping[str, float], rows: Mapping[str, Any]) -> None:
        self.layout, width = layout, padded(layout.size)
        self.rows: Array = np.zeros((len(layout.rows), width), dtype=layout.dtype)
        self.rule_rows: Floats = np.zeros((len(layout.rule_rows), layout.rule_size))
        self.live: Ints = np.zeros((2, width if layout.lists_live else 0), dtype=np.int64)
        self.record: Array = np.zeros(1, named(layout.record))
        for name, start in rows.items():
            if np.ndim(start):
                self.row(name)[:] = start
            else:
                self.rows[layout.rows.index(name)] = start
        for name, value in numbers.items():
            self.record[name] = value

    @property
    def all_arrays(self) -> tuple[Array, Array, Floats, Ints]:
        """The arrays that `learn` of a generated module works on."""
        return self.record, self.rows, self.rule_rows, self.live

    @property
    def arrays(self) -> tuple[Array, ...]:
        """The arrays that entry points take: only those in use, because each costs 60 ns per call."""
        more = ([self.rule_rows] if self.layout.rule_rows else []) + ([self.live] if self.layout.lists_live else [])
        return (self.record, self.rows, *more)

    # ---- by name ---------------------------------------------------------------------------------------------

    def __getitem__(self, name: str) -> Any:
        """A number."""
        return self.record[name][0].item()

    def __setitem__(self, name: str, value: float) -> None:
        """Set a number."""
        self.record[name] = value

    def __contains__(self, name: object) -> bool:
        """Whether there is a number of this name."""
        return name in (self.layout.record.names or ())

    def numbers(self) -> dict[str, float]:
        """All numbers."""
        return {name: float(self.record[name][0]) for name in self.layout.record.names or ()}

    def row(self, name: str) -> Array:
        """The entries of a row, as a view that can be changed."""
        layout = self.layout
        if name in layout.rule_rows:
            return self.rule_rows[layout.rule_rows.index(name)]
        if name in layout.rows:
            return self.rows[layout.rows.index(name), : layout.size]
        raise KeyError(f"unknown row {name!r}; rows are {', '.join([*layout.rows, *layout.rule_rows])}")

    # ---- episodes --------------------------------------------------------------------------------------------

    def reset(self) -> None:
        """Forget the episode: set the traces to 0."""
        for name in self.layout.traces:
            self.row(name)[:] = 0.0
        self["under_way"] = 0
        self.list_live()

    def list_live(self, live: Ints | None = None) -> None:
        """Make these the live features; by default those with a nonzero entry in a fading row."""
        if not self.layout.lists_live:
            return
        if live is None:
            nonzero = np.zeros(self.layout.size, dtype=bool)
            for name in self.layout.fading:
                nonzero |= self.row(name) != 0
            live = np.flatnonzero(nonzero)
        self.live[:] = 0
        self.live[0, : live.size], self.live[1, live] = live, 1
        self["n_live"] = live.size

    def live_features(self) -> Ints:
        """Indices of the live features, if they are listed."""
        return self.live[0, : self["n_live"]] if self.layout.lists_live else self.live[0]

    def episode(self) -> Episode:
        """A copy of what belongs to the current episode."""
        rows = {name: self.row(name).copy() for name in self.layout.traces}
        return Episode(rows, {name: self[name] for name in self.layout.within_episode})

    def resume(self, episode: Episode) -> None:
        """Go on with an episode."""
        for name, row in episode.rows.items():
            self.row(name)[:] = row
        for name, value in episode.numbers.items():
            self[name] = value
        self.list_live()

    def clip(self) -> None:
        """Make everything finite after divergence, and the weights so small that no prediction overflows."""
        for array in (self.rows, self.rule_rows):
            array[:] = clipped(array, LARGEST[self.layout.dtype])
        for name in self.layout.changing:
            if self.layout.record[name].kind == "f":
                self.record[name] = np.nan_to_num(self.record[name], nan=0.0)

    # ---- saving ----------------------------------------------------------------------------------------------

    def state_dict(self) -> dict[str, Array]:
        """The arrays that hold everything learned; rows are not copied."""
        numbers, counts = (self._numbers_of(kind) for kind in "fi")
        return {"rows": self.rows, "own": self.rule_rows, "live": self.live, "numbers": numbers, "counts": counts}

    def _numbers_of(self, kind: str) -> Array:
        names = self._names_of(kind)
        return np.array([self.record[name][0] for name in names], dtype=np.float64 if kind == "f" else np.int64)

    def _names_of(self, kind: str) -> list[str]:
        record = self.layout.record
        return [name for name in record.names or () if record[name].kind == kind]

    def load(self, state: Mapping[str, Array]) -> None:
        """Copy a state of `state_dict`; if it does not fit, raise ValueError and change nothing."""
        present = self.state_dict()
        for name, array in present.items():
            given = state.get(name)
            if given is None or given.shape != array.shape or given.dtype != array.dtype:
                raise ValueError(f"state {name!r} does not fit this learner")
        if set(state) != set(present):
            raise ValueError(f"state has unknown parts {sorted(set(state) - set(present))}")
        new = self.record.copy()
        for kind, part in (("f", "numbers"), ("i", "counts")):
            for name, value in zip(self._names_of(kind), state[part], strict=True):
                new[name] = value
        self._check(new[0], state)
        self.rows[:], self.rule_rows[:], self.live[:], self.record[:] = state["rows"], state["own"], state["live"], new

    def _check(self, new: Any, state: Mapping[str, Array]) -> None:
        """Validate a state: its constants must be this learner's, its counts and indices within the arrays."""
        layout, known = self.layout, self.layout.record.names or ()
        for name in known:
            if name not in layout.changing and new[name] != self.record[name][0]:
                present = self.record[name][0]
                raise ValueError(f"state does not fit this learner: {name} must be {present}; got {new[name]}")
        _check_live(state["live"], int(new["n_live"]))
        counters = [name for name in _COUNTERS if name in known and name != "diverged_at"]
        maxima = [name for name in _MAXIMA if name in known]
        if (
            any(new[name] < 0 for name in counters)
            or not all(new[name] >= 0 for name in maxima)
            or ("most_gamma" in maxima and new["most_gamma"] > 1)
            or (VISITS in layout.rows and not (state["rows"][layout.rows.index(VISITS)] >= 0).all())
        ):
            raise ValueError("state: a counter is negative, or a recorded maximum is out of range")

    def copy(self) -> Self:
        """An independent copy."""
        other = object.__new__(type(self))
        vars(other).update({k: v.copy() if isinstance(v, np.ndarray) else v for k, v in vars(self).items()})
        return other


def _check_live(live: Ints, n: int) -> None:
    """Validate a list of live features against its marks."""
    order, listed = live
    inside = 0 <= n <= listed.size and bool(((order[:n] >= 0) & (order[:n] < listed.size)).all())
    marks = np.zeros(listed.size, dtype=np.int64)
    if inside:
        marks[order[:n]] = 1
    if not inside or marks.sum() != n or not np.array_equal(marks, listed):
        raise ValueError("state: the list of live features is not consistent")


def under(prefix: str, named: Mapping[str, Any]) -> dict[str, Any]:
    """The entries whose names begin with the prefix, by the rest of their names."""
    return {name.removeprefix(prefix): value for name, value in named.items() if name.startswith(prefix)}


def with_prefix(prefix: str, named: Mapping[str, Any]) -> dict[str, Any]:
    """The entries with the prefix before their names."""
    return {f"{prefix}{name}": value for name, value in named.items()}

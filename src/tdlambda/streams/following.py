"""Which rows follow each other: streams, gaps in time, ends of episodes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tdlambda.arrays import Bools, Ints
from tdlambda.features.terms import Name
from tdlambda.streams.batch import Batch

FAR = 3.0
"""A distance in time of more than FAR times the usual one is counted as a gap."""


@dataclass
class Following:
    """Rules that decide whether a row follows the previous one of its stream: see `Horde`."""

    by: Name | None = None
    time: Name | None = None
    gap: float | None = None
    terminated: Name | None = None
    usual: float | None = None
    """The usual time between rows."""

    def check(self, rows: Batch) -> None:
        """Validate that the columns exist."""
        for what in ("by", "time", "terminated"):
            if (name := getattr(self, what)) is not None:
                rows.require(name, what)

    def every(self, rows: Batch) -> float | None:
        """The median time between rows of a stream, in seconds, if there are dates."""
        if self.time is None or self.time not in rows.times:
            return None
        prev = before(self.streams(rows))
        to = np.flatnonzero(prev >= 0)
        apart = rows.columns[self.time][to] - rows.columns[self.time][prev[to]]
        apart = apart[apart > 0]
        return float(np.median(apart)) if apart.size else None

    def streams(self, rows: Batch) -> list[Any]:
        """The stream of each row: the value of the column `by`; None without one."""
        if self.by is None:
            return [None] * len(rows)
        found: list[Any] = rows.require(self.by, "by").tolist()
        return [None if key is None or key != key else key for key in found]

    def fill_times(self, rows: Batch, last: float | None) -> int:
        """Replace missing times by the time before them; return their number."""
        if self.time is None:
            return 0
        t = rows.numbers(self.time, "time")
        lost = np.isnan(t)
        if not lost.any():
            return 0
        if lost.all() and last is None:
            raise ValueError(f"time: column {self.time!r} has no value in {len(rows)} rows; choose another column")
        index = np.maximum.accumulate(np.where(lost, -1, np.arange(len(t))))
        first = float(t[~lost][0]) if last is None else last
        rows.columns[self.time] = np.where(index >= 0, t[np.maximum(index, 0)], first)
        return int(lost.sum())

    def step(self, last: Batch, row: Batch) -> tuple[bool, int, int] | None:
        """Whether a single row is cut from the last one, and the numbers of gaps and repeated times, as `breaks` finds.

        None if times must be filled or refused, or if other columns decide.
        """
        if self.by is not None or self.terminated is not None:
            return None
        if self.time is None:
            return False, 0, 0
        apart = row.numbers(self.time, "time").item() - last.numbers(self.time, "time").item()
        if not apart >= 0:
            return None
        far = self.usual is not None and apart > FAR * self.usual
        return self.gap is not None and apart > self.gap, int(far), int(apart == 0)

    def breaks(self, rows: Batch, prev: Ints, known: int) -> tuple[Bools, Bools, tuple[int, int]]:
        """Which rows do not follow row `prev` of their stream (-1: none), and which end an episode.

        The first `known` rows were seen before. Also returns the numbers of gaps and of repeated times.
        """
        fresh, ended = prev < 0, np.zeros(len(rows), dtype=bool)
        to = np.flatnonzero(~fresh)
        at = prev[to]
        gaps = same = 0
        if self.terminated is not None:
            flags = rows.numbers(self.terminated, "terminated")
            bad = ~((flags == 0) | (flags == 1))
            if bad.any():
                i = int(np.argmax(bad))
                raise ValueError(f"terminated must be true or false; got {flags[i]} (row {rows.first + i})")
            ended = flags == 1
            fresh[to] |= ended[at]
        if self.time is not None:
            t = rows.numbers(self.time, "time")
            apart = t[to] - t[at]
            back = (apart < 0) & ~fresh[to] & (to >= known)
            if back.any():
                k = int(np.argmax(back))
                raise ValueError(
                    f"time: column {self.time!r} goes backwards at row {rows.first + int(to[k])}, "
                    f"from {_moment(rows, self.time, int(at[k]))} to {_moment(rows, self.time, int(to[k]))}; "
                    "sort the rows, or name the column that identifies the stream with by="
                )
            new = to >= known
            same = int(((apart == 0) & new).sum())
            if self.usual is not None:
                gaps = int(((apart > FAR * self.usual) & new).sum())
            if self.gap is not None:
                fresh[to] |= apart > self.gap
        return fresh, ended, (gaps, same)


def before(streams: list[Any]) -> Ints:
    """For each row, the index of the row before it in its stream; -1 for the first."""
    if streams and streams[0] is None and all(key is None for key in streams):
        return np.arange(-1, len(streams) - 1)
    last: dict[Any, int] = {}
    found = np.empty(len(streams), dtype=np.int64)
    for i, key in enumerate(streams):
        found[i] = last.get(key, -1)
        last[key] = i
    return found


def _moment(rows: Batch, name: Name, i: int) -> str:
    value = rows.columns[name][i]
    return str(np.datetime64(round(value * 1e6), "us")) if name in rows.times else f"{value:g}"

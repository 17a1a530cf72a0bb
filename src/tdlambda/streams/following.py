"""Which rows are consecutive: groups, gaps in time, ends of episodes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tdlambda.arrays import Bools
from tdlambda.features.columns import Name
from tdlambda.streams.batch import Batch
from tdlambda.streams.front import refuse_missing


@dataclass
class Following:
    """Rules that decide whether a row follows the previous one: see `Horde`."""

    by: Name | None = None
    time: Name | None = None
    gap: float | None = None
    terminated: Name | None = None

    def check(self, rows: Batch) -> None:
        """Validate that the columns exist."""
        for what in ("by", "time", "terminated"):
            if (name := getattr(self, what)) is not None:
                rows.require(name, what)

    def every(self, rows: Batch) -> float | None:
        """The median time between rows, in seconds, if there are dates."""
        if self.time is None or self.time not in rows.times:
            return None
        apart = np.diff(rows.columns[self.time])
        apart = apart[apart > 0]
        return float(np.median(apart)) if apart.size else None

    def breaks(self, rows: Batch) -> tuple[Bools, Bools]:
        """Which rows do not follow the previous one, and which rows end an episode."""
        fresh, ended = np.zeros((2, len(rows)), dtype=bool)
        fresh[0] = True
        if self.by is not None:
            group = rows.require(self.by, "by")
            fresh[1:] |= group[1:] != group[:-1]
        if self.terminated is not None:
            flags = rows.numbers(self.terminated, "terminated")
            bad = ~((flags == 0) | (flags == 1))
            if bad.any():
                i = int(np.argmax(bad))
                raise ValueError(f"terminated must be true or false; got {flags[i]} (row {rows.first + i})")
            ended = flags == 1
            fresh[1:] |= ended[:-1]
        if self.time is not None:
            t = rows.numbers(self.time, "time")
            if np.isnan(t).any():
                refuse_missing(self.time, rows.first + int(np.argmax(np.isnan(t))))
            apart = np.diff(t)
            back = (apart < 0) & ~fresh[1:]
            if back.any():
                i = int(np.argmax(back))
                raise ValueError(
                    f"time: column {self.time!r} goes backwards at row {rows.first + i + 1}, "
                    f"from {_moment(rows, self.time, i)} to {_moment(rows, self.time, i + 1)}; "
                    "sort the rows, or name the column that identifies the stream with by="
                )
            if self.gap is not None:
                fresh[1:] |= apart > self.gap
        return fresh, ended


class Groups:
    """A check that the rows of each group are contiguous within one call."""

    def __init__(self, by: Name | None) -> None:
        self.by = by
        self.seen: set[Any] = set()
        self.last: Any = None

    def check(self, batch: Batch) -> None:
        """Raise ValueError if a group reappears."""
        if self.by is None:
            return
        group = batch.require(self.by, "by")
        starts = np.flatnonzero(np.append(True, group[1:] != group[:-1]))
        for i in starts:
            if i == 0 and self.seen and group[0] == self.last:
                continue
            if group[i] in self.seen:
                back = group[i : i + 1].tolist()[0]
                raise ValueError(
                    f"by: {back!r} reappears at row {batch.first + int(i)}; the rows of a stream must be contiguous: "
                    f"sort by {self.by!r} first, then by time"
                )
            self.seen.add(group[i])
        self.last = group[-1]


def _moment(rows: Batch, name: Name, i: int) -> str:
    value = rows.columns[name][i]
    return str(np.datetime64(round(value * 1e6), "us")) if name in rows.times else f"{value:g}"

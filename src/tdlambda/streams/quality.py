"""What was missing, unreadable or repeated in the rows of a stream."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tdlambda.features.terms import Name
from tdlambda.showing import visible
from tdlambda.streams.batch import Batch

SHOWN = 3
"""Number of columns that are named."""


@dataclass(slots=True)
class Quality:
    """Counts of what was wrong with the rows so far; printed as one line."""

    rows: int = 0
    missing: dict[Name, int] = field(default_factory=dict)
    """Cells without a value, by column, including the unreadable ones."""
    unreadable: dict[Name, int] = field(default_factory=dict)
    """Cells that are not what their column holds, such as a word among numbers; they count as missing."""
    examples: dict[Name, str] = field(default_factory=dict)
    gaps: int = 0
    """Steps of more than three times the usual time between rows."""
    repeated: int = 0
    """Rows with the time of the row before."""
    far: int = 0
    """Readings far outside their range, which are not learned from."""
    undated: dict[Name, str] = field(default_factory=dict)
    """Columns taken as text that may hold dates in a form that is not recognised, with a cell of each."""

    def after(
        self, batch: Batch, gaps: int = 0, repeated: int = 0, times: dict[Name, int] | None = None, far: int = 0
    ) -> Quality:
        """The counts including these rows; `times` are missing times, which have been filled."""
        missing, bad, examples = self.missing, self.unreadable, self.examples
        lost = dict(times or {})
        for name, column in () if batch.complete else batch.columns.items():
            if column.size == 1:
                if (value := column.item()) == value and value is not None:
                    continue
                n = int(value is None or column.dtype != object)
            elif column.dtype == object:
                n = sum(value is None for value in column.tolist())
            else:
                n = int(np.isnan(column).sum())
            if n:
                lost[name] = lost.get(name, 0) + n
        if lost:
            missing = _added(batch, missing, lost)
        if batch.unreadable:
            bad = _added(batch, bad, {name: rows.size for name, rows in batch.unreadable.items()})
            examples = {name: examples.get(name, batch.examples.get(name, "")) for name in bad}
        return Quality(
            self.rows + len(batch), missing, bad, examples, self.gaps + gaps, self.repeated + repeated, self.far + far,
            self.undated,
        )  # fmt: skip

    def __str__(self) -> str:
        """One line that names what was counted."""
        parts = []
        plain = {name: n - self.unreadable.get(name, 0) for name, n in self.missing.items()}
        plain = {name: n for name, n in plain.items() if n}
        if plain:
            parts.append(f"{_cells(sum(plain.values()))} without a value ({_columns(plain)})")
        if self.unreadable:
            said = {name: f"{n:,}, such as {self.examples.get(name, '')[:20]!r}" for name, n in self.unreadable.items()}
            parts.append(f"{_cells(sum(self.unreadable.values()))} not readable ({_columns(self.unreadable, said)})")
        if self.gaps:
            parts.append(f"{self.gaps:,} gap{'s' * (self.gaps != 1)} in time")
        if self.repeated:
            often = ", as if several streams took turns: name their column with by=" * (self.repeated > self.rows / 3)
            parts.append(f"{self.repeated:,} repeated time{'s' * (self.repeated != 1)}{often}")
        if self.far:
            parts.append(f"{self.far:,} reading{'s' * (self.far != 1)} far outside the range, not learned from")
        if self.undated:
            some = ", ".join(f"{name}, such as {text[:30]!r}" for name, text in list(self.undated.items())[:SHOWN])
            parts.append(f"taken as text, because its dates are not recognised: {some}")
        return visible(f"{self.rows:,} rows: {'; '.join(parts) or 'nothing missing'}")

    def to_dict(self) -> dict[str, Any]:
        """The counts as plain data; columns in pairs, because a name may be a number."""
        pairs = {
            name: [[k, v] for k, v in getattr(self, name).items()]
            for name in ("missing", "unreadable", "examples", "undated")
        }
        return {"rows": self.rows, "gaps": self.gaps, "repeated": self.repeated, "far": self.far, **pairs}

    @classmethod
    def of_dict(cls, given: dict[str, Any]) -> Quality:
        """The counts that `to_dict` described."""
        count = lambda pairs: {name: int(n) for name, n in pairs}  # noqa: E731
        return cls(
            int(given["rows"]), count(given["missing"]), count(given["unreadable"]),
            {name: str(text) for name, text in given["examples"]}, int(given["gaps"]), int(given["repeated"]),
            int(given.get("far", 0)), {name: str(text) for name, text in given.get("undated", ())},
        )  # fmt: skip


def _added(batch: Batch, counts: dict[Name, int], more: dict[Name, int]) -> dict[Name, int]:
    """The sum of counts, in the order of the columns, whatever the order of the rows that were counted."""
    total = {name: counts.get(name, 0) + more.get(name, 0) for name in batch.columns}
    return {name: n for name, n in total.items() if n}


def _cells(n: int) -> str:
    return f"{n:,} cell{'s' * (n != 1)}"


def _columns(counts: dict[Name, int], said: dict[Name, str] | None = None) -> str:
    most = sorted(counts, key=lambda name: -counts[name])
    shown = [f"{name} {said[name] if said else f'{counts[name]:,}'}" for name in most[:SHOWN]]
    rest = len(most) - SHOWN
    return ", ".join(shown) + (f" and {rest:,} more columns" if rest > 0 else "")

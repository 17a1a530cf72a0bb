"""What the open questions share: units of work that are run once, and a page that is filled from what they found.

A question is a module with three functions:

    units(full)     the work, as `Unit`s: each is done once, and its rows are kept in a file of its own
    tables(data)    Markdown tables by name; the page shows each between `<!-- measured: name -->` and `<!-- end -->`
    charts(data)    Altair charts by name: the page shows open-questions-name.svg

`data` is the rows of all its units, one data frame; rows of different kinds may have different columns.
"""

from __future__ import annotations

import hashlib
import inspect
import io
import re
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from tdlambda.lab.studies.store import write_whole

Rows = Sequence[Mapping[str, Any]]


@dataclass(frozen=True)
class Unit:
    """A function of a module and its arguments: some seconds of work whose rows are kept.

    The key covers the function's own text and its arguments, not what it calls: after a change there, delete the files.
    """

    name: str
    function: Callable[..., Rows]
    arguments: Mapping[str, Any] = field(default_factory=dict)
    key: str = ""
    """The name of its file."""

    def __post_init__(self) -> None:
        """Compute the key."""
        about = f"{inspect.getsource(self.function)} {sorted(self.arguments.items())}"  # now: files may change later
        object.__setattr__(self, "key", f"{self.name}-{hashlib.sha256(about.encode()).hexdigest()[:12]}")

    def path(self, folder: Path) -> Path:
        """Where its rows are kept."""
        return folder / f"{self.key}.parquet"

    def run(self, folder: Path) -> float:
        """Do the work and keep its rows; how long it took."""
        begun = time.perf_counter()
        write(frame(self.function(**self.arguments)), self.path(folder))
        return time.perf_counter() - begun


def frame(rows: Rows) -> pl.DataFrame:
    """Rows as a data frame."""
    return pl.DataFrame([dict(row) for row in rows], infer_schema_length=None)


def write(data: pl.DataFrame, path: Path) -> None:
    """A data frame as a file that is there whole or not at all."""
    content = io.BytesIO()
    data.write_parquet(content, compression="zstd")
    write_whole(path, content.getvalue())


def gathered(units: Iterable[Unit], folder: Path) -> pl.DataFrame:
    """The rows of all units."""
    found = [pl.read_parquet(unit.path(folder)) for unit in units]
    return pl.concat(found, how="diagonal_relaxed")


def table(head: Sequence[str], body: Iterable[Sequence[Any]]) -> str:
    """A Markdown table."""
    lines = ["| " + " | ".join(head) + " |", "|" + " --- |" * len(head)]
    return "\n".join([*lines, *("| " + " | ".join(map(str, row)) + " |" for row in body)]) + "\n"


def filled(page: str, name: str, content: str) -> str:
    """A page with this content between the markers of this name."""
    begin, end = f"<!-- measured: {name} -->", "<!-- end -->"
    found = re.compile(f"{re.escape(begin)}.*?{re.escape(end)}", re.DOTALL)
    if not found.search(page):
        raise ValueError(f"the page has no place for {name}: write {begin} and {end} there")
    return found.sub(lambda _: f"{begin}\n\n{content}\n{end}", page)


def mean_interval(values: Iterable[float], level: float = 1.96) -> tuple[float, float, float]:
    """The mean over runs, and its 95 % interval."""
    runs = np.asarray(list(values), dtype=np.float64)
    off = level * runs.std(ddof=1) / np.sqrt(runs.size) if runs.size > 1 else np.nan
    return float(runs.mean()), float(runs.mean() - off), float(runs.mean() + off)


def runs_needed(differences: Iterable[float]) -> int:
    """How many runs would decide the sign of a mean difference at 95 % (power 80 %), if it is what it seems to be."""
    runs = np.asarray(list(differences), dtype=np.float64)
    mean, spread = runs.mean(), runs.std(ddof=1)
    return int(np.ceil((2.8 * spread / mean) ** 2)) if mean else 0

"""Limits on the size of a study, checked before anything is built."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

STEPS, POINTS, CELLS = 10**15, 10**6, 10**5
"""Upper limits: steps, which a float can still count exactly; points; cells of a method (one learner each)."""
ERRORS = 10**8
"""Largest number of errors of one method on one seed, cells × points: 0.8 GB."""
_FEATURE = 32
"""Smallest number of bytes per feature of a learner: weight, trace, and entries in the list of live features."""
_COUNTS = ("n", "hash_size", "tilings", "shape")
"""Options of encoders that determine their memory."""


def check_cells(over: Iterable[str], grid: Mapping[str, Sequence[Any]], points: int, where: str) -> None:
    """Raise ValueError if a method has too many cells, or too many errors to store."""
    lengths = {axis: len(grid[axis]) for axis in over}
    cells = math.prod(lengths.values())
    factors = " × ".join(f"{n:,} of {axis}" for axis, n in lengths.items())
    if cells > CELLS:
        raise ValueError(f"{where}.over: {factors} are {cells:,} cells; a method may have at most {CELLS:,}")
    if cells * points > ERRORS:
        raise ValueError(
            f"points: {where} has {cells:,} cells × {points:,} points = {cells * points:,} errors per seed; "
            f"at most {ERRORS:,} can be stored, so use at most {ERRORS // cells:,} points"
        )


def check_memory(features: int, cells: int = 1) -> None:
    """Raise ValueError if the learners do not fit into this machine's memory."""
    needed, there = features * cells * _FEATURE, machine_memory()
    if needed > there:
        many = f"{cells:,} cells × {features:,} features need" if cells > 1 else f"{features:,} features need"
        raise ValueError(f"{many} at least {needed / 1e9:,.0f} GB of memory; this machine has {there / 1e9:,.0f} GB")


def check_encoder(options: Mapping[str, Any]) -> None:
    """Raise ValueError if an encoder does not fit into memory, before it is built."""
    for name in _COUNTS:
        value = options.get(name, 0)
        for number in value if isinstance(value, list | tuple) else [value]:
            if isinstance(number, int):
                check_memory(number)


def machine_memory() -> int:
    """The machine's memory in bytes; a terabyte if unknown."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):  # not POSIX
        return 2**40

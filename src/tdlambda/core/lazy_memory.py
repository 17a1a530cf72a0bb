"""The memory of one learner in the lazy schedule: conversion from a learner's memory, and back."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from tdlambda.arrays import Floats, Ints
from tdlambda.core.memory import Memory
from tdlambda.core.model import Model
from tdlambda.core.records import named
from tdlambda.core.schedules import one
from tdlambda.core.schedules.lazy.lazy_rows import ROOM, FactoredRows


@cache
def _plan(model: Model) -> FactoredRows:
    return FactoredRows(model, binary=True)


@cache
def state_type(model: Model) -> Any:
    """The type of a learner's record: the numbers of `one`, and the common factors of each estimate's rows."""
    plan, base = _plan(model), one.state_type(model)
    floats = [*plan.linear.mixtures, *(f"{a}_{b}_dot" for a, b in plan.pairs), *(f"{r}_top" for r in plan.bounded)]
    common = np.dtype([*((name, "f8") for name in floats), ("n_live", "i8"), ("first", "i8")])
    # The new fields come first: Numba treats a record that starts with the fields of another as a subtype, and warns.
    return np.dtype([(f"{k}_rows_", common) for k in model.estimates] + [(n, base[n]) for n in base.names])


class LazyMemory:
    """The arrays of one learner in the layout of the lazy schedule, made from its memory.

    Rows are stored feature by feature, as multiples of common factors, and each estimate has its own list of live
    features. The rule's rows are those of the learner itself.
    """

    def __init__(self, model: Model, memory: Memory) -> None:
        plan, rows = _plan(model), memory.rows
        self.model, self.rule_rows, width = model, memory.rule_rows, rows.shape[1]
        self.record = np.zeros(1, named(state_type(model)))
        for name in memory.layout.record.names or ():
            self.record[name] = memory.record[name]
        more = 0 if plan.few else -rows.shape[0] % 4  # pad to whole vectors
        self.rows: Floats = np.zeros((width + ROOM, rows.shape[0] + more))
        self.rows[:width, : rows.shape[0]] = rows.T
        self.live: Ints = np.zeros((2 * len(model.estimates), width), dtype=np.int64)
        for i, k in enumerate(model.estimates):
            first, common = i * len(plan.linear.rows), self.record[f"{k}_rows_"]
            own = dict(zip(plan.linear.rows, rows[first:], strict=False))
            live = np.flatnonzero(sum((own[r] != 0 for r in plan.fading), np.zeros(width, dtype=bool)))
            self.live[2 * i, : live.size], self.live[2 * i + 1, live] = live, 1
            common["n_live"], common["first"] = live.size, first
            for name in plan.linear.factors:
                common[name] = 1.0
            for a, b in plan.pairs:
                common[f"{a}_{b}_dot"] = own[a] @ own[b]
            for r in plan.bounded:
                common[f"{r}_top"] = np.abs(own[r]).max()

    @property
    def all_arrays(self) -> tuple[Any, ...]:
        """The arrays that generated code works on."""
        return self.record, self.rows, self.rule_rows, self.live

    def write(self, memory: Memory) -> None:
        """Write the present state into a learner's memory; nothing here changes."""
        plan, linear = _plan(self.model), _plan(self.model).linear
        for name in memory.layout.record.names or ():
            memory.record[name] = self.record[name]
        n, width = memory.rows.shape
        memory.rows[:] = self.rows[:width, :n].T
        memory.rule_rows[:] = self.rule_rows
        fading = np.zeros(width, dtype=bool)
        for i, k in enumerate(self.model.estimates):
            own = memory.rows[i * len(linear.rows) : (i + 1) * len(linear.rows)]
            kept, common = dict(zip(linear.rows, own.copy(), strict=True)), self.record[f"{k}_rows_"][0]
            for place, r in enumerate(linear.rows):
                names = [(s, linear.mixture(r, s)) for s in linear.made_of[r]]
                own[place] = sum(kept[s] * (common[m] if m else 1.0) for s, m in names)
                if r in plan.fading:
                    fading |= own[place] != 0
        memory.list_live(np.flatnonzero(fading))

"""Conversion of a learner's arrays to the layout of the lazy schedule, and back."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from tdlambda.arrays import Floats, Ints
from tdlambda.core.model import Model
from tdlambda.core.records import named
from tdlambda.core.schedules import one
from tdlambda.core.schedules.lazy.rows import ROOM, FactoredRows


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


def opened(model: Model, state: Any, rows: Floats) -> tuple[Any, Floats, Ints]:
    """State, rows and lists of live features for the lazy schedule, from the state and rows of `one`."""
    plan, width = _plan(model), rows.shape[1]
    new = np.zeros(1, named(state_type(model)))
    for name in state.dtype.names:
        new[name] = state[name]
    more = 0 if plan.few else -rows.shape[0] % 4  # pad to whole vectors
    stored: Floats = np.zeros((width + ROOM, rows.shape[0] + more))
    stored[:width, : rows.shape[0]] = rows.T
    lists: Ints = np.zeros((2 * len(model.estimates), width), dtype=np.int64)
    for i, k in enumerate(model.estimates):
        first, common = i * len(plan.linear.rows), new[f"{k}_rows_"]
        own = dict(zip(plan.linear.rows, rows[first:], strict=False))
        live = np.flatnonzero(sum((own[r] != 0 for r in plan.fading), np.zeros(width, dtype=bool)))
        lists[2 * i, : live.size], lists[2 * i + 1, live] = live, 1
        common["n_live"], common["first"] = live.size, first
        for name in plan.linear.factors:
            common[name] = 1.0
        for a, b in plan.pairs:
            common[f"{a}_{b}_dot"] = own[a] @ own[b]
        for r in plan.bounded:
            common[f"{r}_top"] = np.abs(own[r]).max()
    return new, stored, lists


def closed(model: Model, state: Any, stored: Floats, to_state: Any, to_rows: Floats, to_live: Ints) -> None:
    """Write the state, rows and live features of `one` into `to_state`, `to_rows` and `to_live`.

    `state` and `stored`, of the lazy schedule, do not change.
    """
    plan, linear = _plan(model), _plan(model).linear
    fading = np.zeros(to_rows.shape[1], dtype=bool)
    for name in to_state.dtype.names:
        to_state[name] = state[name]
    to_rows[:] = stored[: to_rows.shape[1], : to_rows.shape[0]].T
    for i, k in enumerate(model.estimates):
        own = to_rows[i * len(linear.rows) : (i + 1) * len(linear.rows)]
        kept, common = dict(zip(linear.rows, own.copy(), strict=True)), state[f"{k}_rows_"][0]
        for place, r in enumerate(linear.rows):
            names = [(s, linear.mixture(r, s)) for s in linear.made_of[r]]
            own[place] = sum(kept[s] * (common[m] if m else 1.0) for s, m in names)
            if r in plan.fading:
                fading |= own[place] != 0
    if to_live.shape[1]:
        live = np.flatnonzero(fading)
        to_live[:] = 0
        to_live[0, : live.size], to_live[1, live] = live, 1
        to_state["n_live"] = live.size

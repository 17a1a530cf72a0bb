"""Distinct observations of shared sparse features, each with a feature of its own.

As long as there are at most OBSERVATIONS distinct vectors of features, the i-th one has the further feature
n + i, whose value is 1. Least squares on all of them represents any function of the observation; its ridge pulls it
towards what the shared features represent. One vector more, and these experts leave.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from tdlambda.arrays import Floats, Ints
from tdlambda.auto.families.least_squares import Systems
from tdlambda.auto.mixture import Mixture, leave, weigh

OBSERVATIONS = 128
"""Largest number of distinct observations."""


class Observations(NamedTuple):
    """The arrays of the distinct observations; all are empty for tables and for vectors of readings."""

    key: Floats
    """A number for each [OBSERVATIONS]: see `fingerprint`."""
    total: Ints
    """How many they are; more than OBSERVATIONS if these experts have left [1]."""
    x: Ints
    """Indices of the features at s and s', and of the observation's own [2, active + 1]."""
    xv: Floats
    """Their values [2, active + 1]."""


def fingerprint(x: Ints, xv: Floats) -> float:
    """Σ x_i cos(1 + i): the cosines of distinct whole numbers are linearly independent over the rational numbers."""
    total = 0.0
    for j in range(x.size):
        if xv[j] != 0.0:
            total += xv[j] * math.cos(1.0 + x[j])
    return total


def find(o: Observations, x: Ints, xv: Floats) -> int:
    """The number of an observation; -1 if it is not known."""
    if 0 < o.total[0] <= o.key.size:
        key = fingerprint(x, xv)
        for i in range(o.total[0]):
            if o.key[i] == key:
                return i
    return -1


def enter(o: Observations, q: Systems, m: Mixture, row: int, x: Ints, xv: Floats, n: int) -> int:
    """Write the features of an observation and its own to a row; return its number, or -1 if they are too many."""
    found = find(o, x, xv)
    if found < 0 and o.total[0] <= o.key.size:
        if o.total[0] < o.key.size:
            found = o.total[0]
            o.key[found] = fingerprint(x, xv)
        o.total[0] += 1
        for s in range(q.size.size):
            if q.stride[s] > n:
                q.size[s] = n + o.total[0] if found >= 0 else 0
        if found < 0:
            give_up(q, m, n)
    for j in range(x.size):
        o.x[row, j], o.xv[row, j] = x[j], xv[j]
    o.x[row, x.size], o.xv[row, x.size] = n + max(0, found), 1.0 if found >= 0 else 0.0
    return found


def enter_both(
    o: Observations, q: Systems, m: Mixture, x: Ints, xv: Floats, y: Ints, yv: Floats, n: int, gamma: float
) -> tuple[int, int]:
    """Write the features of both observations of a transition, of s' unless γ' is 0; return their numbers."""
    at, at_next = enter(o, q, m, 0, x, xv, n), -1
    if gamma > 0.0:
        at_next = enter(o, q, m, 1, y, yv, n)
    if o.total[0] > o.key.size:
        at, o.xv[0, x.size] = -1, 0.0
    return at, at_next


def give_up(q: Systems, m: Mixture, n: int) -> None:
    """Drop the experts that know each observation."""
    for k in range(q.of.size):
        if q.leading[k] > n:
            leave(m, k)
    weigh(m)


def add_own(q: Systems, n: int, found: int, out: Floats) -> None:
    """Add the weight of an observation's own feature to the predictions."""
    if found >= 0:
        for k in range(q.of.size):
            if q.leading[k] > n:
                out[k] += q.w[k, n + found]

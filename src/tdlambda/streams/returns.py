"""Realised returns of each step, and when they become known."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from tdlambda.arrays import Bools, Floats, Ints
from tdlambda.compiled import kernel

_NONE = -1e9
"""Stands for log 0 in sums, which must stay finite."""
LOST = 0.05
"""Largest share of a return's weight that may fall on missing rewards."""


class Realised(NamedTuple):
    """For each step: its return, the step after which it is known (n if never), and the sum of its discounts."""

    value: Floats
    known_at: Ints
    horizon: Floats

    @property
    def known(self) -> Bools:
        """Whether each return is known by the last step."""
        return self.known_at < self.value.size


def realised(reward: Floats, gamma: Floats, ended: Bools, follows: Bools, tolerance: float) -> Realised:
    """The return Σ γ…γ r of each step, cut off where the product of the discounts falls below `tolerance`.

    At the end of an episode the return is exact. `follows` says whether each step starts where the previous one ended.
    A return that is not complete before a step that does not follow is never known. A missing reward (NaN) is replaced
    by the mean of the return's other rewards, by weight; with more than LOST of the weight missing, it is never known.
    """
    n = reward.size
    value, horizon, lost, left = np.zeros(n), np.zeros(n), np.zeros(n), np.zeros(n)
    known_at = np.full(n, n, dtype=np.int64)
    with np.errstate(divide="ignore"):
        logs = np.where(ended, _NONE, np.maximum(np.log(gamma), _NONE))
    _returns(reward, np.where(ended, 0.0, gamma), follows, value, horizon, lost)
    _known(logs, follows, float(np.log(tolerance)), known_at, left)
    missing = np.isnan(reward)
    if not missing.any():
        return Realised(_within(value, follows, known_at, left), known_at, horizon)
    whole, part = _within(horizon, follows, known_at, left), _within(lost, follows, known_at, left)
    known_at[part > LOST * whole] = n
    share = np.where(known_at < n, part / whole, 0.0)
    return Realised(_within(value, follows, known_at, left) / (1 - share), known_at, horizon)


def _within(total: Floats, follows: Bools, known_at: Ints, left: Floats) -> Floats:
    """Discounted sums without what comes after they are known."""
    n = total.size
    return total - left * np.append(np.where(follows, total, 0.0), 0.0)[np.minimum(known_at + 1, n)]


@kernel
def _returns(reward: Floats, gamma: Floats, follows: Bools, value: Floats, horizon: Floats, lost: Floats) -> None:
    for i in range(reward.size - 1, -1, -1):
        missing = reward[i] != reward[i]
        value[i], horizon[i], lost[i] = 0.0 if missing else reward[i], 1.0, 1.0 if missing else 0.0
        if i + 1 < reward.size and follows[i + 1]:
            value[i] += gamma[i] * value[i + 1]
            horizon[i] += gamma[i] * horizon[i + 1]
            lost[i] += gamma[i] * lost[i + 1]


@kernel
def _known(logs: Floats, follows: Bools, least: float, known_at: Ints, left: Floats) -> None:
    first, total = 0, 0.0  # total: log of the product of discounts, from step `first` to this one
    for j in range(logs.size):
        if not follows[j]:
            first, total = j, 0.0
        total += logs[j]
        while first <= j and total < least:
            known_at[first], left[first] = j, math.exp(total)
            total -= logs[first]
            first += 1

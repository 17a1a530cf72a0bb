"""Averaged copies of the learners: their weights averaged over time.

At its i-th update, every EVERY steps, a copy applies w̄ += min(1, 2/i) (w - w̄), so that the w of update i has a weight
proportional to i. A copy restarts from its learner if that is significantly better in some window within its life.
Copies of features that are not live are averaged when they are next active.
"""

from __future__ import annotations

from typing import Any

from tdlambda.arrays import Floats, Ints
from tdlambda.auto.families.linear import AGE, UPDATES, Lanes
from tdlambda.auto.mixture import Mixture, inherit, surely_worse

EVERY = 100.0
"""Steps between updates of the copies."""


def averaged(w: float, copy: float, age: float, behind: float) -> float:
    """The averaged weight after `behind` further updates, during which w did not change.

    The product of 1 - 2/i over the last updates is a(a-1) / (i(i-1)), a = i - behind, and 0 if they reach back to 1.
    """
    before = age - behind
    if behind == 0.0:
        return copy
    return w + (copy - w) * (before * (before - 1.0) / (age * (age - 1.0)) if before > 1.0 else 0.0)


def sync(q: Lanes, f: int) -> None:
    """Bring a feature's averaged copies up to the last update; call it before w changes."""
    behind = q.counts[UPDATES] - q.synced[f]
    if behind > 0.0:
        for k in range(q.lane.shape[1]):
            q.copies[f, 0, k] = averaged(q.F[f, 0, k], q.copies[f, 0, k], q.lane[AGE, k], behind)
        q.synced[f] = q.counts[UPDATES]


def values(q: Lanes, x: Ints, xv: Floats, out: Floats) -> None:
    """Each copy's prediction, brought up to date on the fly."""
    out[:] = 0.0
    for j in range(x.size):
        f = x[j]
        behind = q.counts[UPDATES] - q.synced[f]
        w, copies = q.F[f, 0], q.copies[f, 0]
        if behind == 0.0:
            for k in range(out.size):
                out[k] += xv[j] * copies[k]
        else:
            for k in range(out.size):
                out[k] += xv[j] * averaged(w[k], copies[k], q.lane[AGE, k], behind)


def restart(q: Lanes, m: Mixture, first: int) -> None:
    """Restart copies that are significantly worse than their learner; `first` is the expert of the first learner."""
    lanes = q.lane.shape[1]
    for k in range(lanes):
        if surely_worse(m, first + lanes + k, first + k, EVERY * q.lane[AGE, k]):
            q.lane[AGE, k] = 0.0
            m.number[0].restarts += 1.0
            inherit(m, first + lanes + k, first + k)
        q.lane[AGE, k] += 1.0
    q.counts[UPDATES] += 1.0
    state: Any = q.state[0]
    for i in range(state.n_live):
        sync(q, q.order[i])

"""The weight update of the mixture: new observations are added to the windows, which determine the weights.

These are plain functions; `auto.modules` puts them into generated modules. `m` is `layout.Memory`, `s` its record.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from tdlambda.arrays import Floats
from tdlambda.auto.layout import (
    BEST_ALPHA,
    BEST_LAMBDA,
    BEYOND,
    ENERGY,
    EVERY,
    FAR_ALPHA,
    FAR_LAMBDA,
    FIRST_SCALE,
    GAIN,
    IDLE,
    LARGEST_ALPHA,
    LEADING,
    LEAST_ALPHA,
    NOISE,
    PACE,
    RAW,
    SCALE_RATIO,
    SCALES,
    SERIOUS,
    SURE,
    WINDOW,
)
from tdlambda.auto.systems import FADED

if TYPE_CHECKING:  # other names in the generated module
    fade: Any = None  # see `systems`


def join(total: Floats, new: Floats, keep: float) -> None:
    """Update sums over a window: total = keep total + new."""
    for row in range(total.shape[0]):
        for l in range(total.shape[1]):
            total[row, l] = keep * total[row, l] + new[row, l]


def inherit(sums: Floats, to: int, of: Floats, l: int) -> None:
    """Copy the sums of another expert, or of another window, to an expert."""
    for row in range(sums.shape[0]):
        sums[row, to] = of[row, l]


def loss(sums: Floats, l: int) -> float:
    """Σ c² - 2 Σ δẑ, an estimate of an expert's squared error minus that of the mixture."""
    return sums[ENERGY, l] - 2 * sums[GAIN, l]


def takes_part(s: Any, l: int) -> bool:
    """Whether an expert takes part: its learner has not been dropped."""
    return l >= 2 * s.age.size or s.dropped[l % s.age.size] == 0


def gather(m: Any, s: Any) -> None:
    """Add the observations since the last weight update to every window."""
    finite = True
    for row in range(m.since.shape[0]):
        for l in range(m.since.shape[1]):
            finite &= abs(m.since[row, l]) < math.inf
    if not finite:  # numbers that are not finite carry no information
        m.since[:, :] = 0.0
    s.window += EVERY
    keep = (1.0 - EVERY / s.window) ** WINDOW
    s.count = keep * s.count + EVERY
    join(m.long, m.since, keep)
    length = FIRST_SCALE
    for i in range(SCALES):
        keep = 1.0 - 1.0 / length
        s.short_count[i] = keep * s.short_count[i] + EVERY
        join(m.short[i], m.since, keep)
        length *= SCALE_RATIO
    m.since[:, :] = 0.0


def notice_change(m: Any, s: Any) -> None:
    """Replace the long window by the shortest one in which some expert significantly beats the mixture.

    Without a change, the mixture is about as good as the best expert. If it is significantly worse, the old
    observations are misleading.
    """
    for i in range(SCALES):
        beaten = False
        if s.short_count[i] <= 0.3 * s.window:
            for l in range(m.weight.size):
                sure = 2 * SURE * math.sqrt(m.short[i, NOISE, l])
                beaten |= -loss(m.short[i], l) > sure and takes_part(s, l)
        if beaten:
            for l in range(m.weight.size):
                inherit(m.long, l, m.short[i], l)
            s.window = s.count = s.short_count[i]
            s.changes += 1
            return


def surely_worse(m: Any, s: Any, l: int, other: int, age: float) -> bool:
    """Whether an expert is significantly worse than another in some window shorter than `age`."""
    worse = False
    for i in range(SCALES):
        now = m.short[i]
        sure = SURE * (math.sqrt(now[NOISE, l]) + math.sqrt(now[NOISE, other]))
        worse |= loss(now, l) - loss(now, other) > sure and s.short_count[i] < age
    return worse


def begin_as(m: Any, l: int, other: int) -> None:
    """Copy the evidence of another expert, whose weights were copied too."""
    m.z[l] = m.z[other]
    inherit(m.long, l, m.long, other)
    for i in range(SCALES):
        inherit(m.short[i], l, m.short[i], other)
    for f in range(m.expected.shape[0]):
        m.expected[f, 0, l] = m.expected[f, 0, other]


def restart_copies(m: Any, s: Any) -> None:
    """Restart averaged copies that are significantly worse than their learner in some window within their life."""
    lanes = s.age.size
    for k in range(lanes):
        if surely_worse(m, s, lanes + k, k, EVERY * s.age[k]):
            s.age[k] = 0.0
            s.restarts += 1
            begin_as(m, lanes + k, k)
        s.age[k] += 1.0


def move_grid(m: Any, s: Any) -> None:
    """Move the range of step sizes if most of the learners' weight is at one end."""
    lanes, low, high, at_low, at_high, total = s.age.size, math.inf, 0.0, 0.0, 0.0, 0.0
    for k in range(lanes):
        if s.dropped[k] == 0:
            low, high = min(low, s.alpha[k]), max(high, s.alpha[k])
    for k in range(lanes):
        share = m.weight[k] + m.weight[lanes + k]
        total += share
        at_low += share if s.alpha[k] == low else 0.0
        at_high += share if s.alpha[k] == high else 0.0
    down = at_low > LEADING * total and at_high < IDLE * total and low / BEYOND >= LEAST_ALPHA
    up = at_high > LEADING * total and at_low < IDLE * total and high * BEYOND <= LARGEST_ALPHA
    if total > SERIOUS and (up or down):
        edge, idle = (low, high) if down else (high, low)
        for k in range(lanes):
            for other in range(lanes):
                if s.alpha[k] == idle and s.alpha[other] == edge and s.lam[k] == s.lam[other]:
                    move_lane(m, s, k, other)
                    s.alpha[k] = edge / BEYOND if down else edge * BEYOND
        s.moves += 1


def move_lane(m: Any, s: Any, k: int, other: int) -> None:
    """Copy another learner and its averaged copy into a lane."""
    lanes = s.age.size
    for f in range(m.synced.size):
        sync(m, s, f)
        m.copies[f, 0, k] = m.copies[f, 0, other]
        for row in range(m.F.shape[1]):
            m.F[f, row, k] = m.F[f, row, other]
    for row in range(m.N.shape[0]):
        m.N[row, k] = m.N[row, other]
    s.age[k] = s.age[other]
    begin_as(m, k, other)
    begin_as(m, lanes + k, lanes + other)


def restart_systems(m: Any, s: Any) -> None:
    """Reset a system if all its experts are significantly worse than the mixture in a much shorter window."""
    q = m.systems
    for l in range(q.lam.size):
        first = 2 * s.age.size + l * q.ridge.size
        for i in range(SCALES):
            worse = s.short_count[i] <= 0.3 * q.age[l]
            for k in range(first, first + q.ridge.size):
                worse &= loss(m.short[i], k) > 2 * SURE * math.sqrt(m.short[i, NOISE, k])
            if worse:
                fade(q, l, FADED * s.short_count[i])
                s.restarts += 1
        q.age[l] += EVERY


def averaged(w: float, copy: float, age: float, behind: int) -> float:
    """The averaged weight after `behind` further weight updates, during which w did not change.

    At its i-th weight update a copy applies w̄ += min(1, 2/i) (w - w̄), so that the w of update i has a weight
    proportional to i. The product of 1 - 2/i over the last updates is a(a-1) / (i(i-1)) with a = i - behind, and 0 if
    they reach back to 1.
    """
    before = age - behind
    if behind == 0:
        return copy
    return w + (copy - w) * (before * (before - 1.0) / (age * (age - 1.0)) if before > 1.0 else 0.0)


def sync(m: Any, s: Any, f: int) -> None:
    """Bring a feature's averaged copies up to the last weight update; call it before w changes."""
    behind = s.updates - m.synced[f]
    if behind > 0:
        for k in range(s.age.size):
            m.copies[f, 0, k] = averaged(m.F[f, 0, k], m.copies[f, 0, k], s.age[k], behind)
        m.synced[f] = s.updates


def sync_all(m: Any) -> None:
    """Bring the averaged copies of all features up to date."""
    for f in range(m.synced.size):
        sync(m, m.bank[0], f)


def prior(alpha: float, lam: float, is_copy: bool, steps: float, features: int) -> float:
    """The prior penalty of an expert, -log of its prior weight."""
    best = min(BEST_ALPHA, PACE / math.sqrt(max(1.0, steps / features)))
    return FAR_ALPHA * abs(math.log(alpha / best)) + FAR_LAMBDA * abs(lam - BEST_LAMBDA) + (0.0 if is_copy else RAW)


def weigh(m: Any, s: Any) -> None:
    """Compute the weights p ∝ exp(-prior - loss / 2σ²), σ² the noise of the signal for each Σ c²."""
    lanes, features, q = s.age.size, m.synced.size, m.systems
    noise, seen = 0.0, 0.0
    for l in range(m.weight.size):
        if m.long[ENERGY, l] > 0 and takes_part(s, l):
            noise += m.weight[l] * m.long[NOISE, l] / m.long[ENERGY, l]
            seen += m.weight[l]
    noise = noise / seen if seen > 0 else 0.0
    best = math.inf
    for l in range(m.weight.size):
        if takes_part(s, l):
            k = l - 2 * lanes
            if k < 0:
                score = prior(s.alpha[l % lanes], s.lam[l % lanes], l >= lanes, s.window, features)
            else:
                score = q.prior[k] if k < q.prior.size else 0.0
            energy = m.long[ENERGY, l]
            own = max(noise, m.long[NOISE, l] / energy) if energy > 0 else noise
            if own > 0:
                score += loss(m.long, l) / (2 * own)
            m.score[l] = score
            best = min(best, score)
    total = 0.0
    for l in range(m.weight.size):
        m.weight[l] = math.exp(best - m.score[l]) if takes_part(s, l) else 0.0
        total += m.weight[l]
    if total > 0:
        for l in range(m.weight.size):
            m.weight[l] /= total


def update_weights(m: Any) -> None:
    """Perform a complete weight update."""
    s = m.bank[0]
    gather(m, s)
    notice_change(m, s)
    restart_copies(m, s)
    restart_systems(m, s)
    s.updates += 1
    for i in range(m.state[0].n_live):
        sync(m, s, m.order[i])
    weigh(m, s)
    move_grid(m, s)

"""A weight update of the mixture: what was observed since the last one joins the windows and decides the weights.

Plain functions: `auto.modules` puts them into generated modules. `m` is `layout.Memory`, `s` its record of the bank.
"""

from __future__ import annotations

import math
from typing import Any

from tdlambda.auto.layout import (
    BEST_ALPHA,
    BEST_LAMBDA,
    EVERY,
    FAR_ALPHA,
    FAR_LAMBDA,
    FIRST_SCALE,
    PACE,
    RAW,
    SCALE_RATIO,
    SCALES,
    SURE,
    WINDOW,
)


def join(total: Any, new: Any, keep: float) -> None:
    """Total = keep total + new, of sums over a window."""
    for l in range(total.energy.size):
        total.energy[l] = keep * total.energy[l] + new.energy[l]
        total.gain[l] = keep * total.gain[l] + new.gain[l]
        total.noise[l] = keep * total.noise[l] + new.noise[l]


def put(sums: Any, l: int, energy: float, gain: float, noise: float) -> None:
    """Set the sums of one expert."""
    sums.energy[l], sums.gain[l], sums.noise[l] = energy, gain, noise


def clear_sums(sums: Any) -> None:
    """Set the sums of all experts to 0."""
    for l in range(sums.energy.size):
        put(sums, l, 0.0, 0.0, 0.0)


def inherit(sums: Any, to: int, of: Any, l: int) -> None:
    """Let one expert have the sums of another, or of another window."""
    put(sums, to, of.energy[l], of.gain[l], of.noise[l])


def loss(sums: Any, l: int) -> float:
    """Σ c² - 2 Σ δẑ: an estimate of an expert's squared error less that of the mixture."""
    return sums.energy[l] - 2 * sums.gain[l]


def gather(s: Any) -> None:
    """Let what was observed since the last weight update join every window."""
    finite = True
    for l in range(s.weight.size):
        finite &= abs(s.since.energy[l]) < math.inf
        finite &= abs(s.since.gain[l]) < math.inf
        finite &= abs(s.since.noise[l]) < math.inf
    if not finite:  # numbers beyond all bounds say nothing
        clear_sums(s.since)
    s.window += EVERY
    keep = (1.0 - EVERY / s.window) ** WINDOW
    s.count = keep * s.count + EVERY
    join(s.long, s.since, keep)
    length = FIRST_SCALE
    for i in range(SCALES):
        keep = 1.0 - 1.0 / length
        s.short_count[i] = keep * s.short_count[i] + EVERY
        join(s.short[i], s.since, keep)
        length *= SCALE_RATIO
    clear_sums(s.since)


def notice_change(s: Any) -> None:
    """The shortest window in which some expert surely beats the mixture replaces the long one.

    Before a change the mixture is about the best; so if it is surely beaten, what was observed long ago misleads.
    """
    for i in range(SCALES):
        beaten = False
        if s.short_count[i] <= 0.3 * s.window:
            for l in range(s.weight.size):
                sure = 2 * SURE * math.sqrt(s.short[i].noise[l])
                beaten |= -loss(s.short[i], l) > sure and s.dropped[l % s.age.size] == 0
        if beaten:
            for l in range(s.weight.size):
                inherit(s.long, l, s.short[i], l)
            s.window = s.count = s.short_count[i]
            s.changes += 1
            return


def restart_copies(m: Any, s: Any) -> None:
    """An averaged copy that is surely worse than its learner, in some window within its life, restarts from there."""
    lanes = s.age.size
    for k in range(lanes):
        copy, worse = lanes + k, False
        for i in range(SCALES):
            now = s.short[i]
            sure = SURE * (math.sqrt(now.noise[copy]) + math.sqrt(now.noise[k]))
            worse |= loss(now, copy) - loss(now, k) > sure and s.short_count[i] < EVERY * s.age[k]
        if worse:
            s.age[k] = 0.0
            s.restarts += 1
            s.z[copy] = s.z[k]
            inherit(s.long, copy, s.long, k)
            for i in range(SCALES):
                inherit(s.short[i], copy, s.short[i], k)
            for f in range(m.expected.shape[0]):
                m.expected[f, 0, copy] = m.expected[f, 0, k]
        s.age[k] += 1.0


def averaged(w: float, copy: float, age: float, behind: int) -> float:
    """A weight of a copy of this age that is so many weight updates behind, during which w did not change.

    At its i-th weight update a copy takes w̄ += min(1, 2/i) (w - w̄), so that what it saw at i weighs in proportion to
    i; the product of 1 - 2/i over the last ones is a(a-1) / (i(i-1)) with a = i - behind, and 0 where they reach back
    to 1.
    """
    before = age - behind
    if behind == 0:
        return copy
    return w + (copy - w) * (before * (before - 1.0) / (age * (age - 1.0)) if before > 1.0 else 0.0)


def sync(m: Any, s: Any, f: int) -> None:
    """Average a feature's copies up to the last weight update. To be called before its w changes after that."""
    behind = s.updates - m.synced[f]
    if behind > 0:
        for k in range(s.age.size):
            m.copies[f, 0, k] = averaged(m.F[f, 0, k], m.copies[f, 0, k], s.age[k], behind)
        m.synced[f] = s.updates


def sync_all(m: Any) -> None:
    """The same for every feature."""
    for f in range(m.synced.size):
        sync(m, m.bank[0], f)


def prior(alpha: float, lam: float, is_copy: bool, steps: float, features: int) -> float:
    """-log of the preference for an expert before anything is observed of it."""
    best = min(BEST_ALPHA, PACE / math.sqrt(max(1.0, steps / features)))
    return FAR_ALPHA * abs(math.log(alpha / best)) + FAR_LAMBDA * abs(lam - BEST_LAMBDA) + (0.0 if is_copy else RAW)


def weigh(s: Any, features: int) -> None:
    """Weights p ∝ exp(-prior - loss / 2σ²), σ² the noise of the signal for each Σ c²."""
    lanes = s.age.size
    noise, seen = 0.0, 0.0
    for l in range(2 * lanes):
        if s.long.energy[l] > 0 and s.dropped[l % lanes] == 0:
            noise += s.weight[l] * s.long.noise[l] / s.long.energy[l]
            seen += s.weight[l]
    noise = noise / seen if seen > 0 else 0.0
    best = math.inf
    for l in range(2 * lanes):
        k = l % lanes
        if s.dropped[k] == 0:
            score = prior(s.alpha[k], s.lam[k], l >= lanes, s.window, features)
            energy = s.long.energy[l]
            own = max(noise, s.long.noise[l] / energy) if energy > 0 else noise
            if own > 0:
                score += loss(s.long, l) / (2 * own)
            s.score[l] = score
            best = min(best, score)
    total = 0.0
    for l in range(2 * lanes):
        s.weight[l] = math.exp(best - s.score[l]) if s.dropped[l % lanes] == 0 else 0.0
        total += s.weight[l]
    if total > 0:
        for l in range(2 * lanes):
            s.weight[l] /= total


def update_weights(m: Any) -> None:
    """All of it."""
    s = m.bank[0]
    gather(s)
    notice_change(s)
    restart_copies(m, s)
    s.updates += 1
    for i in range(m.state[0].n_live):
        sync(m, s, m.order[i])
    weigh(s, m.synced.size)

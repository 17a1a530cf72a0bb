"""The mixture of experts: evidence, windows, weights, changes. It needs nothing of an expert but its predictions.

With u = Σ p V the mixture's prediction and c = V - u an expert's distance from it, the expert's value error minus the
mixture's is

    E[(V - v)² - (u - v)²] = E[ c² - 2 c (v - u) ]

The first part is observed. The second follows from the mixture's own TD errors δ = ρ (R + γ' u' - u)
(docs/auto-td.md):

    Σ c_t (v - u)(s_t) = E Σ δ_t z_t,        z_t = ρ_{t-1} γ_t z_{t-1} + c_t        without v, and without bias

With sparse features, ẑ(s_t) = E[z_t | s_t] takes the place of z_t: it is learned on the features by bootstrapping from
ẑ one step back ("expected eligibility traces", van Hasselt et al. 2021), and contains no products of ρ. It is biased as
long as it is not learned; where the sum with z differs significantly, the evidence follows that one. With vectors there
is only z; its ratios are clipped at 1 and divided by their mean.

The weights are p ∝ exp(-prior - (Σ c² - 2 Σ δz) / 2σ²), σ² the noise of the signal for each Σ c². At step t, step s has
the weight (s/t)^POWER in these sums. There are also short windows. If some expert significantly beats the mixture in a
short one, the old observations are misleading, and that window takes the place of the long one.

These are plain functions; `auto.modules` puts them into generated modules. `m` is `Mixture`, `s` its record of numbers.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from tdlambda.arrays import Array, Floats, Ints
from tdlambda.auto.errors import TRACE, note_error

POWER, POWER_OF_VECTORS = 1.5, 3.0
"""At step t, an observation of step s has the weight (s/t)^POWER in the long window."""
PATIENCE, MOST_STEPS = 50.0, 20.0
"""Weights are updated after 1 + t/PATIENCE steps, at most MOST_STEPS."""
SURE = 6.0
"""Standard errors at which a difference is significant."""
SCALES, FIRST_SCALE, SCALE_RATIO = 6, 100.0, 4.0
"""Number of short windows, and their lengths in steps: 100, 400, 1600, …"""
SHORTER = 0.3
"""A short window is compared with a long one if it has at most this fraction of its length."""
LEAST_STEP = 0.1
"""Smallest step size of the regression of z on the features."""
ROUNDING = 1e-12
"""A distance from the mixture below this fraction of its prediction counts as 0."""
DOUBT = 4.0
"""(Standard errors)² by which the signals of the two traces must differ before z counts."""
MOST_TRACE = 1e130
"""A trace beyond this restarts: products of ratios must not overflow."""
ENERGY, GAIN, NOISE = range(3)
"""Sums over a window, of each expert: Σ c², Σ δz, Σ (δz)². If there are two traces, the last two with z follow."""
SINCE, LONG, SHORT = range(3)
"""Windows: since the last weight update; the long one; the first short one."""

NUMBERS = np.dtype([(name, "f8") for name in (
    "steps", "under_way", "u", "rho", "reward", "gamma",       # the mixture's prediction at x and what followed it
    "cut",                                                     # E[min(ρ, 1)]
    "low_reward", "high_reward", "most_gamma", "length", "longest", "ended", "off_policy",
    "past", "past_weight", "pasts", "low_past", "high_past",   # discounted sums of past rewards
    "updated", "window", "count",                              # step of the last weight update; long window's length
    "changes", "restarts", "began",                            # "began": the step of the last new start
    "value", "norm", "noise",                                  # means of u², |x|² and (ρδ)²
)] + [("short_count", "f8", SCALES)])  # fmt: skip


WITHIN_EPISODE = ("under_way", "past", "past_weight", "length", "u", "rho", "reward", "gamma")
"""Numbers that belong to the current episode."""


class Mixture(NamedTuple):
    """The arrays of the mixture of K experts."""

    value: Floats
    """Predictions at x, then c [K]."""
    trace: Floats
    """z; or ẑ(x), z [trace, K]."""
    sums: Floats
    """[window, (ENERGY, GAIN, NOISE, …), K]"""
    weight: Floats
    """p [K]"""
    prior: Floats
    """a, b, unit [3, K]: -log of the prior weight is a + b log(1 + t/unit)."""
    absent: Floats
    """1 for experts that take no part [K]: dropped, or 0 before the first end of an episode."""
    expected: Floats
    """Weights of ẑ [feature, 1, K]; empty if z itself is used."""
    visits: Floats
    """Number of visits of each feature, each weighted by the feature's share of |x|²."""
    own: Floats
    """Predictions of the user's own experts at x and, if the episode is truncated, at x' [2, own]."""
    errors: Floats
    """See `errors`."""
    recent: Ints
    """Feature indices of recent observations [RECENT, active]."""
    recent_value: Floats
    """Feature values of these observations [RECENT, active]."""
    number: Array
    """One record of `NUMBERS`."""


# ---- predictions ---------------------------------------------------------------------------------------------------


def limits(s: Any) -> tuple[float, float]:
    """The smallest and the largest value that the rewards and discounts so far allow."""
    horizon = 10.0 * s.longest
    if s.most_gamma < 1.0:
        whole = 1.0 / (1.0 - s.most_gamma)
        horizon = whole if s.ended == 0.0 else min(horizon, whole)
    low, high = s.low_reward * horizon, s.high_reward * horizon
    if s.ended > 0.0:
        low, high = min(0.0, min(low, s.low_reward)), max(0.0, max(high, s.high_reward))
    elif s.off_policy == 0.0 and s.most_gamma < 1.0:
        span = s.high_past - s.low_past
        low, high = max(low, s.low_past - span), min(high, s.high_past + span)
    return low, high


def note_limits(s: Any, reward: float, gamma: float, rho: float, fresh: bool) -> None:
    """Update the statistics that limit the values."""
    first = s.steps == 1.0
    s.low_reward = reward if first else min(s.low_reward, reward)
    s.high_reward = reward if first else max(s.high_reward, reward)
    s.most_gamma = max(s.most_gamma, gamma)
    s.length = 1.0 if fresh else 1.0 + s.gamma * s.length
    s.longest = max(s.longest, s.length)
    s.ended = 1.0 if gamma == 0.0 else s.ended
    s.off_policy = 1.0 if rho != 1.0 else s.off_policy
    s.past, s.past_weight = reward + gamma * s.past, 1.0 + gamma * s.past_weight
    if gamma < 1.0:
        past = s.past / s.past_weight / (1.0 - gamma)
        s.low_past = past if s.pasts == 0.0 else min(s.low_past, past)
        s.high_past = past if s.pasts == 0.0 else max(s.high_past, past)
        s.pasts += 1.0


def mix(value: Floats, weight: Floats, low: float, high: float) -> float:
    """Σ p V, with each V clipped to the limits (NaN to their middle)."""
    u = 0.0
    for k in range(value.size):
        v = value[k]
        v = low if v < low else high if v > high else v if v == v else 0.5 * (low + high)
        value[k] = v
        u += weight[k] * v
    return u


# ---- evidence ------------------------------------------------------------------------------------------------------


def close(m: Mixture, u_next: float) -> float:
    """Compute the mixture's TD error of the last step and its contribution to each expert's loss; return ρ δ."""
    s = m.number[0]
    error = s.reward + s.gamma * u_next - s.u
    delta = s.rho * error
    note_error(m.errors, error, s.gamma, s.rho)
    s.noise += max(3.0 / (s.steps - s.began + 2.0), 1e-4) * (delta * delta - s.noise)
    for i in range(m.trace.shape[0]):
        trace, gain, noise = m.trace[i], m.sums[SINCE, GAIN + 2 * i], m.sums[SINCE, NOISE + 2 * i]
        for k in range(trace.size):
            product = delta * trace[k]
            gain[k] += product
            noise[k] += product * product
    return delta


def add_distances(m: Mixture, u: float, fresh: bool, evidence: float) -> None:
    """Replace V by c = V - u, decay the traces and add c to them; add to the sums Σ c²."""
    s, keep = m.number[0], 0.0
    if not fresh:
        keep = s.gamma * (s.rho if m.expected.shape[0] > 0 else min(s.rho, 1.0) / s.cut)
    for k in range(m.value.size):
        c = m.value[k] - u
        c = c if abs(c) > ROUNDING * abs(u) else 0.0
        m.value[k] = c
        m.sums[SINCE, ENERGY, k] += evidence * c * c
    for i in range(m.trace.shape[0]):
        trace = m.trace[i]
        for k in range(trace.size):
            c = evidence * m.value[k]
            z = keep * trace[k] + c
            trace[k] = z if abs(z) < MOST_TRACE else c


def expect(m: Mixture, x: Ints, xv: Floats, norm: float) -> None:
    """Update ẑ(x) towards the first trace, and replace that by ẑ(x)."""
    trace, K = m.trace[0], m.trace.shape[1]
    if norm == 0.0:
        trace[:] = 0.0
        return
    for k in range(K):
        m.value[k] = 0.0
    for j in range(x.size):
        row = m.expected[x[j], 0]
        for k in range(K):
            m.value[k] += xv[j] * row[k]
    for k in range(K):
        m.value[k] = trace[k] - m.value[k]
    for j in range(x.size):
        f = x[j]
        m.visits[f] += xv[j] * xv[j] / norm
        step, row = max(LEAST_STEP, 1.0 / (m.visits[f] + 1.0)) * xv[j] / norm, m.expected[f, 0]
        for k in range(K):
            row[k] += step * m.value[k]
    for k in range(K):
        trace[k] = 0.0
    for j in range(x.size):
        row = m.expected[x[j], 0]
        for k in range(K):
            trace[k] += xv[j] * row[k]


def end_traces(m: Mixture) -> None:
    """End the episode."""
    s = m.number[0]
    m.trace[:, :] = 0.0
    m.errors[TRACE] = 0.0
    s.under_way = s.past = s.past_weight = 0.0


# ---- weights -------------------------------------------------------------------------------------------------------


def signal(m: Mixture, window: int, k: int) -> tuple[float, float]:
    """Σ δz and its variance; in the long window, from both traces if there are two.

    With B, Q of ẑ and B', Q' of z, the bias of B is B' - B up to noise: w = max(0, 1 - DOUBT Q' / (B' - B)²) of it is
    removed.
    """
    gain, noise = m.sums[window, GAIN, k], m.sums[window, NOISE, k]
    if m.trace.shape[0] > 1 and window == LONG:
        gap, doubt = m.sums[window, GAIN + 2, k] - gain, m.sums[window, NOISE + 2, k]
        if gap * gap > DOUBT * doubt:
            share = 1.0 - DOUBT * doubt / (gap * gap)
            gain, noise = gain + share * gap, noise + share * (doubt - noise)
    return gain, noise


def loss(m: Mixture, window: int, k: int) -> float:
    """Σ c² - 2 Σ δz, an estimate of an expert's squared error minus that of the mixture."""
    return m.sums[window, ENERGY, k] - 2.0 * signal(m, window, k)[0]


def deviation(m: Mixture, window: int, k: int) -> float:
    """Standard error of Σ δz."""
    return math.sqrt(signal(m, window, k)[1])


def gather(m: Mixture) -> None:
    """Add the observations since the last weight update to every window."""
    s, total = m.number[0], 0.0
    steps = s.steps - s.updated
    for row in range(m.sums.shape[1]):
        for k in range(m.weight.size):
            total += abs(m.sums[SINCE, row, k])
    if not total < math.inf:  # numbers that are not finite carry no information
        m.sums[SINCE, :, :] = 0.0
    s.updated = s.steps
    s.window += steps
    keep = (1.0 - steps / s.window) ** (POWER if m.expected.shape[0] > 0 else POWER_OF_VECTORS)
    s.count = keep * s.count + steps
    join(m.sums, LONG, keep)
    length = FIRST_SCALE
    for i in range(SCALES):
        keep = math.exp(-steps / length)
        s.short_count[i] = keep * s.short_count[i] + steps
        join(m.sums, SHORT + i, keep)
        length *= SCALE_RATIO
    m.sums[SINCE, :, :] = 0.0


def join(sums: Floats, window: int, keep: float) -> None:
    """Update the sums over a window."""
    for row in range(sums.shape[1]):
        total, new = sums[window, row], sums[SINCE, row]
        for k in range(total.size):
            total[k] = keep * total[k] + new[k]


def notice_change(m: Mixture) -> None:
    """Replace the long window by the shortest one in which some expert significantly beats the mixture."""
    s = m.number[0]
    for i in range(SCALES):
        beaten = False
        if s.short_count[i] <= SHORTER * s.window:
            for k in range(m.weight.size):
                beaten |= -loss(m, SHORT + i, k) > 2.0 * SURE * deviation(m, SHORT + i, k) and m.absent[k] == 0.0
        if beaten:
            for row in range(m.sums.shape[1]):
                for k in range(m.weight.size):
                    m.sums[LONG, row, k] = m.sums[SHORT + i, row, k]
            s.window = s.count = s.short_count[i]
            s.changes += 1.0
            return


def surely_worse(m: Mixture, k: int, other: int, age: float) -> bool:
    """Whether an expert is significantly worse than another in some window shorter than `age` steps."""
    worse = False
    for i in range(SHORT, SHORT + SCALES):
        sure = SURE * (deviation(m, i, k) + deviation(m, i, other))
        worse |= loss(m, i, k) - loss(m, i, other) > sure and m.number[0].short_count[i - SHORT] < age
    return worse


def contradicted(m: Mixture, first: int, last: int, age: float) -> float:
    """Length of a window, much shorter than `age`, in which all these experts became significantly worse.

    Their loss per step must be twice that in the long window: experts that are always worse have nothing to forget. 0
    if there is no such window.
    """
    s = m.number[0]
    for i in range(SCALES):
        worse = last > first and s.short_count[i] <= SHORTER * age
        for k in range(first, last):
            now = loss(m, SHORT + i, k)
            worse &= now > 2.0 * SURE * deviation(m, SHORT + i, k)
            worse &= now * s.count > 2.0 * loss(m, LONG, k) * s.short_count[i]
        if worse:
            return s.short_count[i]
    return 0.0


def inherit(m: Mixture, k: int, other: int) -> None:
    """Copy the evidence of another expert, whose weights were copied too."""
    for i in range(m.trace.shape[0]):
        m.trace[i, k] = m.trace[i, other]
    for window in range(m.sums.shape[0]):
        for row in range(m.sums.shape[1]):
            m.sums[window, row, k] = m.sums[window, row, other]
    for f in range(m.expected.shape[0]):
        m.expected[f, 0, k] = m.expected[f, 0, other]


def leave(m: Mixture, k: int) -> None:
    """Drop an expert."""
    m.absent[k] = 1.0
    m.weight[k] = m.value[k] = 0.0
    m.trace[:, k] = 0.0
    m.sums[:, :, k] = 0.0
    for f in range(m.expected.shape[0]):
        m.expected[f, 0, k] = 0.0


def weigh(m: Mixture) -> None:
    """Compute the weights from the prior and the long window."""
    noise, seen, p, t = 0.0, 0.0, m.weight, m.number[0].window
    energy = m.sums[LONG, ENERGY]
    for k in range(p.size):
        if energy[k] > 0.0 and m.absent[k] == 0.0:
            noise += p[k] * signal(m, LONG, k)[1] / energy[k]
            seen += p[k]
    noise = noise / seen if seen > 0.0 else 0.0
    best = math.inf
    for k in range(p.size):
        own = max(noise, signal(m, LONG, k)[1] / energy[k]) if energy[k] > 0.0 else noise
        score = m.prior[0, k] + m.prior[1, k] * math.log(1.0 + t / m.prior[2, k])
        if own > 0.0:
            score += loss(m, LONG, k) / (2.0 * own)
        p[k] = math.inf if m.absent[k] > 0.0 else score
        best = min(best, p[k])
    total = 0.0
    for k in range(p.size):
        p[k] = math.exp(best - p[k]) if p[k] < math.inf else 0.0
        total += p[k]
    for k in range(p.size):
        p[k] = p[k] / total if total > 0.0 else 0.0


def is_due(m: Mixture) -> bool:
    """Whether the weights are to be updated."""
    s = m.number[0]
    return s.steps - s.updated >= min(1.0 + int((s.steps - s.began) / PATIENCE), MOST_STEPS)

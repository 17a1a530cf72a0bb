"""Experts for dense features and their mixture: least squares with several λ and windows, running means, and 0.

LSTD(λ) in the coordinates of `coordinates`, for each λ and window w, f = 1 - 1/w:

    z += g x,    A = f A + ρ z (x - γ'x')ᵀ,    b = f b + ρ z r,    z *= min(ρ, 1) γ' λ
    weights = (A + RIDGE diag(q/s²))⁻¹ b        by elimination, often at first, seldom later

A running mean is LSTD(1) on the constant alone. With many features there are also gradient experts, for each step size
α and λ. They predict the distance w·x from the mean of all steps, and no step removes more than half of its TD error:

    e += x,    δ = r + (γ' - 1) mean - w·(x - γ'x'),    w += min(α/E|x|², ½ / max(e·(x - γ'x'), |x|²)) ρ δ e

together with their averaged copies. The expert 0 takes part once an episode has ended; before, rewards have no origin.
The weights of the mixture u = Σ p V are computed as in `bank`, with a raw trace:

    c = V - u,    δ = ρ (r + γ'u' - u),    ζ = γ min(ρ,1)/E[min(ρ,1)] ζ + g c
    loss = Σ g c² - 2 Σ δζ,    noise = Σ (δζ)² / Σ g c²,    p ∝ exp(-prior - loss / 2 noise)

with sums in which step s has the weight (s/t)² at step t. g is 1 unless the scale of rewards falls: if r - r⁻ becomes a
hundred times smaller, old evidence would outweigh all new evidence, so new evidence gets a larger g.
`m` is a `Memory`, `s` its record of numbers.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from tdlambda.arrays import Bools, Floats
from tdlambda.auto.coordinates import LARGEST as LARGEST_DEVIATION
from tdlambda.auto.coordinates import LEAST_RATE, MEAN, SCALE, SQUARE, moved, observe, place
from tdlambda.auto.elimination import eliminate
from tdlambda.auto.errors import RECENT, SKIPPED, TRACE, note_error
from tdlambda.auto.layout import MOST_REWARD
from tdlambda.compiled import brief, kernel, part
from tdlambda.core.runtime import OK, check
from tdlambda.learners.base import Array

HELD = 32
"""Number of initial transitions held back until the medians of their readings are known."""
RIDGE = 3.0
"""Regularisation, in observations; the constant is not regularised."""
SOLVE_EVERY = 64.0
"""A system of n observations is solved every 1 + n/64 + features/4 steps."""
SETTLED, FAR = 200.0, 4.0
"""After SETTLED changes of the reward, their size is the unit of evidence; if it falls by e^FAR, so does the unit."""
SIZE_RATE, SIZE_STEP = 0.02, 4.0
"""Smallest step size of the running mean of ln size, and the largest error that it takes into account."""
ROUNDING = 1e-12
"""A distance from the mixture below this fraction of its prediction counts as 0."""
KEPT = 2.0
"""At step t, an observation of step s has the weight (s/t)^KEPT."""

NUMBERS = np.dtype([(name, "f8") for name in (
    "steps", "held", "under_way", "rebase", "ready",
    "u", "rho", "reward", "gamma",                        # the mixture's prediction at x and what followed it
    "cut", "constant",                                    # E[min(ρ, 1)]; the trace of the constant
    "low_reward", "high_reward", "most_gamma", "length", "longest", "ended", "off_policy",
    "past", "past_weight", "pasts", "low_past", "high_past",       # discounted sums of past rewards
    "moves", "size", "unit", "first_unit", "raw_sum", "raw_weight", "clips", "norm",
)])  # fmt: skip


class Memory(NamedTuple):
    """All arrays of the experts; D = features + 1, K experts."""

    front: Floats
    """See `coordinates`."""
    lam: Floats
    window: Floats
    """Length in steps; ∞ for all steps."""
    z: Floats
    """[λ, D]"""
    A: Floats
    """[λ, window, D, D]"""
    b: Floats
    """[λ, window, D]"""
    w: Floats
    """[λ, window, D]"""
    S: Floats
    """Σ (ρ δ)² z zᵀ [D, D] for the middle λ, with the TD errors δ of its weights with the infinite window."""
    errors: Floats
    """See `errors`."""
    recent: Floats
    """Some recent observations [RECENT, D]."""
    due: Floats
    """The step at which to solve next [λ, window]."""
    pace: Floats
    """α and λ of gradient experts [2, G]."""
    gradient: Floats
    """Their weights, traces, and averaged weights [3, G, D]."""
    own: Floats
    """Predictions of the user's own experts at x and x' [2, own]."""
    mean_window: Floats
    means: Floats
    """Numerator, denominator, value [3, mean]; a window of 0 stands for the prediction 0."""
    value: Floats
    """Predictions [K], then c."""
    trace: Floats
    """ζ [K]"""
    sums: Floats
    """Σ g c², Σ δζ, Σ (δζ)² [3, K]"""
    weight: Floats
    """p [K]"""
    prior: Floats
    """a, b, unit [3, K]: -log of the prior weight is a + b log(1 + t/unit)."""
    held: Floats
    """The first transitions [HELD, 2 d + 6 + 2 own]: x, x', r, γ', ρ, how it ended, scratch space, whether the episode
    was reset after it, `own`."""
    room: Floats
    """Buffers: rows of length D for x, x', x - γ'x' and the ridge; then a matrix [D, D]."""
    number: Array


# ---- predictions ---------------------------------------------------------------------------------------------------


@part
def solved(A: Floats, b: Floats, ridge: Floats, w: Floats, L: Floats) -> bool:
    """Compute w = (A + diag ridge)⁻¹ b; return whether it exists. L is a buffer."""
    n = b.size
    for i in range(n):
        for j in range(n):
            L[i, j] = A[i, j]
        L[i, i] += ridge[i]
        w[i] = b[i]
    return eliminate(L, w)


@part
def solve(m: Any, l: int, f: int) -> None:
    """Compute the weights of one expert; the running mean if the system has no solution."""
    w, d = m.w[l, f], m.z.shape[1] - 1
    if not solved(m.A[l, f], m.b[l, f], m.room[3], w, m.room[4:]):
        w[:] = 0.0
        w[d] = m.means[2, 0]


@part
def take_ridge(m: Any) -> None:
    """Compute the ridge in the current coordinates."""
    ridge, d = m.room[3], m.z.shape[1] - 1
    for i in range(d):
        scale = m.front[SCALE, i]
        ridge[i] = RIDGE * (max(1e-6, m.front[SQUARE, i] / (scale * scale)) if scale > 0.0 else 1.0)
    ridge[d] = 0.0


@part
def limits(s: Any) -> tuple[float, float]:
    """The smallest and the largest value that the rewards and discounts so far allow."""
    horizon = 10.0 * s.longest
    if s.most_gamma < 1.0:
        whole = 1.0 / (1.0 - s.most_gamma)
        horizon = whole if s.ended == 0.0 else min(horizon, whole)
    low, high = s.low_reward * horizon, s.high_reward * horizon
    if s.ended > 0.0:
        low, high = min(0.0, low, s.low_reward), max(0.0, high, s.high_reward)
    elif s.off_policy == 0.0 and s.most_gamma < 1.0:
        span = s.high_past - s.low_past
        low, high = max(low, s.low_past - span), min(high, s.high_past + span)
    return low, high


@part
def expert_values(m: Any, x: Floats, out: Floats, low: float, high: float, own: Floats) -> None:
    """Compute each expert's prediction, clipped to the limits."""
    ready, k = m.number[0].ready > 0.0, 0
    for l in range(m.w.shape[0]):
        for f in range(m.w.shape[1]):
            out[k] = product(m.w[l, f], x) if ready else m.means[2, 0]
            k += 1
    for j in range(m.means.shape[1]):
        out[k] = m.means[2, j]
        k += 1
    for row in (0, 2):
        for j in range(m.gradient.shape[1]):
            out[k] = m.means[2, 0] + product(m.gradient[row, j], x)
            k += 1
    for j in range(own.size):
        out[k] = own[j]
        k += 1
    for k in range(out.size):
        v = out[k]
        out[k] = low if v < low else high if v > high else v if v == v else 0.5 * (low + high)


@part
def product(w: Floats, x: Floats) -> float:
    """The inner product w·x."""
    total = 0.0
    for i in range(x.size):
        total += w[i] * x[i]
    return total


@brief
def predict_row(m: Any, X: Floats, x: Floats, each: Floats, own: Floats) -> float:
    """Predict at an observation, with the mixture and each expert. x is a private buffer, for concurrent calls."""
    s = m.number[0]
    if s.held < HELD:
        mean = s.raw_sum / s.raw_weight if s.raw_weight > 0.0 else 0.0
        each[:] = mean
        return mean
    low, high = limits(s)
    place(m.front, X, x)
    expert_values(m, x, each, low, high, own)
    return product(m.weight, each)


@kernel
def predict_rows(m: Any, X: Floats, x: Floats, out: Floats, each: Floats, own: Floats) -> None:
    """Predict at each observation."""
    for t in range(X.shape[0]):
        out[t] = predict_row(m, X[t], x, each[t], own[t])


# ---- the mixture ---------------------------------------------------------------------------------------------------


@part
def close(m: Any, u_next: float) -> None:
    """Compute the mixture's TD error of the last step and its contribution to each expert's loss."""
    s = m.number[0]
    error = s.reward + s.gamma * u_next - s.u
    delta = s.rho * error
    note_error(m.errors, error, s.gamma, s.rho)
    for k in range(m.trace.size):
        signal = delta * m.trace[k]
        m.sums[1, k] += signal
        m.sums[2, k] += signal * signal


@part
def weigh(m: Any, t: float) -> None:
    """Compute the weights p ∝ exp(-prior - loss / 2 noise)."""
    noise, seen, p, zero = 0.0, 0.0, m.weight, m.w.shape[0] * m.w.shape[1] + m.mean_window.size - 1
    energy, gain, spread = m.sums
    for k in range(p.size):
        if energy[k] > 0.0:
            noise += p[k] * spread[k] / energy[k]
            seen += p[k]
    noise = noise / seen if seen > 0.0 else 0.0
    best = math.inf
    for k in range(p.size):
        own = max(noise, spread[k] / energy[k]) if energy[k] > 0.0 else noise
        score = m.prior[0, k] + m.prior[1, k] * math.log(1.0 + t / m.prior[2, k])
        if k == zero and m.number[0].ended == 0.0:
            score = math.inf
        if own > 0.0:
            score += (energy[k] - 2.0 * gain[k]) / (2.0 * own)
        p[k] = score
        best = min(best, score)
    total = 0.0
    for k in range(p.size):
        p[k] = math.exp(best - p[k])
        total += p[k]
    for k in range(p.size):
        p[k] /= total


# ---- one transition ------------------------------------------------------------------------------------------------


@part
def note(s: Any, reward: float, gamma_next: float, rho: float) -> None:
    """Update the statistics that limit the values."""
    first = s.steps == 1.0
    s.low_reward = reward if first else min(s.low_reward, reward)
    s.high_reward = reward if first else max(s.high_reward, reward)
    s.most_gamma = max(s.most_gamma, gamma_next)
    s.length = 1.0 + s.gamma * s.length if s.under_way > 0.0 else 1.0
    s.longest = max(s.longest, s.length)
    s.ended = 1.0 if gamma_next == 0.0 else s.ended
    s.off_policy = 1.0 if rho != 1.0 else s.off_policy
    s.past, s.past_weight = reward + gamma_next * s.past, 1.0 + gamma_next * s.past_weight
    if gamma_next < 1.0:
        past = s.past / s.past_weight / (1.0 - gamma_next)
        s.low_past = past if s.pasts == 0.0 else min(s.low_past, past)
        s.high_past = past if s.pasts == 0.0 else max(s.high_past, past)
        s.pasts += 1.0


@part
def note_size(s: Any, change: float) -> None:
    """Update the running mean of ln (r - r⁻)², the size of the changes of the reward from step to step."""
    if change != 0.0:
        size = math.log(change * change)
        s.moves += 1.0
        s.size += max(1.0 / s.moves, SIZE_RATE) * min(max(size - s.size, -SIZE_STEP), SIZE_STEP)
        if s.moves == SETTLED:
            s.unit = s.first_unit = s.size
        elif s.moves > SETTLED and s.size < s.unit - FAR:
            s.unit = s.size


@part
def change_coordinates(m: Any) -> None:
    """Change to the current means and deviations, and convert A, b and z, which are linear in x."""
    d = m.z.shape[1] - 1
    for i in range(d):
        factor, shift = moved(m.front, i)
        if factor > 0.0:
            for l in range(m.z.shape[0]):
                m.z[l, i] = factor * m.z[l, i] + shift * m.z[l, d]
                for f in range(m.A.shape[1]):
                    for j in range(d + 1):
                        m.A[l, f, i, j] = factor * m.A[l, f, i, j] + shift * m.A[l, f, d, j]
                    for j in range(d + 1):
                        m.A[l, f, j, i] = factor * m.A[l, f, j, i] + shift * m.A[l, f, j, d]
                    m.b[l, f, i] = factor * m.b[l, f, i] + shift * m.b[l, f, d]
            if m.z.shape[0] > 0:
                for j in range(d + 1):
                    m.S[i, j] = factor * m.S[i, j] + shift * m.S[d, j]
                for j in range(d + 1):
                    m.S[j, i] = factor * m.S[j, i] + shift * m.S[j, d]
            for j in range(m.gradient.shape[1]):
                m.gradient[1, j, i] = factor * m.gradient[1, j, i] + shift * m.gradient[1, j, d]
                for row in (0, 2):  # w·x does not change
                    m.gradient[row, j, i] /= factor
                    m.gradient[row, j, d] -= shift * m.gradient[row, j, i]


@part
def learn_squares(
    m: Any, x: Floats, y: Floats, reward: float, gamma: float, rho: float, evidence: float
) -> None:  # fmt: skip
    """Update the traces, A and b of every λ and window."""
    difference, D = m.room[2], x.size
    for i in range(D):
        difference[i] = x[i] - gamma * y[i]
    decay = min(rho, 1.0) * gamma
    for l in range(m.z.shape[0]):
        z = m.z[l]
        for i in range(D):
            z[i] += evidence * x[i]
        for f in range(m.A.shape[1]):
            keep, A, b = 1.0 - 1.0 / m.window[f], m.A[l, f], m.b[l, f]
            for i in range(D):
                along = rho * z[i]
                b[i] = keep * b[i] + along * reward
                for j in range(D):
                    A[i, j] = keep * A[i, j] + along * difference[j]
        if l == m.z.shape[0] // 2:
            error = rho * (reward - product(m.w[l, 0], difference))
            for i in range(D):
                for j in range(D):
                    m.S[i, j] += error * error * z[i] * z[j]
        for i in range(D):
            z[i] *= decay * m.lam[l]


@part
def learn_gradients(m: Any, x: Floats, reward: float, gamma: float, rho: float) -> None:
    """Update the gradient experts: TD(λ) with normalised steps. `learn_squares` has computed `difference`."""
    s, difference = m.number[0], m.room[2]
    if m.gradient.shape[1] == 0 or s.ready == 0.0:
        return
    norm, t = product(x, x), s.steps
    s.norm += max(1.0 / t, LEAST_RATE) * (norm - s.norm)
    for j in range(m.gradient.shape[1]):
        w, e, average = m.gradient[0, j], m.gradient[1, j], m.gradient[2, j]
        for i in range(x.size):
            e[i] += x[i]
        delta = reward + (gamma - 1.0) * m.means[2, 0] - product(w, difference)
        step = min(m.pace[0, j] / s.norm, 0.5 / max(product(e, difference), norm)) * rho * delta
        decay = min(rho, 1.0) * gamma * m.pace[1, j]
        for i in range(x.size):
            w[i] += step * e[i]
            e[i] *= decay
            average[i] += 2.0 / (t + 1.0) * (w[i] - average[i])


@part
def learn_means(m: Any, reward: float, gamma: float, rho: float) -> None:
    """Update the running means: LSTD(1) on the constant."""
    s = m.number[0]
    s.constant += 1.0
    for j in range(m.mean_window.size):
        if m.mean_window[j] > 0.0:
            keep = 1.0 - 1.0 / m.mean_window[j]
            m.means[0, j] = keep * m.means[0, j] + rho * s.constant * reward
            m.means[1, j] = keep * m.means[1, j] + rho * s.constant * (1.0 - gamma)
            if m.means[1, j] > 0.0:
                m.means[2, j] = m.means[0, j] / m.means[1, j]
    s.constant *= min(rho, 1.0) * gamma


@part
def advance(m: Any, h: Floats) -> None:
    """Learn from one transition, given as a row of `held`."""
    s, x, y, d = m.number[0], m.room[0], m.room[1], m.front.shape[1] - 1
    X, Y, reward, gamma, rho = h[:d], h[d : 2 * d], h[2 * d], h[2 * d + 1], h[2 * d + 2]
    terminated, truncated = h[2 * d + 3] == 1.0, h[2 * d + 3] == 2.0
    s.steps += 1.0
    t, fresh = s.steps, s.under_way == 0.0
    gamma = 0.0 if terminated else gamma
    low, high = limits(s)  # from the transitions before this one
    clips = 0.0
    for i in range(d):
        clips += observe(m.front, i, X[i], t) != X[i]
    seen = observe(m.front, d, reward, t)
    s.clips += clips + (seen != reward)
    reward = seen
    note_size(s, reward - s.reward if t > 1.0 else 0.0)
    note(s, reward, gamma, rho)
    if t == 1.0:
        low = high = 0.0
    if t >= s.rebase:
        s.rebase *= 2.0
        change_coordinates(m)
        take_ridge(m)
        for l in range(m.w.shape[0]):
            for f in range(m.w.shape[1]):
                solve(m, l, f)
        s.ready = 1.0
    place(m.front, X, x)
    expert_values(m, x, m.value, low, high, h[2 * d + 6 : 2 * d + 6 + m.own.shape[1]])
    u = product(m.weight, m.value)
    if not fresh:
        close(m, u)
    keep = (1.0 - 1.0 / t) ** KEPT
    decay = 0.0 if fresh else s.gamma * min(s.rho, 1.0) / s.cut
    evidence = math.exp(s.first_unit - s.unit)
    for k in range(m.value.size):
        c = m.value[k] - u
        c = c if abs(c) > ROUNDING * abs(u) else 0.0
        m.sums[0, k] = keep * m.sums[0, k] + evidence * c * c
        m.sums[1, k] *= keep
        m.sums[2, k] *= keep
        m.trace[k] = decay * m.trace[k] + evidence * c
    if int(t) % SKIPPED == 0:
        row = m.recent[(int(t) // SKIPPED) % RECENT]
        for i in range(x.size):
            row[i] = x[i]
    s.cut += (min(rho, 1.0) - s.cut) / t
    s.u, s.rho, s.reward, s.gamma = u, rho, reward, gamma
    if gamma > 0.0:
        place(m.front, Y, y)
    else:
        y[:] = 0.0
    learn_squares(m, x, y, reward, gamma, rho, evidence)
    learn_gradients(m, x, reward, gamma, rho)
    learn_means(m, reward, gamma, rho)
    s.under_way = 1.0
    if terminated or truncated:
        u_next = 0.0
        if not terminated:
            expert_values(m, y, m.value, low, high, h[2 * d + 6 + m.own.shape[1] :])
            u_next = product(m.weight, m.value)
        close(m, u_next)
        forget(m)
    if s.ready > 0.0:
        take_ridge(m)
        for f in range(m.w.shape[1]):
            for l in range(m.w.shape[0]):
                if t >= m.due[l, f]:
                    m.due[l, f] = t + 1.0 + int(min(t, m.window[f]) / SOLVE_EVERY + (d + 1) / 4)
                    solve(m, l, f)
    if t < 1000.0 or int(t) % 10 == 0:
        weigh(m, t)


@part
def forget(m: Any) -> None:
    """End the episode: set every trace to 0."""
    s = m.number[0]
    m.z[:, :] = 0.0
    m.gradient[1, :, :] = 0.0
    m.trace[:] = 0.0
    m.errors[TRACE] = 0.0
    s.under_way = s.constant = s.past = s.past_weight = 0.0


@kernel
def end(m: Any) -> None:
    """Discard the current episode."""
    s, d = m.number[0], m.front.shape[1] - 1
    if s.held == HELD:
        forget(m)
    elif s.held > 0.0 and m.held[int(s.held) - 1, 2 * d + 3] == 0.0:
        m.held[int(s.held) - 1, 2 * d + 5] = 1.0


@part
def median(values: Floats) -> float:
    """The median, after sorting in place."""
    for i in range(1, values.size):
        v, j = values[i], i
        while j > 0 and values[j - 1] > v:
            values[j] = values[j - 1]
            j -= 1
        values[j] = v
    return 0.5 * (values[values.size // 2] + values[(values.size - 1) // 2])


@part
def take_medians(m: Any) -> None:
    """Set means and largest deviations from the medians of the transitions held back."""
    d = m.front.shape[1] - 1
    some = m.held[:, 2 * d + 4]
    for i in range(d + 1):
        column = i if i < d else 2 * d
        for t in range(HELD):
            some[t] = m.held[t, column]
        middle = median(some)
        m.front[MEAN, i] = middle
        for t in range(HELD):
            some[t] = abs(m.held[t, column] - middle)
        m.front[LARGEST_DEVIATION, i] = 3.0 * 1.48 * median(some)


@part
def take(
    m: Any, X: Floats, Y: Floats, reward: float, gamma: float, rho: float, terminated: bool, truncated: bool
) -> None:  # fmt: skip
    """Hold back one of the first transitions, or learn from a later one."""
    s, d = m.number[0], X.size
    held = int(s.held)
    h = m.held[held if held < HELD else 0]
    for i in range(d):
        h[i], h[d + i] = X[i], Y[i]
    h[2 * d], h[2 * d + 1], h[2 * d + 2], h[2 * d + 5] = reward, gamma, rho, 0.0
    h[2 * d + 3] = 1.0 if terminated else 2.0 if truncated else 0.0
    for i in range(m.own.shape[1]):
        h[2 * d + 6 + i], h[2 * d + 6 + m.own.shape[1] + i] = m.own[0, i], m.own[1, i]
    now = 1
    if held < HELD:
        s.raw_sum += reward
        s.raw_weight += 1.0 - (0.0 if terminated else gamma)
        s.held += 1.0
        now = HELD if held + 1 == HELD else 0
        if now > 0:
            take_medians(m)
    for t in range(now):
        advance(m, m.held[t])
        if m.held[t, 2 * d + 5] > 0.0:
            forget(m)


@brief
def learn_row(
    m: Any, counts: Array, X: Floats, Y: Floats, reward: float, gamma: float, rho: float, terminated: bool,
    truncated: bool,
) -> int:  # fmt: skip
    """Learn from one transition; return 1, or -1 without any change if it is invalid."""
    d = m.front.shape[1] - 1
    if X.size != d or Y.size != d or check(reward, gamma, rho) != OK or not (finite(X) and finite(Y)):
        return -1
    if abs(reward) > MOST_REWARD:
        return -1
    counts[0].seen += 1
    take(m, X, Y, reward, gamma, rho, terminated, truncated)
    return 1


@kernel
def learn_rows(
    m: Any, counts: Array, X: Floats, Y: Floats, reward: Floats, gamma: Floats, rho: Floats, terminated: Bools,
    truncated: Bools,
) -> None:  # fmt: skip
    """Learn from validated transitions, in order."""
    for t in range(reward.size):
        learn_row(m, counts, X[t], Y[t], reward[t], gamma[t], rho[t], terminated[t], truncated[t])


@part
def finite(x: Floats) -> bool:
    """Whether |x|² is finite."""
    total = 0.0
    for i in range(x.size):
        total += x[i] * x[i]
    return total < math.inf

"""Functions that generated modules import: decorators that compile, and loops that do not depend on a declaration."""

from __future__ import annotations

import numpy as np

from tdlambda.compiled import brief, called, entry, inlined, kernel, lanewise, loop, summing

__all__ = ["brief", "called", "entry", "inlined", "kernel", "lanewise", "loop", "summing"]

DENSE_SIZE = 128
"""Up to this many features, visiting all of them is faster than keeping a list (benchmarks/online.py)."""
PRUNED_EVERY, SELDOM = 16, 64
"""Steps between searches for negligible traces: with a list of live features, and with few features."""
SMALL = 1 / 64
"""The lazy schedule multiplies a common factor into the rows when it is below this, or above its inverse: see
`schedules.lazy`."""
NEGLIGIBLE = 1e-100
"""With few features, lanes drop traces below this, because arithmetic with subnormal numbers is slow."""
TURNS = 100
"""The weights of a mixture may change every max(TURNS, number of features) steps."""
RUNAWAY = 2.0
"""An estimate of a mixture restarts when a prediction exceeds this multiple of the largest possible value."""
TERMINATED, TRUNCATED = 1, 2
"""Flags in one integer, because Python passes an integer much faster than two booleans."""
OK, REWARD, GAMMA_RANGE, RHO_RANGE, OBS, NEXT_OBS, OBS_VALUES, NEXT_OBS_VALUES, IN_USE, DIVERGED = range(10)
"""Status codes that entry points of a generated module return: what was invalid, or what happened."""
COUNTERS = (
    "steps",
    "under_way",
    "n_live",
    "diverged_at",
    "size",
    "z_size",
    "warm_up",
    "since",
    "length",
    "longest",
    "busy",
    "dimensions",
)
"""Integers that every learner has. `under_way`: whether an episode has begun; `since`: steps since a rule's last call
at all features; `length`, `longest`: steps of this episode and of the longest one so far; `busy`: whether `update_many`
is running."""
LIMITS = ("tolerance", "bound", "factor", "start", "most_reward", "most_gamma", "most_rho", "td_error", "last_lam")
"""Numbers that every learner has; `factor` to `most_rho` determine the largest prediction allowed: see `allowed`."""
LARGEST = {"float64": 1e150, "float32": 1e38}
"""A weight beyond this counts as divergence: |x|² is finite, so |x| < 1.4e154, and w·x cannot overflow within it."""


# ---- checks --------------------------------------------------------------------------------------------------------


@inlined
def check(reward, gamma, rho):
    """Whether a transition's numbers are valid, as a status code."""
    if not abs(reward) < np.inf:
        return REWARD
    if not 0.0 <= gamma <= 1.0:
        return GAMMA_RANGE
    if not 0.0 <= rho < np.inf:
        return RHO_RANGE
    return OK


@inlined
def check_features(index, value, size, bad_index, bad_value):
    """Whether one observation's features are valid, as a status code: OK, `bad_index` or `bad_value`."""
    norm = 0.0
    for j in range(len(index)):
        if index[j] < 0 or index[j] >= size:
            return bad_index
        norm += value[j] * value[j]
    return OK if norm < np.inf else bad_value


@inlined
def first_bad(reward, gamma, rho):
    """(status code, row) of the first transition whose numbers are out of range; (OK, 0) if there is none."""
    good = True
    for t in range(reward.size):  # a first pass without branches, so that the compiler can vectorise it
        good &= (abs(reward[t]) < np.inf) & (gamma[t] >= 0.0) & (gamma[t] <= 1.0)
        good &= (rho[t] >= 0.0) & (rho[t] < np.inf)
    if not good:
        for t in range(reward.size):
            status = check(reward[t], gamma[t], rho[t])
            if status != OK:
                return status, t
    return OK, 0


# ---- divergence ----------------------------------------------------------------------------------------------------


@inlined
def horizon(gamma, longest):
    """The largest return in units of the largest reward: 1/(1 - γ), or 10 times the longest episode if that is less."""
    return min(10.0 * longest, 1.0 / (1.0 - gamma)) if gamma < 1.0 else 10.0 * longest


@inlined
def largest_value(s, reward, gamma_next, rho):
    """The largest value that the rewards and discounts so far allow, this step included."""
    s.most_reward = max(s.most_reward, abs(reward))
    s.most_gamma = max(s.most_gamma, gamma_next)
    s.most_rho = max(s.most_rho, rho)
    s.length = s.length + 1 if s.under_way else 1
    s.longest = max(s.longest, s.length)
    return s.most_reward * horizon(s.most_gamma, s.longest)


@inlined
def allowed(s, reward, gamma_next, rho, yv, n):
    """The largest prediction at x' that does not count as divergence: a multiple of the largest possible value."""
    scale = largest_value(s, reward, gamma_next, rho)
    if s.start > 0.0:
        y1 = 0.0
        for j in range(n):
            y1 += abs(yv[j])
        scale += s.start * y1
    return s.factor * scale


@inlined
def allowed_square(limit, rho):
    """The limit of a variance or second moment; ρ is the largest ratio if returns include their ratios, else 0."""
    return (limit * max(1.0, rho)) ** 2


@kernel
def confine(row, bound):
    """Make a row finite: ±∞ becomes ±bound, and NaN becomes 0."""
    for f in range(row.size):
        if not abs(row[f]) < np.inf:
            row[f] = bound if row[f] > 0 else -bound if row[f] < 0 else 0.0


# ---- one learner ---------------------------------------------------------------------------------------------------


@inlined
def dot(row, index, value, n):
    """Row · x, for x given by its first n active features."""
    total = 0.0
    for j in range(n):
        total += value[j] * row[index[j]]
    return total


@inlined
def squared(value, n):
    """x · x."""
    total = 0.0
    for j in range(n):
        total += value[j] ** 2
    return total


@inlined
def scheduled(scale, offset, power, n):
    """The n-th step size of a schedule."""
    return scale / (offset + n) ** power


@inlined
def mean_visits(visits, index, value):
    """Count a visit of the active features; return the mean of their counts, weighted by x²."""
    n, norm = 0.0, 0.0
    for j in range(len(index)):
        if value[j] != 0:
            visits[index[j]] += 1
    for j in range(len(index)):
        n += value[j] ** 2 * visits[index[j]]
        norm += value[j] ** 2
    return n / norm if norm > 0 else 1.0


@inlined
def enliven(order, listed, n_live, index, n):
    """Add the active features to the list of live features; return its new length."""
    for j in range(n):
        f = index[j]
        if not listed[f]:
            listed[f] = 1
            order[n_live] = f
            n_live += 1
    return n_live


@inlined
def repeated(index, j):
    """Whether the j-th active feature has the same index as an earlier one."""
    for i in range(j):
        if index[i] == index[j]:
            return True
    return False


@inlined
def gathered(index, value, j, n):
    """The total value of the j-th active feature, including later entries with the same index."""
    total = 0.0
    for i in range(j, n):
        if index[i] == index[j]:
            total += value[i]
    return total


@inlined
def absolute(value, n):
    """Σ |x|, which bounds the entries of x where equal indices add."""
    total = 0.0
    for j in range(n):
        total += abs(value[j])
    return total


@inlined
def increasing(index, n):
    """Whether indices are strictly increasing, so that none occurs twice."""
    for j in range(1, n):
        if index[j] <= index[j - 1]:
            return False
    return True


@inlined
def norm(index, value, n):
    """x · x, where equal indices add."""
    if increasing(index, n):
        return squared(value, n)
    total = 0.0
    for j in range(n):
        if not repeated(index, j):
            total += gathered(index, value, j, n) ** 2
    return total


@inlined
def value_at(index, value, n, f, guess):
    """The value of feature f; `guess` is the position to try first."""
    if guess < n and index[guess] == f and increasing(index, n):
        return value[guess]
    total = 0.0
    for j in range(n):
        if index[j] == f:
            total += value[j]
    return total


@inlined
def cross(index, value, n, index_next, value_next, n_next):
    """x · x'."""
    total = 0.0
    for j in range(n):
        total += value[j] * value_at(index_next, value_next, n_next, index[j], j)
    return total


# ---- lanes ---------------------------------------------------------------------------------------------------------


@inlined
def apart(index, n):
    """Whether the active features are known to be distinct; False without a check if there are more than 8."""
    if n > 8:
        return False
    for j in range(n):
        for k in range(j):
            if index[j] == index[k]:
                return False
    return True


@lanewise
def copy(out, row):
    """out = row."""
    for l in range(out.size):
        out[l] = row[l]


@lanewise
def fill(out, number):
    """out = number, in every lane."""
    for l in range(out.size):
        out[l] = number


@lanewise
def copy_where(out, row, where):
    """out = row in the lanes where `where` is positive."""
    for l in range(out.size):
        out[l] = row[l] if where[l] > 0 else out[l]


@lanewise
def fill_where(out, number, where):
    """out = number in the lanes where `where` is positive."""
    for l in range(out.size):
        out[l] = number if where[l] > 0 else out[l]


@lanewise
def product(out, a, b):
    """out = a b, lane by lane."""
    for l in range(out.size):
        out[l] = a[l] * b[l]


@lanewise
def spread(out, row, where):
    """out[lane] = row[where[lane]], for numbers that several lanes share."""
    for l in range(out.size):
        out[l] = row[where[l]]


@lanewise
def add_scaled(out, row, scale):
    """out += scale · row."""
    for l in range(out.size):
        out[l] += scale * row[l]


@lanewise
def set_scaled(out, row, scale):
    """out = scale · row."""
    for l in range(out.size):
        out[l] = scale * row[l]


@lanewise
def set_scheduled(out, scale, offset, power, n):
    """out = the n-th step size of each lane's schedule."""
    for l in range(out.size):
        out[l] = scheduled(scale[l], offset[l], power[l], n)


@lanewise
def dot4(out, a, b, c, d, va, vb, vc, vd):
    """out = va a + vb b + vc c + vd d, the first four terms of a dot product."""
    for l in range(out.size):
        out[l] = va * a[l] + vb * b[l] + vc * c[l] + vd * d[l]


@inlined
def dot_lanes(out, F, row, index, value, n):
    """out = row · x."""
    first = 1
    if n == 0:
        fill(out, 0.0)
    elif n < 4:
        set_scaled(out, F[index[0], row], value[0])
    else:
        first = 4
        dot4(
            out, F[index[0], row], F[index[1], row], F[index[2], row], F[index[3], row],
            value[0], value[1], value[2], value[3],
        )  # fmt: skip
    while first + 4 <= n:  # four features at a time, so that the sum stays in a register; the order of terms is kept
        a, b, c, d = index[first], index[first + 1], index[first + 2], index[first + 3]
        add4(
            out, F[a, row], F[b, row], F[c, row], F[d, row],
            value[first], value[first + 1], value[first + 2], value[first + 3],
        )  # fmt: skip
        first += 4
    for j in range(first, n):
        add_scaled(out, F[index[j], row], value[j])


@lanewise
def add4(out, a, b, c, d, va, vb, vc, vd):
    """out += va a + vb b + vc c + vd d."""
    for l in range(out.size):
        out[l] = out[l] + va * a[l] + vb * b[l] + vc * c[l] + vd * d[l]


@lanewise
def add_product(out, a, b):
    """out += a b."""
    for l in range(out.size):
        out[l] += a[l] * b[l]


@lanewise
def add_products(out, a, b, c, d, e, f, g, h):
    """out += a b + c d + e f + g h."""
    for l in range(out.size):
        out[l] = out[l] + a[l] * b[l] + c[l] * d[l] + e[l] * f[l] + g[l] * h[l]


@inlined
def dot_live(out, F, a, b, order, n):
    """out = row a · row b over the live features."""
    fill(out, 0.0)
    fours = n - n % 4
    for k in range(0, fours, 4):
        f, g, h, i = order[k], order[k + 1], order[k + 2], order[k + 3]
        add_products(out, F[f, a], F[f, b], F[g, a], F[g, b], F[h, a], F[h, b], F[i, a], F[i, b])
    for k in range(fours, n):
        f = order[k]
        add_product(out, F[f, a], F[f, b])


@lanewise
def larger(largest, row):
    """largest = max(largest, |row|)."""
    for l in range(row.size):
        size = abs(row[l])
        largest[l] = size if size > largest[l] else largest[l]


@lanewise
def most(row):
    """The largest |entry| of a row."""
    largest = 0.0
    for l in range(row.size):
        largest = max(largest, abs(row[l]))
    return largest


@lanewise
def count_above(largest, limit):
    """Number of lanes above their limit."""
    above = 0
    for l in range(limit.size):
        above += largest[l] > limit[l]
    return above


@lanewise
def count_beyond(row, limit):
    """Number of lanes that are not within ± their limit; NaN counts."""
    beyond = 0
    for l in range(limit.size):
        beyond += not abs(row[l]) <= limit[l]
    return beyond


@lanewise
def clear_small(row, largest, limit):
    """Set the row to 0 in the lanes whose largest trace is within the limit."""
    for l in range(row.size):
        row[l] = row[l] if largest[l] > limit[l] else 0.0


@lanewise
def allow(value, square, factor, start, scale, y1, rho):
    """Write the largest prediction of each lane that does not count as divergence, for a value and for a square."""
    for l in range(value.size):
        value[l] = factor[l] * (scale + start[l] * y1)
        square[l] = allowed_square(value[l], rho)


@lanewise
def note_largest(most_reward, most_gamma, most_rho, reward, gamma_next, rho):
    """Update each lane's largest reward, discount and ratio; return the number of lanes where one of them grew."""
    new = 0
    for l in range(most_reward.size):
        new += (abs(reward[l]) > most_reward[l]) | (gamma_next[l] > most_gamma[l]) | (rho[l] > most_rho[l])
        most_reward[l] = max(most_reward[l], abs(reward[l]))
        most_gamma[l] = max(most_gamma[l], gamma_next[l])
        most_rho[l] = max(most_rho[l], rho[l])
    return new


@lanewise
def allow_own(value, square, factor, start, most_reward, most_gamma, most_rho, longest, y1, corrected):
    """The same as `allow`, where each lane has its own rewards and discounts."""
    for l in range(value.size):
        value[l] = factor[l] * (most_reward[l] * horizon(most_gamma[l], longest) + start[l] * y1)
        square[l] = allowed_square(value[l], most_rho[l] if corrected else 0.0)


@lanewise
def add_square(out, v, truth, weight):
    """out += weight (v - truth)²."""
    for l in range(out.size):
        out[l] += weight * (v[l] - truth) ** 2


@kernel
def read_errors(out, F, scratch, index, value, truth, weight):
    """Write Σ weight (V - truth)² of every lane; the states are given by their features."""
    fill(out, 0.0)
    for s in range(truth.size):
        dot_lanes(scratch, F, 0, index[s], value[s], index.shape[1])
        add_square(out, scratch, truth[s], weight[s])

"""The compiled part of `stacking`: predictors, known returns, and the weights that fit them best."""

from __future__ import annotations

import math
from typing import NamedTuple

from tdlambda.arrays import Array, Bools, Floats, Ints
from tdlambda.compiled import kernel, part
from tdlambda.streams.turns import is_turn

LEARNED, NEAR, AVERAGE, FIRST = range(4)
"""Predictors: the learner; the neighbours; the running mean. From FIRST on: readings times their factor."""
NEIGHBOURS, FEWEST = 15, 20
"""Number of nearest neighbours, and of stored rows from which on they are used."""
WINDOW = 2000.0
"""Rows over which the scales of distances are averaged."""
SPAN = 0.5
"""A reading's prediction may leave the range of the discounted sums so far by this fraction of it."""
CUT, WARM = 4.0, 8.0
"""Errors larger than CUT root mean squares of the best predictor's count as that much, after WARM errors."""
RETURN, SUM, MEAN, MAX = range(4)
"""What is predicted: a discounted sum; or the sum, mean or maximum of a window of H steps."""
FORGET, SHORTEST = 0.5, 30.0
"""Errors are averaged over this fraction of the steps so far, and over at least so many steps."""
OVERLAP = 2.0
"""Returns within so many horizons count as one."""
ITERATIONS = 4
"""Changes of the weights after each error."""

NUMBERS = (
    "steps head count "  # steps; open predictions: index of the oldest, how many
    "errors evidence "  # their number, and with forgetting
    "of scale "  # what is predicted; the factor of the learner's predictions
    "horizon stride "  # Σ γ^k; about how many steps lie between two errors
    "stored kept rows "  # rows among the neighbours; whether `last` is valid; steps of all streams
    "answers total past past_weight low high"  # sums of answers and rewards; discounted past rewards, their range
)


class Stack(NamedTuple):
    """The arrays of K predictors from d readings, of which the first m are compared by the neighbours."""

    reading: Ints
    """Of predictor FIRST + k: its reading [K - FIRST]."""
    factor: Floats
    open_value: Floats
    """Predictions whose return is not known: a ring [H, K]."""
    open_x: Floats
    open_step: Floats
    """Their readings [H, m], and the reward and γ' that followed [H, 2]."""
    products: Floats
    """Sums of products of errors [K, K]."""
    weight: Floats
    prior: Floats
    near_x: Floats
    """Readings of the stored rows [m, M], a ring, and their returns [M]."""
    near_return: Floats
    moments: Floats
    """Running means and variances of the readings [2, m]."""
    last: Floats
    """Readings of the last row, and its neighbours' prediction [m + 1]."""
    value: Floats
    """Scratch [K]"""
    distance: Floats
    """Scratch [M]"""
    nearest: Floats
    """Scratch [NEIGHBOURS, (distance, row)]"""
    number: Array
    """One record of `NUMBERS`."""


class StackColumns(NamedTuple):
    """Consecutive transitions."""

    x: Floats
    y: Floats
    learned: Floats
    """The learner's predictions at both before its update [transition, 2]."""
    reward: Floats
    gamma: Floats
    ended: Bools
    followed: Bools
    """Whether the next transition belongs to the same episode."""
    found: Floats
    """Receives the predictions [transition, 2]; see `step`."""


@part
def nearest_rows(s: Stack, x: Floats) -> int:
    """Find the stored rows nearest to x; return how many."""
    n, found = int(min(s.number[0].stored, s.distance.size)), 0
    for i in range(n):
        s.distance[i] = 0.0
    for j in range(s.near_x.shape[0]):
        mean, square = s.moments[0, j], s.moments[1, j]
        if square > 1e-24 * mean * mean:
            row, scale, v = s.near_x[j], 1.0 / square, x[j]
            for i in range(n):
                s.distance[i] += scale * (v - row[i]) * (v - row[i])
    for i in range(n):
        v = s.distance[i]
        if found < NEIGHBOURS or v < s.nearest[found - 1, 0]:
            k = min(found, NEIGHBOURS - 1)
            found = min(found + 1, NEIGHBOURS)
            while k > 0 and s.nearest[k - 1, 0] > v:
                s.nearest[k, 0], s.nearest[k, 1] = s.nearest[k - 1, 0], s.nearest[k - 1, 1]
                k -= 1
            s.nearest[k, 0], s.nearest[k, 1] = v, i
    return found


@part
def near(s: Stack, x: Floats) -> float:
    """The mean return of the rows nearest to x, weighted by exp(-d²/d²_farthest); NaN if there are few rows."""
    if s.number[0].stored < FEWEST or s.distance.size == 0:
        return math.nan
    m = s.near_x.shape[0]
    same = s.number[0].kept > 0.0
    for j in range(m):
        same &= s.last[j] == x[j]
    if same:
        return float(s.last[m])
    n = nearest_rows(s, x)
    farthest, total, weight = s.nearest[n - 1, 0], 0.0, 0.0
    for k in range(n):
        w = math.exp(-s.nearest[k, 0] / farthest) if farthest > 0.0 else 1.0
        total += w * s.near_return[int(s.nearest[k, 1])]
        weight += w
    return total / weight


@part
def combined(s: Stack) -> float:
    """The combination of the predictions in `value`."""
    total = 0.0
    for k in range(s.value.size):
        total += s.weight[k] * s.value[k]
    return total


@part
def predictions(s: Stack, x: Floats, learned: float) -> float:
    """Write every predictor's prediction into `value`; return the combination."""
    n, value = s.number[0], s.value
    learned *= n.scale
    average = learned
    if n.of == MAX:
        average = n.answers / n.errors if n.errors > 0.0 else learned
    elif n.steps > 0.0:
        average = n.total / n.steps * n.horizon
    value[LEARNED], value[AVERAGE] = learned, average
    v = near(s, x)
    value[NEAR] = v if v == v else average
    margin = SPAN * (n.high - n.low)
    for k in range(s.reading.size):
        v = s.factor[k] * x[s.reading[k]]
        if n.steps > 0.0:
            v = min(max(v, n.low - margin), n.high + margin)
        value[FIRST + k] = v
    return combined(s)


@part
def weigh(s: Stack) -> None:
    """Move the weights towards the convex combination with the smallest squared error.

    The error of a combination w is wᵀ A w, A the mean products of errors. A penalty, which falls with the number of
    independent returns, keeps w near the prior. Each change moves weight between the two predictors where this helps
    most.
    """
    A, w, n, K = s.products, s.weight, s.number[0].evidence, s.weight.size
    best = A[0, 0]
    for k in range(K):
        best = min(best, A[k, k])
    best = max(best / n, 1e-300)
    penalty = best * OVERLAP * s.number[0].horizon / n
    for _ in range(ITERATIONS):
        down, up, low, high = 0, 0, math.inf, -math.inf
        for k in range(K):
            slope = 0.0
            for j in range(K):
                slope += A[k, j] * w[j]
            slope = slope / n + penalty * (w[k] - s.prior[k])
            if slope < low:
                low, up = slope, k
            if w[k] > 0.0 and slope > high:
                high, down = slope, k
        if not high - low > 1e-9 * best:
            return
        curve = (A[up, up] + A[down, down] - 2.0 * A[up, down]) / n + 2.0 * penalty
        move = min((high - low) / curve, w[down]) if curve > 0.0 else w[down]
        w[down] -= move
        w[up] += move


@part
def note_errors(s: Stack, value: Floats, answer: float) -> None:
    """Add the errors of predictions of one return; an outlier among returns is scaled down for all alike."""
    n, K = s.number[0], value.size
    least, best = abs(value[0] - answer), s.products[0, 0]
    for k in range(K):
        least = min(least, abs(value[k] - answer))
        best = min(best, s.products[k, k])
    scale = 1.0
    if n.errors >= WARM:
        most = CUT * math.sqrt(best / n.evidence)
        scale = most / least if least > most else 1.0
    n.errors += 1.0
    keep = 1.0 - n.stride / max(FORGET * n.steps, max(SHORTEST, n.stride))
    n.evidence = keep * n.evidence + n.stride
    for k in range(K):
        e = n.stride * scale * scale * (value[k] - answer)
        for j in range(K):
            s.products[k, j] = keep * s.products[k, j] + e * (value[j] - answer)
    weigh(s)


@part
def known(s: Stack, head: int, count: int, bootstrap: float) -> float:
    """The answer to the oldest open prediction."""
    H, of, answer = s.open_value.shape[0], s.number[0].of, bootstrap
    if of == RETURN:
        for k in range(count - 1, -1, -1):
            i = (head + k) % H
            answer = s.open_step[i, 0] + s.open_step[i, 1] * answer
        return answer
    answer = s.open_step[head, 0]
    for k in range(1, count):
        v = s.open_step[(head + k) % H, 0]
        answer = max(answer, v) if of == MAX else answer + v
    return answer / count if of == MEAN else answer


@part
def close(s: Stack, bootstrap: float) -> None:
    """The return of the oldest open prediction is known."""
    n, H, M = s.number[0], s.open_value.shape[0], s.distance.size
    head, count = int(n.head), int(n.count)
    n.head, n.count = (head + 1) % H, count - 1
    if not is_turn(n.steps - count, n.stride):
        return
    answer = known(s, head, count, bootstrap)
    n.answers += answer
    if M > 0:
        at = int(n.stored % M)
        for j in range(s.near_x.shape[0]):
            s.near_x[j, at] = s.open_x[head, j]
        s.near_return[at] = answer
        n.stored += 1.0
    note_errors(s, s.open_value[head], answer)


@part
def note_row(s: Stack, x: Floats, reward: float, gamma: float) -> None:
    """Update the scales of distances, and the range of discounted sums."""
    n = s.number[0]
    n.steps += 1.0
    n.rows += 1.0
    rate = max(1.0 / n.rows, 1.0 / WINDOW)
    for j in range(s.near_x.shape[0]):
        d = x[j] - s.moments[0, j]
        s.moments[0, j] += rate * d
        s.moments[1, j] += rate * ((1.0 - rate) * d * d - s.moments[1, j])
    n.total += reward
    n.past, n.past_weight = reward + gamma * n.past, 1.0 + gamma * n.past_weight
    past = n.past / n.past_weight * n.horizon
    n.low = past if n.steps == 1.0 else min(n.low, past)
    n.high = past if n.steps == 1.0 else max(n.high, past)


@part
def step(
    s: Stack, x: Floats, y: Floats, learned: Floats, reward: float, gamma: float, ended: bool, followed: bool,
    found: Floats,
) -> None:  # fmt: skip
    """Learn from a transition; write the predictions at x, and at y with what is known then, into `found`."""
    n, H = s.number[0], s.open_value.shape[0]
    found[0] = predictions(s, x, learned[0])
    i = int(n.head + n.count) % H
    for k in range(s.value.size):
        s.open_value[i, k] = s.value[k]
    for j in range(s.near_x.shape[0]):
        s.open_x[i, j] = x[j]
    s.open_step[i, 0], s.open_step[i, 1] = reward, 0.0 if ended else gamma
    n.count += 1.0
    note_row(s, x, reward, gamma)
    n.kept = 0.0
    found[1] = predictions(s, y, learned[1])
    while n.count > 0.0 and ((ended and n.of == RETURN) or n.count >= H):
        close(s, found[1])
    if not followed:
        n.count = 0.0
    found[1] = combined(s)
    for j in range(s.near_x.shape[0]):
        s.last[j] = y[j]
    s.last[s.near_x.shape[0]] = s.value[NEAR]
    n.kept = 1.0 if n.stored >= FEWEST else 0.0


@kernel
def follow(s: Stack, c: StackColumns) -> None:
    """Learn from consecutive transitions."""
    for t in range(c.reward.size):
        step(s, c.x[t], c.y[t], c.learned[t], c.reward[t], c.gamma[t], c.ended[t], c.followed[t], c.found[t])


@kernel
def combine(s: Stack, X: Floats, learned: Floats, found: Floats) -> None:
    """The combinations at observations, given the learner's predictions."""
    for t in range(learned.size):
        found[t] = predictions(s, X[t], learned[t])

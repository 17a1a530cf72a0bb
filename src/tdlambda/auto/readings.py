"""Vectors of readings as features for all families: a constant, robust coordinates, and random cosines.

The first HELD transitions are held back until the medians of their readings are known: see `coordinates`. The cosines
cos(a·z + b) are those of `td.features.RandomFourier`: z is a reading minus a centre, divided by a scale, clipped to ±5.
Centres and scales are means and deviations of the first REFITS transitions; at each of these steps, the systems are
computed anew from all transitions so far. After the last, they are fixed, unless the coordinates move by a factor of
FAR_OFF: then the systems with cosines restart.

g, the unit of evidence, is 1 unless the scale of rewards falls: if r - r⁻ becomes a hundred times smaller, old evidence
would outweigh all new evidence, so new evidence gets a larger g.

`f` is `Readings`.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from tdlambda.arrays import Array, Floats, Ints
from tdlambda.auto.coordinates import CENTER, LARGEST, MEAN, SCALE, SQUARE, clipped, moved, observe
from tdlambda.auto.families.least_squares import Systems, add_blocks, add_row, lanewise
from tdlambda.auto.families.least_squares import learn as learn_systems
from tdlambda.features.random_features import FARTHEST

HELD = 32
"""Number of initial transitions held back until the medians of their readings are known."""
REFITS = (32, 128, 512)
"""Steps at which the centres and scales of the cosines are computed."""
FAR_OFF = 3.0
"""The cosines' scales are computed anew if a coordinate's differs by this factor, or its centre by this many scales."""
CHECKED = 50
"""Steps between two checks of that."""
INTEGERS = 1.5 * 2.0**52
"""Adding it rounds to integers: larger doubles have no fractional part."""
SINE = tuple((-1.0) ** k / math.factorial(2 * k + 1) for k in range(11))
"""Taylor coefficients of the sine; within ±π/2 the next term is below 10⁻¹⁷."""
SETTLED, FAR = 200.0, 4.0
"""After SETTLED changes of the reward, their size is the unit of evidence; if it falls by e^FAR, so does the unit."""
SIZE_RATE, SIZE_STEP = 0.02, 4.0
"""Smallest step size of the running mean of ln size, and the largest error that it takes into account."""

NUMBERS = np.dtype([(name, "f8") for name in (
    "held", "steps", "rebase", "raw_sum", "raw_weight", "last_reward", "moves", "size", "unit", "first_unit", "clips",
)])  # fmt: skip
REWARD, GAMMA, RHO, ENDED, RESET, MORE = range(6)
"""Entries of a row of `past` after x and x': r, γ', ρ, how it ended (1 terminated, 2 truncated), whether the episode
was reset after it; then predictions of the user's own experts at x and x'."""


class Readings(NamedTuple):
    """The arrays of d readings, of which n - d - 1 cosines are computed."""

    moments: Floats
    """See `coordinates` [., d + 1]; the reward is last."""
    past: Floats
    """The first transitions [REFITS[-1] or HELD, 2 d + MORE + 2 own]."""
    directions: Floats
    """a and b of the cosines, in turns [d + 1, n - d - 1]."""
    fixed: Floats
    """Centres and inverse scales of the cosines' readings [2, d]."""
    moved: Floats
    """The last change of coordinates [2, d]: new = factor old + shift; a factor of 0 stands for no change."""
    x: Floats
    """Features of x, and of x' [2, n]."""
    scratch: Floats
    """[HELD]"""
    positions: Ints
    """0, 1, 2, … [n]"""
    number: Array
    """One record of `NUMBERS`."""


def place(f: Readings, X: Floats, out: Floats) -> None:
    """Write the features of an observation into `out`: 1, coordinates, cosines."""
    d = X.size
    out[0] = 1.0
    for i in range(d):
        scale = f.moments[SCALE, i]
        out[1 + i] = (clipped(f.moments, i, X[i]) - f.moments[CENTER, i]) / scale if scale > 0.0 else 0.0
    m = f.directions.shape[1]
    if m > 0:
        turns = out[1 + d :]
        for k in range(m):
            turns[k] = f.directions[d, k]
        for i in range(d):
            z = (clipped(f.moments, i, X[i]) - f.fixed[0, i]) * f.fixed[1, i]
            add_row(turns, f.directions[i], min(max(z, -FARTHEST), FARTHEST), 0, m)
        take_cosines(turns)


@lanewise
def take_cosines(turns: Floats) -> None:
    """Replace t by √2 cos 2πt = √2 (1 - 2 sin² πt), without a call for each, so that the loop can be vectorised."""
    for k in range(turns.size):
        whole = (turns[k] + INTEGERS) - INTEGERS
        a = math.pi * (turns[k] - whole)
        b = a * a
        s = SINE[8] + b * (SINE[9] + b * SINE[10])
        s = SINE[4] + b * (SINE[5] + b * (SINE[6] + b * (SINE[7] + b * s)))
        s = a * (SINE[0] + b * (SINE[1] + b * (SINE[2] + b * (SINE[3] + b * s))))
        turns[k] = math.sqrt(2.0) * (1.0 - 2.0 * s * s)


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


def observe_row(f: Readings, row: Floats) -> float:
    """Update the moments with a transition; return its reward after clipping."""
    s, d = f.number[0], f.moments.shape[1] - 1
    s.steps += 1.0
    clips = 0.0
    for i in range(d):
        clips += observe(f.moments, i, row[i], s.steps) != row[i]
    reward = observe(f.moments, d, row[2 * d + REWARD], s.steps)
    s.clips += clips + (reward != row[2 * d + REWARD])
    note_size(s, reward - s.last_reward if s.steps > 1.0 else 0.0)
    s.last_reward = reward
    return reward


def change_coordinates(f: Readings, q: Systems) -> None:
    """Change to the current means and deviations, and convert A, b and z, which are linear in x."""
    add_blocks(q)
    for i in range(f.moments.shape[1] - 1):
        factor, shift = moved(f.moments, i)
        f.moved[0, i], f.moved[1, i] = factor, shift
        if factor > 0.0:
            for s in range(q.lam.size):
                n, start = q.size[s], q.start[s]
                q.z[s, 1 + i] = factor * q.z[s, 1 + i] + shift * q.z[s, 0]
                q.b[s, 1 + i] = factor * q.b[s, 1 + i] + shift * q.b[s, 0]
                for j in range(n):
                    at, of = start + (1 + i) * n + j, start + j
                    q.A[at] = factor * q.A[at] + shift * q.A[of]
                for j in range(n):
                    at, of = start + j * n + 1 + i, start + j * n
                    q.A[at] = factor * q.A[at] + shift * q.A[of]
            for j in range(q.S.shape[0]):
                q.S[1 + i, j] = factor * q.S[1 + i, j] + shift * q.S[0, j]
            for j in range(q.S.shape[0]):
                q.S[j, 1 + i] = factor * q.S[j, 1 + i] + shift * q.S[j, 0]


def take_penalties(f: Readings, q: Systems) -> None:
    """Compute the penalties in the current coordinates."""
    for i in range(f.moments.shape[1] - 1):
        scale = f.moments[SCALE, i]
        q.q[1 + i] = max(1e-6, f.moments[SQUARE, i] / (scale * scale)) if scale > 0.0 else 1.0


def fit_cosines(f: Readings) -> None:
    """Set the cosines' centres and scales to the current means and deviations."""
    for i in range(f.moments.shape[1] - 1):
        deviation = math.sqrt(f.moments[SQUARE, i])
        f.fixed[0, i] = f.moments[MEAN, i]
        f.fixed[1, i] = 1.0 / deviation if deviation > 1e-12 * abs(f.moments[MEAN, i]) else 0.0


def has_moved(f: Readings) -> bool:
    """Whether the means or deviations differ much from those of the cosines."""
    far = False
    for i in range(f.moments.shape[1] - 1):
        ratio = math.sqrt(f.moments[SQUARE, i]) * f.fixed[1, i]
        far |= f.fixed[1, i] > 0.0 and not 1.0 / FAR_OFF < ratio < FAR_OFF
        far |= abs(f.moments[MEAN, i] - f.fixed[0, i]) * f.fixed[1, i] > FAR_OFF
    return far


def clear_systems(f: Readings, q: Systems) -> None:
    """Forget everything that the systems with cosines have learned."""
    for s in range(q.lam.size):
        n = q.size[s]
        if n > f.moments.shape[1]:
            q.z[s, :] = 0.0
            q.b[s, :] = 0.0
            q.A[q.start[s] : q.start[s] + n * n] = 0.0
            q.age[s] = q.due[s] = 0.0
            q.weight[s] = 1.0


def refit(f: Readings, q: Systems, last: int) -> None:
    """Compute the systems with cosines anew, from the first `last` transitions."""
    d, small = f.moments.shape[1] - 1, 0
    add_blocks(q)
    fit_cosines(f)
    clear_systems(f, q)
    while small < q.lam.size and q.size[small] <= d + 1:
        small += 1
    q.block[1 : 1 + small, :, :] = 0.0  # the other systems take no part
    for t in range(last):
        row = f.past[t]
        gamma = 0.0 if row[2 * d + ENDED] == 1.0 else row[2 * d + GAMMA]
        place(f, row[:d], f.x[0])
        if gamma > 0.0:
            place(f, row[d : 2 * d], f.x[1])
        reward, rho = clipped(f.moments, d, row[2 * d]), row[2 * d + RHO]
        learn_systems(q, small, f.positions, f.x[0], f.positions, f.x[1], reward, gamma, rho, 1.0)
        if row[2 * d + ENDED] > 0.0 or row[2 * d + RESET] > 0.0:
            q.z[small:, :] = 0.0
    add_blocks(q)


def median(values: Floats) -> float:
    """The median, after sorting in place."""
    for i in range(1, values.size):
        v, j = values[i], i
        while j > 0 and values[j - 1] > v:
            values[j] = values[j - 1]
            j -= 1
        values[j] = v
    return 0.5 * (values[values.size // 2] + values[(values.size - 1) // 2])


def take_medians(f: Readings) -> None:
    """Set means and largest deviations from the medians of the transitions held back."""
    d = f.moments.shape[1] - 1
    some = f.scratch
    for i in range(d + 1):
        column = i if i < d else 2 * d + REWARD
        for t in range(HELD):
            some[t] = f.past[t, column]
        middle = median(some)
        f.moments[MEAN, i] = middle
        for t in range(HELD):
            some[t] = abs(f.past[t, column] - middle)
        f.moments[LARGEST, i] = 3.0 * 1.48 * median(some)

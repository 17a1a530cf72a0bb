"""The backward scan behind all returns: one loop over time, many environments side by side.

    G_t = R_{t+1} + γ_{t+1} ( V(s_{t+1}) + λ_{t+1} K_{t+1} )                the return of the action taken
    K_t = p_t (G_t - V(s_t)) + (q_t - p_t) γ_{t+1} λ_{t+1} K_{t+1}         the correction of V(s_t)

with p_t = min(p, ρ_t) and q_t = min(q, ρ_t). K_{t+1} counts as 0 where the trajectory ends after step t, and γ_{t+1} as 0
where it terminates. On-policy G - V = K = Σ (γλ)^k δ_{t+k}, and G is the λ-return. Without limits p and q, V + K is
the λ-return with control variates (Sutton & Barto 2018, equation 12.24); p = q = 1 gives V-trace. With action values q
for V(s_t), and q = p = 1, G is Retrace.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tdlambda.arrays import Bools, Floats
from tdlambda.compiled import inlined, kernel, lanewise

Array = NDArray[Any]
BLOCK = 512
"""Environments in a block; its seven scratch rows, 28 kB, stay in the first-level cache."""
FINE, NOT_FINITE, OUT_OF_RANGE = 0, 1, 2
"""What `scan` found: nothing wrong; a result that is not finite; γ or λ outside [0, 1], or a negative ρ."""


@lanewise
def _on_policy(
    r: Array, v: Array, v_next: Array, terminated: Bools, truncated: Bools, gamma: Floats, lam: Floats, K: Floats,
    sound: Floats, G: Floats,
) -> None:  # fmt: skip
    """Compute one row of G, and replace K_{t+1} by K_t. `sound` stays 0 as long as all are finite."""
    for i in range(r.size):
        w = 0.0 if terminated[i] else v_next[i]
        keep = 0.0 if terminated[i] | truncated[i] else lam[i]
        discount = 0.0 if terminated[i] else gamma[i]
        G[i] = r[i] + discount * (w + keep * K[i])
        K[i] = G[i] - v[i]
        sound[i] += 0.0 * K[i]


@lanewise
def _off_policy(
    r: Array, v: Array, v_next: Array, terminated: Bools, truncated: Bools, gamma: Floats, lam: Floats, rho: Floats,
    limits: Floats, K: Floats, sound: Floats, G: Floats,
) -> None:  # fmt: skip
    """Compute one row of G, and replace K_{t+1} by K_t."""
    most_p, most_q = limits[0], limits[1]
    for i in range(r.size):
        w = 0.0 if terminated[i] else v_next[i]
        keep = 0.0 if terminated[i] | truncated[i] else lam[i]
        discount = 0.0 if terminated[i] else gamma[i]
        p, q = min(rho[i], most_p), min(rho[i], most_q)
        later = discount * keep * K[i]
        G[i] = r[i] + discount * w + later
        K[i] = p * (G[i] - v[i]) + (q - p) * later
        sound[i] += 0.0 * (G[i] + K[i])


@lanewise
def _store(row: Floats, out: Array) -> None:
    for i in range(row.size):
        out[i] = row[i]


@lanewise
def _store_sum(row: Floats, v: Array, factor: float, out: Array) -> None:
    for i in range(row.size):
        out[i] = row[i] + factor * v[i]


@lanewise
def _read(given: Array, most: float, row: Floats, odd: Floats) -> None:
    """Copy a row of γ, λ or ρ; `odd` becomes 1 where it is outside [0, most]."""
    for i in range(row.size):
        x = float(given[i])
        row[i] = x
        odd[i] = 1.0 if (x < 0.0) | (x > most) else odd[i]


@inlined
def _fetch(given: Array, t: int, first: int, last: int, most: float, row: Floats, odd: Floats) -> None:
    """Read the row of time t from [T or 1, N or 1]; an empty array has nothing to read."""
    if given.size > 0:
        at = t if given.shape[0] > 1 else 0
        if given.shape[1] > 1:
            _read(given[at, first:last], most, row, odd)
        else:
            row[:] = given[at, 0]
            odd[0] = 1.0 if (row[0] < 0.0) | (row[0] > most) else odd[0]


@kernel
def scan(
    reward: Array, value: Array, value_next: Array, terminated: Bools, truncated: Bools, gamma: Array, lam: Array,
    rho: Array, numbers: Floats, limits: Floats, off_policy: bool, of_action: bool, rows: Floats,
    advantage: Array, target: Array,
) -> int:  # fmt: skip
    """Compute advantages G - V and targets, each [T, N], or empty if they are not wanted.

    γ, λ and ρ are [T or 1, N or 1], or empty and the same everywhere: then `numbers` has them. ρ and the limits are read
    if it is `off_policy`. Targets are G if `of_action`, otherwise V + K. `rows` [7, BLOCK] is scratch. The result says
    what is wrong, if anything.
    """
    steps, n, found = reward.shape[0], reward.shape[1], FINE
    for first in range(0, n, BLOCK):
        last = min(first + BLOCK, n)
        gammas, lams, rhos = rows[0, : last - first], rows[1, : last - first], rows[2, : last - first]
        K, sound, odd, G = rows[3, : last - first], rows[4, : last - first], rows[5, : last - first], rows[6, : last - first]
        gammas[:], lams[:], rhos[:] = numbers[0], numbers[1], numbers[2]
        K[:], sound[:], odd[:] = 0.0, 0.0, 0.0
        for t in range(steps - 1, -1, -1):
            _fetch(gamma, t, first, last, 1.0, gammas, odd)
            _fetch(lam, t, first, last, 1.0, lams, odd)
            r, v, v_next = reward[t, first:last], value[t, first:last], value_next[t, first:last]
            ended, cut = terminated[t, first:last], truncated[t, first:last]
            if off_policy:
                _fetch(rho, t, first, last, np.inf, rhos, odd)
                _off_policy(r, v, v_next, ended, cut, gammas, lams, rhos, limits, K, sound, G)
            else:
                _on_policy(r, v, v_next, ended, cut, gammas, lams, K, sound, G)
            if advantage.size > 0:
                _store_sum(G, v, -1.0, advantage[t, first:last])
            if target.size > 0 and (of_action or not off_policy):
                _store(G, target[t, first:last])
            elif target.size > 0:
                _store_sum(K, v, 1.0, target[t, first:last])
        for i in range(last - first):
            if odd[i] > 0.0:
                found = OUT_OF_RANGE
            elif sound[i] != 0.0:
                found = max(found, NOT_FINITE)
    return found

"""The backward scan behind all returns: one loop over time, many environments side by side.

    G_t = R_{t+1} + γ_{t+1} ( V(s_{t+1}) + λ_{t+1} K_{t+1} )                the return of the action taken
    K_t = p_t (G_t - V(s_t)) + (q_t - p_t) γ_{t+1} λ_{t+1} K_{t+1}         the correction of V(s_t)

with p_t = min(p, ρ_t) and q_t = min(q, ρ_t). K_{t+1} counts as 0 where the trajectory ends after step t, and γ_{t+1} as
0 where it terminates. On-policy G - V = K = Σ (γλ)^k δ_{t+k}, and G is the λ-return. Without limits p and q, V + K is
the λ-return with control variates (Sutton & Barto 2018, equation 12.24); p = q = 1 gives V-trace. With action values
for V(s_t), and p = q = 1, G is Retrace.
"""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from tdlambda.arrays import Bools, Floats
from tdlambda.compiled import kernel, lanewise

Array = NDArray[Any]
BLOCK = 512
"""Environments in a block; its six rows, 24 kB, stay in the first-level cache."""


@lanewise
def _on_policy(
    r: Array, v: Array, v_next: Array, terminated: Bools, truncated: Bools, gamma: Array, lam: Array, K: Floats,
    wrong: Floats, G: Floats,
) -> None:  # fmt: skip
    """Compute one row of G, and replace K_{t+1} by K_t. `wrong` stays 0 as long as all is valid."""
    for i in range(r.size):
        w = 0.0 if terminated[i] else v_next[i]
        keep = 0.0 if terminated[i] | truncated[i] else lam[i]
        discount = 0.0 if terminated[i] else gamma[i]
        G[i] = r[i] + discount * (w + keep * K[i])
        K[i] = G[i] - v[i]
        outside = (gamma[i] < 0.0) | (gamma[i] > 1.0) | (lam[i] < 0.0) | (lam[i] > 1.0)
        wrong[i] += 0.0 * K[i] + (1.0 if outside else 0.0)


@lanewise
def _off_policy(
    r: Array, v: Array, v_next: Array, terminated: Bools, truncated: Bools, gamma: Array, lam: Array, rho: Array,
    limits: Floats, K: Floats, wrong: Floats, G: Floats,
) -> None:  # fmt: skip
    """Compute one row of G, and replace K_{t+1} by K_t."""
    most_p, most_q = limits[0], limits[1]
    for i in range(r.size):
        w = 0.0 if terminated[i] else v_next[i]
        keep = 0.0 if terminated[i] | truncated[i] else lam[i]
        discount = 0.0 if terminated[i] else gamma[i]
        p = rho[i] if rho[i] < most_p else most_p
        q = rho[i] if rho[i] < most_q else most_q
        later = discount * keep * K[i]
        G[i] = r[i] + discount * w + later
        K[i] = p * (G[i] - v[i]) + (q - p) * later
        outside = (gamma[i] < 0.0) | (gamma[i] > 1.0) | (lam[i] < 0.0) | (lam[i] > 1.0) | (rho[i] < 0.0)
        wrong[i] += 0.0 * (G[i] + K[i] + rho[i]) + (1.0 if outside else 0.0)


@lanewise
def _store(row: Floats, out: Array) -> None:
    for i in range(row.size):
        out[i] = row[i]


@lanewise
def _store_sum(row: Floats, v: Array, factor: float, out: Array) -> None:
    for i in range(row.size):
        out[i] = row[i] + factor * v[i]


@kernel
def scan(
    columns: tuple[Array, Array, Array, Bools, Bools], parameters: tuple[Array, Array, Array], numbers: Array,
    limits: Floats, off_policy: bool, of_action: bool, rows: Floats, advantage: Array, target: Array,
) -> bool:  # fmt: skip
    """Compute advantages G - V and targets, each [T, N], or empty if they are not wanted; whether all is valid.

    Columns are the reward, V, V', terminated and truncated. γ, λ and ρ are [T, N], or empty and the same everywhere:
    then `numbers` [3, BLOCK] has them in every column. ρ and the limits are read if it is `off_policy`. Targets are G
    if `of_action`, otherwise V + K. `rows` [3, BLOCK] is scratch. Results that are not finite are not valid, nor are
    γ and λ outside [0, 1], nor a negative ρ.
    """
    reward, value, value_next, terminated, truncated = columns
    gamma, lam, rho = parameters
    steps, n, fine = reward.shape[0], reward.shape[1], True
    for first in range(0, n, BLOCK):
        last = min(first + BLOCK, n)
        width = last - first
        K, wrong, G = rows[0, :width], rows[1, :width], rows[2, :width]
        K[:], wrong[:] = 0.0, 0.0
        for t in range(steps - 1, -1, -1):
            gammas = gamma[t, first:last] if gamma.size > 0 else numbers[0, :width]
            lams = lam[t, first:last] if lam.size > 0 else numbers[1, :width]
            r, v, v_next = reward[t, first:last], value[t, first:last], value_next[t, first:last]
            ended, truncates = terminated[t, first:last], truncated[t, first:last]
            if off_policy:
                rhos = rho[t, first:last] if rho.size > 0 else numbers[2, :width]
                _off_policy(r, v, v_next, ended, truncates, gammas, lams, rhos, limits, K, wrong, G)
            else:
                _on_policy(r, v, v_next, ended, truncates, gammas, lams, K, wrong, G)
            if advantage.size > 0:
                _store_sum(G, v, -1.0, advantage[t, first:last])
            if target.size > 0 and (of_action or not off_policy):
                _store(G, target[t, first:last])
            elif target.size > 0:
                _store_sum(K, v, 1.0, target[t, first:last])
        for i in range(width):
            fine = fine and wrong[i] == 0.0
    return fine

"""The passes over the steps of an audit: systems of equations for the reference, and the scores of every unit.

Rows of `C` and `C_next` are columns of the data at s_t and s_{t+1}: the critics' values first, then features. A linear
function of a state is coefficients of (1, C).
"""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from tdlambda.arrays import Bools, Floats, Ints
from tdlambda.compiled import inlined, kernel

Array = NDArray[Any]
Steps = tuple[Floats, Floats, Floats, Floats, Floats]
"""Values of the critics at s and at s' [critic, step], reward, γ' and ρ [step]."""
RAW, EXPECTED, ABSOLUTE, WITH_A, WITH_B = range(5)
"""The scores: with the trace itself, with its expected value, the absolute error, and as expected with u_A and u_B."""


@kernel
def add_systems(
    steps: Steps, fold: Ints, mean: Floats, P: Floats, x: Floats, x_next: Floats, sums: tuple[Floats, ...]
) -> None:
    """Add steps to the sums of their folds, with x = (1, P (C - mean)).

    A += ρ x (x - γ x')ᵀ, b += ρ r x, S += x xᵀ, VX += V xᵀ. `x` and `x_next` are scratch.
    """
    C, C_next, reward, gamma, rho = steps
    A, b, S, VX, count = sums
    columns = C.shape[0]
    d, critics = x.size, VX.shape[1]
    for t in range(reward.size):
        f = fold[t]
        x[0] = x_next[0] = 1.0
        for i in range(1, d):
            x[i] = x_next[i] = 0.0
            for k in range(columns):
                x[i] += P[i - 1, k] * (C[k, t] - mean[k])
                x_next[i] += P[i - 1, k] * (C_next[k, t] - mean[k])
        for i in range(d):
            xi = rho[t] * x[i]
            b[f, i] += xi * reward[t]
            for j in range(d):
                A[f, i, j] += xi * (x[j] - gamma[t] * x_next[j])
                S[f, i, j] += x[i] * x[j]
            for k in range(critics):
                VX[f, k, i] += C[k, t] * x[i]
        count[f] += 1


@inlined
def _at(coefficients: Floats, C: Floats, t: int) -> float:
    """A linear function of (1, C) at step t."""
    total = coefficients[0]
    for k in range(C.shape[0]):
        total += coefficients[1 + k] * C[k, t]
    return total


@kernel
def add_scores(
    steps: Steps, ends: Bools, fold: Ints, unit: Ints, u: Floats, zhat: Floats, z: Floats, weight: Floats,
    sums: Floats, ratios: Floats, counts: Floats,
) -> None:  # fmt: skip
    """Add the scores of every critic to the sums [score, critic, unit].

    `u` [reference, fold, coefficient] and `zhat` [reference, fold, critic, coefficient] have the references u, u_A and
    u_B. `z` [critic] is the trace, and `weight` (Σ of products of ργ, and of γ alone); both go on from call to call.
    """
    C, C_next, reward, gamma, rho = steps
    critics = z.size
    for t in range(reward.size):
        f, e = fold[t], unit[t]
        first = _at(u[0, f], C, t)
        a, b = _at(u[1, f], C, t), _at(u[2, f], C, t)
        delta = rho[t] * (reward[t] + gamma[t] * _at(u[0, f], C_next, t) - first)
        delta_a = rho[t] * (reward[t] + gamma[t] * _at(u[1, f], C_next, t) - a)
        delta_b = rho[t] * (reward[t] + gamma[t] * _at(u[2, f], C_next, t) - b)
        keep = 0.0 if ends[t] else rho[t] * gamma[t]
        for k in range(critics):
            c = C[k, t] - first
            z[k] += c
            sums[RAW, k, e] += c * c - 2 * delta * z[k]
            sums[EXPECTED, k, e] += c * c - 2 * delta * _at(zhat[0, f, k], C, t)
            c_a, c_b = C[k, t] - a, C[k, t] - b
            zhat_a, zhat_b = _at(zhat[1, f, k], C, t), _at(zhat[2, f, k], C, t)
            sums[ABSOLUTE, k, e] += c_a * c_b - delta_b * zhat_a - delta_a * zhat_b
            sums[WITH_A, k, e] += c_a * c_a - 2 * delta_a * zhat_a
            sums[WITH_B, k, e] += c_b * c_b - 2 * delta_b * zhat_b
            z[k] *= keep
        weight[0] += 1.0
        weight[1] += 1.0
        ratios[e] += rho[t] * weight[0] / weight[1]
        counts[e] += 1.0
        weight[0] *= keep
        weight[1] *= 0.0 if ends[t] else gamma[t]

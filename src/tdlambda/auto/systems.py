"""Least-squares experts for sparse features: LSTD(λ), regularised according to the noise.

    z += x,    A += ρ z (x - γ'x')ᵀ,    b += ρ z r,    C += diag(ρ² z²),    z *= min(ρ, 1) γ' λ

b = A w + noise. The noise has a covariance of about σ² C if the TD errors at the true values have the variance σ². If
the weights have the prior variance τ², the most probable weights are

    (Aᵀ C⁻¹ A + κ σ²/τ²)⁻¹ Aᵀ C⁻¹ b

with κ = 1; there are also experts with other κ. σ² is the mean of the mixture's δ²; τ² maximises the evidence (MacKay
1992, "Bayesian interpolation"), but is at least E[u²]/E|x|² of the mixture divided by MOST.

Systems are solved often at first and rarely later. The cost of a step is proportional to the active features times all
features.

The code does not depend on the algorithm, so it is compiled once for all banks. `q` is `layout.Systems`.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tdlambda.arrays import Floats, Ints
from tdlambda.auto.layout import Systems
from tdlambda.compiled import kernel, part
from tdlambda.core.lane_memory import aligned
from tdlambda.core.runtime import add_scaled, fill

MANY = 256
"""Largest number of features with systems."""
LAMBDAS, RIDGES = (0.0, 0.8, 1.0), (0.01, 0.1, 1.0, 10.0)
"""Values of λ and of κ."""
FADED = 0.05
"""Memory of a system after a reset, as a fraction of the window that contradicted it."""
OF_LAMBDA, OF_RIDGE = (-1.5, -0.5, 1.5), (2.0, 1.0, 0.0, 1.0)
"""Prior penalties of each λ and of each κ."""
SOLVE_EVERY, CHEAP = 64.0, 2000.0
"""A system that remembers t steps and n features is solved every 1 + t/64 + n³/CHEAP steps."""
MOST = 3.0
"""τ² is at least E[u²]/E|x|² of the mixture, divided by this."""
LEAST_KNOWN = 1e-3
"""Lower bound on the effective number of weights that the data determine."""
ERROR, VALUE, NORM = range(3)
"""Entries of `moments`: the means of δ², u² and |x|², in which step s has a weight proportional to s²."""


def first_systems(n: int) -> Systems:
    """Empty systems."""
    lams, ridges = (LAMBDAS, RIDGES) if n <= MANY else ((), ())
    L, R, size, n = len(lams), len(ridges), n, n if lams else 0
    return Systems(
        lam=np.array(lams), ridge=np.array(ridges), prior=np.add.outer(OF_LAMBDA[:L], OF_RIDGE[:R]).ravel(),
        due=np.zeros(L), age=np.zeros(L), moments=np.zeros(3), ratio=np.zeros(L), trace=aligned(np.zeros((L, n))),
        A=aligned(np.zeros((L, n, n))), b=aligned(np.zeros((L, n))), C=aligned(np.zeros((L, n))),
        solved=aligned(np.zeros((size, 1, L * R))), room=aligned(np.zeros((3 * n + 2, n))),
    )  # fmt: skip


@kernel
def learn_systems(
    q: Any, x: Ints, xv: Floats, y: Ints, yv: Floats, reward: float, gamma: float, rho: float
) -> None:  # fmt: skip
    """Update the traces, A, b and C."""
    decay = min(rho, 1.0) * gamma
    for l in range(q.lam.size):
        z = q.trace[l]
        for j in range(len(x)):
            z[x[j]] += xv[j]
        add_scaled(q.b[l], z, rho * reward)
        for i in range(z.size):
            q.C[l, i] += rho * rho * z[i] * z[i]
        for j in range(len(x)):
            add_scaled(q.A[l, x[j]], z, rho * xv[j])
        if gamma > 0.0:
            for j in range(len(y)):
                add_scaled(q.A[l, y[j]], z, -rho * gamma * yv[j])
        for i in range(z.size):
            z[i] *= decay * q.lam[l]


@part
def note_moment(q: Any, row: int, value: float, seen: int) -> None:
    """Add a value to a running mean."""
    q.moments[row] += max(3.0 / (seen + 2.0), 1e-4) * (value - q.moments[row])


@kernel
def solve_some(q: Any, steps: int) -> None:
    """Solve the systems that are due."""
    for l in range(q.lam.size):
        if steps >= q.due[l]:
            n = q.b.shape[1]
            q.due[l] = 1.0 + steps + int(q.age[l] / SOLVE_EVERY + n * n * n / CHEAP)
            solve(q, l)


@part
def solve(q: Any, l: int) -> None:
    """Compute the weights of the experts with this λ, and a new estimate of σ²/τ²."""
    n = q.b.shape[1]
    G, M, T = q.room[:n], q.room[n : 2 * n], q.room[2 * n : 3 * n]
    h, w = q.room[3 * n], q.room[3 * n + 1]
    normal_equations(q.A[l], q.b[l], q.C[l], G, h, T)
    if not q.ratio[l] > 0.0:
        q.ratio[l] = q.moments[NORM]
    ratio = q.ratio[l]
    for r in range(q.ridge.size):
        for i in range(n):
            w[i] = h[i]
            for j in range(i, n):
                M[i, j] = G[i, j]
            M[i, i] += q.ridge[r] * q.ratio[l] + 1e-12 * (1.0 + M[i, i])
        if eliminated(M, w):
            for i in range(n):
                q.solved[i, 0, l * q.ridge.size + r] = w[i]
            if q.ridge[r] == 1.0:
                ratio = estimate(q.ratio[l], q.moments[ERROR], n - q.ratio[l] * trace_of_inverse(M, T), w)
    if q.moments[VALUE] > 0.0:
        ratio = min(ratio, MOST * q.moments[ERROR] * q.moments[NORM] / q.moments[VALUE])
    q.ratio[l] = ratio


@part
def normal_equations(A: Floats, b: Floats, C: Floats, G: Floats, h: Floats, T: Floats) -> None:
    """Compute the upper triangle of G = Aᵀ C⁻¹ A, and h = Aᵀ C⁻¹ b; A is given transposed, T is a buffer."""
    n = b.size
    for i in range(n):
        for j in range(n):
            T[j, i] = A[i, j]
        fill(G[i], 0.0)
    fill(h, 0.0)
    for k in range(n):
        if C[k] > 0.0:
            add_scaled(h, T[k], b[k] / C[k])
            for i in range(n):
                if T[k, i] != 0.0:
                    add_scaled(G[i, i:], T[k, i:], T[k, i] / C[k])


@part
def eliminated(M: Floats, w: Floats) -> bool:
    """Replace w by M⁻¹ w and M by its triangular factor; return whether M is positive definite.

    M is symmetric; only its upper triangle is read.
    """
    n = w.size
    for k in range(n):
        if not 0.0 < M[k, k] < math.inf:
            return False
        for i in range(k + 1, n):
            if M[k, i] != 0.0:
                add_scaled(M[i, i:], M[k, i:], -M[k, i] / M[k, k])
        add_scaled(w[k + 1 :], M[k, k + 1 :], -w[k] / M[k, k])
    for k in range(n - 1, -1, -1):
        for i in range(k + 1, n):
            w[k] -= M[k, i] * w[i]
        w[k] /= M[k, k]
    return True


@part
def trace_of_inverse(M: Floats, X: Floats) -> float:
    """The trace of M⁻¹, from the factor that `eliminated` left in M; X is a buffer."""
    n, total = M.shape[0], 0.0
    for i in range(n):
        fill(X[i], 0.0)
        X[i, i] = 1.0
    for k in range(n):
        for j in range(k + 1):
            total += X[k, j] * X[k, j] / M[k, k]
        for i in range(k + 1, n):
            if M[k, i] != 0.0:
                add_scaled(X[i, : k + 1], X[k, : k + 1], -M[k, i] / M[k, k])
    return total


@part
def estimate(ratio: float, error: float, known: float, w: Floats) -> float:
    """MacKay's update of σ²/τ² towards the largest evidence, by a factor of at most 10.

    `known` is the effective number of weights that the data determine.
    """
    size = 0.0
    for i in range(w.size):
        size += w[i] * w[i]
    new = error * max(known, LEAST_KNOWN) / size if size > 0.0 else ratio
    return min(max(new, 0.1 * ratio), 10.0 * ratio)


@kernel
def fade(q: Any, l: int, steps: float) -> None:
    """Reduce the total weight of all earlier observations to that of `steps` steps."""
    keep = min(1.0, steps / q.age[l]) if q.age[l] > 0.0 else 1.0
    q.age[l] *= keep
    q.due[l] = 0.0
    for i in range(q.b.shape[1]):
        q.b[l, i] *= keep
        q.C[l, i] *= keep
        for j in range(q.b.shape[1]):
            q.A[l, i, j] *= keep


@kernel
def forget(q: Any) -> None:
    """End the episode: set the traces to 0."""
    for l in range(q.lam.size):
        fill(q.trace[l], 0.0)

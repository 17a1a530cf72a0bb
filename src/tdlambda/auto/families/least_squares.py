"""Least-squares experts: LSTD(λ) with forgetting, several ridges, and nested sets of features.

A system has a λ and a window w; with f = 1 - 1/w it accumulates

    z += g x,    A = f A + ρ z (x - γ'x')ᵀ,    b = f b + ρ z r,    z *= min(ρ, 1) γ' λ

and each of its experts solves it for the leading n features, with a ridge κ in observations:

    weights = (A + κ diag q)⁻¹ b

q is the mean square of each feature, 0 for the constant. One elimination without pivoting solves for all leading sets
at once. Forgetting costs nothing: instead of f, the weight of new transitions grows by 1/f a step. Transitions between
vectors are collected and added BLOCK at a time or before a solution, which is several times faster. g is the unit of
evidence of `readings`.

A system that all its experts show to be significantly worse than the mixture in a short window keeps only FADED of that
window.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from tdlambda.arrays import Floats, Ints
from tdlambda.auto.mixture import Mixture

if TYPE_CHECKING:  # another name in the generated module: whether observations list all features in order
    VECTORS = True

BLOCK = 16
"""Transitions that are added at once."""
SOLVE_EVERY, CHEAP, LATEST = 64.0, 2000.0, 0.5
"""A system of n features that remembers t steps is solved after 1 + t/64 + n³/CHEAP steps, but at most 8 + LATEST t."""
FADED = 0.05
"""Memory of a system after a reset, as a fraction of the window that contradicted it."""
BEST_LOW, BEST_HIGH, FAR_RIDGE = 0.01, 100.0, 0.5
"""Range of the best ridge for |x|² = 1, and the prior penalty for each factor e from it: see `take_prior`."""
SIZED = 2
"""Expert of sparse features whose predictions show how large values are: λ = 0 with a ridge of 1."""
HEAVIEST = 1e9
"""Weight of new transitions at which a system with a window is rescaled."""


_Function = TypeVar("_Function")


def lanewise(function: _Function) -> _Function:
    """Declare that a function's rows never overlap, so that its loop can be vectorised: see `compiled.lanewise`."""
    function.lanewise = True  # type: ignore[attr-defined]
    return function


class Systems(NamedTuple):
    """The arrays of the systems: S systems, R experts, at most n features."""

    lam: Floats
    """[S]"""
    growth: Floats
    """1/f [S]"""
    size: Ints
    """Number of features used so far [S]; 0 if its experts have left."""
    stride: Ints
    """Largest number of features [S]."""
    start: Ints
    """Where A of each system begins in `A` [S]."""
    of: Ints
    """System of each expert [R]; experts of one system and one ridge are adjacent, smallest set first."""
    leading: Ints
    """Number of leading features of each expert [R]."""
    ridge: Floats
    """κ of each expert [R]."""
    weight: Floats
    """Weight of the last transition [S]."""
    age: Floats
    """Number of steps that each system remembers [S]."""
    due: Floats
    """The step at which to solve next [S]."""
    z: Floats
    """[S, n]"""
    A: Floats
    """Aᵀ of each system, one after another."""
    b: Floats
    """[S, n]"""
    w: Floats
    """Weights of each expert [R, n]."""
    q: Floats
    """Penalty of each feature [n]."""
    prior: Floats
    """Prior penalty of each expert, apart from its ridge [R]."""
    S: Floats
    """Σ (ρ δ)² x xᵀ over the features of the first system, or over those with one for each observation."""
    block: Floats
    """Transitions to be added to A [1 + S, BLOCK, n]: x - γ'x', then ρ z of each system; empty for sparse features."""
    filled: Ints
    """How many they are, and how many of them each system has added [1 + S]."""
    scratch: Floats
    """Buffer of the solver [n, n]."""


def take_prior(q: Systems, m: Mixture) -> None:
    """Set the prior penalties: the best ridge is about the variance of the noise over that of a weight.

    The former is estimated by E[(ρδ)²], the latter by the mean of `square_of` over E|x|². With vectors of readings,
    ridges do not count.
    """
    s, best = m.number[0], 1.0
    if s.noise > 0.0:
        best = s.norm * min(max(s.noise / max(s.value, s.noise / BEST_HIGH), BEST_LOW), BEST_HIGH)
    for k in range(q.of.size):
        far = abs(math.log(q.ridge[k] / best)) if not VECTORS and best > 0.0 else 0.0
        m.prior[0, k] = q.prior[k] + FAR_RIDGE * far


def square_of(q: Systems, value: Floats, u: float) -> float:
    """A square whose mean stands for E[v²]: u² is about 0 as long as large ridges lead, which would let them lead."""
    large = value[SIZED] * value[SIZED] if not VECTORS and q.of.size > SIZED else 0.0
    return max(u * u, large)


def values(q: Systems, x: Ints, xv: Floats, out: Floats) -> None:
    """Compute each expert's prediction."""
    for k in range(out.size):
        out[k] = value(q, k, x, xv)


def value(q: Systems, k: int, x: Ints, xv: Floats) -> float:
    """An expert's prediction."""
    w, total = q.w[k], 0.0
    if VECTORS:
        total = product(w, xv, q.leading[k])
    else:
        for j in range(x.size):
            total += xv[j] * w[x[j]]
    return total


def product(a: Floats, b: Floats, n: int) -> float:
    """The inner product of the first n entries; four sums, because each addition waits for the one before."""
    first, second, third, fourth, whole = 0.0, 0.0, 0.0, 0.0, n - n % 4
    for i in range(0, whole, 4):
        first += a[i] * b[i]
        second += a[i + 1] * b[i + 1]
        third += a[i + 2] * b[i + 2]
        fourth += a[i + 3] * b[i + 3]
    for i in range(whole, n):
        first += a[i] * b[i]
    return (first + second) + (third + fourth)


@lanewise
def add_row(row: Floats, other: Floats, factor: float, first: int, last: int) -> None:
    """Compute row += factor other, from entry `first` to `last` - 1."""
    for j in range(first, last):
        row[j] += factor * other[j]


@lanewise
def add_rows(row: Floats, others: Floats, factors: Floats, k: int, j: int, n: int) -> None:
    """Compute row += Σ factor other for four rows from the k-th on; factors are column j."""
    for i in range(n):
        row[i] = (
            row[i] + factors[k, j] * others[k, i] + factors[k + 1, j] * others[k + 1, i]
            + factors[k + 2, j] * others[k + 2, i] + factors[k + 3, j] * others[k + 3, i]
        )  # fmt: skip


@lanewise
def set_sum(row: Floats, one: Floats, a: float, other: Floats, b: float, n: int) -> None:
    """Compute row = a one + b other."""
    for i in range(n):
        row[i] = a * one[i] + b * other[i]


def learn(
    q: Systems, first: int, x: Ints, xv: Floats, y: Ints, yv: Floats, reward: float, gamma: float, rho: float,
    evidence: float,
) -> None:  # fmt: skip
    """Update the traces, A and b of the systems from `first` on."""
    decay, slot = min(rho, 1.0) * gamma, q.filled[0]
    for s in range(first, q.lam.size):
        if q.weight[s] > HEAVIEST:
            scale(q, s, 1.0 / q.weight[s])
            q.weight[s] = 1.0
        q.weight[s] *= q.growth[s]
        n, z, heavy = q.size[s], q.z[s], q.weight[s] * rho
        if VECTORS:
            add_row(z, xv, evidence, 0, n)
            set_sum(q.block[1 + s, slot], z, heavy, z, 0.0, n)
        else:
            for j in range(x.size):
                if x[j] < n:
                    z[x[j]] += evidence * xv[j]
            for j in range(x.size):
                if x[j] < n:
                    add_row(q.A[q.start[s] + x[j] * q.stride[s] :], z, heavy * xv[j], 0, n)
            if gamma > 0.0:
                for j in range(y.size):
                    if y[j] < n:
                        add_row(q.A[q.start[s] + y[j] * q.stride[s] :], z, -heavy * gamma * yv[j], 0, n)
        add_row(q.b[s], z, heavy * reward, 0, n)
        for i in range(n):
            z[i] *= decay * q.lam[s]
        q.age[s] += 1.0
    if VECTORS:
        set_sum(q.block[0, slot], xv, 1.0, yv, -gamma, q.block.shape[2])
        q.filled[0] += 1
        if q.filled[0] == BLOCK:
            add_blocks(q)


def add_blocks(q: Systems) -> None:
    """Add all collected transitions."""
    for s in range(q.lam.size):
        add_block(q, s)
    q.filled[:] = 0


def add_block(q: Systems, s: int) -> None:
    """Add the collected transitions to A of a system; each entry gets them in order, as if one by one."""
    n, end = q.size[s], q.filled[0]
    if end > q.filled[1 + s]:
        for j in range(n):
            at, k = q.start[s] + j * q.stride[s], q.filled[1 + s]
            row = q.A[at : at + n]
            while k + 4 <= end:
                add_rows(row, q.block[1 + s], q.block[0], k, j, n)
                k += 4
            while k < end:
                add_row(row, q.block[1 + s, k], q.block[0, k, j], 0, n)
                k += 1
        q.filled[1 + s] = end


def note_spread(
    q: Systems, x: Ints, xv: Floats, y: Ints, yv: Floats, reward: float, gamma: float, rho: float
) -> None:  # fmt: skip
    """Add (ρ δ)² x xᵀ, with the TD error δ of an expert with λ = 0 and a ridge of 1 or more."""
    n = q.S.shape[0]
    if n > 0:
        k = spread_expert(q)
        error = reward - value(q, k, x, xv)
        if gamma > 0.0:
            error += gamma * value(q, k, y, yv)
        square = (rho * error) ** 2
        for i in range(x.size):
            if VECTORS:
                if i < n:
                    add_row(q.S[i], xv, square * xv[i], 0, n)
            elif x[i] < n:
                for j in range(x.size):
                    if x[j] < n:
                        q.S[x[i], x[j]] += square * xv[i] * xv[j]


def spread_expert(q: Systems) -> int:
    """An expert with λ = 0 and a ridge of 1 or more, on all features of S as long as there is one."""
    return widest(q) if VECTORS else widest(q) + SIZED


def widest(q: Systems) -> int:
    """The first expert with λ = 0 on all features of S as long as there is one."""
    k = 0
    while q.size[q.of[q.of.size - 1]] > 0 and q.leading[k] < q.S.shape[0]:
        k += 1
    return k


def scale(q: Systems, s: int, factor: float) -> None:
    """Multiply A and b of a system."""
    n = q.size[s]
    if VECTORS:
        add_block(q, s)
    for i in range(n):
        q.b[s, i] *= factor
    for i in range(q.start[s], q.start[s] + n * q.stride[s]):
        q.A[i] *= factor


def fade(q: Systems, s: int, steps: float) -> None:
    """Reduce the total weight of all earlier transitions to that of `steps` steps."""
    keep = min(1.0, steps / q.age[s]) if q.age[s] > 0.0 else 1.0
    scale(q, s, keep)
    q.age[s] *= keep
    q.due[s] = 0.0


def solve_due(q: Systems, t: float, fallback: float) -> None:
    """Solve the systems that are due: see `solve`."""
    for s in range(q.lam.size):
        if t >= q.due[s]:
            n, age = q.size[s], q.age[s]
            if q.growth[s] > 1.0:
                age = min(age, q.growth[s] / (q.growth[s] - 1.0))
            q.due[s] = t + min(1.0 + int(age / SOLVE_EVERY + n * n * n / CHEAP), 8.0 + int(LATEST * age))
            solve(q, s, fallback)


def solve(q: Systems, s: int, fallback: float) -> None:
    """Compute the weights of the experts of a system; without a solution, an unpenalised constant gets `fallback`."""
    n, L, at = q.size[s], q.scratch, 0
    if VECTORS:
        add_block(q, s)
    A = q.A[q.start[s] :]
    while at < q.of.size:
        last = at
        if q.of[at] == s:
            while last + 1 < q.of.size and q.of[last + 1] == s and q.ridge[last + 1] == q.ridge[at]:
                last += 1
            for i in range(n):
                for j in range(n):
                    L[i, j] = A[i * q.stride[s] + j]
                L[i, i] += q.ridge[at] * q.weight[s] * q.q[i]
            good = factorised(L, n)
            for k in range(at, last + 1):
                good = good and substituted(L, q.b[s], q.w[k], min(n, q.leading[k]))
            if not good:
                for k in range(at, last + 1):
                    for i in range(n):
                        q.w[k, i] = fallback if q.q[i] == 0.0 else 0.0
        at = last + 1


def factorised(L: Floats, n: int) -> bool:
    """Replace a matrix by its triangular factors, without pivoting; return whether they exist."""
    for i in range(n):
        row = L[i]
        largest = abs(row[i])
        for k in range(i):
            if row[k] != 0.0:
                row[k] /= L[k, k]
                add_row(row, L[k], -row[k], k + 1, n)
        if not (abs(row[i]) > 1e-12 * largest and abs(row[i]) < math.inf):
            return False
    return True


def substituted(L: Floats, b: Floats, w: Floats, n: int) -> bool:
    """Solve the transposed system, wᵀ A = bᵀ, for the leading n rows and columns; return whether w is finite."""
    good = True
    for i in range(n):
        w[i] = b[i]
    for i in range(n):
        w[i] /= L[i, i]
        add_row(w, L[i], -w[i], i + 1, n)
    for i in range(n - 1, -1, -1):
        add_row(w, L[i], -w[i], 0, i)
        good = good and abs(w[i]) < 1e200
    return good

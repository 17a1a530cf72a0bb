"""Solver for the small linear systems of the least-squares experts."""

from __future__ import annotations

from tdlambda.arrays import Floats
from tdlambda.compiled import part


@part
def eliminate(L: Floats, w: Floats) -> bool:
    """Replace w by L⁻¹ w, by elimination with pivoting; return whether L⁻¹ exists. L is overwritten."""
    n = w.size
    for k in range(n):
        pivot = k
        for i in range(k + 1, n):
            if abs(L[i, k]) > abs(L[pivot, k]):
                pivot = i
        if not abs(L[pivot, k]) > 1e-300:
            return False
        if pivot != k:
            for j in range(k, n):
                L[k, j], L[pivot, j] = L[pivot, j], L[k, j]
            w[k], w[pivot] = w[pivot], w[k]
        inverse = 1.0 / L[k, k]
        for i in range(k + 1, n):
            factor = L[i, k] * inverse
            if factor != 0.0:
                subtract(L[i], L[k], factor, k + 1)
                w[i] -= factor * w[k]
    good = True
    for k in range(n - 1, -1, -1):
        total = w[k]
        for j in range(k + 1, n):
            total -= L[k, j] * w[j]
        w[k] = total / L[k, k]
        good &= abs(w[k]) < 1e200
    return good


@part
def subtract(row: Floats, other: Floats, factor: float, first: int) -> None:
    """Compute row -= factor · other, from column `first` on."""
    for j in range(first, row.size):
        row[j] -= factor * other[j]

"""How far predictions are from what then happens, without waiting for it.

What follows a prediction differs from it by D_t = G_t - u_t = Σ_k γ…γ δ_{t+k}, on-policy. From D_t = δ_t + γ' D_{t+1},

    E[D²] (1 - E[γ'²]) = E[δ²] + 2 E[δ_t e_t],        e_{t+1} = γ' (e_t + δ_t)

where e sums the TD errors of the steps before. Where features are a state, TD errors do not go together, and the last
term is small; where they are none it is not, and E[D²] still counts it.
"""

from __future__ import annotations

from tdlambda.arrays import Floats
from tdlambda.compiled import part
from tdlambda.learners.base import Array

TRACE, SQUARES, PRODUCTS, DISCOUNTS, COUNT, OFF_POLICY, ROWS = range(7)
"""Of the array `errors`: e; means of δ², δ e and γ'², in which step s weighs in proportion to s; steps; off-policy?"""
LEAST_RATE = 1e-4
"""Least step size of the means: about 10⁴ steps are remembered."""
RECENT, SKIPPED = 64, 10
"""Observations that are kept, one of every ten."""


@part
def note_error(errors: Floats, error: float, gamma: float, rho: float) -> None:
    """Let a TD error count, and the discount after it."""
    errors[COUNT] += 1.0
    rate = max(2.0 / (errors[COUNT] + 1.0), LEAST_RATE)
    errors[SQUARES] += rate * (error * error - errors[SQUARES])
    errors[PRODUCTS] += rate * (error * errors[TRACE] - errors[PRODUCTS])
    errors[DISCOUNTS] += rate * (gamma * gamma - errors[DISCOUNTS])
    errors[TRACE] = gamma * (errors[TRACE] + error)
    if rho != 1.0:
        errors[OFF_POLICY] = 1.0


def return_error(errors: Array) -> float | None:
    """√E[(G - u)²] of recent predictions; None at the start, and off-policy, where returns are another policy's."""
    if errors[OFF_POLICY] > 0 or errors[COUNT] < 2 or not errors[DISCOUNTS] < 1:
        return None
    square = (errors[SQUARES] + 2 * errors[PRODUCTS]) / (1 - errors[DISCOUNTS])
    return float(max(square, errors[SQUARES])) ** 0.5

"""Estimate of the mean squared return error, without waiting for the returns.

On-policy, the return error is D_t = G_t - u_t = Σ_k γ…γ δ_{t+k}. From D_t = δ_t + γ' D_{t+1},

    E[D²] (1 - E[γ'²]) = E[δ²] + 2 E[δ_t e_t],        e_{t+1} = γ' (e_t + δ_t)

where e sums the earlier TD errors. If the features are a Markov state, TD errors are uncorrelated and the last term is
small. Otherwise it is not small, and E[D²] includes it.
"""

from __future__ import annotations

from tdlambda.arrays import Floats
from tdlambda.learners.learner import Array

TRACE, SQUARES, PRODUCTS, DISCOUNTS, COUNT, OFF_POLICY, ROWS = range(7)
"""Entries of the array `errors`: e; means of δ², δe and γ'², in which step s has a weight proportional to s; number of
steps; whether the data are off-policy."""
LEAST_RATE = 1e-4
"""Smallest step size of the means; the memory is about 10⁴ steps."""
RECENT, SKIPPED = 64, 10
"""Number of recent observations kept, and the interval between them in steps."""


def note_error(errors: Floats, error: float, gamma: float, rho: float) -> None:
    """Add a TD error and the discount after it."""
    errors[COUNT] += 1.0
    rate = max(2.0 / (errors[COUNT] + 1.0), LEAST_RATE)
    errors[SQUARES] += rate * (error * error - errors[SQUARES])
    errors[PRODUCTS] += rate * (error * errors[TRACE] - errors[PRODUCTS])
    errors[DISCOUNTS] += rate * (gamma * gamma - errors[DISCOUNTS])
    errors[TRACE] = gamma * (errors[TRACE] + error)
    if rho != 1.0:
        errors[OFF_POLICY] = 1.0


def return_error(errors: Array) -> float | None:
    """√E[(G - u)²] of recent predictions; None at the start and off-policy."""
    if errors[OFF_POLICY] > 0 or errors[COUNT] < 2 or not errors[DISCOUNTS] < 1:
        return None
    square = (errors[SQUARES] + 2 * errors[PRODUCTS]) / (1 - errors[DISCOUNTS])
    return float(max(square, errors[SQUARES])) ** 0.5

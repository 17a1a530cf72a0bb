"""Running means of the return: LSTD(1) on the constant alone, with several windows; and the constant 0.

    k += 1,    numerator = f numerator + ρ k r,    denominator = f denominator + ρ k (1 - γ'),    k *= min(ρ, 1) γ'

The constant 0 takes part once an episode has ended; before, rewards have no origin.
"""

from __future__ import annotations

from typing import NamedTuple

from tdlambda.arrays import Floats

NUMERATOR, DENOMINATOR, RETURN, ROWS = range(4)


class Means(NamedTuple):
    """The arrays of the running means."""

    window: Floats
    """[mean]; 0 stands for the prediction 0."""
    rows: Floats
    """[ROWS, mean]"""
    trace: Floats
    """k [1]"""


def values(m: Means, out: Floats) -> None:
    """Each expert's prediction."""
    for j in range(out.size):
        out[j] = m.rows[RETURN, j]


def learn(m: Means, reward: float, gamma: float, rho: float) -> None:
    """Update the means."""
    m.trace[0] += 1.0
    for j in range(m.rows.shape[1]):
        if m.window[j] > 0.0:
            keep = 1.0 - 1.0 / m.window[j]
            m.rows[NUMERATOR, j] = keep * m.rows[NUMERATOR, j] + rho * m.trace[0] * reward
            m.rows[DENOMINATOR, j] = keep * m.rows[DENOMINATOR, j] + rho * m.trace[0] * (1.0 - gamma)
            if m.rows[DENOMINATOR, j] > 0.0:
                m.rows[RETURN, j] = m.rows[NUMERATOR, j] / m.rows[DENOMINATOR, j]
    m.trace[0] *= min(rho, 1.0) * gamma

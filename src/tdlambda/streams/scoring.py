"""Scores of predictions against realised returns, with intervals that account for overlapping returns."""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np

from tdlambda.arrays import Bools, Floats

DRAWS, LEAST = 1000, 5
"""Number of bootstrap samples, and smallest number of blocks for an interval."""

ROUNDING = 1e-9
"""Relative difference between returns that is taken for rounding."""


class Fit(NamedTuple):
    """Scores of predictions against returns."""

    r2: float
    rmse: float
    bias: float
    """Mean of prediction minus return."""
    slope: float
    """Slope of the returns on the predictions; 1 if predictions are calibrated."""
    n: int

    def words(self) -> tuple[str, str, str, str]:
        """R², RMSE, bias and slope for people: R² is "constant" if the returns are, and what is unknown is a dash."""
        r2 = "constant" if self.n >= 2 and np.isnan(self.r2) else _said(self.r2, ".3f")
        return r2, _said(self.rmse, ".4g"), _said(self.bias, ".2g"), _said(self.slope, ".2f")


def _said(value: float, form: str) -> str:
    return "–" if np.isnan(value) else f"{value:{form}}"


def constant(values: Floats) -> bool:
    """Whether values differ by no more than rounding, so that no share of their variance can be explained."""
    return bool(np.ptp(values) <= ROUNDING * np.abs(values).max()) if values.size else True


def fit(v: Floats, G: Floats) -> Fit:
    """Scores of predictions v of returns G."""
    if G.size < 2:
        return Fit(np.nan, np.nan, np.nan, np.nan, G.size)
    error, spread = float(np.mean((v - G) ** 2)), float(np.mean((G - G.mean()) ** 2))
    moved = float(np.mean((v - v.mean()) ** 2))
    r2 = np.nan if constant(G) else 1 - error / spread
    slope = np.nan if constant(v) or constant(G) else float(np.mean((v - v.mean()) * (G - G.mean()))) / moved
    return Fit(r2, error**0.5, float(np.mean(v - G)), slope, G.size)


def intervals(v: Floats, G: Floats, length: int, seed: int = 0) -> dict[str, tuple[float, float]]:
    """95 % intervals of R² and RMSE by a moving-block bootstrap (Künsch 1989).

    `length` is the length of a block in steps. Overlapping returns are correlated, so it must be at least that of a
    return. With fewer than five blocks the limits are NaN.
    """
    n = G.size
    length = max(1, length, round(n ** (1 / 3)))
    blocks = n // length
    if blocks < LEAST:
        return {"r2": (np.nan, np.nan), "rmse": (np.nan, np.nan)}
    center = G - G.mean()  # avoids cancellation in the variance
    sums = np.cumsum(np.column_stack([np.zeros(3), [(v - G) ** 2, center, center**2]]), axis=1)
    starts = np.random.default_rng(seed).integers(n - length + 1, size=(DRAWS, blocks))
    error, total, square = ((row[starts + length] - row[starts]).sum(axis=1) / (blocks * length) for row in sums)
    if constant(G):
        return {"r2": (np.nan, np.nan), "rmse": _limits(np.sqrt(error))}
    spread = square - total**2
    r2 = 1 - error / np.where(spread > 0, spread, np.nan)
    return {"r2": _limits(r2), "rmse": _limits(np.sqrt(error))}


def _limits(drawn: Floats) -> tuple[float, float]:
    low, high = np.nanquantile(drawn, (0.025, 0.975))
    return float(low), float(high)


def calibration(v: Floats, G: Floats, bins: int = 10) -> list[tuple[float, float, int]]:
    """Mean prediction, mean return and count, in bins with equally many predictions."""
    order = np.array_split(np.argsort(v, kind="stable"), min(bins, max(1, v.size)))
    return [(float(v[some].mean()), float(G[some].mean()), some.size) for some in order if some.size]


def rolling(v: Floats, G: Floats, known: Bools, windows: int = 60) -> tuple[Floats, Floats]:
    """The middles of windows with equally many steps, and the RMSE in each; NaN if no return in it is known."""
    edges = np.linspace(0, v.size, min(windows, max(1, v.size)) + 1).astype(np.int64)
    found = np.full(edges.size - 1, np.nan)
    for k, (begin, end) in enumerate(pairwise(edges)):
        some = known[begin:end]
        if some.any():
            found[k] = np.sqrt(np.mean((v[begin:end][some] - G[begin:end][some]) ** 2))
    return (edges[:-1] + edges[1:]) / 2, found

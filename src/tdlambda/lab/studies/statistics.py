"""Statistics of runs: intervals, comparisons paired by seed, selection separate from reporting, sensitivity.

All methods of a study see the same trajectories, so two methods are compared seed by seed. Intervals are Student's t on
the log scale: the standard error of log x̄ is s/(x̄√n), and that of log x̄ - log ȳ is the one of the mean of x/x̄ - y/ȳ,
which uses the pairing. Such an interval is positive. With few runs it covers the true value more often than a bootstrap
interval does (the page on studies has figures).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, overload

import numpy as np
import scipy
from numpy.typing import ArrayLike

from tdlambda.arrays import Floats, confidence, integer, number
from tdlambda.showing import PrintedTable

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True, repr=False)
class Summary(PrintedTable):
    """Statistics of one cell: `diverged` of `n` runs diverged; the mean, std, … are of the others."""

    n: int
    diverged: int
    mean: float
    std: float
    error: float
    low: float
    high: float


@dataclass(frozen=True, repr=False)
class Comparison(PrintedTable):
    """Paired comparison of A and B: the ratio of their means, and how often A is better, with 95 % intervals.

    `n` is the number of pairs in which neither diverged, `diverged` the number of the others.
    """

    n: int
    diverged: int
    ratio: float
    ratio_low: float
    ratio_high: float
    better: float
    better_low: float
    better_high: float


def summary(errors: ArrayLike, level: float = 0.95) -> Summary:
    """Summarise the errors of one cell's runs; the error of a run that diverged is infinite or NaN.

    `level` is the confidence level of the interval, in (0, 1).

    >>> cell = summary([1.0, 2.0, 3.0, float("inf")])
    >>> cell.n, cell.diverged, cell.mean, cell.std
    (4, 1, 2.0, 1.0)
    """
    level = confidence(level)
    all_runs = _runs(errors, "errors")
    finite = all_runs[np.isfinite(all_runs)]
    lost = all_runs.size - finite.size
    if finite.size == 0:
        return Summary(all_runs.size, lost, np.inf, np.nan, np.nan, np.nan, np.nan)
    mean = float(finite.mean())
    if finite.size == 1:
        return Summary(all_runs.size, lost, mean, np.nan, np.nan, np.nan, np.nan)
    std = float(finite.std(ddof=1))
    low, high = _error_interval(finite, level)
    return Summary(all_runs.size, lost, mean, std, float(std / np.sqrt(finite.size)), low, high)


def compare(a: ArrayLike, b: ArrayLike, level: float = 0.95) -> Comparison:
    """Compare the errors of two methods run by run; a ratio below 1 means that `a` is better.

    The k-th runs of both methods must have seen the same trajectory. `level` is the confidence level of the intervals,
    in (0, 1). Negative numbers, such as some costs of control, have no ratio: it is NaN then, and only `better` says
    which is smaller.

    >>> found = compare([1.0, 2.0, 3.0, 4.0], [2.0, 4.0, 6.0, 8.0])
    >>> found.ratio, found.ratio_low, found.ratio_high, found.better
    (0.5, 0.5, 0.5, 1.0)
    """
    level = confidence(level)
    first, second = _runs(a, "a"), _runs(b, "b")
    if first.size != second.size:
        raise ValueError(f"a and b must have one error for each seed; got {first.size} and {second.size}")
    both = np.isfinite(first) & np.isfinite(second)
    lost, x, y = int((~both).sum()), first[both], second[both]
    if x.size == 0:
        return Comparison(0, lost, *(np.nan,) * 6)
    share = float(((x < y) + 0.5 * (x == y)).mean())
    interval = _share_interval(share, x.size, level) if x.size > 1 else (np.nan, np.nan)
    if (x < 0).any() or (y < 0).any():
        return Comparison(x.size, lost, np.nan, np.nan, np.nan, share, *interval)
    ratio = float(x.mean() / y.mean()) if y.mean() > 0 else 1.0 if x.mean() == 0 else np.inf
    low = high = np.nan
    if x.size > 1 and 0 < ratio < np.inf and y.mean() > 0:
        low, high = _around(ratio, x / x.mean() - y / y.mean(), level)
    return Comparison(x.size, lost, ratio, low, high, share, *interval)


def rank(diverged: int, mean: float) -> tuple[bool, float]:
    """Sort key for cells, best first: cells without divergence come first, then the smaller mean.

    >>> min([(0, 3.0), (1, 1.0), (0, 2.0)], key=lambda cell: rank(*cell))
    (0, 2.0)
    """
    return diverged > 0, mean


@overload
def choose(
    errors: pl.DataFrame, tuning: Iterable[int], reporting: Iterable[int] | None = None, measure: str = "tail"
) -> pl.DataFrame: ...
@overload
def choose(
    errors: ArrayLike, tuning: Iterable[int], reporting: Iterable[int] | None = None, measure: str = "tail"
) -> tuple[int, Floats]: ...
def choose(
    errors: Any, tuning: Iterable[int], reporting: Iterable[int] | None = None, measure: str = "tail"
) -> tuple[int, Floats] | pl.DataFrame:
    """The configuration with the smallest mean error on the tuning seeds, and its errors on the reporting seeds.

    Parameters
    ----------
    errors
        [configuration, seed], or the data frame of `td.studies.load_results`. A configuration that diverged on a
        tuning seed is not chosen, unless all did.
    tuning, reporting
        Indices of seeds along the second axis; for a data frame, the seeds themselves. They must not overlap; use
        `hindsight` to choose and report on the same runs, as published tables often do.
    measure
        Column of a data frame to choose by: "tail" or "area".

    Returns
    -------
    The index of the configuration and its errors; for a data frame, its rows of each method's chosen configuration on
    the reporting seeds, sorted by seed.

    >>> choose([[1.0, 1.0, 9.0], [2.0, 2.0, 2.0]], tuning=[0, 1])
    (0, array([9.]))
    """
    if hasattr(errors, "group_by"):
        return _choose_rows(errors, tuning, reporting, measure)
    table = np.asarray(errors, dtype=np.float64)
    if table.ndim != 2:
        raise ValueError(f"errors must be [configuration, seed]; got shape {table.shape}")
    seeds = table.shape[1]
    first = [integer(seed, "tuning", 0, seeds - 1) for seed in tuning]
    if not first:
        raise ValueError(f"tuning must be at least one index from 0 to {seeds - 1}; got none")
    rest = sorted({*range(seeds)} - {*first}) if reporting is None else [*reporting]
    rest = [integer(seed, "reporting", 0, seeds - 1) for seed in rest]
    if not rest or {*rest} & {*first}:
        raise ValueError(f"reporting must be indices of other seeds than tuning, at least one; got {rest}")
    best = _least(table[:, first])
    return best, table[best, rest]


def _choose_rows(
    results: pl.DataFrame, tuning: Iterable[int], reporting: Iterable[int] | None, measure: str
) -> pl.DataFrame:
    """`choose` for the results of a study: the rows of each method's chosen configuration on the reporting seeds."""
    import polars as pl  # slow to import

    if measure not in results.columns or "seed" not in results.columns:
        raise ValueError(f"measure must be a column of results with a seed, such as 'tail'; got {measure!r}")
    axes = [name for name in results.columns[: results.columns.index("seed")] if name != "method"]
    seeds, out = sorted(results["seed"].unique().to_list()), []
    at = {seed: k for k, seed in enumerate(seeds)}
    for name, some in (("tuning", [*tuning]), ("reporting", [*(reporting or ())])):
        for seed in some:
            if seed not in at:
                raise ValueError(f"{name} must be seeds of the results, {seeds[0]} to {seeds[-1]}; got {seed}")
    first = [at[seed] for seed in tuning]
    rest = None if reporting is None else [at[seed] for seed in reporting]
    for _, part in results.group_by("method", maintain_order=True):
        cells = [cell.sort("seed") for _, cell in part.group_by(axes or "method", maintain_order=True)]
        if any(cell["seed"].to_list() != seeds for cell in cells):
            raise ValueError("results: some configurations lack seeds; finish the study, or filter its results")
        best, _ = choose([cell[measure].to_list() for cell in cells], first, rest)
        kept = [seed for seed in seeds if seed not in {*tuning}] if reporting is None else [*reporting]
        out.append(cells[best].filter(pl.col("seed").is_in(kept)))
    return pl.concat(out)


def hindsight(errors: ArrayLike, drop_diverged: bool = False) -> tuple[int, Floats]:
    """The configuration with the smallest mean error, chosen on the runs that are reported; biased downwards.

    With `drop_diverged`, means are over the runs that did not diverge, however few, which biases them further.

    >>> hindsight([[1.0, float("inf")], [2.0, 2.0]])[0], hindsight([[1.0, float("inf")], [2.0, 2.0]], True)[0]
    (1, 0)
    """
    table = np.asarray(errors, dtype=np.float64)
    if table.ndim != 2 or table.size == 0:
        raise ValueError(f"errors must be [configuration, seed], at least one of each; got shape {table.shape}")
    best = _least(table, drop_diverged)
    return best, table[best]


def sensitivity(values: ArrayLike, errors: ArrayLike, factor: float = 2.0) -> float:
    """Number of decades of a parameter over which the mean error stays within `factor` of the best.

    Only the interval around the best value counts; 0 means the best value alone. `factor` is at least 1.

    >>> sensitivity([1e-3, 1e-2, 1e-1, 1.0], [3.0, 1.5, 1.0, 9.0])
    1.0
    """
    x, y = np.asarray(values, dtype=np.float64), np.asarray(errors, dtype=np.float64)
    if x.shape != y.shape or x.ndim != 1 or x.size == 0 or not (np.diff(x) > 0).all() or not (x > 0).all():
        raise ValueError(f"values must be positive and increasing, with one error each; got {x.tolist()}")
    if not number(factor, "factor") >= 1:
        raise ValueError(f"factor must be at least 1; got {factor}")
    first, _, last = stretch(y, factor)
    return float(np.log10(x[last] / x[first]))


def stretch(errors: Floats, factor: float) -> tuple[int, int, int]:
    """The first index around the best at which the error stays within `factor` of the best, the best, and the last."""
    y = np.where(np.isfinite(errors), errors, np.inf)
    best = int(np.argmin(y))
    beyond = np.flatnonzero(~(np.isfinite(y) & (y <= factor * y[best])))
    beyond = beyond[beyond != best]
    first, last = beyond[beyond < best].max(initial=-1) + 1, beyond[beyond > best].min(initial=y.size) - 1
    return int(first), best, int(last)


def _runs(errors: ArrayLike, name: str) -> Floats:
    runs = np.asarray(errors, dtype=np.float64)
    if runs.ndim != 1 or runs.size == 0:
        raise ValueError(f"{name} must be a list of errors, at least one; got shape {runs.shape}")
    return runs


def _least(table: Floats, drop_diverged: bool = False) -> int:
    finite = np.isfinite(table)
    some = finite.any(axis=1) if drop_diverged else finite.all(axis=1)
    means = np.where(finite, table, 0).sum(axis=1) / np.maximum(finite.sum(axis=1), 1)
    return int(np.argmin(np.where(some, means, np.inf)))


def mean_interval(x: Floats, level: float = 0.95) -> tuple[float, float]:
    """Student's t interval of the mean of numbers of either sign, such as differences of errors."""
    mean, half = float(x.mean()), _half_width(x, level)
    return mean - half, mean + half


def _error_interval(x: Floats, level: float) -> tuple[float, float]:
    """Interval of the mean error; costs of control may be negative, and have no log scale."""
    mean = float(x.mean())
    if mean <= 0 or (x < 0).any():
        return mean_interval(x, level)
    return _around(mean, x / mean, level)


def _around(middle: float, relative: Floats, level: float) -> tuple[float, float]:
    """Interval of a positive number; the error of its logarithm is the one of the mean of `relative`."""
    with np.errstate(over="ignore"):
        factor = float(np.exp(_half_width(relative, level)))
    return middle / factor, middle * factor


def _half_width(x: Floats, level: float) -> float:
    """Half the width of Student's t interval of the mean."""
    return float(scipy.special.stdtrit(x.size - 1, (1 + level) / 2) * x.std(ddof=1) / np.sqrt(x.size))


def _share_interval(share: float, n: int, level: float) -> tuple[float, float]:
    """The interval of Wilson (1927) for a share of n pairs."""
    z2 = float(scipy.special.ndtri((1 + level) / 2)) ** 2
    middle, half = share + z2 / (2 * n), np.sqrt(z2 * (share * (1 - share) + z2 / (4 * n)) / n)
    return float(max(0.0, middle - half) / (1 + z2 / n)), float(min(1.0, (middle + half) / (1 + z2 / n)))

"""How many 95 % intervals hold the true mean, or the true ratio of means, with few seeds.

    python experiments/statistics/coverage.py [--draws 2000]

Errors of runs are drawn from three distributions: normal, log-normal with σ = 0.5 and with σ = 1, which is as skewed as
the errors of runs that nearly diverge. Pairs for the ratio have the correlation 0.8 on the log scale. Intervals are
the percentile and BCa bootstrap of SciPy (999 resamples), Student's t by the delta method, and those of tdlambda:
Student's t on the log scale.
"""

import argparse
from typing import Any

import numpy as np
from scipy import stats

from tdlambda.lab.studies import compare, summary

SEEDS = (4, 8, 12, 24, 60)
SKEWED = {"normal": 0.0, "log-normal 0.5": 0.5, "log-normal 1": 1.0}


def draws(rng: np.random.Generator, sigma: float, shape: tuple[int, ...]) -> tuple[Any, Any, float]:
    """Errors of two methods on the same seeds, whose means have the ratio 1; and their mean."""
    common = rng.normal(size=shape)
    a, b = (np.sqrt(0.8) * common + np.sqrt(0.2) * rng.normal(size=shape) for _ in range(2))
    if sigma == 0:
        return 5 + a, 5 + b, 5.0
    return np.exp(sigma * a), np.exp(sigma * b), float(np.exp(sigma**2 / 2))


def mean(x: Any, axis: int = -1) -> Any:
    return np.mean(x, axis=axis)


def ratio(x: Any, y: Any, axis: int = -1) -> Any:
    return np.mean(x, axis=axis) / np.mean(y, axis=axis)


def bootstrap(data: tuple[Any, ...], statistic: Any, kind: str) -> tuple[Any, Any]:
    found = stats.bootstrap(
        data, statistic, paired=len(data) > 1, vectorized=True, n_resamples=999, method=kind, axis=-1,
        rng=np.random.default_rng(1), batch=100,
    )  # fmt: skip
    return found.confidence_interval.low, found.confidence_interval.high


def student(x: Any, y: Any = None) -> tuple[Any, Any]:
    """Of the mean of x, or of the ratio of means."""
    n = x.shape[-1]
    middle = x.mean(axis=-1) if y is None else ratio(x, y)
    residual = x if y is None else (x - middle[..., None] * y) / y.mean(axis=-1, keepdims=True)
    half = stats.t.ppf(0.975, n - 1) / np.sqrt(n) * residual.std(axis=-1, ddof=1)
    return middle - half, middle + half


def ours(x: Any, y: Any = None) -> tuple[Any, Any]:
    if y is None:
        cells = [summary(row) for row in x]
        return np.array([cell.low for cell in cells]), np.array([cell.high for cell in cells])
    pairs = [compare(*rows) for rows in zip(x, y, strict=True)]
    return np.array([pair.ratio_low for pair in pairs]), np.array([pair.ratio_high for pair in pairs])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draws", type=int, default=2000)
    options = parser.parse_args()
    print("| what | errors | seeds | percentile | BCa | Student's t | tdlambda |\n|" + " --- |" * 7)
    for what in ("mean", "ratio"):
        for name, sigma in SKEWED.items():
            for n in SEEDS:
                x, y, true = draws(np.random.default_rng(n), sigma, (options.draws, n))
                data, statistic, goal = ((x,), mean, true) if what == "mean" else ((x, y), ratio, 1.0)
                found = [bootstrap(data, statistic, kind) for kind in ("percentile", "BCa")]
                found += [student(*data), ours(*data)]
                shares = [np.mean((low <= goal) & (goal <= high)) for low, high in found]
                print(f"| {what} | {name} | {n} | " + " | ".join(f"{share:.3f}" for share in shares) + " |", flush=True)


if __name__ == "__main__":
    main()

"""Differences of squared errors with intervals, from the scores of units."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tdlambda.arrays import Floats


class ScoreEstimate(NamedTuple):
    """Estimates with their standard errors, degrees of freedom, and the units that carry their variance."""

    value: Floats
    error: Floats
    freedom: Floats
    carried: Floats
    unstable: Floats | float = 0.0
    """Share of the squared error that comes from the reference."""

    def interval(self, level: float) -> tuple[Floats, Floats]:
        """Limits of a Student interval."""
        import scipy

        half = scipy.stats.t.ppf(0.5 + level / 2, self.freedom) * self.error
        return self.value - half, self.value + half

    def below_zero(self) -> Floats:
        """The probability that the true value is negative; 0.5 where estimate and standard error are both 0."""
        import scipy

        return scipy.stats.t.cdf(-self.value / np.maximum(self.error, 1e-300), self.freedom)


def combined(
    raw: Floats, expected: Floats, steps: Floats, halves: tuple[Floats, Floats] | None = None
) -> ScoreEstimate:
    """Between the raw form, which is unbiased, and the expected form, which varies less but may be biased.

    With h = raw - expected and s² its squared standard error, the estimate is expected + max(0, 1 - s²/h²) h. The bias
    that goes unnoticed, min(h², s²), is added to the variance. Scores are [..., unit], and so are the results without
    units.

    `halves` are expected scores with references fitted on two halves of the data. If these estimates differ by d, each
    has a variance of about d²/2 from its reference, which is added too. It is small unless the equations of the
    reference are nearly singular.
    """
    mean_raw, left_raw = _residuals(raw, steps)
    mean, left = _residuals(expected, steps)
    h, s2 = mean_raw - mean, _squared_error(left_raw - left)
    share = np.maximum(0.0, 1 - s2 / np.maximum(h * h, 1e-300))
    unstable = 0.0 if halves is None else (halves[0].sum(-1) - halves[1].sum(-1)) ** 2 / steps.sum() ** 2 / 2
    error = np.sqrt(_squared_error(left) + np.minimum(h * h, s2) + unstable)
    kurtosis = _kurtosis(left_raw)
    freedom, carried = _freedom(kurtosis, steps.size), _carried(kurtosis, steps.size)
    return ScoreEstimate(mean + share * h, error, freedom, carried, unstable / np.maximum(error**2, 1e-300))


def plain(scores: Floats, steps: Floats) -> ScoreEstimate:
    """The mean per step of scores [..., unit]."""
    mean, left = _residuals(scores, steps)
    kurtosis, n = _kurtosis(left), steps.size
    return ScoreEstimate(mean, np.sqrt(_squared_error(left)), _freedom(kurtosis, n), _carried(kurtosis, n))


def _residuals(scores: Floats, steps: Floats) -> tuple[Floats, Floats]:
    """The ratio Σ scores / Σ steps, and each unit's deviation from it."""
    mean = scores.sum(-1) / steps.sum()
    return mean, (scores - mean[..., None] * steps) / steps.mean()


def _squared_error(left: Floats) -> Floats:
    return left.var(-1, ddof=1) / left.shape[-1]


def _kurtosis(left: Floats) -> Floats:
    second = (left**2).mean(-1)
    scale = np.where(second > 0, second, 1.0)
    return np.where(second > 0, ((left / np.sqrt(scale)[..., None]) ** 4).mean(-1), 1.0)


def _freedom(kurtosis: Floats, n: int) -> Floats:
    """Degrees of freedom of the estimated variance: 2n / (kurtosis - 1), which is n for normal residuals."""
    return np.clip(2 * n / np.maximum(kurtosis - 1, 1e-9), 1, n - 1)


def _carried(kurtosis: Floats, n: int) -> Floats:
    """How many normal residuals would have a variance as uncertain as this one; at most n."""
    return np.minimum(n, 3 * n / np.maximum(kurtosis, 1.0))

"""Curves of several learners over their runs, for results of the engine."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from altair.typing import ChartType
from scipy.special import stdtrit

from tdlambda.arrays import Floats, Ints
from tdlambda.charts.learning_curves import learning_curves
from tdlambda.charts.style import number


def runs(
    names: Sequence[str], points: Ints, curves: Floats, y: str, unit: str = "steps", log: bool = True
) -> ChartType:
    """Plot the mean curve of each learner over its runs, with its 95 % interval by Student's t.

    Parameters
    ----------
    names
        Names of the learners.
    points
        Steps or episodes.
    curves
        [learner, run, point]; a run counts while its numbers are finite.
    y, unit
        Labels of the axes.
    log
        Whether the value axis is logarithmic.
    """
    rows = []
    for name, some in zip(names, curves, strict=True):
        alive = np.isfinite(some)
        n = alive.sum(axis=0)
        with np.errstate(all="ignore"):
            mean = np.where(alive, some, 0.0).sum(axis=0) / n
            spread = np.sqrt((np.where(alive, some - mean, 0.0) ** 2).sum(axis=0) / (n - 1))
            half = stdtrit(np.maximum(n - 1, 1), 0.975) * spread / np.sqrt(n)
        rows += [
            {"series": name, "step": step, "when": f"{step:,} {unit}", "mean": m, "low": m - h, "high": m + h,
             "text": number(m), "n": int(k), "settings": None}
            for step, m, h, k in zip(points.tolist(), mean, half, n, strict=True)
        ]  # fmt: skip
    return learning_curves(rows, y, unit, log=(False, log))

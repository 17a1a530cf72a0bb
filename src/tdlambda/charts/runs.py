"""Curves of several learners over their runs, for results of the engine."""

from __future__ import annotations

from collections.abc import Sequence

from altair.typing import ChartType

from tdlambda.arrays import Floats, Ints
from tdlambda.charts.learning_curves import learning_curves
from tdlambda.charts.style import number
from tdlambda.charts.tidy import band, mean_over_runs


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
        mean, error, n = mean_over_runs(some)
        columns = (points.tolist(), mean, *band(mean, error, n, log=False), n)
        rows += [
            {"series": name, "step": step, "when": f"{step:,} {unit}", "mean": m, "low": a, "high": b,
             "text": number(m), "n": int(k), "settings": None}
            for step, m, a, b, k in zip(*columns, strict=True)
        ]  # fmt: skip
    return learning_curves(rows, y, unit, log=(False, log))

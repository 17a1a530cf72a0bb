"""The result of a run."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from tdlambda.arrays import Floats, Ints
from tdlambda.engine.truth import Truth
from tdlambda.showing import counted

if TYPE_CHECKING:
    from altair.typing import ChartType

WORDS = {"value": "value error", "rmsve": "RMSVE", "rms": "RMS error", "rmspbe": "RMSPBE"}
"""Short names of the scores, for axes."""


@dataclass(frozen=True)
class Result:
    """The errors of every learner on every finished seed.

    Attributes
    ----------
    names
        Names of the learners, in the order of the first axis.
    seeds
        Finished seeds, in the order of the second axis.
    points
        Steps or episodes after which the error was recorded.
    error
        The error that `score` names [learner, seed, point]; by default Σ d(s) (V(s) - v(s))². Infinite from the point
        at which a learner diverged.
    diverged_at
        Step at which a learner diverged [learner, seed]; -1 if it did not.
    weights
        Final weights of each learner [seed, feature]; for a learner that diverged, the weights at divergence.
    lambdas
        Final λ of each learner at `observations` [seed, observation].
    estimates
        All estimates of each learner at `observations` [seed, estimate, observation], if requested.
    learners
        The trained learners [learner][seed], if requested.
    truth
        True values that errors are measured against; `truth.error` is their standard error if they were sampled.
    motion, moments
        For each followed seed, the λ of each learner over time [moment, observation], and the steps of these moments.
    score, average, unit
        Error measure; whether a point is a mean over steps; and the unit of points, "steps" or "episodes".
    interrupted
        Whether the run was stopped before all seeds were finished.
    seconds, lane_steps
        Run time in seconds, and number of updates: learners × steps, over all seeds.
    """

    names: tuple[str, ...]
    seeds: tuple[int, ...]
    points: Ints
    error: Floats
    diverged_at: Ints
    observations: Any
    truth: Truth
    weights: list[Floats]
    lambdas: list[Floats]
    estimates: list[Floats] = field(default_factory=list)
    learners: list[list[Any]] = field(default_factory=list)
    motion: dict[int, list[Any]] = field(default_factory=dict)
    moments: Ints = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    interrupted: bool = False
    seconds: float = 0.0
    lane_steps: int = 0
    score: str = "value"
    average: str | None = None
    unit: str = "steps"

    def tail(self, share: float = 0.1) -> Floats:
        """The mean error over the last points [learner, seed].

        Parameters
        ----------
        share
            Fraction of the points to average over, in (0, 1].
        """
        if not 0 < share <= 1:
            raise ValueError(f"share must be in (0, 1]; got {share}")
        return self.error[:, :, -max(1, round(share * self.points.size)) :].mean(axis=2)

    def area(self) -> Floats:
        """The mean error over all points, the normalised area under the curve [learner, seed].

        If points are means over steps (`average`), this is the mean over all steps.
        """
        return mean_over(self.error, self.points, self.average if self.unit == "steps" else None)

    def best(self, share: float = 0.1) -> str:
        """The name of the learner with the smallest mean tail error.

        Parameters
        ----------
        share
            Fraction of the points to average over, in (0, 1]: see `tail`.
        """
        return self.names[int(np.argmin(self.tail(share).mean(axis=1)))]

    def plot(self) -> ChartType:
        """An Altair chart of the learning curves: mean over seeds and 95 % interval.

        Examples
        --------
        >>> import tdlambda as td
        >>> ring = td.make("RingWorld-v0")
        >>> found = td.engine.run(ring, {"λ = 0.9": td.TrueOnlineTD(ring.features, 0.01, 0.9)}, seeds=4, steps=1000)
        >>> chart = found.plot()                # shows itself in a notebook; chart.save("curves.svg") writes a file
        """
        from tdlambda.charts import runs  # Altair is slow to import

        return runs(self.names, self.points, self.error, WORDS[self.score], self.unit)

    def __repr__(self) -> str:
        """A one-line summary."""
        diverged = int((self.diverged_at >= 0).sum())
        return (
            f"<{counted(len(self.names), 'learner')} × {counted(len(self.seeds), 'seed')} × "
            f"{self.points[-1]:,} {self.unit}, {diverged} diverged{', interrupted' if self.interrupted else ''}>"
        )


def mean_over(error: Floats, points: Ints, average: str | None) -> Floats:
    """The mean over points (last axis); points that are means over steps are weighted by their steps."""
    if average is None:
        return np.asarray(error.mean(axis=-1))
    return np.asarray(np.average(error, axis=-1, weights=np.diff(points, prepend=0)))

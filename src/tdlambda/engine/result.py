"""What a run gives back."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tdlambda.arrays import Floats, Ints
from tdlambda.engine.truth import Truth

WORDS = {"value": "value error", "rmsve": "RMSVE", "rms": "RMS error", "rmspbe": "RMSPBE"}
"""What the scores are called."""


@dataclass(frozen=True)
class Result:
    """Errors of every learner on every seed that was finished.

    Attributes
    ----------
    names
        Of the learners, in the order of the first axis below.
    seeds
        That were finished, in the order of the second axis.
    points
        Steps, or episodes, after which the error was read.
    error
        [learner, seed, point], what `score` says: by default Σ d(s) (V(s) - v(s))²; infinite from the point where a
        learner diverged.
    diverged_at
        The step at which a learner diverged [learner, seed]; -1 if it did not.
    weights
        Final weights of each learner, [seed, feature]; of a learner that diverged, those it diverged with.
    lambdas
        Final λ of each learner at each observation of `observations`, [seed, observation].
    estimates
        All that each learner has learnt there, [seed, estimate, observation], if asked for.
    learners
        The learners themselves, [learner][seed], if asked for: each can go on learning.
    truth
        What errors were measured against; `truth.error` is its standard error where it was sampled.
    motion, moments
        Of each seed that was followed, the λ of each learner on the way, [moment, observation], after these points.
    score, average, unit
        What the error is, whether a point is a mean over steps, and what points count: "steps" or "episodes".
    interrupted
        Whether it was asked to stop, or stopped before all seeds were finished.
    seconds, lane_steps
        How long it took, and updates made: learners × steps, over all seeds.
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
        """Mean error over the last `share` of the points [learner, seed]."""
        if not 0 < share <= 1:
            raise ValueError(f"share must be in (0, 1]; got {share}")
        return self.error[:, :, -max(1, round(share * self.points.size)) :].mean(axis=2)

    def area(self) -> Floats:
        """Mean error over all points: the area under the curve, by its length [learner, seed].

        Where points are means over steps (`average`), it is the mean over all steps.
        """
        return mean_over(self.error, self.points, self.average if self.unit == "steps" else None)

    def best(self, share: float = 0.1) -> str:
        """The learner with the least mean tail error."""
        return self.names[int(np.argmin(self.tail(share).mean(axis=1)))]

    def plot(self) -> Any:
        """The learning curve of each learner: mean over seeds and 95 % interval; an Altair chart.

        Examples
        --------
        >>> import tdlambda as td
        >>> ring = td.make("RingWorld-v0")
        >>> found = td.engine.run(ring, {"λ = 0.9": td.TrueOnlineTD(ring.features, 0.01, 0.9)}, seeds=4, steps=1000)
        >>> chart = found.plot()                # shows itself in a notebook; chart.save("curves.svg") writes a file
        """
        from tdlambda.charts import runs  # Altair is slow to import: not before it is needed

        return runs(self.names, self.points, self.error, WORDS[self.score], self.unit)

    def __repr__(self) -> str:
        """In a line."""
        diverged = int((self.diverged_at >= 0).sum())
        return (
            f"<{len(self.names)} learners × {len(self.seeds)} seeds × {self.points[-1]:,} {self.unit}, "
            f"{diverged} diverged{', interrupted' if self.interrupted else ''}>"
        )


def mean_over(error: Floats, points: Ints, average: str | None) -> Floats:
    """The mean over points (last axis); points that are means over steps count by how many steps they are of."""
    if average is None:
        return np.asarray(error.mean(axis=-1))
    return np.asarray(np.average(error, axis=-1, weights=np.diff(points, prepend=0)))

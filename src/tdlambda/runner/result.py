"""The results of runs: curves of every learner or agent on every seed."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from tdlambda.arrays import Floats, Ints, fraction, integer
from tdlambda.runner.job import Job
from tdlambda.runner.truth import Truth
from tdlambda.showing import counted

if TYPE_CHECKING:
    from altair.typing import ChartType

WORDS = {"value": "value error", "rmsve": "RMSVE", "rms": "RMS error", "rmspbe": "RMSPBE"}
"""Short names of the scores, for axes."""
_LISTED = ("learners", "agents", "episodes")
"""Parts that do not form arrays over seeds."""


@dataclass
class RunRecord:
    """What is recorded of one learner or agent on one seed."""

    curve: Floats
    """Its error or return at each point."""
    diverged_at: int
    """The step at which it diverged; -1 if it did not."""
    parts: dict[str, Any]
    """The requested parts of its final state, by name."""
    motion: Floats | None = None
    """Its λ over time [moment, observation], if it was followed."""


@dataclass(frozen=True, kw_only=True)
class RunResult:
    """The part that the results of all runs share."""

    noun: ClassVar[str] = "learner"
    _sign: ClassVar[int] = 1
    """-1 if larger values of the curves are better."""
    names: tuple[str, ...]
    seeds: tuple[int, ...]
    points: Ints
    diverged_at: Ints
    observations: Any
    weights: list[Floats] = field(default_factory=list)
    lambdas: list[Floats] = field(default_factory=list)
    motion: dict[int, list[Any]] = field(default_factory=dict)
    moments: Ints = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    interrupted: bool = False
    seconds: float = 0.0
    lane_steps: int = 0
    unit: str = "steps"

    @property
    def _curves(self) -> Floats:
        """The recorded curves [learner or agent, seed, point]."""
        raise NotImplementedError

    @property
    def _axes(self) -> dict[str, Any]:
        """What the chart of the curves says of its axes."""
        raise NotImplementedError

    def tail(self, share: float = 0.1) -> Floats:
        """The mean over the last points [learner or agent, seed].

        Parameters
        ----------
        share
            Fraction of the points to average over, in (0, 1].
        """
        fraction(share, "share", zero=False)
        return self._curves[:, :, -max(1, round(share * self.points.size)) :].mean(axis=2)

    def best(self, share: float = 0.1) -> str:
        """The name of the learner with the smallest mean tail error, or of the agent with the largest mean return.

        Parameters
        ----------
        share
            Fraction of the points to average over, in (0, 1]: see `tail`.
        """
        return self.names[int(np.argmin(self._sign * self.tail(share).mean(axis=1)))]

    def plot(self, path: str | Path | None = None) -> ChartType:
        """An Altair chart of the curves: mean over seeds and 95 % interval.

        Parameters
        ----------
        path
            File to write the chart to (.svg, .png or .pdf); optional.

        Examples
        --------
        >>> import tdlambda as td
        >>> ring = td.make("RingWorld-v0")
        >>> found = td.engine.run(ring, {"λ = 0.9": td.TrueOnlineTD(ring.features, 0.01, 0.9)}, seeds=4, steps=1000)
        >>> chart = found.plot()                # shows itself in a notebook; found.plot("curves.svg") writes a file
        """
        from tdlambda.charts.plotting import plotted  # Altair is slow to import

        def draw() -> ChartType:
            from tdlambda.charts import runs

            return runs(self.names, self.points, self._curves, **self._axes)

        return plotted(path, draw)

    def __repr__(self) -> str:
        """A one-line summary."""
        diverged = int((self.diverged_at >= 0).sum())
        return (
            f"<{counted(len(self.names), self.noun)} × {counted(len(self.seeds), 'seed')} × "
            f"{self.points[-1]:,} {self.unit}, {diverged} diverged{', interrupted' if self.interrupted else ''}>"
        )


def collected(job: Job, seeds: tuple[int, ...], done: dict[int, dict[int, RunRecord]]) -> tuple[Floats, dict[str, Any]]:
    """The curves, and the other fields of a result that follow from the job and its records.

    Parameters
    ----------
    seeds
        The finished seeds.
    done
        The records by seed and by place, the index of a learner or agent.
    """
    places = range(len(job.names))
    rows = [[done[number][place] for number in seeds] for place in places]
    shape = (len(job.names), len(seeds))
    curves = np.array([[one.curve for one in row] for row in rows]).reshape(*shape, job.points.size)
    fields: dict[str, Any] = {"names": job.names, "seeds": seeds, "points": job.points}
    fields |= {"observations": job.observations, "moments": job.points[job.moments]}
    fields |= {"lane_steps": len(job.names) * sum(map(job.steps_of, seeds)), "unit": job.unit}
    fields["diverged_at"] = np.array([[one.diverged_at for one in row] for row in rows], dtype=np.int64).reshape(shape)
    fields["motion"] = {seed: [done[seed][place].motion for place in places] for seed in seeds if seed in job.follow}
    for name in {name for row in rows for one in row for name in one.parts}:
        column = [[one.parts[name] for one in row] for row in rows]
        fields[name] = column if name in _LISTED else [np.array(row) for row in column]
    return curves, fields


@dataclass(frozen=True, kw_only=True, repr=False)
class Result(RunResult):
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

    error: Floats
    truth: Truth
    estimates: list[Floats] = field(default_factory=list)
    learners: list[list[Any]] = field(default_factory=list)
    score: str = "value"
    average: str | None = None

    @property
    def _curves(self) -> Floats:
        return self.error

    @property
    def _axes(self) -> dict[str, Any]:
        return {"y": WORDS[self.score], "unit": self.unit}

    def area(self) -> Floats:
        """The mean error over all points, the normalised area under the curve [learner, seed].

        If points are means over steps (`average`), this is the mean over all steps.
        """
        return mean_over(self.error, self.points, self.average if self.unit == "steps" else None)


def mean_over(error: Floats, points: Ints, average: str | None) -> Floats:
    """The mean over points (last axis); points that are means over steps are weighted by their steps."""
    if average is None:
        return np.asarray(error.mean(axis=-1))
    return np.asarray(np.average(error, axis=-1, weights=np.diff(points, prepend=0)))


@dataclass(frozen=True, kw_only=True, repr=False)
class ControlResult(RunResult):
    """The returns of every agent on every finished seed.

    Attributes
    ----------
    names, seeds
        Names of the agents and finished seeds, in the order of the first two axes.
    points
        Steps at which the curve is read.
    returns
        [agent, seed, point]: the mean discounted return of the episodes that ended (terminated or truncated) since the
        previous point; if none ended, the previous value; before the first episode ends, its return so far. -∞ from the
        point at which an agent diverged.
    diverged_at
        Step at which critic or policy diverged [agent, seed]; -1 if neither did.
    observations
        Observations of `lambdas` and `policy`.
    weights, theta, lambdas, policy
        If requested, for each agent: final weights of the critic [seed, feature] or of the action values [seed, action,
        feature]; θ of an actor's policy [seed, action, feature]; λ [seed, observation], for action values [seed,
        observation, action]; and the greedy action [seed, observation].
    episodes
        If requested, [agent][seed]: discounted return, length and final step of each episode [episode, 3].
    agents
        If requested, [agent][seed]: the trained agents.
    motion, moments
        For each followed seed, the λ of each critic over time [moment, observation], and the steps of these moments.
    interrupted
        Whether the run was stopped before all seeds were finished.
    seconds, lane_steps
        Run time in seconds, and number of steps: agents × steps, over all seeds.
    """

    noun, _sign = "agent", -1
    returns: Floats
    theta: list[Floats] = field(default_factory=list)
    policy: list[Floats] = field(default_factory=list)
    episodes: list[list[Floats]] = field(default_factory=list)
    agents: list[list[Any]] = field(default_factory=list)

    @property
    def _curves(self) -> Floats:
        return self.returns

    @property
    def _axes(self) -> dict[str, Any]:
        return {"y": "return", "log": False}

    @property
    def error(self) -> Floats:
        """Minus the return [agent, seed, point], so that smaller is better; +∞ after divergence."""
        return -self.returns

    def area(self, after: int = 0) -> Floats:
        """The mean return over all points after some steps [agent, seed].

        Parameters
        ----------
        after
            Number of initial steps to leave out, at least 0 and below the last point.
        """
        after = integer(after, "after", 0, int(self.points[-1]) - 1)
        return self.returns[:, :, self.points > after].mean(axis=2)

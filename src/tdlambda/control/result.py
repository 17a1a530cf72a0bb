"""The result of a run of agents."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from tdlambda.arrays import Floats, Ints, integer
from tdlambda.showing import counted

if TYPE_CHECKING:
    from altair.typing import ChartType


@dataclass(frozen=True)
class ControlResult:
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

    names: tuple[str, ...]
    seeds: tuple[int, ...]
    points: Ints
    returns: Floats
    diverged_at: Ints
    observations: Any
    weights: list[Floats] = field(default_factory=list)
    theta: list[Floats] = field(default_factory=list)
    lambdas: list[Floats] = field(default_factory=list)
    policy: list[Floats] = field(default_factory=list)
    episodes: list[list[Floats]] = field(default_factory=list)
    agents: list[list[Any]] = field(default_factory=list)
    motion: dict[int, list[Any]] = field(default_factory=dict)
    moments: Ints = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    interrupted: bool = False
    seconds: float = 0.0
    lane_steps: int = 0

    @property
    def error(self) -> Floats:
        """Minus the return [agent, seed, point], so that smaller is better; +∞ after divergence."""
        return -self.returns

    def tail(self, share: float = 0.1) -> Floats:
        """The mean return over the last points [agent, seed].

        Parameters
        ----------
        share
            Fraction of the points to average over, in (0, 1].
        """
        if not 0 < share <= 1:
            raise ValueError(f"share must be in (0, 1]; got {share}")
        return self.returns[:, :, -max(1, round(share * self.points.size)) :].mean(axis=2)

    def area(self, after: int = 0) -> Floats:
        """The mean return over all points after some steps [agent, seed].

        Parameters
        ----------
        after
            Number of initial steps to leave out, at least 0 and below the last point.
        """
        after = integer(after, "after", 0, int(self.points[-1]) - 1)
        return self.returns[:, :, self.points > after].mean(axis=2)

    def best(self, share: float = 0.1) -> str:
        """The name of the agent with the largest final mean return.

        Parameters
        ----------
        share
            Fraction of the points to average over, in (0, 1]: see `tail`.
        """
        return self.names[int(np.argmax(self.tail(share).mean(axis=1)))]

    def plot(self) -> ChartType:
        """An Altair chart of the returns over steps: mean over seeds and 95 % interval."""
        from tdlambda.charts import runs  # Altair is slow to import

        return runs(self.names, self.points, self.returns, "return", log=False)

    def __repr__(self) -> str:
        """A one-line summary."""
        diverged = int((self.diverged_at >= 0).sum())
        return (
            f"<{counted(len(self.names), 'agent')} × {counted(len(self.seeds), 'seed')} × {self.points[-1]:,} steps, "
            f"{diverged} diverged{', interrupted' if self.interrupted else ''}>"
        )

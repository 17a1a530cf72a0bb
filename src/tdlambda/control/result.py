"""What a run of agents gives back."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tdlambda.arrays import Floats, Ints


@dataclass(frozen=True)
class ControlResult:
    """Returns of every agent on every seed that was finished.

    Attributes
    ----------
    names, seeds
        In the order of the first two axes below.
    points
        Steps at which the curve is read.
    returns
        [agent, seed, point]: the mean return of the episodes that ended since the point before (or were cut by the
        limit); where none did, the value before; as long as none has at all, the return so far of the first. -∞ from
        the point where an agent diverged.
    diverged_at
        The step at which critic or policy diverged [agent, seed]; -1 if neither did.
    observations
        Those at which `lambdas` are.
    weights, theta, lambdas, policy
        If asked for, for each agent: final weights of the critic [seed, feature] or of the action values [seed, action,
        feature]; of an actor's policy [seed, action, feature]; λ [seed, observation], of action values [seed,
        observation, action]; and the greedy action [seed, observation].
    episodes
        If asked for, [agent][seed]: of each episode its return, its length, and the step it ended at [episode, 3].
    agents
        If asked for, [agent][seed]: the agents themselves, which can go on learning.
    motion, moments
        Of each seed that was followed, the λ of each critic on the way, [moment, observation], after these points.
    interrupted
        Whether it was asked to stop, or stopped before all seeds were finished.
    seconds, lane_steps
        How long it took, and steps made: agents × steps, over all seeds.
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
        """Minus the return [agent, seed, point]: what is to be made small, as elsewhere; +∞ after divergence."""
        return -self.returns

    def tail(self, share: float = 0.1) -> Floats:
        """Mean return over the last `share` of the points [agent, seed]."""
        if not 0 < share <= 1:
            raise ValueError(f"share must be in (0, 1]; got {share}")
        return self.returns[:, :, -max(1, round(share * self.points.size)) :].mean(axis=2)

    def area(self, after: int = 0) -> Floats:
        """Mean return over all points after so many steps [agent, seed]."""
        return self.returns[:, :, self.points > after].mean(axis=2)

    def best(self, share: float = 0.1) -> str:
        """The agent with the greatest mean return at the end."""
        return self.names[int(np.argmax(self.tail(share).mean(axis=1)))]

    def plot(self) -> Any:
        """The return of each agent over its steps: mean over seeds and 95 % interval; an Altair chart."""
        from tdlambda.charts import runs  # Altair is slow to import: not before it is needed

        return runs(self.names, self.points, self.returns, "return", log=False)

    def __repr__(self) -> str:
        """In a line."""
        diverged = int((self.diverged_at >= 0).sum())
        return (
            f"<{len(self.names)} agents × {len(self.seeds)} seeds × {self.points[-1]:,} steps, "
            f"{diverged} diverged{', interrupted' if self.interrupted else ''}>"
        )

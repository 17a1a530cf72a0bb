"""A run in an environment up to a number of steps or episodes: random numbers, progress bar, evaluations."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from tdlambda.progress import Bar
from tdlambda.runner.curve import LearningCurve
from tdlambda.runner.environments import events_of
from tdlambda.runner.loop import Agent, SeparateTraces, interact

SHOW_EVERY = 16
"""Steps between two updates of a progress bar."""


@dataclass
class OnlineRun:
    """A run that continues a curve; `td.learn` and `td.train` start one."""

    curve: LearningCurve
    steps: int = sys.maxsize
    episodes: int = sys.maxsize
    seed: int | None = None
    evaluate_every: int = sys.maxsize
    evaluate: Callable[[np.random.Generator], list[float]] | None = None
    """Returns of evaluation episodes, whose random numbers are those of this generator."""

    def __post_init__(self) -> None:
        """Make the generators of the actions and of the evaluations."""
        # Gymnasium seeds the environment with the same seed. Without `spawn`, the actions and the environment would
        # draw the same random numbers.
        self.rng, self.rng_other = map(np.random.default_rng, np.random.SeedSequence(self.seed).spawn(2))
        self.first_step, self.first_episode, self.evaluated = self.curve.steps, len(self.curve), 0

    def run(
        self, env: Any, agent: Agent, gamma: float | None, convert: Callable[[Any], Any], progress: bool | None,
        traces: SeparateTraces | None = None,
    ) -> None:  # fmt: skip
        """Let the agent learn; see `runner.environments.events_of` and `runner.loop.interact` for the arguments."""
        by_steps = self.steps < sys.maxsize
        total, unit = (self.steps, "steps") if by_steps else (self.episodes, "episodes")
        with Bar(total, progress, unit) as self.bar:
            interact(events_of(env, self.seed, gamma, convert), agent, self.curve, self.rng, self._count, traces)

    def _count(self) -> bool:
        """Update the progress bar after a step, and evaluate if it is due; return whether the run is done."""
        steps, episodes = self.curve.steps - self.first_step, len(self.curve) - self.first_episode
        done = steps >= self.steps or episodes >= self.episodes
        if steps % SHOW_EVERY == 0 or done:
            shown = steps if self.steps < sys.maxsize else episodes
            self.bar.update(shown, lambda: f"{len(self.curve)} episodes, return {self.curve.mean():.4g}")
        if self.evaluate is not None and steps // self.evaluate_every > self.evaluated:
            self.evaluated = steps // self.evaluate_every
            self.curve.evaluated(self.evaluate(self.rng_other))
        return done

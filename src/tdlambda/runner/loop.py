"""The loop of agent and environment: every run that is not compiled goes through it."""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from typing import Any, Protocol

import numpy as np

from tdlambda.runner.curve import LearningCurve
from tdlambda.runner.environments import Events


class Agent(Protocol):
    """What the loop needs of an agent."""

    @property
    def takes_next_action(self) -> bool:
        """Whether `update` takes the next action, chosen with the values before the update, as in Sarsa."""

    def reset(self) -> None:
        """Begin a new episode."""

    def act(self, obs: Any, rng: np.random.Generator) -> Any:
        """Choose an action."""

    def update(
        self, obs: Any, action: Any, reward: float, next_obs: Any, next_action: Any, gamma: float,
        terminated: bool, truncated: bool, /,
    ) -> None:  # fmt: skip
        """Learn from one transition."""


class SeparateTraces(Protocol):
    """The traces of an agent that learns from several episodes at once."""

    def copied(self, obs: Any, action: Any) -> Any:
        """A copy of the traces, positioned at this observation and action."""

    def restore(self, kept: Any, obs: Any, action: Any) -> None:
        """Restore a copy and continue its episode."""


def interact(
    events: Events,
    agent: Agent,
    curve: LearningCurve,
    rng: np.random.Generator,
    done: Callable[[], bool],
    traces: SeparateTraces | None = None,
) -> None:
    """Let an agent act and learn, from new episodes on, until `done`, which is asked before and after each step.

    Parameters
    ----------
    events
        The environment: see `runner.environments`.
    agent
        The agent; it chooses actions with `rng`.
    curve
        The record of its episodes.
    traces
        Exchanges the agent's traces when several copies of an environment alternate; None for a single environment.
    """
    agent.reset()
    curve.begin()
    if done():
        return
    ahead, now, kept = agent.takes_next_action, dict[int, Any](), dict[int, Any]()
    copy, obs, step = next(events)
    while True:
        if step is None:
            action = agent.act(obs, rng)
            if traces is not None and copy not in kept:
                kept[copy] = traces.copied(obs, action)
        else:
            before, action = now[copy]
            reward, gamma, terminated, truncated = step
            if not -inf < reward < inf:
                raise ValueError(f"env: reward must be finite; got {reward} at step {curve.steps + 1}")
            if traces is not None:
                traces.restore(kept[copy], before, action)
            following = agent.act(obs, rng) if ahead and not terminated else None
            agent.update(before, action, reward, obs, following, gamma, terminated, truncated)
            if traces is not None:
                kept[copy] = traces.copied(obs, following)
            curve.add(reward, gamma, terminated or truncated, truncated, copy)
            if done():
                return
            if not terminated and not truncated:
                action = agent.act(obs, rng) if following is None else following
        now[copy] = obs, action
        copy, obs, step = events.send(action)

"""The description of a run of agents, and the parts of an agent that it returns."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tdlambda.arrays import Floats, Ints
from tdlambda.control.action_values import ActionValues

KEEP = ("weights", "theta", "lambdas", "policy", "episodes", "agents")


@dataclass(frozen=True)
class Job:
    """A validated run."""

    world: Any
    """A `World` to run compiled, or an `EnvTask` to run in processes."""
    agents: dict[str, Any]
    seeds: tuple[int, ...]
    steps: int
    points: Ints
    keep: tuple[str, ...]
    observations: Any
    follow: tuple[int, ...] = ()
    """Seeds for which λ is recorded over time."""
    stop: threading.Event = field(default_factory=threading.Event)

    @property
    def total(self) -> int:
        """Number of steps of one agent over all seeds."""
        return self.steps * len(self.seeds)


def kept_of(agent: Any, keep: tuple[str, ...], observations: Any, episodes: Floats) -> dict[str, Any]:
    """The requested parts of an agent's final state."""
    pairs = isinstance(agent, ActionValues)
    makers: dict[str, Callable[[], Any]] = {
        "weights": lambda: np.array(agent.weights if pairs else agent.critic.weights),
        "theta": lambda: np.zeros((0, 0)) if pairs else np.array(agent.theta),
        "lambdas": lambda: (agent if pairs else agent.critic).lambdas(observations),
        "policy": lambda: np.array([agent.greedy(obs) for obs in observations.tolist()], dtype=np.int64),
        "episodes": lambda: episodes,
        "agents": lambda: agent,
    }
    return {name: makers[name]() for name in keep}

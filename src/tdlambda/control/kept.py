"""The parts of an agent that a run returns."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from tdlambda.arrays import Floats
from tdlambda.control.action_values import ActionValues

KEEP = ("weights", "theta", "lambdas", "policy", "episodes", "agents")


@dataclass
class Found:
    """The result of one agent on one seed."""

    curve: Floats
    diverged_at: int
    kept: dict[str, Any]
    motion: Floats | None = None


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

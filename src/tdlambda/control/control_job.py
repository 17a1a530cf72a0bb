"""The validated description of a run of agents, and the parts of an agent that it returns."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tdlambda.arrays import Floats, fraction, integer
from tdlambda.control.action_values import ActionValues
from tdlambda.control.lane import Agent, check_agent
from tdlambda.control.worlds import EnvTask, in_processes, observation_grid, world_of
from tdlambda.features import Network
from tdlambda.runner.job import Job, by_name, chosen, points_at, seed_numbers

KEEP = ("weights", "theta", "lambdas", "policy", "episodes", "agents")


def checked(
    task: Any, agents: Any, seeds: Any, steps: Any, points: Any, keep: Any, follow: Any = (), gamma: Any = None
) -> Job:
    """Validate the arguments."""
    gamma = None if gamma is None else fraction(gamma, "gamma")
    world = in_processes(task, gamma) or world_of(task, gamma)
    named = by_name(agents, "agents", Agent, "an agent, such as td.Sarsa(features, actions=2)")
    for name, agent in named.items():
        if isinstance(world, EnvTask):
            agent.for_space(world.action_space)
        else:
            check_agent(agent, world, name)
    steps = integer(steps, "steps", 1)
    return Job(
        task=world, learners=named, seeds=seed_numbers(seeds), steps=steps, points=points_at(points, steps),
        keep=chosen(keep, KEEP), observations=observation_grid(world),
        follow=() if isinstance(world, EnvTask) else tuple(follow),
    )  # fmt: skip


def parts_of(agent: Any, keep: tuple[str, ...], observations: Any, episodes: Floats) -> dict[str, Any]:
    """The requested parts of an agent's final state."""
    pairs = isinstance(agent, ActionValues)
    makers: dict[str, Callable[[], Any]] = {
        "weights": lambda: np.array(agent.weights if pairs else parameters(agent.critic)),
        "theta": lambda: np.zeros((0, 0)) if pairs else np.array(agent.theta),
        "lambdas": lambda: (agent if pairs else agent.critic).lambdas(observations),
        "policy": lambda: np.array([agent.greedy(obs) for obs in observations.tolist()], dtype=np.int64),
        "episodes": lambda: episodes,
        "agents": lambda: agent,
    }
    return {name: makers[name]() for name in keep}


def parameters(critic: Any) -> Any:
    """The weights of a critic, or all parameters of a network."""
    return critic.row("V_w") if isinstance(critic.features, Network) else critic.weights

"""Training of an agent in an environment."""

from __future__ import annotations

import copy
import sys
from typing import Any

import gymnasium as gym
import numpy as np

from tdlambda.arrays import integer
from tdlambda.control.agent_traces import AgentTraces
from tdlambda.control.lane import Agent
from tdlambda.interruption import Interrupted
from tdlambda.runner.curve import LearningCurve
from tdlambda.runner.environments import check_gamma, env_named, events_of
from tdlambda.runner.loop import interact
from tdlambda.runner.online_run import OnlineRun

_OF_VECTORS = ("num_envs", "vectorization_mode", "vector_kwargs", "wrappers", "max_episode_steps")
"""Options of a vector environment that its single environments do not have."""


def train(
    env: gym.Env[Any, Any] | gym.vector.VectorEnv[Any, Any, Any] | str,
    agent: Agent,
    steps: int | None = None,
    seed: int | None = None,
    gamma: float | None = None,
    progress: bool | None = None,
    curve: LearningCurve | None = None,
    *,
    episodes: int | None = None,
    evaluate_every: int | None = None,
    evaluation_episodes: int = 10,
) -> LearningCurve:
    """Train an agent in an environment, starting with a new episode.

    Ctrl-C raises `td.Interrupted`, whose `result` is the curve so far. Errors of the environment propagate. In both
    cases the agent keeps what it has learned and is ready for a new episode.

    Parameters
    ----------
    env
        A Gymnasium environment or its id; a task of this library has the prefix "tdlambda/", or is made by `td.make`.
        Actions are discrete; for an actor-critic they may also be a box, and actions are then clipped to the box. In a
        vector environment, the agent has separate traces for each copy.
    agent
        `td.Sarsa`, `td.QLambda` or `td.ActorCritic`.
    steps
        Number of transitions to learn from, at least 0.
    seed
        Seed of the environment and of the actions, at least 0; None for a random one.
    gamma
        Discount γ in [0, 1] of an environment that has none. None uses `info["discount"]`, which a task reports at each
        step.
    progress
        Whether to show a progress bar; None shows one in a terminal for runs that take more than a second.
    curve
        A curve to continue. It also keeps the episodes that were finished before an error.
    episodes
        Number of episodes, at least 0, instead of `steps`. With both, training stops at whichever comes first.
    evaluate_every
        Interval between evaluations, in steps, at least 1. Evaluation episodes run in a separate copy of the
        environment, without exploration and without learning; see `curve.evaluations`.
    evaluation_episodes
        Number of episodes of each evaluation, at least 1.

    Examples
    --------
    >>> import tdlambda as td
    >>> features = td.features.TileCoder([-2.4, -3, -0.21, -3], [2.4, 3, 0.21, 3], tilings=8, tiles=4)
    >>> agent = td.Sarsa(features, actions=2, alpha=0.05)
    >>> curve = td.train("CartPole-v1", agent, steps=500, seed=1, gamma=0.99)
    >>> curve.steps
    500
    """
    if not isinstance(agent, Agent):
        raise TypeError(f"agent must be an agent, such as td.Sarsa(features, actions=2); got {agent!r}")
    seed = None if seed is None else integer(seed, "seed", 0)
    curve = LearningCurve() if curve is None else curve
    run = OnlineRun(curve, _limit(steps, "steps"), _limit(episodes, "episodes"), seed)
    if steps is None and episodes is None:
        raise TypeError("give steps, a number of transitions, or episodes; got neither")
    world: Any = env_named(env) if isinstance(env, str) else env
    gamma = check_gamma(world, gamma)
    vector = isinstance(world, gym.vector.VectorEnv)
    convert = agent.for_space(world.single_action_space if vector else world.action_space)
    curve.interrupted, made_here = False, [world] if isinstance(env, str) else []
    try:
        if evaluate_every is not None:
            run.evaluate_every = integer(evaluate_every, "evaluate_every", 1)
            n, other = integer(evaluation_episodes, "evaluation_episodes", 1), _another(env, world)
            made_here.append(other)
            run.evaluate = lambda rng: evaluation(other, agent, n, rng)
        run.run(world, agent, gamma, convert, progress, AgentTraces(agent) if vector else None)
    except KeyboardInterrupt as error:
        curve.interrupted = True
        raise Interrupted(f"{curve.steps} steps were learned from", curve) from error
    finally:
        agent.reset()  # traces must not carry over to another episode
        curve.begin()
        for one in made_here:
            one.close()
    return curve


def _limit(given: int | None, name: str) -> int:
    return sys.maxsize if given is None else integer(given, name, 0)


class _Greedy:
    """An agent without exploration, which does not learn."""

    takes_next_action = False

    def __init__(self, agent: Any) -> None:
        self.agent = agent

    def reset(self) -> None:
        """Do nothing."""

    def act(self, obs: Any, rng: np.random.Generator) -> Any:  # noqa: ARG002
        """The greedy action."""
        return self.agent.greedy(obs)

    def update(self, *transition: Any) -> None:
        """Learn nothing."""


def evaluation(env: Any, agent: Any, episodes: int, rng: np.random.Generator) -> list[float]:
    """The undiscounted returns of episodes with greedy actions, which are not learned from."""
    curve, convert = LearningCurve(), agent.for_space(env.action_space)
    for n in range(1, episodes + 1):
        events = events_of(env, int(rng.integers(2**31)), 1.0, convert)
        interact(events, _Greedy(agent), curve, rng, lambda n=n: len(curve) == n)  # type: ignore[misc]
    return curve.returns.tolist()


def _another(env: Any, world: Any) -> Any:
    """Make a second environment like this one, for evaluation."""
    if isinstance(env, str):
        return env_named(env)
    spec = getattr(world, "spec", None)
    if not isinstance(world, gym.vector.VectorEnv):
        return copy.deepcopy(world) if spec is None else gym.make(spec)
    if spec is not None:
        return gym.make(spec.id, **{name: value for name, value in spec.kwargs.items() if name not in _OF_VECTORS})
    if not hasattr(world, "envs"):
        raise ValueError(
            f"evaluate_every needs a second environment, which cannot be made from {world}; use gym.make_vec"
        )
    return copy.deepcopy(world.envs[0])

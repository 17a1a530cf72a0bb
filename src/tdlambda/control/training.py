"""Training of an agent in an environment."""

from __future__ import annotations

import copy
import sys
from dataclasses import dataclass
from typing import Any

import gymnasium as gym
import numpy as np

from tdlambda.arrays import integer
from tdlambda.control.agent_traces import AgentTraces
from tdlambda.control.lane import Agent
from tdlambda.interruption import Interrupted
from tdlambda.progress import Bar
from tdlambda.runner.curve import LearningCurve
from tdlambda.runner.environments import check_gamma, events_of, made
from tdlambda.runner.learning import SHOW_EVERY
from tdlambda.runner.loop import interact

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
    training = _Training(agent, _limit(steps, "steps"), _limit(episodes, "episodes"), seed, gamma, curve)
    if steps is None and episodes is None:
        raise TypeError("give steps, a number of transitions, or episodes; got neither")
    own = isinstance(env, str)
    world: Any = made(env) if isinstance(env, str) else env
    training.gamma = check_gamma(world, gamma)
    vector = isinstance(world, gym.vector.VectorEnv)
    space = world.single_action_space if vector else world.action_space
    convert = agent.for_space(space)
    training.curve.interrupted = False
    try:
        if evaluate_every is not None:
            training.evaluate_every = integer(evaluate_every, "evaluate_every", 1)
            training.evaluation_episodes = integer(evaluation_episodes, "evaluation_episodes", 1)
            training.other = _another(env, world)
        with training.shown(progress) as training.bar:
            events = events_of(world, seed, training.gamma, convert)
            interact(events, agent, curve, training.rng, training.count, AgentTraces(agent) if vector else None)
    except KeyboardInterrupt as error:
        training.curve.interrupted = True
        raise Interrupted(f"{training.curve.steps} steps were learned from", training.curve) from error
    finally:
        agent.reset()  # traces must not carry over to another episode
        training.curve.begin()
        for env_made_here in [world] * own + [training.other] * (training.other is not None):
            env_made_here.close()
    return training.curve


def _limit(given: int | None, name: str) -> int:
    return sys.maxsize if given is None else integer(given, name, 0)


@dataclass
class _Training:
    """A training run: its limits, its evaluations and its progress bar."""

    agent: Any
    steps: int
    episodes: int
    seed: int | None
    gamma: float | None
    curve: LearningCurve
    evaluate_every: int = sys.maxsize
    evaluation_episodes: int = 0
    other: Any = None
    bar: Bar | None = None

    def __post_init__(self) -> None:
        # Gymnasium seeds the environment with the same seed. Without `spawn`, the actions and the environment would
        # draw the same random numbers.
        self.rng, self.rng_other = map(np.random.default_rng, np.random.SeedSequence(self.seed).spawn(2))
        self.first_step, self.first_episode, self.evaluated = self.curve.steps, len(self.curve), 0

    def shown(self, progress: bool | None) -> Bar:
        """A progress bar of its steps, or of its episodes if only these are limited."""
        by_steps = self.steps < sys.maxsize
        return Bar(self.steps if by_steps else self.episodes, progress, "steps" if by_steps else "episodes")

    @property
    def done(self) -> bool:
        """Whether all steps or all episodes are done."""
        made = self.curve.steps - self.first_step
        return made >= self.steps or len(self.curve) - self.first_episode >= self.episodes

    def count(self) -> bool:
        """Update the progress bar after a step, and evaluate if it is due; return whether the run is done."""
        made = self.curve.steps - self.first_step
        if self.bar is not None and (made % SHOW_EVERY == 0 or self.done):
            done = made if self.steps < sys.maxsize else len(self.curve) - self.first_episode
            self.bar.update(done, lambda: f"{len(self.curve)} episodes, return {self.curve.mean():.4g}")
        if made // self.evaluate_every > self.evaluated:
            self.evaluated = made // self.evaluate_every
            self.curve.evaluated(evaluation(self.other, self.agent, self.evaluation_episodes, self.rng_other))
        return self.done


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
        return made(env)
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

"""A Gymnasium environment with a policy as a prediction task; its true values are estimated by rollouts."""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from functools import cached_property
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium.wrappers import TimeLimit

from tdlambda.arrays import fraction, integer
from tdlambda.features import Encoder, OneHot
from tdlambda.mdp import Transitions
from tdlambda.runner.behavior import Policy, Predictor
from tdlambda.runner.environments import discount_of, events_of
from tdlambda.runner.truth import Truth
from tdlambda.tasks.task import Task

APART = 10
"""Mean number of steps between two observations at which values are estimated."""
NEGLIGIBLE, LONGEST = 1e-4, 100_000
"""A rollout ends when the product of its discounts is below the first; more steps than the second are an error."""


class PolicyTask(Task[Any]):
    """A Gymnasium environment with discrete actions and the policy to evaluate in it, as a task of the engine.

    The true value at an observation is the mean discounted return of rollouts of the policy, which start from copies of
    the environment, without its time limit. The observations are drawn from a stream under the behaviour policy, on
    average every tenth step, and have equal weights.

    Parameters
    ----------
    name
        Id of the environment.
    policy
        Target policy, as for `td.learn`.
    discount
        Discount γ in [0, 1]; None uses the `info["discount"]` of the environment.
    features
        Encoder of observations; None is `OneHot` for discrete observations.
    behavior
        Policy that chooses the actions; `policy` by default.
    observations
        Number of observations at which values are estimated, at least 1.
    rollouts
        Number of rollouts from each of them, at least 2.
    options
        Arguments of the environment's constructor.

    Examples
    --------
    >>> import tdlambda as td
    >>> low, high = [-2.4, -3, -0.21, -3], [2.4, 3, 0.21, 3]
    >>> features = td.features.Fourier(low, high, order=2)
    >>> pole = td.engine.PolicyTask("CartPole-v1", [0.5, 0.5], 0.9, features, observations=5, rollouts=10)
    >>> result = td.engine.run(pole, [td.TD(features, alpha=0.01)], seeds=2, steps=200)
    >>> result
    <1 learner × 2 seeds × 200 steps, 0 diverged>
    >>> pole.truth.values.shape
    (5,)
    """

    def __init__(
        self, name: str, policy: Policy, discount: float | None = None, features: Encoder | None = None,
        behavior: Policy | None = None, observations: int = 100, rollouts: int = 100,
        options: Mapping[str, Any] | None = None,
    ) -> None:  # fmt: skip
        self.id, self.options = name, dict(options or {})  # type: ignore[misc]
        self.discount = None if discount is None else fraction(discount, "discount")
        self.observations = integer(observations, "observations", 1)
        self.rollouts = integer(rollouts, "rollouts", 2)
        env = self.environment()
        self.observation_space, self.action_space = env.observation_space, env.action_space
        self.policies = policy, behavior
        predictor = Predictor(_NONE, env, policy, behavior)
        self.target, self.behavior = predictor.target, predictor.behavior
        self.features = _encoder(name, env.observation_space) if features is None else features
        env.reset(seed=0)
        discount_of(env.step(env.action_space.sample())[4], self.discount)
        env.close()

    def environment(self) -> gym.Env[Any, Any]:
        """A new copy of the environment."""
        return gym.make(self.id, **self.options)

    def sampler(self, seed: int = 0) -> EnvironmentSampler:
        """A stream of transitions under the behaviour policy.

        Parameters
        ----------
        seed
            Seed of the environment and of the actions, at least 0.
        """
        return EnvironmentSampler(self, self.environment(), seed)

    @cached_property
    def truth(self) -> Truth:
        """The values at the observations, with standard errors."""
        stream = EnvironmentSampler(self, self.environment(), 2**32)
        at, values, error = [], [], []
        for number in range(self.observations):
            rng = np.random.default_rng([2**32, number])
            stream.take(int(rng.integers(1, 2 * APART)))  # equal distances would miss states of a periodic task
            at.append(stream.obs)
            returns = [self._rollout(stream, rng) for _ in range(self.rollouts)]
            values.append(np.mean(returns))
            error.append(np.std(returns, ddof=1) / self.rollouts**0.5)
        weights = np.full(self.observations, 1 / self.observations)
        return Truth(np.array(at), np.array(values), weights, np.array(error))

    def _rollout(self, stream: EnvironmentSampler, rng: np.random.Generator) -> float:
        """The return of the target policy from the present state of a stream."""
        env, obs = stream.copy(rng), stream.obs
        total, weight, on_policy = 0.0, 1.0, Predictor(_NONE, env, self.policies[0], None)
        for _ in range(LONGEST):
            obs, reward, terminated, truncated, info = env.step(on_policy.act(obs, rng))
            total += weight * float(reward)
            weight *= discount_of(info, self.discount)
            if truncated and not terminated:
                raise ValueError(f"task: {self.id} truncates episodes itself, so the return of a rollout is unknown")
            if terminated or weight < NEGLIGIBLE:
                return total
        raise ValueError(
            f"discount: a rollout in {self.id} has not ended after {LONGEST:,} steps; give a smaller discount"
        )


class EnvironmentSampler:
    """A stream of transitions of an environment under a behaviour policy; `obs` is the observation it has reached."""

    def __init__(self, task: PolicyTask, env: gym.Env[Any, Any], seed: int) -> None:
        self.env = env
        self._actor = Predictor(_NONE, env, *task.policies)
        self._rng = np.random.default_rng(np.random.SeedSequence(seed).spawn(1)[0])
        self._events = events_of(env, seed, task.discount, int)
        self.obs = next(self._events)[1]

    def take(self, steps: int) -> Transitions:
        """Draw the next `steps` transitions."""
        drawn: list[tuple[Any, ...]] = []
        for _ in range(integer(steps, "steps", 0)):
            before, actor = self.obs, self._actor
            action = actor.act(before, self._rng)
            _, obs, step = self._events.send(action)
            assert step is not None  # the generator has yielded the start of this episode
            reward, gamma, terminated, truncated = step
            gamma = 0.0 if terminated else gamma
            drawn.append((before, action, reward, obs, gamma, actor.rho, terminated, truncated, actor.probability))
            self.obs = self._events.send(None)[1] if terminated or truncated else obs
        if not drawn:
            none, numbers, flags = np.array([self.obs])[:0], np.zeros(0), np.zeros(0, dtype=np.bool_)
            return Transitions(none, np.zeros(0, dtype=np.int64), numbers, none, numbers, numbers, flags, flags)
        return Transitions(*map(np.array, zip(*drawn, strict=True)))

    def copy(self, rng: np.random.Generator) -> gym.Env[Any, Any]:
        """A copy of the environment in its present state, with new random numbers and without its time limit."""
        try:
            env = deepcopy(self.env)
        except Exception as error:
            raise ValueError(f"task: {self.env} cannot be copied, which rollouts need: {error}") from error
        env.unwrapped.np_random = np.random.default_rng(rng.integers(2**63))
        return env.env if isinstance(env, TimeLimit) else env


_NONE: Any = None
"""No learner, where only actions are drawn."""


def _encoder(name: str, space: gym.Space[Any]) -> Encoder:
    if isinstance(space, gym.spaces.Discrete) and space.start == 0:
        return OneHot(int(space.n))
    raise ValueError(
        f"features: the observations of {name} are {space}; give an encoder, in a study "
        'task_options.features = { type = "Fourier", low = […], high = […], order = 3 }'
    )

"""Run a learner in an environment."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeAlias, TypeVar, cast

import gymnasium as gym
import numpy as np
from numpy.typing import ArrayLike

from tdlambda.arrays import Floats, Ints, fraction, integer, real
from tdlambda.interruption import Interrupted
from tdlambda.learners.base import OnlineLearner, needs_behavior
from tdlambda.progress import Bar
from tdlambda.showing import Table
from tdlambda.tasks import TASKS, Task, make

Policy: TypeAlias = Callable[[Any], ArrayLike] | ArrayLike
OWN_DISCOUNT = "gamma: {!r} has a discount of its own; leave gamma out"
SHOW_EVERY = 16
"""Steps between two updates of a progress bar."""


_Learner = TypeVar("_Learner", bound=OnlineLearner)


@dataclass(frozen=True, eq=False, repr=False)
class LearningRun(Table, Generic[_Learner]):
    """The result of `learn`.

    Attributes
    ----------
    steps, episodes
        Number of transitions learned from, and of finished episodes.
    episode_returns, episode_lengths
        Undiscounted return and number of steps of each finished episode.
    mean_reward
        Mean reward over all steps; NaN if there were none.
    learner
        The trained learner (the object passed in).

    Examples
    --------
    >>> import tdlambda as td
    >>> v = td.TrueOnlineTD(td.features.OneHot(3), alpha=0.1)
    >>> td.learn("tdlambda/TwoState-v0", [0.5, 0.5], v, steps=100, seed=1).steps
    100
    """

    steps: int
    episodes: int
    episode_returns: Floats
    episode_lengths: Ints
    mean_reward: float
    learner: _Learner


def learn(
    env: gym.Env[Any, Any] | str,
    policy: Policy | None,
    learner: _Learner,
    steps: int,
    behavior: Policy | None = None,
    seed: int | None = None,
    gamma: float | None = None,
    progress: bool | None = None,
) -> LearningRun[_Learner]:
    """Train a learner to predict the value of a policy in an environment with discrete actions.

    The environment and the learner first start a new episode. At each step an action is drawn from `behavior`, and the
    learner is updated with ρ = π(a|s)/b(a|s). Ctrl-C raises `td.Interrupted`, whose `result` covers the steps so far.
    Errors of the environment propagate. In both cases the learner keeps what it has learned.

    Parameters
    ----------
    env
        A Gymnasium environment, a `Task`, or the id of one.
    policy
        Target policy π: a function from an observation to the probability of each action, an array [state, action],
        or one row of probabilities. None uses the `target` and `behavior` of a `Task`.
    learner
        Anything with `update` and `reset`.
    steps
        Number of transitions to learn from, at least 0.
    behavior
        Behaviour policy b, which chooses the actions; `policy` by default.
    seed
        Seed of the environment and of the actions; None draws a new one.
    gamma
        Discount γ in [0, 1] of an environment that has none; None uses `info["discount"]`, which a `Task` reports at
        each step.
    progress
        Whether to show a progress bar; None shows one in a terminal for runs that take more than a second.

    Examples
    --------
    >>> import tdlambda as td
    >>> from tdlambda.learners.learning import learn
    >>> ring = td.make("RingWorld-v0")
    >>> run = learn(ring, None, td.TrueOnlineTD(ring.features, alpha=0.05), steps=2000, seed=1)
    >>> run.steps, bool(abs(run.learner.predict(5) - ring.exact.v()[5]) < 0.2)
    (2000, True)
    """
    steps = integer(steps, "steps", 0)
    if isinstance(learner, type) or not (hasattr(learner, "update") and hasattr(learner, "reset")):
        raise TypeError(f"learner must be a learner, such as td.TD(features, alpha=0.1); got {learner!r}")
    seed = None if seed is None else integer(seed, "seed", 0)
    own = isinstance(env, str)
    world = _make(env) if isinstance(env, str) else env
    gamma = check_gamma(world, gamma)
    tally = _Tally()
    try:
        actor = _Actor(world, policy, behavior, seed)
        with Bar(steps, progress, "steps") as bar:
            _run(world, actor, learner, steps, seed, gamma, tally, bar)
    except KeyboardInterrupt as error:
        found = tally.run(learner)
        raise Interrupted(f"learned from {found.steps} of {steps} steps", found) from error
    finally:
        if own:
            world.close()
    return tally.run(learner)


def _run(
    env: gym.Env[Any, Any], actor: _Actor, learner: OnlineLearner, steps: int, seed: int | None, gamma: float | None,
    tally: _Tally, bar: Bar,
) -> None:  # fmt: skip
    needs_b, update = needs_behavior(learner), cast(Any, learner).update
    learner.reset()  # an unfinished episode of the learner does not continue in this environment
    obs = _held(env.reset(seed=seed)[0])
    for step in range(1, steps + 1):
        action, rho, b = actor.act(obs)
        raw, reward, terminated, truncated, info = env.step(action)
        next_obs = _held(raw)
        more = {"behavior": b} if needs_b else {}
        update(obs, float(reward), next_obs, discount_of(info, gamma), rho, terminated, truncated, **more)
        ended = bool(terminated or truncated)
        tally.add(float(reward), ended)
        obs = _held(env.reset()[0]) if ended and step < steps else next_obs
        if step % SHOW_EVERY == 0 or step == steps:
            bar.update(step)


def check_gamma(env: Any, gamma: float | None) -> float | None:
    """Validate γ in [0, 1]; a task reports its own, which no other may replace."""
    if gamma is None:
        return None
    one = getattr(env, "envs", [env])[0]
    one = getattr(one, "unwrapped", one)
    spec = getattr(env, "spec", None)  # of a vector environment whose copies are in other processes
    if isinstance(one, Task) or getattr(spec, "namespace", None) == "tdlambda":
        raise ValueError(OWN_DISCOUNT.format(one))
    return fraction(gamma, "gamma")


def discount_of(info: dict[str, Any], gamma: float | None) -> float:
    """γ' of a step: the one that was given, or the one that the environment reports."""
    if gamma is None and "discount" not in info:
        raise ValueError('gamma: this environment reports no info["discount"]; pass gamma=, such as gamma=0.99')
    return fraction(info["discount"], 'info["discount"]') if gamma is None else gamma


class _Actor:
    """Draws actions from the behaviour policy and computes their importance-sampling ratios."""

    def __init__(
        self, env: gym.Env[Any, Any], policy: Policy | None, behavior: Policy | None, seed: int | None
    ) -> None:
        space = env.action_space
        if not isinstance(space, gym.spaces.Discrete):
            raise TypeError(f"env must have discrete actions; got {space}")
        self.n, self.start = int(space.n), int(space.start)
        if policy is None:
            task = env.unwrapped
            if not isinstance(task, Task):
                raise TypeError("policy is required, unless env is a Task, which has a target policy")
            policy = task.target
            behavior = task.behavior if behavior is None else behavior
        self.on_policy = behavior is None or behavior is policy
        self.target = _as_function(policy, self.n, "policy")
        self.behavior = self.target if behavior is None else _as_function(behavior, self.n, "behavior")
        # The environment gets the same seed. Without `spawn`, actions and environment would use the same random
        # numbers.
        self.rng = np.random.default_rng(np.random.SeedSequence(seed).spawn(1)[0])

    def act(self, obs: Any) -> tuple[int, float, float]:
        """Draw an action for the environment; return it with its ρ and its b(a|s)."""
        b = self.behavior(obs)
        sums = np.cumsum(b)
        a = int(np.searchsorted(sums, self.rng.random() * sums[-1], side="right"))  # never one of probability 0
        rho = 1.0
        if not self.on_policy:
            pi = self.target(obs)
            missed = (pi > 0) & (b == 0)
            if missed.any():
                raise ValueError(
                    f"behavior never takes action {int(np.argmax(missed)) + self.start} at observation {obs!r}, but "
                    "policy does, so its value cannot be learned; give the action a positive probability"
                )
            rho = float(pi[a] / b[a])
        return a + self.start, rho, float(b[a])


def _as_function(policy: Policy, n: int, name: str) -> Callable[[Any], Floats]:
    """A policy as a function that returns validated probabilities."""

    def checked(probabilities: Any, where: str) -> Floats:
        row = real(probabilities, f"{name}{where}")
        if row.shape != (n,) or not (row >= 0).all() or abs(row.sum() - 1) > 1e-6:
            raise ValueError(f"{name}{where} must be {n} probabilities that sum to 1; got {probabilities!r}")
        return row

    if callable(policy):
        return lambda obs: checked(policy(obs), f" at observation {obs!r}")
    table = real(policy, name)
    if table.ndim == 1:
        same = checked(table, "")
        return lambda _: same
    if table.ndim != 2:
        raise ValueError(f"{name} must be a function, an array [state, action] or one row; got shape {table.shape}")
    rows = [checked(row, f" of state {state}") for state, row in enumerate(table)]
    return lambda obs: rows[integer(obs, f"observation (of {name}, a table over states)", 0, len(rows) - 1)]


class _Tally:
    """Running totals; after an interrupt they cover the steps so far."""

    def __init__(self) -> None:
        self.steps, self.total = 0, 0.0
        self.sum, self.length = 0.0, 0
        self.returns: list[float] = []
        self.lengths: list[int] = []

    def add(self, reward: float, ended: bool) -> None:
        """Count one step."""
        self.steps, self.total = self.steps + 1, self.total + reward
        self.sum, self.length = self.sum + reward, self.length + 1
        if ended:
            self.returns.append(self.sum)
            self.lengths.append(self.length)
            self.sum, self.length = 0.0, 0

    def run(self, learner: _Learner) -> LearningRun[_Learner]:
        """The result."""
        mean = self.total / self.steps if self.steps else float("nan")
        returns, lengths = np.array(self.returns, dtype=np.float64), np.array(self.lengths, dtype=np.int64)
        return LearningRun(self.steps, len(returns), returns, lengths, mean, learner)


def _make(name: str) -> gym.Env[Any, Any]:
    """A task of this library or a Gymnasium environment, by its id."""
    return make(name) if name in TASKS else gym.make(name)


def _held(obs: Any) -> Any:
    """A copy of an observation, in case the environment reuses its array; an integer state becomes a Python int."""
    if isinstance(obs, np.integer):
        return int(obs)
    return obs.copy() if isinstance(obs, np.ndarray) else obs

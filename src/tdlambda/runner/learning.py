"""Run a learner in an environment."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import gymnasium as gym
import numpy as np

from tdlambda.arrays import Floats, Ints, integer
from tdlambda.interruption import Interrupted
from tdlambda.learners.base import OnlineLearner
from tdlambda.progress import Bar
from tdlambda.runner.behavior import Policy, Predictor
from tdlambda.runner.curve import LearningCurve
from tdlambda.runner.environments import check_gamma, events_of, made
from tdlambda.runner.loop import interact
from tdlambda.showing import Table

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
    >>> from tdlambda.runner.learning import learn
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
    world = made(env) if isinstance(env, str) else env
    gamma = check_gamma(world, gamma)
    curve = LearningCurve()
    # The environment gets the same seed. Without `spawn`, actions and environment would use the same random numbers.
    rng = np.random.default_rng(np.random.SeedSequence(seed).spawn(1)[0])
    try:
        agent, events = Predictor(learner, world, policy, behavior), events_of(world, seed, gamma, int)
        with Bar(steps, progress, "steps") as bar:

            def done() -> bool:
                made = curve.steps
                if made % SHOW_EVERY == 0 or made == steps:
                    bar.update(made)
                return made >= steps

            interact(events, agent, curve, rng, done)
    except KeyboardInterrupt as error:
        found = _run_of(curve, learner)
        raise Interrupted(f"learned from {found.steps} of {steps} steps", found) from error
    finally:
        if own:
            world.close()
    return _run_of(curve, learner)


def _run_of(curve: LearningCurve, learner: _Learner) -> LearningRun[_Learner]:
    mean = (float(curve.returns.sum()) + curve.unfinished) / curve.steps if curve.steps else float("nan")
    return LearningRun(curve.steps, len(curve), curve.returns, curve.lengths, mean, learner)

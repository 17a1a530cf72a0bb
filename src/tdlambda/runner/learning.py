"""Run a learner in an environment."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import gymnasium as gym

from tdlambda.arrays import Floats, Ints, integer
from tdlambda.interruption import Interrupted
from tdlambda.learners.learner import OnlineLearner
from tdlambda.runner.behavior import Policy, Predictor
from tdlambda.runner.curve import LearningCurve
from tdlambda.runner.environments import check_gamma, env_named
from tdlambda.runner.online_run import OnlineRun
from tdlambda.showing import PrintedTable

if TYPE_CHECKING:
    from altair.typing import ChartType

_Learner = TypeVar("_Learner", bound=OnlineLearner)


@dataclass(frozen=True, eq=False, repr=False)
class LearningRun(PrintedTable, Generic[_Learner]):
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
    curve
        The finished episodes, as `td.train` returns them.

    Examples
    --------
    >>> import tdlambda as td
    >>> v = td.TrueOnlineTD(td.features.OneHot(3), alpha=0.1)
    >>> run = td.learn("tdlambda/TwoState-v0", v, steps=100, policy=[0.5, 0.5], seed=1)
    >>> run.steps
    100
    >>> chart = run.plot()                      # returns by episode; run.plot("run.svg") writes a file
    """

    steps: int
    episodes: int
    episode_returns: Floats
    episode_lengths: Ints
    mean_reward: float
    learner: _Learner
    curve: LearningCurve

    def plot(self, path: str | Path | None = None, window: int = 20) -> ChartType:
        """An Altair chart of the returns of the episodes and their running mean.

        Parameters
        ----------
        path
            File to write the chart to (.svg, .png or .pdf); optional.
        window
            Number of episodes of the running mean, at least 1.
        """
        return self.curve.plot(path, window)


def learn(
    env: gym.Env[Any, Any] | str,
    learner: _Learner,
    steps: int,
    seed: int | None = None,
    gamma: float | None = None,
    progress: bool | None = None,
    *,
    policy: Policy | None = None,
    behavior: Policy | None = None,
) -> LearningRun[_Learner]:
    """Train a learner to predict the value of a policy in an environment with discrete actions.

    The environment and the learner first start a new episode. At each step an action is drawn from `behavior`, and the
    learner is updated with ρ = π(a|s)/b(a|s). Ctrl-C raises `td.Interrupted`, whose `result` covers the steps so far.
    Errors of the environment propagate. In both cases the learner keeps what it has learned.

    Parameters
    ----------
    env
        A Gymnasium environment or its id, or a `Task` ("tdlambda/RingWorld-v0", or `td.make`).
    learner
        Anything with `update` and `reset`.
    steps
        Number of transitions to learn from, at least 0.
    seed
        Seed of the environment and of the actions; None draws a new one.
    gamma
        Discount γ in [0, 1] of an environment that has none; None uses `info["discount"]`, which a `Task` reports at
        each step.
    progress
        Whether to show a progress bar; None shows one in a terminal for runs that take more than a second.
    policy
        Target policy π: a function from an observation to the probability of each action, an array [state, action],
        or one row of probabilities. None uses the `target` and `behavior` of a `Task`.
    behavior
        Behaviour policy b, which chooses the actions; `policy` by default.

    Examples
    --------
    >>> import tdlambda as td
    >>> ring = td.make("RingWorld-v0")
    >>> run = td.learn(ring, td.TrueOnlineTD(ring.features, alpha=0.05), steps=2000, seed=1)
    >>> run.steps, bool(abs(run.learner.predict(5) - ring.exact.v()[5]) < 0.2)
    (2000, True)
    """
    steps = integer(steps, "steps", 0)
    if isinstance(learner, type) or not (hasattr(learner, "update") and hasattr(learner, "reset")):
        raise TypeError(
            f"learner must be a learner, such as td.TD(features, alpha=0.1); got {learner!r} "
            "(a policy is given as td.learn(env, learner, steps, policy=…))"
        )
    if isinstance(env, gym.vector.VectorEnv):
        raise TypeError(
            f"env must be a single environment; got {env}. td.train(env, agent) trains an agent in a vector of "
            "environments, with separate traces for each copy; to predict a policy, pass one environment"
        )
    seed = None if seed is None else integer(seed, "seed", 0)
    own = isinstance(env, str)
    world = env_named(env) if isinstance(env, str) else env
    gamma = check_gamma(world, gamma)
    curve = LearningCurve()
    try:
        run = OnlineRun(curve, steps, seed=seed)
        run.run(world, Predictor(learner, world, policy, behavior), gamma, int, progress)
    except KeyboardInterrupt as error:
        found = _run_of(curve, learner)
        raise Interrupted(f"learned from {found.steps} of {steps} steps", found) from error
    finally:
        if own:
            world.close()
    return _run_of(curve, learner)


def _run_of(curve: LearningCurve, learner: _Learner) -> LearningRun[_Learner]:
    mean = (float(curve.returns.sum()) + curve.unfinished) / curve.steps if curve.steps else float("nan")
    return LearningRun(curve.steps, len(curve), curve.returns, curve.lengths, mean, learner, curve)

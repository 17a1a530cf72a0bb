"""Let an agent learn in an environment."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import gymnasium as gym
import numpy as np
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from tdlambda.arrays import Floats, Ints, integer
from tdlambda.control.actor_critic import ActorCritic
from tdlambda.interruption import Interrupted
from tdlambda.learners.evaluation import _held, _make
from tdlambda.learners.progress import Speed

_SHOW_EVERY = 256


class LearningCurve:
    """The episodes that an agent has finished, in order; what `td.train` returns.

    Attributes
    ----------
    steps
        Transitions learnt from, those of unfinished episodes included.
    interrupted
        Whether Ctrl-C ended the last run.

    Examples
    --------
    >>> import tdlambda as td
    >>> ring = td.make("RingWorld-v0")
    >>> agent = td.ActorCritic(td.TrueOnlineTD(ring.features, alpha=0.1), td.Softmax(2), eta=0.1)
    >>> curve = td.train(ring, agent, steps=1000, seed=1)
    >>> curve.steps, len(curve) == curve.returns.size == curve.lengths.size
    (1000, True)
    >>> bool((abs(curve.returns) == 1).all()), bool((curve.lengths >= 5).all())
    (True, True)
    """

    def __init__(self) -> None:
        self.steps, self.interrupted = 0, False
        self._rows: list[tuple[float, float, int, int]] = []
        self._return = self._discounted = 0.0
        self._discount, self._length = 1.0, 0

    @property
    def returns(self) -> Floats:
        """Of each episode, the sum of its rewards without discount."""
        return np.array([row[0] for row in self._rows], dtype=np.float64)

    @property
    def discounted(self) -> Floats:
        """Of each episode, its return Σ_t γ₁⋯γ_t R_{t+1}, which is what the agent raises."""
        return np.array([row[1] for row in self._rows], dtype=np.float64)

    @property
    def lengths(self) -> Ints:
        """Of each episode, its number of steps."""
        return np.array([row[2] for row in self._rows], dtype=np.int64)

    @property
    def ends(self) -> Ints:
        """Of each episode, the number of steps learnt from when it ended."""
        return np.array([row[3] for row in self._rows], dtype=np.int64)

    def mean(self, last: int = 100) -> float:
        """The mean return of the last so many episodes; NaN if there are none."""
        recent = self._rows[-integer(last, "last", 1) :]
        return sum(row[0] for row in recent) / len(recent) if recent else float("nan")

    def add(self, reward: float, gamma_next: float, ended: bool) -> None:
        """One step."""
        self.steps, self._length = self.steps + 1, self._length + 1
        self._return, self._discounted = self._return + reward, self._discounted + self._discount * reward
        self._discount *= gamma_next
        if ended:
            self._rows.append((self._return, self._discounted, self._length, self.steps))
            self.begin()

    def begin(self) -> None:
        """A new episode; what is not finished is dropped."""
        self._return = self._discounted = 0.0
        self._discount, self._length = 1.0, 0

    def __len__(self) -> int:
        """Finished episodes."""
        return len(self._rows)

    def __repr__(self) -> str:
        """Sizes, and how it goes."""
        end = ", interrupted" if self.interrupted else ""
        return f"<LearningCurve: {self.steps} steps, {len(self)} episodes, last 100 return {self.mean():.4g}{end}>"


def train(
    env: gym.Env[Any, Any] | str,
    agent: ActorCritic,
    steps: int,
    seed: int | None = None,
    gamma: float | None = None,
    progress: bool | None = None,
    curve: LearningCurve | None = None,
) -> LearningCurve:
    """Let an agent act in an environment and learn from it, from a new episode on.

    Ctrl-C raises `td.Interrupted`, whose `result` is the curve so far. An error of the environment is passed on. Either
    way the agent keeps what it has learnt and is ready for a new episode.

    Parameters
    ----------
    env
        A Gymnasium environment with discrete actions or actions in a box (given to it clipped to the box), or an id.
    agent
        An `ActorCritic`, or anything with its `act`, `update`, `reset` and `policy`.
    steps
        Transitions to learn from.
    seed
        Of the environment and of the actions; None for a fresh one.
    gamma
        γ; None takes what the environment reports as `info["discount"]` at each step.
    progress
        Show a bar; None shows it if standard error is a terminal.
    curve
        A curve to go on with. It also keeps the episodes that were finished before an error.

    Examples
    --------
    >>> import tdlambda as td
    >>> critic = td.TrueOnlineTD(td.TileCoder([-2.4, -3, -0.21, -3], [2.4, 3, 0.21, 3], 8, 4), alpha=0.01, lam=0.9)
    >>> agent = td.ActorCritic(critic, td.Softmax(2), eta=0.01)
    >>> curve = td.train("CartPole-v1", agent, steps=500, seed=1, gamma=0.99)
    >>> curve.steps
    500
    """
    steps = integer(steps, "steps", 0)
    if gamma is not None and not 0 <= gamma <= 1:
        raise ValueError(f"gamma must be in [0, 1]; got {gamma}")
    curve = LearningCurve() if curve is None else curve
    own = isinstance(env, str)
    world = _make(env) if isinstance(env, str) else env
    try:
        hand = agent.policy.for_space(world.action_space)
        curve.interrupted = False
        with _bar(steps, progress) as bar:
            _run(world, agent, steps, seed, gamma, curve, hand, bar)
    except KeyboardInterrupt as error:
        curve.interrupted = True
        raise Interrupted(f"{curve.steps} steps are learnt from", curve) from error
    finally:
        agent.reset()  # the next episode is not this one's
        curve.begin()
        if own:
            world.close()
    return curve


def _run(
    env: gym.Env[Any, Any], agent: ActorCritic, steps: int, seed: int | None, gamma: float | None,
    curve: LearningCurve, hand: Any, bar: Progress | None,
) -> None:  # fmt: skip
    # Gymnasium seeds an environment with this very seed: without `spawn`, actions and world would be drawn by the same
    # random numbers.
    rng = np.random.default_rng(np.random.SeedSequence(seed).spawn(1)[0])
    agent.reset()
    curve.begin()
    obs = _held(env.reset(seed=seed)[0]) if steps else None
    for step in range(1, steps + 1):
        action = agent.act(obs, rng)
        raw, reward, terminated, truncated, info = env.step(hand(action))
        next_obs = _held(raw)
        if gamma is None and "discount" not in info:
            raise ValueError('gamma: this environment reports no info["discount"]; pass gamma=, such as gamma=0.99')
        gamma_next = info["discount"] if gamma is None else gamma
        agent.update(obs, action, float(reward), next_obs, gamma_next, None, terminated, truncated)
        ended = bool(terminated or truncated)
        curve.add(float(reward), gamma_next, ended)
        obs = _held(env.reset()[0]) if ended and step < steps else next_obs
        if bar is not None and (step % _SHOW_EVERY == 0 or step == steps):
            bar.update(bar.task_ids[0], completed=step, episodes=len(curve), mean=curve.mean())


@contextmanager
def _bar(steps: int, show: bool | None) -> Iterator[Progress | None]:
    """Steps, their speed, episodes and their mean return; or nothing."""
    if not (sys.stderr.isatty() if show is None else show):
        yield None
        return
    text = TextColumn("{task.fields[episodes]} episodes, return {task.fields[mean]:.4g}")
    with Progress(
        BarColumn(), MofNCompleteColumn(), Speed(), text, TimeRemainingColumn(),
        console=Console(stderr=True, force_terminal=True), transient=True,
    ) as bar:  # fmt: skip
        bar.add_task("train", total=steps, episodes=0, mean=float("nan"))
        yield bar

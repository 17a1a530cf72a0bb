"""The interface of tasks: a Gymnasium environment with policies, features, exact values and a compiled sampler."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar, Protocol

import gymnasium as gym
import numpy as np

from tdlambda.arrays import integer
from tdlambda.features import Encoder
from tdlambda.mdp import FiniteMDP, PolicyView, TableSampler, TabularPolicy, Transitions
from tdlambda.mdp.policies import Policy
from tdlambda.randomness import pick, running_sums
from tdlambda.showing import says_arguments
from tdlambda.tasks.table_world import table_world
from tdlambda.tasks.world import Episodic, Obs, World


class Sampler(Protocol):
    """A stream of transitions, drawn in chunks."""

    def take(self, steps: int) -> Transitions:
        """Draw the next `steps` transitions, a number of at least 0."""


class Task(Episodic[Obs]):
    """A Gymnasium environment with the policies, features and exact model of a prediction problem.

    Attributes
    ----------
    target, behavior
        Target and behaviour policy: functions from an observation to the probability of each action.
    features
        The default encoder of observations.
    mdp
        The exact model if the task has finitely many states, else None.
    exact
        The exact solutions for these policies, `mdp.under(target, behavior)`, or None.

    `step` reports γ_{t+1} as `info["discount"]`.
    """

    id: ClassVar[str] = ""
    observation_space: gym.Space[Any]
    action_space: gym.Space[Any]
    target: Any
    behavior: Any
    features: Encoder
    mdp: Any = None
    exact: Any = None

    def __init_subclass__(cls, **options: Any) -> None:
        """Make a wrong argument of a task's constructor an error that names it."""
        super().__init_subclass__(**options)
        says_arguments(cls)

    @property
    def on_policy(self) -> bool:
        """Whether the behaviour policy is the target policy."""
        return self.behavior is self.target

    @abstractmethod
    def sampler(self, seed: int = 0) -> Sampler:
        """A compiled stream of transitions under the behaviour policy, the same on every machine for a given seed.

        Parameters
        ----------
        seed
            Seed of the stream, at least 0.
        """

    def __str__(self) -> str:
        """The id and the sizes."""
        return repr(self)

    def __repr__(self) -> str:
        """The id and the sizes."""
        name, how = self.id or type(self).__name__, "on" if self.on_policy else "off"
        return f"<{name}: {self.features.size} features, {how}-policy>"


class TabularTask(Task[int]):
    """A task whose dynamics are a `FiniteMDP`; environment and exact solutions use the same table.

    Parameters
    ----------
    mdp
        The model.
    target
        The policy to evaluate.
    behavior
        The policy that chooses actions; the target policy by default.
    features
        The default encoder of states.

    Attributes
    ----------
    exact
        `mdp.under(target, behavior)`: values, variances, λ-returns, fixed points.

    Examples
    --------
    >>> import tdlambda as td
    >>> rows = [(0, 0, 1, 1.0, 0.5), (0, 0, 0, 0.0, 0.5)]  # state, action, next state, reward, probability
    >>> coin = td.TabularTask(td.FiniteMDP.from_rows(rows, terminal=[1]), [1.0], None, td.features.OneHot(2))
    >>> coin.exact.v()
    array([1., 0.])
    """

    metadata: dict[str, Any] = {"render_modes": []}  # noqa: RUF012, Gymnasium's own declaration
    mdp: FiniteMDP
    exact: PolicyView
    target: TabularPolicy
    behavior: TabularPolicy

    def __init__(self, mdp: FiniteMDP, target: Policy, behavior: Policy | None, features: Encoder) -> None:
        self.mdp = mdp
        self.target = TabularPolicy(mdp.policy(target, "target"))
        same = behavior is None or np.array_equal(mdp.policy(behavior, "behavior"), self.target.probabilities)
        self.behavior = self.target if same else TabularPolicy(mdp.policy(behavior, "behavior"))
        self.exact = mdp.under(self.target, self.behavior)
        self.features = features
        self.observation_space = gym.spaces.Discrete(mdp.n_states)
        self.action_space = gym.spaces.Discrete(mdp.n_actions)
        self._outcome_sums = running_sums(mdp.outcomes.indptr, mdp.outcomes.probability)
        self._start_sums = running_sums(np.array([0, mdp.n_states]), mdp.start)
        self._state = -1

    def _begin(self, seeded: bool) -> int:  # noqa: ARG002
        """Draw a state from d₀."""
        self._state = pick(self._start_sums, 0, self.mdp.n_states, self.np_random.random())
        return self._state

    def step(self, action: int) -> tuple[int, float, bool, bool, dict[str, Any]]:
        """Take one step: draw (s', r) from p(·|s, a).

        Parameters
        ----------
        action
            Action, at least 0 and below the number of actions.
        """
        if self._state < 0:
            raise RuntimeError("step before reset: the episode has ended or has not begun; call reset() first")
        mdp, o = self.mdp, self.mdp.outcomes
        pair = self._state * mdp.n_actions + integer(action, "action", 0, mdp.n_actions - 1)
        k = pick(self._outcome_sums, o.indptr[pair], o.indptr[pair + 1], self.np_random.random())
        state = int(o.next_state[k])
        terminated = bool(mdp.terminal[state])
        self._state = -1 if terminated else state
        return state, float(o.reward[k]), terminated, False, {"discount": float(mdp.discount[state])}

    def world(self) -> World:
        """The task as a compiled world."""
        return table_world(self.mdp)

    def sampler(self, seed: int = 0) -> TableSampler:
        """A compiled stream of transitions under the behaviour policy.

        Parameters
        ----------
        seed
            Seed of the stream, at least 0.
        """
        return self.exact.sampler(seed)

"""What every task offers: a Gymnasium environment with its policies, features, truth and compiled sampler."""

from abc import abstractmethod
from typing import Any, ClassVar, Protocol, TypeVar

import gymnasium as gym
import numpy as np

from tdlambda.arrays import integer
from tdlambda.features import Encoder
from tdlambda.mdp import FiniteMDP, PolicyView, TableSampler, TabularPolicy, Transitions
from tdlambda.mdp.policy import Policy
from tdlambda.randomness import pick, running_sums
from tdlambda.tasks.table_world import table_world
from tdlambda.tasks.world import World

Obs = TypeVar("Obs")


class Sampler(Protocol):
    """A stream of transitions, taken in chunks."""

    def take(self, steps: int) -> Transitions:
        """The next `steps` transitions."""


class Task(gym.Env[Obs, Any]):
    """An environment with what prediction needs to know about it.

    Attributes
    ----------
    target, behavior
        Policies: called with an observation they give the probability of each action.
    features
        The default encoder of observations.
    mdp
        The exact model where states are finite, else None.
    exact
        Its exact answers for these policies, `mdp.under(target, behavior)`, else None.

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

    @property
    def on_policy(self) -> bool:
        """Whether behaviour and target are the same policy."""
        return self.behavior is self.target

    @abstractmethod
    def sampler(self, seed: int = 0) -> Sampler:
        """A compiled stream of transitions under the behaviour policy; the same seed, the same stream, everywhere."""

    def __str__(self) -> str:
        """The id and the sizes."""
        return repr(self)

    def __repr__(self) -> str:
        """The id and the sizes."""
        return f"<{self.id}: {self.features.size} features, {'on' if self.on_policy else 'off'}-policy>"


class TabularTask(Task[int]):
    """A task whose dynamics are a `FiniteMDP`; the environment draws from the very table that the truth is solved on.

    Parameters
    ----------
    mdp
        The model.
    target
        The policy to be predicted.
    behavior
        The policy that acts; the target policy itself by default.
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

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[int, dict[str, Any]]:
        """Start an episode from d₀."""
        super().reset(seed=seed, options=options)
        self._state = pick(self._start_sums, 0, self.mdp.n_states, self.np_random.random())
        return self._state, {}

    def step(self, action: int) -> tuple[int, float, bool, bool, dict[str, Any]]:
        """Draw (s', r) from p(·|s, a)."""
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
        """The table, for compiled code."""
        return table_world(self.mdp)

    def sampler(self, seed: int = 0) -> TableSampler:
        """Transitions of the table under the behaviour policy, compiled."""
        return self.exact.sampler(seed)

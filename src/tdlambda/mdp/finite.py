"""`FiniteMDP`: the validated model. Each family of exact solutions has its own module in this package."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Any, Literal, Self, cast

import gymnasium as gym
import numpy as np
from numpy.typing import ArrayLike

from tdlambda.arrays import Bools, Floats, Ints, Matrix, integer, per_state
from tdlambda.mdp import dynamics, values
from tdlambda.mdp.overflow import in_range, quiet
from tdlambda.mdp.policies import Policy, policy_table
from tdlambda.mdp.resolvent import cannot_reach
from tdlambda.mdp.view import PolicyView
from tdlambda.showing import says_arguments


@says_arguments
class FiniteMDP:
    """A finite Markov decision process with state-dependent discount, and its exact solutions.

    Parameters
    ----------
    transitions
        p(s'|s,a), shape [state, action, next state]; [state, next state] for a single action; or a list of
        SciPy-sparse [state, next state] matrices, one for each action.
    rewards
        E[r|s,a,s'] in the same form, or [state, action], or [state].
    squared_rewards
        E[r²|s,a,s'] if rewards are random; by default they are deterministic.
    discount
        Discount γ(s') in [0, 1] on *entering* a state: one number or one for each state. It is 0 for terminal states.
        The default 1 suits episodic tasks; a state from which no episode can end then raises an error.
    terminal
        The states that end an episode (indices or a boolean mask). Their rows of `transitions` are ignored.
    start
        Start distribution d₀: a state, or a distribution over states. Uniform over non-terminal states by default.

    Examples
    --------
    A walk 0 ← 1 ⇄ 2 → 3 that pays 1 at its right end:

    >>> import numpy as np
    >>> P = np.zeros((4, 4))
    >>> P[1, 0] = P[1, 2] = P[2, 1] = P[2, 3] = 0.5
    >>> R = np.zeros((4, 4))
    >>> R[2, 3] = 1.0
    >>> mdp = FiniteMDP(P, R, discount=1.0, terminal=[0, 3], start=1)
    >>> mdp.v().round(4)
    array([0.    , 0.3333, 0.6667, 0.    ])
    >>> mdp.under().return_variance().round(4)
    array([0.    , 0.2222, 0.2222, 0.    ])
    """

    def __init__(
        self,
        transitions: dynamics.Tables,
        rewards: dynamics.Tables,
        squared_rewards: dynamics.Tables | None = None,
        *,
        discount: ArrayLike = 1.0,
        terminal: ArrayLike = (),
        start: ArrayLike | None = None,
    ) -> None:
        n_states, n_actions, columns = dynamics.from_arrays(transitions, rewards, squared_rewards)
        self._setup(n_states, n_actions, columns, discount, terminal, start)

    @classmethod
    def from_rows(
        cls,
        rows: Iterable[Sequence[float]],
        *,
        n_states: int | None = None,
        n_actions: int | None = None,
        discount: ArrayLike = 1.0,
        terminal: ArrayLike = (),
        start: ArrayLike | None = None,
    ) -> Self:
        """Build the model from rows (state, action, next state, reward, probability).

        Parameters
        ----------
        rows
            The possible transitions, one row each: integers from 0, a finite reward and a probability in [0, 1]. The
            probabilities of equal transitions add.
        n_states, n_actions
            Number of states and of actions; by default the largest index in `rows` plus 1.
        discount, terminal, start
            See `FiniteMDP`.

        Examples
        --------
        >>> mdp = FiniteMDP.from_rows([(0, 0, 0, 1.0, 0.5), (0, 0, 1, 0.0, 0.5)], terminal=[1])
        >>> mdp.v()
        array([1., 0.])
        """
        columns = dynamics.from_rows(rows)
        largest = max(columns[0].max(), columns[2].max())
        n_states = 1 + int(largest) if n_states is None else integer(n_states, "n_states", 1)
        n_actions = 1 + int(columns[1].max()) if n_actions is None else integer(n_actions, "n_actions", 1)
        return cls._new(n_states, n_actions, columns, discount, terminal, start)

    @classmethod
    def from_table(
        cls, table: dynamics.Table | gym.Env[Any, Any], *, discount: ArrayLike = 1.0, start: ArrayLike | None = None
    ) -> Self:
        """Build the model from a Gymnasium toy-text environment or its table `env.unwrapped.P`.

        Probabilities of equal successors add. With an environment, `start` is the environment's start distribution.

        >>> import gymnasium as gym
        >>> mdp = FiniteMDP.from_table(gym.make("FrozenLake-v1"), discount=0.95)
        >>> mdp.n_states, mdp.n_actions, mdp.terminal.sum()
        (16, 4, np.int64(5))
        """
        if isinstance(table, gym.Env):
            env: Any = table.unwrapped
            if not hasattr(env, "P"):
                raise ValueError(f"table: {table} has no transition table `P`")
            table, initial = env.P, getattr(env, "initial_state_distrib", None)
            start = initial if start is None else start
        given = cast(dynamics.Table, table)
        n_states, n_actions, columns, terminal = dynamics.from_table(given)
        added = (0, n_states - len(given))  # a terminal state: its discount and its start are 0
        if np.shape(discount) == (len(given),):
            discount = np.pad(np.asarray(discount), added)
        if start is not None and np.shape(start) == (len(given),):
            start = np.pad(np.asarray(start), added)
        return cls._new(n_states, n_actions, columns, discount, terminal, start)

    @classmethod
    def _new(cls, *arguments: Any) -> Self:
        mdp = cls.__new__(cls)
        mdp._setup(*arguments)
        return mdp

    def _setup(
        self,
        n_states: int,
        n_actions: int,
        columns: tuple[Any, ...],
        discount: ArrayLike,
        terminal: ArrayLike,
        start: ArrayLike | None,
    ) -> None:
        self.n_states, self.n_actions = n_states, n_actions
        self.terminal: Bools = _mask(terminal, n_states)
        self.discount: Floats = np.where(self.terminal, 0.0, per_state(discount, n_states, "discount", 0, 1))
        self.start: Floats = _start(start, self.terminal)
        self.outcomes = dynamics.build(n_states, n_actions, columns, self.terminal)
        stuck = cannot_reach(self.transition_graph, self.discount < 1)
        if stuck.size:
            raise ValueError(
                f"state {stuck[0]} has no path to a terminal state, nor to a state with discount below 1: "
                "its return is an infinite sum. Use a discount below 1, or list the terminal states"
            )

    def __repr__(self) -> str:
        """The sizes of the model."""
        return (
            f"FiniteMDP({self.n_states} states, {self.n_actions} actions, {self.outcomes.state.size} outcomes, "
            f"{int(self.terminal.sum())} terminal)"
        )

    # ---- the model -------------------------------------------------------------------------------------------

    @cached_property
    def transition_graph(self) -> Matrix:
        """The graph of possible transitions between states, under any action."""
        return self.outcomes.matrix(np.ones(self.outcomes.state.size))

    @quiet
    def transition_moments(self) -> tuple[Ints, Floats, Floats, Floats]:
        """All possible transitions: rows (s, a, s'), p(s'|s,a), E[r|s,a,s'] and E[r²|s,a,s']."""
        o = self.outcomes
        triples, inverse = np.unique(np.stack((o.state, o.action, o.next_state), 1), axis=0, return_inverse=True)
        p, r, r2 = np.zeros((3, len(triples)))
        for k, sums in enumerate((p, r, r2)):
            np.add.at(sums, inverse.ravel(), o.probability * o.reward**k)
        return triples, p, r / p, in_range(r2, "a squared reward") / p

    def policy(self, policy: Policy | None = None, name: str = "policy") -> Floats:
        """The validated table [state, action] of a policy; uniform by default."""
        if policy is None:
            return np.full((self.n_states, self.n_actions), 1 / self.n_actions)
        return policy_table(policy, self.n_states, self.n_actions, name)

    # ---- exact solutions -------------------------------------------------------------------------------------

    def under(self, policy: Policy | None = None, behavior: Policy | None = None) -> PolicyView:
        """A view with exact solutions for a target policy π and a behaviour policy b (π by default).

        Parameters
        ----------
        policy
            Target policy π: a table [state, action], one row for all states, or one action per state; uniform by
            default.
        behavior
            Behaviour policy b, in the same forms; it must give positive probability to every action that π takes.

        Examples
        --------
        >>> mdp = FiniteMDP.from_rows([(0, 0, 0, 1.0, 0.5), (0, 0, 1, 0.0, 0.5)], terminal=[1])
        >>> exact = mdp.under()
        >>> exact.v(), exact.return_variance()
        (array([1., 0.]), array([2., 0.]))
        """
        return PolicyView(self, policy, behavior)

    def v(
        self, policy: Policy | None = None, *, method: Literal["direct", "iterative"] = "direct", theta: float = 1e-12
    ) -> Floats:
        """State values of a policy: `under(policy).v()`; `theta` > 0 is the tolerance of "iterative"."""
        return self.under(policy).v(method=method, theta=theta)

    def q(
        self, policy: Policy | None = None, *, method: Literal["direct", "iterative"] = "direct", theta: float = 1e-12
    ) -> Floats:
        """Action values of a policy: `under(policy).q()`; `theta` > 0 is the tolerance of "iterative"."""
        return self.under(policy).q(method=method, theta=theta)

    def optimal(self) -> values.Optimum:
        """A deterministic optimal policy, v* and q*, by policy iteration."""
        return values.policy_iteration(self)


def _mask(states: ArrayLike, n_states: int) -> Bools:
    """A boolean mask over states from a mask or from indices."""
    array = np.asarray(states)
    if array.dtype == bool:
        if array.shape != (n_states,):
            raise ValueError(f"terminal as a mask must have shape ({n_states},); got {array.shape}")
        return array.copy()
    mask = np.zeros(n_states, dtype=bool)
    if np.unique(array).size != array.size:
        raise ValueError(f"terminal must list each state once (a mask must be boolean); got {array.tolist()}")
    for state in array.ravel():
        mask[integer(state, "terminal", 0, n_states - 1)] = True
    return mask


def _start(start: ArrayLike | None, terminal: Bools) -> Floats:
    """The start distribution d₀ from a state, a distribution, or None."""
    n_states = terminal.size
    if terminal.all():
        raise ValueError(f"terminal must leave at least one state that is not terminal; got all {n_states} states")
    if start is None:
        return ~terminal / (~terminal).sum()
    if np.ndim(start) == 0:
        d0 = np.zeros(n_states)
        d0[integer(start, "start", 0, n_states - 1)] = 1.0
    else:
        d0 = per_state(start, n_states, "start", 0, 1)
    if abs(d0.sum() - 1) > 1e-6:
        raise ValueError(f"start must sum to 1; got {d0.sum():.9g}")
    if d0[terminal].any():
        state = int(np.argmax((d0 > 0) & terminal))
        raise ValueError(f"start must be 0 in terminal states; got {d0[state]} in state {state}")
    return d0 / d0.sum()

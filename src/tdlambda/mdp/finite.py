"""`FiniteMDP`: the model, checked once; each family of exact answers is a module beside this one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Any, Literal, Self, cast

import gymnasium as gym
import numpy as np
from numpy.typing import ArrayLike

from tdlambda.arrays import Bools, Floats, Ints, Matrix, choice, integer, per_state
from tdlambda.mdp import (
    average,
    corrections,
    distribution,
    dynamics,
    emphasis,
    linear,
    objective,
    operators,
    returns,
    trajectories,
    values,
)
from tdlambda.mdp.overflow import in_range, quiet
from tdlambda.mdp.policy import TabularPolicy, policy_table
from tdlambda.mdp.resolvent import cannot_reach
from tdlambda.mdp.sampler import TableSampler

Policy = ArrayLike | TabularPolicy
"""A table [state, action], one row for every state, or one integer action for each state."""


class FiniteMDP:
    """A finite Markov decision process with state-based discount, and exact answers to questions about it.

    Parameters
    ----------
    transitions
        p(s'|s,a), shape [state, action, next state]; [state, next state] for a single action; or a list of
        SciPy-sparse [state, next state] matrices, one for each action.
    rewards
        E[r|s,a,s'] in the same form, or [state, action], or [state].
    squared_rewards
        E[r²|s,a,s'] where rewards are random; without it they are certain.
    discount
        γ(s'), the discount on *entering* a state: one number or one for each state. Terminal states have 0.
    terminal
        The states that end an episode (indices or a boolean mask). Their rows of `transitions` are ignored.
    start
        d₀: a state, or a distribution over states. Uniform over non-terminal states by default.

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
    >>> mdp.return_variance().round(4)
    array([0.    , 0.2222, 0.2222, 0.    ])
    """

    def __init__(
        self,
        transitions: Any,
        rewards: Any,
        squared_rewards: Any = None,
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
        """Row by row: (state, action, next state, reward, probability); equal rows add.

        >>> mdp = FiniteMDP.from_rows([(0, 0, 0, 1.0, 0.5), (0, 0, 1, 0.0, 0.5)], terminal=[1])
        >>> mdp.v()
        array([1., 0.])
        """
        columns = dynamics.from_rows(rows)
        n_states = 1 + int(max(columns[0].max(), columns[2].max())) if n_states is None else n_states
        n_actions = 1 + int(columns[1].max()) if n_actions is None else n_actions
        return cls._new(n_states, n_actions, columns, discount, terminal, start)

    @classmethod
    def from_table(
        cls,
        table: dynamics.Table | gym.Env[Any, Any],
        *,
        discount: ArrayLike = 1.0,
        start: ArrayLike | None = None,
    ) -> Self:
        """From a Gymnasium toy-text environment, or its table `env.unwrapped.P`.

        Probabilities of equal successors add. From an environment, `start` is what the environment says.

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
                "its return is a sum without end. Give a discount below 1, or list the terminal states"
            )

    def __repr__(self) -> str:
        """Sizes."""
        return (
            f"FiniteMDP({self.n_states} states, {self.n_actions} actions, {self.outcomes.state.size} outcomes, "
            f"{int(self.terminal.sum())} terminal)"
        )

    # ---- the model -------------------------------------------------------------------------------------------

    @cached_property
    def transition_graph(self) -> Matrix:
        """Which state can follow which, under any action."""
        return self.outcomes.matrix(np.ones(self.outcomes.state.size))

    @quiet
    def transition_moments(self) -> tuple[Ints, Floats, Floats, Floats]:
        """Each transition that can happen: (s, a, s') in rows, p(s'|s,a), E[r|s,a,s'] and E[r²|s,a,s']."""
        o = self.outcomes
        triples, inverse = np.unique(np.stack((o.state, o.action, o.next_state), 1), axis=0, return_inverse=True)
        p, r, r2 = np.zeros((3, len(triples)))
        for k, sums in enumerate((p, r, r2)):
            np.add.at(sums, inverse.ravel(), o.probability * o.reward**k)
        return triples, p, r / p, in_range(r2, "a squared reward") / p

    def policy(self, policy: Policy | None = None, name: str = "policy") -> Floats:
        """The table [state, action] of a policy, checked; uniform when none is given."""
        if policy is None:
            return np.full((self.n_states, self.n_actions), 1 / self.n_actions)
        return policy_table(policy, self.n_states, self.n_actions, name)

    def P(self, policy: Policy | None = None) -> Matrix:
        """P_π(s, s'), sparse; the rows of terminal states are empty."""
        return values.transition_matrix(self, self.policy(policy))

    def sampler(self, policy: Policy | None = None, behavior: Policy | None = None, seed: int = 0) -> TableSampler:
        """Transitions drawn under `behavior` (by default `policy` itself), with their importance ratios."""
        return TableSampler(self, self.policy(policy), self._behavior(policy, behavior), seed)

    # ---- values ----------------------------------------------------------------------------------------------

    def v(
        self,
        policy: Policy | None = None,
        *,
        method: Literal["direct", "iterative"] = "direct",
        theta: float = 1e-12,
    ) -> Floats:
        """State values: v = r_π + P_π Γ v, by a linear solve or by sweeps until no value moves by θ."""
        return values.state_values(self, self.policy(policy), method, theta)

    def q(
        self,
        policy: Policy | None = None,
        *,
        method: Literal["direct", "iterative"] = "direct",
        theta: float = 1e-12,
    ) -> Floats:
        """Action values: q(s,a) = E[r' + γ' v(s') | s, a], shape [state, action]."""
        return values.action_values(self, self.v(policy, method=method, theta=theta))

    def return_variance(self, policy: Policy | None = None, behavior: Policy | None = None) -> Floats:
        """Var[G|s] of the return; with `behavior`, of the importance-corrected one."""
        return self.lambda_return(0.0, 1.0, policy, behavior).variance

    def optimal(self) -> values.Optimum:
        """Optimal policy (deterministic), v* and q*, by policy iteration."""
        return values.policy_iteration(self)

    # ---- where the policy goes -------------------------------------------------------------------------------

    def state_distribution(
        self,
        policy: Policy | None = None,
        *,
        method: Literal["direct", "iterative"] = "direct",
        theta: float = 1e-12,
    ) -> Floats:
        """The true on-policy distribution d over all states: dᵀP̃ = dᵀ, terminal rows of P̃ replaced by d₀.

        Terminal states count: each episode enters one once. See `error_weights` for d without them.
        """
        return distribution.state_distribution(self, self.policy(policy), method, theta)

    def distribution_mismatch(self, policy: Policy | None = None) -> distribution.DistributionMismatch:
        """How d differs from the "stationary" distribution of P_π that is often assumed in its place."""
        return distribution.mismatch(self, self.policy(policy))

    def error_weights(self, policy: Policy | None = None) -> Floats:
        """The thesis' weights: d over all states, with the entries of terminal states set to 0 afterwards."""
        return np.where(self.terminal, 0.0, self.state_distribution(policy))

    # ---- λ-returns and their errors --------------------------------------------------------------------------

    def lambda_return(
        self,
        V: ArrayLike,
        lam: ArrayLike,
        policy: Policy | None = None,
        behavior: Policy | None = None,
        correction: returns.Correction = "per-decision",
    ) -> returns.LambdaMoments:
        """Mean and variance, from each state, of the λ-return that bootstraps from `V`: see `mdp.returns`."""
        return returns.moments(self._recursion(V, lam, policy, behavior, correction))

    @quiet
    def value_error(
        self,
        V: ArrayLike,
        policy: Policy | None = None,
        *,
        weights: ArrayLike | None = None,
        half: bool = True,
    ) -> float:
        """Overall value error, ½ Σ d(s) (V(s) - v(s))²; without the ½ by `half=False`."""
        V = per_state(V, self.n_states, "V")
        square: Floats = self._weights(weights, policy) * (V - self.v(policy)) ** 2
        return in_range(float(square.sum()), "the value error") * (0.5 if half else 1.0)

    def target_error(
        self,
        V: ArrayLike,
        lam: ArrayLike,
        policy: Policy | None = None,
        behavior: Policy | None = None,
        *,
        correction: returns.Correction = "per-decision",
        weights: ArrayLike | None = None,
        half: bool = True,
    ) -> float:
        """Overall target error, J(λ) = ½ Σ d(s) E[(G^λ - v(s))² | s]; without the ½ by `half=False`."""
        return objective.target_error(self._problem(V, lam, policy, behavior, correction, weights, half))

    def target_error_gradient(
        self,
        V: ArrayLike,
        lam: ArrayLike,
        policy: Policy | None = None,
        behavior: Policy | None = None,
        *,
        kind: objective.GradientKind = "full",
        horizon: int | None = None,
        correction: returns.Correction = "per-decision",
        weights: ArrayLike | None = None,
        half: bool = True,
    ) -> Floats:
        """∇J(λ), one entry for each state.

        kind
            "full": the exact gradient (two adjoint solves), or with `horizon=n` the part that reaches the next
            n states, what lies beyond held fixed; `horizon=1` is the exact one-step partial.
            "derived": the thesis' one-step semi-gradient with the sign its own proof needs.
            "printed": the same as the thesis prints it, with the wrong sign in one term.
        """
        problem = self._problem(V, lam, policy, behavior, correction, weights, half)
        if horizon is not None:
            integer(horizon, "horizon", 1)
        return objective.gradient(problem, kind, horizon)

    def meta_minimizer(
        self,
        V: ArrayLike,
        lam: ArrayLike,
        policy: Policy | None = None,
        behavior: Policy | None = None,
        correction: returns.Correction = "per-decision",
    ) -> Floats:
        """META's one-step minimiser, (V-L)(V-M) / ((V-L)² + Var[G^λ]) at each state, not clipped; 0 for 0/0."""
        moments = self.lambda_return(V, lam, policy, behavior, correction)
        V = per_state(V, self.n_states, "V")
        return objective.minimizer(V, moments.mean, self.v(policy), moments.variance)

    def greedy_minimizer(self, V: ArrayLike, policy: Policy | None = None, behavior: Policy | None = None) -> Floats:
        """λ-greedy's λ (White & White 2016), (V-M)² / ((V-M)² + Var[G]) at each state; 0 for 0/0."""
        return self.meta_minimizer(V, 1.0, policy, behavior)

    def best_lambda(
        self,
        V: ArrayLike,
        policy: Policy | None = None,
        behavior: Policy | None = None,
        *,
        correction: returns.Correction = "per-decision",
        weights: ArrayLike | None = None,
        half: bool = True,
    ) -> objective.BestLambda:
        """The λ(s) in [0, 1] with the least J(λ) for this `V`, by bounded optimisation from several starts."""
        return objective.best_lambda(self._problem(V, 0.0, policy, behavior, correction, weights, half))

    # ---- linear features -------------------------------------------------------------------------------------

    def linear_system(
        self,
        features: ArrayLike,
        lam: ArrayLike,
        policy: Policy | None = None,
        behavior: Policy | None = None,
        *,
        method: Literal["td", "etd"] = "td",
        interest: ArrayLike = 1.0,
        beta: ArrayLike | None = None,
        correction: corrections.Correction = "importance",
    ) -> linear.LinearSystem:
        """Expected update b - A w of TD(λ) or ETD(λ): fixed points, the MSPBE, the key matrix, stability.

        Parameters
        ----------
        features
            [state, feature], or an integer observation for each state; [state, action, feature] for action values.
        method
            "td", or "etd" for emphatic TD(λ).
        interest, beta
            Of "etd": i(s), and β(s) in place of γ(s) in the follow-on trace (ETD(λ, β); 0 where γ is).
        correction
            The trace coefficient: a name, a `TraceCorrection`, or a table c[state, action].
        """
        choice(method, "method", "td", "etd")
        emphatic = linear.Emphatic(*self._emphatic(interest, beta)) if method == "etd" else None
        pi, b = self.policy(policy), self._behavior(policy, behavior)
        X = linear.feature_table(self, features)
        return linear.system(self, X, self._lam(lam), pi, b, correction, emphatic)

    def td_fixed_point(
        self,
        features: ArrayLike,
        lam: ArrayLike,
        policy: Policy | None = None,
        behavior: Policy | None = None,
    ) -> Floats:
        """The weights w with A w = b, where TD(λ) converges if it does (the least such w if there are many)."""
        return self.linear_system(features, lam, policy, behavior).td_fixed_point()

    def gtd_fixed_point(
        self,
        features: ArrayLike,
        lam: ArrayLike,
        policy: Policy | None = None,
        behavior: Policy | None = None,
    ) -> Floats:
        """The weights of least MSPBE, where GTD(λ) converges (the least such w if there are many)."""
        return self.linear_system(features, lam, policy, behavior).gtd_fixed_point()

    def etd_fixed_point(
        self,
        features: ArrayLike,
        lam: ArrayLike,
        policy: Policy | None = None,
        behavior: Policy | None = None,
        *,
        interest: ArrayLike = 1.0,
        beta: ArrayLike | None = None,
    ) -> Floats:
        """The weights where emphatic TD(λ) converges (the least such w if there are many)."""
        system = self.linear_system(features, lam, policy, behavior, method="etd", interest=interest, beta=beta)
        return system.td_fixed_point()

    def mspbe(
        self,
        weights: ArrayLike,
        features: ArrayLike,
        lam: ArrayLike,
        policy: Policy | None = None,
        behavior: Policy | None = None,
    ) -> float:
        """Mean-square projected Bellman error of V = X w: (b - A w)ᵀ C⁻¹ (b - A w)."""
        return self.linear_system(features, lam, policy, behavior).mspbe(np.asarray(weights, dtype=np.float64))

    def emphasis(
        self,
        lam: ArrayLike,
        policy: Policy | None = None,
        behavior: Policy | None = None,
        *,
        interest: ArrayLike = 1.0,
        beta: ArrayLike | None = None,
    ) -> emphasis.Emphasis:
        """The follow-on f(s) = d(s) E[F|s] and the emphasis m(s) = d(s) E[M|s] of emphatic TD(λ)."""
        pi, b = self.policy(policy), self._behavior(policy, behavior)
        return emphasis.emphasis(self, self._lam(lam), pi, b, *self._emphatic(interest, beta))

    def expected_trace(
        self,
        features: ArrayLike,
        lam: ArrayLike,
        policy: Policy | None = None,
        behavior: Policy | None = None,
        *,
        correction: corrections.Correction = "importance",
    ) -> Floats:
        """z(s) = E[e|s] of the trace e = γλ c⁻ e + x, [state, feature]; 0 where the behaviour policy never goes.

        What expected traces, ET(λ), estimate (van Hasselt et al. 2021): D z = D X + ΓΛ P_πᵀ D z.
        """
        pi, b = self.policy(policy), self._behavior(policy, behavior)
        X = linear.feature_table(self, features)
        return linear.expected_trace(self, X, self._lam(lam), pi, b, correction)

    def lambda_discrepancy(
        self,
        features: ArrayLike,
        lam: ArrayLike = 1.0,
        other: ArrayLike = 0.0,
        policy: Policy | None = None,
    ) -> float:
        """‖v_λ - v_λ'‖_d of the fixed points of TD(λ) and TD(λ') on-policy (Allen et al. 2024).

        `features` are often observations, an integer for each state. Where they are Markov it is 0 for any two λ.
        """
        X, pi = linear.feature_table(self, features), self.policy(policy)
        return linear.discrepancy(self, X, self._lam(lam), self._lam(other), pi)

    # ---- operators on tables of values -----------------------------------------------------------------------

    def trace_operator(
        self,
        lam: ArrayLike,
        policy: Policy | None = None,
        behavior: Policy | None = None,
        *,
        correction: corrections.Correction = "importance",
        values: Literal["state", "action"] = "state",
    ) -> operators.TraceOperator:
        """The mean update of a table at step size 1, V ↦ v + Z (V - v): v, Z, its norm and its spectral radius."""
        pi, b = self.policy(policy), self._behavior(policy, behavior)
        return operators.trace_operator(self, self._lam(lam), pi, b, correction, values)

    def trajectory_operator(
        self,
        lam: ArrayLike,
        policy: Policy | None = None,
        behavior: Policy | None = None,
        *,
        trace: trajectories.TraceName | trajectories.Trace = "retrace",
        memory: Sequence[float] = (1.0,),
        tolerance: float = 1e-10,
    ) -> operators.TraceOperator:
        """The same for action values and traces that depend on the whole trajectory: see `mdp.trajectories`.

        Parameters
        ----------
        trace
            "retrace", "truncated-is", "recursive-retrace", "rbis", or your own function
            `trace(memory, rho, lam, state, action)` of arrays, which returns the memory after a step: a tuple of
            arrays, β first.
        memory
            The memory of your own function at the start, β first.
        tolerance
            What the paths that are left out may add to ‖Z‖∞.
        """
        pi, b = self.policy(policy), self._behavior(policy, behavior)
        return trajectories.trajectory_operator(self, self._lam(lam), pi, b, trace, memory, tolerance)

    # ---- average reward --------------------------------------------------------------------------------------

    def average_reward(self, policy: Policy | None = None) -> average.AverageReward:
        """Gain and bias of a policy, without discount; an episode that ends starts again at once."""
        return average.average_reward(self, self.policy(policy))

    def differential_fixed_point(
        self,
        features: ArrayLike,
        lam: ArrayLike,
        policy: Policy | None = None,
        behavior: Policy | None = None,
    ) -> average.DifferentialFixedPoint:
        """Where differential TD(λ) converges if it does: weights (the least of many) and average reward."""
        pi, b = self.policy(policy), self._behavior(policy, behavior)
        X = linear.feature_table(self, features)
        return average.differential_fixed_point(self, X, self._lam(lam), pi, b)

    # ---- what users give, checked ----------------------------------------------------------------------------

    def _behavior(self, policy: Policy | None, behavior: Policy | None) -> Floats:
        pi = self.policy(policy)
        if behavior is None:
            return pi
        b = self.policy(behavior, "behavior")
        uncovered = ((pi > 0) & (b == 0)).any(axis=1) & ~self.terminal
        if uncovered.any():
            state = int(np.argmax(uncovered))
            raise ValueError(f"behavior of state {state} never takes an action that policy takes there")
        return b

    def _lam(self, lam: ArrayLike) -> Floats:
        return per_state(lam, self.n_states, "lam", 0, 1)

    def _emphatic(self, interest: ArrayLike, beta: ArrayLike | None) -> tuple[Floats, Floats | None]:
        follow = None if beta is None else per_state(beta, self.n_states, "beta", 0, 1)
        return per_state(interest, self.n_states, "interest", 0), follow

    def _weights(self, weights: ArrayLike | None, policy: Policy | None) -> Floats:
        if weights is None:
            return self.error_weights(policy)
        return np.where(self.terminal, 0.0, per_state(weights, self.n_states, "weights", 0))

    def _recursion(
        self,
        V: ArrayLike,
        lam: ArrayLike,
        policy: Policy | None,
        behavior: Policy | None,
        correction: returns.Correction,
    ) -> returns.Recursion:
        V = per_state(V, self.n_states, "V")
        b = self._behavior(policy, behavior)
        return returns.recursion(self, V, self._lam(lam), self.policy(policy), b, correction)

    def _problem(
        self,
        V: ArrayLike,
        lam: ArrayLike,
        policy: Policy | None,
        behavior: Policy | None,
        correction: returns.Correction,
        weights: ArrayLike | None,
        half: bool,
    ) -> objective.Problem:
        recursion = self._recursion(V, lam, policy, behavior, correction)
        scale = 0.5 if half else 1.0
        return objective.Problem(recursion, self.v(policy), scale * self._weights(weights, policy))


def _mask(states: ArrayLike, n_states: int) -> Bools:
    """A boolean mask over states from a mask or from indices."""
    array = np.asarray(states)
    if array.dtype == bool:
        if array.shape != (n_states,):
            raise ValueError(f"terminal as a mask must have shape ({n_states},); got {array.shape}")
        return array.copy()
    mask = np.zeros(n_states, dtype=bool)
    if np.unique(array).size != array.size:
        raise ValueError(f"terminal lists a state twice; a mask must be boolean; got {array.tolist()}")
    for state in array.ravel():
        mask[integer(state, "terminal", 0, n_states - 1)] = True
    return mask


def _start(start: ArrayLike | None, terminal: Bools) -> Floats:
    """The start distribution d₀ from a state, a distribution, or nothing."""
    n_states = terminal.size
    if terminal.all():
        raise ValueError("terminal: every state is terminal, there is nothing to predict")
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
        raise ValueError(f"start: state {state} is terminal, an episode cannot start there")
    return d0 / d0.sum()

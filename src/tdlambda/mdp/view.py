"""`FiniteMDP.under(policy, behavior)`: exact solutions for one pair of policies."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import ArrayLike

from tdlambda.arrays import Floats, Matrix, choice, integer, per_state
from tdlambda.mdp import (
    average,
    corrections,
    distribution,
    emphasis,
    fixed_points,
    objective,
    operators,
    return_statistics,
    values,
)
from tdlambda.mdp.overflow import in_range, quiet
from tdlambda.mdp.policies import Policy
from tdlambda.mdp.return_statistics import Correction, Recursion
from tdlambda.mdp.sampler import TableSampler

if TYPE_CHECKING:
    from tdlambda.mdp.finite import FiniteMDP


class PolicyView:
    """Exact solutions of a `FiniteMDP` under a target policy π and a behaviour policy b, from `FiniteMDP.under`.

    Attributes
    ----------
    mdp
        The model.
    policy, behavior
        π and b as tables [state, action].

    Examples
    --------
    >>> import tdlambda as td
    >>> ring = td.make("RingWorld-v0")
    >>> exact = ring.mdp.under(ring.target, ring.behavior)
    >>> exact.v()[:3].round(3), exact.return_variance()[:3].round(3)
    (array([ 0.   , -0.317,  0.054]), array([0.   , 0.431, 0.351]))
    >>> exact.value_error(exact.v())
    0.0
    """

    def __init__(self, mdp: FiniteMDP, policy: Policy | None = None, behavior: Policy | None = None) -> None:
        self.mdp = mdp
        self.policy = mdp.policy(policy)
        self.behavior = self.policy if behavior is None else mdp.policy(behavior, "behavior")
        uncovered = ((self.policy > 0) & (self.behavior == 0)).any(axis=1) & ~mdp.terminal
        if uncovered.any():
            state = int(np.argmax(uncovered))
            raise ValueError(f"behavior of state {state} must be positive for every action that policy takes there")

    def __repr__(self) -> str:
        """The model, and whether both policies are the same."""
        same = "on-policy" if self.behavior is self.policy else "off-policy"
        return f"<{self.mdp!r} under a policy, {same}>"

    @cached_property
    def _v(self) -> Floats:
        return self.v()

    @cached_property
    def _error_weights(self) -> Floats:
        return np.where(self.mdp.terminal, 0.0, self.state_distribution())

    def P(self) -> Matrix:
        """P_π(s, s'), sparse; the rows of terminal states are empty."""
        return values.transition_matrix(self.mdp, self.policy)

    def sampler(self, seed: int = 0) -> TableSampler:
        """A stream of transitions under `behavior`, with their importance-sampling ratios; `seed` is at least 0."""
        return TableSampler(self.mdp, self.policy, self.behavior, seed)

    # ---- values ----------------------------------------------------------------------------------------------

    def v(self, *, method: Literal["direct", "iterative"] = "direct", theta: float = 1e-12) -> Floats:
        """State values v = r_π + P_π Γ v.

        Parameters
        ----------
        method
            "direct" (a linear solve), or "iterative" (sweeps until every value changes by less than `theta`).
        theta
            Tolerance of "iterative", positive.
        """
        return values.state_values(self.mdp, self.policy, method, theta)

    def q(self, *, method: Literal["direct", "iterative"] = "direct", theta: float = 1e-12) -> Floats:
        """Action values q(s,a) = E[r' + γ' v(s') | s, a], shape [state, action].

        Parameters
        ----------
        method, theta
            See `v`.
        """
        return values.action_values(self.mdp, self.v(method=method, theta=theta))

    @quiet
    def bellman_error(self, V: ArrayLike) -> Floats:
        """The Bellman error vector r_π + P_π Γ V - V: the expected TD error at each state, 0 in terminal states.

        >>> import tdlambda as td
        >>> ring = td.make("RingWorld-v0").exact
        >>> bool(abs(ring.bellman_error(ring.v())).max() < 1e-12)
        True
        """
        return in_range(values.bellman_error(self.mdp, self.policy, per_state(V, self.mdp.n_states, "V")), "the error")

    @quiet
    def policy_gradient(self, derivatives: ArrayLike | None = None) -> Floats:
        """∇ E[v(S₀)], the gradient of the value at the start: the policy gradient theorem with a state-based discount.

        It is Σ_s m(s) Σ_a q(s, a) ∂π(a|s)/∂θ, where m(s) counts the visits to s from d₀, each weighted by the
        discounts on the way to it.

        Parameters
        ----------
        derivatives
            ∂π(a|s)/∂θ_k as [state, action, parameter]. None is a softmax with a preference for each state and action;
            the result is then [state, action].

        Examples
        --------
        >>> import tdlambda as td
        >>> walk = td.make("RandomWalk-v0").exact
        >>> bool(walk.policy_gradient()[3, 1] > 0)          # going right is worth more
        True
        """
        visits, q = values.discounted_visits(self.mdp, self.policy), self.q()
        if derivatives is None:
            return in_range(visits[:, None] * self.policy * (q - self._v[:, None]), "the gradient")
        slopes = np.asarray(derivatives, dtype=np.float64)
        if slopes.ndim != 3 or slopes.shape[:2] != q.shape:
            raise ValueError(f"derivatives must be [state, action, parameter] with {q.shape}; got shape {slopes.shape}")
        return in_range(np.einsum("s,sa,sak->k", visits, q, slopes), "the gradient")

    def return_variance(self) -> Floats:
        """Variance Var[G|s] of the return; with `behavior`, of the importance-corrected return."""
        return self.lambda_return(0.0, 1.0).variance

    # ---- state distributions ---------------------------------------------------------------------------------

    def state_distribution(self, *, method: Literal["direct", "iterative"] = "direct", theta: float = 1e-12) -> Floats:
        """The true on-policy distribution d over all states: dᵀP̃ = dᵀ, terminal rows of P̃ replaced by d₀.

        Terminal states count: each episode enters one once. See `error_weights` for d without them.

        Parameters
        ----------
        method
            "direct" (a linear solve), or "iterative" (sweeps), if every episode ends.
        theta
            Tolerance of "iterative", positive.
        """
        return distribution.state_distribution(self.mdp, self.policy, method, theta)

    def distribution_mismatch(self) -> distribution.DistributionMismatch:
        """The difference between d and the "stationary" distribution of P_π that is often assumed in its place."""
        return distribution.mismatch(self.mdp, self.policy)

    def error_weights(self) -> Floats:
        """The error weights of Zhao (2020): d over all states, with the entries of terminal states then set to 0."""
        return self._error_weights.copy()

    # ---- λ-returns and their errors --------------------------------------------------------------------------

    def lambda_return(
        self, V: ArrayLike, lam: ArrayLike, correction: Correction = "per-decision"
    ) -> return_statistics.LambdaMoments:
        """Mean and variance, from each state, of the λ-return that bootstraps from `V`: see `mdp.returns`."""
        return return_statistics.moments(self._recursion(V, lam, correction))

    @quiet
    def value_error(self, V: ArrayLike, *, weights: ArrayLike | None = None, half: bool = True) -> float:
        """Overall value error, ½ Σ d(s) (V(s) - v(s))²; without the ½ by `half=False`."""
        V = per_state(V, self.mdp.n_states, "V")
        square: Floats = self._weights(weights) * (V - self._v) ** 2
        return in_range(float(square.sum()), "the value error") * (0.5 if half else 1.0)

    def target_error(
        self,
        V: ArrayLike,
        lam: ArrayLike,
        *,
        correction: Correction = "per-decision",
        weights: ArrayLike | None = None,
        half: bool = True,
    ) -> float:
        """Overall target error, J(λ) = ½ Σ d(s) E[(G^λ - v(s))² | s]; without the ½ by `half=False`."""
        return objective.target_error(self._problem(V, lam, correction, weights, half))

    def target_error_gradient(
        self,
        V: ArrayLike,
        lam: ArrayLike,
        *,
        kind: objective.GradientKind = "full",
        horizon: int | None = None,
        correction: Correction = "per-decision",
        weights: ArrayLike | None = None,
        half: bool = True,
    ) -> Floats:
        """∇J(λ), one entry for each state.

        Parameters
        ----------
        V, lam, correction, weights, half
            See `target_error`.
        kind
            "full": the exact gradient (two adjoint solves). "derived": the one-step semi-gradient of Zhao (2020), with
            the sign that its proof requires. "printed": the same as printed there, with the wrong sign in one term.
        horizon
            For "full", the number n ≥ 1 of states ahead that the gradient accounts for, with everything beyond held
            fixed; 1 is the exact one-step partial derivative. None has no limit.
        """
        problem = self._problem(V, lam, correction, weights, half)
        if horizon is not None:
            integer(horizon, "horizon", 1)
        return objective.gradient(problem, kind, horizon)

    def meta_minimizer(self, V: ArrayLike, lam: ArrayLike, correction: Correction = "per-decision") -> Floats:
        """META's one-step minimiser, (V-L)(V-M) / ((V-L)² + Var[G^λ]) at each state, not clipped; 0 for 0/0."""
        moments = self.lambda_return(V, lam, correction)
        V = per_state(V, self.mdp.n_states, "V")
        return objective.meta_minimizer(V, moments.mean, self._v, moments.variance)

    def greedy_minimizer(self, V: ArrayLike) -> Floats:
        """λ-greedy's λ (White & White 2016), (V-M)² / ((V-M)² + Var[G]) at each state; 0 for 0/0."""
        return self.meta_minimizer(V, 1.0)

    def best_lambda(
        self,
        V: ArrayLike,
        *,
        correction: Correction = "per-decision",
        weights: ArrayLike | None = None,
        half: bool = True,
    ) -> objective.BestLambda:
        """The λ(s) in [0, 1] that minimise J(λ) for this `V`, by bounded optimisation from several starting points."""
        return objective.best_lambda(self._problem(V, 0.0, correction, weights, half))

    # ---- linear features -------------------------------------------------------------------------------------

    def linear_system(
        self,
        features: ArrayLike,
        lam: ArrayLike,
        *,
        method: Literal["td", "etd"] = "td",
        interest: ArrayLike = 1.0,
        beta: ArrayLike | None = None,
        correction: corrections.Correction = "importance",
    ) -> fixed_points.LinearSystem:
        """Expected update b - A w of TD(λ) or ETD(λ): fixed points, the MSPBE, the key matrix, stability.

        Parameters
        ----------
        features
            [state, feature], or an integer observation for each state; [state, action, feature] for action values.
        method
            "td", or "etd" for emphatic TD(λ).
        interest, beta
            For "etd": interest i(s), and β(s) in place of γ(s) in the follow-on trace (ETD(λ, β); 0 where γ is 0).
        correction
            The trace coefficient: a name, a `TraceCorrection`, or a table c[state, action].
        """
        choice(method, "method", "td", "etd")
        emphatic = fixed_points.Emphases(*self._emphatic(interest, beta)) if method == "etd" else None
        X = fixed_points.feature_table(self.mdp, features)
        return fixed_points.system(self.mdp, X, self._lam(lam), self.policy, self.behavior, correction, emphatic)

    def td_fixed_point(self, features: ArrayLike, lam: ArrayLike) -> Floats:
        """The weights w with A w = b, the only possible limit of TD(λ) (the minimum-norm w if there are many)."""
        return self.linear_system(features, lam).td_fixed_point()

    def gtd_fixed_point(self, features: ArrayLike, lam: ArrayLike) -> Floats:
        """The weights that minimise the MSPBE, the limit of GTD(λ) (the minimum-norm w if there are many)."""
        return self.linear_system(features, lam).gtd_fixed_point()

    def etd_fixed_point(
        self, features: ArrayLike, lam: ArrayLike, *, interest: ArrayLike = 1.0, beta: ArrayLike | None = None
    ) -> Floats:
        """The limit of emphatic TD(λ) (the minimum-norm w if there are many)."""
        system = self.linear_system(features, lam, method="etd", interest=interest, beta=beta)
        return system.td_fixed_point()

    def mspbe(self, weights: ArrayLike, features: ArrayLike, lam: ArrayLike) -> float:
        """Mean-square projected Bellman error of V = X w: (b - A w)ᵀ C⁻¹ (b - A w)."""
        return self.linear_system(features, lam).mspbe(np.asarray(weights, dtype=np.float64))

    def emphasis(
        self, lam: ArrayLike, *, interest: ArrayLike = 1.0, beta: ArrayLike | None = None
    ) -> emphasis.Emphasis:
        """The follow-on f(s) = d(s) E[F|s] and the emphasis m(s) = d(s) E[M|s] of emphatic TD(λ)."""
        return emphasis.emphasis(self.mdp, self._lam(lam), self.policy, self.behavior, *self._emphatic(interest, beta))

    def expected_trace(
        self, features: ArrayLike, lam: ArrayLike, *, correction: corrections.Correction = "importance"
    ) -> Floats:
        """z(s) = E[e|s] of the trace e = γλ c⁻ e + x, [state, feature]; 0 where the behaviour policy never goes.

        ET(λ) estimates it (van Hasselt et al. 2021): D z = D X + ΓΛ P_πᵀ D z.
        """
        X = fixed_points.feature_table(self.mdp, features)
        return fixed_points.expected_trace(self.mdp, X, self._lam(lam), self.policy, self.behavior, correction)

    def lambda_discrepancy(self, features: ArrayLike, lam: ArrayLike = 1.0, other: ArrayLike = 0.0) -> float:
        """‖v_λ - v_λ'‖_d of the fixed points of TD(λ) and TD(λ') on-policy (Allen et al. 2024).

        `features` are often observations, one integer for each state. If they are Markov, it is 0 for any two λ.
        """
        X = fixed_points.feature_table(self.mdp, features)
        return fixed_points.discrepancy(self.mdp, X, self._lam(lam), self._lam(other), self.policy)

    # ---- operators on tables of values -----------------------------------------------------------------------

    def trace_operator(
        self,
        lam: ArrayLike,
        *,
        correction: corrections.Correction = "importance",
        values: Literal["state", "action"] = "state",
    ) -> operators.TraceOperator:
        """The mean update of a table at step size 1, V ↦ v + Z (V - v): v, Z, its norm and its spectral radius."""
        return operators.trace_operator(self.mdp, self._lam(lam), self.policy, self.behavior, correction, values)

    # ---- average reward --------------------------------------------------------------------------------------

    def average_reward(self) -> average.AverageReward:
        """Gain and bias of the policy, without discount; an episode that ends restarts at once."""
        return average.average_reward(self.mdp, self.policy)

    def differential_fixed_point(self, features: ArrayLike, lam: ArrayLike) -> average.DifferentialFixedPoint:
        """The fixed point of differential TD(λ): weights (of minimum norm if there are many) and average reward."""
        X = fixed_points.feature_table(self.mdp, features)
        return average.differential_fixed_point(self.mdp, X, self._lam(lam), self.policy, self.behavior)

    # ---- validation of arguments -----------------------------------------------------------------------------

    def _lam(self, lam: ArrayLike) -> Floats:
        return per_state(lam, self.mdp.n_states, "lam", 0, 1)

    def _emphatic(self, interest: ArrayLike, beta: ArrayLike | None) -> tuple[Floats, Floats | None]:
        follow = None if beta is None else per_state(beta, self.mdp.n_states, "beta", 0, 1)
        return per_state(interest, self.mdp.n_states, "interest", 0), follow

    def _weights(self, weights: ArrayLike | None) -> Floats:
        if weights is None:
            return self._error_weights
        return np.where(self.mdp.terminal, 0.0, per_state(weights, self.mdp.n_states, "weights", 0))

    def _recursion(self, V: ArrayLike, lam: ArrayLike, correction: Correction) -> Recursion:
        V = per_state(V, self.mdp.n_states, "V")
        return return_statistics.recursion(self.mdp, V, self._lam(lam), self.policy, self.behavior, correction)

    def _problem(
        self,
        V: ArrayLike,
        lam: ArrayLike,
        correction: Correction,
        weights: ArrayLike | None,
        half: bool,
    ) -> objective.Problem:
        recursion = self._recursion(V, lam, correction)
        scale = 0.5 if half else 1.0
        return objective.Problem(recursion, self._v, scale * self._weights(weights))

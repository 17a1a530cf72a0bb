"""Values of a policy, and the optimal policy, by dynamic programming (Zhao 2020, chapter 2)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np
import scipy

from tdlambda.arrays import Floats, Ints, Matrix
from tdlambda.mdp.overflow import in_range, quiet
from tdlambda.mdp.resolvent import Resolvent, cannot_reach

if TYPE_CHECKING:
    from tdlambda.mdp.finite import FiniteMDP

_MAX_SWEEPS = 10_000_000


class Optimum(NamedTuple):
    """The result of policy iteration."""

    policy: Ints
    v: Floats
    q: Floats


def transition_matrix(mdp: FiniteMDP, pi: Floats) -> Matrix:
    """P_π(s, s') = Σ_a π(a|s) p(s'|s,a)."""
    o = mdp.outcomes
    matrix = o.matrix(pi[o.state, o.action] * o.probability)
    matrix.eliminate_zeros()
    return matrix


def expected_reward(mdp: FiniteMDP, pi: Floats) -> Floats:
    """r_π(s) = Σ_a π(a|s) Σ p(s',r|s,a) r."""
    o = mdp.outcomes
    return o.by_state(pi[o.state, o.action] * o.probability * o.reward)


def require_proper(mdp: FiniteMDP, P: Matrix) -> None:
    """Validate that the policy is proper: its return from every state must be finite."""
    stuck = cannot_reach(P, mdp.discount < 1)
    if stuck.size:
        raise ValueError(
            f"policy is not proper: from state {stuck[0]} it reaches neither a terminal state nor a discount below 1, "
            "so its value is not defined there"
        )


def state_values(mdp: FiniteMDP, pi: Floats, method: Literal["direct", "iterative"], theta: float) -> Floats:
    """v = r_π + P_π Γ v. "iterative" sweeps until ‖v' - v‖∞ < θ (Algorithm "Iterative Policy Evaluation")."""
    P = transition_matrix(mdp, pi)
    require_proper(mdp, P)
    r = expected_reward(mdp, pi)
    M = scipy.sparse.csr_array(P.multiply(mdp.discount))
    if method == "direct":
        resolvent = Resolvent(M)
        resolvent.require_accurate()
        return resolvent.solve(r)
    if method != "iterative":
        raise ValueError(f'method must be "direct" or "iterative"; got {method!r}')
    return sweep(M, r, theta)


def bellman_error(mdp: FiniteMDP, pi: Floats, V: Floats) -> Floats:
    """r_π + P_π Γ V - V; 0 in terminal states, whose value is not learned."""
    M = transition_matrix(mdp, pi).multiply(mdp.discount)
    return np.where(mdp.terminal, 0.0, expected_reward(mdp, pi) + scipy.sparse.csr_array(M) @ V - V)


def discounted_visits(mdp: FiniteMDP, pi: Floats) -> Floats:
    """m(s): expected visits to each state in an episode from d₀, each weighted by the discounts on the way to it."""
    P = transition_matrix(mdp, pi)
    require_proper(mdp, P)
    resolvent = Resolvent(scipy.sparse.csr_array(P.multiply(mdp.discount)))
    resolvent.require_accurate()
    return np.where(mdp.terminal, 0.0, resolvent.solve_transposed(np.where(mdp.terminal, 0.0, mdp.start)))


@quiet
def sweep(M: Matrix, b: Floats, theta: float) -> Floats:
    """x ← b + M x from x = 0 until every entry changes by less than θ."""
    if not theta > 0:
        raise ValueError(f"theta must be positive; got {theta}")
    x = np.zeros_like(b)
    for _ in range(_MAX_SWEEPS):
        new = in_range(b + M @ x, "a value")
        moved = np.abs(new - x).max()
        x = new
        if moved < theta:
            return x
    raise RuntimeError(f"no convergence to theta={theta} within {_MAX_SWEEPS} sweeps; use the direct method")


@quiet
def action_values(mdp: FiniteMDP, v: Floats) -> Floats:
    """q(s,a) = Σ p(s',r|s,a) [r + γ(s') v(s')]; 0 in terminal states."""
    o = mdp.outcomes
    q = o.by_pair(o.probability * (o.reward + mdp.discount[o.next_state] * v[o.next_state]))
    return in_range(q, "an action value")


def policy_iteration(mdp: FiniteMDP) -> Optimum:
    """The optimum by Howard's policy iteration from a proper policy; an action changes only to a strictly better one.

    Because ties keep the old action, every policy stays proper when γ = 1 and a cycle has reward 0.
    """
    policy = _proper_policy(mdp)
    rows = np.arange(mdp.n_states)
    while True:
        try:
            v = state_values(mdp, np.eye(mdp.n_actions)[policy], "direct", 1.0)
        except ValueError as error:
            raise ValueError(f"no optimal policy: a cycle with discount 1 has an infinite return ({error})") from None
        q = action_values(mdp, v)
        best = q.argmax(axis=1)
        better = q[rows, best] > q[rows, policy] + 1e-12 * np.abs(q).max()
        if not better.any():
            return Optimum(policy, v, q)
        policy = np.where(better, best, policy)


def _proper_policy(mdp: FiniteMDP) -> Ints:
    """A proper policy: each action is the one most likely to lead a step closer to a terminal or discounting state."""
    o, n = mdp.outcomes, mdp.n_states
    goals = np.flatnonzero(mdp.discount < 1)
    # Search backwards from one extra node that precedes every goal: the predecessor of a state in this search is its
    # successor on a shortest path to a goal.
    rows, columns = np.concatenate((o.next_state, np.full(goals.size, n))), np.concatenate((o.state, goals))
    backwards = scipy.sparse.csr_array((np.ones(rows.size), (rows, columns)), shape=(n + 1, n + 1))
    _, closer = scipy.sparse.csgraph.breadth_first_order(backwards, n)
    policy = np.zeros(n, dtype=np.int64)
    on_the_way = np.flatnonzero(o.next_state == closer[o.state])
    on_the_way = on_the_way[np.argsort(o.probability[on_the_way], kind="stable")]  # most likely last: it is kept
    policy[o.state[on_the_way]] = o.action[on_the_way]
    return policy

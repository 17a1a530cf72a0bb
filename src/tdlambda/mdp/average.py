"""Average reward: gain and bias of a policy, and where differential TD(λ) converges.

    g + v(s) = r_π(s) + Σ P_π(s,s') v(s'),    d·v = 0        (Puterman 1994, section 8.2; Sutton & Barto 2018, 10.3)

The discount of the model is not used. An episode that ends restarts from d₀ at once: a terminal state takes no time.

Differential TD(λ) with ratios (Wan, Naik & Sutton 2021),

    δ = r' - r̄ + w·x' - w·x,    e = ρ (λ e + x),    w += α δ e,    r̄ += ηα ρ δ

is at rest where, with H = (I - P_π Λ)⁻¹ and d of the behaviour policy,

    Xᵀ D H (r_π - r̄ 1 - (I - P_π) X w) = 0,    dᵀ (r_π - r̄ 1 - (I - P_π) X w) = 0
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import scipy

from tdlambda.arrays import Floats, Ints, Matrix
from tdlambda.mdp.distribution import closed_classes, stationary, visited
from tdlambda.mdp.overflow import in_range, quiet
from tdlambda.mdp.resolvent import Resolvent, cannot_reach
from tdlambda.mdp.values import expected_reward, transition_matrix
from tdlambda.showing import PrintedTable

if TYPE_CHECKING:
    from tdlambda.mdp.finite import FiniteMDP

_RANK_TOLERANCE = 1e-10


@dataclass(frozen=True, repr=False)
class AverageReward(PrintedTable):
    """Gain and bias of a policy.

    Attributes
    ----------
    gain
        Average reward g per step.
    bias
        Differential values v(s), with d·v = 0. A terminal state has the value of the restart that follows it.
    distribution
        Distribution d: the fraction of steps taken from each state.

    Examples
    --------
    >>> import tdlambda as td
    >>> loop = td.FiniteMDP([[0, 1.0], [1.0, 0]], [1.0, 0.0], discount=0.9)
    >>> answer = loop.under().average_reward()
    >>> answer.gain, answer.bias
    (0.5, array([ 0.25, -0.25]))
    """

    gain: float
    bias: Floats
    distribution: Floats


@dataclass(frozen=True, repr=False)
class DifferentialFixedPoint(PrintedTable):
    """The fixed point of differential TD(λ): weights and estimated average reward."""

    weights: Floats
    gain: float


@quiet
def average_reward(mdp: FiniteMDP, pi: Floats) -> AverageReward:
    """Gain and bias of a unichain policy, from the sums of r - g up to the next visit to one recurrent state."""
    P, r = transition_matrix(mdp, pi), expected_reward(mdp, pi)
    if mdp.terminal.any() and not cannot_reach(P, mdp.terminal).size:  # the terminal states serve as that state
        d, until = visited(mdp, pi), P
    else:
        P = _restarted(mdp, pi)
        recurrent = _recurrent(P)
        d = np.zeros(mdp.n_states)
        d[recurrent] = stationary(P[recurrent][:, recurrent])
        elsewhere = np.ones(mdp.n_states)
        elsewhere[recurrent[0]] = 0.0
        until = scipy.sparse.csr_array(P.multiply(elsewhere))
    gain = float(d @ r)
    resolvent = Resolvent(until)
    resolvent.require_accurate()
    v = resolvent.solve(np.where(mdp.terminal, 0.0, r - gain))
    return AverageReward(gain, in_range(v - d @ v, "a differential value"), d)


def _recurrent(P: Matrix) -> Ints:
    """The states of the only closed class of a chain; raise if there are several."""
    classes = closed_classes(P)
    if len(classes) > 1:
        one, two = classes[0][0], classes[1][0]
        raise ValueError(
            f"policy must be unichain, with one closed class of states; got {len(classes)}, each with its own average "
            f"reward: state {one} is in one, state {two} in another"
        )
    return classes[0]


@quiet
def differential_fixed_point(mdp: FiniteMDP, X: Floats, lam: Floats, pi: Floats, b: Floats) -> DifferentialFixedPoint:
    """The minimum-norm weights and r̄ at which both mean updates are 0."""
    if X.ndim != 2:
        raise ValueError(f"features must have shape ({mdp.n_states}, number of features); got {X.shape}")
    P, steps = _restarted(mdp, pi), np.where(mdp.terminal, 0.0, 1.0)
    through = Resolvent(scipy.sparse.csr_array(P.multiply(np.where(mdp.terminal, 1.0, lam))))
    if not through.converges():
        raise ValueError("lam must be below 1: without a discount, traces never end under this policy")
    entered = _entered(mdp, X)
    d = visited(mdp, b)
    traced = through.solve_transposed(d[:, None] * X)
    traced = np.column_stack((np.where(mdp.terminal[:, None], 0.0, traced), d))
    left = np.column_stack((X - transition_matrix(mdp, pi) @ entered, steps))
    A, target = in_range(traced.T @ left, "A"), in_range(traced.T @ expected_reward(mdp, pi), "b")
    solution = np.linalg.lstsq(A, target, rcond=_RANK_TOLERANCE)[0]
    if not np.allclose(A @ solution, target, rtol=0, atol=1e-8 * max(1e-300, float(np.abs(target).max()))):
        raise ValueError("features: the mean updates have no common zero, so differential TD(λ) has no fixed point")
    return DifferentialFixedPoint(solution[:-1], float(solution[-1]))


def _restarted(mdp: FiniteMDP, pi: Floats) -> Matrix:
    """P_π with terminal states leading to d₀."""
    ends = np.flatnonzero(mdp.terminal)
    starts = np.flatnonzero(mdp.start)
    entries = np.tile(mdp.start[starts], ends.size)
    where = (np.repeat(ends, starts.size), np.tile(starts, ends.size))
    restart = scipy.sparse.csr_array((entries, where), shape=(mdp.n_states,) * 2)
    return scipy.sparse.csr_array(transition_matrix(mdp, pi) + restart)


def _entered(mdp: FiniteMDP, X: Floats) -> Floats:
    """The features on entering a state; for a terminal state, the mean features of the restart."""
    entered = X.copy()
    entered[mdp.terminal] = mdp.start @ X
    return entered

"""State distributions of a policy (Zhao 2020, chapter 2, "DP for State Distribution")."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
import scipy

from tdlambda.arrays import Floats, Ints, Matrix, choice
from tdlambda.mdp.resolvent import Resolvent, cannot_reach
from tdlambda.mdp.values import sweep, transition_matrix
from tdlambda.showing import PrintedTable

if TYPE_CHECKING:
    from tdlambda.mdp.finite import FiniteMDP


@dataclass(frozen=True, repr=False)
class DistributionMismatch(PrintedTable):
    """The true on-policy distribution, and the one that is often assumed in the literature.

    Attributes
    ----------
    true
        d with dᵀP̃ = dᵀ, the distribution of an agent that restarts from d₀ after each episode.
    assumed
        A solution of dᵀP_π = dᵀ with absorbing terminal states, the limit for an agent that starts once.
    total_variation
        ½ Σ |true - assumed|. In an episodic task, `assumed` is concentrated on the terminal states.
    residual
        Σ |dᵀP_π - dᵀ| of `true`; 0 only in a continuing task.
    """

    true: Floats
    assumed: Floats
    total_variation: float
    residual: float


def state_distribution(mdp: FiniteMDP, pi: Floats, method: Literal["direct", "iterative"], theta: float) -> Floats:
    """The fraction of time that an agent spends in each state, with restarts from d₀ when an episode ends.

    In an episodic task this is the expected number of visits in an episode, y = d₀ + P_πᵀ y, normalised to sum to 1,
    which solves dᵀP̃ = dᵀ without forming P̃. If episodes may fail to end, all time is spent in the closed classes,
    each weighted by the probability of being absorbed in it.
    """
    choice(method, "method", "direct", "iterative")
    P = _chain(mdp, pi)
    classes = _closed_classes(mdp, P)
    if not classes:
        return _normalized(_visits(P, mdp.start, method, theta))
    if method == "iterative":
        raise ValueError('method must be "direct", because some episodes never end; got "iterative"')
    return _normalized(np.where(mdp.terminal, 0.0, _one_episode_ends(mdp, P, classes)))


def visited(mdp: FiniteMDP, b: Floats) -> Floats:
    """The fraction of steps that a learner under policy b takes from each state; 0 for terminal states."""
    return _normalized(np.where(mdp.terminal, 0.0, state_distribution(mdp, b, "direct", 1.0)))


def _one_episode_ends(mdp: FiniteMDP, P: Matrix, classes: list[Ints]) -> Floats:
    """The limit of one episode: probability of each terminal state, and long-run distribution of each closed class."""
    caught = np.zeros(mdp.n_states, dtype=bool)
    caught[[state for members in classes for state in members]] = True
    free = np.flatnonzero(~caught)
    entered = mdp.start + P[free].T @ _visits(P[free][:, free], mdp.start[free], "direct", 1.0)
    d = np.where(mdp.terminal, entered, 0.0)
    for members in classes:
        d[members] = entered[members].sum() * stationary(P[members][:, members])
    return d


def mismatch(mdp: FiniteMDP, pi: Floats) -> DistributionMismatch:
    """Compare d with the stationary vector of P_π (terminal states absorbing) reached from d₀."""
    true = state_distribution(mdp, pi, "direct", 1.0)
    P = _chain(mdp, pi)
    assumed = _one_episode_ends(mdp, P, _closed_classes(mdp, P))
    absorbing = np.where(mdp.terminal, true, 0.0)
    residual = np.abs(P.T @ true + absorbing - true).sum()
    return DistributionMismatch(true, assumed, float(np.abs(true - assumed).sum() / 2), float(residual))


def _visits(Q: Matrix, start: Floats, method: Literal["direct", "iterative"], theta: float) -> Floats:
    """Expected visits y = start + Qᵀ y."""
    if method == "iterative":
        return sweep(Q.T.tocsr(), start, theta)
    resolvent = Resolvent(Q)
    resolvent.require_accurate()
    return resolvent.solve_transposed(start)


def stationary(P: Matrix) -> Floats:
    """The d with dᵀP = dᵀ of an irreducible chain, from the visits between two returns to its first state."""
    d = np.ones(P.shape[0])
    if d.size > 1:
        d[1:] = Resolvent(P[1:][:, 1:]).solve_transposed(P[[0]][:, 1:].toarray().ravel())
    return _normalized(d)


def _chain(mdp: FiniteMDP, pi: Floats) -> Matrix:
    """P_π, with empty rows for states that no episode reaches."""
    P = transition_matrix(mdp, pi)
    reached = np.ones(mdp.n_states)
    reached[cannot_reach(P.T.tocsr(), mdp.start > 0)] = 0
    P = scipy.sparse.csr_array(P.multiply(reached[:, None]))
    P.eliminate_zeros()
    return P


def _closed_classes(mdp: FiniteMDP, P: Matrix) -> list[Ints]:
    """The sets of non-terminal states that an agent may enter but never leaves."""
    stuck = cannot_reach(P, mdp.terminal)
    if not stuck.size:
        return []
    inside = P[stuck][:, stuck]
    leads_on = np.diff(inside.indptr) > 0  # a state that is never reached has an empty row
    return [stuck[members] for members in closed_classes(inside) if leads_on[members].all()]


def closed_classes(P: Matrix) -> list[Ints]:
    """The strongly connected sets of states that no edge of P leaves."""
    count, label = scipy.sparse.csgraph.connected_components(P, directed=True, connection="strong")
    origin, to = P.tocoo().coords
    is_open = np.zeros(count, dtype=bool)
    is_open[label[origin[label[origin] != label[to]]]] = True
    order = np.argsort(label, kind="stable")
    members = np.split(order, np.cumsum(np.bincount(label, minlength=count))[:-1])
    return [states for states, leaves in zip(members, is_open, strict=True) if not leaves]


def _normalized(x: Floats) -> Floats:
    return x / x.sum()

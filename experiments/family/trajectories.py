"""Traces that depend on the whole trajectory (Daley, White, Amato & Machado 2023), as operators on action values.

A pair (s₀, a₀) is updated by every later error δ_t with the weight Πγ β_t, where β₀ = 1 and, at each later pair,

    "retrace"             β = β λ min(1, ρ)
    "truncated-is"        β = Πλ min(1, Πρ)
    "recursive-retrace"   β = λ min(1, ρ β)
    "rbis"                β = min(Πλ, ρ β)

with products over the pairs since the first. With B_t(x,y) = Σ Πγ Pr_b β_t over the paths of t steps from x to y,

    Z = Σ_{t≥1} (B_{t-1} P_π Γ - B_t),    M Q - q_π = Z (Q - q_π)

‖Z‖∞ ≤ γ if β_t ≤ ρ_t β_{t-1}, which holds for all but "truncated-is". Paths that agree in their last pair and in
everything that β still depends on are merged. Paths are omitted when together they can add at most a tolerance to
‖Z‖∞.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import scipy
from numpy.typing import ArrayLike

from tdlambda.arrays import Floats, Ints, choice, number, per_state, positive
from tdlambda.mdp import FiniteMDP, PolicyView, TraceOperator
from tdlambda.mdp.corrections import ratio_table
from tdlambda.mdp.expected import pair_matrix, require_small
from tdlambda.mdp.resolvent import Resolvent
from tdlambda.mdp.values import action_values, require_proper, state_values, transition_matrix

Memory = tuple[Floats, ...]
"""The numbers that later β depend on, for each of many paths; β itself comes first."""
Trace = Callable[[Memory, Floats, Floats, Ints, Ints], tuple[Any, ...]]
TraceName = Literal["retrace", "truncated-is", "recursive-retrace", "rbis"]
_MOST = 20_000_000
"""Entries of the table [path, first pair]: 160 MB."""


@dataclass(frozen=True)
class _Kind:
    """A trace, its initial memory, and an upper bound on all later β given a memory."""

    update: Trace
    start: tuple[float, ...]
    bound: Callable[[Memory], Floats]


def _retrace(memory: Memory, rho: Floats, lam: Floats, state: Ints, action: Ints) -> Memory:
    return (memory[0] * lam * np.minimum(1, rho),)


def _truncated(memory: Memory, rho: Floats, lam: Floats, state: Ints, action: Ints) -> Memory:
    _, decay, ratio = memory
    decay, ratio = decay * lam, np.minimum(ratio * rho, 1e300)
    return decay * np.minimum(1, ratio), decay, ratio


def _recursive(memory: Memory, rho: Floats, lam: Floats, state: Ints, action: Ints) -> Memory:
    return (lam * np.minimum(1, rho * memory[0]),)


def _rbis(memory: Memory, rho: Floats, lam: Floats, state: Ints, action: Ints) -> Memory:
    beta, decay = memory
    return np.minimum(decay * lam, rho * beta), decay * lam


_KINDS: dict[str, _Kind] = {  # in all four, a β of 0 stays 0
    "retrace": _Kind(_retrace, (1.0,), lambda memory: memory[0]),
    "truncated-is": _Kind(_truncated, (1.0, 1.0, 1.0), lambda memory: memory[1] * (memory[0] > 0)),
    "recursive-retrace": _Kind(_recursive, (1.0,), lambda memory: np.where(memory[0] > 0, 1.0, 0.0)),
    "rbis": _Kind(_rbis, (1.0, 1.0), lambda memory: memory[1] * (memory[0] > 0)),
}


@dataclass(frozen=True, repr=False)
class TrajectoryOperator(TraceOperator):
    """The operator, and a bound on what the omitted paths contribute to its norm."""

    truncation: float = 0.0


def trajectory_operator(
    view: PolicyView,
    lam: ArrayLike,
    correction: TraceName | Trace = "retrace",
    memory: Sequence[float] = (1.0,),
    tolerance: float = 1e-10,
) -> TrajectoryOperator:
    """The operator with Z and q_π; omitted paths add at most `tolerance` to ‖Z‖∞.

    `correction` is one of the four traces, or a function `correction(memory, rho, lam, state, action)` of arrays that
    returns the memory after a step: a tuple of arrays, β first. `memory` is the initial memory of such a function.
    """
    mdp, pi, b = view.mdp, view.policy, view.behavior
    lams = per_state(lam, mdp.n_states, "lam", 0, 1)
    budget = positive(tolerance, "tolerance")
    kind = _kind(correction, memory)
    n = mdp.n_states * mdp.n_actions
    require_small(n)
    state, action = np.divmod(np.arange(n), mdp.n_actions)
    step = pair_matrix(mdp, b * mdp.discount[:, None])
    target = pair_matrix(mdp, pi * mdp.discount[:, None])
    rho, lasting = ratio_table(pi, b).ravel(), _discounted_steps(mdp, b)
    paths = _Paths(np.arange(n), tuple(np.full(n, x) for x in kind.start), np.eye(n))
    Z, before = np.zeros((n, n)), np.eye(n)
    left_out, first = 0.0, 2 * float((lasting * kind.bound(paths.memory)).max())
    ahead = first  # bound on what all remaining paths can still add to the norm
    while paths.pair.size:
        new = paths.step(step)
        to, given = new.pair, tuple(m[new.origin] for m in paths.memory)
        memory_now = _checked(kind.update(given, rho[to], lams[state[to]], state[to], action[to]), to)
        paths = new.merged(memory_now, paths.weight)
        after = paths.sums(paths.memory[0], n)
        Z += (target.T @ before - after).T
        before, reach, was_ahead = after, 2 * lasting[paths.pair] * kind.bound(paths.memory), ahead
        ahead = float((reach @ paths.weight).max(initial=0.0))
        # At most half of the tolerance is spent on paths omitted along the way, the rest on ending the sum.
        spend = min(budget / 2 * max(0.0, was_ahead - ahead) / first, max(0.0, budget / 2 - left_out))
        paths, lost = paths.without_least(reach, budget - left_out if ahead <= budget - left_out else spend)
        left_out += lost
        if paths.weight.size > _MOST:
            raise ValueError(
                f"tolerance must be larger than {tolerance}: {paths.pair.size} distinct paths are too many to store, "
                f"and they can still add {ahead:.1e} to the norm"
            )
    v = state_values(mdp, pi, "direct", 1.0)
    return TrajectoryOperator(Z, action_values(mdp, v), left_out)


@dataclass(frozen=True)
class _Steps:
    """One step of each path: its origin, probability, discount and new pair."""

    origin: Ints
    pair: Ints
    factor: Floats

    def merged(self, memory: Memory, weight: Floats) -> _Paths:
        """Paths with the same pair and the same memory, up to rounding, as one."""
        keys = np.column_stack((self.pair, *(_rounded(m) for m in memory)))
        _, first, group = np.unique(keys, axis=0, return_index=True, return_inverse=True)
        shape = (first.size, weight.shape[0])
        gather = scipy.sparse.csr_array((self.factor, (group.ravel(), self.origin)), shape=shape)
        return _Paths(self.pair[first], tuple(m[first] for m in memory), gather @ weight)


@dataclass(frozen=True)
class _Paths:
    """Groups of equivalent paths: their last pair, their memory, and Σ Πγ Pr_b for each first pair (a column)."""

    pair: Ints
    memory: Memory
    weight: Floats

    def step(self, transitions: Any) -> _Steps:
        """One more step of each path."""
        rows = transitions[self.pair]
        return _Steps(
            np.repeat(np.arange(self.pair.size), np.diff(rows.indptr)), rows.indices.astype(np.int64), rows.data
        )

    def sums(self, entries: Floats, n: int) -> Floats:
        """Σ entries·weight by last pair, [last pair, first pair]."""
        columns = np.arange(self.pair.size)
        return scipy.sparse.csr_array((entries, (self.pair, columns)), shape=(n, columns.size)) @ self.weight

    def without_least(self, reach: Floats, budget: float) -> tuple[_Paths, float]:
        """The paths without the least important ones, and a bound on what those could have added to the norm."""
        share = reach[:, None] * self.weight
        order = np.argsort(share.max(axis=1))
        total = share[order].cumsum(axis=0).max(axis=1)
        dropped = int(np.searchsorted(total, budget, side="right"))
        keep = np.ones(self.pair.size, dtype=bool)
        keep[order[:dropped]] = False
        rest = _Paths(self.pair[keep], tuple(m[keep] for m in self.memory), self.weight[keep])
        return rest, float(total[dropped - 1]) if dropped else 0.0


def _kind(correction: TraceName | Trace, memory: Sequence[float]) -> _Kind:
    if not callable(correction):
        return _KINDS[choice(correction, "correction", *_KINDS)]
    start = tuple(number(x, "memory") for x in memory)
    if not start or start[0] != 1:
        raise ValueError(f"memory must begin with β = 1; got {start}")
    largest = [1.0]

    def bound(now: Memory) -> Floats:
        largest[0] = max(largest[0], float(np.abs(now[0]).max(initial=0.0)))
        return np.full(now[0].shape, largest[0])

    return _Kind(correction, start, bound)


def _checked(memory: tuple[Any, ...], pair: Ints) -> Memory:
    arrays = tuple(np.broadcast_to(np.asarray(m, dtype=np.float64), pair.shape) for m in memory)
    if not all(np.isfinite(m).all() for m in arrays):
        raise ValueError("correction must return a finite memory")
    return arrays


def _discounted_steps(mdp: FiniteMDP, b: Floats) -> Floats:
    """1 + E[γ' + γ'γ'' + …] under the behaviour policy, for each pair."""
    P = transition_matrix(mdp, b)
    require_proper(mdp, P)
    resolvent = Resolvent(scipy.sparse.csr_array(P.multiply(mdp.discount)))
    resolvent.require_accurate()
    o, after = mdp.outcomes, resolvent.solve(np.ones(mdp.n_states))
    return 1 + o.by_pair(o.probability * mdp.discount[o.next_state] * after[o.next_state]).ravel()


def _rounded(x: Floats) -> Floats:
    """Values rounded to 44 bits, so that products in a different order are equal."""
    mantissa, exponent = np.frexp(x)
    return np.ldexp(np.round(np.ldexp(mantissa, 44)), exponent - 44)

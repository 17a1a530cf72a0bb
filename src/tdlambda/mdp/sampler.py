"""Compiled trajectories of a finite MDP, in chunks: the same seed gives the same trajectory on every machine."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tdlambda.arrays import Bools, Floats, Ints, column, flags, integer, rows
from tdlambda.compiled import compiled
from tdlambda.randomness import pick, running_sums, stream, uniform
from tdlambda.showing import PrintedTable

if TYPE_CHECKING:
    from tdlambda.mdp.finite import FiniteMDP


@dataclass(frozen=True, repr=False)
class Transitions(PrintedTable):
    """Consecutive transitions of one stream, as columns named like the arguments of a learner's `update`.

    `gamma` is γ_{t+1} (0 where `terminated`), `rho` is π(a|s)/b(a|s). After a step that ends an episode, the next
    step's `obs` is a new start. Every column has one row for each step; lists are converted to arrays. `action` may be
    empty, because learners do not use it. `behavior`, b(a|s), may be empty too; some trace corrections need it.

    >>> import tdlambda as td
    >>> steps = td.make("TwoState-v0").sampler(seed=1).take(4)
    >>> steps.obs, steps.gamma
    (array([0, 1, 0, 1]), array([0.9, 0. , 0.9, 0. ]))
    """

    obs: NDArray[np.int64] | Floats
    action: Ints
    reward: Floats
    next_obs: NDArray[np.int64] | Floats
    gamma: Floats
    rho: Floats
    terminated: Bools
    truncated: Bools
    behavior: Floats = field(default_factory=lambda: np.zeros(0))

    def __post_init__(self) -> None:
        """Validate the columns and convert them to arrays that compiled code can read."""
        reward = column(self.reward, "reward")
        n = reward.size
        checked: dict[str, Any] = {"reward": reward}
        for name in ("gamma", "rho"):
            checked[name] = column(getattr(self, name), name, n)
        if np.size(self.behavior):
            checked["behavior"] = column(self.behavior, "behavior", n)
        for name in ("terminated", "truncated"):
            checked[name] = flags(getattr(self, name), name, n)
        for name in ("obs", "next_obs", "action"):
            checked[name] = array = rows(getattr(self, name), name)
            if array.ndim == 0 or (len(array) != n and not (name == "action" and not len(array))):
                raise ValueError(f"{name} must have {n} rows, as many as reward; got shape {array.shape}")
        for name, array in checked.items():
            object.__setattr__(self, name, array)

    def __getitem__(self, some: slice) -> Transitions:
        """A slice of the steps."""
        return Transitions(*(getattr(self, column.name)[some] for column in fields(self)))

    def __len__(self) -> int:
        """Number of steps."""
        return len(self.reward)


_RANGES = (
    ("reward", -np.inf, "finite"), ("gamma", 0.0, "in [0, 1]"), ("rho", 0.0, "finite and not negative"),
)  # fmt: skip


def require_numbers(c: Transitions) -> None:
    """Validate rewards, γ and ρ; the error names the first row with an invalid one."""
    good = {name: np.isfinite(column := getattr(c, name)) & (column >= low) for name, low, _ in _RANGES}
    good["gamma"] &= c.gamma <= 1
    row = int(np.argmin(np.logical_and.reduce([*good.values()]))) if len(c) else 0
    for name, _, allowed in _RANGES:
        if len(c) and not good[name][row]:
            raise ValueError(f"{name} must be {allowed}; got {getattr(c, name)[row]} (row {row})")


class TableSampler:
    """A stream of transitions under a behaviour policy, with importance-sampling ratios towards a target policy.

    Parameters
    ----------
    mdp
        The model.
    target, behavior
        Target and behaviour policy, as tables [state, action].
    seed
        Seed of the random numbers, at least 0.

    Examples
    --------
    >>> import tdlambda as td
    >>> sampler = td.make("RingWorld-v0").sampler(seed=1)
    >>> steps = sampler.take(1000)
    >>> len(steps), int(steps.obs[0])
    (1000, 5)
    """

    def __init__(self, mdp: FiniteMDP, target: Floats, behavior: Floats, seed: int) -> None:
        self.mdp = mdp
        self._outcome_sums = running_sums(mdp.outcomes.indptr, mdp.outcomes.probability)
        self._policy_sums = running_sums(np.arange(mdp.n_states + 1) * mdp.n_actions, behavior.ravel())
        self._start_sums = running_sums(np.array([0, mdp.n_states]), mdp.start)
        self._behavior = behavior
        self._rho: Floats = np.divide(target, behavior, out=np.zeros_like(target), where=behavior > 0)
        self._rng = stream(integer(seed, "seed", 0))
        self._state = np.full(1, -1, dtype=np.int64)

    def __repr__(self) -> str:
        """A one-line summary."""
        return f"<TableSampler: {self.mdp.n_states} states, {self.mdp.n_actions} actions>"

    def take(self, steps: int) -> Transitions:
        """The next `steps` ≥ 0 transitions of the stream."""
        n = integer(steps, "steps", 0)
        state, action, next_state = (np.empty(n, dtype=np.int64) for _ in range(3))
        reward, rho, probability = np.empty(n), np.empty(n), np.empty(n)
        mdp, o = self.mdp, self.mdp.outcomes
        sums = (self._start_sums, self._policy_sums, self._outcome_sums)
        outcomes = (o.indptr, o.next_state, o.reward, mdp.terminal)
        taken = (state, action, next_state, reward, rho, probability)
        _walk(self._rng, self._state, sums, outcomes, self._rho, self._behavior, taken)
        terminated = mdp.terminal[next_state]
        gamma = mdp.discount[next_state]
        return Transitions(
            state, action, reward, next_state, gamma, rho, terminated, np.zeros(n, dtype=bool), probability
        )


@compiled
def _walk(
    rng: NDArray[np.uint64],
    current: Ints,
    sums: tuple[Floats, ...],
    outcomes: tuple[Ints, Ints, Floats, Bools],
    ratios: Floats,
    behavior: Floats,
    taken: tuple[Ints, Ints, Ints, Floats, Floats, Floats],
) -> None:
    start_sums, policy_sums, outcome_sums = sums
    indptr, outcome_next, outcome_reward, terminal = outcomes
    state, action, next_state, reward, rho, probability = taken
    n_actions = ratios.shape[1]
    s = current[0]
    for t in range(state.size):
        if s < 0:
            s = pick(start_sums, 0, start_sums.size, uniform(rng))
        pair = pick(policy_sums, s * n_actions, (s + 1) * n_actions, uniform(rng))
        k = pick(outcome_sums, indptr[pair], indptr[pair + 1], uniform(rng))
        a = pair - s * n_actions
        state[t], action[t], next_state[t] = s, a, outcome_next[k]
        reward[t], rho[t], probability[t] = outcome_reward[k], ratios[s, a], behavior[s, a]
        s = -1 if terminal[outcome_next[k]] else outcome_next[k]
    current[0] = s

"""The learners of several questions as outputs of one network: they share its hidden layers.

With θ the parameters of the hidden layers and (W_q, b_q) those of question q's output, V_q(s) = W_q·h(s; θ) + b_q.
Every question has its own γ, λ, ρ, step sizes, unit of rewards and trace e_q over θ and its output, and learns by its
own algorithm, from the same θ, at the same time. With u_q its change of θ, θ moves by

    θ += c Σ_q u_q,    c = min(1, 2 mean Σ_q |u_q|² / mean |Σ_q u_q|²)

With λ = 0 and intentional steps, u_q = η δ_q ∇V_q/|∇V_q|². For gradients of the same length, the sum of squared
errors then falls at most twice as fast as if every question moved alone, where Σ_q δ_q ∇V_q·u_q = η Σ_q δ_q². With η
at most 1 this is no faster than a stable step may. Changes at right angles do not disturb each other (c = 1); of n
equal ones, two count. One question alone is TD(λ) on a network.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import numpy as np

from tdlambda.arrays import aligned
from tdlambda.core.network_memory import AVERAGE, NetworkMemory
from tdlambda.features import Network
from tdlambda.learners.learner import Array, Learner

SHARED = ("seen", "apart", "joint")
"""Numbers that all learners have alike."""


class Trunk:
    """Learners with networks of the same hidden layers, whose memories become views of arrays for all.

    Parameters
    ----------
    learners
        By question. The hidden layers and the statistics of the inputs are those of the first.
    """

    def __init__(self, learners: Mapping[int, Any]) -> None:
        self.where, self.learners = list(learners), list(learners.values())
        memories = [self._memory(one) for one in self.learners]
        first = memories[0]
        self.states: Array = np.zeros(len(memories), first.record.dtype)
        self.rows: Array = aligned(np.stack([memory.rows for memory in memories]))
        self.net = first.inputs, first.scratch, first.sizes
        size = int(first.sizes[-1])
        self.rows[:, 0, :size] = self.rows[0, 0, :size]
        if all(one.steps == 0 and one.initial.ndim == 0 for one in self.learners):
            own = slice(size, first.layout.size)
            for q, one in enumerate(self.learners[1:], 1):
                for name in {first.layout.rows[0], AVERAGE} & {*first.layout.rows}:
                    self.rows[q, first.layout.rows.index(name), own] = one.features.initial(question=q)[own]
        self.buffers = aligned(np.zeros((2, size), self.rows.dtype))
        for q, (one, memory) in enumerate(zip(self.learners, memories, strict=True)):
            self.states[q] = memory.record[0]
            for name in SHARED:
                self.states[name][q] = first[name]
            memory.record, memory.rows = self.states[q : q + 1], self.rows[q]
            memory.inputs, memory.scratch, memory.sizes = self.net
            one._bind()

    @classmethod
    def of(cls, learners: Mapping[int, Learner]) -> Self | None:
        """The trunk of these learners, without those that have diverged; None if they have no network."""
        some = {q: one for q, one in learners.items() if isinstance(one.features, Network)}
        some = {q: one for q, one in some.items() if getattr(one, "diverged_at", None) is None}
        return cls(some) if some else None

    def _memory(self, one: Any) -> NetworkMemory:
        """The memory of a learner that can share layers; TypeError if it cannot."""
        first = self.learners[0]
        if not isinstance(getattr(one, "memory", None), NetworkMemory) or one.learned_rule is not None:
            raise TypeError(
                "learner: a question on a network needs an algorithm whose λ is not learned, such as "
                f"lambda x: td.TD(x, td.steps.IntentionalRMS(0.3), lam=0.8); got {one!r}"
            )
        if one.model is not first.model or one.features != first.features:
            raise TypeError(
                "learner: questions on one network must have it as features, one algorithm and one kind of step size; "
                f"got {first!r} and {one!r}"
            )
        memory: NetworkMemory = one.memory
        return memory

    def advance(self, X: Array, s: Any, asleep: Array, begin: int) -> tuple[int, list[int]]:
        """Learn from transitions from `begin` on; return how many were learned, and the questions that diverged.

        It stops where a question diverges. `asleep` are the questions that skipped the transition before `begin`.
        """
        first, mine = self.learners[0], self.where
        x, y = X[s.at], X[s.to]
        reward, gamma, rho, awake = (column[:, mine] for column in (s.reward, s.gamma, s.rho, s.awake))
        lam = np.array([[one.fixed_lam for one in self.learners]])
        if any(one.fixed_lam is None for one in self.learners):
            lam = np.stack([one.lambdas(y) for one in self.learners], axis=1)
        numbers: tuple[Any, ...] = (reward, gamma, rho, lam)
        if first.model.corrected:
            behavior = None if s.behavior is None else s.behavior[:, mine]
            ratio, cut = first.correction.factors(rho, behavior)
            numbers = (reward, gamma, ratio, lam, cut)
        done = first.module.learn_together(
            self.states, self.rows, *self.net, *self.buffers, x, y, *numbers, s.terminated, awake, s.cut,
            asleep[mine], begin,
        )  # fmt: skip
        return done, [q for q, one in zip(mine, self.learners, strict=True) if one.diverged_at is not None]

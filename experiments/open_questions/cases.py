"""The tasks of the questions about META: episodic, with exact answers, on- and off-policy, with tables and features."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from coupled import System

import tdlambda as td


@dataclass(frozen=True)
class Case:
    """A task, its value learner, and what λ is a function of."""

    name: str
    id: str
    options: dict[str, Any]
    learner: str = "TrueOnlineTD"
    over_states: bool = False
    largest: float = 1.0
    """Step size α |x|² above which META's auxiliary learners, whose traces have λ = 1, leave all bounds."""

    @cached_property
    def task(self) -> Any:
        """The task."""
        return td.make(self.id, **self.options)

    @cached_property
    def lam_features(self) -> td.Encoder:
        """The features of λ: V's own, or one for each state."""
        return td.features.OneHot(self.task.mdp.n_states) if self.over_states else self.task.features

    @cached_property
    def system(self) -> System:
        """The exact system."""
        states = np.arange(self.task.mdp.n_states)
        return System(self.task, self.task.features.matrix(states), self.lam_features.matrix(states))

    def alpha(self, size: float) -> float:
        """The step size for a given α |x|², with the largest |x|² of any state."""
        X = self.task.features.matrix(np.arange(self.task.mdp.n_states))
        return size / float((X * X).sum(axis=1).max())

    def build(self, size: float, lam: Any) -> Any:
        """A value learner."""
        return getattr(td, self.learner)(self.task.features, self.alpha(size), lam, on_divergence="flag")


def _garnets(seed: int) -> list[Case]:
    """A random episodic MDP in four forms; with features and off-policy, TD may diverge, so GTD learns there."""
    made = []
    for on_policy in (True, False):
        for features in (None, 8):
            options: dict[str, Any] = {
                "preset": "episodic",
                "seed": seed,
                "n": 20,
                "discount": 0.95,
                "on_policy": on_policy,
            }
            what = f"{'table' if features is None else 'features'}, {'on' if on_policy else 'off'}-policy"
            learner = "TrueOnlineTD" if on_policy or features is None else "TrueOnlineGTD"
            largest = 1.0 if on_policy else 0.01 if features is None else 0.0003
            options["features"] = features
            made.append(Case(f"random MDP {seed}, {what}", "Garnet-v0", options, learner, largest=largest))
    return made


CASES = {
    case.name: case
    for case in (
        *(Case(f"RingWorld {p}", "RingWorld-v0", {"preset": p}) for p in ("0.4/0.35", "0.3/0.25", "0.2/0.15")),
        Case("FrozenLake, λ over features", "FrozenLake-v0", {}, "TrueOnlineGTD"),
        Case("FrozenLake, λ over states", "FrozenLake-v0", {}, "TrueOnlineGTD", over_states=True),
        *_garnets(201),
        Case("walk of 19 states", "RandomWalk-v0", {}),
        Case("walk of 5, features, off-policy", "RandomWalk-v0", {"preset": "dependent"}, "TrueOnlineGTD"),
    )
}


def set_lambda(learner: Any, u: Any) -> None:
    """Put the weights of λ(x) = 1 - u·z into a learner with META."""
    learner.memory.row("u")[:] = u


def set_kappa(learner: Any, kappa: float) -> None:
    """Change META's step size on the way."""
    learner.memory["kappa"] = kappa

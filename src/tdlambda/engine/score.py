"""Error measures: a weighted sum of squares that are linear in the weights, or its root.

    "value"     Σ d(s) (V(s) - v(s))², the value error; d as in Zhao (2020) (see `PolicyView.error_weights`)
    "rmsve"     √Σ d(s) (V(s) - v(s))², d(s) the fraction of time that the behaviour policy spends in s, non-terminal
    "rms"       √[1/n Σ (V(s) - v(s))²] over the n non-terminal states, as in Sutton & Barto's figures
    "rmspbe"    √[(b - A w)ᵀ C⁺ (b - A w)], the projected Bellman error at λ = 0 (Sutton & Barto 2018, section 11.7)

All are weighted forms of ‖M w - c‖², so one kernel computes them. For the first three, M has the features of a state in
each row, and c has the true values; for the last, M = C^{-½} A and c = C^{-½} b. All lanes of a block have the same M.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from tdlambda.arrays import Floats, Ints, choice
from tdlambda.engine.trajectory import contiguous
from tdlambda.features import Encoder
from tdlambda.learners.learner import Learner
from tdlambda.runner.policy_task import PolicyTask
from tdlambda.runner.truth import Truth, exact_truth, sampled_truth
from tdlambda.tasks.task import Task

SCORES = {
    "value": "value error",
    "rmsve": "root mean square value error",
    "rms": "RMS error over states",
    "rmspbe": "root mean square projected Bellman error",
}
"""Descriptions of the errors, by the name that `score=` takes."""


@dataclass(frozen=True)
class Score:
    """An error measure on a task, against a truth."""

    name: str
    task: Task[Any]
    truth: Truth

    def rows(self, encoder: Encoder) -> tuple[Ints, Floats, Floats, Floats]:
        """Features (index and value), target and weight of each term of Σ weight (row·w - target)²."""
        if self.name != "rmspbe":
            return *contiguous(encoder, self.truth.observations), self.truth.values, self.truth.weights
        M, c = self._projected(encoder)
        every = np.repeat(np.arange(encoder.size)[None], len(M), axis=0)
        return np.ascontiguousarray(every), np.ascontiguousarray(M), c, np.ones(len(M))

    def reader(self, learner: Learner) -> Callable[[], float]:
        """A function that computes the current error of this learner."""
        if self.name != "rmspbe":
            truth = self.truth
            return lambda: self.of(truth.weights @ (learner.predict_many(truth.observations) - truth.values) ** 2)
        M, c = self._projected(learner.features)
        return lambda: self.of(np.square(M @ learner.weights - c).sum())

    def of(self, square: Any) -> Any:
        """The error from the sum of squares."""
        return square if self.name == "value" else np.sqrt(square)

    def _projected(self, encoder: Encoder) -> tuple[Floats, Floats]:
        X = encoder.matrix(np.arange(self.task.mdp.n_states))
        return self.task.exact.linear_system(X, 0.0).projected()


def score_of(task: Task[Any], score: Any, weights: ArrayLike | None = None, truth: Truth | None = None) -> Score:
    """A score by name; ValueError if the arguments do not fit it or the task."""
    if isinstance(score, Score):
        score = score.name
    choice(score, "score", *SCORES)
    if truth is not None and weights is not None:
        raise ValueError("weights and truth must not both be given, because a truth has its own weights")
    if task.mdp is None and weights is not None:
        raise ValueError(f"weights: {task.id} does not have finitely many states to weight; leave weights out")
    if task.mdp is None and score in ("rms", "rmspbe"):
        raise ValueError(
            f'score "{score}" needs a task with finitely many states; for {task.id}, use "value" or "rmsve"'
        )
    if score in ("rms", "rmspbe") and (weights is not None or truth is not None):
        given = "weights" if truth is None else "truth"
        raise ValueError(f'{given}: score "{score}" has its own weights and truth; leave {given} out, or use "rmsve"')
    if truth is None:
        truth = _truth(task, score, weights)
    return Score(score, task, truth)


def _truth(task: Task[Any], score: str, weights: ArrayLike | None) -> Truth:
    """The true values of a task: exact, by rollouts of an environment, or from a long stream."""
    if task.mdp is not None:
        return exact_truth(task, _weights(task, score, weights))
    return task.truth if isinstance(task, PolicyTask) else sampled_truth(task)


def _weights(task: Task[Any], score: str, weights: ArrayLike | None) -> ArrayLike | None:
    """The weights of the states, if given, or their default."""
    if weights is not None or score == "value":
        return weights
    d = ~task.mdp.terminal if score == "rms" else task.mdp.under(task.behavior).error_weights()
    return np.asarray(d / d.sum(), dtype=np.float64)

"""The validated description of a run of learners."""

from __future__ import annotations

from typing import Any

import numpy as np

from tdlambda.arrays import choice, integer
from tdlambda.engine.episodes import episode_ends
from tdlambda.engine.score import score_of
from tdlambda.engine.trajectory import contiguous
from tdlambda.learners.learner import Learner
from tdlambda.mdp import FiniteMDP
from tdlambda.runner.job import Job, by_name, chosen, points_at, seed_numbers
from tdlambda.tasks import make
from tdlambda.tasks.task import Task

KEEP = ("weights", "lambdas", "estimates", "learners")


def _as_task(given: Any) -> str:
    """How to make a task of an MDP."""
    return "; td.TabularTask(mdp, target, behavior, features) is a task" if isinstance(given, FiniteMDP) else ""


def checked(
    task: Any, learners: Any, seeds: Any, steps: Any, points: Any, weights: Any, truth: Any, keep: Any,
    *, score: Any = "value", average: Any = None, episodes: Any = None, follow: Any = (),
) -> Job:  # fmt: skip
    """Validate the arguments."""
    if isinstance(task, str):
        task = make(task)
    if not isinstance(task, Task):
        raise TypeError(f"task must be a task or the id of one; got {task!r}{_as_task(task)}")
    named = by_name(learners, "learners", Learner, "a learner")
    if (steps is None) == (episodes is None):
        raise TypeError(f"give either steps or episodes; got steps={steps!r} and episodes={episodes!r}")
    unit = "steps" if episodes is None else "episodes"
    length = integer(steps if episodes is None else episodes, unit, 1)
    numbers, at, kept = seed_numbers(seeds), points_at(points, length, unit), chosen(keep, KEEP)
    if average is not None:
        choice(average, "average", "before", "after")
    score = score_of(task, score, weights, truth)
    observations = score.truth.observations if task.mdp is None else np.arange(task.mdp.n_states)
    fitting: set[int] = set()
    for name, learner in named.items():
        try:
            for encoder in (learner.features, getattr(learner, "lam_features", learner.features)):
                if id(encoder) not in fitting:
                    contiguous(encoder, observations)
                    fitting.add(id(encoder))
            if not learner.rule.learns():
                learner.lambdas(observations)
        except (TypeError, ValueError, IndexError) as error:
            raise ValueError(f"learners: {name!r} does not fit the observations of {task!r}: {error}") from error
    fresh = {name: learner.clone() for name, learner in named.items()}
    for learner in fresh.values():
        learner.reset()
    return Job(
        task=task, learners=fresh, seeds=numbers, steps=length, points=at, score=score, keep=kept,
        observations=observations, average=average, follow=tuple(follow),
        ends=None if episodes is None else {number: episode_ends(task, number, length) for number in numbers},
    )  # fmt: skip

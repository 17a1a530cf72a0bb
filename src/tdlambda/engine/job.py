"""A run as it was asked for, checked before any work."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tdlambda.arrays import Ints, integer
from tdlambda.engine.stream import contiguous
from tdlambda.engine.truth import Truth, exact_truth, sampled_truth
from tdlambda.learners.base import Learner
from tdlambda.tasks import make
from tdlambda.tasks.base import Task

KEEP = ("weights", "lambdas", "estimates", "learners")


@dataclass(frozen=True)
class Job:
    """All that workers need and none may change."""

    task: Task[Any]
    names: tuple[str, ...]
    learners: list[Learner]
    seeds: tuple[int, ...]
    steps: int
    points: Ints
    truth: Truth
    keep: tuple[str, ...]
    observations: Any
    width: int
    stop: threading.Event = field(default_factory=threading.Event)


def checked(
    task: Any, learners: Any, seeds: Any, steps: Any, points: Any, seed: Any, weights: Any, truth: Any, keep: Any,
    width: Any,
) -> Job:  # fmt: skip
    """Refuse what cannot be, before any work."""
    if isinstance(task, str):
        task = make(task)
    if not isinstance(task, Task):
        raise TypeError(f"task must be a task or the id of one; got {task!r}")
    named = dict(learners) if isinstance(learners, Mapping) else {str(k): v for k, v in enumerate(learners)}
    if not named:
        raise ValueError("learners: there is none")
    for name, learner in named.items():
        if not isinstance(learner, Learner):
            raise TypeError(f"learners: {name!r} must be a learner; got {learner!r}")
        if getattr(learner, "diverged_at", None) is not None:
            raise ValueError(f"learners: {name!r} has diverged already")
    steps = integer(steps, "steps", 1)
    numbers, at, kept = seed_numbers(seeds, seed), points_at(points, steps), chosen(keep, KEEP)
    if truth is not None and weights is not None:
        raise ValueError("weights: a truth has weights of its own; give one or the other")
    if task.mdp is None and weights is not None:
        raise ValueError(f"weights: {task.id} has no finite states to weigh")
    if truth is None:
        truth = sampled_truth(task) if task.mdp is None else exact_truth(task, weights)
    observations = truth.observations if task.mdp is None else np.arange(task.mdp.n_states)
    fitting: set[int] = set()
    for name, learner in named.items():
        try:
            for encoder in (learner.features, getattr(learner, "_lam_features", learner.features)):
                if id(encoder) not in fitting:
                    contiguous(encoder, observations)
                    fitting.add(id(encoder))
            learner._lam_many(observations, len(observations))
        except (TypeError, ValueError, IndexError) as error:
            raise ValueError(f"learners: {name!r} does not fit the observations of {task!r}: {error}") from error
    fresh = [learner.clone() for learner in named.values()]
    for learner in fresh:
        learner.reset()
    return Job(
        task, tuple(named), fresh, numbers, steps, at, truth, kept, observations,
        integer(width, "width", 1),
    )  # fmt: skip


def seed_numbers(seeds: Any, seed: Any) -> tuple[int, ...]:
    """How many from `seed` on, or which."""
    if np.ndim(seeds) == 0:
        numbers = [integer(seed, "seed", 0) + k for k in range(integer(seeds, "seeds", 1))]
    else:
        numbers = [integer(number, "seeds", 0) for number in seeds]
    if not numbers or len(set(numbers)) < len(numbers):
        raise ValueError(f"seeds must be different numbers, at least one; got {seeds!r}")
    return tuple(numbers)


def chosen(keep: Any, known: tuple[str, ...]) -> tuple[str, ...]:
    """What to keep, of what there is."""
    unknown = set(keep) - set(known)
    if unknown:
        raise ValueError(f"keep: choose from {', '.join(known)}; got {', '.join(map(repr, sorted(unknown)))}")
    return tuple(keep)


def points_at(points: Any, steps: int) -> Ints:
    """The steps after which to read: so many evenly, or these."""
    if points is None:
        points = min(100, steps)
    if np.ndim(points) == 0:
        n = integer(points, "points", 1)
        if n > steps:
            raise ValueError(f"points must be at most steps, {steps}; got {n}")
        return np.unique(np.round(np.linspace(steps / n, steps, n)).astype(np.int64))
    at = np.array([integer(point, "points", 1, steps) for point in points], dtype=np.int64)
    if at.size == 0 or (np.diff(at) <= 0).any():
        raise ValueError(f"points must be increasing steps, at least one; got {points!r}")
    return at

"""The validated description of a run."""

from __future__ import annotations

import threading
from collections.abc import Collection, Mapping, Set
from dataclasses import dataclass, field
from itertools import islice
from reprlib import repr as shortened
from typing import Any

import numpy as np

from tdlambda.arrays import Ints, choice, integer
from tdlambda.engine.episodes import episode_ends
from tdlambda.engine.score import Score, score_of
from tdlambda.engine.stream import contiguous
from tdlambda.learners.base import Learner
from tdlambda.mdp import FiniteMDP
from tdlambda.tasks import make
from tdlambda.tasks.base import Task

KEEP = ("weights", "lambdas", "estimates", "learners")
MOMENTS = 48
"""Largest number of points at which λ is recorded."""
SEED, SEEDS = 2**32 - 1, 10**6
"""Largest seed (sampled truths use larger ones), and largest number of seeds."""


@dataclass(frozen=True)
class Job:
    """A validated run, with everything that workers need; read-only."""

    task: Task[Any]
    names: tuple[str, ...]
    learners: list[Learner]
    seeds: tuple[int, ...]
    steps: int
    points: Ints
    score: Score
    keep: tuple[str, ...]
    observations: Any
    width: int
    average: str | None = None
    """If a point is the mean over the steps since the last point: of the error "before" or "after" each update."""
    ends: dict[int, Ints] | None = None
    """In a run measured in episodes: the steps after which episodes of each seed end; `points` are then episodes."""
    follow: tuple[int, ...] = ()
    """Seeds for which λ is recorded over time."""
    stop: threading.Event = field(default_factory=threading.Event)

    @property
    def moments(self) -> Ints:
        """Indices of the points at which λ is recorded."""
        return moments_of(self.points)

    def points_of(self, seed: int) -> Ints:
        """The steps of one seed after which the error is recorded."""
        return self.points if self.ends is None else self.ends[seed][self.points - 1]

    def steps_of(self, seed: int) -> int:
        """Number of transitions of one seed."""
        return self.steps if self.ends is None else int(self.ends[seed][-1])

    @property
    def total(self) -> int:
        """Number of transitions of all seeds."""
        return sum(self.steps_of(seed) for seed in self.seeds)


def _as_task(given: Any) -> str:
    """How to make a task of an MDP."""
    return "; td.TabularTask(mdp, target, behavior, features) is a task" if isinstance(given, FiniteMDP) else ""


def checked(
    task: Any, learners: Any, seeds: Any, steps: Any, points: Any, weights: Any, truth: Any, keep: Any,
    width: Any, score: Any = "value", average: Any = None, episodes: Any = None, follow: Any = (),
) -> Job:  # fmt: skip
    """Validate the arguments."""
    if isinstance(task, str):
        task = make(task)
    if not isinstance(task, Task):
        raise TypeError(f"task must be a task or the id of one; got {task!r}{_as_task(task)}")
    if isinstance(learners, Learner):
        raise TypeError(f"learners must be a list of learners, or a dict by name; got {learners!r}")
    named = dict(learners) if isinstance(learners, Mapping) else {str(k): v for k, v in enumerate(learners)}
    if not named:
        raise ValueError("learners must not be empty")
    for name, learner in named.items():
        if not isinstance(learner, Learner):
            raise TypeError(f"learners: {name!r} must be a learner; got {learner!r}")
        if getattr(learner, "diverged_at", None) is not None:
            raise ValueError(f"learners: {name!r} has already diverged; pass a learner that has not")
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
    fresh = [learner.clone() for learner in named.values()]
    for learner in fresh:
        learner.reset()
    ends = None if episodes is None else {number: episode_ends(task, number, length) for number in numbers}
    return Job(
        task, tuple(named), fresh, numbers, length, at, score, kept, observations,
        integer(width, "width", 1), average, ends, tuple(follow),
    )  # fmt: skip


def moments_of(points: Ints) -> Ints:
    """The indices of the points at which λ is recorded: evenly spaced, including the last."""
    n = min(MOMENTS, points.size)
    return np.unique(np.round(np.linspace(points.size / n, points.size, n)).astype(np.int64) - 1)


def seed_numbers(seeds: Any, name: str = "seeds", span: str = "range(100, 130)") -> tuple[int, ...]:
    """The seeds, from their number, counted from 0, or as given; `span` is a range of seeds as the user writes it.

    >>> seed_numbers(3), seed_numbers([5, 3])
    ((0, 1, 2), (5, 3))
    """
    if isinstance(seeds, float) or (hasattr(seeds, "__index__") and not getattr(seeds, "ndim", 0)):
        return tuple(range(integer(seeds, name, 1, SEEDS)))
    if not isinstance(seeds, Collection) or isinstance(seeds, str | bytes | bytearray | Set | Mapping):
        forms = f"a number of seeds, a list of seeds, or a range such as {span}"
        raise TypeError(f"{name} must be {forms}; got {shortened(seeds)}")
    numbers = tuple(integer(seed, name, 0, SEED) for seed in islice(seeds, SEEDS + 1))
    if not 1 <= len(numbers) <= SEEDS:
        raise ValueError(f"{name} must be from 1 to {SEEDS:,} seeds; got {shortened(seeds)}")
    if len(set(numbers)) < len(numbers):
        raise ValueError(f"{name} must be different; got {shortened(seeds)}")
    return numbers


def chosen(keep: Any, known: tuple[str, ...]) -> tuple[str, ...]:
    """Validate the names of what to keep."""
    unknown = set(keep) - set(known)
    if unknown:
        raise ValueError(f"keep: choose from {', '.join(known)}; got {', '.join(map(repr, sorted(unknown)))}")
    return tuple(keep)


def points_at(points: Any, steps: int, unit: str = "steps") -> Ints:
    """The steps (or episodes) after which to record the error: evenly spaced, or as given."""
    if points is None:
        points = min(100, steps)
    if np.ndim(points) == 0:
        n = integer(points, "points", 1)
        if n > steps:
            raise ValueError(f"points must be at most the number of {unit}, {steps}; got {n}")
        return np.unique(np.round(np.linspace(steps / n, steps, n)).astype(np.int64))
    at = np.array([integer(point, "points", 1, steps) for point in points], dtype=np.int64)
    if at.size == 0 or (np.diff(at) <= 0).any():
        raise ValueError(f"points must be a number of points or strictly increasing {unit}; got {points!r}")
    return at

"""The description of a run that engines share: who learns, on which seeds, for how long, what is recorded and kept."""

from __future__ import annotations

import threading
from collections.abc import Collection, Mapping, Set
from dataclasses import dataclass, field
from itertools import islice
from reprlib import repr as shortened
from typing import Any

import numpy as np

from tdlambda.arrays import Ints, integer

MOMENTS = 48
"""Largest number of points at which λ is recorded."""
SEED, SEEDS = 2**32 - 1, 10**6
"""Largest seed (sampled truths use larger ones), and largest number of seeds."""


@dataclass(frozen=True, kw_only=True)
class Job:
    """A validated run, with everything that workers need; read-only."""

    task: Any
    """A task, a compiled world, or an environment that runs in processes."""
    learners: dict[str, Any]
    """Learners or agents by name."""
    seeds: tuple[int, ...]
    steps: int
    points: Ints
    keep: tuple[str, ...]
    observations: Any
    follow: tuple[int, ...] = ()
    """Seeds for which λ is recorded over time."""
    ends: dict[int, Ints] | None = None
    """In a run measured in episodes: the steps after which episodes of each seed end; `points` are then episodes."""
    score: Any = None
    """The error that a point of a curve is (`engine.score.Score`); None if it is a return."""
    average: str | None = None
    """If a point is the mean error over the steps since the last point: "before" or "after" each update."""
    stop: threading.Event = field(default_factory=threading.Event)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the learners."""
        return tuple(self.learners)

    @property
    def unit(self) -> str:
        """The unit of `points`."""
        return "steps" if self.ends is None else "episodes"

    @property
    def moments(self) -> Ints:
        """Indices of the points at which λ is recorded."""
        return moments_of(self.points)

    def points_of(self, seed: int) -> Ints:
        """The steps of one seed at which the curve is recorded."""
        return self.points if self.ends is None else self.ends[seed][self.points - 1]

    def steps_of(self, seed: int) -> int:
        """Number of transitions of one seed."""
        return self.steps if self.ends is None else int(self.ends[seed][-1])

    @property
    def total(self) -> int:
        """Number of transitions of one learner over all seeds."""
        return sum(self.steps_of(seed) for seed in self.seeds)


def by_name(given: Any, what: str, kind: Any, such: str) -> dict[str, Any]:
    """Learners or agents by name, from a mapping or a sequence, if each is of its kind and has not diverged.

    Parameters
    ----------
    given, what
        The argument and its name, in the plural.
    kind, such
        The class or classes that each must be an instance of, and how a message describes them.
    """
    if isinstance(given, kind):
        raise TypeError(f"{what} must be a list of {what}, or a dict by name; got {given!r}")
    named = dict(given) if isinstance(given, Mapping) else {str(k): one for k, one in enumerate(given)}
    if not named:
        raise ValueError(f"{what} must not be empty")
    for name, one in named.items():
        if not isinstance(one, kind):
            raise TypeError(f"{what}: {name!r} must be {such}; got {one!r}")
        if getattr(one, "diverged_at", None) is not None:
            raise ValueError(f"{what}: {name!r} has already diverged; pass one that has not")
    return named


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

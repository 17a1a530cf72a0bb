"""What works on a stream: a block of lanes, or a learner that runs as itself."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from tdlambda.arrays import Floats
from tdlambda.core.runtime import read_errors
from tdlambda.engine.block import Block
from tdlambda.engine.job import Job
from tdlambda.engine.plan import Group
from tdlambda.engine.stream import Chunk, Encoded, contiguous
from tdlambda.learners.base import Diverged


@dataclass
class Lane:
    """What one learner leaves of one seed."""

    error: Floats
    diverged_at: int
    kept: dict[str, Any]


class Worker(Protocol):
    """One or more learners at work on one stream."""

    n: int

    def feed(self, chunk: Chunk) -> int:
        """Learn from a chunk; how many learners diverged in it."""

    def result(self) -> dict[int, Lane]:
        """What each learner leaves, by its place."""


class Lanes:
    """A block at work."""

    def __init__(self, job: Job, group: Group, encoded: Encoded) -> None:
        self.job, self.block, self.encoded = job, Block(group), encoded
        self.n = len(group.learners)
        self.before = self.block.steps
        self.points, self.point = job.points + self.before, 0
        self.errors = np.full((job.points.size, self.block.N.shape[1]), np.inf)
        self.test: Any = (
            *contiguous(group.features, job.truth.observations),
            job.truth.values,
            job.truth.weights,
        )
        self.lam = group.lam_table(job.observations)

    def feed(self, chunk: Chunk) -> int:
        """Learn from a chunk; how many lanes diverged in it."""
        block, c = self.block, chunk.transitions
        group, begin, lost = block.group, 0, 0
        x = self.encoded(group.features, chunk.observations)
        z = x if group.lam_features is group.features else self.encoded(group.lam_features, chunk.observations)
        while begin < len(c):
            due = self.points[self.point] - block.steps if self.point < self.points.size else len(c)
            stop = min(len(c), begin + int(due))
            begin = block.advance(
                *x, *z, self.lam, chunk.at, chunk.next_at,
                c.reward, c.gamma, c.rho, c.terminated, c.truncated, begin, stop,
            )  # fmt: skip
            if self.point < self.points.size and block.steps == self.points[self.point]:
                read_errors(self.errors[self.point], block.F, block.number("largest"), *self.test)
                self.point += 1
            if begin < stop or block.stopped or (begin == len(c) and block.beyond().any()):
                for lane in np.flatnonzero(block.diverged()):
                    block.freeze(int(lane))
                    self.lam[:, lane] = 0.0
                    lost += int(lane < self.n)
        return lost

    def result(self) -> dict[int, Lane]:
        """What each lane leaves."""
        found = {}
        for lane, place in enumerate(self.block.group.where):
            step = self.block.frozen[lane][-1] if lane in self.block.frozen else -1
            at = -1 if step < 0 else step - self.before
            errors = self.errors[:, lane].copy()
            if at >= 0:
                errors[self.job.points >= at] = np.inf
            found[place] = Lane(errors, at, _kept(self.job, self.block.learner(lane)) if self.job.keep else {})
        return found


class Itself:
    """A learner that runs as itself."""

    n = 1

    def __init__(self, job: Job, place: int) -> None:
        self.job, self.place, self.learner = job, place, job.learners[place].clone()
        self.errors = np.full(job.points.size, np.inf)
        self.step, self.diverged_at = 0, -1
        self.before = int(getattr(self.learner, "steps", 0))

    def feed(self, chunk: Chunk) -> int:
        """Learn from a chunk; 1 if it diverged in it."""
        if self.diverged_at >= 0:
            return 0
        begin, c = self.step, chunk.transitions
        due = self.job.points[(self.job.points > begin) & (self.job.points <= begin + len(c))]
        for stop in np.unique(np.append(due, begin + len(c))):
            part = slice(self.step - begin, int(stop) - begin)
            with suppress(Diverged):
                self.learner.update_many(
                    c.obs[part], c.reward[part], c.next_obs[part], c.gamma[part], c.rho[part],
                    c.terminated[part], c.truncated[part],
                )  # fmt: skip
            diverged_at = getattr(self.learner, "diverged_at", None)
            if diverged_at is not None:
                self.diverged_at = diverged_at - self.before
                return 1
            self.step = int(stop)
            if stop in due:
                gap = self.learner.predict_many(self.job.truth.observations) - self.job.truth.values
                self.errors[np.searchsorted(self.job.points, stop)] = self.job.truth.weights @ gap**2
        return 0

    def result(self) -> dict[int, Lane]:
        """What it leaves."""
        return {self.place: Lane(self.errors, self.diverged_at, _kept(self.job, self.learner))}


def _kept(job: Job, learner: Any) -> dict[str, Any]:
    """What was asked for of a learner's final state."""
    what: dict[str, Any] = {}
    if "weights" in job.keep:
        what["weights"] = np.array(learner._coefficients)
    if "lambdas" in job.keep:
        lambdas = getattr(learner, "lambdas", None)
        n = len(job.observations)
        what["lambdas"] = lambdas(job.observations) if lambdas else learner._lam_many(job.observations, n)
    if "estimates" in job.keep:
        estimates = getattr(learner, "estimates", lambda at: learner.predict_many(at)[None])
        what["estimates"] = estimates(job.observations)
    if "learners" in job.keep:
        what["learners"] = learner
    return what

"""Workers on a stream: a block of lanes, or a learner that runs individually."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any, Protocol

import numpy as np

from tdlambda.arrays import Floats, Ints
from tdlambda.core.runtime import read_errors
from tdlambda.engine.block import Block
from tdlambda.engine.plan import Group
from tdlambda.engine.trajectory import EncodedChunks, TrajectoryChunk
from tdlambda.learners.learner import Diverged
from tdlambda.runner.job import Job
from tdlambda.runner.result import RunRecord


class Worker(Protocol):
    """One or more learners on one stream."""

    n: int

    def feed(self, chunk: TrajectoryChunk) -> int:
        """Learn from a chunk; return the number of learners that diverged in it."""

    def result(self) -> dict[int, RunRecord]:
        """The result of each learner, by its index."""


class RunningMean:
    """The mean of an error over all steps since the last `take`, computed before or after each update."""

    def __init__(self, before: bool, lanes: int, read: Callable[[], Any]) -> None:
        self.before, self.read = before, read
        self.sum, self.count = np.zeros(lanes), 0
        self.last = read() if before else 0.0

    def step(self) -> None:
        """Count an update."""
        now = self.read()
        with np.errstate(over="ignore"):  # a lane about to diverge
            self.sum += self.last if self.before else now
        self.last, self.count = now, self.count + 1

    def take(self) -> Floats:
        """Start a new mean; return the last one."""
        mean, self.sum, self.count = self.sum / self.count, np.zeros_like(self.sum), 0
        return mean


class LaneWorker:
    """A block of lanes that learns from the stream."""

    def __init__(self, job: Job, group: Group, encoded: EncodedChunks, points: Ints, followed: bool = False) -> None:
        self.job, self.block, self.encoded = job, Block(group), encoded
        self.moments, self.motion = job.moments.tolist() if followed else [], list[list[Floats]]()
        self.n = len(group.learners)
        self.before = self.block.steps
        self.points, self.point = points + self.before, 0
        lanes = self.block.lanes
        self.errors = np.full((points.size, lanes), np.inf)
        self.rows = job.score.rows(group.features)
        self.mean = None if job.average is None else RunningMean(job.average == "before", lanes, self.read)
        self.lam = group.lam_table(job.observations)

    def feed(self, chunk: TrajectoryChunk) -> int:
        """Learn from a chunk; return the number of lanes that diverged in it."""
        block, c = self.block, chunk.transitions
        group, begin, lost = block.group, 0, 0
        if not block.learning:
            return 0
        x = self.encoded(group.features, chunk.observations)
        z = x if group.lam_features is group.features else self.encoded(group.lam_features, chunk.observations)
        columns = group.columns(c)
        while begin < len(c) and block.learning:
            due = self.points[self.point] - block.steps if self.point < self.points.size else len(c)
            due = due if self.mean is None else 1
            stop = min(len(c), begin + int(due))
            begin = block.advance(*x, *z, self.lam, chunk.at, chunk.next_at, *columns, begin, stop)
            if self.mean is not None:
                self.mean.step()
            if self.point < self.points.size and block.steps == self.points[self.point]:
                self.errors[self.point] = self.read() if self.mean is None else self.mean.take()
                if self.point in self.moments:
                    self.motion.append([_lambdas(self.job, block.learner(lane)) for lane in range(self.n)])
                self.point += 1
            if begin < stop or block.stopped or (begin == len(c) and block.beyond().any()):
                for lane in np.flatnonzero(block.diverged()):
                    block.freeze(int(lane))
                    lost += 1
                self.lam[:] = self.lam[:, block.source]
        return lost

    def read(self) -> Floats:
        """The current error of each lane."""
        square = np.empty(self.errors.shape[1])
        read_errors(square, self.block.memory.F, self.block.number("largest"), *self.rows)
        error: Floats = self.job.score.of(square)
        return error

    def result(self) -> dict[int, RunRecord]:
        """The result of each lane, by the index of its learner."""
        found = {}
        while len(self.motion) < len(self.moments):  # all learners have diverged: λ is that at divergence
            self.motion.append([_lambdas(self.job, self.block.learner(lane)) for lane in range(self.n)])
        for lane, place in enumerate(self.block.group.where):
            step = self.block.frozen[lane].step if lane in self.block.frozen else -1
            at = -1 if step < 0 else step - self.before
            errors = self.errors[:, lane].copy()
            if at >= 0:
                errors[self.points >= at + self.before] = np.inf
            parts = _parts_of(self.job, self.block.learner(lane)) if self.job.keep else {}
            motion = np.array([moment[lane] for moment in self.motion]) if self.moments else None
            found[place] = RunRecord(errors, at, parts, motion)
        return found


class LearnerWorker:
    """A learner that runs individually."""

    n = 1

    def __init__(self, job: Job, place: int, points: Ints, followed: bool = False) -> None:
        self.job, self.place, self.points = job, place, points
        self.moments, self.motion = points[job.moments].tolist() if followed else [], list[Floats]()
        self.learner = list(job.learners.values())[place].clone()
        self.errors = np.full(points.size, np.inf)
        self.read = job.score.reader(self.learner)
        self.mean = None if job.average is None else RunningMean(job.average == "before", 1, self.read)
        self.step, self.diverged_at = 0, -1
        self.before = int(getattr(self.learner, "steps", 0))

    def feed(self, chunk: TrajectoryChunk) -> int:
        """Learn from a chunk; return 1 if the learner diverged in it."""
        if self.diverged_at >= 0:
            return 0
        begin, c = self.step, chunk.transitions
        due = self.points[(self.points > begin) & (self.points <= begin + len(c))]
        stops = np.unique(np.append(due, begin + len(c)))
        for stop in stops if self.mean is None else range(begin + 1, begin + len(c) + 1):
            part = slice(self.step - begin, int(stop) - begin)
            with suppress(Diverged):
                self.learner.update_many(c[part])
            diverged_at = getattr(self.learner, "diverged_at", None)
            if diverged_at is not None:
                self.diverged_at = diverged_at - self.before
                return 1
            self.step = int(stop)
            if self.mean is not None:
                self.mean.step()
            if stop in due:
                read = self.read() if self.mean is None else float(self.mean.take()[0])
                self.errors[np.searchsorted(self.points, stop)] = read
                if stop in self.moments:
                    self.motion.append(_lambdas(self.job, self.learner))
        return 0

    def result(self) -> dict[int, RunRecord]:
        """The result of the learner, by its index."""
        while len(self.motion) < len(self.moments):  # after divergence, λ is that at divergence
            self.motion.append(_lambdas(self.job, self.learner))
        motion = np.array(self.motion) if self.moments else None
        return {self.place: RunRecord(self.errors, self.diverged_at, _parts_of(self.job, self.learner), motion)}


def _parts_of(job: Job, learner: Any) -> dict[str, Any]:
    """The requested parts of a learner's final state."""
    estimates = getattr(learner, "estimates", lambda at: learner.predict_many(at)[None])
    makers: dict[str, Callable[[], Any]] = {
        "weights": lambda: np.array(learner.weights),
        "lambdas": lambda: _lambdas(job, learner),
        "estimates": lambda: estimates(job.observations),
        "learners": lambda: learner,
    }
    return {name: makers[name]() for name in job.keep}


def _lambdas(job: Job, learner: Any) -> Floats:
    """The λ of a learner at the observations."""
    return np.array(learner.lambdas(job.observations), dtype=np.float64)

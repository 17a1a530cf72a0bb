"""The learners of many questions on one stream, as lanes of compiled blocks where possible."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from tdlambda.arrays import Bools, Floats, Ints
from tdlambda.engine.block import Block
from tdlambda.engine.plan import Group, plan
from tdlambda.engine.trajectory import contiguous
from tdlambda.features import Encoder
from tdlambda.learners.learner import Array, Diverged, Learner
from tdlambda.streams.trunk import Trunk

OWN = ("reward", "gamma_next", "rho")


@dataclass
class Steps:
    """Transitions between rows of X, with the inputs of each question [transition, question]."""

    at: Ints
    to: Ints
    """Rows before and after each transition."""
    reward: Floats
    gamma: Floats
    rho: Floats
    behavior: Floats | None
    terminated: Bools
    cut: Bools
    """Whether a transition does not follow the previous one, so that traces are reset."""
    awake: Bools

    def __len__(self) -> int:
        """The number of transitions."""
        return self.at.size

    def part(self, some: Ints) -> Steps:
        """Some of the transitions, by ascending indices."""
        if some.size == self.at.size:
            return self
        behavior = None if self.behavior is None else self.behavior[some]
        return Steps(
            self.at[some], self.to[some], self.reward[some], self.gamma[some], self.rho[some], behavior,
            self.terminated[some], self.cut[some], self.awake[some],
        )  # fmt: skip

    def copied(self) -> Steps:
        """A copy that stays valid when the next questions are asked."""
        own = self.reward.copy(), self.gamma.copy(), self.rho.copy()
        return Steps(self.at, self.to, *own, self.behavior, self.terminated, self.cut, self.awake)


class Team:
    """Lanes of one block: the questions `where`, which have skipped the same steps."""

    def __init__(self, learners: list[Any], where: list[int], order: Ints | None = None) -> None:
        self.where, self.index = where, np.array(where)
        self.block = Block(Group(tuple(learners), tuple(where)), share=False, per_lane=OWN)
        block, first = self.block, next((one for one in learners if one.diverged_at is None), learners[0])
        block.memory.state["steps"] = first.memory["steps"]  # a learner that diverged has stopped counting
        if first.memory["under_way"]:  # in the middle of an episode
            block.memory.resume(np.arange(first.features.size) if order is None else order)
        for lane, one in enumerate(learners):
            if one.diverged_at is not None:
                block.freeze(lane)
                block.frozen[lane] = block.frozen[lane]._replace(step=one.diverged_at)

    @property
    def order(self) -> Ints:
        """Indices of the live features."""
        return self.block.memory.live.copy()

    def reset(self) -> None:
        """Reset the traces."""
        self.block.reset()

    def checkpoint(self) -> Callable[[], None]:
        """A function that restores the present state, as often as it is called."""
        return self.block.checkpoint()

    def advance(self, x: tuple[Ints, Floats], X: Array, s: Steps, rows: Ints, cut: Bools) -> list[int]:
        """Learn from these transitions; return the questions that diverged."""
        block, group = self.block, self.block.group
        if not block.learning:
            return []
        take = lambda column: self._take(column, rows)  # noqa: E731
        rho, first = take(s.rho), group.learners[0]
        corrected: tuple[Any, ...] = (rho,)
        if first.model.corrected:
            corrected = first.correction.factors(rho, None if s.behavior is None else take(s.behavior))
        z = x if group.lam_features is group.features else contiguous(group.lam_features, X)
        lam, lost, begin = np.take(group.lam_table(X), block.source, axis=1), [], 0
        if cut[0]:
            self.reset()
        at, to, truncated = s.at[rows], s.to[rows], np.append(cut[1:], False)
        numbers = (take(s.reward), take(s.gamma), *corrected, s.terminated[rows], truncated)
        while begin < rows.size and block.learning:
            begin = block.advance(*x, *z, lam, at, to, *numbers, begin, rows.size)
            if begin < rows.size or block.stopped or block.beyond().any():
                for lane in np.flatnonzero(block.diverged()):
                    block.freeze(int(lane))
                    lost.append(self.where[lane])
                for column in (lam, *numbers[:-2]):
                    column[:] = np.take(column, block.source, axis=1)
        return lost

    def _take(self, column: Floats, rows: Ints) -> Floats:
        """The columns of this team's lanes from [transition, question]."""
        mine = self.index[self.block.source]
        return np.take(column if rows.size == len(column) else column[rows], mine, axis=1)

    def weights(self) -> Floats:
        """The weights [feature, question]."""
        found = self.block.memory.F[:, 0, : len(self.where)]
        if self.block.frozen:
            found = found.copy()
            for lane, frozen in self.block.frozen.items():
                found[:, lane] = frozen.state.F[:, 0]
        return found

    def learner(self, q: int) -> Any:
        """A copy of one question's learner."""
        return self.block.learner(self.where.index(q))

    def split(self, kinds: list[list[int]]) -> list[Team]:
        """Split into teams of these questions, each in the state of this team."""
        return [Team([self.learner(q) for q in some], some, self.order) for some in kinds]


class Crew:
    """The learners of all questions.

    Questions in `alone` do not run as lanes: those of windows, which learn at other times, and all questions if several
    streams share the learners, because a learner's traces are exchanged whenever the stream changes. On a network, all
    questions have a learner there and learn together, by `trunk`.
    """

    def __init__(
        self, encoder: Encoder, learners: list[Learner], teams: list[tuple[list[int], Ints]] | None = None,
        alone: Collection[int] = (),
    ) -> None:  # fmt: skip
        self.encoder, self.n = encoder, len(learners)
        if teams is None:
            some = [q for q in range(self.n) if q not in alone]
            groups, _ = plan([learners[q] for q in some])
            teams = [([some[k] for k in g.where], np.zeros(0, dtype=np.int64)) for g in groups if len(g.where) > 1]
        self.teams = [Team([learners[q] for q in where], where, order) for where, order in teams]
        together = {q for team in self.teams for q in team.where}
        self.alone: dict[int, Learner] = {q: one for q, one in enumerate(learners) if q not in together}
        self.trunk = Trunk.of(self.alone)
        self.asleep = np.zeros(self.n, dtype=bool)

    def __reduce__(self) -> tuple[Any, ...]:
        """Support pickle and copy: learners and teams, without machine code."""
        learners = [self.learner(q) if q not in self.alone else self.alone[q].clone() for q in range(self.n)]
        teams = [(team.where, team.order) for team in self.teams]
        return _again, (self.encoder, learners, teams, self.asleep.copy())

    def checkpoint(self) -> Callable[[], None]:
        """A function that restores the present state, as often as it is called.

        Learners that run alone are built anew, because an interrupted one may still hold its lock.
        """
        teams, asleep = self.teams, self.asleep
        restores = [team.checkpoint() for team in teams]
        alone = {q: one.__reduce__() for q, one in self.alone.items()}

        def restore() -> None:
            for restored in restores:
                restored()
            self.alone = {q: make(*arguments) for q, (make, arguments, *_) in alone.items()}
            self.trunk = Trunk.of(self.alone)
            self.teams, self.asleep = teams, asleep

        return restore

    def diverged(self) -> Bools:
        """Whether each question's learner has diverged, and so has stopped learning."""
        found = np.zeros(self.n, dtype=bool)
        for team in self.teams:
            found[[team.where[lane] for lane in team.block.frozen if lane < len(team.where)]] = True
        for q, one in self.alone.items():
            found[q] = getattr(one, "diverged_at", None) is not None
        return found

    def learner(self, q: int) -> Learner:
        """One question's learner: itself, or a copy of its lane."""
        for team in self.teams:
            if q in team.where:
                found: Learner = team.learner(q)
                return found
        return self.alone[q]

    def predict_elsewhere(self, X: Array, episodes: dict[int, Any]) -> Floats:
        """`predict_many` for another stream than the one whose traces are in the shared learners."""
        found = self.predict_many(X)
        for q, one in self.alone.items():
            if hasattr(one, "predict_elsewhere"):
                found[:, q] = one.predict_elsewhere(X, episodes.get(q))
        return found

    def predict(self, obs: Any) -> Floats:
        """Every question's prediction at one observation."""
        found = np.empty(self.n)
        if self.teams:
            index, value = self.encoder.encode(obs)
            for team in self.teams:
                found[team.where] = value @ team.weights()[index]
        for q, one in self.alone.items():
            found[q] = one.predict(obs)
        return found

    def predict_many(self, X: Array) -> Floats:
        """Every question's predictions [observation, question]."""
        found = np.empty((len(X), self.n))
        if self.teams:
            index, value = self.encoder.encode_batch(X)
            for team in self.teams:
                found[:, team.where] = np.einsum("nj,njq->nq", value, team.weights()[index])
        for q, one in self.alone.items():
            found[:, q] = one.predict_many(X)
        return found

    def advance(self, X: Array, s: Steps) -> list[int]:
        """Learn from transitions between rows of X; return the questions that diverged."""
        if not len(s):
            return []
        if self.trunk is not None:
            lost = self._together(X, s)
            self.asleep = ~s.awake[-1]
            return lost
        if not self.teams and len(s) == 1:
            lost = self._one(X, s)
            self.asleep = ~s.awake[0]
            return lost
        lost = []
        awake = bool(s.awake.all()) and not self.asleep.any()
        everything = (np.arange(len(s)), s.cut)
        if self.teams:
            x = contiguous(self.encoder, X)
            if not awake:
                self._part(s)
            for team in self.teams:
                rows, cut = everything if awake else self._mine(s, team.where[0])
                if rows.size:
                    lost += team.advance(x, X, s, rows, cut)
        if self.alone and len(s) == 1:
            lost += self._one(X, s)
        elif self.alone:
            for q, one in self.alone.items():
                rows, cut = everything if awake else self._mine(s, q)
                if rows.size and not _learn(one, X, s, q, rows, cut):
                    lost.append(q)
        self.asleep = ~s.awake[-1]
        return lost

    def _together(self, X: Array, s: Steps) -> list[int]:
        """Learn on one network; a learner that diverges leaves it. Return the questions that diverged."""
        begin, lost = 0, list[int]()
        while begin < len(s) and self.trunk is not None:
            begin, gone = self.trunk.advance(X, s, self.asleep if begin == 0 else ~s.awake[begin - 1], begin)
            for q in gone:
                self.alone[q].memory.clip()  # type: ignore[attr-defined]
                self.alone[q] = self.alone[q].clone()
            if gone:
                self.trunk = Trunk.of(self.alone)
            lost += gone
        return lost

    def foresees(self, s: Steps) -> bool:
        """Whether `prequential` can learn these transitions."""
        able = not self.teams and all(hasattr(one, "prequential") for one in self.alone.values())
        return able and bool(s.awake.all()) and not self.asleep.any()

    def prequential(self, X: Array, s: Steps) -> Floats:
        """Learn; return the predictions before each update [transition, (before, after), question]."""
        found = np.empty((len(s), 2, self.n))
        starts = (np.flatnonzero(s.cut[1:]) + 1).tolist() if len(s) > 1 else []
        for begin, end in pairwise([0, *starts, len(s)]):
            x, y = _between(X, s.at[begin:end], s.to[begin:end])
            reward, gamma, rho, ended = (c[begin:end] for c in (s.reward, s.gamma, s.rho, s.terminated))
            never = np.zeros(end - begin, dtype=bool)
            for q, one in self.alone.items():
                able: Any = one
                if s.cut[begin]:
                    able.reset()
                found[begin:end, :, q] = able.prequential(x, reward[:, q], y, gamma[:, q], rho[:, q], ended, never)
        return found

    def _one(self, X: Array, s: Steps) -> list[int]:
        """Learn from one transition with the learners that run alone; return the questions that diverged."""
        t, y_at, lost = s.at.item(), s.to.item(), list[int]()
        x, y = (X[t], X[y_at]) if X.ndim > 1 else (int(X[t]), int(X[y_at]))
        reward, gamma, rho, awake = s.reward[0].tolist(), s.gamma[0].tolist(), s.rho[0].tolist(), s.awake[0].tolist()
        ended, cut, asleep = s.terminated.item(), s.cut.item(), self.asleep.tolist()
        for q, one in self.alone.items():
            if not awake[q] or getattr(one, "diverged_at", None) is not None:
                continue
            if cut or asleep[q]:
                one.reset()
            more: dict[str, Any] = {}
            if s.behavior is not None and hasattr(one, "correction"):
                more["behavior"] = float(s.behavior[0, q])
            try:
                one.update(x, reward[q], y, gamma[q], rho[q], ended, **more)
            except Diverged:
                lost.append(q)
                continue
            if getattr(one, "diverged_at", None) is not None:
                lost.append(q)
        return lost

    def taught(self, windows: list[int]) -> list[int]:
        """The questions about windows whose learners are taught the answers, and do not learn from steps."""
        return [q for q in windows if not hasattr(self.alone.get(q), "readings")]

    def teach(self, q: int, X: Array, answer: Floats) -> bool:
        """Learn answers of a window, each as an episode of one step; return whether the learner has not diverged."""
        one: Any = self.alone[q]
        if not answer.size or not self.taught([q]) or getattr(one, "diverged_at", None) is not None:
            return True
        if self.trunk is not None:
            one_hot, steps = np.arange(self.n) == q, np.arange(answer.size)
            columns = np.where(one_hot, answer[:, None], 0.0), np.zeros((answer.size, self.n))
            never, ends = np.zeros(answer.size, dtype=bool), np.ones(answer.size, dtype=bool)
            awake = np.tile(one_hot, (answer.size, 1))
            return not self._together(
                X, Steps(steps, steps, *columns, np.ones_like(columns[1]), None, ends, never, awake)
            )
        try:
            if answer.size == 1:
                x = X[0] if X.ndim > 1 else int(X[0])
                one.update(x, float(answer[0]), x, 0.0, 1.0, True)
            else:
                zeros, ones = np.zeros(answer.size), np.ones(answer.size)
                one.update_many(X, answer, X, zeros, ones, np.ones(answer.size, dtype=bool))
        except Diverged:
            return False
        return getattr(one, "diverged_at", None) is None

    def episodes(self) -> dict[int, Any]:
        """A copy of what belongs to the current stream: the traces of every learner that can hand them out."""
        for q in np.flatnonzero(self.asleep).tolist():  # it has skipped the last step of this stream, not of the next
            self.alone[q].reset()
        self.asleep = np.zeros(self.n, dtype=bool)
        found = {q: _traces(one) for q, one in self.alone.items()}
        return {q: holder.episode() for q, holder in found.items() if holder is not None}

    def resume(self, episodes: dict[int, Any]) -> None:
        """Continue with another stream, where it was left; learners that cannot hand out their traces reset them."""
        for q, one in self.alone.items():
            holder = _traces(one)
            if q in episodes and holder is not None:
                holder.resume(episodes[q])
            else:
                getattr(one, "begin", one.reset)()

    def _mine(self, s: Steps, q: int) -> tuple[Ints, Bools]:
        """The transitions of one question, and before which of them its traces are reset."""
        awake = s.awake[:, q]
        rows = np.flatnonzero(awake)
        slept = np.append(self.asleep[q], ~awake)[:-1]
        if rows.size == len(s):
            return rows, s.cut | slept
        # whether any step since its last transition was cut or skipped
        since = np.concatenate([[0], np.cumsum(s.cut | slept)])
        before = np.concatenate([[0], rows[:-1] + 1]) if rows.size else rows
        return rows, since[rows + 1] > since[before]

    def _part(self, s: Steps) -> None:
        """Split teams whose questions do not skip the same steps."""
        found: list[Team] = []
        for team in self.teams:
            kinds: dict[bytes, list[int]] = {}
            for q in team.where:
                kinds.setdefault(s.awake[:, q].tobytes() + self.asleep[q : q + 1].tobytes(), []).append(q)
            found += [team] if len(kinds) == 1 else team.split(list(kinds.values()))
        self.teams = found


def _learn(one: Any, X: Array, s: Steps, q: int, rows: Ints, cut: Bools) -> bool:
    """Learn with a learner that runs alone; return whether it has not diverged."""
    if getattr(one, "diverged_at", None) is not None:
        return True  # reported before
    try:
        behavior = s.behavior is not None and getattr(one, "correction", None) is not None
        starts = np.flatnonzero(cut)
        for begin, end in zip([0, *starts[starts > 0]], [*starts[starts > 0], rows.size], strict=True):
            some = rows[begin:end]
            if cut[begin]:
                one.reset()
            more: dict[str, Any] = {"behavior": s.behavior[some, q]} if behavior else {}  # type: ignore[index]
            x, y = _between(X, s.at[some], s.to[some])
            one.update_many(
                x, s.reward[some, q], y, s.gamma[some, q], s.rho[some, q], s.terminated[some], **more
            )  # fmt: skip
    except Diverged:
        return False
    return getattr(one, "diverged_at", None) is None


def _traces(one: Any) -> Any:
    """The object that hands out a learner's traces; None if there is none."""
    return next((some for some in (one, getattr(one, "memory", None)) if hasattr(some, "episode")), None)


def _again(encoder: Encoder, learners: list[Learner], teams: list[tuple[list[int], Ints]], asleep: Bools) -> Crew:
    crew = Crew(encoder, learners, teams)
    crew.asleep = asleep
    return crew


def _between(X: Array, at: Ints, to: Ints) -> tuple[Array, Array]:
    """The rows `at` and the rows `to`; without a copy if both are contiguous."""
    n = at.size - 1
    if (
        at[-1] - at[0] == n
        and to[-1] - to[0] == n
        and (n == 0 or ((np.diff(at) == 1).all() and (np.diff(to) == 1).all()))
    ):
        return X[at[0] : at[-1] + 1], X[to[0] : to[-1] + 1]
    return X[at], X[to]

"""check_learner passes what keeps the contract and catches what breaks it."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, Self

import numpy as np
import pytest
from pairing import COSTLY, SLOW, cases

import tdlambda as td
from tdlambda.learners.checks import check_learner
from tdlambda.learners.storage import save

TABLE = td.features.Table(np.random.default_rng(1).normal(size=(6, 3)) / 2)
FEATURES: dict[str, td.Encoder] = {
    "OneHot": td.features.OneHot(6),
    "OneHot, sparse": td.features.OneHot(300),
    "TileCoder, sparse": td.features.TileCoder([0, -1], [1, 1], tilings=4, tiles=6, outside="raise"),
    "TileCoder, hashed": td.features.TileCoder([0], [1], tilings=4, tiles=20, hash_size=16, bias=True),
    "Table": TABLE,
    "Dense": td.features.Dense(4),
}
LEARN: dict[str, Callable[[td.Encoder], Any]] = {
    "TD accumulating": lambda x: td.TD(x, 0.05, traces="accumulating"),
    "TD replacing": lambda x: td.TD(x, 0.05, traces="replacing"),
    "TD dutch": lambda x: td.TD(x, 0.05, traces="dutch"),
    "TrueOnlineTD": lambda x: td.TrueOnlineTD(x, 0.05),
    "GTD": lambda x: td.GTD(x, 0.05, beta=0.01),
    "TrueOnlineGTD": lambda x: td.TrueOnlineGTD(x, 0.05, beta=0.01),
    "VTD": lambda x: td.VTD(x, 0.02, of="corrected"),
    "DirectVTD": lambda x: td.DirectVTD(x, 0.02),
    "MonteCarlo": lambda x: td.MonteCarlo(x, 0.05),
    "NStepTD": lambda x: td.NStepTD(x, 0.05, 3),
    "LambdaReturn": lambda x: td.LambdaReturn(x, 0.05, 0.9),
    "LSTD": lambda x: td.LSTD(x, 0.9),
    "RecursiveLSTD": lambda x: td.RecursiveLSTD(x, 0.9),
    "RecursiveLSTD, forgetting": lambda x: td.RecursiveLSTD(x, 0.9, 0.1, forgetting=0.95, emphatic=True),
    "LSTD, forgetting": lambda x: td.LSTD(x, 0.9, 0.1, forgetting=0.95, emphatic=True),
    "LSPE": lambda x: td.LSPE(x, 0.9, 0.5, 1.0),
    "ExpectedTrace": lambda x: td.ExpectedTrace(x, 0.05, 0.9, eta=0.5),
    "counting": lambda x: td.TrueOnlineTD(x, 0.05, td.rules.Counting(3.0)),
    "greedy": lambda x: td.TrueOnlineGTD(x, 0.02, td.rules.Greedy()),
    "META": lambda x: td.TrueOnlineTD(x, 0.02, td.rules.Meta(0.1, of="corrected")),
    "value error": lambda x: td.TrueOnlineTD(x, 0.02, td.rules.ValueErrorGreedy(stretch=50)),
    "META, horizon": lambda x: td.GTD(x, 0.02, td.rules.Meta(0.1, horizon=3)),
    "META, another encoder": lambda x: td.TrueOnlineTD(x, 0.02, td.rules.Meta(0.1, features=x)),
}


SQUARES = ("RecursiveLSTD", "RecursiveLSTD, forgetting", "LSTD, forgetting", "LSPE", "ExpectedTrace")
QUICK = ("TrueOnlineTD", "MonteCarlo", "NStepTD", "LambdaReturn", "LSTD", *SQUARES)
"""Learners that are compiled with every kind of features; most are not generated."""


def mark(learner: str, features: str) -> list[pytest.MarkDecorator]:
    """Each other learner runs interpreted with two of six kinds of features; another kind is another module."""
    if learner in QUICK:
        return []
    return [COSTLY if (list(LEARN).index(learner) + list(FEATURES).index(features)) % 3 == 0 else SLOW]


@pytest.mark.parametrize(
    ("learner", "features"), [pytest.param(a, x, marks=mark(a, x)) for a in LEARN for x in FEATURES]
)
def test_our_own_learners(learner: str, features: str) -> None:
    if "LSTD" in learner and FEATURES[features].size > 128:
        pytest.skip("a matrix is dense, and solving it at each prediction is slow")
    check_learner(lambda: LEARN[learner](FEATURES[features]))


@pytest.mark.costly
@pytest.mark.parametrize(
    "options",
    [
        {"dtype": "float32"},
        {"alpha": td.steps.OneOver("visits", power=0.8)},
        {"alpha": td.steps.OneOver("steps"), "lam": np.linspace(0, 1, 6)},
        {"lam": 0.0, "initial": 0.5, "trace_tolerance": 0.0},
    ],
    ids=str,
)
def test_options(options: dict[str, Any]) -> None:
    check_learner(lambda: td.TrueOnlineTD(td.features.OneHot(6), **{"alpha": 0.1, **options}), seed=3)


@pytest.mark.parametrize("seed", range(8))
def test_any_seed_will_do(seed: int) -> None:
    check_learner(lambda: td.TD(td.features.OneHot(4), 0.1), seed=seed)


@pytest.mark.parametrize(
    "features", cases([td.features.Fourier([0], [2], order=3), td.features.GridTilings.frozen_lake()], []), ids=repr
)
def test_more_features(features: td.Encoder) -> None:
    check_learner(lambda: td.TD(features, 0.05))


def words(word: str) -> list[float]:
    return [len(word) / 10, float("a" in word)]


def test_observations_of_the_users() -> None:
    features = td.features.Custom(words, size=2)
    check_learner(lambda: td.TD(features, 0.1), observations=["ant", "bee", "grasshopper"])
    with pytest.raises(TypeError, match="observations: pass a list"):
        check_learner(lambda: td.TD(features, 0.1))


class Duck:
    """TD(0) over five states, no `Learner`."""

    def __init__(self, alpha: float = 0.1) -> None:
        self.alpha = alpha
        self.w = [0.0] * 5

    def predict(self, obs: int) -> float:
        return self.w[obs]

    def update(
        self, obs: int, reward: float, next_obs: int, gamma: float = 1.0, rho: float = 1.0,
        terminated: bool = False, truncated: bool = False,  # noqa: ARG002
    ) -> None:  # fmt: skip
        if not (np.isfinite(reward) and 0 <= gamma <= 1 and 0 <= rho < np.inf and {obs, next_obs} <= set(range(5))):
            raise ValueError("bad input")
        target = reward + (0.0 if terminated else gamma * self.w[next_obs])
        self.w[obs] += self.alpha * rho * (target - self.w[obs])

    def update_many(self, **columns: Any) -> None:
        clone = self.clone()
        for row in zip(*(column.tolist() for column in columns.values()), strict=True):
            clone.update(*row)
        self.w = clone.w

    def lambda_at(self, obs: int) -> float:  # noqa: ARG002
        return 0.0

    def reset(self) -> None:
        pass

    def get_params(self) -> dict[str, Any]:
        return {"alpha": self.alpha}

    def clone(self) -> Self:
        clone = type(self)(self.alpha)
        clone.w = list(self.w)
        return clone

    def save(self, path: Path) -> None:
        path.write_text(repr([self.alpha, *self.w]))

    @classmethod
    def load(cls, path: Path) -> Self:
        alpha, *w = map(float, path.read_text().strip("[]").split(","))
        learner = cls(alpha)
        learner.w = w
        return learner


def test_a_learner_that_is_no_subclass() -> None:
    check_learner(Duck, observations=range(5))


class ForgetsToLoad(Duck):
    @classmethod
    def load(cls, path: Path) -> Self:  # noqa: ARG003
        return cls()


class LearnsBeforeItLooks(Duck):
    def update_many(self, **columns: Any) -> None:
        for row in zip(*(column.tolist() for column in columns.values()), strict=True):
            self.update(*row)


class NoClone(Duck):
    clone = None  # type: ignore[assignment]


# ---- learners that break the contract, each in one way -------------------------------------------------------


class Base(td.TrueOnlineTD):
    """A learner that keeps it."""


class SkipsAStep(Base):
    def update_many(self, *columns: Any, **named: Any) -> None:
        if columns or len(named["reward"]) < 2:
            super().update_many(*columns, **named)
        else:
            super().update_many(**{name: np.delete(column, 1, axis=0) for name, column in named.items()})


class ForgetsBetweenChunks(Base):
    def update_many(self, *columns: Any, **named: Any) -> None:
        self.reset()
        super().update_many(*columns, **named)


class SharesItsWeights(Base):
    def clone(self) -> Self:
        clone = super().clone()
        clone.memory.rows = self.memory.rows
        clone._bind()
        return clone


class ClonesWithoutTraces(Base):
    def clone(self) -> Self:
        clone = super().clone()
        clone.reset()
        return clone


class ResetsItsWeights(Base):
    def reset(self) -> None:
        super().reset()
        self.memory.rows[0] = 0.0


class ResetsABitMoreEachTime(Base):
    def reset(self) -> None:
        super().reset()
        self.memory["td_error"] += 1.0


class AcceptsNaN(Base):
    def update(self, obs: Any, reward: float, *rest: Any, **more: Any) -> None:
        super().update(obs, float(np.nan_to_num(reward)), *rest, **more)


class AcceptsAnyObservation(Base):
    def update(self, obs: Any, reward: float, next_obs: Any, *rest: Any, **more: Any) -> None:
        super().update(obs % self.features.size if obs == obs else 0, reward, next_obs, *rest, **more)


class LearnsFromWhatItRefuses(Base):
    def update(self, obs: Any, *rest: Any, **more: Any) -> None:
        try:
            super().update(obs, *rest, **more)
        except ValueError:
            self.memory.rows[0, 0] += 1e-9
            raise


class SavesWithoutTraces(Base):
    def save(self, path: Any) -> None:
        clone = self.clone()
        clone.reset()
        save(clone, path)


class HasMoreStateThanItSays(Base):
    """Learns a little less at every step, which is not saved."""

    age = 0

    def update(self, obs: Any, reward: float, *rest: Any, **more: Any) -> None:
        super().update(obs, reward / (1 + 0.01 * self.age), *rest, **more)
        self.age += 1

    def clone(self) -> Self:
        clone = super().clone()
        clone.age = self.age
        return clone

    def update_many(self, *_: Any, **named: Any) -> None:
        clone = self.clone()
        for row in zip(*(column.tolist() for column in named.values()), strict=True):
            clone.update(*row)
        self._restore(clone._state())
        self.age = clone.age


class LearnsAsItPredicts(Base):
    def predict(self, obs: Any) -> float:
        value = super().predict(obs)
        self.memory.rows[0] *= 0.999
        return value


class PredictsAnArray(Base):
    def predict(self, obs: Any) -> Any:
        return np.array([super().predict(obs)])


class ForgetsAlpha(Base):
    def __init__(self, features: td.Encoder, alpha: float = 0.5, lam: Any = 0.9, **options: Any) -> None:
        super().__init__(features, alpha, lam, **options)

    def get_params(self) -> dict[str, Any]:
        return {name: value for name, value in super().get_params().items() if name != "alpha"}


class Grows(Base):
    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.log: list[float] = []

    def update(self, obs: Any, reward: float, *rest: Any, **more: Any) -> None:
        super().update(obs, reward, *rest, **more)
        self.log.append(reward)


class LambdaBeyondOne(Base):
    def lambda_at(self, obs: Any) -> float:
        return 2.0 * super().lambda_at(obs)


class Random(Base):
    def update(self, obs: Any, reward: float, *rest: Any, **more: Any) -> None:
        super().update(obs, reward + float(np.random.default_rng().normal()), *rest, **more)


class CannotTakeZero(Base):
    def update(self, *row: Any, **named: Any) -> None:
        super().update(*row, **named)
        if "rho" in named:
            1 / named["rho"]


BROKEN: dict[type, str] = {
    SkipsAStep: "update_many must do what update does",
    ForgetsBetweenChunks: "update_many must not depend on how a stream is cut",
    SharesItsWeights: "updating the learner must not change its clone",
    ClonesWithoutTraces: "a clone must be equal",
    ResetsItsWeights: "reset must keep what was learned",
    ResetsABitMoreEachTime: "a second reset must change nothing",
    AcceptsNaN: "update must raise ValueError or TypeError for reward=nan",
    AcceptsAnyObservation: "update must raise ValueError or TypeError for obs=-1",
    LearnsFromWhatItRefuses: "must change nothing",
    SavesWithoutTraces: "a loaded learner must be equal",
    HasMoreStateThanItSays: "saved and loaded in mid-episode must continue exactly",
    LearnsAsItPredicts: "predict must not change the learner",
    PredictsAnArray: "predict must return a float",
    Grows: "memory must stay bounded",
    LambdaBeyondOne: r"lambda_at must be in \[0, 1\]",
    Random: "the same stream must give the same learner",
    CannotTakeZero: "zero gamma and rho: the learner raised ZeroDivisionError",
    ForgetsAlpha: "get_params must rebuild|clone: the learner raised ValueError",
}


@pytest.mark.costly
@pytest.mark.parametrize("kind", BROKEN, ids=lambda kind: kind.__name__)
def test_broken_learners_are_caught(kind: Any) -> None:
    with pytest.raises(AssertionError, match=BROKEN[kind]):
        check_learner(lambda: kind(td.features.OneHot(6), alpha=0.1))


def test_the_learner_they_are_made_from_is_not_broken() -> None:
    check_learner(lambda: Base(td.features.OneHot(6), alpha=0.1))


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        (ForgetsToLoad, "a loaded learner must be equal"),
        (LearnsBeforeItLooks, "must not learn from earlier rows"),
        (NoClone, "must have a method clone"),
    ],
)
def test_broken_ducks_are_caught(kind: Any, message: str) -> None:
    with pytest.raises(AssertionError, match=message):
        check_learner(kind, observations=range(5))


def test_a_factory_that_makes_one_learner_only() -> None:
    learner = td.TD(td.features.OneHot(3), 0.1)
    with pytest.raises(AssertionError, match="a new learner at each call"):
        check_learner(lambda: learner)

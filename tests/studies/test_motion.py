"""λ on the way: kept while a study runs, of the first seed, as the learner itself would have had it."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tdlambda as td
from tdlambda.lab.studies.store import load_motion


def study(**changes: Any) -> td.studies.Study:
    methods = {
        "fixed": td.studies.Method("TrueOnlineTD", over=("alpha",), options={"lam": 0.5}),
        "META": td.studies.Method("TrueOnlineTD", "Meta", over=("alpha",)),
    }
    made = td.studies.Study(
        "moving", "RandomWalk-v0", methods, grid={"alpha": [0.05, 0.2]}, seeds=[3, 4], steps=600, points=120
    )
    return made.but(**changes)


def test_it_is_what_the_learner_had_at_those_steps(tmp_path: Path) -> None:
    some = study()
    td.studies.run_study(some, tmp_path, progress=False)
    found = load_motion(tmp_path)
    assert list(found) == ["META"]
    assert len(some.moments) == 48
    assert some.moments[-1] == 600
    walk = td.make("RandomWalk-v0")
    for alpha, motion in zip((0.05, 0.2), found["META"], strict=True):
        learner, sampler, done = td.TrueOnlineTD(walk.features, alpha, td.rules.Meta()), walk.sampler(3), 0
        for moment, kept in zip(some.moments, motion, strict=True):
            learner.update_many(sampler.take(int(moment) - done))
            done = int(moment)
            assert kept == pytest.approx(learner.lambdas(range(21)), abs=1 / 255)
    assert np.ptp(found["META"][0]) > 0.02  # it moves
    assert "motion" not in td.studies.load_results(tmp_path).columns


def test_results_are_the_same_without_it(tmp_path: Path) -> None:
    td.studies.run_study(study(), tmp_path / "with", progress=False)
    td.studies.run_study(study(follow=False), tmp_path / "without", progress=False)
    assert load_motion(tmp_path / "without") == {}
    assert td.studies.load_results(tmp_path / "with").equals(td.studies.load_results(tmp_path / "without"))
    with pytest.raises(TypeError, match="follow must be true or false"):
        study(follow="no")


@pytest.mark.slow
def test_agents_are_followed_too() -> None:
    car = td.make("MountainCar-v0", limit=500)
    agent = td.ActorCritic(td.TrueOnlineTD(car.features, 0.01, td.rules.Meta()), td.control.Softmax(3), eta=0.01)
    run = td.control.run(car, {"a": agent}, seeds=2, steps=3000, points=10, follow=[1])
    assert list(run.motion) == [1]
    (motion,) = run.motion[1]
    assert motion.shape == (10, 64)
    assert motion[-1] == pytest.approx(run.lambdas[0][1])
    plain = td.control.run(car, {"a": agent}, seeds=2, steps=3000, points=10)
    assert np.array_equal(plain.returns, run.returns)

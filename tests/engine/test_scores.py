"""Scores, runs in episodes and means over steps, against plain loops over learners and equations written here."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import tdlambda as td
from tdlambda.engine.prediction_job import checked

STEPS, SEED = 120, 3


def followed(task: Any, learner: Any, steps: int, error: Any) -> np.ndarray[Any, Any]:
    """The error before the first update and after each, by a loop."""
    learner, c = learner.clone(), task.sampler(SEED).take(steps)
    found = [error(learner)]
    for t in range(steps):
        learner.update(
            c.obs[t], c.reward[t], c.next_obs[t], c.gamma[t], c.rho[t], bool(c.terminated[t]), bool(c.truncated[t])
        )
        found.append(error(learner))
    return np.array(found)


def errors_of(task: Any) -> dict[str, Any]:
    """Each score as an equation in the predictions, from the tables of the model alone."""
    mdp = task.mdp
    live = np.flatnonzero(~mdp.terminal)
    v, X = mdp.v(task.target)[live], task.features.matrix(np.arange(mdp.n_states))
    P = mdp.under(task.target).P().toarray()
    o = mdp.outcomes
    r = o.by_state(task.target.probabilities[o.state, o.action] * o.probability * o.reward)
    b, thesis = (mdp.under(policy).state_distribution() for policy in (task.behavior, task.target))
    d = b[live] / b[live].sum()

    def rmspbe(learner: Any) -> float:
        V = np.where(mdp.terminal, 0.0, X @ learner.weights)
        bellman = (r + P @ (mdp.discount * V) - V)[live]
        root = np.sqrt(d)[:, None]
        basis, size, _ = np.linalg.svd(root * X[live], full_matrices=False)  # the projection onto weighted features
        onto = basis[:, size > 1e-9]
        return float(np.linalg.norm(onto.T @ (root[:, 0] * bellman)))

    return {
        "value": lambda learner: thesis[live] @ (learner.predict_many(live) - v) ** 2,
        "rmsve": lambda learner: np.sqrt(d @ (learner.predict_many(live) - v) ** 2),
        "rms": lambda learner: np.sqrt(np.mean((learner.predict_many(live) - v) ** 2)),
        "rmspbe": rmspbe,
    }


def makers(task: Any) -> dict[str, td.Learner]:
    """Two lanes, and a learner that runs as itself."""
    x = task.features
    return {"a": td.TD(x, 0.05, 0.0), "b": td.TD(x, 0.02, 0.8), "n": td.NStepTD(x, 0.05, n=3)}


@pytest.mark.parametrize(("name", "options"), [("Collision-v0", {"features_seed": 1}), ("Baird-v0", {})])
@pytest.mark.parametrize("score", ["value", "rmsve", "rms", "rmspbe"])
def test_scores_are_their_equations(name: str, options: dict[str, Any], score: str) -> None:
    """Off-policy, with features that depend on each other; at points, and as means before and after updates."""
    task = td.make(name, **options)
    start = np.linspace(-1, 1, task.features.size)
    learners = {
        key: type(one)(**{**one.get_params(), "initial": start}) for key, one in makers(task).items() if key != "n"
    }
    learners["n"] = makers(task)["n"]
    error = errors_of(task)[score]
    at = [1, 7, 40, STEPS]
    found = td.engine.run(task, learners, [SEED], STEPS, points=at, score=score)
    means = {
        when: td.engine.run(task, learners, [SEED], STEPS, points=at, score=score, average=when)
        for when in ("before", "after")
    }
    assert (found.score, found.unit, means["before"].average) == (score, "steps", "before")
    for k, learner in enumerate(learners.values()):
        curve = followed(task, learner, STEPS, error)
        np.testing.assert_allclose(found.error[k, 0], curve[at], rtol=1e-9)
        before, after = (np.split(some, at[:-1]) for some in (curve[:-1], curve[1:]))
        np.testing.assert_allclose(means["before"].error[k, 0], [part.mean() for part in before], rtol=1e-9)
        np.testing.assert_allclose(means["after"].error[k, 0], [part.mean() for part in after], rtol=1e-9)
        assert means["before"].area()[k, 0] == pytest.approx(curve[:-1].mean(), rel=1e-9)
        assert means["after"].area()[k, 0] == pytest.approx(curve[1:].mean(), rel=1e-9)


def test_known_values_before_anything_is_learned() -> None:
    """√VE of w = 0 in the Collision task, and RMS on the 19-state walk, to the digits given."""
    collision, walk = td.make("Collision-v0"), td.make("RandomWalk-v0")
    for task, score, expected in ((collision, "rmsve", 0.689078), (walk, "rms", 0.547723)):
        found = td.engine.run(task, [td.TD(task.features, 1e-12)], 1, 1, score=score, average="before")
        assert found.error[0, 0, 0] == pytest.approx(expected, abs=5e-7)


def test_episodes_end_where_the_trajectory_says() -> None:
    task = td.make("RandomWalk-v0", "5")
    learners = makers(task)
    found = td.engine.run(task, learners, [SEED, 9], episodes=6, score="rms")
    assert (found.unit, found.points.tolist(), found.error.shape) == ("episodes", [1, 2, 3, 4, 5, 6], (3, 2, 6))
    c = task.sampler(SEED).take(2000)
    ends = np.flatnonzero(c.terminated)[:6] + 1
    for k, learner in enumerate(learners.values()):
        curve = followed(task, learner, int(ends[-1]), errors_of(task)["rms"])
        np.testing.assert_allclose(found.error[k, 0], curve[ends], rtol=1e-9)
    ends9 = np.flatnonzero(task.sampler(9).take(2000).terminated)[5] + 1
    assert found.lane_steps == 3 * (ends[-1] + ends9)
    some = td.engine.run(task, learners, [SEED, 9], episodes=6, points=[2, 5], score="rms")
    np.testing.assert_array_equal(some.error, found.error[:, :, [1, 4]])
    assert repr(found).startswith("<3 learners × 2 seeds × 6 episodes")
    one = replace(found, names=found.names[:1], seeds=found.seeds[:1])
    assert repr(one).startswith("<1 learner × 1 seed × 6 episodes")


def test_a_lane_that_diverges_in_an_episode_is_infinite_from_there() -> None:
    task = td.make("RandomWalk-v0")
    found = td.engine.run(task, [td.TD(task.features, 1.9, 1.0), td.TD(task.features, 0.1, 0.5)], 1, episodes=200)
    ends = checked(task, [td.TD(task.features, 0.1)], 1, None, None, None, None, (), episodes=200)
    at = ends.points_of(0)
    lost = found.diverged_at[0, 0]
    assert lost > 0
    np.testing.assert_array_equal(np.isinf(found.error[0, 0]), at >= lost)
    assert np.isfinite(found.error[1]).all()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"steps": 9, "score": "mse"}, 'score must be one of "value"'),
        ({"steps": 9, "average": "during"}, 'average must be "before" or "after"'),
        ({"steps": 9, "score": "rmspbe", "weights": 1.0}, "weights: .*rmsve"),
        ({"episodes": 3, "points": 4}, "points must be at most the number of episodes, 3; got 4"),
        ({"episodes": 0}, "episodes must be"),
    ],
)
def test_wrong_arguments_are_refused(options: dict[str, Any], message: str) -> None:
    task = td.make("RandomWalk-v0")
    with pytest.raises(ValueError, match=message):
        td.engine.run(task, [td.TD(task.features, 0.1)], 1, **options)


def test_steps_or_episodes_but_not_both_nor_neither(monkeypatch: pytest.MonkeyPatch) -> None:
    task, car = td.make("RandomWalk-v0"), td.make("MountainCar-v0")
    for options in ({}, {"steps": 5, "episodes": 5}):
        with pytest.raises(TypeError, match="give either steps or episodes; got steps="):
            td.engine.run(task, [td.TD(task.features, 0.1)], 1, **options)  # type: ignore[arg-type]
    for score in ("rms", "rmspbe"):
        with pytest.raises(ValueError, match="finitely many states; for MountainCar-v0"):
            td.engine.run(car, [td.TD(car.features, 0.1)], 1, 10, score=score)
    monkeypatch.setattr("tdlambda.engine.episodes.ENDLESS", 1000)
    baird = td.make("Baird-v0")
    with pytest.raises(ValueError, match="episode 1 has not ended after 1,000 steps; give steps"):
        td.engine.run(baird, [td.TD(baird.features, 0.1)], 1, episodes=2)

"""A prediction study in an environment of Gymnasium: its truth, its stream and its messages."""

from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

import tdlambda as td

P, GAMMA = 0.75, 0.9
"""Probability of moving right, and γ, on a corridor of five states with reward 1 at its right end."""


class Corridor(gym.Env[Any, Any]):
    """Moves left or right; ends at both ends; with probability 0.1 it moves the other way."""

    observation_space = gym.spaces.Discrete(5)
    action_space = gym.spaces.Discrete(2)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[int, dict[str, Any]]:
        super().reset(seed=seed, options=options)
        self.at = 2
        return self.at, {}

    def step(self, action: int) -> tuple[int, float, bool, bool, dict[str, Any]]:
        right = bool(action) != (self.np_random.random() < 0.1)
        self.at += 1 if right else -1
        return self.at, float(self.at == 4), self.at in (0, 4), False, {}


gym.register("CorridorWithGoal-v0", entry_point=f"{__name__}:Corridor", max_episode_steps=6)


def exact() -> Any:
    """Values by solving v = r + γ P v; the time limit is no part of it."""
    right = P * 0.9 + (1 - P) * 0.1
    move, reward = np.zeros((5, 5)), np.zeros(5)
    for s in (1, 2, 3):
        move[s, s + 1], move[s, s - 1] = right, 1 - right
        reward[s] = right * (s == 3)
    return np.linalg.solve(np.eye(5) - GAMMA * move * (np.arange(5) % 4 > 0)[None], reward)


def test_rollouts_give_the_values_and_methods_are_compared_with_them(tmp_path: Path) -> None:
    (tmp_path / "mine_policy.py").write_text(f"def mostly_right(state):\n    return [{1 - P}, {P}]\n")
    options = {"policy": "mine_policy:mostly_right", "discount": GAMMA, "observations": 40, "rollouts": 200}
    study = td.studies.Study(
        "corridor", task="CorridorWithGoal-v0", task_options=options, seeds=2, steps=4_000, points=10,
        folders=(str(tmp_path),), grid={"alpha": [0.01, 0.1]},
        methods={"TD": td.studies.Method("TD", over=("alpha",), options={"lam": 0.8})},
    )  # fmt: skip
    truth = study.truth("TD")
    deviation = (truth.values - exact()[truth.observations]) / truth.error
    assert set(truth.observations.tolist()) == {1, 2, 3}
    assert np.abs(deviation).max() < 4
    assert np.sqrt(np.mean(deviation**2)) < 1.5
    assert td.studies.run_study(study, tmp_path / "out").done == 2
    results = td.studies.load_results(tmp_path / "out")
    assert results.shape[0] == 4
    assert results["tail"].to_numpy().max() < 0.02 < results["curve"].list.first().to_numpy().max()
    assert "module mine_policy" in study.code("TD")


def test_the_stream_is_that_of_td_learn() -> None:
    off: dict[str, Any] = {"policy": [1 - P, P], "behavior": [0.5, 0.5]}
    task = td.engine.PolicyTask("CorridorWithGoal-v0", discount=GAMMA, **off)
    one, other = (td.TD(task.features, alpha=0.1, lam=0.7) for _ in range(2))
    stream = task.sampler(seed=3)
    for steps in (0, 1, 299):
        one.update_many(stream.take(steps))
    td.learn("CorridorWithGoal-v0", other, 300, seed=3, gamma=GAMMA, **off)
    assert np.abs(one.weights).max() > 0.1
    np.testing.assert_allclose(one.weights, other.weights, rtol=1e-12)


@pytest.mark.parametrize(
    ("task", "options", "message"),
    [
        ("CorridorWithGoal-v0", {}, r"task: CorridorWithGoal-v0 is an environment of Gymnasium, without a policy"),
        (
            "CorridorWithGoal-v0",
            {"policy": [0.5, 0.6], "discount": 0.9},
            r"policy must be 2 probabilities that sum to 1",
        ),
        (
            "CorridorWithGoal-v0",
            {"policy": "nothing", "discount": 0.9},
            r'policy must be probabilities or "module:function"',
        ),
        ("CorridorWithGoal-v0", {"policy": [0.5, 0.5]}, r"reports no info\[\"discount\"\]"),
        ("CartPole-v1", {"policy": [0.5, 0.5], "discount": 0.9}, r"features: the observations of CartPole-v1 are Box"),
    ],
)
def test_messages(task: str, options: dict[str, Any], message: str) -> None:
    study = td.studies.Study("s", task=task, task_options=options, methods={"TD": td.studies.Method("TD")})
    with pytest.raises((TypeError, ValueError), match=message):
        _ = study.environment

"""Environments that misbehave: named before anything changes, and the agent is ready for a new episode."""

from collections.abc import Callable
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

import tdlambda as td

pytestmark = pytest.mark.costly
NAN = np.array([0.1, np.nan])


class Slope(gym.Env[Any, Any]):
    """A point on a line with two numbers to see, which does something at its k-th step, or at its k-th reset."""

    def __init__(self, at: int = -1, what: Any = None, reset_at: int = -1, rubbish: Any = None) -> None:
        self.observation_space: Any = gym.spaces.Box(-1.0, 1.0, (2,), np.float64)
        self.action_space: Any = gym.spaces.Discrete(2)
        self.at, self.what, self.reset_at, self.rubbish = at, what, reset_at, rubbish
        self.steps = self.resets = 0
        self.over = True

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed, options=options)
        self.resets += 1
        self.x, self.age, self.over = 0.0, 0, False
        if self.resets == self.reset_at:
            if isinstance(self.rubbish, BaseException):
                raise self.rubbish
            return self.rubbish
        return np.array([0.0, 0.0]), {}

    def step(self, action: Any) -> Any:
        if self.over:
            raise RuntimeError("step without a reset")
        self.steps, self.age = self.steps + 1, self.age + 1
        self.x += 0.2 if action else -0.2
        self.over = abs(self.x) > 0.9 or self.age == 12
        obs, reward = np.array([self.x, self.age / 12]), self.x
        if self.steps == self.at:
            if isinstance(self.what, BaseException):
                raise self.what
            obs, reward = (self.what, reward) if isinstance(self.what, np.ndarray) else (obs, self.what)
        return obs, reward, abs(self.x) > 0.9, self.age == 12, {"discount": 0.95}


def features() -> td.features.Fourier:
    return td.features.Fourier([-1, 0], [1, 1], order=2)


AGENTS: dict[str, Callable[[], Any]] = {
    "Sarsa": lambda: td.Sarsa(features(), 2, 0.01),
    "expected": lambda: td.Sarsa(features(), 2, 0.01, target="expected", correction="tree"),
    "Q": lambda: td.QLambda(features(), 2, 0.01),
    "actor-critic": lambda: td.ActorCritic(td.TrueOnlineTD(features(), 0.01, 0.9), td.control.Softmax(2), 0.01),
}


def learned(agent: Any) -> Any:
    return agent.theta if isinstance(agent, td.ActorCritic) else agent.weights


def check_ready(agent: Any, kind: str, steps: int) -> None:
    """It is as one that only saw what went before, has no episode under way, and goes on."""
    reference = AGENTS[kind]()
    td.train(Slope(), reference, steps=steps, seed=3)
    assert agent.steps == steps
    assert np.array_equal(learned(agent), learned(reference))
    assert not agent.trace.any()
    assert td.train(Slope(), agent, steps=30, seed=0).steps == 30
    assert agent.steps == steps + 30


@pytest.mark.parametrize("kind", AGENTS)
@pytest.mark.parametrize(
    ("what", "error", "message"),
    [
        (NAN, ValueError, "finite|nan"),
        (np.zeros(3), ValueError, "2"),
        (np.nan, ValueError, "reward must be finite; got nan at step 40"),
        (OSError("the robot fell"), OSError, "the robot fell"),
    ],
    ids=["NaN observation", "observation of another length", "NaN reward", "raises"],
)
def test_a_step_that_goes_wrong(kind: str, what: Any, error: type[Exception], message: str) -> None:
    agent = AGENTS[kind]()
    with pytest.raises(error, match=message):
        td.train(Slope(at=40, what=what), agent, steps=100, seed=3)
    check_ready(agent, kind, 39)


@pytest.mark.parametrize("kind", AGENTS)
@pytest.mark.parametrize(
    ("rubbish", "error", "message"),
    [
        (OSError("no connection"), OSError, "no connection"),
        (None, TypeError, "reset must return"),
        (np.zeros(2), TypeError, "reset must return"),
        ((NAN, {}), ValueError, "finite|nan"),
        (("here", {}), (TypeError, ValueError), "here|observation|obs"),
    ],
    ids=["raises", "None", "no info", "NaN", "text"],
)
def test_a_reset_that_goes_wrong(kind: str, rubbish: Any, error: type[Exception], message: str) -> None:
    agent, env, curve = AGENTS[kind](), Slope(reset_at=3, rubbish=rubbish), td.control.LearningCurve()
    with pytest.raises(error, match=message):
        td.train(env, agent, steps=100, seed=3, curve=curve)
    assert env.resets == 3
    assert len(curve) == 2
    check_ready(agent, kind, curve.steps)


@pytest.mark.parametrize("kind", AGENTS)
def test_nothing_is_stepped_without_a_reset(kind: str) -> None:
    env = Slope()
    curve = td.train(env, AGENTS[kind](), steps=100, seed=3, evaluate_every=50, evaluation_episodes=2)
    assert env.resets == len(curve) + (curve.ends[-1] < 100)
    while not env.over:
        env.step(0)
    with pytest.raises(RuntimeError, match="without a reset"):
        env.step(0)
    agent = AGENTS[kind]()
    td.train(env, agent, steps=39, seed=3)
    check_ready(agent, kind, 39)


@pytest.mark.parametrize("name", ["RingWorld-v0", "MountainCar-v0", "CliffWalking-v0"])
def test_tasks_that_have_ended_say_so(name: str) -> None:
    env: Any = td.make(name, limit=5) if name == "MountainCar-v0" else td.make(name)
    with pytest.raises(RuntimeError, match="step before reset"):
        env.step(0)
    env.reset(seed=0)
    rng, over = np.random.default_rng(0), False
    while not over:
        _, _, terminated, truncated, _ = env.step(int(rng.integers(env.action_space.n)))
        over = terminated or truncated
    with pytest.raises(RuntimeError, match="step before reset"):
        env.step(0)


@pytest.mark.parametrize("kind", AGENTS)
def test_a_vector_with_a_broken_environment(kind: str) -> None:
    agent = AGENTS[kind]()
    for what, message in ((NAN, "finite|nan"), (np.nan, "reward must be finite")):
        vector = gym.vector.SyncVectorEnv([Slope, lambda what=what: Slope(at=20, what=what)])  # type: ignore[misc]
        with pytest.raises(ValueError, match=message):
            td.train(vector, agent, steps=200, seed=3)
        assert np.isfinite(learned(agent)).all()
        assert not agent.trace.any()
    before = agent.steps
    td.train(Slope(), agent, steps=30, seed=0)
    assert agent.steps == before + 30


def test_a_box_of_observations_where_states_are_needed() -> None:
    agent = td.Sarsa(td.features.OneHot(5), 2, 0.1)
    with pytest.raises((TypeError, ValueError), match=r"OneHot|whole number|integer"):
        td.train(Slope(), agent, steps=10, seed=0)
    assert agent.steps == 0
    with pytest.raises(ValueError, match=r"observations|features"):
        td.control.run("CartPole-v1", [agent], seeds=1, steps=10, gamma=0.9)


@pytest.mark.parametrize("epsilon", [-0.1, 1.1, np.nan, "0.1", None])
def test_epsilon_is_a_probability(epsilon: Any) -> None:
    with pytest.raises((TypeError, ValueError), match="epsilon"):
        td.control.EpsilonGreedy(epsilon)
    declared = {"Sarsa": td.studies.Method("Sarsa", options={"epsilon": epsilon, "alpha": 0.1})}
    with pytest.raises((TypeError, ValueError), match="epsilon"):
        td.studies.Study("bad", "RingWorld-v0", declared, kind="control", seeds=1, steps=100).agents("Sarsa")

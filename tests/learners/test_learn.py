"""learn: a learner run in an environment."""

from typing import Any

import gymnasium as gym
import numpy as np
import pytest

import tdlambda as td
from tdlambda.runner.learning import LearningRun, learn


class Recorder:
    """A learner that writes down what it is given."""

    def __init__(self) -> None:
        self.rows: list[tuple[Any, ...]] = []
        self.resets = 0

    def update(self, *row: Any) -> None:
        self.rows.append(row)

    def reset(self) -> None:
        self.resets += 1


class Corridor(gym.Env[Any, Any]):
    """Goes from 0 to 3, whatever is done; the reward is the action. Reports no discount."""

    def __init__(self, start: int = 0) -> None:
        self.observation_space = gym.spaces.Discrete(4)
        self.action_space = gym.spaces.Discrete(2, start=start)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[int, dict[str, Any]]:
        super().reset(seed=seed, options=options)
        self.place = 0
        return 0, {}

    def step(self, action: int) -> tuple[int, float, bool, bool, dict[str, Any]]:
        assert self.action_space.contains(action)
        self.place += 1
        return self.place, float(action), self.place == 3, False, {}


def test_comes_near_the_true_values() -> None:
    ring: Any = td.make("RingWorld-v0")
    learner = td.TrueOnlineTD(ring.features, alpha=td.steps.OneOver("visits", power=0.8), lam=0.9)
    run = learn(ring, learner, steps=20_000, seed=1)
    assert np.abs(learner.predict_many(range(1, 10)) - ring.exact.v()[1:10]).max() < 0.1
    assert run.learner is learner
    assert run.steps == 20_000
    assert run.episodes == len(run.episode_returns) == len(run.episode_lengths)
    assert set(run.episode_returns) == {-1.0, 1.0}
    assert 20_000 - 200 < run.episode_lengths.sum() <= 20_000


def test_off_policy_ratios() -> None:
    target, behavior = np.array([0.25, 0.75]), np.array([0.6, 0.4])
    learner = Recorder()
    learn(Corridor(), learner, 3000, policy=target, behavior=behavior, seed=1, gamma=0.9)
    actions = np.array([int(row[1]) for row in learner.rows])
    rhos = np.array([row[4] for row in learner.rows])
    assert np.array_equal(rhos, (target / behavior)[actions])
    assert abs(actions.mean() - 0.4) < 0.03
    assert abs(rhos.mean() - 1) < 0.03


def test_what_the_learner_is_told() -> None:
    learner = Recorder()
    run = learn(Corridor(start=5), learner, 7, policy=[0.0, 1.0], gamma=0.9)
    rows = [(0, 6.0, 1), (1, 6.0, 2), (2, 6.0, 3)]
    assert learner.rows == [(*rows[t % 3], 0.9, 1.0, t % 3 == 2, False) for t in range(7)]
    assert learner.resets == 1
    assert all(type(row[0]) is int for row in learner.rows)
    assert (run.episodes, run.episode_returns.tolist(), run.episode_lengths.tolist()) == (2, [18.0, 18.0], [3, 3])
    assert run.mean_reward == 6.0


@pytest.mark.parametrize(
    "policy",
    [
        [0.3, 0.7],
        np.tile([0.3, 0.7], (4, 1)),
        td.mdp.TabularPolicy(np.tile([0.3, 0.7], (4, 1))),
        lambda _: np.array([0.3, 0.7]),
        lambda _: [0.3, 0.7],
    ],
    ids=["row", "table", "TabularPolicy", "function", "function to a list"],
)
def test_every_form_of_policy_does_the_same(policy: Any) -> None:
    expected, learner = Recorder(), Recorder()
    learn(Corridor(), expected, 50, policy=[0.3, 0.7], seed=3, gamma=1.0)
    learn(Corridor(), learner, 50, policy=policy, seed=3, gamma=1.0)
    assert learner.rows == expected.rows


def test_the_discount_that_the_environment_reports() -> None:
    learner = Recorder()
    learn(td.make("RingWorld-v0", discount=0.8), learner, 100, seed=1)
    assert {row[3] for row in learner.rows} == {0.0, 0.8}


def test_a_task_brings_both_policies() -> None:
    ring = td.make("RingWorld-v0", preset="0.4/0.35")
    learner = Recorder()
    learn(ring, learner, 200, seed=1)
    assert {row[4] for row in learner.rows} == {0.35 / 0.4, 0.65 / 0.6}
    on_policy = Recorder()
    learn(ring, on_policy, 200, policy=ring.target, seed=1)
    assert {row[4] for row in on_policy.rows} == {1.0}


@pytest.mark.parametrize("name", ["RingWorld-v0", "tdlambda/RingWorld-v0"])
def test_by_id(name: str) -> None:
    expected, learner = Recorder(), Recorder()
    learn(td.make("RingWorld-v0"), expected, 100, seed=2)
    learn(name, learner, 100, seed=2)
    assert learner.rows == expected.rows


def test_cart_pole_and_its_time_limit() -> None:
    low, high = [-2.4, -3.0, -0.21, -3.0], [2.4, 3.0, 0.21, 3.0]
    learner = td.TrueOnlineTD(td.features.TileCoder(low, high, tilings=8, tiles=4), alpha=0.1 / 8, lam=0.9)
    run = learn("CartPole-v1", learner, 4000, policy=[0.5, 0.5], seed=1, gamma=0.99)
    assert run.mean_reward == 1.0
    assert np.array_equal(run.episode_returns, run.episode_lengths)
    assert 10 < learner.predict([0.0, 0.0, 0.0, 0.0]) < 40

    def balance(obs: Any) -> list[float]:
        return [0.0, 1.0] if obs[2] + 0.3 * obs[3] + 0.02 * obs[0] + 0.05 * obs[1] > 0 else [1.0, 0.0]

    recorder = Recorder()
    balanced = learn("CartPole-v1", recorder, 1200, policy=balance, seed=1, gamma=0.99)
    assert balanced.episode_lengths.tolist() == [500, 500]
    assert [t for t, row in enumerate(recorder.rows) if row[6]] == [499, 999]
    assert not any(row[5] for row in recorder.rows)


def test_same_seed_same_run() -> None:
    def weights(seed: int) -> Any:
        ring = td.make("RingWorld-v0")
        return learn(ring, td.TD(ring.features, 0.1), 500, seed=seed).learner.weights.tolist()

    assert weights(1) == weights(1) != weights(2)


def test_actions_and_world_are_drawn_independently() -> None:
    """The same seed for both must not make them the same random numbers."""

    class Echo(Corridor):
        def step(self, action: int) -> tuple[int, float, bool, bool, dict[str, Any]]:
            _, _, terminated, truncated, info = super().step(action)
            world = int(self.np_random.random() < 0.5)
            return self.place, float(world == action), terminated, truncated, info

    assert abs(learn(Echo(), Recorder(), 2000, policy=[0.5, 0.5], seed=1, gamma=1.0).mean_reward - 0.5) < 0.05


def test_observations_are_held_as_they_were() -> None:
    """An environment that reuses one array for all of its observations."""

    class Reuses(Corridor):
        def reset(self, **options: Any) -> Any:
            self.buffer = np.zeros(1)
            return self.buffer, super().reset(**options)[1]

        def step(self, action: int) -> Any:
            _, *rest = super().step(action)
            self.buffer[0] = self.place
            return self.buffer, *rest

    learner = Recorder()
    learn(Reuses(), learner, 3, policy=[0.5, 0.5], gamma=1.0)
    assert [(row[0][0], row[2][0]) for row in learner.rows] == [(0, 1), (1, 2), (2, 3)]


class Fails(Corridor):
    """Raises at its sixth step."""

    def __init__(self, error: type[BaseException]) -> None:
        super().__init__()
        self.left, self.error = 5, error

    def step(self, action: int) -> Any:
        if self.left == 0:
            raise self.error
        self.left -= 1
        return super().step(action)


@pytest.mark.parametrize("progress", [False, True])
def test_an_environment_that_fails(progress: bool) -> None:
    learner = Recorder()
    with pytest.raises(OSError):  # noqa: PT011, it is ours
        learn(Fails(OSError), learner, 100, policy=[0.5, 0.5], gamma=1.0, progress=progress)
    assert len(learner.rows) == 5


@pytest.mark.parametrize("progress", [False, True])
def test_an_interrupt_is_passed_on_with_what_is_finished(progress: bool) -> None:
    with pytest.raises(td.Interrupted, match="5 of 100 steps") as stopped:
        learn(Fails(KeyboardInterrupt), Recorder(), 100, policy=[0.0, 1.0], gamma=1.0, progress=progress)
    run = stopped.value.result
    assert isinstance(run, LearningRun)
    assert (run.steps, run.episodes, run.mean_reward, run.episode_returns.tolist()) == (5, 1, 1.0, [3.0])


def test_progress(capsys: pytest.CaptureFixture[str]) -> None:
    learn(Corridor(), Recorder(), 600, policy=[0.5, 0.5], gamma=1.0)
    assert capsys.readouterr() == ("", "")
    learn(Corridor(), Recorder(), 600, policy=[0.5, 0.5], gamma=1.0, progress=True)
    said = capsys.readouterr()
    assert said.out == ""
    assert "600/600 steps" in said.err


def test_no_steps() -> None:
    run = learn(Corridor(), Recorder(), 0, policy=[0.5, 0.5], gamma=1.0)
    assert (run.steps, run.episodes) == (0, 0)
    assert np.isnan(run.mean_reward)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"gamma": None}, ValueError, "pass gamma="),
        ({"gamma": 1.5}, ValueError, "gamma must be in"),
        ({"steps": -1}, ValueError, "steps must be"),
        ({"steps": 2.5}, TypeError, "steps must be"),
        ({"policy": None}, TypeError, "policy is required, unless env is a Task"),
        ({"policy": [0.5, 0.6]}, ValueError, "policy must be 2 probabilities"),
        ({"policy": [1.0]}, ValueError, "policy must be 2 probabilities"),
        ({"policy": lambda _: [np.nan, 1.0]}, ValueError, "policy at observation 0 must be 2 probabilities"),
        ({"policy": np.full((4, 3), 1 / 3)}, ValueError, "policy of state 0 must be 2"),
        ({"policy": np.zeros((1, 1, 2))}, ValueError, "policy must be a function"),
        ({"policy": np.full((1, 2), 0.5)}, ValueError, r"observation \(of policy"),
        ({"behavior": [1.5, -0.5]}, ValueError, "behavior must be 2 probabilities"),
        ({"behavior": [1.0, 0.0]}, ValueError, "behavior never takes action 1"),
        ({"env": "Pendulum-v1"}, TypeError, "discrete actions"),
    ],
)
def test_errors(arguments: dict[str, Any], error: type[Exception], message: str) -> None:
    learner = Recorder()
    defaults = {"env": Corridor(), "policy": [0.5, 0.5], "learner": learner, "steps": 10, "gamma": 1.0, "seed": 1}
    with pytest.raises(error, match=message):
        learn(**{**defaults, **arguments})
    assert len(learner.rows) <= 1


def test_a_vector_of_environments_is_pointed_at_train() -> None:
    env = gym.make_vec("CartPole-v1", 2, vectorization_mode="sync")
    with pytest.raises(TypeError, match=r"env must be a single environment; .*td\.train\(env, agent\)"):
        learn(env, Recorder(), 10, policy=[0.5, 0.5], gamma=1.0)  # type: ignore[arg-type]


def test_the_old_order_of_arguments_is_told() -> None:
    with pytest.raises(TypeError, match=r"td\.learn\(env, learner, steps, policy=…\)"):
        learn(Corridor(), [0.5, 0.5], 10, gamma=1.0)  # type: ignore[type-var]


def test_an_id_of_gymnasium_is_gymnasiums() -> None:
    features = td.features.TileCoder([-1.2, -0.07], [0.6, 0.07], tilings=2, tiles=4)
    agent = td.Sarsa(features, actions=3)
    curve = td.train("MountainCar-v0", agent, steps=201, seed=1, gamma=1.0)
    assert curve.lengths.tolist() == [200]  # Gymnasium's limit; ours has none, and a discount of its own
    with pytest.raises(ValueError, match="has a discount of its own"):
        td.train("tdlambda/MountainCar-v0", agent, steps=10, gamma=1.0)

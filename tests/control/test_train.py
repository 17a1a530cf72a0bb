"""`td.train`: environments of every kind, and what happens when one of them, or the user, stops it."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from registered import newest

import tdlambda as td
from tdlambda import progress as bars
from tdlambda.control.agent_traces import AgentTraces
from tdlambda.control.worlds import EnvTask
from tdlambda.learners import storage


class Corridor(gym.Env[int, Any]):
    """Walk right from 0 to 4: -1 a step. It can raise, report nonsense, or be interrupted, at a given step."""

    def __init__(self, actions: gym.Space[Any] | None = None, at: int = -1, what: Any = None, limit: int = 20) -> None:
        self.observation_space: gym.Space[Any] = gym.spaces.Discrete(5)
        self.action_space: gym.Space[Any] = gym.spaces.Discrete(2) if actions is None else actions
        self.at, self.what, self.limit, self.count = at, what, limit, 0
        self.given: list[Any] = []
        self.on_reset: Callable[[], None] = lambda: None

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[int, dict[str, Any]]:
        super().reset(seed=seed, options=options)
        self.state = self.age = 0
        self.on_reset()
        return 0, {}

    def step(self, action: Any) -> tuple[int, float, bool, bool, dict[str, Any]]:
        self.given.append(action)
        self.count, self.age = self.count + 1, self.age + 1
        if self.count == self.at:
            if isinstance(self.what, BaseException):
                raise self.what
            return self.state, self.what, False, False, {"discount": 1.0}
        right = np.ravel(action)[0] >= (1 if isinstance(self.action_space, gym.spaces.Discrete) else 0)
        self.state = max(0, self.state + (1 if right else -1))
        end = self.state == 4
        return self.state, -1.0, end, not end and self.age == self.limit, {"discount": 0.9}


def agent(policy: Any = None, **options: Any) -> td.ActorCritic:
    return td.ActorCritic(
        td.TrueOnlineTD(td.features.OneHot(5), 0.1, 0.8), policy or td.control.Softmax(2), 0.1, **options
    )


def test_the_curve_is_what_happened() -> None:
    env, a = Corridor(), agent()
    curve = td.train(env, a, steps=500, seed=0)
    assert curve.steps == a.steps == env.count == 500
    assert len(curve) == curve.returns.size == curve.lengths.size == curve.ends.size == curve.discounted.size
    assert np.array_equal(curve.returns, -curve.lengths)
    assert np.array_equal(np.diff(curve.ends), curve.lengths[1:])
    np.testing.assert_allclose(curve.discounted, -(1 - 0.9**curve.lengths) / 0.1)
    assert curve.mean(last=10) == pytest.approx(curve.returns[-10:].mean())
    assert curve.mean(last=20) > curve.returns[:20].mean()  # it learns
    assert "500 steps" in repr(curve)
    assert not curve.interrupted
    assert np.isnan(td.control.LearningCurve().mean())


def test_curves_are_saved_like_learners_and_those_of_0_2_load(tmp_path: Path) -> None:
    curve = td.control.LearningCurve()
    for reward, ended in ((1.0, False), (2.0, True), (4.0, False)):
        curve.add(reward, 0.5, ended)
    curve.evaluated([3.0, 5.0])
    curve.save(tmp_path / "curve")
    loaded = td.load(tmp_path / "curve", td.control.LearningCurve)
    for same in (loaded, curve.clone()):
        assert (same.steps, same.returns.tolist(), same.discounted.tolist()) == (3, [3.0], [2.0])
        assert (same.ends.tolist(), same.unfinished, same.evaluations.tolist()) == ([2], 4.0, [[3.0, 4.0, 1.0, 2.0]])
    rows, evaluations = np.array([[3.0, 2.0, 2.0, 2.0, 0.0]]), np.array([[3.0, 4.0, 1.0, 2.0]])
    storage.write(
        tmp_path / "old", {"curve": 1, "params": {"steps": 3}}, {"episodes": rows, "evaluations": evaluations}
    )
    old = td.load(tmp_path / "old")
    assert (old.steps, old.returns.tolist(), old.evaluations.tolist()) == (3, [3.0], evaluations.tolist())
    storage.write(
        tmp_path / "short", {"curve": 1, "params": {"steps": 3}}, {"episodes": rows[:, 1:], "evaluations": evaluations}
    )
    with pytest.raises(ValueError, match="'episodes' must have a shape like"):
        td.load(tmp_path / "short")


def test_the_same_seed_gives_the_same_run_and_a_curve_can_go_on() -> None:
    first, second = (agent() for _ in range(2))
    curves = [td.train(Corridor(), a, steps=300, seed=5) for a in (first, second)]
    assert np.array_equal(curves[0].returns, curves[1].returns)
    assert np.array_equal(first.theta, second.theta)
    assert not np.array_equal(td.train(Corridor(), agent(), steps=300, seed=6).returns, curves[0].returns)
    episodes = len(curves[0])
    assert td.train(Corridor(), first, steps=100, seed=7, curve=curves[0]) is curves[0]
    assert curves[0].steps == 400
    assert len(curves[0]) > episodes
    assert td.train(Corridor(), first, steps=0).steps == 0


def test_every_episode_begins_anew_however_the_last_one_ended() -> None:
    env, a, seen = Corridor(limit=7), agent(), list[tuple[bool, bool, float]]()
    critic: Any = a.critic
    env.on_reset = lambda: seen.append((bool(a.trace.any()), bool(critic.trace.any()), a.emphasis))
    curve = td.train(env, a, steps=200, seed=1)
    assert 0 < (curve.lengths == 7).sum() < len(curve)  # some truncated, some not
    assert set(seen) == {(False, False, 1.0)}


def test_an_environment_that_raises_loses_nothing() -> None:
    a, curve, error = agent(), td.control.LearningCurve(), RuntimeError("the robot fell")
    with pytest.raises(RuntimeError, match="the robot fell"):
        td.train(Corridor(at=150, what=error), a, steps=500, seed=0, curve=curve)
    assert a.steps == curve.steps == 149
    assert len(curve) > 5
    assert not a.trace.any()
    assert a.emphasis == 1.0
    reference = agent()
    td.train(Corridor(), reference, steps=149, seed=0)
    assert np.array_equal(a.theta, reference.theta)
    td.train(Corridor(), a, steps=50, seed=1)
    assert a.steps == 199


def test_an_interrupt_is_passed_on_with_what_there_is() -> None:
    a = agent()
    with pytest.raises(td.Interrupted, match="149 steps were learned from") as stopped:
        td.train(Corridor(at=150, what=KeyboardInterrupt()), a, steps=500, seed=0)
    curve = stopped.value.result
    assert curve.interrupted
    assert a.steps == curve.steps == 149
    assert not a.trace.any()
    assert not td.train(Corridor(), a, steps=10, seed=0, curve=curve).interrupted


@pytest.mark.parametrize("reward", [np.nan, np.inf])
def test_a_reward_that_is_no_number_is_refused(reward: float) -> None:
    a, reference = agent(), agent()
    with pytest.raises(ValueError, match=f"reward must be finite; got {reward}"):
        td.train(Corridor(at=100, what=reward), a, steps=500, seed=0)
    td.train(Corridor(), reference, steps=99, seed=0)
    assert np.array_equal(a.theta, reference.theta)
    assert a.steps == 99


def test_divergence_is_passed_on_or_flagged() -> None:
    critic = td.TrueOnlineTD(td.features.OneHot(5), 0.1)
    a = td.ActorCritic(critic, td.control.Softmax(2), 0.1)
    with pytest.raises(td.Diverged):
        td.train(Corridor(at=30, what=1e308), a, steps=100, seed=0)
    assert a.diverged_at == 30
    flagged = td.ActorCritic(
        td.TrueOnlineTD(td.features.OneHot(5), 0.1, on_divergence="flag"), td.control.Softmax(2), 0.1
    )
    assert td.train(Corridor(at=30, what=1e308), flagged, steps=100, seed=0).steps == 100
    assert flagged.diverged_at == 30


def test_actions_are_handed_over_as_the_environment_wants_them() -> None:
    shifted = Corridor(gym.spaces.Discrete(2, start=1))
    td.train(shifted, agent(), steps=50, seed=0)
    assert set(shifted.given) == {1, 2}
    box = Corridor(gym.spaces.Box(-0.3, 0.3, (1, 2), np.float32))
    a = agent(td.control.Gaussian([-0.3, -0.3], [0.3, 0.3], sigma=2.0))
    td.train(box, a, steps=50, seed=0)
    assert all(isinstance(given, np.ndarray) and given.shape == (1, 2) for given in box.given)
    assert {given.dtype for given in box.given} == {np.dtype(np.float32)}
    assert max(np.abs(given).max() for given in box.given) == np.float32(0.3)  # clipped


@pytest.mark.parametrize(
    ("space", "policy", "error", "message"),
    [
        (gym.spaces.Discrete(3), td.control.Softmax(2), ValueError, "env has 3 actions, but the policy has 2"),
        (gym.spaces.Box(-1, 1, (1,)), td.control.Softmax(2), TypeError, "a softmax policy needs Discrete actions"),
        (gym.spaces.Discrete(2), td.control.Gaussian(-1, 1), TypeError, "a Gaussian policy needs a Box"),
        (gym.spaces.Box(-1, 1, (3,)), td.control.Gaussian(-1, 1), ValueError, "env has actions of 3 dimensions"),
        (gym.spaces.MultiDiscrete([2, 2]), td.control.Softmax(2), TypeError, r"its actions are MultiDiscrete"),
    ],
)
def test_wrong_actions_are_refused(space: Any, policy: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        td.train(Corridor(space), agent(policy), steps=10)


def test_bad_arguments_are_named() -> None:
    with pytest.raises(ValueError, match="steps must be at least 0"):
        td.train(Corridor(), agent(), steps=-1)
    with pytest.raises(ValueError, match=r"gamma must be in \[0, 1\]"):
        td.train(Corridor(), agent(), steps=1, gamma=1.5)
    with pytest.raises(TypeError, match="give steps"):
        td.train("CartPole-v1", cart_agent())


@pytest.mark.parametrize("vector", [False, True])
def test_gamma_has_no_default(vector: bool) -> None:
    env: Any = gym.make_vec("CartPole-v1", 2) if vector else "CartPole-v1"
    agent = cart_agent()
    with pytest.raises(ValueError, match=r"gamma: this environment reports no info\[\"discount\"\]; pass gamma="):
        td.train(env, agent, steps=10, seed=0)
    assert agent.steps == 0
    for name in ("CartPole-v1", newest("Taxi")):  # compiled, and in processes
        with pytest.raises(ValueError, match=f"{name} has no discount of its own; pass gamma=0.99"):
            td.control.run(name, [agent], seeds=1, steps=10)
    wrong: list[tuple[Any, float, str]] = [
        ("RingWorld-v0", 0.9, "gamma: .*RingWorld.* has a discount of its own; leave gamma out"),
        ("CartPole-v1", 2.0, r"gamma must be in \[0, 1\]"),
        (newest("Taxi"), 2.0, r"gamma must be in \[0, 1\]"),
        ("Cart", 0.9, "id: unknown task 'Cart'"),
        (3, 0.9, "task must be a task"),
    ]
    for task, gamma, message in wrong:
        with pytest.raises((TypeError, ValueError), match=message):
            td.control.run(task, [agent], seeds=1, steps=10, gamma=gamma)


def test_gamma_beside_a_tasks_own_is_refused() -> None:
    ring, v = td.make("RingWorld-v0"), td.TD(td.features.OneHot(11), 0.1)
    agent = td.Sarsa(ring.features, 2, 0.1)
    agent.update(1, 0, 1.0, 2, 0, 0.9)
    trace = agent.trace.copy()
    worlds: list[Any] = ["RingWorld-v0", "tdlambda/RingWorld-v0", ring, gym.make("tdlambda/RingWorld-v0")]
    for env in [*worlds, gym.make_vec("tdlambda/RingWorld-v0", 2, vectorization_mode="sync")]:
        with pytest.raises(ValueError, match=r"gamma: .* has a discount of its own; leave gamma out"):
            td.train(env, agent, steps=10, gamma=0.9)
    for env in worlds:
        with pytest.raises(ValueError, match=r"gamma: .* has a discount of its own; leave gamma out"):
            td.learn(env, v, 10, policy=[0.5, 0.5], gamma=0.9)
    assert (agent.steps, v.steps) == (1, 0)
    np.testing.assert_array_equal(agent.trace, trace)


class Silent(gym.vector.VectorEnv[Any, Any, Any]):
    """Two copies, of which only the first reports its discount."""

    num_envs = 2
    single_observation_space = gym.spaces.Discrete(5)
    single_action_space = gym.spaces.Discrete(2)

    def reset(self, *, seed: Any = None, options: Any = None) -> Any:  # noqa: ARG002
        return np.zeros(2, np.int64), {}

    def step(self, actions: Any) -> Any:  # noqa: ARG002
        no = np.zeros(2, dtype=bool)
        return np.ones(2, np.int64), np.ones(2), no, no, {"discount": np.array([0.9, 0.0]), "_discount": ~no & [1, 0]}


class Named(Corridor):
    """An environment with options of its own, one of them called like γ."""

    def __init__(self, name: str = "x", discount: float = 0.9) -> None:
        super().__init__()
        self.name, self.discount = name, discount


def test_an_option_discount_is_gamma_unless_the_environment_takes_it() -> None:
    for name, build in (("CorridorWithOptions-v0", Named), ("PlainCorridor-v0", Corridor)):
        gym.register(name, build)  # type: ignore[arg-type]
    try:
        task = EnvTask("CorridorWithOptions-v0", {"name": "y", "discount": 0.5})
        assert (task.options, task.discount) == ({"name": "y", "discount": 0.5}, None)
        task = EnvTask("PlainCorridor-v0", {"limit": 5, "discount": 0.5})
        assert (task.options, task.discount) == ({"limit": 5}, 0.5)
    finally:
        for name in ("CorridorWithOptions-v0", "PlainCorridor-v0"):
            del gym.registry[name]


@pytest.mark.parametrize("discount", [None, "abc", 1.5, [0.9]])
def test_what_an_environment_reports_must_be_a_discount(discount: Any) -> None:
    class Wrong(Corridor):
        def step(self, action: Any) -> Any:
            return *super().step(action)[:4], {"discount": discount}

    with pytest.raises((TypeError, ValueError), match=r"^info\[\"discount\"\] must be"):
        td.train(Wrong(), agent(), steps=10, seed=0)


def test_each_copy_must_report_its_discount() -> None:
    a = agent()
    with pytest.raises(ValueError, match="gamma: this environment reports no"):
        td.train(Silent(), a, steps=10, seed=0)
    assert a.steps == 1


def cart_agent() -> td.ActorCritic:
    tiles = td.features.TileCoder([-2.4, -3, -0.21, -3], [2.4, 3, 0.21, 3], tilings=8, tiles=4)
    return td.ActorCritic(td.TrueOnlineTD(tiles, 0.01, 0.9), td.control.Softmax(2), 0.01)


@pytest.mark.parametrize(
    "name", ["CartPole-v1", "Acrobot-v1", "MountainCar-v0", "Pendulum-v1", "MountainCarContinuous-v0"]
)
def test_it_runs_in_gymnasiums_own_environments(name: str) -> None:
    env = gym.make(name)
    space: Any = env.observation_space
    low, high = np.maximum(space.low, -10.0), np.minimum(space.high, 10.0)
    critic = td.TrueOnlineTD(td.features.TileCoder(low, high, tilings=4, tiles=2), 0.01, td.rules.Meta())
    a = td.ActorCritic.for_env(env, critic, eta=1e-4)
    curve = td.train(env, a, steps=450, seed=0, gamma=0.99)
    assert curve.steps == a.steps == 450
    assert np.isfinite(a.theta).all()
    assert a.theta.any()


@pytest.mark.costly
def test_our_noisy_mountain_car_by_its_id() -> None:
    car = td.make("MountainCar-v0", limit=100)
    a = td.control.meta_actor_critic(car.features, 3, alpha=1e-3, kappa=1e-4, steps=600, eta=0.05)
    curve = td.train(car, a, steps=600, seed=0)
    assert (curve.lengths <= 100).all()
    assert (curve.returns == curve.discounted).all()  # γ = 1
    assert np.isfinite(a.theta).all()


def test_a_bar_is_shown_on_a_terminal_only(monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        terminal = True

        def isatty(self) -> bool:
            return self.terminal

    for terminal, progress, long, shown in (
        (True, None, 0.0, True),
        (True, None, 1000.0, False),  # the work is not long
        (False, None, 0.0, False),
        (True, False, 0.0, False),
        (False, True, 1000.0, True),
    ):
        monkeypatch.setattr(bars, "LONG", long)
        stream = Terminal()
        stream.terminal = terminal
        monkeypatch.setattr(sys, "stderr", stream)
        td.train(Corridor(), agent(), steps=300, seed=0, progress=progress)
        assert bool(stream.getvalue()) == shown, (terminal, progress, long)
        if shown:
            assert "300/300 steps" in stream.getvalue()
            assert "episodes" in stream.getvalue()


def test_changes_of_weights_by_other_environments_do_not_count_as_a_copys_own() -> None:
    """True online TD keeps w⁻·x; it moves with the weights that other copies change in between."""
    agent = td.Sarsa(td.features.OneHot(3), 2, alpha=0.5, lam=0.9)
    agent.update(0, 1, 1.0, 1, 0, gamma=0.9)
    traces, memory = AgentTraces(agent), agent.learner.memory
    before, kept = memory["V_v_old"], traces.copied(1, 0)
    memory.row("V_w")[:] += 0.25
    traces.restore(kept, 1, 0)
    assert memory["V_v_old"] == pytest.approx(before + 0.25)

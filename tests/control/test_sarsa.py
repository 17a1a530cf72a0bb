"""Agents with action values as a user meets them: convergence, training, files, bad input."""

from __future__ import annotations

import copy
import pickle
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from test_train import Corridor

import tdlambda as td


def sarsa(**options: Any) -> td.Sarsa:
    return td.Sarsa(td.features.OneHot(5), 2, 0.1, 0.8, **options)


SLOW = pytest.mark.slow
"""Siblings of cases that stay in the quick run: each compiles a model."""


@pytest.mark.parametrize(
    ("options", "off_policy"),
    [
        ({}, False),
        pytest.param({"target": "expected"}, False, marks=SLOW),
        pytest.param({"target": "expected"}, True, marks=SLOW),
        pytest.param({"target": "expected", "correction": "tree"}, True, marks=SLOW),
        ({"target": "expected", "correction": "retrace"}, True),
        pytest.param({"target": "sampled"}, True, marks=SLOW),
    ],
)
def test_a_fixed_policy_converges_to_its_exact_values(options: Any, off_policy: bool) -> None:
    rng, steps = np.random.default_rng(0), 30_000
    P, R = rng.dirichlet(np.ones(4), size=(4, 2)), rng.normal(size=(4, 2, 4))
    discount = np.array([0.9, 0.5, 0.8, 0.0])  # state 3 is terminal
    pi, b = (0.7 * rng.dirichlet(np.ones(2), size=4) + 0.15 for _ in range(2))
    behavior = b if off_policy else pi
    agent = td.Sarsa(
        td.features.OneHot(4), 2, td.steps.OneOver("visits", 1.0, 10.0, 0.8), 0.5, algorithm=td.TD, policy=pi,
        behavior=behavior if off_policy else None, **options,
    )  # fmt: skip
    draws, wants, sums = rng.random(steps), rng.random((steps, 2)), P.cumsum(axis=2)
    s, a = 0, 0
    for t in range(steps):
        after = min(int(np.searchsorted(sums[s, a], draws[t], side="right")), 3)
        end = after == 3
        action = 0 if end else int(wants[t, 0] >= behavior[after, 0])
        agent.update(s, a, float(R[s, a, after]), after, action, float(discount[after]), terminated=end)
        s, a = (0, int(wants[t, 1] >= behavior[0, 0])) if end else (after, action)
    mdp = td.FiniteMDP(P, R, discount=discount, terminal=[3], start=0)
    got = np.array([agent.q(k) for k in range(3)])
    np.testing.assert_allclose(got, mdp.q(pi)[:3], atol=0.06)


@pytest.mark.costly
@pytest.mark.parametrize(
    "options",
    [
        {},
        pytest.param({"target": "expected"}, marks=SLOW),
        pytest.param({"lam": "meta"}, marks=SLOW),
        pytest.param({"algorithm": td.TD, "traces": "dutch"}, marks=SLOW),
    ],
)
def test_training_learns_and_goes_on_from_files(options: Any, tmp_path: Path) -> None:
    agent = td.Sarsa(td.features.OneHot(5), 2, 0.1, **({"lam": 0.8} | options))
    curve = td.train(Corridor(), agent, steps=1500, seed=0, evaluate_every=500, evaluation_episodes=2)
    assert curve.steps == agent.steps == 1500
    assert [agent.greedy(s) for s in range(4)] == [1, 1, 1, 1]
    assert curve.evaluations[-1].tolist() == [1500, -4.0, 0.0, 2]
    agent.save(tmp_path / "agent")
    curve.save(tmp_path / "curve")
    again, same = td.load(tmp_path / "agent"), td.load(tmp_path / "curve")
    assert np.array_equal(same.returns, curve.returns)
    assert np.array_equal(same.evaluations, curve.evaluations)
    for one, its in ((agent, curve), (again, same)):
        td.train(Corridor(), one, episodes=5, seed=3, curve=its)
    assert np.array_equal(agent.weights, again.weights)
    assert len(same) == len(curve) == curve.returns.size
    for other in (agent.clone(), pickle.loads(pickle.dumps(agent)), copy.deepcopy(agent)):
        assert np.array_equal(other.weights, agent.weights)
        assert other.steps == agent.steps
        assert repr(other) == repr(agent)


@pytest.mark.costly
@pytest.mark.parametrize("mode", list(gym.vector.AutoresetMode))
def test_several_environments_have_traces_of_their_own(mode: Any) -> None:
    """Two environments, one agent: the same as two interleaved streams with their own traces."""
    envs = gym.vector.SyncVectorEnv([lambda: Corridor(), lambda: Corridor()], autoreset_mode=mode)
    agent = sarsa()
    curve = td.train(envs, agent, steps=1500, seed=0, evaluate_every=1500, evaluation_episodes=1)
    assert curve.steps == agent.steps == 1500
    assert curve.evaluations.tolist() == [[1500, -4.0, 0.0, 1]]
    assert [agent.greedy(s) for s in range(4)] == [1, 1, 1, 1]
    assert (curve.returns == -curve.lengths).all()
    assert curve.lengths.min() >= 4
    actor = td.ActorCritic(td.TrueOnlineTD(td.features.OneHot(5), 0.1, 0.8), td.control.Softmax(2), 0.1)
    assert td.train(envs, actor, steps=500, seed=0).steps == 500


@pytest.mark.costly
def test_one_environment_in_a_vector_is_that_environment() -> None:
    envs = gym.vector.SyncVectorEnv([lambda: Corridor()], autoreset_mode=gym.vector.AutoresetMode.SAME_STEP)
    one, other = sarsa(), sarsa()
    td.train(Corridor(), one, steps=300, seed=4)
    td.train(envs, other, steps=300, seed=4)
    assert np.array_equal(one.weights, other.weights)


@pytest.mark.costly
@pytest.mark.parametrize(
    "features",
    [
        pytest.param(td.features.TileCoder([0], [4]), marks=SLOW),
        td.features.Fourier([0], [4]),
        td.features.Custom(lambda s: [1.0, s / 4], 2),
    ],
)
def test_every_kind_of_features(features: Any) -> None:
    """Encoded by compiled code or by Python, the weights are those of pairs encoded outside."""
    agent, rng = td.Sarsa(features, 2, 0.05, 0.8, algorithm=td.TD), np.random.default_rng(0)
    plain = td.TD(td.features.Pairs(features, 2), 0.05, 0.8)
    obs, action = [1.0], 0
    if isinstance(features, td.features.Custom):
        obs = 1.0  # type: ignore[assignment]
    for _ in range(50):
        other: Any = [float(rng.uniform(0, 4))] if isinstance(obs, list) else float(rng.uniform(0, 4))
        chosen = agent.act(other, rng)
        reward = float(rng.normal())
        agent.update(obs, action, reward, other, chosen, 0.9)
        plain.update((obs, action), reward, (other, chosen), 0.9)
        obs, action = other, chosen
    np.testing.assert_allclose(agent.learner.weights, plain.weights, rtol=1e-12)
    assert agent.predict(obs, 1) == pytest.approx(plain.predict((obs, 1)))


@pytest.mark.costly
def test_policies() -> None:
    agent = td.Sarsa(
        td.features.OneHot(2),
        2,
        0.5,
        policy=td.control.EpsilonGreedy(td.control.Falling(1.0, 0.0, over=2)),
        initial=[[0, 0], [1, 1]],
    )
    assert agent.policy_at(0).tolist() == [0.5, 0.5]
    agent.update(0, 0, 0.0, 1, 0, 1.0)
    assert agent.policy_at(1).tolist() == [0.25, 0.75]
    agent.update(1, 0, 0.0, 1, 0, 1.0)
    assert agent.policy_at(1).tolist() == [0.0, 1.0]
    by_episodes = td.control.EpsilonGreedy(td.control.Falling(1.0, 0.2, over=0, by="episodes", after=5))
    assert [by_episodes.at(10**6, n) for n in (0, 4, 5)] == [1.0, 1.0, 0.2]
    warm = td.Sarsa(td.features.OneHot(2), 2, 0.5, policy=td.control.Boltzmann(0.5), initial=[[0, 0], [1, 1]])
    np.testing.assert_allclose(warm.policy_at(0), np.exp([0, 2]) / np.exp([0, 2]).sum())
    rng = np.random.default_rng(0)
    drawn = np.mean([warm.act(0, rng) for _ in range(4000)])
    assert drawn == pytest.approx(warm.policy_at(0)[1], abs=0.02)


@pytest.mark.costly
def test_bad_input_is_named_and_changes_nothing() -> None:
    agent = sarsa(behavior=[0.5, 0.5], policy=[0.3, 0.7], target="expected")
    agent.update(0, 1, 1.0, 1, 1, 0.9)
    before = agent.weights.copy()
    rng = np.random.default_rng(0)
    for error, message, call in [
        (ValueError, "action must be from 0 to 1; got 2", lambda: agent.update(0, 2, 0.0, 1, 0, 1.0)),
        (ValueError, "next_action must be from 0 to 1", lambda: agent.update(0, 0, 0.0, 1, 7, 1.0)),
        (TypeError, "next_action is missing", lambda: agent.update(0, 0, 0.0, 1)),
        (TypeError, "gamma is missing", lambda: agent.update(0, 0, 0.0, 1, 0)),
        (ValueError, "reward must be finite; got nan", lambda: agent.update(0, 0, float("nan"), 1, 0, 1.0)),
        (ValueError, "gamma must be in", lambda: agent.update(0, 0, 0.0, 1, 0, 1.5)),
        ((ValueError, IndexError), "obs", lambda: agent.update(5, 0, 0.0, 1, 0, 1.0)),
        ((ValueError, IndexError), "obs", lambda: agent.update(0, 0, 0.0, -1, 0, 1.0)),
        ((ValueError, TypeError), "obs", lambda: agent.update("a", 0, 0.0, 1, 0, 1.0)),
        (ValueError, "obs", lambda: sarsa().act(9, rng)),
    ]:
        with pytest.raises(error, match=message):  # type: ignore[call-overload]
            call()  # type: ignore[no-untyped-call]
        assert np.array_equal(agent.weights, before)
        assert agent.steps == 1
    impossible = sarsa(policy=[0.0, 1.0], behavior=lambda _: [0.0, 1.0], target="expected")
    with pytest.raises(ValueError, match="gives action 0 probability 0"):
        impossible.update(0, 0, 1.0, 1, 0, 1.0)
    uncovered = sarsa(policy=[0.5, 0.5], behavior=[0.0, 1.0], target="expected")
    with pytest.raises(ValueError, match="behavior never takes action 0"):
        uncovered.update(0, 1, 1.0, 1, 1, 1.0)
    greedy = td.QLambda(td.features.OneHot(2), 2, 0.1, behavior=td.control.EpsilonGreedy(0.0), initial=[[0, 0], [1, 1]])
    with pytest.raises(ValueError, match="gives action 0 probability 0"):
        greedy.update(0, 1, 1.0, 1, 0, 1.0)


@pytest.mark.costly
@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: td.control.EpsilonGreedy(1.5), r"epsilon must be in \[0, 1\]"),
        (lambda: td.control.EpsilonGreedy(td.control.Falling(1.0, -0.1, 5)), r"epsilon.end must be in \[0, 1\]"),
        (lambda: td.control.Boltzmann(0.0), "temperature must be"),
        (lambda: sarsa(policy=0.1), "policy must be td.control.EpsilonGreedy"),
        (lambda: sarsa(policy=[0.3, 0.3]), "policy must be 2 probabilities"),
        (lambda: sarsa(target="average"), "target must be"),
        (lambda: sarsa(correction="vtrace"), 'use "retrace"'),
        (lambda: sarsa(algorithm="TDD"), "algorithm must be a learner class"),
        (lambda: td.Sarsa(td.features.OneHot(5), 2, 0.1, [0.1, 0.2]), "lam must have 5 numbers"),
        (lambda: td.QLambda(td.features.OneHot(5), 2, 0.1, "meta", form="peng"), "lam must not be learned"),
        (lambda: td.Sarsa(td.features.OneHot(5), 0, 0.1), "actions must be"),
    ],
)
def test_bad_settings_are_named(make: Any, message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        make()


@pytest.mark.costly
def test_a_box_of_actions_is_refused() -> None:
    with pytest.raises(TypeError, match="action values need Discrete actions"):
        td.train(Corridor(gym.spaces.Box(-1, 1, (1,))), sarsa(), steps=10)
    with pytest.raises(ValueError, match="env has 3 actions, but the agent has 2"):
        td.train(Corridor(gym.spaces.Discrete(3)), sarsa(), steps=10)


@pytest.mark.costly
def test_an_environment_that_raises_leaves_the_agent_ready() -> None:
    agent, curve = sarsa(), td.control.LearningCurve()
    with pytest.raises(RuntimeError, match="broken"):
        td.train(Corridor(at=50, what=RuntimeError("broken")), agent, steps=500, seed=0, curve=curve)
    assert agent.steps == curve.steps == 49
    assert not agent.trace.any()
    assert len(curve)
    with pytest.raises(td.Interrupted) as stopped:
        td.train(Corridor(at=50, what=KeyboardInterrupt()), agent, steps=500, seed=0, curve=curve)
    assert stopped.value.result is curve
    assert curve.interrupted
    assert agent.steps == 98
    with pytest.raises(ValueError, match="reward must be finite; got nan at step"):
        td.train(Corridor(at=50, what=float("nan")), agent, steps=500, seed=0)
    assert not agent.trace.any()
    assert td.train(Corridor(), agent, steps=500, seed=0, curve=curve).steps == 598


@pytest.mark.costly
def test_truncation_bootstraps_and_termination_does_not() -> None:
    for ended, expected in (("truncated", 0.5 * (1 + 0.9 * 2)), ("terminated", 0.5)):
        agent = td.Sarsa(td.features.OneHot(2), 2, 0.5, 0.9, initial=[[0, 2], [0, 2]])
        agent.update(0, 0, 1.0, 1, 1, 0.9, **{ended: True})
        assert agent.q(0)[0] == pytest.approx(expected)
        assert not agent.trace.any()
        assert agent.episodes == 1


@pytest.mark.costly
def test_lambda_of_each_kind() -> None:
    table = np.linspace(0, 1, 10).reshape(5, 2)
    assert td.Sarsa(td.features.OneHot(5), 2, 0.1, table).lambda_at(3, 1) == table[3, 1]
    assert td.Sarsa(td.features.OneHot(5), 2, 0.1, table[:, 0]).lambda_at(3, 1) == table[3, 0]
    agent = td.Sarsa(td.features.OneHot(5), 2, 0.1, td.rules.Meta(kappa=0.1))
    td.train(Corridor(), agent, steps=1000, seed=0)
    found = {agent.lambda_at(s, a) for s in range(4) for a in range(2)}
    assert len(found) > 1
    assert all(0 <= lam <= 1 for lam in found)


@pytest.mark.costly
def test_curves_and_policies_are_drawn() -> None:
    agent = sarsa()
    curve = td.train(Corridor(), agent, steps=300, seed=0, evaluate_every=100, evaluation_episodes=1)
    drawn = curve.plot(window=5).to_dict()
    dots, line, evaluations = drawn["layer"]
    rows = dots["data"]["values"]
    assert [row["return"] for row in rows] == curve.returns.tolist()
    assert rows[-1]["mean"] == pytest.approx(curve.returns[-5:].mean())
    assert line["mark"]["type"] == "line"
    assert len(evaluations["data"]["values"]) == 3
    cliff = td.make("CliffWalking-v0")
    cells = td.Sarsa(cliff.features, 4, 0.1).plot(cliff).to_dict()["data"]["values"]
    assert sum(cell["action"] is not None for cell in cells) == 48 - 11
    car = td.make("MountainCar-v0")
    assert len(td.Sarsa(car.features, 3, 0.1).plot(car).to_dict()["data"]["values"]) == 1600
    assert td.control.LearningCurve().plot() is not None


@pytest.mark.costly
@pytest.mark.parametrize("target", ["sampled", "expected"])
def test_retrace_on_policy_is_said_to_do_nothing(target: Any) -> None:
    features = td.features.OneHot(3)
    policy, other = td.control.EpsilonGreedy(0.1), td.control.EpsilonGreedy(0.5)
    for behavior in (None, policy):
        with pytest.warns(UserWarning, match=r'correction: "retrace" does nothing on-policy.*pass behavior=') as said:
            agent = td.Sarsa(features, 2, 0.1, target=target, policy=policy, behavior=behavior, correction="retrace")
        assert [str(one.filename) for one in said] == [__file__]
        plain = td.Sarsa(features, 2, 0.1, target=target, policy=policy, behavior=behavior)
        for k in range(60):
            for one in (agent, plain):
                one.update(k % 3, k % 2, 1.0, (k + 1) % 3, (k + 1) % 2, 0.9, k % 20 == 19)
        np.testing.assert_allclose(agent.weights, plain.weights, rtol=1e-12)  # it is true
    td.Sarsa(features, 2, 0.1, target=target, policy=policy, behavior=other, correction="retrace")
    halved = td.mdp.TraceCorrection("retrace", c_bar=0.5)
    td.Sarsa(features, 2, 0.1, target=target, policy=policy, correction=halved)

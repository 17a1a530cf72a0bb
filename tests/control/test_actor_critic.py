# mypy: disable-error-code="arg-type"
"""What an agent promises beside its equations: input, divergence, episodes, behaviour, copies and files."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

import tdlambda as td
from tdlambda.lab.reproduction import PublishedMeta
from tdlambda.lab.reproduction.agent import published_actor_critic

pytestmark = pytest.mark.costly

TILES = td.features.TileCoder([0, 0], [1, 1], tilings=4, tiles=8)


def softmax(**options: Any) -> td.ActorCritic:
    return td.ActorCritic(td.TrueOnlineTD(td.features.OneHot(5), 0.1, 0.9), td.control.Softmax(3), 0.1, **options)


def gaussian(**options: Any) -> td.ActorCritic:
    return td.ActorCritic(
        td.TrueOnlineTD(td.features.OneHot(5), 0.1, 0.9), td.control.Gaussian([-1, 0], [1, 2]), 0.01, **options
    )


def meta() -> td.ActorCritic:
    return td.ActorCritic(
        td.TrueOnlineGTD(td.features.OneHot(5), 0.1, td.rules.Meta()), td.control.Softmax(3), 0.1, entropy=0.1
    )


def many() -> td.ActorCritic:
    table = td.features.Table(np.random.default_rng(0).random((5, 200)) < 0.05)
    return td.ActorCritic(td.TrueOnlineTD(table, 0.02, 0.9), td.control.Softmax(3), 0.02, 0.8)


BUILDS: list[Callable[[], td.ActorCritic]] = [
    softmax,
    gaussian,
    meta,
    many,
    lambda: softmax(lam=None, behavior=[0.2, 0.3, 0.5], weighting="emphatic"),
]


def snapshot(agent: td.ActorCritic) -> list[bytes]:
    arrays = [*agent.critic._state().values(), *agent.actor.memory.all_arrays]
    return [array.tobytes() for array in arrays]


def critic_trace(agent: td.ActorCritic) -> Any:
    critic: Any = agent.critic
    return critic.trace


def learn(agent: td.ActorCritic, n: int, seed: int = 0) -> td.ActorCritic:
    rng = np.random.default_rng(seed)
    for t in range(n):
        s, end = int(rng.integers(5)), t % 17 == 16
        action = agent.act(s, rng)
        agent.update(s, action, float(rng.normal()), int(rng.integers(5)), None, 0.9, end, t % 34 == 33)
    return agent


# ---- input ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("build", BUILDS)
@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"reward": np.nan}, "reward must be finite; got nan"),
        ({"reward": np.inf}, "reward must be finite; got inf"),
        ({"reward": "x"}, "reward must be a number; got 'x'"),
        ({"gamma": 1.01}, r"gamma must be in \[0, 1\]; got 1.01"),
        ({"gamma": np.nan}, "gamma must be in"),
        ({"rho": -1.0}, "rho must be finite and not negative; got -1.0"),
        ({"rho": np.inf}, "rho must be finite"),
        ({"obs": 5}, "obs"),
        ({"next_obs": -1}, "obs"),
        ({"obs": None}, "obs"),
        ({"action": 3}, "action must be"),
        ({"action": -1}, "action must be"),
        ({"action": None}, "action must be"),
        ({"action": "left"}, "action must be"),
        ({"action": [np.nan, 0.0]}, "action must be"),
        ({"action": [0.0, 0.0, 0.0]}, "action must be"),
    ],
)
def test_bad_transitions_are_refused_and_change_nothing(
    build: Callable[[], td.ActorCritic], wrong: dict[str, Any], message: str
) -> None:
    agent = learn(build(), 5)
    good: dict[str, Any] = {"obs": 1, "action": agent.act(1, np.random.default_rng(0)), "reward": 1.0, "next_obs": 2}
    good |= {"gamma": 0.9}
    before = snapshot(agent)
    with pytest.raises((ValueError, TypeError), match=message):
        agent.update(**(good | {"rho": 1.0} | wrong))
    assert snapshot(agent) == before
    agent.update(**good)
    assert snapshot(agent) != before


@pytest.mark.parametrize(
    ("wrong", "error", "message"),
    [
        ({"critic": "TD"}, TypeError, "critic must be a learner of state values"),
        ({"critic": td.DirectVTD(td.features.OneHot(5), 0.1)}, TypeError, "critic must be a learner of state values"),
        ({"policy": [0.5, 0.5]}, TypeError, "policy must be td.control.Softmax or td.control.Gaussian"),
        (
            {"policy": td.control.Softmax(3, initial=np.zeros((3, 4)))},
            ValueError,
            r"initial must be one number or of shape \(3",
        ),
        ({"eta": 0.0}, ValueError, "eta must be positive"),
        ({"eta": "fast"}, TypeError, "eta must be a number"),
        ({"eta": td.steps.OneOver("visits")}, ValueError, "eta must be a number or a schedule over steps"),
        ({"lam": 1.5}, ValueError, "lam"),
        ({"lam": "actor"}, ValueError, 'lam must be "fixed", "critic", None'),
        ({"lam": td.rules.Meta()}, ValueError, "a rule that does not learn"),
        ({"weighting": "heavy"}, ValueError, 'weighting must be one of "discounted"'),
        ({"entropy": -1.0}, ValueError, "entropy must be finite and not negative"),
        ({"entropy": np.nan}, ValueError, "entropy must be finite"),
        ({"warm_up": -1}, ValueError, "warm_up must be from 0"),
        ({"warm_up": 0.5}, TypeError, "warm_up must be an integer"),
        ({"td_error": "never"}, ValueError, "td_error must be"),
        ({"trace_tolerance": 1.0}, ValueError, "trace_tolerance must be"),
        ({"bound": -1.0}, ValueError, "bound must be positive"),
        ({"behavior": [0.5, 0.5]}, ValueError, "behavior must be 3 probabilities"),
        ({"behavior": [0.5, 0.5, 0.5]}, ValueError, "behavior must be 3 probabilities"),
    ],
)
def test_bad_arguments_are_named(wrong: dict[str, Any], error: type[Exception], message: str) -> None:
    good: dict[str, Any] = {"critic": td.TD(td.features.OneHot(5), 0.1), "policy": td.control.Softmax(3), "eta": 0.1}
    with pytest.raises(error, match=message):
        td.ActorCritic(**(good | wrong))


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: td.control.Softmax(0), "actions must be at least 1"),
        (lambda: td.control.Softmax(2.5), "actions must be an integer"),
        (lambda: td.control.Softmax(2, features=3), "features must be an encoder"),
        (lambda: td.control.Softmax(2, initial=[0.0, 1.0]), "initial must be a finite number"),
        (lambda: td.control.Softmax(2, initial=np.nan), "initial must be a finite number"),
        (lambda: td.control.Gaussian(1, -1), "low must be below high"),
        (lambda: td.control.Gaussian([-1, -1], [1]), "low must be below high in every dimension, with equal shapes"),
        (lambda: td.control.Gaussian(np.nan, 1), "low must not be NaN"),
        (lambda: td.control.Gaussian("a", 1), "low must be a number"),
        (lambda: td.control.Gaussian(-1, 1, sigma=0), "sigma must be positive"),
        (lambda: td.control.Gaussian(-1, 1, within=1.0), "within must be above 1"),
    ],
)
def test_bad_arguments_of_policies_are_named(build: Callable[[], Any], message: str) -> None:
    with pytest.raises((ValueError, TypeError), match=message):
        build()


def test_features_of_a_users_own_encoder_are_checked() -> None:
    class Wild(td.Encoder):
        size, active = 4, 1

        def encode(self, observation: Any) -> Any:
            return np.array([observation], dtype=np.int64), np.ones(1)

        def encode_batch(self, observations: Any) -> Any:
            return np.asarray(observations)[:, None], np.ones((len(observations), 1))

        def get_params(self) -> dict[str, Any]:
            return {}

    agent = td.ActorCritic(td.TD(Wild(), 0.1), td.control.Softmax(2), 0.1)
    assert agent.policy_at(3).tolist() == [0.5, 0.5]
    for bad in (4, -1, 10**9):
        with pytest.raises(ValueError, match=r"features: Wild\.encode must return indices from 0 to 3"):
            agent.act(bad, np.random.default_rng(0))


# ---- episodes ------------------------------------------------------------------------------------------------------


def test_terminated_and_truncated_end_the_episode_but_only_one_bootstraps() -> None:
    def second_step(**end: bool) -> td.ActorCritic:
        agent = td.ActorCritic(
            td.TD(td.features.OneHot(3), 0.5, 0.5, initial=[0.0, 1.0, 2.0]), td.control.Softmax(2), 1.0, 0.5
        )
        agent.update(0, 0, 0.0, 1, gamma=0.5)
        assert agent.emphasis == 0.5
        assert agent.trace.any()
        agent.update(1, 1, 0.0, 2, gamma=0.5, **end)
        return agent

    for end, delta in (({"terminated": True}, -1.0), ({"truncated": True}, 0.5 * 2 - 1)):
        agent = second_step(**end)
        assert agent.emphasis == 1.0
        assert not agent.trace.any()
        assert not critic_trace(agent).any()
        # δ of the second step moved θ at state 1 by η δ I (1 - ½), whether or not it bootstrapped
        assert agent.theta[1, 1] == pytest.approx(1.0 * delta * 0.5 * 0.5)
    both = second_step(terminated=True, truncated=True)
    assert np.array_equal(both.theta, second_step(terminated=True).theta)


def test_reset_forgets_the_episode_and_keeps_the_rest() -> None:
    agent = learn(softmax(), 20)
    theta, weights = agent.theta.copy(), agent.critic.weights.copy()
    assert agent.trace.any()
    agent.reset()
    assert not agent.trace.any()
    assert not critic_trace(agent).any()
    assert agent.emphasis == 1.0
    assert np.array_equal(agent.theta, theta)
    assert np.array_equal(agent.critic.weights, weights)


# ---- divergence ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("where", ["critic", "policy"])
def test_divergence_is_said_once_and_then_nothing_is_learned(where: str) -> None:
    critic, policy, reward = {"critic": ({"bound": 1e-3}, {}, 1.0), "policy": ({}, {"bound": 10.0}, 1e6)}[where]
    agent = td.ActorCritic(td.TD(td.features.OneHot(3), 0.1, **critic), td.control.Softmax(2), 0.1, **policy)
    agent.update(0, 1, 1.0, 0, gamma=1.0)
    with pytest.raises(td.Diverged) as caught:
        agent.update(0, 1, reward, 0, gamma=1.0)
    assert agent.diverged_at == caught.value.step == 2
    assert any("eta" in note for note in getattr(caught.value, "__notes__", [])) == (where == "policy")
    before = snapshot(agent)
    agent.update(0, 1, 1.0, 1, gamma=1.0)
    assert snapshot(agent) == before
    with pytest.raises(ValueError, match="reward must be finite"):
        agent.update(0, 1, np.nan, 1, gamma=1.0)
    assert agent.act(0, np.random.default_rng(0)) in (0, 1)
    agent.reset()


@pytest.mark.parametrize("where", ["critic", "policy"])
def test_divergence_can_be_flagged(where: str) -> None:
    bounds, reward = {"critic": ((1e-3, 1e12), 1.0), "policy": ((1e3, 10.0), 1e6)}[where]
    critic = td.TD(td.features.OneHot(3), 0.1, bound=bounds[0], on_divergence="flag")
    agent = td.ActorCritic(critic, td.control.Softmax(2), 0.1, bound=bounds[1])
    agent.update(0, 1, 1.0, 0, gamma=1.0)
    agent.update(0, 1, reward, 0, gamma=1.0)
    assert agent.diverged_at == 2
    before = snapshot(agent)
    agent.update(0, 1, 1.0, 1, gamma=1.0)
    assert snapshot(agent) == before


def test_a_step_without_bound_leaves_the_policy_able_to_act() -> None:
    agent = gaussian()
    agent.update(0, [0.1, 0.2], 1.0, 1, gamma=1.0)
    theta = agent.theta.copy()
    with np.errstate(over="ignore"), pytest.raises(td.Diverged):
        agent.update(1, [1e200, 0.0], 1.0, 2, gamma=1.0)
    assert np.array_equal(agent.theta, theta)
    assert np.isfinite(agent.act(1, np.random.default_rng(0))).all()


# ---- acting --------------------------------------------------------------------------------------------------------


def test_softmax_acts_as_its_probabilities_say() -> None:
    agent = softmax()
    agent.actor.memory.rows[:3, 2] = [1.0, -1.0, -800.0]
    pi, rng = agent.policy_at(2), np.random.default_rng(0)
    counts = np.bincount([agent.act(2, rng) for _ in range(4000)], minlength=3)
    assert pi[2] == 0
    assert counts[2] == 0
    assert abs(counts[0] / 4000 - pi[0]) < 4 * np.sqrt(pi[0] * pi[1] / 4000)
    assert agent.greedy(2) == 0
    assert type(agent.act(2, rng)) is int


def test_gaussian_acts_as_its_mean_and_sigma_say() -> None:
    agent, rng = gaussian(), np.random.default_rng(0)
    agent.actor.memory.rows[:4, 2] = [0.5, -0.5, 1.0, -50.0]
    mean, sigma = agent.policy_at(2)
    np.testing.assert_allclose(mean, [0.5, 0.5])
    np.testing.assert_allclose(sigma, [0.5 * np.exp(np.log(10) * np.tanh(1 / np.log(10))), 0.05], rtol=1e-9)
    actions = np.array([agent.act(2, rng) for _ in range(4000)])
    assert (abs(actions.mean(axis=0) - mean) < 4 * sigma / np.sqrt(4000)).all()
    assert (abs(actions.std(axis=0) / sigma - 1) < 0.06).all()
    assert np.array_equal(agent.greedy(2), mean)


def test_the_same_generator_gives_the_same_actions() -> None:
    for build in BUILDS:
        a, b = (learn(build(), 40, seed=3) for _ in range(2))
        assert snapshot(a) == snapshot(b)


def test_behavior_acts_and_its_ratios_are_learned_from() -> None:
    b = np.array([0.7, 0.2, 0.1])
    agents = [softmax(behavior=b), softmax()]
    rng = np.random.default_rng(0)
    counts = np.bincount([agents[0].act(0, rng) for _ in range(3000)], minlength=3)
    np.testing.assert_allclose(counts / 3000, b, atol=0.03)
    for t in range(50):
        s, action = t % 5, agents[0].act(t % 5, rng)
        rho = agents[0].policy_at(s)[action] / b[action]
        assert agents[0].rho(s, action) == pytest.approx(rho, rel=1e-13)
        agents[0].update(s, action, 1.0, (s + 1) % 5, gamma=0.9)
        agents[1].update(s, action, 1.0, (s + 1) % 5, gamma=0.9, rho=rho)
    np.testing.assert_allclose(agents[0].theta, agents[1].theta, rtol=1e-10)
    assert agents[1].rho(0, 1) == 1.0


def test_behavior_of_a_gaussian() -> None:
    agent = gaussian(behavior=([0.0, 1.0], 0.5))
    action = [0.3, 1.2]
    expected = 1.0
    for a, mean, sigma, unit in zip(action, [0.0, 1.0], [0.5, 0.5], [1.0, 1.0], strict=True):
        own = np.exp(-(((a - mean) / (0.5 * unit)) ** 2) / 2) / (0.5 * unit)  # as it starts, σ₀ = ½
        expected *= own / (np.exp(-(((a - mean) / sigma) ** 2) / 2) / sigma)
    assert agent.rho(0, action) == pytest.approx(expected)
    moved = gaussian(behavior=lambda obs: ([0.1 * obs, 1.0], [1.0, 2.0]))
    assert moved.rho(1, [0.1, 1.0]) == pytest.approx(2 * 4 * np.exp(-(0.2**2) / 2))
    assert moved.act(0, np.random.default_rng(0)).shape == (2,)
    for bad in (3.0, ([0.0, 0.0], [1.0, 0.0]), ([np.nan, 0.0], 1.0), (1.0, 1.0, 1.0)):
        with pytest.raises(ValueError, match="behavior must be"):
            gaussian(behavior=bad)


def test_behavior_that_never_takes_an_action_is_refused() -> None:
    agent = softmax(behavior=lambda obs: [1.0, 0.0, 0.0] if obs == 4 else [0.2, 0.4, 0.4])
    rng = np.random.default_rng(0)
    agent.act(3, rng)
    with pytest.raises(ValueError, match="behavior never takes action 1 at observation 4"):
        agent.act(4, rng)


def test_for_env_makes_the_policy_that_the_actions_ask_for() -> None:
    def env(space: gym.Space[Any]) -> gym.Env[Any, Any]:
        made: gym.Env[Any, Any] = gym.Env()
        made.action_space = space
        return made

    critic = td.TD(td.features.OneHot(5), 0.1)
    assert td.ActorCritic.for_env(env(gym.spaces.Discrete(4)), critic, 0.1).policy == td.control.Softmax(4)
    box = gym.spaces.Box(np.array([-1.0, -np.inf]), np.array([3.0, np.inf]), dtype=np.float64)
    policy = td.ActorCritic.for_env(env(box), critic, 0.1).policy
    assert isinstance(policy, td.control.Gaussian)
    assert policy.middle.tolist() == [1.0, 0.0]
    assert policy.unit.tolist() == [2.0, 1.0]
    with pytest.raises(TypeError, match=r"env: its actions are MultiBinary\(3\)"):
        td.ActorCritic.for_env(env(gym.spaces.MultiBinary(3)), critic, 0.1)


# ---- copies and files ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("build", BUILDS)
def test_clone_and_file_go_on_as_the_agent_does(build: Callable[[], td.ActorCritic], tmp_path: Path) -> None:
    agent = learn(build(), 25)
    agent.save(tmp_path / "agent")
    copies = [agent.clone(), td.load(tmp_path / "agent"), copy.copy(agent), copy.deepcopy(agent)]
    copies.append(pickle.loads(pickle.dumps(agent)))
    before = snapshot(agent)
    for other in copies:
        assert repr(other) == repr(agent)
        assert other.steps == agent.steps == 25
        learn(other, 40, seed=1)
        assert snapshot(agent) == before
    learn(agent, 40, seed=1)
    for other in copies:
        assert np.array_equal(other.theta, agent.theta)
        assert np.array_equal(other.critic.weights, agent.critic.weights)
    fresh = td.ActorCritic(**agent.get_params())
    assert snapshot(learn(fresh, 40)) == snapshot(learn(build(), 40))


def test_what_is_code_cannot_be_saved(tmp_path: Path) -> None:
    path = tmp_path / "agent"
    with pytest.raises(TypeError, match="behavior: a function cannot be saved"):
        softmax(behavior=lambda _: [0.3, 0.3, 0.4]).save(path)
    features = td.features.Custom(lambda _: np.ones(2), size=2)
    with pytest.raises(TypeError, match="Custom"):
        td.ActorCritic(td.TD(features, 0.1), td.control.Softmax(2), 0.1).save(path)
    assert not path.exists()


def test_a_file_that_is_not_an_agents_is_refused(tmp_path: Path) -> None:
    agent, path = learn(softmax(), 10), tmp_path / "agent"
    agent.save(path)
    with pytest.raises(ValueError, match="holds a ActorCritic, not a TD"):
        td.load(path, td.TD)
    agent.critic.save(tmp_path / "critic")
    with pytest.raises(ValueError, match=r"holds a .*, not a ActorCritic"):
        td.load(tmp_path / "critic", td.ActorCritic)
    data = path.read_bytes()
    for cut in (0, 10, len(data) // 2, len(data) - 1):
        path.write_bytes(data[:cut])
        with pytest.raises(ValueError, match="cannot be loaded"):
            td.load(path)
    for old, new in (
        (b'"actions": 3', b'"actions": 9'),
        (b'"Softmax"', b'"Sigmoid"'),
        (b'"eta": 0.1', b'"eta": 0.7'),
        (b'"n": 5', b'"n": 9'),
    ):
        assert old in data
        path.write_bytes(_repacked(data, old, new))
        with pytest.raises(ValueError, match="cannot be loaded"):
            td.load(path)
    path.write_bytes(_repacked(data, b"", b""))
    assert snapshot(td.load(path)) == snapshot(agent)


def _repacked(data: bytes, old: bytes, new: bytes) -> bytes:
    """The file with other words in its header."""
    import io
    import zipfile

    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as source, zipfile.ZipFile(out, "w") as target:
        for name in source.namelist():
            part = source.read(name)
            target.writestr(name, part.replace(old, new) if old and name == "header.json" else part)
    return out.getvalue()


def test_a_diverged_agent_can_be_saved(tmp_path: Path) -> None:
    agent = td.ActorCritic(
        td.TD(td.features.OneHot(3), 0.1, on_divergence="flag", bound=1e-3), td.control.Softmax(2), 0.1
    )
    agent.update(0, 1, 1e6, 0, gamma=1.0)
    agent.update(0, 1, 1e6, 0, gamma=1.0)
    agent.save(tmp_path / "agent")
    assert td.load(tmp_path / "agent").diverged_at == 2


def test_the_thesis_agent_is_what_it_says() -> None:
    agent = td.control.meta_actor_critic(TILES, 3, alpha=0.01, kappa=1e-3, steps=1000)
    assert type(agent.critic) is td.TrueOnlineGTD
    critic: Any = agent.critic
    assert (agent.eta, agent.lam, agent.warm_up, agent.td_error) == (1.0, None, 500, "before")
    assert (critic.beta, critic.rule.gradient, critic.rule.ratio, critic.rule.warm_up) == (None, "derived", 2.0, 500)
    rng = np.random.default_rng(0)
    for t in range(600):
        obs = rng.random(2)
        agent.update(obs, agent.act(obs, rng), -1.0, rng.random(2), None, 1.0, t % 50 == 49)
        assert agent.theta.any() == (t >= 500)
        assert (agent.critic.lambda_at(obs) < 1) <= (t >= 500)
    published = published_actor_critic(TILES, 3, 0.01, 1e-3, 1000)
    assert (published.td_error, published.warm_up, type(published.critic.rule)) == ("after", 500, PublishedMeta)

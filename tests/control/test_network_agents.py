"""Agents with networks: the same in compiled worlds as step by step; copies, files, vectors of environments."""

from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from plain_network import Normaliser, gradient, value

import tdlambda as td
from tdlambda.control.lane import streams
from tdlambda.control.worlds import world_of
from tdlambda.randomness import uniform

NET: Any = {"hidden": (5, 4), "dtype": "float64"}


def actor_critic(**options: Any) -> Any:
    critic = td.TD(td.Network(4, **NET), td.steps.ObGD(), 0.8)
    given: Any = {"entropy": 0.01, "weighting": "plain"} | options
    return td.ActorCritic(critic, td.control.Softmax(2), td.steps.ObGD(kappa=3.0), **given)


@pytest.mark.interpreted
@pytest.mark.filterwarnings("ignore:overflow:RuntimeWarning")  # integers overflow on purpose in randomness.py
def test_in_a_world_as_step_by_step() -> None:
    """`td.control.run` against `update` with the same random numbers."""
    world, random = world_of("CartPole-v1", 0.99), streams(0)
    agent, s = actor_critic(weighting="discounted"), np.zeros(4)
    world.begin(world.numbers, s, random[0])
    x = s.copy()
    for _ in range(60):
        action = agent.actor.choose(x, uniform(random[1]))
        reward, gamma, terminated = world.move(world.numbers, s, action, random[1])
        agent.update(x, action, reward, s.copy(), gamma=gamma, terminated=bool(terminated))
        if terminated:
            world.begin(world.numbers, s, random[0])
        x = s.copy()
    ran = td.control.run(
        "CartPole-v1", [actor_critic(weighting="discounted")], seeds=1, steps=60, gamma=0.99, threads=1, points=1,
        keep=["weights", "theta"], progress=False,
    )  # fmt: skip
    np.testing.assert_allclose(np.asarray(ran.theta)[0, 0], agent.theta, rtol=1e-12)
    np.testing.assert_allclose(np.asarray(ran.weights)[0, 0], agent.critic.row("V_w"), rtol=1e-12)


@pytest.mark.interpreted
def test_watkins() -> None:
    """Watkins's Q(λ) with a network, by its equations: the trace is cut on leaving by an exploratory action."""
    network = td.Network(3, **NET, scale_rewards=False)
    agent = td.QLambda(network, 2, alpha=0.05, lam=0.8, behavior=td.control.EpsilonGreedy(0.5))
    heads, rng = network.with_outputs(2), np.random.default_rng(0)
    w, e, decay, seen, begins, y = heads.initial(), 0.0, 0.0, Normaliser(network), True, np.zeros(3)
    a = 0
    for _ in range(80):
        x, y = (rng.normal(size=3) if begins else y), rng.normal(size=3)
        a = int(rng.integers(2)) if begins else a
        b, reward, gamma = int(rng.integers(2)), rng.normal(), 0.5 + 0.5 * rng.random()
        ended, cut = (bool(n) for n in rng.random(2) < 0.05)
        agent.update(x, a, reward, y, b, gamma, ended, cut)
        top = int(value(w, network, seen.place(y), 2).argmax())  # as the agent chose, before y was observed
        x_in, y_in = seen.pair(x, y, begins)
        q, after = value(w, network, x_in, 2), value(w, network, y_in, 2)
        delta = reward + (0.0 if ended else gamma * after[top]) - q[a]
        e = decay * e + gradient(w, network, x_in, np.eye(2)[a], 2)
        w = w + 0.05 * delta * e
        decay = 0.0 if ended or cut or b != top else 0.8 * gamma
        begins, a = ended or cut, b
        np.testing.assert_allclose(agent.weights, w, rtol=1e-7, atol=1e-10)
    np.testing.assert_allclose(agent.q(y), value(w, network, seen.place(y), 2), rtol=1e-6)


@pytest.mark.interpreted
def test_gaussian() -> None:
    """A Gaussian policy on a network, by its equations; ρ, γ and λ' differ at every step."""
    network = td.Network(3, **NET)
    critic = td.TD(network, td.steps.Intentional(0.1), 0.7)
    agent: Any = td.ActorCritic(
        critic, td.control.Gaussian(-2.0, 2.0), 0.03, lam=0.6, entropy=0.05, weighting="corrected"
    )
    theta, rng = network.with_outputs(2, part=1).initial(), np.random.default_rng(1)
    e, decay, emphasis, seen, begins, y, reach = 0.0, 0.0, 1.0, Normaliser(network), True, np.zeros(3), np.log(10.0)
    for _ in range(60):
        x, y = (rng.normal(size=3) if begins else y), rng.normal(size=3)
        action, reward = rng.normal(size=1), rng.normal()
        gamma, rho = 0.5 + 0.5 * rng.random(), 1.5 * rng.random()
        ended, cut = (bool(n) for n in rng.random(2) < 0.05)
        agent.update(x, action, reward, y, gamma=gamma, terminated=ended, truncated=cut, rho=rho)
        x_in, _ = seen.pair(x, y, begins)
        delta, (mean, u) = critic.memory["td_error"], value(theta, network, x_in, 2)
        sigma, slope = 0.5 * np.exp(reach * np.tanh(u / reach)), 1 - np.tanh(u / reach) ** 2
        away = (action[0] / 2.0 - mean) / sigma
        log_pi, entropy = np.array([away / sigma, (away**2 - 1) * slope]), np.array([0.0, slope])
        g = gradient(theta, network, x_in, emphasis * (log_pi + 0.05 * np.sign(delta) * entropy), 2)
        e = rho * (decay * e + g)
        theta = theta + 0.03 * delta * e
        decay, emphasis = (0.0, 1.0) if ended or cut else (gamma * 0.6, emphasis * rho * gamma)
        begins = ended or cut
        np.testing.assert_allclose(agent.theta[0], theta, rtol=1e-6, atol=1e-9)


@pytest.mark.interpreted
def test_copies_and_files(tmp_path: Path) -> None:
    pendulum: Any = gym.make("Pendulum-v1")
    for k, (agent, env) in enumerate([
        (actor_critic(), "CartPole-v1"),
        (td.QLambda(td.Network(4, **NET), 2, td.steps.ObGD()), "CartPole-v1"),
        (td.Sarsa(td.Network(4, **NET), 2, td.steps.IntentionalRMS(0.1), target="expected"), "CartPole-v1"),
        (td.ActorCritic.for_env(pendulum, td.Network(3, **NET)), "Pendulum-v1"),
    ]):  # fmt: skip
        agents: list[Any] = [agent]
        td.train(env, agent, steps=30, seed=0, gamma=0.99)
        agent.save(tmp_path / str(k))
        agents += [agent.clone(), td.load(tmp_path / str(k))]
        assert len({repr(one) for one in agents}) == 1
        for one in agents:
            td.train(env, one, steps=30, seed=1, gamma=0.99)
        parts = [{n: a.tobytes() for n, a in one._state().items()} for one in agents]
        assert parts[0] == parts[1] == parts[2]


@pytest.mark.interpreted
def test_vectors() -> None:
    agent = actor_critic()
    curve = td.train(gym.make_vec("CartPole-v1", num_envs=3), agent, steps=60, seed=0, gamma=0.99)
    assert curve.steps == 60
    assert agent.critic.memory["seen"] == 60 + 3 + len(curve)  # each episode begins with an observation of its own
    q = td.QLambda(td.Network(4, **NET), 2)
    td.train(gym.make_vec("CartPole-v1", num_envs=2), q, steps=40, seed=0, gamma=0.99)
    assert np.isfinite(q.q(np.zeros(4))).all()


@pytest.mark.interpreted
def test_refused() -> None:
    critic = td.TD(td.Network(4, **NET), td.steps.ObGD(), 0.8)
    for make, said in [
        (lambda: td.Sarsa(td.Network(4), 2, clear=True), "clear must be False with a network"),
        (lambda: td.QLambda(td.Network(4), 2, 0.1, algorithm=td.GTD), "cannot run on a network"),
        (lambda: td.ActorCritic(critic, td.control.Softmax(2, initial=1.0), 0.1), "policy: initial must be left out"),
        (lambda: td.ActorCritic(critic, td.control.Softmax(2), -0.1), "eta must be positive"),
        (lambda: td.ActorCritic(critic, td.control.Softmax(2), 0.1, td_error="after"), 'use td_error="before"'),
        (lambda: actor_critic().act(np.zeros(3), np.random.default_rng(0)), r"obs must have the shape \(4,\)"),
    ]:
        with pytest.raises((TypeError, ValueError), match=said):
            make()  # type: ignore[no-untyped-call]


@pytest.mark.slow
def test_cart_pole_is_learned() -> None:
    agents = [td.QLambda(td.Network(4, (32, 32)), 2, lam=0.8, behavior=td.control.EpsilonGreedy(0.1))]
    ran = td.control.run("CartPole-v1", agents, seeds=3, steps=60_000, gamma=0.99, progress=False)
    assert (ran.tail() > 80).all()

"""The agent, step by step, is its equations in plain NumPy: γ, λ and ρ differ at every step."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from control_mdps import Array
from pairing import cases, pairs

import tdlambda as td

WEIGHTINGS = ("discounted", "corrected", "emphatic", "plain")


@dataclass
class Step:
    obs: Any
    action: Any
    reward: float
    next_obs: Any
    gamma: float
    rho: float
    terminated: bool
    truncated: bool

    def update(self, agent: td.ActorCritic) -> None:
        agent.update(**vars(self))


def stream(seed: int, n: int, draw: Callable[[Any], Any], action: Callable[[Any], Any]) -> Iterator[Step]:
    rng = np.random.default_rng(seed)
    obs = draw(rng)
    for _ in range(n):
        next_obs, end = draw(rng), int(rng.choice(3, p=[0.85, 0.1, 0.05]))
        gamma, rho = float(rng.choice([0.0, 1.0, rng.random()], p=[0.05, 0.15, 0.8])), float(2 * rng.random())
        yield Step(obs, action(rng), float(rng.normal()), next_obs, gamma, rho, end == 1, end == 2)
        obs = draw(rng) if end else next_obs


class Plain:
    """An actor as one writes it down from the docstring, with dense arrays."""

    def __init__(self, theta: Array, eta: Callable[[int], float], tau: float, weighting: str) -> None:
        self.theta, self.z, self.emphasis, self.decay = theta.copy(), np.zeros_like(theta), 1.0, 0.0
        self.eta, self.tau, self.weighting, self.t = eta, tau, weighting, 0

    def score(self, x: Array, action: Any) -> tuple[Array, Array]:
        h = self.theta @ x
        p = np.exp(h - h.max())
        p /= p.sum()
        entropy = -(p * np.log(p)).sum()
        return np.outer(np.eye(len(p))[action] - p, x), np.outer(-p * (np.log(p) + entropy), x)

    def step(self, x: Array, s: Step, delta: float, lam_next: float) -> None:
        self.t += 1
        score, entropy = self.score(x, s.action)
        self.z = s.rho * (self.decay * self.z + self.emphasis * score)
        self.theta = self.theta + self.eta(self.t) * (delta * self.z + self.tau * self.emphasis * entropy)
        gamma_next = 0.0 if s.terminated else s.gamma
        self.decay = gamma_next * lam_next
        self.emphasis = {
            "discounted": self.emphasis * gamma_next,
            "corrected": self.emphasis * s.rho * gamma_next,
            "emphatic": self.emphasis * s.rho * gamma_next + 1,
            "plain": 1.0,
        }[self.weighting]
        if s.terminated or s.truncated:
            self.z, self.emphasis, self.decay = np.zeros_like(self.z), 1.0, 0.0


class PlainGaussian(Plain):
    """σ = σ₀ e^{B tanh(θ_σ·x/B)} with σ₀ = 0.5 and e^B = 10, the defaults, on the box from 1 to 5."""

    def score(self, x: Array, action: Any) -> tuple[Array, Array]:
        reach, u = np.log(10), (action - 3) / 2
        tanh = np.tanh(self.theta[1] @ x / reach)
        sigma = 0.5 * np.exp(reach * tanh)
        away = (u - self.theta[0] @ x) / sigma
        mean_row, sigma_row = away / sigma * x, (away**2 - 1) * (1 - tanh**2) * x
        return np.stack([mean_row.ravel(), sigma_row.ravel()]), np.stack([0 * x, (1 - tanh**2) * x])


SMALL = td.features.Table(np.random.default_rng(5).normal(size=(6, 4)) / 2)
MANY = td.features.TileCoder([0, 0], [1, 1], tilings=4, tiles=8)  # more than 128 features: live traces are listed
CASES = {
    "dense": (SMALL, lambda rng: int(rng.integers(6))),
    "listed": (MANY, lambda rng: rng.random(2)),
}


@pytest.mark.parametrize(
    ("features", "weighting"),
    pairs(CASES, WEIGHTINGS, lambda features, weighting: features == "dense" and weighting == "emphatic"),
)
@pytest.mark.parametrize("lam", ["critic", None, 0.7])
def test_softmax_agent_is_its_equations(features: str, weighting: Any, lam: Any) -> None:
    encoder, draw = CASES[features]
    theta = np.random.default_rng(1).normal(size=(3, encoder.size))
    rule: Any = np.random.default_rng(2).random(6) if features == "dense" else 0.9
    agent = td.ActorCritic(
        td.TrueOnlineTD(encoder, 0.05, rule), td.control.Softmax(3, initial=theta), 0.1, lam,
        weighting=weighting, entropy=0.3, trace_tolerance=0.0,
    )  # fmt: skip
    reference = td.TrueOnlineTD(encoder, 0.05, rule)
    plain = Plain(theta, lambda _: 0.1, 0.3, weighting)
    for s in stream(3, 200, draw, lambda rng: int(rng.integers(3))):
        delta = s.reward - reference.predict(s.obs) + (0 if s.terminated else s.gamma * reference.predict(s.next_obs))
        reference.update(s.obs, s.reward, s.next_obs, s.gamma, s.rho, s.terminated, s.truncated)
        plain.step(encoder.dense(s.obs), s, delta, {"critic": reference.lambda_at(s.next_obs), None: 0.0}.get(lam, 0.7))
        s.update(agent)
        np.testing.assert_allclose(agent.theta, plain.theta, rtol=1e-10, atol=1e-12)
        np.testing.assert_allclose(agent.emphasis, plain.emphasis, rtol=1e-12)
        if lam is not None:
            np.testing.assert_allclose(agent.trace, plain.z, rtol=1e-10, atol=1e-12)
    assert agent.trace.shape == ((0 if lam is None else 3), encoder.size)
    assert np.array_equal(agent.critic.weights, reference.weights)


@pytest.mark.costly
@pytest.mark.parametrize("lam", ["critic", None])
def test_gaussian_agent_is_its_equations(lam: Any) -> None:
    encoder, draw = CASES["dense"]
    theta = 0.1 * np.random.default_rng(1).normal(size=(2, 4))
    agent = td.ActorCritic(td.TD(encoder, 0.05, 0.8), td.control.Gaussian(1, 5, initial=theta), 0.01, lam, entropy=0.3)
    reference = td.TD(encoder, 0.05, 0.8)
    plain = PlainGaussian(theta, lambda _: 0.01, 0.3, "discounted")
    for s in stream(4, 200, draw, lambda rng: 3 + rng.normal(size=1)):
        delta = s.reward - reference.predict(s.obs) + (0 if s.terminated else s.gamma * reference.predict(s.next_obs))
        reference.update(s.obs, s.reward, s.next_obs, s.gamma, s.rho, s.terminated, s.truncated)
        plain.step(encoder.dense(s.obs), s, delta, 0.8 if lam else 0.0)
        s.update(agent)
        np.testing.assert_allclose(agent.theta, plain.theta, rtol=1e-10, atol=1e-12)


RULES = [td.rules.Meta(0.05), td.rules.Greedy(), td.rules.Meta(0.05, horizon="episode")]


@pytest.mark.parametrize("rule", cases(RULES, RULES[:1]))
def test_the_actor_takes_the_lambda_that_the_critic_has_just_used(rule: td.rules.Meta | td.rules.Greedy) -> None:
    encoder, draw = CASES["dense"]
    agent = td.ActorCritic(td.TrueOnlineGTD(encoder, 0.05, rule), td.control.Softmax(2), 0.1, "critic")
    reference = td.TrueOnlineGTD(encoder, 0.05, rule)
    plain, used = Plain(np.zeros((2, 4)), lambda _: 0.1, 0.0, "discounted"), set()
    for s in stream(6, 300, draw, lambda rng: int(rng.integers(2))):
        greedy = reference.lambda_at(s.next_obs)  # from estimates of before the step; META's of after its own
        reference.update(s.obs, s.reward, s.next_obs, s.gamma, s.rho, s.terminated, s.truncated)
        lam = greedy if isinstance(rule, td.rules.Greedy) and reference.steps > 1 else reference.lambda_at(s.next_obs)
        lam = 1.0 if isinstance(rule, td.rules.Greedy) and reference.steps == 1 else lam
        plain.step(encoder.dense(s.obs), s, reference.td_error, lam)
        s.update(agent)
        used.add(round(lam, 3))
        np.testing.assert_allclose(agent.theta, plain.theta, rtol=1e-9, atol=1e-12)
    assert len(used) > 20


ONES = td.features.OneHot(3)
DEFAULTS: dict[str, tuple[td.Learner, float]] = {
    "a number": (td.TrueOnlineTD(ONES, 0.1, 0.7), 0.7),
    "one for each state": (td.TD(ONES, 0.1, [1.0, 0.3, 0.0]), 0.3),
    "no trace": (td.LSTD(ONES, 0.6), 0.6),
    **{f'"{name}"': (td.TrueOnlineTD(ONES, 0.1, name), 0.9) for name in ("auto", "meta", "greedy")},
    "Counting": (td.TD(ONES, 0.1, td.rules.Counting()), 0.9),
    "AutoTD": (td.AutoTD(ONES), 0.9),
    "n-step": (td.NStepTD(ONES, 0.1, n=2), 0.9),
    "Monte Carlo": (td.MonteCarlo(ONES, 0.1), 0.9),
}


@pytest.mark.parametrize("name", cases(DEFAULTS, ["a number", "no trace", "Monte Carlo"]))
def test_by_default_the_actor_has_the_critics_fixed_lambda_or_its_own(name: str, tmp_path: Path) -> None:
    critic, lam = DEFAULTS[name]
    agent = td.ActorCritic(critic, td.control.Softmax(2), 0.1)
    agent.save(tmp_path / "agent")
    copies = [agent.clone(), td.load(tmp_path / "agent"), pickle.loads(pickle.dumps(agent))]
    for one in (agent, *copies, td.ActorCritic(**agent.get_params())):
        one.update(0, 1, 1.0, 1, gamma=0.5)
        before = one.trace[:, 0].copy()
        one.update(1, 1, 1.0, 2, gamma=0.5)
        np.testing.assert_allclose(one.trace[:, 0], 0.5 * lam * before)
        assert before.any()


@pytest.mark.parametrize("features", cases(CASES, ["dense"]))
def test_a_trace_with_lambda_0_is_the_one_step_method_bit_for_bit(features: str) -> None:
    encoder, draw = CASES[features]
    theta = np.random.default_rng(1).normal(size=(3, encoder.size))
    agents = [
        td.ActorCritic(
            td.TrueOnlineTD(encoder, 0.05, 0.9), td.control.Softmax(3, initial=theta), 0.1, lam,
            weighting="corrected", entropy=0.2,
        )
        for lam in (None, 0.0)
    ]  # fmt: skip
    for s in stream(7, 300, draw, lambda rng: int(rng.integers(3))):
        for agent in agents:
            s.update(agent)
        assert np.array_equal(agents[0].theta, agents[1].theta)
    assert not np.array_equal(agents[0].theta, theta)


@pytest.mark.costly
def test_dropped_traces_do_not_matter() -> None:
    encoder, draw = CASES["listed"]
    agents = [
        td.ActorCritic(
            td.TrueOnlineTD(encoder, 0.05, 0.5),
            td.control.Softmax(3),
            0.1,
            0.5,
            weighting="plain",
            trace_tolerance=tolerance,
        )
        for tolerance in (0.0, 1e-8)
    ]
    for s in stream(8, 2000, draw, lambda rng: int(rng.integers(3))):
        s.terminated = s.truncated = False
        s.gamma, s.rho = min(s.gamma, 0.9), min(s.rho, 1.0)
        for agent in agents:
            s.update(agent)
    np.testing.assert_allclose(agents[0].theta, agents[1].theta, atol=1e-8)
    assert not np.array_equal(agents[0].trace, agents[1].trace)


@pytest.mark.costly
def test_warm_up_is_eta_0_and_a_schedule_goes_by_steps() -> None:
    encoder, draw = CASES["dense"]
    schedule = td.steps.OneOver("steps", scale=2.0, offset=5.0, power=0.7)
    agent = td.ActorCritic(td.TD(encoder, 0.05, 0.8), td.control.Softmax(3), schedule, 0.9, warm_up=50)
    plain = Plain(np.zeros((3, 4)), lambda t: 0.0 if t <= 50 else 2.0 / (5 + t) ** 0.7, 0.0, "discounted")
    reference = td.TD(encoder, 0.05, 0.8)
    for t, s in enumerate(stream(9, 150, draw, lambda rng: int(rng.integers(3)))):
        reference.update(s.obs, s.reward, s.next_obs, s.gamma, s.rho, s.terminated, s.truncated)
        plain.step(encoder.dense(s.obs), s, reference.td_error, 0.9)
        s.update(agent)
        assert agent.theta.any() == (t >= 50)
        np.testing.assert_allclose(agent.theta, plain.theta, rtol=1e-10, atol=1e-12)
    assert np.array_equal(agent.critic.weights, reference.weights)  # which learned all along


@pytest.mark.costly
def test_the_error_after_the_critic_has_learned() -> None:
    encoder, draw = CASES["dense"]
    agent = td.ActorCritic(td.TrueOnlineGTD(encoder, 0.05, 0.8), td.control.Softmax(3), 0.1, None, td_error="after")
    reference, plain = td.TrueOnlineGTD(encoder, 0.05, 0.8), Plain(np.zeros((3, 4)), lambda _: 0.1, 0.0, "discounted")
    for s in stream(10, 100, draw, lambda rng: int(rng.integers(3))):
        reference.update(s.obs, s.reward, s.next_obs, s.gamma, s.rho, s.terminated, s.truncated)
        delta = s.reward - reference.predict(s.obs) + (0 if s.terminated else s.gamma * reference.predict(s.next_obs))
        plain.step(encoder.dense(s.obs), s, delta, 0.0)
        s.update(agent)
        np.testing.assert_allclose(agent.theta, plain.theta, rtol=1e-10, atol=1e-12)


@pytest.mark.costly
@pytest.mark.parametrize(
    "critic",
    [
        lambda f: td.LSTD(f, 0.9),
        lambda f: td.NStepTD(f, 0.1, n=3),
        lambda f: td.MonteCarlo(f, 0.1),
        lambda f: td.LambdaReturn(f, 0.1, 0.9),
        lambda f: td.GTD(f, 0.1, td.rules.Counting()),
    ],
)
def test_any_learner_can_be_the_critic(critic: Callable[[td.Encoder], td.Learner]) -> None:
    encoder, draw = CASES["dense"]
    agent, reference = td.ActorCritic(critic(encoder), td.control.Softmax(3), 0.1, 0.6), critic(encoder)
    plain = Plain(np.zeros((3, 4)), lambda _: 0.1, 0.0, "discounted")
    for s in stream(11, 60, draw, lambda rng: int(rng.integers(3))):
        s.gamma, s.rho = 0.9 * s.gamma, 1.0  # MonteCarlo among them: nothing wild
        delta = s.reward - reference.predict(s.obs) + (0 if s.terminated else s.gamma * reference.predict(s.next_obs))
        reference.update(s.obs, s.reward, s.next_obs, s.gamma, s.rho, s.terminated, s.truncated)
        plain.step(encoder.dense(s.obs), s, delta, 0.6)
        s.update(agent)
        np.testing.assert_allclose(agent.theta, plain.theta, rtol=1e-9, atol=1e-11)


@pytest.mark.costly
def test_policy_and_critic_may_have_features_of_their_own() -> None:
    coarse, fine = td.features.OneHot(6), td.features.Table(np.random.default_rng(0).normal(size=(6, 3)))
    agent = td.ActorCritic(td.TD(coarse, 0.1, 0.5), td.control.Softmax(2, features=fine), 0.1)
    agent.update(4, 1, 1.0, 2, gamma=0.9)
    assert agent.theta.shape == (2, 3)
    np.testing.assert_allclose(agent.theta[1], 0.1 * 1.0 * 0.5 * fine.dense(4))
    assert agent.critic.predict(4) == pytest.approx(0.1)

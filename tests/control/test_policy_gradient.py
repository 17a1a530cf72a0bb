"""The policy gradient theorem under a state-based discount: expected updates are gradients of exact values."""

from typing import Any

import numpy as np
import pytest
from control_mdps import Array, KnownValues, Small, change, numerical_gradient, small

import tdlambda as td

pytestmark = pytest.mark.costly

SEEDS = range(6)


def require_close(actual: Array, desired: Array) -> None:
    """To what central differences can tell."""
    np.testing.assert_allclose(actual, desired, rtol=1e-6, atol=1e-8)


def agent_on(m: Small, theta: Array, V: Array, lam: Any, **options: Any) -> td.ActorCritic:
    policy = td.control.Softmax(m.actions, features=td.features.Table(m.X), initial=theta)
    return td.ActorCritic(KnownValues(V), policy, eta=1.0, lam=lam, trace_tolerance=0.0, **options)


def drawn(m: Small, seed: int) -> tuple[Array, Array, Array]:
    """θ, and with it π; and a behaviour policy that is neither."""
    rng = np.random.default_rng(seed + 1000)
    theta = rng.normal(size=(m.actions, m.X.shape[1]))
    return theta, m.table(theta), 0.2 / m.actions + 0.8 * rng.dirichlet(np.ones(m.actions), m.n)


def expected_episode(m: Small, agent: td.ActorCritic, behavior: Array) -> Array:
    """The expected sum of updates over an episode, θ held: over every path there is."""
    total = np.zeros_like(agent.theta)
    for p, path in m.paths(behavior):
        agent.reset()
        for s, a, t in path:
            total += p * change(agent, s, a, m.R[s, a, t], t, gamma=m.gamma[t], terminated=t == m.n - 1)
    return total


@pytest.mark.parametrize("seed", SEEDS)
def test_expected_one_step_update_is_the_gradient_of_the_start_value(seed: int) -> None:
    m = small(seed, actions=3)
    theta, pi, _ = drawn(m, seed)
    mdp = m.mdp()
    agent = agent_on(m, theta, mdp.v(pi), None)
    total, share = np.zeros_like(theta), m.visits(pi, m.gamma)
    for s, a, t in np.argwhere(m.P):
        agent.reset()  # I = 1; the discounted visits stand for it
        p = share[s] * pi[s, a] * m.P[s, a, t]
        total += p * change(
            agent, int(s), int(a), m.R[s, a, t], int(t), gamma=m.gamma[t], terminated=bool(t == m.n - 1)
        )
    truth = numerical_gradient(lambda th: float(mdp.v(m.table(th))[0]), theta)
    require_close(total, truth)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("kind", ["one-step", "per state", "any values, λ = 1", "any values, one-step"])
def test_expected_episode_is_the_gradient_of_the_start_value(kind: str, seed: int) -> None:
    m = small(seed, layered=True)
    theta, pi, _ = drawn(m, seed)
    mdp, rng = m.mdp(), np.random.default_rng(seed)
    V = rng.normal(size=m.n) if kind.startswith("any") else mdp.v(pi)
    lam: Any = {"per state": rng.random(m.n), "any values, λ = 1": 1.0}.get(kind)
    total = expected_episode(m, agent_on(m, theta, V, lam), pi)
    truth = numerical_gradient(lambda th: float(mdp.v(m.table(th))[0]), theta)
    if kind == "any values, one-step":  # a wrong critic misleads a one-step actor, as it should
        assert np.abs(total - truth).max() > 0.01 * np.abs(truth).max()
    else:
        require_close(total, truth)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("traced", [False, True])
def test_off_policy_corrected_is_the_gradient_of_the_start_value(traced: bool, seed: int) -> None:
    m = small(seed, layered=True)
    theta, pi, b = drawn(m, seed)
    mdp, rng = m.mdp(), np.random.default_rng(seed)
    V, lam = (rng.normal(size=m.n), 1.0) if traced else (mdp.v(pi), None)
    agent = agent_on(m, theta, V, lam, weighting="corrected", behavior=b)
    truth = numerical_gradient(lambda th: float(mdp.v(m.table(th))[0]), theta)
    require_close(expected_episode(m, agent, b), truth)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("lam", [None, "per state"])
def test_off_policy_emphatic_is_the_gradient_of_the_values_the_behaviour_meets(lam: Any, seed: int) -> None:
    m = small(seed, layered=True)
    theta, pi, b = drawn(m, seed)
    mdp, met = m.mdp(), m.visits(b, np.ones(m.n))
    if lam:
        lam = np.random.default_rng(seed).random(m.n)
    agent = agent_on(m, theta, mdp.v(pi), lam, weighting="emphatic", behavior=b)
    truth = numerical_gradient(lambda th: float(met @ mdp.v(m.table(th))), theta)
    require_close(expected_episode(m, agent, b), truth)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("weighting", ["discounted", "plain"])
def test_off_policy_other_weights_leave_out_how_the_policy_changes_what_follows(weighting: Any, seed: int) -> None:
    """Σ_s m(s) Σ_a q(s,a) ∇π(a|s), m as the behaviour meets states: ∇ with m and q held, not the gradient of v(s₀)."""
    m = small(seed, layered=True)
    theta, pi, b = drawn(m, seed)
    mdp = m.mdp()
    met, q = m.visits(b, m.gamma if weighting == "discounted" else np.ones(m.n)), mdp.q(pi)
    agent = agent_on(m, theta, mdp.v(pi), None, weighting=weighting, behavior=b)
    total = expected_episode(m, agent, b)
    held = numerical_gradient(lambda th: float(met @ (m.table(th) * q).sum(axis=1)), theta)
    require_close(total, held)
    truth = numerical_gradient(lambda th: float(mdp.v(m.table(th))[0]), theta)
    assert np.abs(total - truth).max() > 1e-3


def test_the_printed_theorem_counts_visits_twice() -> None:
    """Thesis: ∝ Σ_s d(s) γ(s₀→s) Σ_a q ∇π, where γ(s₀→s) already sums over all visits: it points elsewhere."""
    cosines = []
    for seed in range(20):
        m = small(seed, n=6)
        theta, pi, _ = drawn(m, seed)
        mdp = m.mdp()
        q, share, d = mdp.q(pi), m.visits(pi, m.gamma), mdp.under(pi).error_weights()
        truth = numerical_gradient(lambda th, v=mdp.v, t=m.table: float(v(t(th))[0]), theta)  # type: ignore[misc]

        def weighted(w: Array, q: Array = q, m: Small = m, theta: Array = theta) -> Array:
            return numerical_gradient(lambda th: float(w @ (m.table(th) * q).sum(axis=1)), theta)

        require_close(weighted(share), truth)
        printed = weighted(d * share)
        cosines.append(float((printed * truth).sum() / np.linalg.norm(printed) / np.linalg.norm(truth)))
    assert max(cosines) > 0.99  # near where one state matters most
    assert min(cosines) < 0.9


# ---- the two policies' own gradients -------------------------------------------------------------------------------


def softmax_log(theta: Array, x: Array, action: int) -> float:
    h = theta @ x
    return float(h[action] - np.log(np.exp(h).sum()))


def softmax_entropy(theta: Array, x: Array) -> float:
    p = np.exp(theta @ x)
    p /= p.sum()
    return float(-(p * np.log(p)).sum())


def gaussian_parts(theta: Array, x: Array, sigma: float, reach: float) -> tuple[Array, Array]:
    k = len(theta) // 2
    u = theta[k:] @ x
    return theta[:k] @ x, np.log(sigma) + (u if np.isinf(reach) else reach * np.tanh(u / reach))


def gaussian_log(theta: Array, x: Array, u: Array, sigma: float, reach: float) -> float:
    mean, log_sigma = gaussian_parts(theta, x, sigma, reach)
    return float((-((u - mean) ** 2) / (2 * np.exp(2 * log_sigma)) - log_sigma - np.log(2 * np.pi) / 2).sum())


@pytest.mark.parametrize("seed", SEEDS)
def test_softmax_gradients_are_those_of_finite_differences(seed: int) -> None:
    rng = np.random.default_rng(seed)
    theta, x, action = rng.normal(size=(4, 3)), rng.normal(size=3), int(rng.integers(4))
    policy = td.control.Softmax(4, features=td.features.Dense(3), initial=theta)
    critic = td.TrueOnlineTD(td.features.Dense(3), alpha=0.1)
    one = td.ActorCritic(critic, policy, eta=1.0, lam=None)
    score = change(one, x, action, 1.0, x, gamma=1.0, terminated=True)  # V = 0, so δ = 1
    require_close(score, numerical_gradient(lambda th: softmax_log(th, x, action), theta))
    np.testing.assert_allclose(one.policy_at(x), np.exp([softmax_log(theta, x, a) for a in range(4)]), rtol=1e-13)
    bonus = td.ActorCritic(td.TrueOnlineTD(td.features.Dense(3), alpha=0.1), policy, eta=0.5, lam=None, entropy=3.0)
    entropy = change(bonus, x, action, 0.0, x, gamma=1.0, terminated=True)
    require_close(entropy, 1.5 * numerical_gradient(lambda th: softmax_entropy(th, x), theta))


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("within", [10.0, None])
def test_gaussian_gradients_are_those_of_finite_differences(within: float | None, seed: int) -> None:
    rng = np.random.default_rng(seed)
    reach = np.inf if within is None else np.log(within)
    theta, x = 0.5 * rng.normal(size=(4, 3)), rng.normal(size=3)
    low, high = np.array([-2.0, 0.0]), np.array([2.0, 1.0])
    u = rng.normal(size=2)
    action = np.array([0.0, 0.5]) + np.array([2.0, 0.5]) * u  # from units of the box
    policy = td.control.Gaussian(low, high, sigma=0.7, within=within, features=td.features.Dense(3), initial=theta)
    one = td.ActorCritic(td.TrueOnlineTD(td.features.Dense(3), alpha=0.1), policy, eta=1.0, lam=None)
    score = change(one, x, action, 1.0, x, gamma=1.0, terminated=True)
    truth = numerical_gradient(lambda th: gaussian_log(th, x, u, 0.7, reach), theta)
    require_close(score, truth)
    mean, log_sigma = gaussian_parts(theta, x, 0.7, reach)
    np.testing.assert_allclose(one.policy_at(x)[0], [0.0, 0.5] + np.array([2.0, 0.5]) * mean, rtol=1e-13)
    np.testing.assert_allclose(one.policy_at(x)[1], np.array([2.0, 0.5]) * np.exp(log_sigma), rtol=1e-13)
    bonus = td.ActorCritic(td.TrueOnlineTD(td.features.Dense(3), alpha=0.1), policy, eta=0.5, lam=None, entropy=3.0)
    entropy = change(bonus, x, action, 0.0, x, gamma=1.0, terminated=True)
    of_sigma = numerical_gradient(lambda th: float(gaussian_parts(th, x, 0.7, reach)[1].sum()), theta)
    require_close(entropy, 1.5 * of_sigma)


def test_expected_gaussian_update_is_the_gradient_of_the_expected_reward() -> None:
    """One state, reward r(a) = a³ - 2a² + a: E[r] under N(μ, σ²) is known, and so is its gradient."""
    x, theta = np.array([0.8]), np.array([[0.4], [-0.3]])
    policy = td.control.Gaussian(-1, 1, sigma=0.6, within=None, features=td.features.Dense(1), initial=theta)
    agent = td.ActorCritic(td.TrueOnlineTD(td.features.Dense(1), alpha=1e-9), policy, eta=1.0, lam=None)
    nodes, weights = np.polynomial.hermite_e.hermegauss(20)
    mean, sigma = (float(part[0]) for part in agent.policy_at(x))
    total = np.zeros((2, 1))
    for node, weight in zip(nodes, weights / weights.sum(), strict=True):
        a = mean + sigma * node
        clean = agent.clone()
        total += weight * change(clean, x, [a], a**3 - 2 * a**2 + a, x, gamma=1.0, terminated=True)

    def value(th: Array) -> float:
        m, s = (th[0] @ x), 0.6 * np.exp(th[1] @ x)
        return float(m**3 + 3 * m * s**2 - 2 * (m**2 + s**2) + m)

    np.testing.assert_allclose(total, numerical_gradient(value, theta), rtol=1e-6)

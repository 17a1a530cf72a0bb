"""Emphatic TD, stability of expected updates, expected traces and the λ-discrepancy."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from random_mdps import SEEDS, Array, raw_mdp
from searching import examples

import tdlambda as td

BAIRD = td.make("Baird-v0")
X = BAIRD.features.matrix(np.arange(7))
START = np.array([1.0, 1, 1, 1, 1, 1, 10, 1])


def baird(lam: float = 0.0, **options: Any) -> td.mdp.LinearSystem:
    return BAIRD.mdp.under(BAIRD.target, BAIRD.behavior).linear_system(X, lam, **options)


def test_baird() -> None:
    """Eigenvalues, errors and stability; every number is known from elsewhere."""
    system = baird()
    eigenvalues = np.sort(np.linalg.eigvals(system.A).real)
    np.testing.assert_allclose(eigenvalues, [-0.23925, -0.022178, 0] + [0.571429] * 5, atol=1e-6)
    w = START.copy()
    assert np.sqrt(system.mspbe(w)) == pytest.approx(8.221408, abs=1e-6)
    assert np.sqrt(((X @ w) ** 2).mean()) == pytest.approx(5.318432, abs=1e-6)
    assert system.growth_rate() == pytest.approx(0.23925, abs=1e-5)
    assert system.growth_rate("htd") == pytest.approx(0.1133, abs=5e-5)
    stable = {"td": False, "gtd": True, "tdc": True, "gtd2": True, "tdrc": True, "htd": False}
    assert {name: system.is_stable(name) for name in stable} == stable  # type: ignore[arg-type]
    assert not system.is_positive_definite()
    assert not system.is_positive_definite("K")
    np.testing.assert_allclose(baird(correction="vtrace").A, system.A / 7, atol=1e-15)
    critical = 61 / 66
    assert not baird(critical - 1e-9).is_stable()
    assert baird(critical + 1e-9).is_stable()


def test_baird_emphatic() -> None:
    f = BAIRD.mdp.under(BAIRD.target, BAIRD.behavior).emphasis(0.0).followon
    np.testing.assert_allclose(f, [1 / 7] * 6 + [99.142857], atol=1e-6)
    system = baird(method="etd")
    assert system.is_positive_definite()
    assert system.is_positive_definite("K")
    assert system.is_stable()
    with pytest.raises(ValueError, match='algorithm must be "td" in a system of method="etd"'):
        system.growth_rate("gtd")
    start = BAIRD.mdp.under(BAIRD.target, BAIRD.behavior).etd_fixed_point(X, 0.0)
    np.testing.assert_allclose(X @ start, 0, atol=1e-12)


def test_algorithms_in_expectation() -> None:
    """TDC's expected update of Baird, α = .005, β = .05: the errors after 100, 500 and 1000 sweeps."""
    system = baird()
    w, h = START.copy(), np.zeros(8)
    known = {100: (3.32296, 2.77917), 500: (1.93627, 0.00830), 1000: (1.93546, 0.00738)}
    for sweep in range(1, 1001):
        update = system.b - system.A @ w
        w, h = w + 0.005 * (update - (system.C - system.A.T) @ h), h + 0.05 * (update - system.C @ h)
        if sweep in known:
            assert np.sqrt(((X @ w) ** 2).mean()) == pytest.approx(known[sweep][0], abs=1e-5)
            assert np.sqrt(system.mspbe(w)) == pytest.approx(known[sweep][1], abs=1e-5)


@examples(20)
@given(SEEDS, st.sampled_from(["td", "gtd", "gtd2", "tdrc", "htd"]))
def test_growth_rate_is_that_of_the_iteration(seed: int, algorithm: Any) -> None:
    """Small steps of the mean update, written out, grow by exp(α · rate) a step in the end."""
    raw = raw_mdp(seed, n=6)
    rng = np.random.default_rng(seed)
    features, lam = rng.normal(size=(6, 2)), rng.random(6)
    mdp, ratio, reg = raw.mdp(), 0.5, 0.7
    s = mdp.under(raw.pi, raw.b).linear_system(features, lam)
    A_b = mdp.under(raw.b).linear_system(features, lam).A

    def step(z: Array) -> Array:
        w, h = z[:2], z[2:]
        d = -s.A @ w
        dw = {"td": d, "gtd2": s.A.T @ h, "htd": d + (s.A - A_b).T @ h}.get(algorithm, d - (s.C - s.A.T) @ h)
        decay = {"htd": A_b.T @ h, "tdrc": s.C @ h + reg * h}.get(algorithm, s.C @ h)
        return np.concatenate((dw, 0 * h if algorithm == "td" else ratio * (d - decay)))

    M = np.column_stack([step(z) for z in np.eye(4)])[: 2 if algorithm == "td" else 4, : 2 if algorithm == "td" else 4]
    radius = np.abs(np.linalg.eigvals(np.eye(len(M)) + 1e-7 * M)).max()
    rate = s.growth_rate(algorithm, ratio=ratio, reg=reg)
    assert (radius - 1) / 1e-7 == pytest.approx(rate, abs=1e-5 * (1 + np.abs(M).max() ** 2))


def test_on_policy_htd_is_td_and_dependent_features_are_left_out() -> None:
    raw = raw_mdp(4)
    features = np.random.default_rng(0).normal(size=(5, 2))
    twice = np.column_stack((features, features[:, 0]))
    one, two = (raw.mdp().under(raw.pi).linear_system(x, 0.5) for x in (features, twice))
    assert one.growth_rate("htd") == pytest.approx(one.growth_rate())
    assert two.is_stable()
    assert two.is_positive_definite()
    assert np.linalg.eigvals(two.A).real.min() == pytest.approx(0, abs=1e-12)


@examples(60)
@given(SEEDS, st.booleans())
def test_key_matrix(seed: int, episodic: bool) -> None:
    """K written densely; its columns sum to d∘i; K + Kᵀ is positive definite for any interest above 0."""
    raw = raw_mdp(seed, episodic=episodic)
    mdp, rng, n = raw.mdp(), np.random.default_rng(seed), raw.n
    lam, interest, features = rng.random(n), 0.1 + rng.random(n), rng.normal(size=(n, 3))
    d = np.where(raw.terminal, 0.0, mdp.under(raw.b).state_distribution())
    d /= d.sum()
    P, g = raw.P_of(raw.pi), raw.g()
    f = np.linalg.solve(np.eye(n) - (P * g).T, d * interest)
    m = lam * d * interest + (1 - lam) * f
    K = np.diag(m) @ np.linalg.inv(np.eye(n) - P * (g * lam)) @ (np.eye(n) - P * g)
    system = mdp.under(raw.pi, raw.b).linear_system(features, lam, method="etd", interest=interest)
    live = d > 0
    np.testing.assert_allclose(system.key_matrix()[np.ix_(live, live)], K[np.ix_(live, live)], atol=1e-9)
    np.testing.assert_allclose(system.key_matrix().sum(axis=0)[live], (d * interest)[live], atol=1e-9)
    Xt = np.where(raw.terminal[:, None], 0.0, features)
    np.testing.assert_allclose(system.A, Xt.T @ K @ Xt, atol=1e-8)
    assert system.is_positive_definite("K")
    assert system.is_positive_definite()
    found = mdp.under(raw.pi, raw.b).emphasis(lam, interest=interest)
    np.testing.assert_allclose(found.followon, f, atol=1e-9)
    np.testing.assert_allclose(found.emphasis, m, atol=1e-9)


@examples(20)
@given(SEEDS)
def test_emphatic_limits(seed: int) -> None:
    """β = 0 or λ = 1 is TD; one-hot features have v_π; on-policy, γ constant, λ = 0: f = d/(1-γ)."""
    raw = raw_mdp(seed, episodic=False)
    mdp, rng = raw.mdp(), np.random.default_rng(seed)
    lam, features = rng.random(raw.n), rng.normal(size=(raw.n, 2))
    td_A = mdp.under(raw.pi, raw.b).linear_system(features, lam).A
    np.testing.assert_allclose(
        mdp.under(raw.pi, raw.b).linear_system(features, lam, method="etd", beta=0.0).A, td_A, atol=1e-12
    )
    at_one = mdp.under(raw.pi, raw.b).linear_system(features, 1.0, method="etd").A
    np.testing.assert_allclose(at_one, mdp.under(raw.pi, raw.b).linear_system(features, 1.0).A, atol=1e-10)
    seen = mdp.under(raw.b).state_distribution() > 0
    v = mdp.under(raw.pi, raw.b).etd_fixed_point(np.eye(raw.n), lam)
    np.testing.assert_allclose(v[seen], raw.v(raw.pi)[seen], atol=1e-7)
    constant = td.FiniteMDP(raw.P, raw.R, discount=0.8)
    f = constant.under(raw.pi).emphasis(0.0).followon
    np.testing.assert_allclose(f, constant.under(raw.pi).state_distribution() / 0.2, atol=1e-9)
    with pytest.raises(ValueError, match="beta must be smaller: the follow-on trace has no finite mean"):
        constant.under(raw.pi).emphasis(0.0, beta=1.0)


@pytest.mark.parametrize("beta", [None, 0.4])
def test_emphatic_update_on_a_trajectory(beta: float | None) -> None:
    """F = ρ⁻γF⁻ + i, M = λi + (1-λ)F, e = ρ(γλe + Mx): the mean of δe over 600 000 steps, γ, λ, i varying."""
    raw = raw_mdp(14, n=4, actions=2)
    rng, g = np.random.default_rng(3), raw.g()
    g = g * np.array([0.7, 0.9, 0.5, 1.0])
    features = np.where(raw.terminal[:, None], 0.0, rng.normal(size=(4, 2)))
    lam, i, w = np.array([0.3, 0.8, 0.6, 0.0]), np.array([1.0, 0.2, 2.0, 0.0]), np.array([0.5, -1.0])
    mdp = td.FiniteMDP(raw.P, raw.R, discount=g, terminal=raw.terminal, start=raw.start)
    system = mdp.under(raw.pi, raw.b).linear_system(features, lam, method="etd", interest=i, beta=beta)
    agents, steps, warm = 2000, 350, 50
    s = rng.choice(4, size=agents, p=raw.start)
    e, total, F, before = np.zeros((agents, 2)), np.zeros((agents, 2)), np.zeros(agents), np.zeros(agents)
    policy, model = np.cumsum(raw.b, axis=1), np.cumsum(raw.P, axis=2)
    for step in range(steps):
        a = (rng.random(agents)[:, None] >= policy[s, :-1]).sum(axis=1)
        t = (rng.random(agents)[:, None] >= model[s, a, :-1]).sum(axis=1)
        F = before * (g[s] if beta is None else beta) * F + i[s]
        M = lam[s] * i[s] + (1 - lam[s]) * F
        rho = raw.pi[s, a] / raw.b[s, a]
        e = rho[:, None] * ((g * lam)[s][:, None] * e + M[:, None] * features[s])
        delta = raw.R[s, a, t] + g[t] * (features[t] @ w) - features[s] @ w
        if step >= warm:
            total += delta[:, None] * e
        ended = raw.terminal[t]
        e[ended], before = 0.0, np.where(ended, 0.0, rho)
        s = np.where(ended, rng.choice(4, size=agents, p=raw.start), t)
    means = total / (steps - warm)
    error = means.std(axis=0) / np.sqrt(agents)
    assert (np.abs(means.mean(axis=0) - (system.b - system.A @ w)) < 4.5 * error).all()
    assert (error < 0.02).all()


@examples(20)
@given(SEEDS, st.booleans())
def test_expected_trace(seed: int, off_policy: bool) -> None:
    """z as a sum over the past, and the mean update that it gives is TD(λ)'s."""
    raw = raw_mdp(seed)
    mdp, rng, n = raw.mdp(), np.random.default_rng(seed), raw.n
    lam, b = rng.random(n), raw.b if off_policy else raw.pi
    P, g = raw.P_of(raw.pi), raw.g()
    d = np.where(raw.terminal, 0.0, mdp.under(b).state_distribution())
    d /= d.sum()
    one_hot = np.eye(n) * ~raw.terminal[:, None]
    z = mdp.under(raw.pi, b).expected_trace(np.eye(n), lam)
    total = layer = d[:, None] * one_hot
    for _ in range(3000):
        layer = (g * lam)[:, None] * (P.T @ layer)
        total = total + layer
    np.testing.assert_allclose(d[:, None] * z, total, atol=1e-9)
    A = (d[:, None] * z).T @ (one_hot - P @ (g[:, None] * one_hot))
    np.testing.assert_allclose(A, mdp.under(raw.pi, b).linear_system(np.eye(n), lam).A, atol=1e-9)


def test_lambda_discrepancy() -> None:
    """A, B → m → ±1 with m aliased: v_λ(A) = λ, v_λ(B) = -λ, v_λ(m) = 0; d is ¼ for each of the four states."""
    P = np.zeros((5, 5))
    P[0, 2] = P[1, 3] = P[2, 4] = P[3, 4] = 1.0
    mdp = td.FiniteMDP(P, [0.0, 0.0, 1.0, -1.0, 0.0], terminal=[4], start=[0.5, 0.5, 0, 0, 0])
    aliased = np.array([7, 8, 3, 3, 3])
    for lam in (0.0, 0.4, 1.0):
        w = mdp.under().td_fixed_point(aliased, lam)
        np.testing.assert_allclose(w, [0.0, lam, -lam], atol=1e-12)  # observations 3, 7, 8
    assert mdp.under().lambda_discrepancy(aliased) == pytest.approx(np.sqrt(0.5))
    assert mdp.under().lambda_discrepancy(aliased, 0.7, 0.3) == pytest.approx(0.4 * np.sqrt(0.5))
    assert mdp.under().lambda_discrepancy(np.arange(5)) == pytest.approx(0, abs=1e-12)


@examples(20)
@given(SEEDS)
def test_no_discrepancy_where_observations_are_markov(seed: int) -> None:
    """Each state split in two that behave alike: their observations are Markov; other features are not."""
    raw = raw_mdp(seed, n=4, episodic=False)
    rng = np.random.default_rng(seed)
    share = rng.random((8, 2, 4))
    P = np.repeat(raw.P, 2, axis=0)
    P = np.stack((P * share, P * (1 - share)), axis=-1).reshape(8, 2, 8)
    R = np.repeat(np.repeat(raw.R, 2, axis=0), 2, axis=2)
    mdp = td.FiniteMDP(P, R, discount=np.repeat(np.minimum(raw.gamma, 0.9), 2))
    pi, lam = np.repeat(raw.pi, 2, axis=0), rng.random(8)
    scale = np.abs(mdp.v(pi)).max()
    assert mdp.under(pi).lambda_discrepancy(np.repeat(np.arange(4), 2), lam, 0.0) < 1e-9 * scale
    assert mdp.under(pi).lambda_discrepancy(np.arange(8) % 2, 1.0, 0.0) > 1e-6 * scale

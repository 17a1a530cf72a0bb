"""Mean and variance of the λ-return against trajectories enumerated, trajectories drawn, and E[G²] - E[G]²."""

from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from random_mdps import SEEDS, Array, Raw, dense_moments, raw_mdp
from searching import examples

import tdlambda as td

CORRECTIONS = ["per-decision", "control-variate"]


def enumerated(raw: Raw, V: Array, lam: Array, pi: Array, b: Array, correction: str, s: int) -> tuple[float, float]:
    """E[G] and Var[G] from state s by listing every trajectory, with its probability and its return."""
    g, V = raw.g(), np.where(raw.terminal, 0.0, V)
    returns: list[tuple[float, float]] = []

    def follow(s: int, probability: float, scale: float, total: float) -> None:
        """`total` so far; what follows counts `scale` times."""
        if raw.terminal[s] or scale == 0:
            returns.append((probability, total))
            return
        for a in range(raw.P.shape[1]):
            if b[s, a] == 0:
                continue
            rho = pi[s, a] / b[s, a]
            for t in range(raw.n):
                p = probability * b[s, a] * raw.P[s, a, t]
                if p == 0:
                    continue
                spread = np.sqrt(max(raw.R2[s, a, t] - raw.R[s, a, t] ** 2, 0.0))
                for reward in (raw.R[s, a, t] - spread, raw.R[s, a, t] + spread):
                    now = rho * (reward + g[t] * (1 - lam[t]) * V[t])
                    now += (1 - rho) * V[s] if correction == "control-variate" else 0.0
                    follow(t, p / 2, scale * rho * g[t] * lam[t], total + scale * now)

    follow(s, 1.0, 1.0, 0.0)
    p, G = np.array(returns).T
    assert p.sum() == pytest.approx(1)
    mean = p @ G
    return float(mean), float(p @ (G - mean) ** 2)


@examples(15)
@given(SEEDS, st.integers(1, 2), st.sampled_from(CORRECTIONS), st.booleans())
def test_every_trajectory(seed: int, actions: int, correction: Any, on_policy: bool) -> None:
    raw = raw_mdp(seed, n=4, actions=actions, layered=True)
    rng = np.random.default_rng(seed)
    V, lam = rng.normal(size=4), rng.choice([0.0, 1.0, 0.3, 0.8], 4)
    b = raw.pi if on_policy else raw.b
    ours = raw.mdp().under(raw.pi, None if on_policy else b).lambda_return(V, lam, correction)
    for s in range(3):
        mean, variance = enumerated(raw, V, lam, raw.pi, b, correction, s)
        assert ours.mean[s] == pytest.approx(mean, abs=1e-9)
        assert ours.variance[s] == pytest.approx(variance, abs=1e-9)


@examples(60)
@given(SEEDS, st.integers(2, 6), st.integers(1, 3), st.sampled_from(CORRECTIONS), st.booleans(), st.booleans())
def test_second_moment_system(
    seed: int, n: int, actions: int, correction: Any, on_policy: bool, episodic: bool
) -> None:
    raw = raw_mdp(seed, n=n, actions=actions, episodic=episodic)
    rng = np.random.default_rng(seed)
    V, lam = rng.normal(size=n), rng.random(n) ** rng.choice([0.0, 1.0])
    b = raw.pi if on_policy else raw.b
    dense = dense_moments(raw, V, lam, raw.pi, b, correction)
    assume(dense.radius < 0.97)
    ours = raw.mdp().under(raw.pi, None if on_policy else b).lambda_return(V, lam, correction)
    np.testing.assert_allclose(ours.mean, dense.mean, atol=1e-9)
    np.testing.assert_allclose(ours.variance, dense.variance, atol=1e-9 * (1 + dense.variance.max()))
    np.testing.assert_allclose(ours.second_moment, dense.variance + dense.mean**2, rtol=1e-8, atol=1e-9)
    if on_policy:  # ρ = 1: where ρ goes does not matter
        other = raw.mdp().under(raw.pi).lambda_return(V, lam, correction="per-decision")
        np.testing.assert_allclose(ours.variance, other.variance, atol=1e-12)


@examples(25)
@given(SEEDS, st.sampled_from(CORRECTIONS))
def test_means_that_must_be_the_value(seed: int, correction: Any) -> None:
    """λ = 1, or V = v at any λ: E[G] = v under both corrections, whatever the behaviour."""
    raw = raw_mdp(seed, actions=3)
    mdp, rng = raw.mdp(), np.random.default_rng(seed)
    v = raw.v(raw.pi)
    lam = rng.random(raw.n)
    np.testing.assert_allclose(mdp.under(raw.pi, raw.b).lambda_return(v, lam, correction).mean, v, atol=1e-9)
    V = rng.normal(size=raw.n) if correction == "per-decision" else v
    np.testing.assert_allclose(mdp.under(raw.pi, raw.b).lambda_return(V, 1.0, correction).mean, v, atol=1e-9)
    V = rng.normal(size=raw.n)
    np.testing.assert_allclose(mdp.under(raw.pi, raw.b).lambda_return(V, 1.0, correction).mean, v, atol=1e-9)
    # λ = 0: one step of the Bellman operator
    one_step = raw.mdp().under(raw.pi, raw.b).lambda_return(V, 0.0, "per-decision").mean
    r = np.einsum("sa,sat,sat->s", raw.pi, raw.P, raw.R)
    expected = r + raw.P_of(raw.pi) @ (raw.g() * V)
    np.testing.assert_allclose(one_step, np.where(raw.terminal, 0, expected), atol=1e-9)
    np.testing.assert_array_equal(
        mdp.under(raw.pi, raw.b).return_variance(), mdp.under(raw.pi, raw.b).lambda_return(0.0, 1.0).variance
    )


@pytest.mark.parametrize("correction", CORRECTIONS)
@pytest.mark.parametrize("on_policy", [True, False])
def test_drawn_trajectories(on_policy: bool, correction: Any) -> None:
    """200 000 returns from each state, summed forward as G = Σ (Π c) a."""
    raw = raw_mdp(4, n=4, actions=2)
    rng = np.random.default_rng(7)
    V, lam, g = rng.normal(size=4), np.array([0.9, 0.5, 1.0, 0.7]), raw.g()
    Vt = np.where(raw.terminal, 0.0, V)
    b = raw.pi if on_policy else raw.b
    assert dense_moments(raw, V, lam, raw.pi, b, correction).radius < 0.6
    ours = raw.mdp().under(raw.pi, b).lambda_return(V, lam, correction)
    spread = np.sqrt(np.maximum(raw.R2 - raw.R**2, 0))
    N = 200_000
    for s0 in range(3):
        state, total, scale = np.full(N, s0), np.zeros(N), np.ones(N)
        alive = np.arange(N)
        while alive.size:
            s = state[alive]
            a = (rng.random(s.size)[:, None] >= np.cumsum(b, axis=1)[s, :-1]).sum(axis=1)
            t = (rng.random(s.size)[:, None] >= np.cumsum(raw.P, axis=2)[s, a, :-1]).sum(axis=1)
            reward = raw.R[s, a, t] + spread[s, a, t] * rng.choice([-1, 1], s.size)
            rho = raw.pi[s, a] / b[s, a]
            now = rho * (reward + g[t] * (1 - lam[t]) * Vt[t])
            now += (1 - rho) * Vt[s] if correction == "control-variate" else 0.0
            total[alive] += scale[alive] * now
            scale[alive] *= rho * g[t] * lam[t]
            state[alive] = t
            alive = alive[~raw.terminal[t] & (scale[alive] > 0)]
        assert abs(total.mean() - ours.mean[s0]) < 4.5 * np.sqrt(ours.variance[s0] / N)
        squares = (total - ours.mean[s0]) ** 2
        assert abs(squares.mean() - ours.variance[s0]) < 4.5 * squares.std() / np.sqrt(N)


def test_infinite_exactly_where_the_loop_can_be_reached() -> None:
    # 0 → 1 ⇄ 1 (loop) → 3 (end); 2 → 3; 4 → 2; π stays in 1 with .9, b with .5: Σπ²/b = 1.62 > 1
    P = np.zeros((5, 2, 5))
    P[0, :, 1] = P[1, 0, 1] = P[1, 1, 3] = P[2, :, 3] = P[4, :, 2] = 1.0
    mdp = td.FiniteMDP(P, [1.0, 1.0, 1.0, 0, 1.0], terminal=[3], start=0)
    pi, b = [0.9, 0.1], [0.5, 0.5]
    variance = mdp.under(pi, b).return_variance()
    assert np.isinf(variance).tolist() == [True, True, False, False, False]
    # state 2: ρ ∈ {1.8, .2}, G = ρ, Var = .64; state 4: G = ρ(1 + G'), Var = E ρ²(1+G')² - 4 = 1.64·(1 + 2 + 1.64) - 4
    np.testing.assert_allclose(variance[[2, 3, 4]], [0.64, 0, 1.64 * 4.64 - 4], atol=1e-12)
    # 1.62 λ² < 1 below λ = .7857
    assert np.isfinite(mdp.under(pi, b).lambda_return(0.0, 0.78).variance).all()
    assert np.isinf(mdp.under(pi, b).lambda_return(0.0, 0.79).variance).tolist() == [True, True, False, False, False]
    # λ(1) = .5 ends it; λ(0) = 0 does not matter to anyone
    assert np.isfinite(mdp.under(pi, b).lambda_return(0.0, [0, 0.5, 1, 1, 1]).variance).all()
    # λ(1) = 0 on entry, yet λ = 1 elsewhere: finite
    assert mdp.under(pi, b).target_error(0.0, 1.0) == np.inf
    assert np.isfinite(mdp.under(pi, b).target_error(0.0, 1.0, weights=[0, 0, 1, 0, 1]))
    with pytest.raises(ValueError, match="the λ-return from state 0 has infinite variance"):
        mdp.under(pi, b).target_error_gradient(0.0, 1.0)


@examples(60)
@given(SEEDS)
def test_infinite_variance_by_the_growth_of_the_series(seed: int) -> None:
    """Var = Σ_k E[c²]^k E[δ²] summed term by term: infinite where the terms do not die."""
    rng = np.random.default_rng(seed)
    n = 6
    P = np.zeros((n, 2, n))
    for s in range(n - 1):
        P[s, 0, rng.integers(n)] = P[s, 1, rng.integers(n)] = 1.0
        P[s, 1, n - 1] += 1.0
    P /= np.maximum(P.sum(axis=2, keepdims=True), 1)
    pi, b = np.array([0.8, 0.2]), np.array([0.45, 0.55])
    R = rng.normal(size=(n, 2))
    mdp = td.FiniteMDP(P, R, terminal=[n - 1])
    M = (P * (pi**2 / b)[:, None]).sum(axis=1)
    radii = np.abs(np.linalg.eigvals(M))
    assume((np.abs(radii - 1) > 0.02).all())
    terms = np.ones(n)
    terms[-1] = 0.0
    for _ in range(3000):
        terms = np.minimum(M @ terms, 1e200)
    variance = mdp.under(pi, b).return_variance()
    assert np.isinf(variance).tolist() == (terms > 1e-6).tolist()
    assert (variance[np.isfinite(variance)] >= 0).all()


def test_loop_of_exactly_one_is_infinite_without_a_warning() -> None:
    P = np.array([[[1.0, 0], [0, 1]], [[0, 0], [0, 0]]])
    mdp = td.FiniteMDP(P, [1.0, 0], terminal=[1])
    assert mdp.under([0.5, 0.5], [0.25, 0.75]).return_variance().tolist() == [np.inf, 0]


def test_certain_returns_have_no_variance_even_where_the_series_grows() -> None:
    P = np.array([[[1.0, 0], [0, 1]], [[0, 0], [0, 0]]])
    nothing = td.FiniteMDP(P, [0.0, 0], terminal=[1])
    pi, b = [0.9, 0.1], [0.5, 0.5]
    assert nothing.under(pi, b).return_variance().tolist() == [0, 0]
    # V = v and rewards that do not depend on the action: the control variate takes all of it away
    P = np.zeros((3, 2, 3))
    P[0, :, 1] = P[1, :, 0] = 0.9
    P[0, :, 2] = P[1, :, 2] = 0.1
    same = td.FiniteMDP(P, [[[0.1, 0.1, 1.0]] * 2] * 3, discount=0.9, terminal=[2])
    v = same.v(pi)  # v = 1 = .1 + .9 · 1: the same on every path
    assert v[0] == pytest.approx(1)
    np.testing.assert_allclose(same.under(pi, b).lambda_return(v, 1.0, "control-variate").variance, 0, atol=1e-20)
    assert np.isinf(same.under(pi, b).lambda_return(v, 1.0).variance[:2]).all()

"""A, b, C and the fixed points of TD(λ) and GTD(λ) with linear features."""

from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from random_mdps import SEEDS, Array, raw_mdp
from searching import examples

import tdlambda as td


def distribution(P: Array, terminal: Array, start: Array) -> Array:
    """The restarted chain's long run over non-terminal states."""
    P = P.copy()
    P[terminal] = start
    n = len(P)
    d = np.linalg.lstsq(np.vstack((P.T - np.eye(n), np.ones(n))), np.append(np.zeros(n), 1.0), rcond=None)[0]
    d[terminal] = 0
    return d / d.sum()


@examples(30)
@given(SEEDS, st.booleans(), st.booleans())
def test_A_b_C_as_a_series(seed: int, on_policy: bool, episodic: bool) -> None:
    """A = Xᵀ D Σ_k (P_π Γ Λ)^k (I - P_π Γ) X, one power after the other."""
    raw = raw_mdp(seed, episodic=episodic)
    rng = np.random.default_rng(seed)
    X, lam = rng.normal(size=(raw.n, 3)), rng.random(raw.n)
    b = raw.pi if on_policy else raw.b
    system = raw.mdp().under(raw.pi, None if on_policy else b).linear_system(X, lam)
    Xt = np.where(raw.terminal[:, None], 0.0, X)
    P, g = raw.P_of(raw.pi), raw.g()
    D = np.diag(distribution(raw.P_of(b), raw.terminal, raw.start))
    r = np.where(raw.terminal, 0.0, np.einsum("sa,sat,sat->s", raw.pi, raw.P, raw.R))
    step, power, total = P * (g * lam), np.eye(raw.n), np.zeros((raw.n, raw.n))
    for _ in range(3000):
        total += power
        power = power @ step
    assert np.abs(power).max() < 1e-12
    np.testing.assert_allclose(system.A, Xt.T @ D @ total @ (Xt - P @ (g[:, None] * Xt)), atol=1e-9)
    np.testing.assert_allclose(system.b, Xt.T @ D @ total @ r, atol=1e-9)
    np.testing.assert_allclose(system.C, Xt.T @ D @ Xt, atol=1e-9)


@examples(30)
@given(SEEDS, st.floats(0, 1))
def test_fixed_points(seed: int, lam: float) -> None:
    raw = raw_mdp(seed)
    mdp, rng = raw.mdp(), np.random.default_rng(seed)
    v, free = raw.v(raw.pi), np.flatnonzero(~raw.terminal)
    one_hot = np.eye(raw.n)[:, free]
    for behavior in (None, raw.b):  # a table represents v, at any λ
        np.testing.assert_allclose(mdp.under(raw.pi, behavior).td_fixed_point(one_hot, lam), v[free], atol=1e-7)
        np.testing.assert_allclose(mdp.under(raw.pi, behavior).gtd_fixed_point(one_hot, lam), v[free], atol=1e-7)
        assert mdp.under(raw.pi, behavior).mspbe(v[free], one_hot, lam) == pytest.approx(0, abs=1e-15)
    X = rng.normal(size=(raw.n, 2))
    d = distribution(raw.P_of(raw.pi), raw.terminal, raw.start)
    root = np.sqrt(d)[:, None]  # λ = 1, on-policy: the projection of v
    best = np.linalg.lstsq(root * X, root[:, 0] * v, rcond=None)[0]
    np.testing.assert_allclose(mdp.under(raw.pi).td_fixed_point(X, 1.0), best, atol=1e-8)
    system = mdp.under(raw.pi, raw.b).linear_system(X, lam)
    w = rng.normal(size=2)
    update = system.b - system.A @ w
    assert mdp.under(raw.pi, raw.b).mspbe(w, X, lam) == pytest.approx(
        update @ np.linalg.solve(system.C, update), rel=1e-7
    )
    assert mdp.under(raw.pi, raw.b).mspbe(w, X, lam) >= 0
    assert system.mspbe(system.td_fixed_point()) == pytest.approx(0, abs=1e-12)
    np.testing.assert_allclose(system.gtd_fixed_point(), system.td_fixed_point(), atol=1e-5)


def test_no_fixed_point_is_an_error_and_gtd_still_has_one() -> None:
    """Off-policy, features (1, 2): Aw = b fails when A = 0 and b ≠ 0."""
    # state 0 (x = 1) → 1 (x = 2) → 1: π always goes on, b ends with .5; A vanishes at one γ
    P = np.zeros((3, 2, 3))
    P[0, 0, 1] = P[1, 0, 1] = 1.0
    P[:2, 1, 2] = 1.0
    pi, b, X = [1.0, 0.0], [0.5, 0.5], np.array([[1.0], [2.0], [0.0]])
    # start 0: y₀ = 1, y₁ = ½ + ½y₁ = 1; D = ½, ½: A = ½[1(1 - 2γ) + 2(2 - 2γ)] = ½(5 - 6γ) = 0 at γ = 5/6
    mdp = td.FiniteMDP(P, [1.0, 1.0, 0], discount=5 / 6, terminal=[2], start=0)
    system = mdp.under(pi, b).linear_system(X, 0.0)
    np.testing.assert_allclose(system.A, 0, atol=1e-15)
    np.testing.assert_allclose(system.b, [1.5])
    exactly = type(system)(np.zeros((1, 1)), system.b, system.C)
    with pytest.raises(ValueError, match=r"TD.λ. has no fixed point"):
        exactly.td_fixed_point()
    np.testing.assert_array_equal(exactly.gtd_fixed_point(), [0.0])


def lake_features() -> Array:
    """12 binary features, 4 active: [r=0|r>0], [(r>1) x (c=3)], [(r=3) x (c>1)], [c=0|c>0]."""
    X = np.zeros((16, 12))
    for s in range(16):
        r, c = divmod(s, 4)
        X[s, int(r > 0)] = 1
        X[s, 2 + 2 * (r > 1) + (c == 3)] = 1
        X[s, 6 + 2 * (r == 3) + (c > 1)] = 1
        X[s, 10 + (c > 0)] = 1
    return X


def test_features_that_depend_on_each_other() -> None:
    mdp = td.FiniteMDP.from_table(gym.make("FrozenLake-v1"), discount=0.95)
    target, X = [0.2, 0.3, 0.3, 0.2], lake_features()
    assert np.linalg.matrix_rank(X) == 9
    d, v = mdp.under(target).error_weights(), mdp.v(target)
    root = np.sqrt(d)[:, None]
    best = X @ np.linalg.lstsq(root * X, root[:, 0] * v, rcond=None)[0]
    assert mdp.under(target).value_error(best, weights=d, half=False) == pytest.approx(1.14e-4, abs=5e-7)
    assert mdp.under(target).value_error(0.0, weights=d, half=False) == pytest.approx(2.65e-3, abs=5e-6)
    # on-policy TD(1) finds exactly that projection; the least of all such weights
    w = mdp.under(target).td_fixed_point(X, 1.0)
    assert mdp.under(target).value_error(X @ w, half=False) == pytest.approx(1.14e-4, abs=5e-7)
    kernel = np.linalg.svd(np.where(mdp.terminal[:, None], 0, X))[2][-3:]
    np.testing.assert_allclose(kernel @ w, 0, atol=1e-9)
    for lam in (0.0, 0.5, 0.9):
        td_w = mdp.under(target, [0.25] * 4).td_fixed_point(X, lam)
        gtd_w = mdp.under(target, [0.25] * 4).gtd_fixed_point(X, lam)
        np.testing.assert_allclose(X @ td_w, X @ gtd_w, atol=1e-8)
        assert mdp.under(target, [0.25] * 4).mspbe(td_w, X, lam) == pytest.approx(0, abs=1e-18)
        assert mdp.under(target, [0.25] * 4).mspbe(np.zeros(12), X, lam) > 1e-6


def test_update_measured_on_a_trajectory() -> None:
    """The mean of δ e, with e = ρ(γλe + x), over 600 000 off-policy steps of 2000 agents."""
    raw = raw_mdp(14, n=4, actions=2)
    rng = np.random.default_rng(3)
    X = np.where(raw.terminal[:, None], 0.0, rng.normal(size=(4, 2)))
    lam, w, g = np.array([0.3, 0.8, 0.6, 0.0]), np.array([0.5, -1.0]), raw.g()
    system = raw.mdp().under(raw.pi, raw.b).linear_system(X, lam)
    spread = np.sqrt(np.maximum(raw.R2 - raw.R**2, 0))
    agents, steps, warm = 2000, 350, 50
    s = rng.choice(4, size=agents, p=raw.start)
    e, total = np.zeros((agents, 2)), np.zeros((agents, 2))
    policy, model = np.cumsum(raw.b, axis=1), np.cumsum(raw.P, axis=2)
    for step in range(steps):
        a = (rng.random(agents)[:, None] >= policy[s, :-1]).sum(axis=1)
        t = (rng.random(agents)[:, None] >= model[s, a, :-1]).sum(axis=1)
        reward = raw.R[s, a, t] + spread[s, a, t] * rng.choice([-1, 1], agents)
        rho = raw.pi[s, a] / raw.b[s, a]
        e = rho[:, None] * ((g * lam)[s][:, None] * e + X[s])
        delta = reward + g[t] * (X[t] @ w) - X[s] @ w
        if step >= warm:
            total += delta[:, None] * e
        ended = raw.terminal[t]
        e[ended] = 0.0
        s = np.where(ended, rng.choice(4, size=agents, p=raw.start), t)
    means = total / (steps - warm)
    error = means.std(axis=0) / np.sqrt(agents)
    assert (np.abs(means.mean(axis=0) - (system.b - system.A @ w)) < 4.5 * error).all()
    assert (error < 0.02).all()


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (np.zeros((3, 2)), r"features must have shape \(2, number of features\); got \(3, 2\)"),
        (np.zeros(2), r"features must have shape \(2, number of features\); got \(2,\)"),
        ([[0.0], [np.nan]], "features of state 1 must be finite; got"),
    ],
)
def test_wrong_features_are_refused(X: Any, message: str) -> None:
    mdp = td.FiniteMDP([[0.5, 0.5], [0, 0]], [1.0, 0], terminal=[1])
    exact = mdp.under()
    for call in (exact.linear_system, exact.td_fixed_point, exact.gtd_fixed_point):
        with pytest.raises(ValueError, match=message):
            call(X, 0.5)
    with pytest.raises(ValueError, match=r"weights must have shape \(1,\)"):
        mdp.under().mspbe([1.0, 2.0], np.ones((2, 1)), 0.5)


def test_features_of_terminal_states_do_not_matter() -> None:
    raw = raw_mdp(2)
    X = np.random.default_rng(0).normal(size=(raw.n, 3))
    other = X.copy()
    other[raw.terminal] = 100.0
    one, two = (raw.mdp().under(raw.pi, raw.b).linear_system(x, 0.7) for x in (X, other))
    np.testing.assert_array_equal(one.A, two.A)
    np.testing.assert_array_equal(one.C, two.C)


def test_the_unit_of_a_feature_does_not_matter() -> None:
    mdp = td.make("TwoState-v0").mdp
    one_hot = np.eye(3)[:, :2]
    for scale in (1e-9, 1e-6, 1e6):
        X = one_hot * [1.0, scale]
        np.testing.assert_allclose(X @ mdp.under().gtd_fixed_point(X, 0.5), mdp.v(), atol=1e-9)
        np.testing.assert_allclose(X @ mdp.under().td_fixed_point(X, 0.5), mdp.v(), atol=1e-9)
        assert abs(mdp.under().mspbe([0, 0], X, 0.5) - mdp.under().mspbe([0, 0], one_hot, 0.5)) < 1e-9

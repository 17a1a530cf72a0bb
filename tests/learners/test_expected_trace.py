"""Expected traces: golden weights, plain NumPy, TD(λ) at η = 1, mean updates and fixed points."""

from typing import Any

import numpy as np
import pytest
from plain_squares import Array, repeated, stream

import tdlambda as td


def reference(X: Array, lam: Array, columns: Any, alpha: float, beta: float, eta: float, w: Array) -> Array:
    """The module's equations, with dense Θ."""
    d = X.shape[1]
    theta, w, e, z, decay = np.zeros((d, d)), w.copy(), np.zeros(d), np.zeros(d), 0.0
    for s, r, s_next, gamma, rho, terminated, truncated in zip(*columns, strict=True):
        x, gamma_next = X[s], 0.0 if terminated else gamma
        e = decay * e + x
        theta = theta + beta * np.outer(e - theta @ x, x)
        z = (1 - eta) * (theta @ x) + eta * (decay * z + x)
        w += alpha * rho * (r + gamma_next * w @ X[s_next] - w @ x) * z
        decay = 0.0 if terminated or truncated else rho * gamma_next * lam[s_next]
    return w


@pytest.mark.parametrize("eta", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("seed", range(4))
def test_plain_numpy_with_gamma_lambda_rho_at_every_step(eta: float, seed: int) -> None:
    steps, w = stream(seed, states=6), np.random.default_rng(seed).normal(size=4)
    v = td.ExpectedTrace(td.features.Table(steps.X), 0.05, td.rules.PerState(steps.lam), 0.1, eta, initial=w, bound=1e9)
    v.update_many(*steps.columns)
    np.testing.assert_allclose(v.weights, reference(*steps, 0.05, 0.1, eta, w), rtol=1e-11, atol=1e-12)


def test_equal_indices_add() -> None:
    rng, coder = np.random.default_rng(1), repeated()
    obs, r, rho = rng.random((31, 1)), rng.normal(size=30), rng.choice([0.5, 1.0, 1.5], 30)
    X = np.array([coder.dense(o) for o in obs])
    columns = (np.arange(30), r, np.arange(1, 31), np.full(30, 0.8), rho, np.zeros(30, bool), np.zeros(30, bool))
    v = td.ExpectedTrace(coder, 0.02, 0.7, 0.05, 0.4, bound=1e9)
    v.update_many(obs[:-1], r, obs[1:], 0.8, rho)
    exact = reference(X, np.full(31, 0.7), columns, 0.02, 0.05, 0.4, np.zeros(6))
    np.testing.assert_allclose(v.weights, exact, rtol=1e-11)


def test_golden_weights() -> None:
    """12 transitions, the sixth of them terminal: x_t[i] = cos(1 + 1.3 t + 2.1 i), r_{t+1} = sin(0.7 (t+1))."""
    t = np.arange(13)
    X = np.cos(1 + 1.3 * t[:, None] + 2.1 * np.arange(3))
    v = td.ExpectedTrace(td.features.Dense(3), 0.1, 0.8, beta=0.2, initial=[0.1, 0.2, 0.3])
    v.update_many(X[:-1], np.sin(0.7 * t[1:]), X[1:], 0.9, 1.0, t[:-1] == 5)
    np.testing.assert_allclose(v.weights, [0.214621162, 0.103841913, 0.282468909], atol=5e-10)


@pytest.mark.parametrize("alpha", [0.05, td.steps.OneOver("visits", power=0.7)])
def test_eta_1_is_td_lambda(alpha: Any) -> None:
    steps = stream(3, states=6)
    v = td.ExpectedTrace(td.features.Table(steps.X), alpha, td.rules.PerState(steps.lam), 0.1, 1.0)
    plain = td.TD(td.features.Table(steps.X), alpha, td.rules.PerState(steps.lam), traces="accumulating")
    for row in zip(*steps.columns, strict=True):
        v.update(*row)
        plain.update(*row)
        np.testing.assert_allclose(v.weights, plain.weights, rtol=1e-10, atol=1e-12)


def chain(seed: int, states: int, T: int) -> tuple[Any, ...]:
    """A random chain, off-policy: P_π, its stationary d under b, rewards, and a stream of it."""
    rng, gamma = np.random.default_rng(seed), 0.8
    P = rng.dirichlet(np.ones(states), size=(2, states))
    pi, b = 0.3 + 0.4 * rng.random((2, states, 1))
    pi, b = np.hstack([pi, 1 - pi]), np.hstack([b, 1 - b])
    r = rng.normal(size=states)
    P_pi, P_b = (np.einsum("sa,ast->st", policy, P) for policy in (pi, b))
    s, a, u, sums = np.zeros(T + 1, int), np.zeros(T, int), rng.random((T, 2)), P.cumsum(axis=2)
    for t in range(T):
        a[t] = u[t, 0] > b[s[t], 0]
        s[t + 1] = min(np.searchsorted(sums[a[t], s[t]], u[t, 1]), states - 1)
    columns = (s[:-1], r[s[1:]], s[1:], np.full(T, gamma), (pi / b)[s[:-1], a])
    return P_pi, np.linalg.matrix_power(P_b, 500)[0], r, gamma, columns


def test_one_hot_theta_is_the_mean_trace_and_the_mean_update_is_td_lambdas() -> None:
    """M = D + γλ P_πᵀ M for M[s] = d(s) E[e | s]; TD(λ)'s mean update is D (I - γλP_π)⁻¹ E[ρδ | ·]."""
    n, lam = 4, 0.7
    P, d, r, gamma, columns = chain(1, n, 200_000)
    z = np.linalg.solve(np.eye(n) - gamma * lam * P.T, np.diag(d)).T / d  # column s is E[e | s]
    v = td.ExpectedTrace(td.features.OneHot(n), 1e-9, lam, td.steps.OneOver("visits"))
    v.update_many(*columns)
    for s in range(n):
        np.testing.assert_allclose(v.expected_trace(s), z[:, s], atol=0.02)
    w = np.random.default_rng(2).normal(size=n)
    delta = P @ (r + gamma * w) - w  # E[ρδ | s]
    update = d * np.linalg.solve(np.eye(n) - gamma * lam * P, delta)
    learned = np.array([v.expected_trace(s) for s in range(n)]).T
    np.testing.assert_allclose(learned @ (d * delta), update, atol=0.01)
    assert np.abs(update).max() > 0.1


def test_with_shared_features_it_has_the_fixed_point_of_td_0() -> None:
    n, lam = 6, 0.9
    P, d, r, gamma, columns = chain(4, n, 300_000)
    columns = (*columns[:4], np.ones_like(columns[4]))  # on-policy: b is the target
    s, s_next = columns[0], columns[2]
    counts = np.zeros((n, n))
    np.add.at(counts, (s, s_next), 1.0)
    P = counts / counts.sum(axis=1, keepdims=True)
    X = np.random.default_rng(5).normal(size=(n, 2)) / 2
    D, r_pi, eye = np.diag(d), P @ r, np.eye(n)

    def fixed_point(lam: float) -> Array:
        H = np.linalg.inv(eye - gamma * lam * P)
        return np.asarray(np.linalg.solve(X.T @ D @ H @ (eye - gamma * P) @ X, X.T @ D @ H @ r_pi))

    v = td.ExpectedTrace(
        td.features.Table(X), td.steps.OneOver("steps", 20.0, 200.0), lam, td.steps.OneOver("steps", 20.0, 200.0)
    )
    v.update_many(*columns)
    near, far = (np.abs(X @ (v.weights - fixed_point(at))).max() for at in (0.0, lam))
    assert near < 0.03
    assert far > 5 * near


def test_sparse_features_touch_their_own_columns_only() -> None:
    v = td.ExpectedTrace(td.features.OneHot(5), 0.1, 0.9, 0.5)
    v.update(1, 1.0, 3, 0.9)
    v.update(3, 1.0, 0, 0.9)
    assert np.flatnonzero(v._theta.any(axis=1)).tolist() == [1, 3]
    np.testing.assert_allclose(v.expected_trace(3), 0.5 * np.array([0, 0.81, 0, 1, 0]))


def test_a_step_of_theta_that_is_too_large_is_divergence_and_the_weights_are_numbers() -> None:
    for reward in (0.0, 1.0):
        v = td.ExpectedTrace(td.features.Dense(1), 1e-6, 0.0, beta=1.0, on_divergence="flag")
        v.update_many(np.full((400, 1), 3.0), np.full(400, reward), np.full((400, 1), 3.0), 0.5)
        assert v.diverged_at is not None
        assert np.isfinite(v.weights).all()
    v = td.ExpectedTrace(td.features.OneHot(2), 3.0, 0.0, 0.5, 1.0, bound=10.0)
    with pytest.raises(td.Diverged):
        v.update_many([0] * 9, np.ones(9), [1] * 9, gamma=1.0, terminated=True)


def test_reset_forgets_the_traces_only() -> None:
    v = td.ExpectedTrace(td.features.OneHot(2), 0.5, 1.0, 0.5, 0.5)
    v.update(0, 1.0, 1, gamma=1.0)
    w, theta = v.weights.copy(), v._theta.copy()
    v.reset()
    assert not v.trace.any()
    assert not v._e.any()
    np.testing.assert_array_equal(v.weights, w)
    np.testing.assert_array_equal(v._theta, theta)


def test_state_that_does_not_fit_and_bad_input() -> None:
    for name, bad in (
        ("alpha", 0.0), ("beta", -1.0), ("eta", 1.5), ("initial", np.nan), ("bound", 0.0), ("max_size", 0),
        ("on_divergence", "stop"),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=name):
            td.ExpectedTrace(td.features.OneHot(3), **({"alpha": 0.1} | {name: bad}))  # type: ignore[arg-type]
    v = td.ExpectedTrace(
        td.features.OneHot(3),
        td.steps.OneOver("visits"),
        beta=td.steps.OneOver("steps"),
        eta=0.2,
        initial=[1.0, 2.0, 3.0],
    )
    v.update(0, 1.0, 1, gamma=1.0)
    assert td.ExpectedTrace(**v.get_params()).get_params() == v.get_params()
    good = {name: array.copy() for name, array in v._state().items()}
    for name, at, value in (("visits", 0, -1.0), ("numbers", 4, 7.0), ("numbers", 5, 0.0), ("theta", (0, 0), np.nan)):
        state = {k: a.copy() for k, a in good.items()}
        state[name][at] = value
        other = td.ExpectedTrace(**v.get_params())
        with pytest.raises(ValueError, match="state"):
            other._restore(state)
        assert other.steps == 0

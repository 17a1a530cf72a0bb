"""Recursive LSTD(λ): against solving anew at each step, also where that is singular, and exact fixed points."""

from typing import Any

import numpy as np
import pytest
from plain_squares import Array, repeated, rows_of, stream

import tdlambda as td


def systems(rows: list[Any], ridge: float, mu: float) -> list[tuple[Array, Array]]:
    """S and b after each step. With forgetting, feature t mod d has its ridge renewed after step t."""
    d = len(rows[0][0])
    A, b, of_ridge, found = np.zeros((d, d)), np.zeros(d), np.full(d, ridge), []
    for t, (e, y, r) in enumerate(rows):
        A, b = mu * A + np.outer(e, y), mu * b + e * r
        if mu < 1:
            of_ridge = mu * of_ridge
            of_ridge[t % d] = ridge
        found.append((A + np.diag(of_ridge), b))
    return found


def agrees(w: Array, S: Array, b: Array) -> bool:
    """Whether w solves the system as well as its condition allows."""
    if np.linalg.cond(S) > 1e8:
        return bool(np.isfinite(w).all())
    exact = np.linalg.solve(S, b)
    return bool(np.abs(w - exact).max() <= 1e-8 * (1 + np.abs(exact).max()) * max(1.0, 1e-3 * np.linalg.cond(S)))


@pytest.mark.parametrize("mu", [1.0, 0.9])
@pytest.mark.parametrize("emphatic", [False, True])
@pytest.mark.parametrize("seed", range(6))
def test_the_system_solved_anew_after_every_step(mu: float, emphatic: bool, seed: int) -> None:
    steps = stream(seed)
    interest = np.random.default_rng(seed).random(4)
    X = np.abs(steps.X) if emphatic else steps.X  # so that no interest is negative
    steps = steps._replace(X=X)
    rows = rows_of(steps, X @ interest if emphatic else None)
    options: dict[str, Any] = {"emphatic": True, "interest": interest} if emphatic else {}
    v = td.RecursiveLSTD(td.features.Table(X), td.rules.PerState(steps.lam), 0.5, forgetting=mu, **options)
    batch = td.LSTD(td.features.Table(X), td.rules.PerState(steps.lam), 0.5, forgetting=mu, **options)
    for row, (S, b) in zip(zip(*steps.columns, strict=True), systems(rows, 0.5, mu), strict=True):
        v.update(*row)
        np.testing.assert_allclose(v._S.T, S, rtol=1e-10, atol=1e-10)
        assert v.singular or agrees(v.weights, S, b)
        if mu == 1:
            assert v.singular or np.linalg.cond(S) > 1e8 or np.allclose(v._Q.T @ S, np.eye(4), atol=1e-6)
    batch.update_many(*steps.columns)
    A, b = (sum(mu ** (len(rows) - 1 - t) * part(*row) for t, row in enumerate(rows)) for part in (_outer, _times))
    assert agrees(batch.weights, A + 0.5 * np.eye(4), b)  # the batch learner's ridge does not fade


def _outer(e: Array, y: Array, r: float) -> Any:  # noqa: ARG001
    return np.outer(e, y)


def _times(e: Array, y: Array, r: float) -> Any:  # noqa: ARG001
    return e * r


@pytest.mark.parametrize("mu", [1.0, 0.9])
@pytest.mark.parametrize("seed", range(4))
def test_equal_indices_add(mu: float, seed: int) -> None:
    rng, coder = np.random.default_rng(seed), repeated()
    obs, r, rho = rng.random((31, 1)), rng.normal(size=30), rng.choice([0.5, 1.0, 1.5], 30)
    X = np.array([coder.dense(o) for o in obs])
    columns = (np.arange(30), r, np.arange(1, 31), np.full(30, 0.8), rho, np.zeros(30, bool), np.zeros(30, bool))
    v = td.RecursiveLSTD(coder, 0.7, 0.3, forgetting=mu)
    v.update_many(obs[:-1], r, obs[1:], 0.8, rho)
    S, b = systems(rows_of(stream(0)._replace(X=X, lam=np.full(31, 0.7), columns=columns)), 0.3, mu)[-1]
    np.testing.assert_allclose(v._S.T, S, rtol=1e-10, atol=1e-10)
    assert agrees(v.weights, S, b)


def test_by_hand() -> None:
    v = td.RecursiveLSTD(td.features.OneHot(2), 0.5, ridge=1.0)
    v.update(0, 1.0, 1, gamma=0.5)  # S = [[2, -½], [0, 1]], b = (1, 0)
    np.testing.assert_allclose(v.weights, [0.5, 0.0])
    v.update(1, 2.0, 0, gamma=0.5, rho=2.0)  # e = (½, 2): S = [[1¾, 0], [-1, 3]], b = (2, 4)
    np.testing.assert_allclose(v.weights, [2 / 1.75, (4 + 2 / 1.75) / 3])
    assert v.trace.tolist() == [0.5, 2.0]
    v.update(0, 1.0, 1, gamma=1.0, terminated=True)
    assert v.trace.tolist() == [0.0, 0.0]


def test_where_the_denominator_is_0_the_weights_wait_until_there_is_a_solution() -> None:
    v = td.RecursiveLSTD(td.features.Dense(1), 0.0, ridge=1.0)
    v.update([1.0], 3.0, [0.0], gamma=1.0, terminated=True)  # S = 2, b = 3
    assert v.predict([1.0]) == 1.5
    v.update([1.0], 1.0, [3.0], gamma=1.0)  # y = -2: S = 0, b = 4
    assert v.singular
    assert v.predict([1.0]) == 1.5
    v.update([1.0], 5.0, [1.0], gamma=1.0, rho=0.0)  # nothing changes
    assert v.singular
    v.update([1.0], 2.0, [2.0], gamma=1.0)  # y = -1: S = -1, b = 6, past 0
    assert not v.singular
    assert v.predict([1.0]) == pytest.approx(-6.0)
    v.update([1.0], 0.0, [-1.0], gamma=1.0)  # y = 2: S = 1, and back
    assert v.predict([1.0]) == pytest.approx(6.0)


def test_digits_lost_near_0_come_back() -> None:
    """The 18th of 28 steps makes S all but singular; the inverse is computed in any case after 16 and 32 steps only."""
    rng = np.random.default_rng(1)
    v, S, b = td.RecursiveLSTD(td.features.Dense(2), 0.0, ridge=1.0), np.eye(2), np.zeros(2)
    for t in range(28):
        x, r, y = rng.normal(size=2), rng.normal(), rng.normal(size=2)
        if t == 17:
            y *= (1e-9 - 1) / (y @ np.linalg.solve(S, x))  # 1 + yᵀBx = 1e-9
        else:
            y = x + y / 3
        v.update(x, r, x - y, gamma=1.0)
        S, b = S + np.outer(x, y), b + x * r
        if t not in (17, 18):
            np.testing.assert_allclose(v.weights, np.linalg.solve(S, b), rtol=1e-11)
    assert v.solves == 4 + 2  # after 2, 4, 8 and 16 steps, where it had to be, and size steps later


@pytest.mark.parametrize("mu", [1.0, 0.99])
def test_determinants_that_change_their_sign_many_times(mu: float) -> None:
    rng = np.random.default_rng(2)
    x, y, r = rng.normal(size=(3000, 3)), rng.normal(size=(3000, 3)), rng.normal(size=3000)
    v = td.RecursiveLSTD(td.features.Dense(3), 0.0, ridge=0.1, forgetting=mu)
    rows = [(x[t], x[t] - 0.9 * 3 * y[t], r[t]) for t in range(3000)]
    signs, near = set(), 0
    for t, (S, b) in enumerate(systems(rows, 0.1, mu)):
        v.update(x[t], r[t], 3 * y[t], gamma=0.9)
        signs.add(float(np.sign(np.linalg.det(S))))
        near += bool(np.linalg.cond(S) > 1e3)
        assert not v.singular
        np.testing.assert_allclose(S @ v.weights, b, atol=1e-7 * (1 + np.abs(S).max() * np.abs(v.weights).max()))
    assert signs == {-1.0, 1.0}
    assert near > 0


def test_what_is_not_seen_any_more_does_not_wind_up() -> None:
    v = td.RecursiveLSTD(td.features.OneHot(3), 0.5, ridge=0.1, forgetting=0.9)
    v.update(2, 1.0, 0, gamma=0.5)
    v.update_many(np.zeros(20_000, int), np.ones(20_000), np.ones(20_000, int), 0.5)
    assert np.abs(v._Q).max() <= 1.001 / (0.1 * 0.9**3)
    assert v.diverged_at is None
    assert abs(v.predict(2)) < 1e-6  # forgotten: nothing but the ridge is left


def test_forgetting_follows_a_target_that_moves() -> None:
    rng = np.random.default_rng(3)
    r = rng.normal(size=4000) + np.repeat([0.0, 10.0], 2000)
    for make in (td.RecursiveLSTD, td.LSTD):
        v, old = make(td.features.OneHot(1), 0.0, forgetting=0.98), make(td.features.OneHot(1), 0.0)
        for learner in (v, old):
            learner.update_many(np.zeros(4000, int), r, np.zeros(4000, int), gamma=1.0, terminated=True)
        weights = 0.98 ** np.arange(3999, -1, -1)
        assert v.predict(0) == pytest.approx(weights @ r / weights.sum(), rel=1e-5)
        assert old.predict(0) == pytest.approx(r.mean(), rel=1e-5)


def test_as_batch_lstd_and_no_further_from_it_after_many_steps() -> None:
    ring = td.make("RingWorld-v0")
    batch, v = td.LSTD(ring.features, 0.9), td.RecursiveLSTD(ring.features, 0.9)
    for n in (100, 10_000, 200_000):
        steps = ring.sampler(seed=1).take(n)
        for learner in (batch, v):
            learner.update_many(steps)
        np.testing.assert_allclose(v.weights, batch.weights, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("make", [td.LSTD, td.RecursiveLSTD])
@pytest.mark.parametrize("lam", [0.0, 0.6])
def test_emphatic_to_the_fixed_point_of_etd(make: Any, lam: float) -> None:
    """A = Xᵀ diag(m) H (I - P_π Γ) X,  f = (I - Γ P_πᵀ)⁻¹ (d∘i),  m = λ d∘i + (1-λ) f,  H = (I - λ P_π Γ)⁻¹."""
    rng, n, gamma = np.random.default_rng(5), 5, 0.8
    P, X, i = rng.dirichlet(np.ones(n), size=(2, n)), rng.random((n, 3)), rng.random(3)
    pi, b = 0.2 + 0.6 * rng.random((2, n, 1))
    pi, b = np.hstack([pi, 1 - pi]), np.hstack([b, 1 - b])
    r, T = rng.normal(size=(2, n)), 400_000
    P_pi, P_b = (np.einsum("sa,ast->st", policy, P) for policy in (pi, b))
    d = np.linalg.matrix_power(P_b, 500)[0]
    f = np.linalg.solve(np.eye(n) - gamma * P_pi.T, d * (X @ i))
    m, H = lam * d * (X @ i) + (1 - lam) * f, np.linalg.inv(np.eye(n) - lam * gamma * P_pi)
    r_pi = np.einsum("sa,as->s", pi, r)
    exact = np.linalg.solve(X.T * m @ H @ (np.eye(n) - gamma * P_pi) @ X, X.T * m @ H @ r_pi)
    s, a = np.empty(T + 1, int), np.empty(T, int)
    s[0], u, sums = 0, rng.random((T, 2)), P.cumsum(axis=2)
    for t in range(T):
        a[t] = u[t, 0] > b[s[t], 0]
        s[t + 1] = min(np.searchsorted(sums[a[t], s[t]], u[t, 1]), n - 1)
    v = make(td.features.Table(X), lam, emphatic=True, interest=i)
    v.update_many(s[:-1], r[a, s[:-1]], s[1:], gamma, (pi / b)[s[:-1], a])
    plain = td.LSTD(td.features.Table(X), lam)
    plain.update_many(s[:-1], r[a, s[:-1]], s[1:], gamma, (pi / b)[s[:-1], a])
    off = np.abs(X @ (v.weights - exact)).max()
    assert off < 0.02
    assert off < 0.2 * np.abs(X @ (plain.weights - exact)).max()


@pytest.mark.parametrize("options", [{}, {"emphatic": True}, {"forgetting": 0.5}])
@pytest.mark.parametrize("make", [td.LSTD, td.RecursiveLSTD])
def test_ratios_without_limit_are_flagged_and_nothing_is_nan(make: Any, options: dict[str, Any]) -> None:
    for lam in (0.5, 1.0):
        v = make(td.features.OneHot(3), lam, on_divergence="flag", **options)
        s = np.arange(200) % 3
        v.update_many(s, np.ones(200), (s + 1) % 3, 1.0, 1e6)
        assert v.diverged_at is not None
        assert np.isfinite(v.weights).all()
        assert all(np.isfinite(array).all() for array in v._state().values())


def test_a_follow_on_trace_that_overflows_does_no_harm_where_lambda_is_1() -> None:
    """Features of 0 leave no trace, but F = ρ⁻γF⁻ + 1 grows; M = λ + (1-λ)F must not become 0 · ∞."""
    for lam, diverged_at in ((1.0, None), (0.5, 101)):
        v = td.RecursiveLSTD(td.features.Dense(1), lam, emphatic=True, on_divergence="flag")
        v.update_many(np.zeros((100, 1)), np.ones(100), np.zeros((100, 1)), 1.0, 1e6)
        v.update([1.0], 2.0, [0.0], gamma=1.0, terminated=True)
        assert v.diverged_at == diverged_at
        assert v.predict([1.0]) == pytest.approx(2.0 if lam == 1 else 0.0, abs=1e-5)


@pytest.mark.parametrize("ridge", [1e-290, 1e290])
def test_extreme_ridges(ridge: float) -> None:
    v = td.RecursiveLSTD(td.features.OneHot(2), 0.9, ridge=ridge)
    for t in range(20):
        v.update(t % 2, 1e10, 1 - t % 2, gamma=0.9)
        assert np.isfinite(v.weights).all()


@pytest.mark.parametrize(("seed", "at", "mu"), [(0, 0, 1.0), (1, 17, 1.0), (2, 9, 0.9), (3, 40, 0.9)])
def test_state_clone_and_chunks_continue_identically(seed: int, at: int, mu: float) -> None:
    X, lam, columns = stream(seed)
    whole = td.RecursiveLSTD(td.features.Table(X), td.rules.PerState(lam), forgetting=mu, emphatic=True)
    half = td.RecursiveLSTD(**whole.get_params())
    half.update_many(*(a[:at] for a in columns))
    clone, restored = half.clone(), td.RecursiveLSTD(**whole.get_params())
    restored._restore({name: array.copy() for name, array in half._state().items()})
    whole.update_many(*columns)
    tail = [a[at:] for a in columns]
    half.update_many(*tail)
    for row in zip(*tail, strict=True):
        clone.update(*row)
        restored.update(*row)
    for other in (half, clone, restored):
        np.testing.assert_array_equal(other.weights, whole.weights)
        np.testing.assert_array_equal(other._Q, whole._Q)
        assert other.steps == whole.steps == len(columns[0])


def test_state_that_does_not_fit_is_refused() -> None:
    v = td.RecursiveLSTD(td.features.OneHot(3), 0.5)
    v.update(0, 1.0, 1, gamma=0.5)
    good = {name: array.copy() for name, array in v._state().items()}
    for name, at, value in (
        ("S", (0, 0), np.nan), ("Q", (0, 1), np.inf), ("w", 0, np.inf), ("numbers", "gamma", 1.5),
        ("numbers", "follow_on", -1.0), ("counts", "due", -1),
    ):  # fmt: skip
        state = {k: a.copy() for k, a in good.items()}
        named = {"counts": v._count.dtype, "numbers": v._number.dtype}
        array: Any = state[name].view(named.get(name, state[name].dtype))
        array[at] = value
        other = td.RecursiveLSTD(td.features.OneHot(3), 0.5)
        with pytest.raises(ValueError, match="state"):
            other._restore(state)
        assert other.steps == 0
    with pytest.raises(ValueError, match="state"):
        td.RecursiveLSTD(td.features.OneHot(2), 0.5)._restore(good)


@pytest.mark.parametrize("make", [td.LSTD, td.RecursiveLSTD])
def test_bad_input(make: Any) -> None:
    for name, bad in (
        ("forgetting", 0.0), ("forgetting", 1.1), ("forgetting", np.nan), ("ridge", -1.0), ("interest", [1.0, 2.0]),
        ("interest", -1.0), ("interest", np.inf), ("max_size", 2), ("bound", 0.0), ("on_divergence", "stop"),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=name if name != "max_size" else "3 × 3 matrix"):
            make(td.features.OneHot(3), **{"emphatic": True, name: bad})
    with pytest.raises(ValueError, match="emphatic=True"):
        make(td.features.OneHot(3), interest=2.0)
    with pytest.raises(TypeError, match="emphatic"):
        make(td.features.OneHot(3), emphatic="yes")
    v = make(td.features.Dense(2), emphatic=True, interest=[1.0, 0.0])
    v.update([1.0, 1.0], 1.0, [0.0, 1.0], gamma=1.0)
    before = {name: array.tobytes() for name, array in v._state().items()}
    with pytest.raises(ValueError, match=r"interest·x must not be negative; got -1.0 \(row 1\)"):
        v.update_many([[1.0, 0.0], [-1.0, 0.0]], [1.0, 1.0], np.zeros((2, 2)), gamma=1.0)
    assert {name: array.tobytes() for name, array in v._state().items()} == before
    assert make(**v.get_params()).get_params() == v.get_params()
    with pytest.raises(ValueError, match="ridge"):
        td.RecursiveLSTD(td.features.OneHot(2), ridge=0.0)

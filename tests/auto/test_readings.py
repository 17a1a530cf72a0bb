"""`AutoTD` for vectors of readings: units, outliers, and streams it must predict."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tdlambda as td
from tdlambda.learners import storage


def readings(n: int, d: int, seed: int = 0) -> Any:
    """Correlated readings of large mean [n + 1, d], and rewards [n] that depend on them."""
    rng = np.random.default_rng(seed)
    hidden = np.zeros((n + 1, d))
    for t in range(1, n + 1):
        hidden[t] = 0.9 * hidden[t - 1] + rng.normal(size=d)
    X = hidden @ rng.normal(size=(d, d)) + 50 * rng.normal(size=d)
    return X, 20 + hidden[1:] @ rng.normal(size=d) + 0.3 * rng.normal(size=n)


def realised(r: Any, gamma: float) -> Any:
    """Σ γ^k r, from each step on."""
    G, total = np.zeros(len(r)), 0.0
    for t in range(len(r) - 1, -1, -1):
        total = r[t] + gamma * total
        G[t] = total
    return G


def predictions(X: Any, r: Any, gamma: float = 0.9) -> Any:
    """Each made before it is learned from."""
    v, out = td.AutoTD(td.features.Dense(X.shape[1])), np.zeros(len(r))
    for t in range(len(r)):
        out[t] = v.predict(X[t])
        v.update(X[t], r[t], X[t + 1], gamma)
    return out


def r2(p: Any, G: Any) -> float:
    """The share of the variance that is predicted."""
    return float(1 - np.mean((p - G) ** 2) / np.var(G))


def test_units_and_offsets_do_not_matter() -> None:
    X, r = readings(1500, 4)
    first = predictions(X, r)
    scale, shift = np.array([1e6, 1e-6, 1e3, 1.0]), np.array([0.0, 1e-4, 1e6, -1e4])
    other = predictions(X * scale + shift, 1e-3 * r)
    np.testing.assert_allclose(1e3 * other[40:], first[40:], rtol=1e-7)
    np.testing.assert_allclose(predictions(X, r + 1e3)[40:] - 1e4, first[40:], rtol=0, atol=1e-7 * 1e4)


def test_it_is_least_squares_where_that_is_right() -> None:
    """R² against what then happened: at least that of a regression on the realised returns of the first half."""
    X, r = readings(4000, 5)
    G, late = realised(r, 0.9), slice(2000, 3900)
    p = predictions(X, r)[late]
    Z = np.column_stack([X[:-1], np.ones(4000)])
    best = (Z @ np.linalg.lstsq(Z[:1900], G[:1900], rcond=None)[0])[late]
    assert r2(p, G[late]) > r2(best, G[late]) - 0.01 > 0.4


@pytest.mark.parametrize("what", ["reading", "reward"])
def test_one_outlier_is_forgotten_after_fifty_steps(what: str) -> None:
    X, r = readings(2000, 5)
    G, calm = realised(r, 0.9), predictions(X, r)
    Y, s = X.copy(), r.copy()
    if what == "reading":
        Y[1000] += 1e4 * X.std(axis=0)
    else:
        s[1000] = 1e6
    after = slice(1050, 1900)
    disturbed, undisturbed = (np.sqrt(np.mean((p - G)[after] ** 2)) for p in (predictions(Y, s), calm))
    assert disturbed < 1.2 * undisturbed


def test_recurring_outliers_are_never_believed() -> None:
    """One reading in a hundred is 100 σ off: R² ≥ 0 after 1 000 steps, and not far below what it is without."""
    X, r = readings(4000, 3)
    rng = np.random.default_rng(5)
    Y = X + 100 * X.std(axis=0) * rng.choice([-1, 0, 1], size=X.shape, p=[0.005, 0.99, 0.005])
    G, late = realised(r, 0.9), slice(1000, 3900)
    with_them, without = (r2(predictions(x, r)[late], G[late]) for x in (Y, X))
    assert with_them > max(0.0, 0.5 * without)


@pytest.mark.parametrize("gain", [1e-3, 1e3])
def test_a_change_of_gain_is_followed(gain: float) -> None:
    """R² ≥ 0 again after 1 000 steps."""
    X, r = readings(6000, 3)
    X[3000:] *= gain
    r[2999:] *= gain
    p, G, late = predictions(X, r), realised(r, 0.9), slice(4000, 5900)
    assert np.mean((p - G)[late] ** 2) < np.var(G[late])


def test_a_reading_that_sticks_and_one_that_never_moves() -> None:
    X, r = readings(3000, 4)
    X[:, 2], X[1500:, 0] = 7.0, X[1500, 0]
    p = predictions(X, r)
    assert np.isfinite(p).all()
    G, late = realised(r, 0.9), slice(2000, 2900)
    assert np.mean((p - G)[late] ** 2) < np.var(G[late])


@pytest.mark.parametrize("n", [10, 31, 32, 33, 400])
def test_ways_to_the_same_state(n: int, tmp_path: Path) -> None:
    """One by one, together, from a file in the middle: the same bits, before and after the first are held back."""
    X, r = readings(500, 3)
    end = np.arange(500) % 50 == 49
    one, many = td.AutoTD(td.features.Dense(3)), td.AutoTD(td.features.Dense(3))
    for t in range(n):
        one.update(X[t], r[t], X[t + 1], 0.9, truncated=bool(end[t]))
    many.update_many(X[: n // 3], r[: n // 3], X[1 : n // 3 + 1], 0.9, truncated=end[: n // 3])
    many.save(tmp_path / "v.npz")
    loaded: Any = td.load(tmp_path / "v.npz")
    assert repr(loaded) == repr(many)
    loaded.update_many(X[n // 3 : n], r[n // 3 : n], X[n // 3 + 1 : n + 1], 0.9, truncated=end[n // 3 : n])
    for name, array in one._state().items():
        assert array.tobytes() == loaded._state()[name].tobytes(), name
    assert one.predict(X[7]) == loaded.clone().predict_many(X[7:8])[0]


def test_what_it_says_of_itself() -> None:
    X, r = readings(600, 3)
    v = td.AutoTD(td.features.Dense(3))
    v.update_many(X[:-1], r, X[1:], 0.9)
    assert sum(v.expert_weights().values()) == pytest.approx(1)
    assert next(iter(v.expert_weights())).startswith("LSTD(")
    assert "600 steps" in str(v.explain())
    assert 0 <= v.lambda_at(X[0]) <= 1
    v = td.AutoTD(td.features.Dense(3), random_features=0)
    v.update_many(X[:-1], r, X[1:], 0.9)
    slope = v.weights[0]
    near = X[500] + [0.01, 0, 0]
    assert v.predict(near) - v.predict(X[500]) == pytest.approx(0.01 * slope, rel=0.05)


def test_the_families_follow_from_the_features() -> None:
    named = td.AutoTD(td.features.Dense(3), algorithm="TD").expert_weights()
    assert "α = 0.1, λ = 0.4" in named
    assert "LSTD(0.95), ridge 300, 160 cosines" in named
    assert "LSTD(0), ridge 10, 7 cosines" in td.AutoTD(td.features.Dense(3), random_features=7).expert_weights()
    assert not any("cosines" in name for name in td.AutoTD(td.features.Dense(3), random_features=0).expert_weights())
    many = td.AutoTD(td.features.Dense(200)).expert_weights()
    assert {"LSTD(0.8), ridge 3", "α = 0.1, λ = 0.4, averaged"} < set(many)
    assert not any("LSTD" in name for name in td.AutoTD(td.features.Dense(257)).expert_weights())


def test_what_is_not_linear_is_predicted() -> None:
    """A product of two readings: linear experts explain nothing of it."""
    rng = np.random.default_rng(0)
    X = 100 + 5 * rng.normal(size=(3001, 2))
    r = (X[:-1, 0] - 100) * (X[:-1, 1] - 100) / 25
    found = {}
    for cosines in (0, 160):
        v = td.AutoTD(td.features.Dense(2), random_features=cosines)
        v.update_many(X[:2500], r[:2500], X[1:2501], 0.0)
        found[cosines] = r2(v.predict_many(X[2500:-1]), r[2500:])
    assert found[0] < 0.05
    assert found[160] > 0.9


@pytest.mark.parametrize("features", [{"type": "OneHot", "params": {"n": 3}}, {"type": "Dense", "params": {"n": 2}}])
def test_a_file_of_version_0_2_is_refused_by_name(features: Any) -> None:
    header = {"format": 4, "tdlambda": "0.2.0", "learner": "AutoTD", "params": {"features": features}}
    with pytest.raises(ValueError, match=r"saved by tdlambda 0\.2\.0"):
        storage.build(header, {"weight": np.zeros(4000), "counts": np.zeros(1, np.int64)})

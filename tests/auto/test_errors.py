"""How far off AutoTD says that it is, against how far off it is."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tdlambda as td
from tdlambda.auto import errors


def test_errors_of_returns_are_known_before_the_returns() -> None:
    """TD errors that go together, discounts that differ: E[D²] against the sums themselves."""
    rng, n = np.random.default_rng(0), 30_000
    gamma, noise = rng.choice([0.0, 0.7, 0.95], size=n, p=[0.05, 0.3, 0.65]), rng.normal(size=n)
    delta = noise + 0.5 * np.append(0, noise[:-1])
    note: Any = getattr(errors.note_error, "py_func", errors.note_error)
    kept, D = np.zeros(errors.ROWS), np.zeros(n + 1)
    for t in range(n):
        note(kept, delta[t], gamma[t], 1.0)
    for t in range(n - 1, -1, -1):
        D[t] = delta[t] + gamma[t] * D[t + 1]
    found = errors.return_error(kept) or 0.0
    assert found == pytest.approx(np.sqrt(np.mean(D**2)), rel=0.05)
    assert np.sqrt(np.mean(delta**2) / (1 - np.mean(gamma**2))) < 0.8 * found  # as if they did not go together


@pytest.mark.parametrize("seen", [slice(0, 1), slice(0, 2)])
def test_its_error_on_a_stream_is_the_one_that_happens(seen: slice) -> None:
    """With the state among the readings, and without: then TD errors go together."""
    rng, n = np.random.default_rng(1), 6000
    hidden, noise = np.zeros(n + 1), rng.normal(size=(2, n + 1))
    for t in range(n):
        hidden[t + 1] = 0.9 * hidden[t] + noise[0, t]
    X = np.column_stack([hidden + 3 * noise[1], hidden])[:, seen]
    G = np.zeros(n + 1)
    for t in range(n - 1, -1, -1):
        G[t] = hidden[t + 1] + 0.9 * G[t + 1]
    v, p = td.AutoTD(td.features.Dense(X.shape[1])), np.zeros(n)
    for t in range(n):
        p[t] = v.predict(X[t])
        v.update(X[t], hidden[t + 1], X[t + 1], 0.9)
    late = slice(2000, n - 100)
    assert v.explain().return_error == pytest.approx(np.sqrt(np.mean((p - G[:n])[late] ** 2)), rel=0.1)
    low, high = v.interval_many(X[late], 0.9, of="return").T
    assert np.mean((low <= G[late]) & (G[late] <= high)) == pytest.approx(0.9, abs=0.04)


def test_values_are_within_their_intervals() -> None:
    """Eight tables, on- and off-policy: nine of ten, within what so few can show; the error is as large as said."""
    inside, said, real = [], [], []
    for seed in range(8):
        task: Any = td.make("Garnet-v0", seed=200 + seed, n=10, on_policy=bool(seed % 2))
        truth, v = td.engine.exact_truth(task), td.AutoTD(task.features)
        v.update_many(task.sampler(seed=seed).take(10_000))
        low, high = v.interval_many(truth.observations, 0.9).T
        inside.append(truth.weights @ ((low <= truth.values) & (truth.values <= high)) / truth.weights.sum())
        said.append(v.explain().value_error or 0.0)
        error = (v.predict_many(truth.observations) - truth.values) ** 2
        real.append(np.sqrt(truth.weights @ error / truth.weights.sum()))
        wide = v.interval(int(truth.observations[0]), 0.99)
        assert wide[0] < low[0] < v.predict(truth.observations[0]) < high[0] < wide[1]
    assert 0.75 < np.mean(inside) <= 1
    assert 0.5 < np.sqrt(np.mean(np.square(said)) / np.mean(np.square(real))) < 2


def test_readings_have_intervals_for_values_too() -> None:
    """v of an AR(1) process is linear in it: 90 % intervals from 40 streams."""
    inside = []
    for seed in range(40):
        rng, x = np.random.default_rng(seed), np.zeros(1001)
        for t in range(1000):
            x[t + 1] = 0.8 * x[t] + rng.normal()
        v = td.AutoTD(td.features.Dense(1))
        v.update_many(x[:-1, None], 100 + x[1:], x[1:, None], 0.9)
        low, high = v.interval(np.array([1.0]))
        inside.append(low <= 1000 + 0.8 / (1 - 0.9 * 0.8) <= high)
    assert 0.75 <= np.mean(inside) <= 1


def test_what_cannot_be_asked() -> None:
    ring: Any = td.make("RingWorld-v0", behavior_left=0.4, target_left=0.35)
    v = td.AutoTD(ring.features)
    v.update_many(ring.sampler(seed=1).take(300))
    for arguments, message in (((0, 1.5), "level"), ((0, 0.0), "level"), ((0, 0.9, "mean"), "of")):
        with pytest.raises(ValueError, match=message):
            v.interval(*arguments)
    with pytest.raises(ValueError, match="off-policy"):
        v.interval(3, of="return")
    assert v.explain().return_error is None


def test_what_it_says_in_words() -> None:
    ring: Any = td.make("RingWorld-v0")
    v = td.AutoTD(ring.features)
    v.update_many(ring.sampler(seed=1).take(3))
    assert v.explain().thin
    assert "evidence is thin" in str(v.explain())
    v.update_many(ring.sampler(seed=2).take(50_000))
    said = str(v.explain())
    assert "leads with" in said
    assert "values differ from predictions by about" in said
    assert "approximation error" not in said, "a table has none"
    task: Any = td.make("Garnet-v0", seed=137, features=12)
    v = td.AutoTD(task.features)
    v.update_many(task.sampler(seed=1).take(1000))
    assert "including the approximation error of the features" in str(v.explain())
    X = np.random.default_rng(0).normal(size=(150, 3))
    v = td.AutoTD(td.features.Table(X))
    v.update_many(np.arange(149).repeat(6), np.ones(894), np.arange(1, 150).repeat(6), 0.9)
    assert "a rough estimate of the approximation error" in str(v.explain())
    v = td.AutoTD(td.features.Dense(3))
    v.update_many(X[:-1].repeat(6, axis=0), np.ones(894), X[1:].repeat(6, axis=0), 0.9)
    assert "within the span of the features" in str(v.explain())
    n = 60_000
    cycle = np.arange(n) % 300
    v = td.AutoTD(td.features.OneHot(300))
    v.update_many(cycle, np.sin(cycle), (cycle + 1) % 300, 0.9)
    assert v.explain().edge == "largest"
    assert "no step size is larger" in str(v.explain())


def test_values_that_shared_features_cannot_represent_are_within_their_intervals() -> None:
    """v is far from linear in two features of six states; each observation has a weight of its own, and an interval."""
    X = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0], [1.0, -1.0], [-1.0, 1.0], [2.0, 1.0]])
    rng, means, inside, errors_seen = np.random.default_rng(0), np.array([3.0, 3, -3, 3, 3, -3]), [], []
    for _ in range(12):
        s = rng.integers(6, size=3001)
        v = td.AutoTD(td.features.Table(X))
        v.update_many(s[:-1], means[s[:-1]] + rng.normal(size=3000), s[1:], 0.5)
        exact = means + 0.5 * means.mean() / 0.5
        low, high = v.interval_many(range(6)).T
        inside.append((low <= exact) & (exact <= high))
        errors_seen.append(np.mean((v.predict_many(range(6)) - exact) ** 2))
    assert np.mean(errors_seen) < 0.05, "linear in the two features, it is 11 at least"
    assert 0.75 <= np.mean(inside) <= 1.0

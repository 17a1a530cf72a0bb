"""The compiled bank against the same in plain NumPy, and its learners against the learners themselves."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from plain_bank import GRID, PlainReadings, sparse

import tdlambda as td
from tdlambda.auto.families.linear import AGE
from tdlambda.features.random_features import frequencies


def stream(steps: int, states: int, seed: int, turn: int = 0) -> list[tuple[Any, ...]]:
    """γ and ρ other at every step, episodes that terminate or are cut; after `turn` steps rewards are others."""
    rng = np.random.default_rng(seed)
    means = rng.normal(size=(2, states))
    means[1] += 10
    rows, s = [], int(rng.integers(states))
    for t in range(steps):
        after, end = int(rng.integers(states)), rng.random()
        reward = means[int(bool(turn) and t >= turn), s] + 0.1 * rng.normal()
        terminated, truncated = end < 0.05, 0.04 < end < 0.08
        rows.append((s, reward, after, rng.uniform(0.5, 0.95), rng.uniform(0.5, 1.5), terminated, truncated))
        s = int(rng.integers(states)) if terminated or truncated else after
    return rows


FEATURES = {
    "one-hot": np.eye(4),
    "any": np.array([[1.0, 0.5, 0.0], [0.0, -1.0, 2.0], [0.3, 0.0, 0.4], [1.0, 1.0, 1.0]]),
}


@pytest.mark.parametrize(
    ("features", "seed", "turn", "reached"),
    [("one-hot", 7, 4000, ["changes", "restarts"]), ("any", 5, 4000, ["changes"]), ("any", 5, 600, ["restarts"])],
)
def test_it_is_what_plain_numpy_makes_of_the_page(features: str, seed: int, turn: int, reached: list[str]) -> None:
    """A change before the first test of TD errors contradicts systems; a later one makes all experts begin anew."""
    X = FEATURES[features]
    encoder: td.Encoder = td.features.OneHot(4) if features == "one-hot" else td.features.Table(X)
    auto, plain = td.AutoTD(encoder), sparse(X.shape[1], 128 * (features == "any"))
    for t, row in enumerate(stream(turn + 2000, 4, seed=seed, turn=turn)):
        s, reward, after, *rest = row
        auto.update(*row)
        plain.update(X[s], reward, X[after], *rest)
        if t % 97 == 0 or t > turn + 1900:
            wanted = [plain.predict(x) for x in X]
            np.testing.assert_allclose(auto.predict_many(range(4)), wanted, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(auto._bank.memory.mixture.weight, plain.p, rtol=1e-5, atol=1e-10)
    mixed = plain.p @ plain.weights()
    np.testing.assert_allclose(auto.weights, mixed, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(auto._bank.memory.changes.mean[0], plain.usual, rtol=1e-6)
    said = auto.explain()
    assert (said.changes, said.restarts) == (plain.changes, plain.restarts)
    for name in reached:
        assert getattr(said, name) >= 1, "the change of rewards must be noticed, or this test does not reach that code"


def test_its_learners_are_the_learners() -> None:
    """With ρ ≤ 1; beyond, λ is divided by ρ, which no fixed λ does: that is in the plain bank."""
    rows = [(*row[:4], min(row[4], 1.0), *row[5:]) for row in stream(700, 4, seed=2)]
    auto = td.AutoTD(td.features.OneHot(4))
    own = [td.TrueOnlineTD(td.features.OneHot(4), alpha, lam) for alpha, lam in GRID]
    for row in rows:
        auto.update(*row)
        for learner in own:
            learner.update(*row)
    for lane, learner in enumerate(own):
        np.testing.assert_allclose(auto._bank.memory.lanes.F[:, 0, lane], learner.weights, rtol=1e-12, atol=1e-14)


def test_with_many_features_as_with_few() -> None:
    """The same stream in a corner of 3000 features, which are averaged only when they are met."""
    rows = stream(5000, 4, seed=9, turn=3000)
    few, many = td.AutoTD(td.features.OneHot(300)), td.AutoTD(td.features.OneHot(3000))
    for v in (few, many):
        v.update_many(*(np.array(column) for column in zip(*rows, strict=True)))
    one, other = (v._bank.memory.lanes.F[:4, 0] for v in (few, many))
    np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-7)
    # The two have other experts beside them, so a copy may restart after the turn at another step: those are left out.
    ages = [v._bank.memory.lanes.lane[AGE] for v in (few, many)]
    same = ages[0] == ages[1]
    assert same.sum() >= 22
    assert ages[0].min() < 50, "copies must restart, or this test does not reach that code"
    np.testing.assert_allclose(few._bank.copies()[:4, same], many._bank.copies()[:4, same], rtol=1e-5, atol=1e-7)


def test_a_diverging_learner_never_shows() -> None:
    """The favourite and its neighbours take steps three times too long: they are lost, and no prediction shows it."""
    ring: Any = td.make("RingWorld-v0")
    v, largest = td.AutoTD(ring.features), 0.0
    v._bank.memory.lanes.lane[0, 4:8] = 3.0
    c = ring.sampler(seed=1).take(20_000)
    names = ("obs", "reward", "next_obs", "gamma", "rho", "terminated", "truncated")
    for t in range(0, len(c), 10):
        v.update_many(*(getattr(c, name)[t : t + 10] for name in names))
        if t > 2000:
            largest = max(largest, *abs(v.predict_many(range(11))))
    assert v.explain().diverged >= 1, "no learner diverged: the test is too easy"
    assert largest < 1.2, "no value is beyond 1"
    assert ring.exact.value_error(v.predict_many(range(11))) < 1e-3


def test_when_all_learners_diverge_means_are_left() -> None:
    v = td.AutoTD(td.features.OneHot(300))  # too many for least squares
    n = 50
    v.update_many(np.zeros(n, int), np.full(n, 1e99), np.ones(n, int), gamma=1.0, rho=1e30)
    assert v.explain().diverged > 0
    assert np.isfinite(v.predict(0))


def readings(n: int, d: int, seed: int = 0) -> tuple[Any, Any]:
    """Correlated readings with units and offsets, and rewards that depend on them."""
    rng = np.random.default_rng(seed)
    noise, z = rng.normal(size=(n + 1, d)), np.zeros((n + 1, d))
    for t in range(n):
        z[t + 1] = 0.9 * z[t] + noise[t + 1]
    scale = 10.0 ** rng.integers(-3, 4, d)
    return z * scale + 100 * scale, z[1:, 0] + np.sin(z[1:, -1]) + 5


@pytest.mark.parametrize(("cosines", "off_policy"), [(0, True), (50, False), (50, True)])
def test_readings_are_what_plain_numpy_makes_of_the_page(cosines: int, off_policy: bool) -> None:
    """γ and ρ other at every step, episodes that end and are cut, an outlier; without and with random cosines."""
    X, r = readings(900, 3, seed=1)
    X[300, 1] *= 1e3
    rng = np.random.default_rng(2)
    gamma = rng.uniform(0.7, 0.95, 900)
    rho = rng.uniform(0.5, 1.5, 900) if off_policy else np.ones(900)
    terminated, truncated = rng.random(900) < 0.02, rng.random(900) < 0.02
    v = td.AutoTD(td.features.Dense(3), random_features=cosines)
    first = np.column_stack([X[:32], r[:32]])
    plain = PlainReadings(first, frequencies(3, cosines, 0))
    for t in range(900):
        row = (X[t], float(r[t]), X[t + 1], float(gamma[t]), float(rho[t]), bool(terminated[t]), bool(truncated[t]))
        v.update(*row)
        u = plain.update(*row)
        if t >= 32:
            assert v._bank.memory.mixture.number["u"][0] == pytest.approx(u, rel=1e-9, abs=1e-9), t
        if t >= 40 and t % 50 == 0:
            assert v.predict(X[t]) == pytest.approx(plain.predict(X[t]), rel=1e-9, abs=1e-9)
    np.testing.assert_allclose(v._bank.memory.mixture.weight, plain.plain.p, rtol=1e-4, atol=1e-9)
    assert (v.explain().changes, v.explain().restarts) == (plain.plain.changes, plain.plain.restarts)


def test_too_many_observations_to_know_each() -> None:
    """150 states share three features: the experts that know each observation leave at the 129th."""
    X = np.random.default_rng(0).integers(-3, 4, (150, 3)) + np.linspace(0.0, 0.1, 150)[:, None]
    auto, plain = td.AutoTD(td.features.Table(X)), sparse(3, 128)
    for t, row in enumerate(stream(600, 150, seed=3)):
        s, reward, after, *rest = row
        auto.update(*row)
        plain.update(X[s], reward, X[after], *rest)
        if t % 50 == 0 or 120 < t < 240:
            assert auto._bank.knows_observations != plain.left
            wanted = [plain.predict(x) for x in X]
            np.testing.assert_allclose(auto.predict_many(range(150)), wanted, rtol=1e-9, atol=1e-9)
    assert plain.left
    assert not any("each observation" in name for name in auto.expert_weights())

"""The compiled bank against the same in plain NumPy, and its learners against the learners themselves."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from plain_bank import GRID, PlainBank

import tdlambda as td


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


@pytest.mark.parametrize("features", FEATURES)
def test_it_is_what_plain_numpy_makes_of_the_page(features: str) -> None:
    X = FEATURES[features]
    encoder: td.Encoder = td.features.OneHot(4) if features == "one-hot" else td.features.Table(X)
    auto, plain = td.AutoTD(encoder), PlainBank(X.shape[1])
    for t, row in enumerate(stream(6000, 4, seed=5, turn=4000)):
        s, reward, after, *rest = row
        auto.update(*row)
        plain.update(X[s], reward, X[after], *rest)
        if t % 97 == 0 or t > 5900:
            wanted = [plain.predict(x) for x in X]
            np.testing.assert_allclose(auto.predict_many(range(4)), wanted, rtol=1e-7, atol=1e-10)
    np.testing.assert_allclose(auto._experts.memory.weight, plain.p, rtol=1e-5, atol=1e-10)
    mixed = plain.p @ plain.weights()
    np.testing.assert_allclose(auto.weights, mixed, rtol=1e-7, atol=1e-10)
    said = auto.explain()
    assert (said.changes, said.restarts) == (plain.changes, plain.restarts)
    assert said.changes >= 1, "the change of rewards must be noticed, or this test does not reach that code"
    assert said.restarts >= 1


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
        np.testing.assert_allclose(auto._experts.memory.F[:, 0, lane], learner.weights, rtol=1e-12, atol=1e-14)


def test_with_many_features_as_with_few() -> None:
    """The same stream in a corner of 3000 features, which are averaged only when they are met."""
    rows = stream(5000, 4, seed=9, turn=3000)
    few, many = td.AutoTD(td.features.OneHot(300)), td.AutoTD(td.features.OneHot(3000))
    for v in (few, many):
        v.update_many(*(np.array(column) for column in zip(*rows, strict=True)))
    np.testing.assert_allclose(few._experts.weights()[:4], many._experts.weights()[:4], rtol=1e-5, atol=1e-7)


def test_a_diverging_learner_never_shows() -> None:
    """The favourite and its neighbours take steps three times too long: they are lost, and no prediction shows it."""
    ring: Any = td.make("RingWorld-v0")
    v, largest = td.AutoTD(ring.features), 0.0
    v._experts.bank["alpha"][4:8] = 3.0
    c = ring.sampler(seed=1).take(20_000)
    names = ("obs", "reward", "next_obs", "gamma", "rho", "terminated", "truncated")
    for t in range(0, len(c), 10):
        v.update_many(*(getattr(c, name)[t : t + 10] for name in names))
        if t > 2000:
            largest = max(largest, *abs(v.predict_many(range(11))))
    assert v.explain().diverged >= 1, "no learner diverged: the test is too easy"
    assert largest < 1.2, "no value is beyond 1"
    assert ring.exact.value_error(v.predict_many(range(11))) < 1e-3


def test_when_all_diverge_it_says_so() -> None:
    v = td.AutoTD(td.features.OneHot(300))  # too many for least squares
    n = 50
    with pytest.raises(td.Diverged):
        v.update_many(np.zeros(n, int), np.full(n, 1e99), np.ones(n, int), gamma=1.0, rho=1e30)
    assert v.diverged_at is not None
    assert v.explain().experts == ()

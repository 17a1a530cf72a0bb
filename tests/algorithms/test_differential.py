"""Differential TD(λ): golden weights, the invariant of a table, the average reward, and reward centring."""

import numpy as np
import pytest

import tdlambda as td

pytestmark = pytest.mark.costly

X = np.cos(1 + 1.3 * np.arange(13)[:, None] + 2.1 * np.arange(3))
REWARD = np.sin(0.7 * np.arange(1, 13))


def test_golden_weights() -> None:
    v = td.DifferentialTD(td.features.Table(X), 0.1, 0.8, eta=0.5, initial=[0.1, 0.2, 0.3])
    for t in range(12):
        v.update(t, REWARD[t], t + 1, gamma=1.0)
    assert v.weights == pytest.approx((0.215158160, 0.096553089, 0.289291380), abs=6e-10)


def test_in_a_table_without_traces_the_rate_and_the_sum_of_values_move_together() -> None:
    rng, v = np.random.default_rng(0), td.DifferentialTD(td.features.OneHot(5), 0.1, 0.0, eta=0.7)
    for _ in range(200):
        s, after = rng.integers(5, size=2)
        v.update(int(s), rng.normal(), int(after), gamma=1.0, rho=rng.uniform(0, 2))
        assert v.reward_rate == pytest.approx(0.7 * v.weights.sum(), abs=1e-12)


def test_the_mean_of_rewards_is_its_equations() -> None:
    rng, v = np.random.default_rng(4), td.DifferentialTD(td.features.Table(X), 0.1, 0.6, eta=0.3, rate="mean")
    w, e, mean, decay = np.zeros(3), np.zeros(3), 0.0, 0.0
    for _ in range(60):
        (s, after), reward, gamma, rho = rng.integers(13, size=2), rng.normal(), rng.random(), 2 * rng.random()
        end = rng.random() < 0.1
        v.update(int(s), reward, int(after), gamma, rho, terminated=bool(end))
        gamma = 0.0 if end else gamma
        e, delta = rho * (decay * e + X[s]), reward - mean + gamma * w @ X[after] - w @ X[s]
        w, mean, decay = w + 0.1 * delta * e, mean + 0.03 * (reward - mean), 0.6 * gamma
        e = np.zeros(3) if end else e
        assert v.reward_rate == pytest.approx(mean, abs=1e-13)
    np.testing.assert_allclose(v.weights, w, rtol=1e-12)


@pytest.mark.parametrize("rate", ["td", "mean"])
def test_it_finds_the_average_reward_and_the_differential_values(rate: str) -> None:
    # 0 → 1 (reward 1) or 0 → 5 (0), ½ each; 1→2→3→4→0; 5→6→7→8→0 with 2 on the last: r(π) = 0.3
    rng, v = np.random.default_rng(1), td.DifferentialTD(td.features.OneHot(9), 0.02, 0.5, eta=0.5, rate=rate)  # type: ignore[arg-type]
    s = 0
    for _ in range(40_000):
        after = (1 if rng.random() < 0.5 else 5) if s == 0 else 0 if s in (4, 8) else s + 1
        v.update(s, {(0, 1): 1.0, (8, 0): 2.0}.get((s, after), 0.0), after, gamma=1.0)
        s = after
    truth, d = np.array([-0.2, -1.4, -1.1, -0.8, -0.5, 0.6, 0.9, 1.2, 1.5]), np.array([0.2, *[0.1] * 8])
    assert v.reward_rate == pytest.approx(0.3, abs=0.03)
    assert np.abs(v.weights - d @ v.weights - truth).max() < 0.15


def test_off_policy_the_rate_is_the_targets() -> None:
    # two actions in one state: rewards 1 and 0, the target takes the first, the behaviour each by half
    rng, v = np.random.default_rng(2), td.DifferentialTD(td.features.OneHot(1), 0.01, 0.3, eta=1.0)
    for _ in range(20_000):
        first = rng.random() < 0.5
        v.update(0, float(first), 0, gamma=1.0, rho=2.0 * first)
    assert v.reward_rate == pytest.approx(1.0, abs=0.02)


def test_with_a_discount_it_is_td_of_centred_rewards() -> None:
    rng = np.random.default_rng(3)
    v, plain = td.DifferentialTD(td.features.OneHot(4), 0.05, 0.6, eta=0.2), td.TD(td.features.OneHot(4), 0.05, 0.6)
    for t in range(100):
        (s, after), reward, gamma, rho = rng.integers(4, size=2), rng.normal(), rng.uniform(0.5, 1), rng.uniform(0, 2)
        plain.update(int(s), reward - v.reward_rate, int(after), gamma, rho, terminated=t % 9 == 8)
        v.update(int(s), reward, int(after), gamma, rho, terminated=t % 9 == 8)
    np.testing.assert_allclose(v.weights, plain.weights, rtol=1e-13, atol=1e-13)

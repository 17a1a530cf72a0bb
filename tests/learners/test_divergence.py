"""Divergence is judged in the unit of each estimate, against what rewards and discounts so far allow."""

from typing import Any

import numpy as np
import pytest
from pairing import cases, pairs

import tdlambda as td


def stream(n: int, seed: int = 0) -> tuple[Any, Any, Any]:
    """A sensor with memory, five dense features that have much in common, and its reading as the reward."""
    rng, sensor = np.random.default_rng(seed), np.zeros(n + 25)
    for k in range(1, sensor.size):
        sensor[k] = 0.95 * sensor[k - 1] + rng.normal()
    x = np.stack([sensor[24 - lag : sensor.size - lag] for lag in (0, 1, 3, 24)] + [np.ones(n + 1)], axis=1)
    return x[:-1], x[1:, 0] + 1, x[1:]


@pytest.mark.costly
@pytest.mark.parametrize("rule", [td.rules.Greedy(), td.rules.Greedy("vtd"), td.rules.Meta(), "auto"])
@pytest.mark.parametrize("make", [td.TrueOnlineTD, pytest.param(td.TrueOnlineGTD, marks=pytest.mark.slow)])
def test_large_rewards_are_no_divergence(make: Any, rule: Any) -> None:
    """Second moments have the unit of reward²: 10⁷ makes 10¹⁴ of them, and 10⁶⁰ makes 10¹²⁰."""
    for reward in (1e7, 1e60):
        v = make(td.features.OneHot(2), alpha=0.1, lam=rule)
        for _ in range(50):
            v.update(0, reward, 1, 0.9)
            v.update(1, -reward, 0, 0.9)
        assert v.diverged_at is None
        assert 0 < abs(v.predict(0)) < 10 * reward


@pytest.mark.costly
@pytest.mark.parametrize("of", ["target", "corrected"])
def test_variances_of_corrected_returns_may_be_as_large_as_ratios_make_them(of: Any) -> None:
    rng = np.random.default_rng(0)
    for make in (td.VTD, td.DirectVTD):
        v = make(td.features.OneHot(2), alpha=0.01, of=of)
        v.update_many([0, 1] * 200, np.ones(400), [1, 0] * 200, 0.5, rng.choice([0.0, 40.0], 400, p=[0.975, 0.025]))
        assert v.diverged_at is None


@pytest.mark.parametrize("make", cases([td.TrueOnlineTD, td.TrueOnlineGTD], [td.TrueOnlineTD]))
def test_predictions_beyond_all_reason_are_divergence(make: Any) -> None:
    """Rewards of 15 at most and γ = 0.97 allow values of 500; predictions passed 10¹³ unnoticed."""
    x, reward, y = stream(20_000)
    v = make(td.features.Dense(5), alpha=0.03, lam=td.rules.ValueErrorGreedy(), on_divergence="flag")
    largest = 0.0
    for t in range(0, 20_000, 10):
        if v.diverged_at is None:
            largest = max(largest, float(np.abs(v.predict_many(x[t : t + 10])).max()))
        v.update_many(x[t : t + 10], reward[t : t + 10], y[t : t + 10], gamma=0.97)
    assert v.diverged_at is not None
    assert largest < 1e3 * np.abs(reward).max() / 0.03 * 100  # what ten more steps can add


@pytest.mark.parametrize(
    ("make", "rule"),
    pairs(
        [td.TD, td.TrueOnlineTD, td.GTD, td.TrueOnlineGTD], [0.9, "auto", "greedy", "meta"],
        lambda make, rule: make is td.TrueOnlineTD and rule == 0.9,
    ),
)  # fmt: skip
def test_the_unit_of_rewards_does_not_matter(make: Any, rule: Any) -> None:
    x, reward, y = stream(2000, seed=1)
    found = []
    for unit in (2.0**-40, 1.0, 2.0**40):
        v = make(td.features.Dense(5), alpha=0.05, lam=rule, on_divergence="flag", bound=30.0)
        v.update_many(x, unit * reward, y, gamma=0.97)
        found.append((v.diverged_at, (v.weights / unit).tobytes()))
    assert found[0] == found[1] == found[2]


@pytest.mark.costly
def test_initial_weights_count_as_what_is_allowed() -> None:
    """Without rewards so far, only they say what a value may be."""
    for initial in (1e-9, 1.0, 1e9):
        v: Any = td.TrueOnlineTD(td.features.OneHot(3), 0.1, 0.9, initial=initial)
        v.update_many([0, 1, 2] * 30, np.zeros(90), [1, 2, 0] * 30, 0.9)
        assert v.diverged_at is None
        v = td.TD(td.features.Dense(1), 1.5, 0.0, initial=initial, on_divergence="flag")
        v.update_many(np.full((50, 1), 2.0), np.zeros(50), np.ones((50, 1)), 0.9)
        assert v.diverged_at == 10  # V(1) grows 2.3 times at each step


@pytest.mark.costly
def test_the_bound_is_a_factor() -> None:
    """γ = 1 and one long episode: after n steps of reward 1 it allows 10 n, and V(0) = n - 1 at the n-th."""
    for bound, step in ((0.05, 3), (0.075, 5), (0.11, None)):
        v = td.TD(td.features.OneHot(1), 1.0, 0.0, bound=bound, on_divergence="flag")
        v.update_many([0] * 50, np.ones(50), [0] * 50, gamma=1.0)
        assert v.diverged_at == step


@pytest.mark.costly
def test_largest_rewards_and_episodes_are_kept_in_files(tmp_path: Any) -> None:
    for make in (lambda: td.TD(td.features.OneHot(2), 0.1), lambda: td.MonteCarlo(td.features.OneHot(2), 0.1)):
        v: Any = make()
        v.update_many([0, 1, 0], [5.0, -7.0, 1.0], [1, 0, 1], 0.5, 3.0, [False, False, True])
        v.save(tmp_path / "v")
        assert {k: a.tobytes() for k, a in td.load(tmp_path / "v")._state().items()} == {
            k: a.tobytes() for k, a in v._state().items()
        }


@pytest.mark.costly
@pytest.mark.parametrize("horizon", [1, 3])
def test_metas_floor_is_relative_to_rewards(horizon: int) -> None:
    """With rewards of 10⁻⁴ an absolute floor of 1.5·10⁻⁸ would leave λ = 1 for ever: see `PublishedMeta`."""
    ring = td.make("RingWorld-v0")
    steps = ring.sampler(seed=1).take(5_000)
    small = td.mdp.Transitions(**vars(steps) | {"reward": steps.reward * 2.0**-13})
    found = {}
    for name, given in (("plain", steps), ("small", small)):
        v = td.TrueOnlineTD(ring.features, 0.05, td.rules.Meta(0.1, horizon=horizon))
        v.update_many(given)
        found[name] = v.lambdas(range(11))
    assert found["plain"].min() < 0.9
    np.testing.assert_array_equal(found["small"], found["plain"])


@pytest.mark.parametrize(
    ("make", "rule"),
    pairs(
        [td.TD, td.TrueOnlineTD, td.GTD, td.TrueOnlineGTD],
        ["auto", "meta", "greedy", td.rules.Meta(1e-3, "derived", "gradient", in_range=False)],
        lambda *_: False,
    ),
)
def test_what_overflows_in_a_rule_is_divergence(make: Any, rule: Any) -> None:
    """A learner that has not diverged holds numbers only, so that it can be saved."""
    for seed in range(5):
        rng = np.random.default_rng(seed)
        v = make(td.features.OneHot(4), 0.1, rule, on_divergence="flag")
        for _ in range(40):
            s, y = rng.integers(4, size=2).tolist()
            v.update(s, 10.0 ** rng.uniform(-300, 300), y, rng.random(), 10.0 ** rng.uniform(-300, 300))
            assert v.diverged_at is not None or all(np.isfinite(a).all() for a in v._state().values())

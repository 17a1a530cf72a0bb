"""The learner beside naive predictors and neighbours, against plain NumPy; intervals that follow their coverage."""

from typing import Any

import numpy as np
import pytest
import scipy.optimize

import tdlambda as td
from tdlambda.streams import Stacking
from tdlambda.streams.residuals import KEPT, PER_HORIZON, Errors
from tdlambda.streams.stacking_step import FORGET, OVERLAP, SHORTEST
from tdlambda.streams.turns import is_turn

GAMMA, STEPS = 0.8, 14


def walk(n: int = 400, d: int = 3) -> Any:
    rng, x = np.random.default_rng(0), np.zeros((n, d))
    for t in range(1, n):
        x[t] = 0.9 * x[t - 1] + rng.normal(size=d)
    return x


def made(compared: int = 2, **more: Any) -> Stacking:
    learner = td.AutoTD(td.features.Dense(3), random_features=0)
    return Stacking(
        learner, steps=STEPS, horizon=1 / (1 - GAMMA), compared=compared, readings=[("last", 0, 5.0)], **more
    )


def learned(v: Stacking, x: Any) -> Any:
    return v.prequential(x[:-1], x[1:, 0], x[1:], GAMMA)


def test_one_transition_and_one_observation_as_many() -> None:
    """Row by row as in columns, with nested sets: what is returned, what is learned, and what is predicted."""
    x, features = walk(120), td.features.Dense(3)
    nested = td.AutoTD(features, experts=[td.AutoTD(td.features.Leading(3, 2), random_features=0)])
    whole, one = (Stacking(nested, steps=STEPS, horizon=5.0, readings=[("last", 0, 5.0)], compared=2) for _ in "ab")
    found = learned(whole, x)
    for t in range(len(x) - 1):
        before = one.predict(x[t])
        numbers = np.array([GAMMA]), np.ones(1), np.array([False]), np.array([False])
        row = one.prequential(x[t : t + 1], x[t + 1, :1], x[t + 1 : t + 2], *numbers)
        np.testing.assert_allclose(row[0], found[t], rtol=1e-9, atol=1e-9)
        assert before == pytest.approx(found[t, 0], rel=1e-9, abs=1e-9)
    np.testing.assert_allclose([one.predict(row) for row in x], whole.predict_many(x), rtol=1e-9, atol=1e-9)


def test_errors_are_those_of_returns_known_by_then() -> None:
    """Without neighbours: products of errors of the learner, the mean and the reading, in plain NumPy."""
    x, v = walk(), made(compared=0)
    n, y = len(x) - 1, x[1:, 0]
    learned(v, x)
    alone = td.AutoTD(td.features.Dense(3), random_features=0).prequential(x[:-1], y, x[1:], GAMMA)
    past = np.zeros(n)
    for t in range(n):
        past[t] = y[t] + GAMMA * (past[t - 1] if t else 0.0)
    past = past / (1 - GAMMA ** np.arange(1, n + 1))
    total, evidence = np.zeros((3, 3)), 0.0
    for t in range(STEPS - 1, n):
        i = t - STEPS + 1
        answer = GAMMA**STEPS * alone[t, 1] + GAMMA ** np.arange(STEPS) @ y[i : t + 1]
        low, high = (past[:i].min(), past[:i].max()) if i else (-np.inf, np.inf)
        last = np.clip(5 * x[i, 0], low - (high - low) / 2, high + (high - low) / 2)
        mean = 5 * y[:i].mean() if i else alone[0, 0]
        error = np.array([alone[i, 0], mean, last]) - answer
        keep = 1 - 1 / max(FORGET * (t + 1), SHORTEST)
        total, evidence = keep * total + np.outer(error, error), keep * evidence + 1
    found = np.delete(np.delete(v._stack.products, 1, 0), 1, 1)
    np.testing.assert_allclose(found, total, rtol=0.05)  # outliers are scaled down
    weights = v._stack.weight
    assert weights.min() >= 0
    assert weights.sum() == pytest.approx(1)

    def cost(w: Any) -> float:
        penalty = v._stack.products.diagonal().min() / evidence * OVERLAP * 5.0 / evidence
        return float(w @ v._stack.products @ w / evidence + penalty * ((w - v._stack.prior) ** 2).sum())

    best = scipy.optimize.minimize(
        cost, v._stack.prior, bounds=[(0, 1)] * 4, constraints={"type": "eq", "fun": lambda w: w.sum() - 1}
    )
    assert cost(weights) < 1.01 * best.fun


def test_neighbours_are_the_nearest_rows_whose_return_is_known() -> None:
    x, v = walk(), made()
    learned(v, x)
    s, y = v._stack, x[1:, 0]
    count = int(s.number["stored"][0])
    assert count == len(y) - STEPS + 1
    np.testing.assert_array_equal(s.near_x[:, :count], x[:count, :2].T)
    answers = [GAMMA ** np.arange(STEPS) @ y[i : i + STEPS] for i in range(count)]
    assert np.abs(s.near_return[:count] - answers).max() < GAMMA**STEPS * 50
    point = np.array([0.3, -0.2, 0.0])
    distance = ((point[:2, None] - s.near_x[:, :count]) ** 2 / s.moments[1][:, None]).sum(axis=0)
    some = np.argsort(distance)[:15]
    weight = np.exp(-distance[some] / distance[some].max())
    v.predict(point)
    assert s.value[1] == pytest.approx(weight @ s.near_return[some] / weight.sum(), rel=1e-9)


def test_one_by_one_copies_files_and_streams_that_take_turns(tmp_path: Any) -> None:
    x = walk(120)
    whole = made()
    found = learned(whole, x)
    one = made()
    for t in range(len(x) - 1):
        assert one.predict(x[t]) == pytest.approx(found[t, 0], rel=1e-12, abs=1e-12)
        one.update(x[t], float(x[t + 1, 0]), x[t + 1], GAMMA)
    copy = one.clone()
    one.save(tmp_path / "stacking")
    read = td.load(tmp_path / "stacking")
    for other in (whole, copy, read):
        np.testing.assert_allclose(other.predict_many(x), one.predict_many(x), rtol=1e-12)
    kept = copy.episode()
    copy.update(x[5], 100.0, x[9], GAMMA, truncated=True)
    copy.resume(kept)
    assert copy._stack.number["count"][0] == one._stack.number["count"][0]
    with pytest.raises(ValueError, match="rho must be 1"):
        one.update(x[0], 0.0, x[1], GAMMA, rho=2.0)


def test_streams_that_share_a_learner_have_errors_of_their_own() -> None:
    """With a learner that does not learn: the weights of each are those of a combination of its own."""

    def still(several: bool) -> Stacking:
        learner = td.AutoTD(td.features.Dense(3), experts=[td.TD(td.features.Dense(3), 1e-12, 0.0)], built_in=False)
        return Stacking(learner, steps=60, horizon=5.0, readings=[("last", 0, 5.0), ("b", 1, 5.0)], several=several)

    rng = np.random.default_rng(1)
    both, streams = still(True), {"a": walk(), "b": 100 + rng.normal(size=(400, 3))}
    kept: dict[str, Any] = {}
    for begin in range(0, 390, 30):
        for name, x in streams.items():
            both.resume(kept[name]) if name in kept else both.begin()
            some = slice(begin, begin + 30)
            both.update_many(x[some], x[1:, 0][some], x[1:][some], gamma=GAMMA)
            kept[name] = both.episode()
    here = walk()[5:9]
    for name, x in streams.items():
        alone = still(False)
        alone.update_many(x[:390], x[1:391, 0], x[1:391], gamma=GAMMA)
        naive = slice(1, None)  # not the learner, which begins with the mean of what it saw first
        both.resume(kept[name])
        np.testing.assert_allclose(both._stack.products[naive, naive], alone._stack.products[naive, naive], rtol=0.03)
        np.testing.assert_allclose(both.predict_many(here), both.predict_elsewhere(here, kept[name]))
    assert both.steps == 780
    np.testing.assert_allclose(both.predict_elsewhere(here, None), still(False).predict_many(here), atol=1e-3)


@pytest.mark.parametrize(
    ("reward", "gamma", "named"), [(np.nan, 0.9, "reward"), (1.0, 7.0, "gamma"), (1.0, np.nan, "gamma")]
)
def test_numbers_that_a_window_replaces_are_validated(reward: float, gamma: float, named: str) -> None:
    v = Stacking(td.AutoTD(td.features.Dense(1)), steps=3, of="mean", exceeds=1.0)
    with pytest.raises(ValueError, match=named):
        v.update(np.ones(1), reward, np.ones(1), gamma)
    with pytest.raises(ValueError, match=rf"{named}.*row 1"):
        v.update_many(np.ones((2, 1)), np.array([0.0, reward]), np.ones((2, 1)), gamma=np.array([0.5, gamma]))
    assert v.steps == v.learner.steps == 0


def test_sampled_steps_reach_every_phase_alike() -> None:
    turns = np.flatnonzero([is_turn(float(t), 6.0) for t in range(24_000)])
    assert len(turns) == pytest.approx(24_000 / 5.618, rel=0.01)
    phases = np.bincount(turns % 24, minlength=24)
    assert phases.min() > 0.9 * phases.max()


def test_a_horde_is_never_much_worse_than_the_best_naive_forecast() -> None:
    """On a stream that grows by orders of magnitude, where the last values are hard to beat."""
    rng = np.random.default_rng(0)
    y = np.exp(np.cumsum(rng.normal(0.003, 0.03, 3000)))
    result = td.streams.prequential(
        td.Horde(None, td.Question("y", horizon=12, average=True)), {"y": y}, baselines=["running mean", "last value"]
    )["y"]
    assert result.late.r2 > max(fit.r2 for fit in result.rivals.values()) - 0.02
    assert result.early.r2 > max(fit.r2 for fit in result.rivals_early.values()) - 0.02


@pytest.mark.parametrize("of", ["sum", "mean", "max", "exceeds"])
def test_windows_are_combined_by_windows_that_have_passed(of: str) -> None:
    """Returns to the mean within a window, so the last window's answer is a bad prediction; and it is not preferred."""
    rng, n, steps = np.random.default_rng(3), 3000, 12
    y = 10 + 2 * np.sin(2 * np.pi * np.arange(n) / 24) + rng.normal(0, 0.3, n)
    asked = td.Question("y", steps=steps, **({"exceeds": 11.5} if of == "exceeds" else {"of": of}))
    horde = td.Horde(None, asked)
    result = td.streams.prequential(horde, {"y": y}, baselines=["running mean"])["y"]
    assert result.late.r2 > 0.7
    v: Any = horde.learners["y"]
    s = v._stack
    passed = np.lib.stride_tricks.sliding_window_view(y[1:], steps)
    answers = {"sum": passed.sum(1), "mean": passed.mean(1), "max": passed.max(1), "exceeds": passed.max(1) > 11.5}[of]
    count = int(s.number["stored"][0])
    turns = np.flatnonzero([is_turn(float(t), float(v.stride)) for t in range(len(answers))])
    np.testing.assert_allclose(s.near_return[:count], answers[turns[:count]], rtol=1e-9)


# ---- intervals ---------------------------------------------------------------------------------------------------


def daily(n: int = 5000) -> Any:
    t, rng = np.arange(n), np.random.default_rng(1)
    return 20 + 3 * np.sin(2 * np.pi * t / 24) + rng.normal(0, 0.5, n)


@pytest.mark.parametrize("value", [0.0, np.nan])
def test_the_width_is_back_soon_after_a_drop_out(value: float) -> None:
    y = daily()
    y[2500:2550] = value
    horde = td.Horde(None, td.Question("y", horizon=24), intervals=True)
    result = td.streams.prequential(horde, {"y": y}, baselines=[])["y"]
    assert result.limits is not None
    width = result.limits[:, 1] - result.limits[:, 0]
    before = np.median(width[(result.rows > 2000) & (result.rows < 2500)])
    after = np.median(width[(result.rows > 2550 + 20 * 24) & (result.rows < 2550 + 30 * 24)])
    assert after < 1.3 * before
    if value == 0:
        assert horde.quality.far == 50
        assert "50 readings far outside the range, not learned from" in str(horde.quality)
        assert [alarm.kind for alarm in horde.alarms][:1] == ["outlier"]


def test_coverage_holds_while_errors_grow() -> None:
    rng, n = np.random.default_rng(2), 4000
    y = rng.normal(size=n) * np.exp(np.arange(n) / 800)
    horde = td.Horde(td.features.Columns("y"), td.Question("y", gamma=0.8), lambda x: td.TD(x, 0.001), intervals=True)
    result = td.streams.prequential(horde, {"y": y}, baselines=[])["y"]
    assert 0.85 < result.coverage < 0.95


def test_errors_are_kept_in_order_and_the_oldest_leaves() -> None:
    errors, given = Errors.none(1), np.random.default_rng(0).normal(size=500).round(1)  # with equal ones
    for error in given:
        errors.add(0, float(error))
    np.testing.assert_array_equal(errors.ordered[0], np.sort(given[-PER_HORIZON * KEPT :]))


def test_errors_of_one_sign_do_not_drive_the_interval_away() -> None:
    rng, errors = np.random.default_rng(0), Errors.none(1)
    for error in rng.uniform(2, 3, 2000):
        errors.add(0, error)
    low, high = errors.limits(0, 0.9)
    assert 1.8 < low < 2.2
    assert 2.8 < high < 3.2

"""AutoTD as a user meets it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tdlambda as td
from tdlambda.features import Dense, Leading

FEATURES = [
    td.features.OneHot(5),
    td.features.Dense(6),
    td.features.Fourier([0, 0], [1, 1], order=2),
    td.features.TileCoder([0, 0], [1, 1], tilings=4, tiles=8),
    td.features.GridTilings.frozen_lake(),
]


@pytest.mark.parametrize("features", FEATURES, ids=lambda f: type(f).__name__)
def test_it_keeps_the_contract_of_a_learner(features: td.Encoder) -> None:
    td.check_learner(lambda: td.AutoTD(features))


def test_saved_between_two_weight_updates_it_goes_on_the_same(tmp_path: Path) -> None:
    lake: Any = td.make("FrozenLake-v0")
    whole, rest = td.AutoTD(lake.features), lake.sampler(seed=1)
    part = rest.take(12_345)
    whole.update_many(part)
    whole.save(tmp_path / "v")
    again = td.load(tmp_path / "v")
    for v in (whole, again):
        v.update_many(lake.sampler(seed=2).take(20_000))
    assert isinstance(again, td.AutoTD)
    np.testing.assert_array_equal(whole.predict_many(range(16)), again.predict_many(range(16)))
    assert whole.explain() == again.explain()


def test_a_state_with_impossible_numbers_is_refused() -> None:
    v = td.AutoTD(td.features.OneHot(3))
    v.update(0, 1.0, 1, gamma=1.0)
    impossible = {
        "lanes.synced": 7, "lanes.n_live": 99, "lanes.order": 3, "lanes.listed": 1, "lanes.under_way": -1,
        "mixture.absent": 0.5, "mixture.weight": 1.5, "mixture.visits": -1.0, "mixture.recent": 9, "systems.filled": 3,
        "systems.weight": 0.0, "mixture.number": -1.0, "mixture.sums": -1.0,
    }  # fmt: skip
    for name, value in impossible.items():
        state = {part: array.copy() for part, array in v._state().items()}
        state[name][...] = value
        with pytest.raises(ValueError, match="state"):
            td.AutoTD(td.features.OneHot(3))._restore(state)
    td.AutoTD(td.features.OneHot(3))._restore(v._state())


def test_it_is_near_the_best_of_its_own_learners() -> None:
    """RingWorld, 30,000 steps, 4 seeds: no worse than the best fixed learner of the bank chosen in hindsight."""
    ring: Any = td.make("RingWorld-v0")
    single = {f"{a} {z}": td.TrueOnlineTD(ring.features, a, z) for a in (0.1, 0.03, 0.01, 0.003) for z in (0.4, 0.8)}
    found = td.engine.run(ring, {"auto": td.AutoTD(ring.features), **single}, seeds=4, steps=30_000, keep=(), threads=1)
    final = found.error[:, :, -10:].mean(axis=(1, 2))
    assert final[0] < 1.0 * final[1:].min()


def test_in_a_stream_without_end() -> None:
    garnet: Any = td.make("Garnet-v0", seed=3, n=10)
    v = td.AutoTD(garnet.features)
    v.update_many(garnet.sampler(seed=1).take(50_000))
    assert garnet.exact.value_error(v.predict_many(range(10))) < 0.01


def test_episodes_that_are_cut_are_no_ends() -> None:
    """γ = 0.9, reward 1 for ever, cut every 7 steps: the value is 10, not what 7 steps give."""
    v, n = td.AutoTD(td.features.OneHot(2)), 20_000
    s = np.arange(n) % 2
    v.update_many(s, np.ones(n), 1 - s, 0.9, truncated=np.arange(n) % 7 == 6)
    np.testing.assert_allclose(v.predict_many([0, 1]), 10, rtol=0.02)


def test_after_a_change_of_target_policy() -> None:
    """10⁴ steps after the target turns round, within 1.5 times the best of some fixed learners; and it noticed."""
    old, new = (td.make("RingWorld-v0", behavior_left=0.4, target_left=z) for z in (0.35, 0.6))
    errors = []
    for seed in range(3):
        learners: list[Any] = [td.AutoTD(new.features)]
        learners += [td.TrueOnlineTD(new.features, a, z) for a in (0.1, 0.03, 0.01, 0.003) for z in (0.0, 0.4, 0.8)]
        past, future = old.sampler(seed).take(100_000), new.sampler(seed + 50).take(10_000)
        for v in learners:
            v.update_many(past)
            v.reset()
            v.update_many(future)
        errors.append([new.exact.value_error(v.predict_many(range(11))) for v in learners])
        assert learners[0].explain().changes >= 1
    mean = np.mean(errors, axis=0)
    assert mean[0] < 1.5 * mean[1:].min()


def test_early_evidence_finds_values_far_from_zero() -> None:
    """Long episodes with γ = 1: the expected trace is learned too slowly, so that the raw trace must count."""
    chain: Any = td.make("BoyanChain-v0", n=81)
    truth = td.engine.exact_truth(chain)
    for seed in (0, 2):
        auto, best = td.AutoTD(chain.features), td.RecursiveLSTD(chain.features, 0.0, ridge=0.01)
        for v in (auto, best):
            v.update_many(chain.sampler(seed).take(1000))
        mine, its = (np.mean((v.predict_many(truth.observations) - truth.values) ** 2) for v in (auto, best))
        assert mine < 3 * its


def test_the_weights_are_the_experts_shares() -> None:
    ring: Any = td.make("RingWorld-v0")
    v = td.AutoTD(ring.features)
    v.update_many(ring.sampler(seed=3).take(20_000))
    shares = v.expert_weights()
    assert len(shares) == 69
    assert sum(shares.values()) == pytest.approx(1)
    assert list(shares.items()) == [(e.name, e.weight) for e in v.explain().experts]
    index, value = ring.features.encode_batch(range(11))
    values = v._bank.each(index, value, np.zeros((11, 0)))[1]
    mixed = values @ v._bank.memory.mixture.weight
    np.testing.assert_allclose(v.predict_many(range(11)), mixed, rtol=1e-12)
    linear = v.weights + mixed - ring.features.matrix(range(11)) @ v.weights
    assert np.ptp(mixed - v.weights) < 0.01, "running means have little weight here"
    np.testing.assert_allclose(linear, mixed)


def test_what_it_says_of_itself() -> None:
    ring: Any = td.make("RingWorld-v0")
    v = td.AutoTD(ring.features)
    assert str(v.explain()) == repr(v.explain()) == "no data yet"
    v.update_many(ring.sampler(seed=1).take(20_050))
    said = v.explain()
    assert repr(said) == str(said)
    assert "error minus mixture's" in str(said)
    changed = replace(said, changes=1, restarts=4, diverged=0)
    assert "1 detected change of the target, 4 experts restarted, 0 diverged" in str(changed)
    assert len(said.experts) == 69
    assert sum(e.weight for e in said.experts) == pytest.approx(1)
    assert 1 <= said.effective <= 66
    assert said.steps == said.window == 20_050
    assert said.lam == pytest.approx(v.lambda_at(3))
    table = str(said).splitlines()
    assert len(table) >= 3
    assert f"{said.experts[0].weight:.3f}" in table[2]


def test_experts_of_ones_own(tmp_path: Path) -> None:
    """One that knows the values gets the weight; it learns as it would alone; files and copies hold it."""
    lake: Any = td.make("FrozenLake-v0")
    some = lake.sampler(seed=4).take(3000)
    for features in (lake.features, td.features.OneHot(16)):
        alone = td.RecursiveLSTD(features, 0.9)
        v = td.AutoTD(features, experts=[alone, td.TD(features, 0.01, 0.5)])
        v.update_many(some)
        alone.update_many(some)
        np.testing.assert_array_equal(v.experts[0].weights, alone.weights)
        assert {"RecursiveLSTD 1", "TD 2"} < set(v.expert_weights())
        assert v.predict(3) == pytest.approx(v.predict_many([3])[0], abs=1e-15)
        v.save(tmp_path / "v")
        for again in (v.clone(), td.load(tmp_path / "v")):
            assert isinstance(again, td.AutoTD)
            again.update_many(lake.sampler(seed=5).take(500))
            assert again.explain().experts != v.explain().experts
        more = v.clone()
        for row in zip(*(getattr(lake.sampler(seed=5).take(500), n) for n in NAMES), strict=True):
            more.update(*row)
        np.testing.assert_array_equal(more.predict_many(range(16)), again.predict_many(range(16)))


NAMES = ("obs", "reward", "next_obs", "gamma", "rho", "terminated", "truncated")


def test_an_own_expert_that_is_right_gets_the_weight() -> None:
    ring: Any = td.make("RingWorld-v0", n=301)  # too many states for least squares
    truth = td.engine.exact_truth(ring)
    values = np.zeros(301)
    values[truth.observations] = truth.values
    known = td.TD(ring.features, 1e-9, 0.0, initial=values)
    v = td.AutoTD(ring.features, experts=[known])
    v.update_many(ring.sampler(seed=1).take(50_000))
    assert v.expert_weights()["TD 1"] > 0.3


def test_own_experts_for_readings() -> None:
    rng = np.random.default_rng(0)
    X = 50 + rng.normal(size=(400, 2)).cumsum(axis=0)
    v = td.AutoTD(td.features.Dense(2), experts=[td.LSTD(td.features.Dense(2), 0.9)])
    v.update_many(X[:-1], X[1:, 0], X[1:], 0.9, truncated=np.arange(399) % 50 == 49)
    assert v.clone().predict(X[7]) == v.predict(X[7]) == pytest.approx(v.predict_many(X[7:8])[0])
    assert sum(v.expert_weights().values()) == pytest.approx(1)


class Nearest(td.Learner):
    """The λ = 0 target of the nearest observation so far: an expert that is not linear in features."""

    def __init__(self, features: td.Encoder) -> None:
        super().__init__(features, 0.0)
        self.table = np.zeros((0, features.size + 1))

    @property
    def weights(self) -> Any:
        raise TypeError("nearest neighbours have no weights")

    def predict_many(self, observations: Any) -> Any:
        X = self.features.matrix(observations)
        if not len(self.table):
            return np.zeros(len(X))
        nearest = ((X[:, None] - self.table[None, :, :-1]) ** 2).sum(axis=2).argmin(axis=1)
        return self.table[nearest, -1]

    def predict(self, obs: Any) -> float:
        return float(self.predict_many([obs])[0])

    def update(self, obs: Any, reward: float, next_obs: Any, gamma: float = 0.0, *_: Any, **__: Any) -> None:
        row = np.append(self.features.dense(obs), reward + gamma * self.predict(next_obs))
        self.table = np.vstack([self.table, row])[-100:]

    def reset(self) -> None:
        pass

    def get_params(self) -> dict[str, Any]:
        return {"features": self.features}

    def _state(self) -> dict[str, Any]:
        return {"table": self.table}

    def _restore(self, state: dict[str, Any]) -> None:
        self.table = state["table"]


@pytest.mark.parametrize("features", [td.features.Dense(2), td.features.TileCoder([-4, -4], [4, 4], tilings=2)])
def test_experts_with_encoders_of_their_own(features: td.Encoder, tmp_path: Path) -> None:
    """Random features that adapt, nearest neighbours, another AutoTD: one by one, together, from a file, copied."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 2))
    r, end = np.sin(3 * X[:-1, 0]), np.arange(499) % 50 == 49
    experts = [
        td.RecursiveLSTD(td.features.RandomFourier(2, 20), 0.0), Nearest(td.features.Dense(2)),
        td.AutoTD(td.features.RandomReLU(2, 5)),
    ]  # fmt: skip
    one, many = (td.AutoTD(features, experts=experts, random_features=0) for _ in range(2))
    for t in range(499):
        one.update(X[t], r[t], X[t + 1], 0.0, truncated=bool(end[t]))
    many.update_many(X[:200], r[:200], X[1:201], 0.0, truncated=end[:200])
    many.save(tmp_path / "v")
    for other in (td.load(tmp_path / "v"), many.clone()):
        assert isinstance(other, td.AutoTD)
        other.update_many(X[200:-1], r[200:], X[201:], 0.0, truncated=end[200:])
        np.testing.assert_array_equal(other.predict_many(X[:9]), one.predict_many(X[:9]))
        assert other.predict(X[3]) == pytest.approx(other.predict_many(X[3:4])[0])
    shares = one.expert_weights()
    assert {"RecursiveLSTD 1", "Nearest 2", "AutoTD 3"} < set(shares)
    if isinstance(features, td.features.Dense):
        assert shares["RecursiveLSTD 1"] + shares["Nearest 2"] > 0.9
        assert np.mean((one.predict_many(X[:-1]) - r) ** 2) < 0.2
    with pytest.raises(TypeError, match="other features"):
        _ = one.weights


@pytest.mark.parametrize(
    ("experts", "message"),
    [
        (td.TD(td.features.OneHot(3), 0.1), "list of learners"),
        ([0.1], "list of learners"),
    ],
)
def test_own_experts_that_cannot_be(experts: Any, message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        td.AutoTD(td.features.OneHot(3), experts=experts)


def test_the_step_sizes_move_where_the_best_is_at_their_end() -> None:
    """A long cycle without noise: a step size of 1 is right, and the largest was 0.3."""
    n, size = 60_000, 300
    s = np.arange(n) % size
    v = td.AutoTD(td.features.OneHot(size))
    v.update_many(s, np.sin(s), (s + 1) % size, 0.9)
    assert v.explain().moves >= 1
    assert max(e.alpha or 0 for e in v.explain().experts) > 0.3
    assert v.clone().explain() == v.explain()


@pytest.mark.parametrize("own", [False, True])
def test_predictions_before_each_update_in_one_call_and_one_by_one(own: bool) -> None:
    """Nested AutoTDs and another learner: the same numbers and the same state, whichever method they learn by."""

    def make() -> td.AutoTD:
        nested = td.AutoTD(Leading(4, 3), experts=[td.AutoTD(Leading(4, 1), random_features=0)])
        return td.AutoTD(Dense(4), experts=[nested, td.TD(Dense(4), 0.01, 0.5)] if own else [nested])

    rng = np.random.default_rng(0)
    X = np.cumsum(rng.normal(size=(161, 4)), axis=0) / 5
    reward, gamma, rho = X[1:, 0] + rng.normal(size=160), rng.uniform(0.5, 1, 160), rng.uniform(0.5, 1.5, 160)
    ended, cut = np.arange(160) % 50 == 49, np.arange(160) % 70 == 69
    columns = (X[:-1], reward, X[1:], gamma, rho, ended, cut)
    one, many, both = make(), make(), make()
    found = np.empty((160, 2))
    for t, row in enumerate(zip(*(c if c.ndim > 1 else c.tolist() for c in columns), strict=True)):
        found[t] = one.predict(row[0]), one.predict(row[2])
        one.update(*row)
    many.update_many(*columns)
    np.testing.assert_array_equal(both.prequential(*columns), found)
    for name, array in one._state().items():
        np.testing.assert_array_equal(many._state()[name], array, err_msg=name)
        np.testing.assert_array_equal(both._state()[name], array, err_msg=name)


@pytest.mark.parametrize("bad", ["reading", "reward", "gamma"])
def test_no_expert_learns_from_a_row_that_another_refuses(bad: str) -> None:
    v = td.AutoTD(Dense(4), experts=[td.AutoTD(Leading(4, 1))])
    X = np.random.default_rng(0).normal(size=(41, 4))
    v.update_many(X[:-1], X[1:, 0], X[1:], 0.9)
    before = {name: array.copy() for name, array in v._state().items()}
    x, reward, gamma = X[0].copy(), 1e101 if bad == "reward" else 1.0, 1.5 if bad == "gamma" else 0.9
    x[3] = 1e200 if bad == "reading" else x[3]  # |x|² is not finite; the expert does not see it
    for learn in (
        lambda: v.update(x, reward, X[1], gamma),
        lambda: v.update_many([x], [reward], X[1:2], [gamma]),
        lambda: v.prequential([x], [reward], X[1:2], [gamma]),
    ):
        with pytest.raises(ValueError, match=bad if bad != "reading" else "obs"):
            learn()
        assert all(np.array_equal(array, before[name]) for name, array in v._state().items())

"""AutoTD as a user meets it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tdlambda as td
from tdlambda.auto import layout

FEATURES = [
    td.OneHot(5),
    td.Dense(6),
    td.Fourier([0, 0], [1, 1], order=2),
    td.TileCoder([0, 0], [1, 1], tilings=4, tiles=8),
    td.GridTilings.frozen_lake(),
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
    v = td.AutoTD(td.OneHot(3))
    v.update(0, 1.0, 1)
    impossible = {
        "synced": 7, "updates": -1, "n_live": 99, "order": 3, "listed": 1, "under_way": -1, "dropped": 1, "drops": 1,
        "weight": 1.5, "age": -1.0, "most_gamma": 2.0, "gamma": -0.5, "rho": -1.0, "longest": -1.0, "short_count": -1.0,
        "visits": -1.0,
    }  # fmt: skip
    for name, value in impossible.items():
        state = {part: array.copy() for part, array in v._state().items()}
        state[name][...] = value
        with pytest.raises(ValueError, match="state"):
            td.AutoTD(td.OneHot(3))._restore(state)
    td.AutoTD(td.OneHot(3))._restore(v._state())


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
    assert garnet.mdp.value_error(v.predict_many(range(10)), garnet.target) < 0.01


def test_episodes_that_are_cut_are_no_ends() -> None:
    """γ = 0.9, reward 1 for ever, cut every 7 steps: the value is 10, not what 7 steps give."""
    v, n = td.AutoTD(td.OneHot(2)), 20_000
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
        errors.append([new.mdp.value_error(v.predict_many(range(11)), new.target) for v in learners])
        assert learners[0].explain().changes >= 1
    mean = np.mean(errors, axis=0)
    assert mean[0] < 1.5 * mean[1:].min()


def test_the_weights_are_the_experts_shares() -> None:
    ring: Any = td.make("RingWorld-v0")
    v = td.AutoTD(ring.features)
    assert len(v.weights()) == 48
    v.update_many(ring.sampler(seed=3).take(20_000))
    shares = v.weights()
    assert sum(shares.values()) == pytest.approx(1)
    assert list(shares.items()) == [((e.alpha, e.lam, e.averaged), e.weight) for e in v.explain().experts]
    experts = [(a, z, averaged) for averaged in (False, True) for a, z in layout.PAIRS]
    mixed = v._experts.weights() @ [shares[expert] for expert in experts]
    np.testing.assert_allclose(v.predict_many(range(11)), mixed, rtol=1e-12)
    np.testing.assert_allclose(v.weights, mixed, rtol=1e-12)


def test_what_it_says_of_itself() -> None:
    ring: Any = td.make("RingWorld-v0")
    v = td.AutoTD(ring.features)
    assert "0 steps" in str(v.explain())
    v.update_many(ring.sampler(seed=1).take(20_050))
    said = v.explain()
    assert len(said.experts) == 48
    assert sum(e.weight for e in said.experts) == pytest.approx(1)
    assert 1 <= said.effective <= 48
    assert said.steps == said.window == 20_050
    assert said.lam == pytest.approx(v.lambda_at(3))
    table = str(said).splitlines()
    assert len(table) >= 3
    assert f"{said.experts[0].weight:.3f}" in table[2]

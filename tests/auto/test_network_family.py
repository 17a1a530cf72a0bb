"""Networks as experts of AutoTD."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tdlambda as td


@pytest.mark.interpreted
def test_networks_are_experts_beside_the_others(tmp_path: Path) -> None:
    v, X = td.AutoTD(td.Network(3, (4,)), random_features=0), np.random.default_rng(0).normal(size=(61, 3))
    v.update_many(X[:-1], np.sin(X[:-1, 0]), X[1:], 0.9)
    assert {f"TD {k}" for k in (1, 2, 3, 4)} < set(v.expert_weights())
    assert sum(v.expert_weights().values()) == pytest.approx(1.0)
    plain = td.TD(td.Network(3, (4,)), td.steps.IntentionalRMS(0.3), 0.8)
    plain.update_many(X[:-1], np.sin(X[:-1, 0]), X[1:], 0.9)
    assert v.experts[2].predict(X[0]) == pytest.approx(plain.predict(X[0]), rel=1e-4)
    v.save(tmp_path / "v")
    assert td.load(tmp_path / "v").predict(X[0]) == v.predict(X[0])
    with pytest.raises(ValueError, match="next_obs must have the shape"):
        v.update(X[0], 1.0, X[0, :2], 0.9)


@pytest.mark.interpreted
def test_auto_lambda_mixes_networks_alone(tmp_path: Path) -> None:
    alpha, X = td.steps.ObGD(), np.random.default_rng(0).normal(size=(81, 3))
    v: Any = td.TD(td.Network(3, (4,), seed=2), alpha, lam="auto", bound=50.0)
    assert type(v) is td.AutoTD
    experts: Any = v.experts
    assert [e.rule.lam for e in experts] == [0.0, 0.5, 0.8, 0.9, 0.95, 1.0]
    assert [e.features.seed for e in v.experts] == [12, 13, 14, 15, 16, 17]
    assert all(e.alpha == alpha and e.bound == 50.0 for e in experts)
    R, ends = np.sin(X[:-1, 0]), np.arange(80) % 9 == 8
    v.update_many(X[:60], R[:60], X[1:61], 0.9, terminated=ends[:60])
    assert set(v.expert_weights()) == {f"TD {k}" for k in range(1, 7)}
    share = v.expert_weights()
    expected = sum(share[f"TD {k}"] * e.predict(X[0]) for k, e in enumerate(v.experts, 1))
    assert v.predict(X[0]) == pytest.approx(expected)
    assert v.lambda_at(X[0]) == pytest.approx(sum(share[f"TD {k}"] * e.rule.lam for k, e in enumerate(experts, 1)))
    plain = td.TD(td.Network(3, (4,), seed=14), alpha, 0.8, bound=50.0)
    plain.update_many(X[:60], R[:60], X[1:61], 0.9, terminated=ends[:60])
    assert v.experts[2].predict(X[0]) == plain.predict(X[0])
    v.save(tmp_path / "v")
    others = [v, td.load(tmp_path / "v"), v.clone()]
    assert repr(others[1]) == repr(v)
    for t in range(60, 80):
        v.update(X[t], float(R[t]), X[t + 1], 0.9, terminated=bool(ends[t]))
    for other in others[1:]:
        other.update_many(X[60:80], R[60:], X[61:], 0.9, terminated=ends[60:])
        np.testing.assert_allclose(other.predict_many(X), v.predict_many(X))
    with pytest.raises(ValueError, match='of="value" needs the built-in experts'):
        v.interval(X[0])


@pytest.mark.interpreted
def test_equal_rewards_do_not_fix_the_value_of_networks() -> None:
    """The value would be 1/(1 - γ) = 100 if no episode ended; networks begin near 0, and rightly if one does."""
    v: Any = td.TD(td.Network(2, (4,)), td.steps.ObGD(), "auto")
    X = np.random.default_rng(3).normal(size=(61, 2))
    v.update_many(X[:-1], np.ones(60), X[1:], 0.99)
    each = [e.predict_many(X) for e in v.experts]
    assert (v.predict_many(X) >= np.min(each, axis=0)).all()
    assert (v.predict_many(X) <= np.max(each, axis=0)).all()


@pytest.mark.interpreted
def test_a_mixture_of_given_experts_alone() -> None:
    pairs = [td.TD(td.features.OneHot(3), 0.1, lam) for lam in (0.0, 1.0)]
    v = td.AutoTD(td.features.OneHot(3), experts=pairs, built_in=False)
    for _ in range(40):
        v.update(0, 0.0, 1, 0.9)
        v.update(1, 1.0, 2, 0.9, terminated=True)
    assert set(v.expert_weights()) == {"TD 1", "TD 2"}
    low, high = sorted(e.predict(0) for e in v.experts)
    assert low <= v.predict(0) <= high
    assert "built_in=False" in repr(v)
    with pytest.raises(ValueError, match="built_in must be True without experts"):
        td.AutoTD(td.features.OneHot(3), built_in=False)
    named: Any = td.TD(td.Network(2, (3,)), 0.1, td.rules.LambdaMixture(lams=(0.0, 0.2, 0.4, 0.6, 0.8)))
    assert [e.rule.lam for e in named.experts] == [0.0, 0.2, 0.4, 0.6, 0.8]


@pytest.mark.interpreted
def test_more_readings_than_least_squares_takes() -> None:
    """Without systems there are still penalties of readings, which are written at every step."""
    v, X = td.AutoTD(td.features.Dense(257)), np.random.default_rng(0).normal(size=(41, 257))
    v.update_many(X[:-1], np.sin(X[:-1, 0]), X[1:], 0.9)
    assert np.isfinite(v.predict_many(X)).all()


@pytest.mark.interpreted
@pytest.mark.parametrize("lam", [0.8, "auto"])
def test_networks_in_a_horde(lam: Any, tmp_path: Path) -> None:
    """Each question has a network of its own, which learns as it does outside."""
    alpha, t = td.steps.Intentional(0.3), np.arange(80.0)
    frame = {"a": 10 + np.sin(t / 4), "b": np.cos(t / 4)}
    questions = {"a": td.Question("a", gamma=0.9), "b": td.Question("b", gamma=0.5)}
    horde = td.Horde(td.features.Dense(2), questions, lambda x: td.TD(td.Network(x.size, (4,)), alpha, lam))
    horde.learn(frame)
    v, X = td.TD(td.Network(2, (4,)), alpha, lam), np.column_stack([frame["a"], frame["b"]])
    v.update_many(X[:-1], X[1:, 1], X[1:], 0.5)
    assert horde.predict()["b"] == pytest.approx(v.predict(X[-1]), rel=1e-4)
    horde.save(tmp_path / "horde")
    assert td.load(tmp_path / "horde").predict() == horde.predict()

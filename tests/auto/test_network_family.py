"""Networks as experts of AutoTD."""

from pathlib import Path

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

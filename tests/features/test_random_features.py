"""Random features: their values, their standardisation, and learners that use them."""

from __future__ import annotations

import copy
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tdlambda as td
from tdlambda.compiled import kernel
from tdlambda.features import RandomFourier, RandomReLU
from tdlambda.features.random_features import BANDWIDTHS, LAST, frequencies

RNG = np.random.default_rng(0)
X = RNG.normal(size=(1300, 3)) * [1.0, 1e3, 1e-3] + [0.0, 1e6, 5.0]
Y = np.sin(X[:, 0])


def settled(kind: Any, m: int = 20) -> Any:
    """An encoder that has seen X."""
    found = kind(3, m, seed=4)
    for row in X[:LAST]:
        found.observe(row)
    return found


@pytest.mark.parametrize("kind", [RandomFourier, RandomReLU])
def test_features_are_random_functions_of_standardised_readings(kind: Any) -> None:
    found = settled(kind)
    z = np.clip((X - X[:LAST].mean(0)) / X[:LAST].std(0), -5, 5)
    a = found._directions()
    inner = z @ a[:, :-1].T + a[:, -1]
    want = np.sqrt(2 / 20) * (np.cos(inner) if kind is RandomFourier else np.maximum(0, inner))
    np.testing.assert_allclose(found.matrix(X), want, atol=1e-9)
    encode: Any = kernel(found.kernel.encode)
    index, value = np.zeros(20, np.int64), np.zeros(20)
    assert encode(X[3], found.kernel.numbers, index, value) == 0
    np.testing.assert_array_equal(value, found.encode(X[3])[1])
    assert encode(np.array([np.nan, 0, 0]), found.kernel.numbers, index, value) == 1


def test_low_frequencies_come_first_and_scale_with_the_number_of_readings() -> None:
    a = frequencies(4, 3000, seed=1)[:, :-1]
    for k, width in enumerate(BANDWIDTHS):
        assert a[1000 * k : 1000 * (k + 1)].std() == pytest.approx(width / 2, rel=0.05)


def test_scales_change_at_powers_of_two_and_then_never() -> None:
    found, changes = RandomFourier(3, 5), []
    for t, row in enumerate(X, 1):
        before = found.encode(X[0])[1]
        found.observe(row)
        if not np.array_equal(before, found.encode(X[0])[1]):
            changes.append(t)
    assert changes == [8, 16, 32, 64, 128, 256, 512, 1024]
    assert found.settled


def test_a_reading_that_never_changes_has_no_influence() -> None:
    found, rows = RandomFourier(2, 5), RNG.normal(size=(10, 2))
    rows[:, 1] = 7.0
    for row in rows:
        found.observe(row)
    np.testing.assert_array_equal(found.encode([0.3, 7.0])[1], found.encode([0.3, -1e9])[1])


LEARNERS: list[Any] = [
    lambda f: td.TD(f, 0.1, 0.8),
    lambda f: td.RecursiveLSTD(f, 0.5),
    lambda f: td.MonteCarlo(f, 0.1),
    lambda f: td.TrueOnlineTD(f, 0.1, "auto"),
]


@pytest.mark.parametrize("make", LEARNERS)
def test_learners_learn_the_same_one_by_one_and_together(make: Any, tmp_path: Path) -> None:
    features = RandomFourier(3, 12, seed=2)
    end = np.arange(len(X) - 1) % 50 == 49
    one, many = make(features), make(features)
    assert features.moments[-1, 0] == 0
    for t in range(len(X) - 1):
        one.update(X[t], Y[t], X[t + 1], 0.9, truncated=bool(end[t]))
    many.update_many(X[:300], Y[:300], X[1:301], 0.9, truncated=end[:300])
    before = many.predict_many(X[:5])
    many.save(tmp_path / "v")
    rest = [X[300:-1], Y[300:-1], X[301:], 0.9, 1.0, False, end[300:]]
    for other in (td.load(tmp_path / "v"), many.clone(), copy.deepcopy(many), pickle.loads(pickle.dumps(many)), many):
        np.testing.assert_array_equal(other.predict_many(X[:5]), before)
        other.update_many(*rest)
        assert other.features.settled
        np.testing.assert_allclose(other.predict_many(X[:5]), one.predict_many(X[:5]), rtol=1e-9)
    assert features.moments[-1, 0] == 0


def test_a_chunk_with_an_invalid_row_changes_nothing() -> None:
    v: Any = td.TD(RandomFourier(3, 5), 0.1)
    bad = X[:20].copy()
    bad[15, 1] = np.nan
    with pytest.raises(ValueError, match="finite"):
        v.update_many(bad, Y[:20], X[1:21], 0.9)
    with pytest.raises(ValueError, match="reward"):
        v.update_many(X[:20], np.where(np.arange(20) == 9, np.inf, 0.0), X[1:21], 0.9)
    assert v.features.moments[-1, 0] == 0
    assert not v.weights.any()


def test_they_fit_what_readings_alone_cannot() -> None:
    v = td.RecursiveLSTD(RandomFourier(3, 60), 0.0, ridge=1.0)
    v.update_many(X[:-1], np.cos(2 * X[:-1, 0]), X[1:], 0.0)
    error = v.predict_many(X[1100:]) - np.cos(2 * X[1100:, 0])
    assert np.mean(error**2) < 0.1


@pytest.mark.parametrize(
    "given", [{"n": 0, "m": 1}, {"n": 1, "m": 0}, {"n": 1, "m": 1, "seed": -1}, {"n": 1, "m": 1, "seed": 0.5}]
)
def test_what_cannot_be_is_refused(given: Any) -> None:
    with pytest.raises((ValueError, TypeError), match="must be"):
        RandomFourier(**given)
    with pytest.raises(ValueError, match="moments"):
        RandomFourier(2, 3, moments=[[1.0, 2.0]])

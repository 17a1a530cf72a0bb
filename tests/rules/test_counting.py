"""λ by counting: the λ that the update uses, from counts kept here."""

import numpy as np
import pytest

import tdlambda as td


def test_the_lambda_in_use_is_that_of_the_visits_so_far() -> None:
    rng = np.random.default_rng(1)
    v, visits, s = td.TD(td.features.OneHot(4), 0.1, td.rules.Counting(patience=3.0)), np.zeros(4), 0
    for _ in range(60):
        after, gamma, ended = int(rng.integers(4)), float(rng.uniform(0.2, 1)), rng.random() < 0.1
        v.update(s, 1.0, after, gamma=gamma, truncated=bool(ended))
        visits[after] += 1
        assert v.trace_decay == pytest.approx(gamma * 3 / (3 + visits[after]), rel=1e-12)
        np.testing.assert_allclose(v.lambdas(range(4)), 3 / (3 + visits), rtol=1e-12)
        s = 0 if ended else after


def test_with_several_features_it_goes_by_their_mean() -> None:
    X = np.array([[1.0, 0.5, 0.0], [0.0, -2.0, 1.0], [3.0, 0.0, 0.0]])
    v, visits = td.TrueOnlineTD(td.features.Table(X), 0.01, td.rules.Counting(patience=2.0)), np.zeros(3)
    for after in (0, 1, 2, 1, 1, 0):
        v.update(0, 1.0, after, gamma=0.9)
        visits += X[after] != 0
        seen = visits[X[after] != 0].mean()
        assert v.trace_decay == pytest.approx(0.9 * 2 / (2 + seen), rel=1e-12)


def test_in_the_warm_up_lambda_is_one_and_visits_count() -> None:
    v = td.TD(td.features.OneHot(2), 0.1, td.rules.Counting(patience=1.0, warm_up=2))
    for expected in (1.0, 1.0, 1 / 4):
        v.update(0, 0.0, 1, gamma=1.0)
        assert v.trace_decay == expected

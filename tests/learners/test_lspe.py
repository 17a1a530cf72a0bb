"""LSPE(λ): against its equations in plain NumPy, and where it goes."""

from typing import Any

import numpy as np
import pytest
from plain_squares import repeated, rows_of, stream

import tdlambda as td


def reference(rows: list[Any], X: Any, step: float, ridge: float, w: Any) -> Any:
    """W += step C⁻¹ (b - A w) after each step, with everything summed and inverted anew."""
    d = X.shape[1]
    for t in range(len(rows)):
        A = sum(np.outer(e, y) for e, y, _ in rows[: t + 1])
        b = sum(e * r for e, _, r in rows[: t + 1])
        w = w + step * np.linalg.solve(X[: t + 1].T @ X[: t + 1] + ridge * np.eye(d), b - A @ w)
    return w


@pytest.mark.parametrize("seed", range(8))
def test_plain_numpy_with_gamma_lambda_rho_at_every_step(seed: int) -> None:
    steps = stream(seed)
    w = np.random.default_rng(seed).normal(size=4)
    v = td.LSPE(td.features.Table(steps.X), td.rules.PerState(steps.lam), 0.3, ridge=2.0, initial=w)
    v.update_many(*steps.columns)
    exact = reference(rows_of(steps), steps.X, 0.3, 2.0, w)
    np.testing.assert_allclose(v.weights, exact, rtol=1e-8, atol=1e-8)


def test_equal_indices_add() -> None:
    rng, coder = np.random.default_rng(1), repeated()
    obs, r, rho = rng.random((31, 1)), rng.normal(size=30), rng.choice([0.5, 1.0, 1.5], 30)
    X = np.array([coder.dense(o) for o in obs])
    columns = (np.arange(30), r, np.arange(1, 31), np.full(30, 0.8), rho, np.zeros(30, bool), np.zeros(30, bool))
    v = td.LSPE(coder, 0.7, 0.5, ridge=0.3)
    v.update_many(obs[:-1], r, obs[1:], 0.8, rho)
    rows = rows_of(stream(0)._replace(X=X, lam=np.full(31, 0.7), columns=columns))
    np.testing.assert_allclose(v.weights, reference(rows, X, 0.5, 0.3, np.zeros(6)), rtol=1e-9, atol=1e-9)


def test_by_hand() -> None:
    v = td.LSPE(td.features.OneHot(2), 0.5, ridge=1.0)
    v.update(0, 1.0, 1, gamma=0.5)  # C = diag(2, 1), b = (1, 0)
    assert v.weights.tolist() == [0.5, 0.0]
    v.update(1, 2.0, 0, gamma=1.0, terminated=True)  # C = 2 I, e = (¼, 1): b = (1½, 2), A = [[1, -¼], [0, 1]]
    np.testing.assert_allclose(v.weights, [0.5 + (1.5 - 0.5) / 2, 1.0])


@pytest.mark.parametrize("lam", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("name", ["BoyanChain-v0", "RandomWalk-v0"])
def test_on_policy_it_goes_where_lstd_goes(name: str, lam: float) -> None:
    task: Any = td.make(name)
    steps = task.sampler(seed=1).take(100_000)
    v, lstd = td.LSPE(task.features, lam), td.LSTD(task.features, lam, ridge=0.0)
    for learner in (v, lstd):
        learner.update_many(steps)
    states = np.flatnonzero(~task.mdp.terminal)
    exact = lstd.predict_many(states)
    assert np.abs(v.predict_many(states) - exact).max() < 2e-3 * np.abs(exact).max()


def test_divergence_keeps_the_weights_before() -> None:
    """w → 2w: x = 1, x' = 2, γ = 1, so A/C = -1, and w grows from any start but 0."""
    v = td.LSPE(td.features.Dense(1), 0.0, initial=1.0, bound=1e6, on_divergence="flag")
    v.update_many(np.ones((60, 1)), np.zeros(60), 2 * np.ones((60, 1)), 1.0, 1.0, False, True)
    assert v.diverged_at is not None
    w = v.weights.copy()
    assert 1e5 < w[0] < 1e6
    v.update([1.0], 0.0, [2.0], gamma=1.0)
    assert v.weights.tolist() == w.tolist()
    with pytest.raises(td.Diverged):
        td.LSPE(td.features.OneHot(2)).update(0, 1e150, 1, gamma=1.0)


def test_bad_input() -> None:
    for name, bad in (("step", 0.0), ("step", np.nan), ("ridge", 0.0), ("ridge", 1e-320), ("initial", [1.0, 2.0])):
        with pytest.raises(ValueError, match=name):
            td.LSPE(td.features.OneHot(3), **{name: bad})  # type: ignore[arg-type]
    v = td.LSPE(td.features.OneHot(3), [0.1, 0.2, 0.3], 0.5, 0.1, initial=[1.0, 2.0, 3.0], max_size=4, bound=1e9)
    v.update(0, 1.0, 1, gamma=1.0)
    fresh = td.LSPE(**v.get_params())
    assert fresh.get_params() == v.get_params()
    assert fresh.weights.tolist() == [1.0, 2.0, 3.0]
    with pytest.raises(ValueError, match="read-only"):
        v.weights[0] = 1.0

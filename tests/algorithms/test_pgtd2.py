"""PGTD2(λ): its half steps written out, and its mean update on one sample, which is not GTD2's."""

from typing import Any

import numpy as np
import pytest

import tdlambda as td


@pytest.mark.interpreted
def test_half_steps_written_out() -> None:
    rng, X, lam = np.random.default_rng(0), np.random.default_rng(1).normal(size=(8, 4)), np.random.default_rng(2)
    lams = lam.random(8)
    v = td.PGTD2(td.features.Table(X), 0.1, lams, beta=0.2)
    w, h, e, decay = np.zeros(4), np.zeros(4), np.zeros(4), 0.0
    for _ in range(80):
        (s, after), reward, gamma, rho, end = rng.integers(8, size=2), rng.normal(), rng.random(), *rng.random(2)
        rho, ended = 2 * rho, end < 0.1
        v.update(int(s), reward, int(after), gamma, rho, terminated=bool(ended))
        x, y, gamma = X[s], (0.0 if ended else 1.0) * X[after], 0.0 if ended else gamma
        e, boot = rho * (decay * e + x), gamma * (1 - lams[after])
        old, second = w, h
        for _ in range(2):  # a half step, then a whole one; both start from the old weights
            delta = reward + gamma * w @ y - w @ x
            w, h = (
                old + 0.1 * ((x @ h) * x - boot * (e @ h) * y),
                second + 0.2 * (delta * e - (x @ h) * x),
            )
        decay = gamma * lams[after]
        if ended:
            e, decay = np.zeros(4), 0.0
    assert np.abs(w).max() > 0.1
    np.testing.assert_allclose(v.weights, w, rtol=1e-11)
    np.testing.assert_allclose(v.row("V_h"), h, rtol=1e-11)


def growth(task: Any, alpha: float, beta: float) -> tuple[float, float]:
    """The largest real part of an eigenvalue of the mean update with λ = 0: GTD2's and PGTD2's, from the model."""
    X, mdp = task.features.matrix(np.arange(7)), task.mdp
    pi, b, n = mdp.policy(task.target), mdp.policy(task.behavior), X.shape[1]
    d = mdp.under(task.behavior).state_distribution()
    means = np.zeros((2, 2 * n, 2 * n))
    solid = np.full((7, 7), 1 / 6) * (np.arange(7) < 6)  # to one of the first six, or to the last
    dashed = np.zeros((7, 7)) + (np.arange(7) == 6)
    actions = (solid, dashed) if pi[0, 1] == 1 else (dashed, solid)
    for a, chances in enumerate(actions):
        for s in range(7):
            for after in np.flatnonzero(chances[s]):
                x, y, rho = X[s], 0.99 * X[after], pi[s, a] / b[s, a]
                top = alpha * np.outer(x - rho * y, x)  # of h, on w
                left = beta * rho * np.outer(x, y - x)  # of w, on h
                J = np.block([[np.zeros((n, n)), top], [left, -beta * np.outer(x, x)]])
                means += d[s] * b[s, a] * chances[s, after] * np.array([J, J + J @ J])
    return tuple(float(np.linalg.eigvals(mean).real.max()) for mean in means)  # type: ignore[return-value]


def test_where_the_mean_update_on_one_sample_is_stable() -> None:
    baird = td.make("Baird-v0")
    plain, extra = growth(baird, 0.005, 0.05)
    assert plain < 1e-15 < 5e-6 < extra < 7e-6
    assert max(growth(baird, 0.005, 0.0002)) < 1e-15


@pytest.mark.slow
def test_on_one_sample_large_second_steps_are_unstable_on_bairds_counterexample() -> None:
    baird: Any = td.make("Baird-v0")
    rate, grown = growth(baird, 0.005, 0.05)[1], []
    for seed in range(4):
        v = td.PGTD2(baird.features, 0.005, 0.0, 0.05, initial=baird.initial_weights, on_divergence="flag", bound=1e12)
        sampler, size = baird.sampler(seed=seed), []
        for n in (300_000, 500_000):
            v.update_many(sampler.take(n))
            size.append(np.abs(v.predict_many(range(7))).max())
        grown.append(np.log(size[1] / size[0]) / 500_000)
    assert np.median(grown) == pytest.approx(rate, rel=0.1)

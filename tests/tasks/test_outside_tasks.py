"""The tasks of published comparisons, against what is known of them from elsewhere."""

import math
from typing import Any

import numpy as np
import pytest

import tdlambda as td
from tdlambda.tasks.collision import drawn_features

GAMMA = 0.9
D = np.array([2, 4, 6, 8, 8, 4, 2, 1]) / 35
FORWARD = np.eye(8, k=1)
V = 0.9 ** np.arange(7, -1, -1.0)
LEVELS = {
    "best": (0.0708, 0.024), "TD(1)": (0.0708, 0.024), "ETD(0)": (0.1104, 0.046), "TD(0)": (0.3172, 0.164),
    "TD(0.9)": (0.0740, 0.026), "ETD(0.9)": (0.0750, 0.026), "TB(0.9)": (0.1651, 0.088), "TB(1)": (0.1513, 0.080),
}  # fmt: skip
"""Fixed points of the Collision task: √VE, its mean over 20,000 draws of the features, and its deviation over draws."""


def test_collision_is_the_published_task() -> None:
    task = td.make("Collision-v0")
    mdp: Any = task.mdp
    np.testing.assert_allclose(mdp.v(task.target)[:8], V, atol=1e-15)
    d = mdp.under(task.behavior).state_distribution()[:8]
    np.testing.assert_allclose(d / d.sum(), D, atol=1e-15)
    assert np.sqrt(D @ V**2) == pytest.approx(0.689078, abs=5e-7)
    steps = task.sampler(seed=2).take(4000)
    assert set(steps.rho[steps.obs < 4]) == {1.0}
    assert set(steps.rho[steps.obs >= 4]) == {0.0, 2.0}
    np.testing.assert_array_equal(steps.reward, (steps.obs == 7) & (steps.rho > 0))


def level(X: Any, weight: Any, traces: Any) -> float:
    """√VE of the w with Xᵀ diag(weight) (I - traces)⁻¹ (r + γPXw - Xw) = 0, by the pseudo-inverse."""
    K = weight[:, None] * np.linalg.inv(np.eye(8) - traces)
    w = np.linalg.pinv(X.T @ K @ (np.eye(8) - GAMMA * FORWARD) @ X, rcond=1e-10) @ (X.T @ K[:, 7])
    return float(np.sqrt(D @ (X @ w - V) ** 2))


def levels(seeds: range) -> dict[str, Any]:
    follow_on = np.linalg.solve(np.eye(8) - GAMMA * FORWARD.T, D)
    away = np.where(np.arange(8) < 4, 1.0, 0.5)[:, None]  # Tree Backup's trace is halved where the behaviour may turn
    found: dict[str, list[float]] = {name: [] for name in LEVELS}
    for seed in seeds:
        X = drawn_features(seed)
        best = np.linalg.pinv(np.sqrt(D)[:, None] * X) @ (np.sqrt(D) * V)
        found["best"].append(math.sqrt(D @ (X @ best - V) ** 2))
        for lam in (0.0, 0.9, 1.0):
            traces = lam * GAMMA * FORWARD
            found[f"TD({lam:g})"].append(level(X, D, traces))
            if lam < 1:
                found[f"ETD({lam:g})"].append(level(X, lam * D + (1 - lam) * follow_on, traces))
            if lam > 0:
                found[f"TB({lam:g})"].append(level(X, D, away * traces))
    return {name: np.array(values) for name, values in found.items()}


def test_collision_levels_of_fixed_points_over_some_draws() -> None:
    n = 200
    for name, found in levels(range(n)).items():
        mean, deviation = LEVELS[name]
        assert found.mean() == pytest.approx(mean, abs=4 * deviation / np.sqrt(n)), name


@pytest.mark.slow
def test_collision_levels_of_fixed_points_over_20_000_draws() -> None:
    """To the digits given: each mean is of 20,000 draws, theirs and ours, of the deviation given."""
    n = 20_000
    found = levels(range(n))
    for name, (mean, deviation) in LEVELS.items():
        assert found[name].mean() == pytest.approx(mean, abs=4 * deviation * np.sqrt(2 / n)), name
        assert found[name].std() == pytest.approx(deviation, rel=0.1), name
    ranks = np.bincount([np.linalg.matrix_rank(drawn_features(seed)) for seed in range(n)], minlength=7) / n
    np.testing.assert_allclose(ranks[[6, 5, 4]], [0.690, 0.285, 0.025], atol=0.01)


def test_collision_exact_solver_agrees() -> None:
    """`FiniteMDP` on the task gives the levels that the equations above give."""
    for seed in range(5):
        task = td.make("Collision-v0", features_seed=seed)
        mdp: Any = task.mdp
        X = task.features.matrix(range(9))
        np.testing.assert_array_equal(X[:8], drawn_features(seed))
        for lam in (0.0, 0.9):
            values = X @ mdp.under(task.target, task.behavior).gtd_fixed_point(X, lam)
            expected = level(X[:8], D, lam * GAMMA * FORWARD)
            assert np.sqrt(D @ (values[:8] - V) ** 2) == pytest.approx(expected, abs=1e-9)


def test_off_policy_walks() -> None:
    dependent = np.array([[1, 0, 0], [1, 1, 0], [1, 1, 1], [0, 1, 1], [0, 0, 1.0]])
    dependent /= np.linalg.norm(dependent, axis=1, keepdims=True)
    features = {"tabular": np.eye(5), "inverted": (np.ones((5, 5)) - np.eye(5)) / 2, "dependent": dependent}
    for preset, X in features.items():
        task = td.make("RandomWalk-v0", preset)
        mdp: Any = task.mdp
        d = mdp.under(task.behavior).state_distribution()[1:-1]
        np.testing.assert_allclose(d / d.sum(), np.array([1, 2, 3, 2, 1]) / 9, atol=1e-14)
        shown = task.features.matrix(range(7))[1:-1]
        np.testing.assert_allclose(shown[:, 1:-1] if preset == "tabular" else shown, X, atol=1e-15)
        steps = task.sampler(seed=1).take(1000)
        np.testing.assert_allclose(steps.rho, np.where(steps.next_obs < steps.obs, 0.8, 1.2), atol=1e-15)
        assert set(steps.reward[steps.terminated]) == {-1.0, 1.0}


def test_boyan_of_the_public_tdrc_program() -> None:
    """Its simulated chain's TD(0) fixed point, and the RMSPBE that its model gives it."""
    task = td.make("BoyanChain-v0", "13, no last jump")
    mdp: Any = task.mdp
    X = task.features.matrix(range(13))
    w = mdp.under().td_fixed_point(X, 0.0)
    assert mdp.v()[2] == pytest.approx(-5)
    np.testing.assert_allclose(w, [-24.667, -16.667, -8.680, -0.256], atol=6e-4)
    F = np.maximum(0, 1 - np.abs(np.arange(13)[:, None] - np.array([0, 4, 8, 12])) / 4)  # their order counts up
    P, r = np.zeros((13, 13)), np.r_[np.full(10, -3.0), -2, -2, 0]
    for s in range(10):
        P[s, [s + 1, s + 2]] = 0.5
    P[10, 11], P[10, 12], P[11, 12] = 1, 0.5, 1
    A, b, C = F.T @ (np.eye(13) - P) @ F / 13, F.T @ r / 13, F.T @ F / 13
    np.testing.assert_allclose(np.linalg.solve(A, b), [-24, -16, -8, 0], atol=1e-9)
    assert np.sqrt((b - A @ w) @ np.linalg.solve(C, b - A @ w)) == pytest.approx(0.0825, abs=5e-5)


def test_baird_from_the_seventh_state() -> None:
    """Eigenvalues, √VE and √PBE of the counterexample, as Sutton & Barto's features give them."""
    task: Any = td.make("Baird-v0", "seventh")
    assert task.sampler(seed=5).take(1).obs[0] == 6
    X, w = task.features.matrix(range(7)), np.array(task.initial_weights)
    system = task.exact.linear_system(X, 0.0)
    found = np.sort(np.linalg.eigvals(system.A).real)
    np.testing.assert_allclose(found, [-0.23925, -0.022178, 0, *[0.571429] * 5], atol=5e-6)
    assert np.sqrt(np.mean((X @ w) ** 2)) == pytest.approx(5.318432, abs=5e-7)
    assert np.sqrt(system.mspbe(w)) == pytest.approx(8.221408, abs=5e-7)


@pytest.mark.parametrize(("lam", "stored"), [(0.0, 1.00238699), (0.1, 1.00142218)])
def test_random_mrp_gives_the_stored_numbers_of_the_public_program(lam: float, stored: float) -> None:
    """Deterministic, normal features, true online TD, α = 0.001, run 1: the mean over 1,000 steps, to 8 digits."""
    task: Any = td.make("RandomMRP-v0", "deterministic, normal")
    X, P = task.features.matrix(range(100)), task.mdp.under().P().toarray()
    triples, _, mean, _ = task.mdp.transition_moments()
    R = {(s, n): r for (s, _, n), r in zip(triples.tolist(), mean, strict=True)}
    d, v = task.mdp.under().state_distribution(), task.mdp.v()
    best = X @ np.linalg.solve(X.T * d @ X, X.T * d @ v)
    draw, s, total = np.random.RandomState(1), 0, 0.0
    learner = td.TrueOnlineTD(task.features, 1e-3, lam)
    for _ in range(1000):
        after = int(np.argmax(draw.uniform() < np.cumsum(P[s])))
        learner.update(s, R[s, after], after, 0.99)
        total += d @ (X @ learner.weights - best) ** 2
        s = after
    assert total / 1000 / (d @ best**2) == pytest.approx(stored, abs=6e-9)


def test_random_mrp_shapes_and_noise() -> None:
    sizes = {"small": (10, 3, {"one-hot": 10, "binary": 4, "normal": 5}),
             "large": (100, 10, {"one-hot": 100, "binary": 7, "normal": 5})}  # fmt: skip
    for name, (n, branching, features) in sizes.items():
        for kind, size in features.items():
            task: Any = td.make("RandomMRP-v0", f"{name}, {kind}")
            assert task.features.size == size
            np.testing.assert_allclose(np.linalg.norm(task.features.matrix(range(n)), axis=1), 1)
            assert ((task.mdp.under().P().toarray() > 0).sum(axis=1) == branching).all()
            _, _, mean, square = task.mdp.transition_moments()
            np.testing.assert_allclose(square - mean**2, 0.01, atol=1e-12)
    binary = td.make("RandomMRP-v0", "small, binary").features
    np.testing.assert_allclose(binary.dense(9), np.array([1, 0, 1, 0]) / np.sqrt(2))  # 10 is 1010


def test_two_choice_average_and_differential_values() -> None:
    task: Any = td.make("TwoChoice-v0")
    mdp = task.mdp
    P, d = mdp.under(task.target).P().toarray(), mdp.under(task.target).state_distribution()
    o = mdp.outcomes
    r = o.by_state(0.5 * o.probability * o.reward)
    assert d @ r == pytest.approx(0.3, abs=1e-14)
    np.testing.assert_allclose(d, [0.2, *[0.1] * 8], atol=1e-14)
    values = np.array([-0.2, -1.4, -1.1, -0.8, -0.5, 0.6, 0.9, 1.2, 1.5])
    np.testing.assert_allclose(r - 0.3 + P @ values, values, atol=1e-14)
    assert d @ values == pytest.approx(0, abs=1e-14)


def test_aliased_discrepancy() -> None:
    task: Any = td.make("Aliased-v0")
    X = task.features.matrix(range(5))
    d = task.mdp.under().state_distribution()[:4]
    np.testing.assert_allclose(d / d.sum(), np.full(4, 0.25))
    one, zero = (X[:4] @ task.mdp.under().td_fixed_point(X, lam) for lam in (1.0, 0.0))
    assert np.sqrt(np.mean((one - zero) ** 2)) == pytest.approx(np.sqrt(0.5), abs=1e-12)


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("Collision-v0", {"features_seed": -1}, "features_seed"),
        ("RandomWalk-v0", {"features": "hot"}, "features must be one of"),
        ("RandomWalk-v0", {"target_left": 2.0}, "target_left"),
        ("RandomMRP-v0", {"branching": 11}, "branching"),
        ("RandomMRP-v0", {"noise": -0.1}, "noise"),
        ("RandomMRP-v0", {"features": "tabular"}, "features"),
        ("Baird-v0", {"start": 7}, "start"),
    ],
)
def test_bad_options_are_refused_by_name(name: str, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        td.make(name, **options)

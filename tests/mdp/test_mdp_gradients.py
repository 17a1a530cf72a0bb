"""Bellman errors, the gradient of the start value, and the proposition's derivative, by independent means."""

import numpy as np
import pytest

import tdlambda as td


def small(seed: int) -> tuple[td.FiniteMDP, np.ndarray]:
    """A random episodic MDP with a discount of its own in each state, and a policy's preferences."""
    rng = np.random.default_rng(seed)
    rows = [
        (s, a, int(k), float(rng.normal()), float(p))
        for s in range(5) for a in range(2)
        for k, p in zip((s + 1, int(rng.integers(0, 6))), (0.6, 0.4), strict=True)
    ]  # fmt: skip
    return td.FiniteMDP.from_rows(rows, discount=[*rng.uniform(0.5, 1.0, 5), 1.0], terminal=[5]), rng.normal(
        size=(6, 2)
    )


def softmax(theta: np.ndarray) -> np.ndarray:
    up = np.exp(theta)
    return up / up.sum(axis=1, keepdims=True)


@pytest.mark.parametrize("seed", range(3))
def test_the_bellman_error_is_the_expected_td_error(seed: int) -> None:
    mdp, theta = small(seed)
    pi, V = softmax(theta), np.random.default_rng(seed).normal(size=6)
    expected, o = np.zeros(6), mdp.outcomes
    for s, a, k, r, p in zip(o.state, o.action, o.next_state, o.reward, o.probability, strict=True):
        expected[s] += pi[s, a] * p * (r + mdp.discount[k] * V[k] * (not mdp.terminal[k]) - V[s])
    V[5] = 0.0
    np.testing.assert_allclose(mdp.under(pi).bellman_error(V)[:5], expected[:5], atol=1e-12)
    assert abs(mdp.under(pi).bellman_error(mdp.v(pi))).max() < 1e-12


@pytest.mark.parametrize("seed", range(3))
def test_the_policy_gradient_is_that_of_finite_differences(seed: int) -> None:
    mdp, theta = small(seed)

    def value(preferences: np.ndarray) -> float:
        return float(mdp.start @ mdp.v(softmax(preferences)))

    differences = np.zeros_like(theta)
    for place in np.ndindex(*theta.shape):
        step = np.zeros_like(theta)
        step[place] = 1e-5
        differences[place] = (value(theta + step) - value(theta - step)) / 2e-5
    exact = mdp.under(softmax(theta))
    np.testing.assert_allclose(exact.policy_gradient(), differences, atol=1e-8)
    pi = softmax(theta)  # with the derivatives given: of one parameter for each preference
    slopes = np.zeros((6, 2, 12))
    for s in range(6):
        for a in range(2):
            for b in range(2):
                slopes[s, a, 2 * s + b] = pi[s, a] * ((a == b) - pi[s, b])
    np.testing.assert_allclose(exact.policy_gradient(slopes), differences.ravel(), atol=1e-8)
    with pytest.raises(ValueError, match=r"derivatives must be \[state, action, parameter\]"):
        exact.policy_gradient(slopes[:, :, 0])


def test_the_propositions_derivative_is_that_of_the_target_error() -> None:
    """Half the mean squared distance of r + γ'((1-λ')V + λ'G) from r + γ'M, for G with mean L and variance S."""
    V, L, M, S, gamma = 0.3, 0.9, 0.7, 0.2, 0.9

    def error(lam: float) -> float:
        mean = gamma * ((1 - lam) * V + lam * L - M)
        return 0.5 * (mean**2 + (gamma * lam) ** 2 * S)

    for lam in (0.0, 0.4, 1.0):
        slope = (error(lam + 1e-5) - error(lam - 1e-5)) / 2e-5
        assert td.mdp.meta_derivative(V, L, M, S, gamma, lam) == pytest.approx(slope, abs=1e-9)
        assert td.mdp.meta_derivative(V, L, M, S, gamma, lam, "printed") != pytest.approx(slope, abs=1e-3)
    best = float(td.mdp.meta_minimizer(V, L, M, S))
    assert error(best) < min(error(best - 1e-3), error(best + 1e-3))
    with pytest.raises(ValueError, match="sign"):
        td.mdp.meta_derivative(V, L, M, S, gamma, 0.5, "wrong")  # type: ignore[arg-type]

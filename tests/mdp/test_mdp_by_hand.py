"""Chains small enough to solve on paper."""

from typing import Any

import numpy as np
import pytest

import tdlambda as td


def close(ours: Any, by_hand: Any, atol: float) -> None:
    np.testing.assert_allclose(ours, by_hand, rtol=1e-13, atol=atol)


@pytest.fixture
def coin() -> td.FiniteMDP:
    """State 0 stays (pays 1) or ends (pays 0): the return is the number of heads before the first tail."""
    P = np.array([[[1.0, 0], [0, 1]], [[0, 0], [0, 0]]])
    return td.FiniteMDP(P, [[1.0, 0.0], [0, 0]], discount=1.0, terminal=[1])


@pytest.fixture
def loop() -> td.FiniteMDP:
    """0 → 1 pays 1; from 1, action 0 ends and pays 4, action 1 goes back to 0 for nothing; γ = ½."""
    P = np.zeros((3, 2, 3))
    P[0, :, 1] = P[1, 0, 2] = P[1, 1, 0] = 1.0
    return td.FiniteMDP(P, [[1.0, 1.0], [4.0, 0.0], [0, 0]], discount=0.5, terminal=[2], start=0)


def test_coin_values(coin: td.FiniteMDP) -> None:
    # v = ½(1 + v) = 1; heads before a tail: geometric, variance (1-p)/p² = 2
    # visits y = 1 / (1-½) = 2, and 1 end: d = 2/3, 1/3
    close(coin.v(), [1, 0], atol=1e-15)
    close(coin.q(), [[2, 0], [0, 0]], atol=1e-15)
    close(coin.under().return_variance(), [2, 0], atol=1e-14)
    close(coin.under().state_distribution(), [2 / 3, 1 / 3], atol=1e-15)
    close(coin.under().error_weights(), [2 / 3, 0], atol=1e-15)
    mismatch = coin.under().distribution_mismatch()
    close(mismatch.true, [2 / 3, 1 / 3], atol=1e-15)
    close(mismatch.assumed, [0, 1], atol=1e-15)
    assert mismatch.total_variation == pytest.approx(2 / 3)
    assert mismatch.residual == pytest.approx(2 / 3)  # 1/3 moves from state 0 to state 1


def test_coin_lambda_return_error_and_gradient(coin: td.FiniteMDP) -> None:
    # V = 0, λ = ½: m = ½(1 + ½m) = 2/3; δ = ±2/3, Var = 4/9 + ½·¼ Var = 32/63
    moments = coin.under().lambda_return(0.0, 0.5)
    close(moments.mean, [2 / 3, 0], atol=1e-15)
    close(moments.variance, [32 / 63, 0], atol=1e-15)
    close(moments.second_moment, [4 / 9 + 32 / 63, 0], atol=1e-15)
    # J = ½ · 2/3 · (1/9 + 32/63) = 13/63
    assert coin.under().target_error(0.0, 0.5) == pytest.approx(13 / 63)
    assert coin.under().target_error(0.0, 0.5, half=False) == pytest.approx(26 / 63)
    # in general m = 1/(2-λ), Var = m²/(1-λ²/2); m' = m²; dJ = ⅓[2(m-1)m² + 2m³/(1-λ²/2) + m²λ/(1-λ²/2)²]
    #  = ⅓ [ -392 + 896 + 384 ] / 1323 = 296/1323
    close(coin.under().target_error_gradient(0.0, 0.5), [296 / 1323, 0], atol=1e-15)
    # one step: dJ = 2w P γ {(L-V)(r + γV - v) + γλ[(L-V)² + Var]}, 2w = 2/3, P = ½, r = 1, v = 1
    #  = ⅓ {0 + ½ [4/9 + 32/63]} = 10/63
    close(coin.under().target_error_gradient(0.0, 0.5, horizon=1), [10 / 63, 0], atol=1e-15)
    # thesis: 2w P γ² [λ((V-L)² + Var) ∓ (V-L)(V-M)] = ⅓ [ 30/63 ∓ 2/3 ]
    close(coin.under().target_error_gradient(0.0, 0.5, kind="derived"), [(30 / 63 - 2 / 3) / 3, 0], atol=1e-15)
    close(coin.under().target_error_gradient(0.0, 0.5, kind="printed"), [(30 / 63 + 2 / 3) / 3, 0], atol=1e-15)
    # (V-L)(V-M) / ((V-L)² + Var) = (2/3) / (4/9 + 32/63) = 7/10; greedy: 1 / (1 + 2)
    close(coin.under().meta_minimizer(0.0, 0.5), [0.7, 0], atol=1e-15)
    close(coin.under().greedy_minimizer(0.0), [1 / 3, 0], atol=1e-15)


def test_coin_off_policy(coin: td.FiniteMDP) -> None:
    # b(stay) = ¾: ρ = 2/3 and 2; m = 1; δ = ⅔·2 - 1 = ⅓ and -1, E δ² = 1/12 + 1/4 = 1/3; E c² = ¾·4/9 = 1/3
    b = [[0.75, 0.25], [0.5, 0.5]]
    close(coin.under(None, b).return_variance(), [1 / 2, 0], atol=1e-15)
    assert coin.under(None, b).lambda_return(0.0, 1.0).mean[0] == pytest.approx(1)
    # control variate with V = v: δ = ρ(1 + 1) + (1-ρ) - 1 = ρ and -ρ; E δ² = ¾·4/9 + ¼·4 = 4/3, Var = 2
    close(coin.under(None, b).lambda_return(1.0, 1.0, "control-variate").variance, [2, 0], atol=1e-14)
    # b(stay) = ¼: ρ = 2, E c² = ¼·4 = 1: no end to it
    far = [[0.25, 0.75], [0.5, 0.5]]
    assert coin.under(None, far).return_variance().tolist() == [np.inf, 0]
    # but with λ = ½, E c² = ¼: m = ½(1 + ½m) = ⅔; δ = 2(1 + ⅓) - ⅔ = 2 and -⅔; E δ² = 1 + ⅓; Var = (4/3)/(3/4)
    close(coin.under(None, far).lambda_return(0.0, 0.5).variance, [16 / 9, 0], atol=1e-14)


def test_coin_linear(coin: td.FiniteMDP) -> None:
    # x(0) = 1, λ = ½: A = ½/(1-¼), b = ½/(1-¼), C = 1
    system = coin.under().linear_system([[1.0], [5.0]], 0.5)
    close(system.A, [[2 / 3]], atol=1e-15)
    close(system.b, [2 / 3], atol=1e-15)
    close(system.C, [[1.0]], atol=1e-15)
    close(system.td_fixed_point(), [1.0], atol=1e-14)


def test_loop_values(loop: td.FiniteMDP) -> None:
    # v₀ = 1 + ½v₁, v₁ = 2 + ¼v₀: v₀ = 16/7, v₁ = 18/7
    close(loop.v(), [16 / 7, 18 / 7, 0], atol=1e-14)
    close(loop.q(), [[16 / 7, 16 / 7], [4, 8 / 7], [0, 0]], atol=1e-14)
    # δ₁ = ±10/7: Var₁ = 100/49 + ½·¼ Var₀, Var₀ = ¼Var₁
    close(loop.under().return_variance(), [800 / 1519, 3200 / 1519, 0], atol=1e-14)
    # y₀ = 1 + ½y₁ = 2 = y₁, one end
    close(loop.under().state_distribution(), [0.4, 0.4, 0.2], atol=1e-15)
    # ½ · .4 · (16² + 18²)/49
    assert loop.under().value_error(0.0) == pytest.approx(116 / 49)
    assert loop.under().value_error(0.0, half=False) == pytest.approx(232 / 49)
    assert loop.under().value_error(0.0, weights=[1, 0, 9]) == pytest.approx(128 / 49)
    # the best: always back. v₀ = 1 + ½v₁, v₁ = max(4, ½v₀) = 4, v₀ = 3
    optimum = loop.optimal()
    close(optimum.v, [3, 4, 0], atol=1e-14)
    close(optimum.q, [[3, 3], [4, 1.5], [0, 0]], atol=1e-14)
    assert optimum.policy[1] == 0


def test_loop_lambda_of_the_state_entered(loop: td.FiniteMDP) -> None:
    # V = (2, 4), λ₀ = 0, λ₁ = 1: m₀ = 1 + ½m₁, m₁ = ½·4 + ½·½·2 = 5/2; m₀ = 9/4
    moments = loop.under().lambda_return([2.0, 4.0, 9.0], [0.0, 1.0, 1.0])
    close(moments.mean, [9 / 4, 5 / 2, 0], atol=1e-15)
    # δ₁ = 4 - 5/2 and 1 - 5/2: Var₁ = 9/4, Var₀ = ¼ · 9/4
    close(moments.variance, [9 / 16, 9 / 4, 0], atol=1e-15)
    # λ₀ = 1, λ₁ = 0: m₀ = 1 + ½·4 = 3, certain; m₁ = 2 + ¼·3
    moments = loop.under().lambda_return([2.0, 4.0, 9.0], [1.0, 0.0, 1.0])
    close(moments.mean, [3, 11 / 4, 0], atol=1e-15)
    close(moments.variance, [0, 25 / 16, 0], atol=1e-15)


def test_loop_linear(loop: td.FiniteMDP) -> None:
    # one feature for both states, D = ½, ½; λ = 0: A = ½(½ + ¾) = 5/8, b = ½(1 + 2) = 3/2, w = 12/5
    X = np.ones((3, 1))
    system = loop.under().linear_system(X, 0.0)
    close(system.A, [[5 / 8]], atol=1e-15)
    close(system.b, [3 / 2], atol=1e-15)
    close(loop.under().td_fixed_point(X, 0.0), [12 / 5], atol=1e-14)
    close(loop.under().gtd_fixed_point(X, 0.0), [12 / 5], atol=1e-14)
    assert loop.under().mspbe([0.0], X, 0.0) == pytest.approx(9 / 4)
    # λ = 1: the mean of v
    close(loop.under().td_fixed_point(X, 1.0), [17 / 7], atol=1e-14)


def test_random_reward_has_its_own_variance() -> None:
    # one step, r with mean 2 and E r² = 13: Var = 9
    mdp = td.FiniteMDP([[0.0, 1.0], [0, 0]], [2.0, 0], [13.0, 0], terminal=[1])
    close(mdp.under().return_variance(), [9, 0], atol=1e-14)
    # two steps, γ = ½: 9 + ¼ · 9
    P = np.array([[0.0, 1, 0], [0, 0, 1], [0, 0, 0]])
    two = td.FiniteMDP(P, [2.0, 2, 0], [13.0, 13, 0], discount=0.5, terminal=[2])
    close(two.under().return_variance(), [9 + 9 / 4, 9, 0], atol=1e-14)

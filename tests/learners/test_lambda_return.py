"""The offline λ-return algorithm: by hand, against a backward view in plain NumPy, and its state."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from searching import examples

import tdlambda as td
from tdlambda.learners.lambda_return import LambdaReturn
from tdlambda.learners.monte_carlo import MonteCarlo

Array = NDArray[Any]
SEEDS = st.integers(0, 2**32 - 1)
T = 40


def stream(seed: int, on_policy: bool = False) -> tuple[Array, Array, tuple[Array, ...]]:
    """Features and λ, each step in a state of its own, and columns for `update_many` that end with an end."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(T + 1, 4)) * (rng.random((T + 1, 4)) < 0.7)
    lam = rng.choice([0.0, 0.3, 0.8, 1.0], size=T + 1)
    gamma = rng.choice([0.0, 0.5, 0.9, 1.0], size=T, p=[0.1, 0.2, 0.4, 0.3])
    rho = np.ones(T) if on_policy else rng.choice([0.0, 0.4, 1.0, 1.7], size=T)
    ends = rng.random((2, T)) < 0.1
    ends[0, -1] = True
    s = np.arange(T + 1)
    return X, lam, (s[:-1], rng.normal(size=T), s[1:], gamma, rho, ends[0], ends[1])


def backward_view(X: Array, lam: Array, columns: tuple[Array, ...], alpha: float, w: Array) -> Array:
    """Accumulating TD(λ) whose weights are held until the episode's end."""
    s, r, s_next, gamma, rho, terminated, truncated = columns
    w, e, total, g = w.copy(), np.zeros(4), np.zeros(4), 0.0
    for t in range(len(r)):
        e = rho[t] * (g * lam[s[t]] * e + X[s[t]])
        g = 0.0 if terminated[t] else gamma[t]
        total += alpha * (r[t] + g * (w @ X[s_next[t]]) - w @ X[s[t]]) * e
        if terminated[t] or truncated[t]:
            w += total
            e, total = np.zeros(4), np.zeros(4)
    return w


@given(SEEDS)
def test_held_weights_are_the_backward_view_with_gamma_lambda_rho_at_every_step(seed: int) -> None:
    X, lam, columns = stream(seed)
    w = np.random.default_rng(seed).normal(size=4)
    v = LambdaReturn(td.features.Table(X), 0.1, td.rules.PerState(lam), hold=True, initial=w)
    v.update_many(*columns)
    np.testing.assert_allclose(v.weights, backward_view(X, lam, columns, 0.1, w), rtol=1e-12, atol=1e-12)


@given(SEEDS)
def test_current_weights_move_the_errors_not_the_returns(seed: int) -> None:
    X, lam, columns = stream(seed)
    s, r, s_next, gamma, rho, terminated, truncated = columns
    w, start = np.random.default_rng(seed).normal(size=4), 0
    v = LambdaReturn(td.features.Table(X), 0.1, td.rules.PerState(lam), hold=False, initial=w)
    v.update_many(*columns)
    for end in np.flatnonzero(terminated | truncated).tolist():
        V, returns = X @ w, [0.0] * T
        for t in range(end, start - 1, -1):
            G = V[s_next[t]]
            if t < end:
                G += lam[s_next[t]] * rho[t + 1] * (returns[t + 1] - G)
            returns[t] = r[t] + (0.0 if terminated[t] else gamma[t]) * G
        for t in range(start, end + 1):
            w = w + 0.1 * rho[t] * (returns[t] - w @ X[s[t]]) * X[s[t]]
        start = end + 1
    np.testing.assert_allclose(v.weights, w, rtol=1e-12, atol=1e-12)


@examples(30)
@given(SEEDS)
def test_lambda_1_on_policy_is_monte_carlo(seed: int) -> None:
    X, _, columns = stream(seed, on_policy=True)
    v, mc = LambdaReturn(td.features.Table(X), 0.1, 1.0, hold=False), MonteCarlo(td.features.Table(X), 0.1)
    for row in zip(*columns, strict=True):
        v.update(*row)
        mc.update(*row)
        np.testing.assert_array_equal(v.weights, mc.weights)


def test_lambda_0_is_one_step() -> None:
    v = LambdaReturn(td.features.OneHot(3), 0.5, 0.0, initial=[0.0, 4.0, 8.0])
    v.update_many([0, 1], [1.0, 2.0], [1, 2], 0.5, 1.0, False, [False, True])
    assert v.weights.tolist() == [0.5 * (1 + 2), 4 + 0.5 * (2 + 4 - 4), 8.0]


def test_by_hand() -> None:
    v = LambdaReturn(td.features.OneHot(3), 0.5, td.rules.PerState([0.0, 0.5, 1.0]), initial=[0.0, 4.0, 8.0])
    v.update(0, 1.0, 1, gamma=0.5)
    v.update(1, 2.0, 2, gamma=0.5, rho=2.0)
    assert v.weights.tolist() == [0, 4, 8]
    v.update(2, 2.0, 0, gamma=1.0, rho=0.0, terminated=True)
    # G₂ = 2; G₁ = 2 + ½ (8 + 1·0·(2 - 8)) = 6; G₀ = 1 + ½ (4 + ½·2·(6 - 4)) = 4; errors 4, 2·2 and 0
    assert v.weights.tolist() == [2.0, 6.0, 8.0]
    v.update(0, 4.0, 1, gamma=1.0, terminated=True)
    assert v.weights.tolist() == [3.0, 6.0, 8.0]


def test_held_errors_add_current_ones_do_not() -> None:
    for hold, expected in ((True, 2.0), (False, 1.5)):
        v = LambdaReturn(td.features.OneHot(2), 0.5, 0.0, hold)
        v.update_many([0, 0], [2.0, 2.0], [1, 1], 1.0, 1.0, [False, True])
        assert v.weights[0] == expected


def test_gamma_0_cuts_the_return_but_not_the_episode() -> None:
    v = LambdaReturn(td.features.OneHot(3), 1.0, 1.0)
    v.update(0, 1.0, 1, gamma=0.0)
    assert v.weights[0] == 0
    v.update(1, 2.0, 2, gamma=1.0, terminated=True)
    assert v.weights.tolist() == [1.0, 2.0, 0.0]


def test_terminated_wins_over_truncated_and_reset_forgets() -> None:
    v = LambdaReturn(td.features.OneHot(2), 0.5, 1.0, initial=[0.0, 8.0])
    v.update(0, 100.0, 0, gamma=1.0)
    v.reset()
    v.update(0, 1.0, 1, gamma=1.0, terminated=True, truncated=True)
    assert v.weights.tolist() == [0.5, 8.0]
    assert v.steps == 2


@pytest.mark.parametrize("hold", [True, False])
def test_it_converges_off_policy(hold: bool) -> None:
    ring: Any = td.make("RingWorld-v0", behavior_left=0.4, target_left=0.35)
    v = LambdaReturn(ring.features, 0.002, 0.9, hold)
    v.update_many(ring.sampler(seed=1).take(300_000))
    assert np.abs(v.predict_many(range(1, 10)) - ring.exact.v()[1:10]).max() < 0.05


@examples(30)
@given(SEEDS, st.integers(0, T), st.booleans())
def test_state_clone_and_chunks_continue_identically(seed: int, at: int, hold: bool) -> None:
    X, lam, columns = stream(seed)
    whole = LambdaReturn(td.features.Table(X), td.steps.OneOver("steps", offset=9.0), td.rules.PerState(lam), hold)
    half = LambdaReturn(**whole.get_params())
    half.update_many(*(a[:at] for a in columns))
    clone, restored = half.clone(), LambdaReturn(**whole.get_params())
    restored._restore({name: array.copy() for name, array in half._state().items()})
    whole.update_many(*columns)
    tail = [a[at:] for a in columns]
    half.update_many(*tail)
    for row in zip(*tail, strict=True):
        clone.update(*row)
        restored.update(*row)
    for other in (half, clone, restored):
        np.testing.assert_array_equal(other.weights, whole.weights)
        assert other.steps == whole.steps == T


def test_divergence_and_a_state_that_does_not_fit() -> None:
    v = LambdaReturn(td.features.OneHot(2), 3.0, 0.5, bound=10.0)
    with pytest.raises(td.Diverged):  # V(0) is 3, -3, 9, -15, and no return larger than 1
        v.update_many([0] * 6, np.ones(6), [1] * 6, gamma=1.0, terminated=True)
    assert v.diverged_at == 4
    v.update(1, 1.0, 1, gamma=1.0, terminated=True)
    assert v.steps == 4
    state = v._state()
    with pytest.raises(ValueError, match="state"):
        LambdaReturn(td.features.OneHot(3), 1.0, 0.5)._restore(state)
    with pytest.raises(ValueError, match="state"):
        LambdaReturn(td.features.OneHot(2), td.steps.OneOver("steps"), 0.5)._restore(state)


def test_a_rule_that_breaks_its_word_is_refused() -> None:
    rule = td.rules.PerState([0.5, 0.5])
    rule.lam[1] = 1.5
    v = LambdaReturn(td.features.OneHot(2), 0.5, rule)
    with pytest.raises(ValueError, match="lam"):
        v.update(0, 1.0, 1, gamma=1.0)
    with pytest.raises(ValueError, match="gamma"):
        v.update(0, 1.0, 0, gamma=-0.1)
    assert v.steps == 0


def test_constructor_and_parameters() -> None:
    with pytest.raises(TypeError, match="hold"):
        LambdaReturn(td.features.OneHot(2), 0.5, 0.5, hold="yes")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="lam"):
        LambdaReturn(td.features.OneHot(2), 0.5, 1.5)
    with pytest.raises(ValueError, match="alpha"):
        LambdaReturn(td.features.OneHot(2), -0.5)
    with pytest.raises(TypeError, match="features"):
        LambdaReturn(2, 0.5)  # type: ignore[arg-type]
    v = LambdaReturn(td.features.OneHot(2), td.steps.OneOver("visits"), [0.1, 0.2], hold=False, initial=2.0)
    fresh = type(v)(**v.get_params())
    assert fresh.get_params() == v.get_params()
    assert fresh.lambda_at(1) == 0.2
    assert fresh.weights.tolist() == [2.0, 2.0]

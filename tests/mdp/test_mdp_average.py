"""Average reward: gain, bias and the fixed point of differential TD(λ)."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from random_mdps import SEEDS, Array, raw_mdp
from searching import examples

import tdlambda as td


def two_choice() -> td.FiniteMDP:
    """Wan, Naik & Sutton 2021: 0 → 1 pays 1, 0 → 5 nothing, two loops of five steps, 8 → 0 pays 2."""
    rows = [(0, 0, 1, 1.0, 1.0), (0, 1, 5, 0.0, 1.0)]
    rows += [(s, a, 0 if s in (4, 8) else s + 1, 2.0 * (s == 8), 1.0) for s in range(1, 9) for a in (0, 1)]
    return td.FiniteMDP.from_rows(rows, discount=0.9)


def test_two_choice() -> None:
    answer = two_choice().under([0.5, 0.5]).average_reward()
    assert answer.gain == pytest.approx(0.3)
    np.testing.assert_allclose(answer.distribution, [0.2] + [0.1] * 8)
    np.testing.assert_allclose(answer.bias, [-0.2, -1.4, -1.1, -0.8, -0.5, 0.6, 0.9, 1.2, 1.5], atol=1e-12)
    for lam in (0.0, 0.7):  # off-policy too: r̄ is that of the target policy, and so are values up to a constant
        for behavior in (None, [0.3, 0.7]):
            found = two_choice().under([0.5, 0.5], behavior).differential_fixed_point(np.eye(9), lam)
            assert found.gain == pytest.approx(0.3)
            w = found.weights - answer.distribution @ found.weights
            np.testing.assert_allclose(w, answer.bias, atol=1e-10)


def dense(P: Array, r: Array) -> tuple[float, Array, Array]:
    """d, g and v of a chain with one recurrent class, from dᵀP = dᵀ and (I - P + 1dᵀ)v = r - g."""
    n = len(P)
    d = np.linalg.lstsq(np.vstack((P.T - np.eye(n), np.ones(n))), np.append(np.zeros(n), 1.0), rcond=None)[0]
    g = float(d @ r)
    return g, np.linalg.solve(np.eye(n) - P + np.outer(np.ones(n), d), r - g), d


@examples(40)
@given(SEEDS, st.booleans())
def test_random_chains(seed: int, episodic: bool) -> None:
    """Against a dense chain without terminal states, in which what would end starts again."""
    raw = raw_mdp(seed, episodic=episodic)
    live = ~raw.terminal
    P = raw.P_of(raw.pi)
    r = np.einsum("sa,sat,sat->s", raw.pi, raw.P, raw.R)[live]
    P = P[np.ix_(live, live)] + np.outer(P[live][:, raw.terminal].sum(axis=1), raw.start[live])
    g, v, d = dense(P, r)
    answer = raw.mdp().under(raw.pi).average_reward()
    assert answer.gain == pytest.approx(g, abs=1e-9)
    np.testing.assert_allclose(answer.bias[live], v, atol=1e-8)
    np.testing.assert_allclose(answer.bias[raw.terminal], raw.start[live] @ v, atol=1e-8)
    np.testing.assert_allclose(answer.distribution[live], d, atol=1e-9)


@examples(30)
@given(SEEDS, st.booleans())
def test_differential_fixed_point(seed: int, episodic: bool) -> None:
    """At rest: both mean updates, as a series over the past, are 0."""
    raw = raw_mdp(seed, n=6, episodic=episodic)
    rng, live = np.random.default_rng(seed), ~raw.terminal
    X, lam = rng.normal(size=(6, 2))[live], 0.9 * rng.random(6)
    features = np.zeros((6, 2))
    features[live] = X
    found = raw.mdp().under(raw.pi, raw.b).differential_fixed_point(features, lam)

    def chain(policy: Array) -> Array:
        P = raw.P_of(policy)
        return P[np.ix_(live, live)] + np.outer(P[live][:, raw.terminal].sum(axis=1), raw.start[live])

    P, r = chain(raw.pi), np.einsum("sa,sat,sat->s", raw.pi, raw.P, raw.R)[live]
    d = dense(chain(raw.b), r)[2]
    error = r - found.gain - X @ found.weights + P @ (X @ found.weights)
    H = np.linalg.inv(np.eye(len(P)) - P * lam[live])
    scale = 1 + np.abs(found.weights).max() + abs(found.gain)
    np.testing.assert_allclose((X.T * d) @ H @ error / scale, 0, atol=1e-9)
    assert d @ error / scale == pytest.approx(0, abs=1e-9)
    on_policy = raw.mdp().under(raw.pi).differential_fixed_point(features, lam)
    assert on_policy.gain == pytest.approx(raw.mdp().under(raw.pi).average_reward().gain, abs=1e-8)


def test_many_states_take_the_sparse_path() -> None:
    """A walk of 2000 states on a ring that pays 1 in one of them: d is uniform."""
    n = 2000
    rows = [(s, 0, (s + k) % n, float(s == 3), 0.5) for s in range(n) for k in (-1, 1)]
    answer = td.FiniteMDP.from_rows(rows, discount=0.9).under().average_reward()
    assert answer.gain == pytest.approx(1 / n)
    np.testing.assert_allclose(answer.distribution, 1 / n, rtol=1e-6)
    v = answer.bias
    residual = (np.arange(n) == 3) - answer.gain + (np.roll(v, 1) + np.roll(v, -1)) / 2 - v
    np.testing.assert_allclose(residual, 0, atol=1e-8)


def test_episodes_that_may_never_end() -> None:
    """0 → end or 1, 1 and 2 in a loop for ever: the end leads back to 0, and all time is spent in the loop."""
    P = np.zeros((4, 4))
    P[0, 1] = P[0, 3] = 0.5
    P[1, 2] = P[2, 1] = 1.0
    mdp = td.FiniteMDP(P, [4.0, 1.0, 0.0, 0.0], discount=0.9, terminal=[3], start=0)
    answer = mdp.under().average_reward()
    assert answer.gain == pytest.approx(0.5)
    # v(1) = ½·½, v(2) = -v(1); v(0) = 3.5 + ½v(1) + ½v(0) = 7 + v(1), and so is that of the end, which takes no time
    np.testing.assert_allclose(answer.bias, [7.25, 0.25, -0.25, 7.25], atol=1e-12)


def test_what_has_no_average_reward_is_refused() -> None:
    P = np.zeros((3, 2, 3))
    P[0, 0, 1] = P[0, 1, 2] = P[1, :, 1] = P[2, :, 2] = 1.0
    mdp = td.FiniteMDP(P, [0.0, 1.0, 2.0], discount=0.9)
    with pytest.raises(ValueError, match="policy must be unichain, with one closed class of states; got 2"):
        mdp.under().average_reward()
    with pytest.raises(ValueError, match="lam must be below 1: without a discount, traces never end"):
        two_choice().under().differential_fixed_point(np.eye(9), 1.0)

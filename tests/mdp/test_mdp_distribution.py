"""Where a policy spends its time: linear solves against sweeps, eigenvectors, powers and simulation."""

import gymnasium as gym
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from random_mdps import SEEDS, Array, Raw, raw_mdp, walk
from searching import examples

import tdlambda as td


def restarted(raw: Raw, policy: Array) -> Array:
    """P̃: terminal rows replaced by d₀."""
    P = raw.P_of(policy)
    P[raw.terminal] = raw.start
    return P


def eigenvector(P: Array) -> Array:
    """The left eigenvector of eigenvalue 1; there must be only one."""
    values, vectors = np.linalg.eig(P.T)
    assert (np.abs(values - 1) < 1e-8).sum() == 1
    d = np.real(vectors[:, np.argmin(np.abs(values - 1))])
    return d / d.sum()


def long_run(P: Array, start: Array, doublings: int = 40) -> Array:
    """lim (1/k) Σ d₀ᵀP^k from the doubling of the lazy chain (I + P)/2, which has no period and the same limit."""
    lazy = (np.eye(len(P)) + P) / 2
    for _ in range(doublings):
        lazy = lazy @ lazy
        lazy /= lazy.sum(axis=1, keepdims=True)
    return start @ lazy


@examples(40)
@given(SEEDS, st.integers(2, 7), st.integers(1, 3), st.booleans())
def test_distribution_four_ways(seed: int, n: int, actions: int, episodic: bool) -> None:
    raw = raw_mdp(seed, n=n, actions=actions, episodic=episodic)
    mdp = raw.mdp()
    d = mdp.under(raw.pi).state_distribution()
    P = restarted(raw, raw.pi)
    np.testing.assert_allclose(d, eigenvector(P), atol=1e-9)
    np.testing.assert_allclose(d, long_run(P, raw.start), atol=1e-9)
    np.testing.assert_allclose(d @ P, d, atol=1e-12)
    assert d.sum() == pytest.approx(1, abs=1e-12)
    np.testing.assert_array_equal(mdp.under(raw.pi).error_weights(), np.where(raw.terminal, 0, d))
    if episodic:
        np.testing.assert_allclose(d, mdp.under(raw.pi).state_distribution(method="iterative", theta=1e-13), atol=1e-9)
        assert d[raw.terminal].sum() > 0
    else:
        with pytest.raises(ValueError, match='method must be "direct", because some episodes never end'):
            mdp.under(raw.pi).state_distribution(method="iterative")
    mismatch = mdp.under(raw.pi).distribution_mismatch()
    absorbing = raw.P_of(raw.pi) + np.diag(raw.terminal.astype(float))
    np.testing.assert_allclose(mismatch.true, d, atol=1e-12)
    np.testing.assert_allclose(mismatch.assumed, long_run(absorbing, raw.start), atol=1e-9)
    assert mismatch.residual == pytest.approx(np.abs(d @ absorbing - d).sum(), abs=1e-12)
    assert mismatch.total_variation == pytest.approx(np.abs(d - mismatch.assumed).sum() / 2, abs=1e-12)
    assert (mismatch.residual > 1e-3) == episodic


@examples(60)
@given(SEEDS)
def test_any_structure_at_all(seed: int) -> None:
    """One random successor or two for each state: periods, several closed classes, ends, states never reached."""
    rng = np.random.default_rng(seed)
    n = 8
    P = np.zeros((n, n))
    for s in range(n):
        P[s, rng.integers(n, size=3 if s == 0 else rng.integers(1, 3))] += rng.random() + 0.1
    P /= P.sum(axis=1, keepdims=True)
    terminal = rng.random(n) < 0.2
    terminal[0] = False
    mdp = td.FiniteMDP(P, np.zeros(n), discount=0.9, terminal=terminal, start=0)
    P[terminal] = mdp.start
    d = mdp.under().state_distribution()
    np.testing.assert_allclose(d, long_run(P, mdp.start), atol=1e-9)
    P[terminal] = np.eye(n)[terminal]
    np.testing.assert_allclose(mdp.under().distribution_mismatch().assumed, long_run(P, mdp.start), atol=1e-9)


def test_periodic_and_continuing_chains() -> None:
    ring = td.FiniteMDP(np.roll(np.eye(5), 1, axis=1), np.zeros(5), discount=0.9, start=2)
    np.testing.assert_allclose(ring.under().state_distribution(), np.full(5, 0.2), atol=1e-12)
    mismatch = ring.under().distribution_mismatch()
    assert mismatch.total_variation == pytest.approx(0, abs=1e-12)
    assert mismatch.residual == pytest.approx(0, abs=1e-12)


def test_several_closed_classes_and_an_end() -> None:
    # 0 → 1 (½), {2,3} (¼), end 4 (¼); 1 stays; 2 ⇄ 3. Restarted until caught: 1 has 2/3, 2 and 3 have 1/6 each
    P = np.zeros((6, 6))
    P[0, 1], P[0, 2], P[0, 4] = 0.5, 0.25, 0.25
    P[1, 1] = P[2, 3] = P[3, 2] = P[5, 5] = 1.0  # 5 is never reached
    mdp = td.FiniteMDP(P, np.zeros(6), discount=0.9, terminal=[4], start=0)
    np.testing.assert_allclose(mdp.under().state_distribution(), [0, 2 / 3, 1 / 6, 1 / 6, 0, 0], atol=1e-12)
    # who starts only once ends in 4 with probability ¼
    mismatch = mdp.under().distribution_mismatch()
    np.testing.assert_allclose(mismatch.assumed, [0, 1 / 2, 1 / 8, 1 / 8, 1 / 4, 0], atol=1e-12)
    assert mismatch.total_variation == pytest.approx(1 / 4)


def test_distribution_of_a_long_simulation() -> None:
    raw = raw_mdp(21, n=6, actions=2)
    d = raw.mdp().under(raw.pi).state_distribution()
    P = np.cumsum(restarted(raw, raw.pi), axis=1)
    rng = np.random.default_rng(1)
    state = rng.choice(raw.n, size=2000, p=raw.start)
    visits = np.zeros((600, raw.n))
    for t in range(600):
        visits[t] = np.bincount(state, minlength=raw.n)
        state = np.minimum((rng.random(2000)[:, None] >= P[state]).sum(axis=1), raw.n - 1)
    shares = visits[100:].mean(axis=0) / 2000
    # 10⁶ visits with little memory: 5 standard errors of independent ones, doubled
    assert (np.abs(shares - d) < 10 * np.sqrt(d * (1 - d) / 1e6) + 1e-12).all()


def test_weights_of_the_thesis() -> None:
    assert walk().under([0.35, 0.65]).error_weights().sum() == pytest.approx(0.938, abs=5e-4)
    lake = td.FiniteMDP.from_table(gym.make("FrozenLake-v1"), discount=0.95)
    assert lake.under([0.2, 0.3, 0.3, 0.2]).error_weights().sum() == pytest.approx(0.876, abs=5e-4)
    assert (lake.under().error_weights()[lake.terminal] == 0).all()

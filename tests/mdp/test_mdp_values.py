"""Values and optimal policies: two algorithms for each."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from random_mdps import SEEDS, raw_mdp
from searching import examples

import tdlambda as td


@examples(40)
@given(SEEDS, st.integers(2, 7), st.integers(1, 3), st.booleans())
def test_values_three_ways(seed: int, n: int, actions: int, episodic: bool) -> None:
    raw = raw_mdp(seed, n=n, actions=actions, episodic=episodic)
    mdp = raw.mdp()
    v, q = mdp.v(raw.pi), mdp.q(raw.pi)
    np.testing.assert_allclose(v, raw.v(raw.pi), atol=1e-9)
    np.testing.assert_allclose(v, mdp.v(raw.pi, method="iterative", theta=1e-13), atol=1e-9)
    np.testing.assert_allclose(q, mdp.q(raw.pi, method="iterative", theta=1e-13), atol=1e-9)
    np.testing.assert_allclose((raw.pi * q).sum(axis=1), v, atol=1e-9)
    expected = np.einsum("sat,sat->sa", raw.P, raw.R + raw.g() * v)
    np.testing.assert_allclose(q[~raw.terminal], expected[~raw.terminal], atol=1e-9)
    assert (v[raw.terminal] == 0).all()
    assert (q[raw.terminal] == 0).all()
    np.testing.assert_allclose(mdp.under(raw.pi).P().toarray(), raw.P_of(raw.pi), atol=1e-14)
    np.testing.assert_allclose(mdp.v(), raw.v(np.full_like(raw.pi, 1 / actions)), atol=1e-9)


def test_theta_is_the_last_move_of_the_sweeps() -> None:
    # v = 1 + .5 v: after k sweeps 2 - 2^(1-k), which moves by 2^-k: θ = .1 stops at the first 2^-k < .1, from k = 4
    mdp = td.FiniteMDP([[1.0]], [1.0], discount=0.5)
    assert mdp.v(method="iterative", theta=0.1)[0] == 2 - 2.0**-4


@examples(40)
@given(SEEDS, st.integers(2, 4), st.integers(1, 3), st.booleans())
def test_optimal_against_every_deterministic_policy(seed: int, n: int, actions: int, episodic: bool) -> None:
    raw = raw_mdp(seed, n=n, actions=actions, episodic=episodic)
    optimum = raw.mdp().optimal()
    free = np.flatnonzero(~raw.terminal)
    best = np.full(n, -np.inf)
    for choice in product(range(actions), repeat=free.size):
        pi = np.zeros((n, actions))
        pi[free, choice] = 1.0
        best = np.maximum(best, raw.v(pi))
    np.testing.assert_allclose(optimum.v, best, atol=1e-9)
    np.testing.assert_allclose(raw.mdp().v(optimum.policy), best, atol=1e-9)
    np.testing.assert_allclose(optimum.q.max(axis=1)[free], best[free], atol=1e-9)


@examples(60)
@given(SEEDS)
def test_optimal_without_discount_and_with_cycles(seed: int) -> None:
    """Deterministic graphs, γ = 1, rewards from -2 to 0 (cycles may be free): the best of all proper policies."""
    rng = np.random.default_rng(seed)
    n, actions = 4, 3
    to = rng.integers(0, n, (n, actions))
    to[n - 2, rng.integers(actions)] = n - 1
    reward = rng.integers(-2, 1, (n, actions)).astype(float)
    P = np.eye(n)[to]
    try:
        mdp = td.FiniteMDP(P, reward, terminal=[n - 1])
    except ValueError:
        return  # some state cannot reach the end
    best = np.full(n, -np.inf)
    for choice in product(range(actions), repeat=n - 1):
        step = [to[s, a] for s, a in enumerate(choice)] + [n - 1]
        total, state = np.zeros(n), np.arange(n)
        for _ in range(n):  # a proper policy ends within n - 1 steps
            total += [reward[s, choice[s]] if s < n - 1 else 0.0 for s in state]
            state = np.array(step)[state]
        if (state == n - 1).all():
            best = np.maximum(best, total)
    np.testing.assert_allclose(mdp.optimal().v, best, atol=1e-9)


def test_free_cycle_is_left_for_the_prize() -> None:
    P = np.zeros((3, 2, 3))
    P[0, 0, 1] = P[1, 0, 0] = 1.0  # 0 ⇄ 1 for nothing
    P[0, 1, 2] = P[1, 1, 2] = 1.0
    mdp = td.FiniteMDP(P, [[0.0, 1.0], [0.0, 5.0], [0, 0]], terminal=[2])
    optimum = mdp.optimal()
    np.testing.assert_array_equal(optimum.v, [5, 5, 0])
    np.testing.assert_array_equal(optimum.policy[:2], [0, 1])


@pytest.mark.parametrize("pay", [1.0, 1e-6])
def test_cycle_that_pays_without_end_has_no_optimum(pay: float) -> None:
    P = np.zeros((3, 2, 3))
    P[0, 0, 1] = P[1, 0, 0] = P[0, 1, 2] = P[1, 1, 2] = 1.0
    mdp = td.FiniteMDP(P, [[pay, 0.0], [0.0, 0.0], [0, 0]], terminal=[2])
    with pytest.raises(ValueError, match="no optimal policy: a cycle with discount 1 has an infinite return"):
        mdp.optimal()


@pytest.mark.parametrize("scale", [1e-13, 1.0, 1e13])
def test_optimal_policy_does_not_depend_on_the_unit_of_reward(scale: float) -> None:
    P = np.array([[[0.0, 1], [0, 1]], [[0, 0], [0, 0]]])
    optimum = td.FiniteMDP(P, scale * np.array([[1.0, 2.0], [0, 0]]), terminal=[1]).optimal()
    assert optimum.policy[0] == 1
    assert optimum.v[0] == 2 * scale


def test_optimal_with_many_ties_ends() -> None:
    """A 30 x 30 grid, γ = 1: nearly every state has two equally good actions."""
    n = 30
    rows = []
    for s in range(n * n):
        y, x = divmod(s, n)
        for a in range(4):
            for move, p in ((a, 0.7), (a + 1, 0.15), (a - 1, 0.15)):
                dy, dx = [(0, 1), (1, 0), (0, -1), (-1, 0)][move % 4]
                rows.append((s, a, n * min(max(y + dy, 0), n - 1) + min(max(x + dx, 0), n - 1), -1.0, p))
    mdp = td.FiniteMDP.from_rows(rows, terminal=[n * n - 1])
    v = mdp.optimal().v
    swept = np.zeros(n * n)
    for _ in range(1500):
        swept = mdp.outcomes.by_pair(mdp.outcomes.probability * (swept[mdp.outcomes.next_state] - 1)).max(axis=1)
    np.testing.assert_allclose(v, swept, atol=1e-9)
    np.testing.assert_allclose(v.reshape(n, n), v.reshape(n, n).T, atol=1e-9)


def test_a_policy_that_hardly_ever_ends_is_refused_and_not_solved_wrongly() -> None:
    """Drift away from the only end: about 4ⁿ steps. Double precision gives v = 0.2 for 1 at n = 30."""
    for n, fine in ((10, True), (30, False), (400, False)):
        P, R = np.zeros((n, n)), np.zeros((n, n))
        for s in range(1, n):
            P[s, s - 1] += 0.2
            P[s, min(s + 1, n - 1)] += 0.8
        R[1, 0] = 1.0
        mdp = td.FiniteMDP(P, R, terminal=[0], start=1)
        if fine:
            np.testing.assert_allclose(mdp.v()[1:], 1, atol=1e-9)
            continue
        exact = mdp.under()
        for ask in (exact.v, exact.return_variance, exact.state_distribution):
            with pytest.raises(ValueError, match="state 1: the future lasts more than"):
                ask()

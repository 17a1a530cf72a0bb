"""Every way to build a FiniteMDP gives the same one, and every wrong input is refused by name."""

from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from random_mdps import SEEDS, Raw, raw_mdp
from registered import newest
from scipy import sparse
from searching import examples

import tdlambda as td

TARGET = [0.2, 0.3, 0.3, 0.2]
STAY_OR_LEAVE = np.array([[[1.0, 0], [0, 1]], [[0, 0], [0, 0]]])
"""State 0: action 0 stays, action 1 ends in state 1."""


def same(one: td.FiniteMDP, other: td.FiniteMDP) -> None:
    assert (one.n_states, one.n_actions) == (other.n_states, other.n_actions)
    np.testing.assert_array_equal(one.terminal, other.terminal)
    np.testing.assert_allclose(one.discount, other.discount, atol=1e-15)
    np.testing.assert_allclose(one.start, other.start, atol=1e-15)
    for x, y in zip(one.transition_moments(), other.transition_moments(), strict=True):
        np.testing.assert_allclose(x, y, atol=1e-12)


def rows_of(raw: Raw) -> list[tuple[int, int, int, float, float]]:
    rows = []
    for s, a, t in zip(*np.nonzero(raw.P), strict=True):
        spread = float(np.sqrt(max(raw.R2[s, a, t] - raw.R[s, a, t] ** 2, 0)))
        for sign in (-1, 1):
            reward = float(raw.R[s, a, t] + sign * spread)
            rows.append((int(s), int(a), int(t), reward, float(raw.P[s, a, t] / 2)))
    return rows


def by_action(x: Any, form: Any) -> list[Any]:
    return [form(x[:, a, :]) for a in range(x.shape[1])]


@examples(25)
@given(SEEDS, st.integers(2, 6), st.integers(1, 3), st.booleans())
def test_arrays_sparse_matrices_and_rows_give_the_same_mdp(seed: int, n: int, actions: int, episodic: bool) -> None:
    raw = raw_mdp(seed, n=n, actions=actions, episodic=episodic)
    dense = raw.mdp()
    settings: dict[str, Any] = {"discount": raw.gamma, "start": raw.start}
    forms = (sparse.csr_array, sparse.coo_array, sparse.csc_matrix)
    for form in forms:
        matrices = [by_action(x, form) for x in (raw.P, raw.R, raw.R2)]
        same(dense, td.FiniteMDP(*matrices, terminal=raw.terminal, **settings))
    same(dense, td.FiniteMDP(by_action(raw.P, sparse.csr_array), raw.R, raw.R2, terminal=raw.terminal, **settings))
    sizes = {"n_states": n, "n_actions": actions}
    shuffled = rows_of(raw)
    np.random.default_rng(seed).shuffle(shuffled)
    rows = td.FiniteMDP.from_rows(shuffled, terminal=np.flatnonzero(raw.terminal), **sizes, **settings)
    same(dense, rows)
    np.testing.assert_allclose(dense.v(raw.pi), raw.v(raw.pi), atol=1e-9)


def test_transition_moments_keep_both_moments_of_random_rewards() -> None:
    raw = raw_mdp(11, n=4, actions=2)
    triples, p, r, r2 = raw.mdp().transition_moments()
    s, a, t = triples.T
    assert len(triples) == np.count_nonzero(raw.P)
    np.testing.assert_allclose(p, raw.P[s, a, t], atol=1e-14)
    np.testing.assert_allclose(r, raw.R[s, a, t], atol=1e-14)
    np.testing.assert_allclose(r2, raw.R2[s, a, t], atol=1e-14)


def test_rewards_per_transition_pair_or_state() -> None:
    P = np.array([[[0.5, 0.5], [0, 1]], [[0, 0], [0, 0]]])
    pair = np.array([[1.0, 2.0], [0, 0]])
    by_pair = td.FiniteMDP(P, pair, discount=0.5, terminal=[1])
    same(by_pair, td.FiniteMDP(P, np.repeat(pair[:, :, None], 2, axis=2), discount=0.5, terminal=[1]))
    by_state = td.FiniteMDP(P, [3.0, 7.0], discount=0.5, terminal=[1])
    same(by_state, td.FiniteMDP(P, [[3.0, 3.0], [7.0, 7.0]], discount=0.5, terminal=[False, True]))
    one_action = td.FiniteMDP(P[:, 0], [[1.0, 2.0], [0, 0]], discount=0.5, terminal=[1])
    assert one_action.n_actions == 1
    np.testing.assert_allclose(one_action.v(), [1.5 / 0.75, 0])  # v = 1.5 + .5 * .5 v
    shared = td.FiniteMDP(P, sparse.csr_array([[4.0, 5.0], [0, 0]]), discount=0.5, terminal=[1])
    same(shared, td.FiniteMDP(P, np.repeat([[[4.0, 5.0]], [[0, 0]]], 2, axis=1), discount=0.5, terminal=[1]))


def test_equal_rows_add_and_rows_are_scaled_to_one() -> None:
    mdp = td.FiniteMDP.from_rows([(0, 0, 1, 2.0, 0.25)] * 3 + [(0, 0, 1, 0.0, 0.25)], terminal=[1])
    np.testing.assert_array_equal(mdp.outcomes.reward, [0.0, 2.0])
    np.testing.assert_allclose(mdp.outcomes.probability, [0.25, 0.75])
    third = np.float32(1 / 3)
    single = td.FiniteMDP.from_rows([(0, 0, t, 0.0, float(third)) for t in range(3)], terminal=[1, 2])
    assert single.under().P().sum(axis=1)[0] == pytest.approx(1, abs=1e-15)
    doubled = sparse.coo_array(([0.25, 0.25, 0.5], ([0, 0, 0], [1, 1, 0])), shape=(2, 2))
    assert td.FiniteMDP([doubled], [1.0, 0], terminal=[1]).v()[0] == pytest.approx(2)


@pytest.mark.parametrize(
    ("name", "options", "n_states", "terminal"),
    [
        ("FrozenLake-v1", {}, 16, [5, 7, 11, 12, 15]),
        ("FrozenLake-v1", {"is_slippery": False}, 16, [5, 7, 11, 12, 15]),
        ("FrozenLake-v1", {"map_name": "8x8"}, 64, [19, 29, 35, 41, 42, 46, 49, 52, 54, 59, 63]),
        (newest("CliffWalking"), {}, 48, [47]),
        (newest("Taxi"), {}, 501, [500]),
    ],
)
def test_gymnasium_tables(name: str, options: dict[str, Any], n_states: int, terminal: list[int]) -> None:
    env = gym.make(name, **options)
    unwrapped: Any = env.unwrapped
    mdp = td.FiniteMDP.from_table(env, discount=0.95)
    assert mdp.n_states == n_states
    np.testing.assert_array_equal(np.flatnonzero(mdp.terminal), terminal)
    table = unwrapped.P
    np.testing.assert_allclose(mdp.start[: len(table)], unwrapped.initial_state_distrib, atol=1e-15)
    same(mdp, td.FiniteMDP.from_table(table, discount=0.95, start=unwrapped.initial_state_distrib))
    # the truth by sweeps over the table itself: v(s) = mean over actions of Σ p (r + γ v(s') if it goes on)
    v: Any = np.zeros(len(table))
    flat = [
        (s, t, p / len(table[0]), r, not done)
        for s, acts in table.items()
        for outcomes in acts.values()
        for p, t, r, done in outcomes
    ]
    s, t, p, r, goes_on = (np.array(column) for column in zip(*flat, strict=True))
    for _ in range(700):
        v = np.bincount(s, weights=p * (r + 0.95 * goes_on * v[t]), minlength=v.size)
    ours = mdp.v()
    matters = ~mdp.terminal[: v.size]
    np.testing.assert_allclose(ours[: v.size][matters], v[matters], atol=1e-9)
    assert (ours[mdp.terminal] == 0).all()


def test_frozen_lake_adds_equal_successors() -> None:
    mdp = td.FiniteMDP.from_table(gym.make("FrozenLake-v1"), discount=0.95)
    assert mdp.v(TARGET)[0] == pytest.approx(0.0102, abs=5e-5)
    corner = {(a, t): p for (s, a, t), p in zip(*mdp.transition_moments()[:2], strict=True) if s == 0}
    assert corner[0, 0] == pytest.approx(2 / 3)  # left and up both bump
    # read off the map by hand: slippery moves of ±90°, each 1/3
    rows = []
    for s in range(16):
        for a in range(4):
            for move in (a - 1, a, a + 1):
                y, x = divmod(s, 4)
                dy, dx = [(0, -1), (1, 0), (0, 1), (-1, 0)][move % 4]
                to = 4 * min(max(y + dy, 0), 3) + min(max(x + dx, 0), 3)
                rows.append((s, a, to, float(to == 15), 1 / 3))
    same(mdp, td.FiniteMDP.from_rows(rows, discount=0.95, terminal=[5, 7, 11, 12, 15], start=0))


def test_table_whose_first_state_can_stay_and_end() -> None:
    """State 0 is never entered from elsewhere, yet it is no terminal state: it can also go on."""
    end: Any = [(1.0, 2, 0.0, True)]
    table: Any = {
        0: {0: [(1.0, 0, 1.0, True)], 1: [(1.0, 1, 0.0, False)]},
        1: {0: [(1.0, 2, 5.0, True)], 1: [(1.0, 2, 5.0, True)]},
        2: {0: end, 1: end},
    }
    mdp = td.FiniteMDP.from_table(table, discount=0.9, start=0)
    np.testing.assert_array_equal(mdp.terminal, [False, False, True, True])
    np.testing.assert_allclose(mdp.v(), [0.5 + 0.5 * 0.9 * 5, 5, 0, 0])


def test_table_with_an_extra_state_takes_numbers_for_the_table_states() -> None:
    env = gym.make(newest("Taxi"))
    full = td.FiniteMDP.from_table(env, discount=0.9)
    same(full, td.FiniteMDP.from_table(env, discount=np.full(500, 0.9)))
    with pytest.raises(ValueError, match=r"start must be a number or have shape \(501,\)"):
        td.FiniteMDP.from_table(env, discount=0.9, start=np.full(502, 1 / 502))
    with pytest.raises(ValueError, match="no transition table"):
        td.FiniteMDP.from_table(gym.make("CartPole-v1"))


def test_state_based_discount_belongs_to_the_state_entered() -> None:
    # 0 → 1 → 2 (end), rewards 1, 10; γ(0) must not matter, γ(1) discounts the 10
    P = np.array([[0, 1.0, 0], [0, 0, 1], [0, 0, 0]])
    for first in (0.0, 0.3, 1.0):
        mdp = td.FiniteMDP(P, [1.0, 10.0, 0.0], discount=[first, 0.5, 1.0], terminal=[2])
        np.testing.assert_allclose(mdp.v(), [6, 10, 0])
        np.testing.assert_array_equal(mdp.discount, [first, 0.5, 0.0])


def test_terminal_rows_are_ignored_and_default_start_is_uniform() -> None:
    P = np.array([[0, 1.0], [1.0, 0]])
    mdp = td.FiniteMDP(P, [1.0, 100.0], terminal=[1])
    np.testing.assert_array_equal(mdp.v(), [1, 0])
    np.testing.assert_array_equal(mdp.start, [1, 0])
    assert "2 states, 1 actions, 1 outcomes, 1 terminal" in repr(mdp)
    assert td.FiniteMDP(np.eye(4), np.zeros(4), discount=0.5).start.tolist() == [0.25] * 4


NAN, INF = np.nan, np.inf
LEAVE = [[0.0, 1.0], [0.0, 0.0]]


@pytest.mark.parametrize(
    ("P", "R", "more", "message"),
    [
        (np.zeros((2, 3)), [0, 0], {}, r"transitions must have shape.*got \(2, 1, 3\)"),
        (np.zeros((2, 2, 3)), [0, 0], {}, r"transitions must have shape.*got \(2, 2, 3\)"),
        (np.zeros(3), [0, 0], {}, r"transitions must have shape.*got \(3,\)"),
        (np.zeros((0, 0)), [], {}, "transitions must have shape"),
        ([sparse.eye_array(2), sparse.eye_array(3)], [0, 0], {}, r"transitions of action 1.*\(2, 2\).*\(3, 3\)"),
        (LEAVE, [0, 0, 0], {}, r"rewards must have shape.*got \(3,\)"),
        (LEAVE, [0, 0], {"squared_rewards": np.zeros((3, 3))}, r"squared_rewards must have shape.*got \(3, 3\)"),
        (LEAVE, [sparse.eye_array(2)] * 2, {}, "rewards must have one matrix for each of 1 actions; got 2"),
        (LEAVE, sparse.eye_array(3), {}, r"rewards of action 0 must have shape \(2, 2\)"),
        ([[0.0, 0.9], [0, 0]], [0, 0], {}, r"state 0, action 0: probabilities must sum to 1; got 0\.9"),
        ([[0.0, 1.1], [0, 0]], [0, 0], {}, r"state 0, action 0: probabilities must sum to 1; got 1\.1"),
        (
            np.array([[[0, 1.0], [0, 0]], [[0, 0], [0, 0]]]),
            [0, 0],
            {},
            "state 0, action 1: probabilities must sum to 1; got 0",
        ),
        ([[0.0, NAN], [0, 0]], [0, 0], {}, "state 0, action 0, next state 1: probability.*nan"),
        ([[0.0, INF], [0, 0]], [0, 0], {}, "state 0, action 0, next state 1: probability.*inf"),
        ([[-0.1, 1.1], [0, 0]], [0, 0], {}, r"state 0, action 0, next state 0: probability.*negative; got -0\.1"),
        (LEAVE, [INF, 0], {}, "state 0, action 0, next state 1: reward must be finite; got inf"),
        (LEAVE, [NAN, 0], {}, "state 0, action 0, next state 1: reward must be finite; got nan"),
        (
            LEAVE,
            [2, 0],
            {"squared_rewards": [3.9, 0]},
            r"state 0.*squared_rewards must be at least the square .* 2\.0; got 3\.9",
        ),
        (LEAVE, [2, 0], {"squared_rewards": [NAN, 0]}, "state 0, action 0, next state 1: reward must be finite"),
        (LEAVE, [0, 0], {"discount": 1.1}, r"discount of state 0 is 1\.1; it must be in \[0, 1\]"),
        (LEAVE, [0, 0], {"discount": [0.5, -0.1]}, r"discount of state 1 is -0\.1"),
        (LEAVE, [0, 0], {"discount": [NAN, 0.1]}, "discount of state 0 is nan"),
        (LEAVE, [0, 0], {"discount": [0.1] * 3}, r"discount must be a number or have shape \(2,\)"),
        (LEAVE, [0, 0], {"start": 1}, r"start must be 0 in terminal states; got 1\.0 in state 1"),
        (LEAVE, [0, 0], {"start": [0.5, 0.5]}, r"start must be 0 in terminal states; got 0\.5 in state 1"),
        (LEAVE, [0, 0], {"start": [0.5, 0]}, r"start must sum to 1; got 0\.5"),
        (LEAVE, [0, 0], {"start": [1.0]}, r"start must be a number or have shape \(2,\)"),
        (LEAVE, [0, 0], {"start": [NAN, 0]}, "start of state 0 is nan"),
        (LEAVE, [0, 0], {"start": 2}, "start must be from 0 to 1; got 2"),
        (LEAVE, [0, 0], {"start": -1}, "start must be from 0 to 1; got -1"),
        (LEAVE, [0, 0], {"terminal": [2]}, "terminal must be from 0 to 1; got 2"),
        (LEAVE, [0, 0], {"terminal": [-1]}, "terminal must be from 0 to 1; got -1"),
        (LEAVE, [0, 0], {"terminal": [True]}, r"terminal as a mask must have shape \(2,\)"),
        (LEAVE, [0, 0], {"terminal": [0, 1]}, "at least one state that is not terminal; got all 2"),
        ([[0, 1.0], [0, 1.0]], [0, 0], {"terminal": []}, "state 0 has no path to a terminal state"),
        ([[0, 1.0, 0], [0, 1.0, 0], [0, 0, 0]], [0] * 3, {"terminal": [2]}, "state 0 has no path to a terminal"),
        ([[0.5, 0, 0.5], [0, 1.0, 0], [0, 0, 0]], [0] * 3, {"terminal": [2]}, "state 1 has no path to a terminal"),
    ],
)
def test_wrong_arrays_are_refused_by_name(P: Any, R: Any, more: dict[str, Any], message: str) -> None:
    arguments: dict[str, Any] = {"terminal": [1], **more}
    with pytest.raises(ValueError, match=message):
        td.FiniteMDP(P, R, **arguments)


def test_wrong_types_are_refused_by_name() -> None:
    with pytest.raises(TypeError, match=r"terminal must be an integer; got .*1\.5"):
        td.FiniteMDP(LEAVE, [0, 0], terminal=[1.5])
    with pytest.raises(TypeError, match=r"start must be an integer; got 0\.5"):
        td.FiniteMDP(LEAVE, [0, 0], terminal=[1], start=0.5)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([], "rows must be"),
        ([(0, 0, 1, 1.0)], r"rows must be.*got shape \(1, 4\)"),
        ([(0, 0, 1, 0.0, 1.0), (0.5, 0, 1, 0.0, 1.0)], r"row 1: state, action and next_state must be integers"),
        ([(0, NAN, 1, 0.0, 1.0)], "row 0: state, action"),
        ([(-1, 0, 1, 0.0, 1.0)], "state must be from 0 to 1; got -1"),
        ([(0, 0, 1, 0.0, -1.0)], "state 0, action 0, next state 1: probability"),
        ([(0, 0, 1, 0.0, 0.5)], r"state 0, action 0: probabilities must sum to 1; got 0\.5"),
    ],
)
def test_wrong_rows_are_refused_by_name(rows: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        td.FiniteMDP.from_rows(rows, terminal=[1])


def test_rows_beyond_the_given_sizes_are_refused() -> None:
    with pytest.raises(ValueError, match="next state must be from 0 to 1; got 2"):
        td.FiniteMDP.from_rows([(0, 0, 2, 0.0, 1.0)], n_states=2, terminal=[1])
    with pytest.raises(ValueError, match="action must be from 0 to 0; got 1"):
        td.FiniteMDP.from_rows([(0, 1, 1, 0.0, 1.0)], n_actions=1, terminal=[1])
    with pytest.raises(TypeError, match=r"n_states must be an integer; got 2\.5"):
        td.FiniteMDP.from_rows([(0, 0, 1, 0.0, 1.0)], n_states=2.5, terminal=[1])  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="n_actions must be at least 1; got 0"):
        td.FiniteMDP.from_rows([(0, 0, 1, 0.0, 1.0)], n_actions=0, terminal=[1])


@pytest.mark.parametrize(
    ("policy", "message"),
    [
        (np.zeros((3, 2)), r"policy must have shape \(2, 2\).*got \(3, 2\)"),
        ([0.2, 0.3, 0.5], r"policy must have shape"),
        ([[0.5, 0.6], [1, 0]], r"policy of state 0 must be probabilities that sum to 1; got \[0\.5, 0\.6\]"),
        ([[1, 0], [1.5, -0.5]], "policy of state 1 must be probabilities that sum to 1"),
        ([[1, 0], [NAN, 1]], "policy of state 1 must be probabilities that sum to 1"),
        ([0, 2], "policy of state 1 must be from 0 to 1; got action 2"),
        ([-1, 0], "policy of state 0 must be from 0 to 1; got action -1"),
    ],
)
def test_wrong_policies_are_refused_by_name(policy: Any, message: str) -> None:
    mdp = td.FiniteMDP(STAY_OR_LEAVE, [1.0, 0], discount=0.9, terminal=[1])
    for call in (mdp.v, mdp.q, mdp.under):
        with pytest.raises(ValueError, match=message):
            call(policy)
    with pytest.raises(ValueError, match=message.replace("policy", "behavior")):
        mdp.under(None, policy)


def test_all_forms_of_a_policy_agree() -> None:
    raw = raw_mdp(5, n=4, actions=3)
    mdp = raw.mdp()
    table = np.tile([0.2, 0.3, 0.5], (4, 1))
    for form in ([0.2, 0.3, 0.5], table, table.tolist(), td.mdp.TabularPolicy(table)):
        np.testing.assert_array_equal(mdp.v(form), mdp.v(table))
    np.testing.assert_array_equal(mdp.v([2, 0, 1, 0]), mdp.v(np.eye(3)[[2, 0, 1, 0]]))
    np.testing.assert_array_equal(mdp.policy(), np.full((4, 3), 1 / 3))
    one = td.mdp.TabularPolicy([[0.5, 0.5], [1.0, 0.0]])
    assert one(1).tolist() == [1, 0]
    assert repr(one) == "TabularPolicy([[0.5, 0.5], [1.0, 0.0]])"
    assert repr(td.mdp.TabularPolicy([[0.5, 0.5]] * 2)) == "TabularPolicy([0.5, 0.5] in every state)"
    with pytest.raises(ValueError, match="read-only"):
        one.probabilities[0, 0] = 1.0
    with pytest.raises(ValueError, match="probabilities must have shape"):
        td.mdp.TabularPolicy([0.5, 0.5])


def test_behavior_must_cover_the_target() -> None:
    P = np.zeros((3, 2, 3))
    P[:2, :, 2] = 1.0
    mdp = td.FiniteMDP(P, np.zeros(3), terminal=[2])
    target, b = [0.5, 0.5], [[0.5, 0.5], [1.0, 0.0], [1.0, 0.0]]
    message = "behavior of state 1 must be positive for every action that policy takes"
    for call in (
        lambda: mdp.under(target, b).lambda_return(0.0, 1.0),
        lambda: mdp.under(target, b).return_variance(),
        lambda: mdp.under(target, b).target_error(0.0, 1.0),
        lambda: mdp.under(target, b).target_error_gradient(0.0, 1.0),
        lambda: mdp.under(target, b).meta_minimizer(0.0, 1.0),
        lambda: mdp.under(target, b).best_lambda(0.0),
        lambda: mdp.under(target, b).linear_system(np.eye(3), 1.0),
        lambda: mdp.under(target, b).sampler(),
    ):
        with pytest.raises(ValueError, match=message):
            call()
    # in a terminal state no action is taken, so there is nothing to cover
    mdp.under(target, [[0.5, 0.5], [0.5, 0.5], [1.0, 0.0]]).return_variance()


@pytest.mark.parametrize("more", [{}, {"behavior": [[0.5, 0.5], [0.5, 0.5]]}])
def test_improper_policy_with_discount_one_names_the_state(more: dict[str, Any]) -> None:
    mdp = td.FiniteMDP(STAY_OR_LEAVE, [1.0, 0], terminal=[1])
    stay = [0, 0]
    message = "policy is not proper: from state 0 it reaches neither"
    for call in (
        lambda: mdp.under(stay, **more).lambda_return(0.0, 1.0),
        lambda: mdp.under(stay, **more).return_variance(),
        lambda: mdp.under(stay, **more).target_error(0.0, 0.5),
        lambda: mdp.under(stay, **more).linear_system(np.eye(2), 1.0),
        lambda: mdp.under(stay, **more).best_lambda(0.0),
        lambda: mdp.v(stay),
        lambda: mdp.v(stay, method="iterative"),
        lambda: mdp.q(stay),
    ):
        with pytest.raises(ValueError, match=message):
            call()
    # with λ < 1 the λ-return itself is a sum with an end: G = 1 + .5 V + .5 G = 1 / .5 with V = 0
    assert mdp.under(stay, **more).lambda_return(0.0, 0.5).mean[0] == pytest.approx(2)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((np.zeros(3), 0.5), r"V must be a number or have shape \(2,\)"),
        (([NAN, 0], 0.5), "V of state 0 is nan"),
        ((0.0, 1.5), r"lam of state 0 is 1\.5; it must be in \[0, 1\]"),
        ((0.0, [0.5, -0.5]), r"lam of state 1 is -0\.5"),
        ((0.0, [0.5] * 3), "lam must be a number or have shape"),
    ],
)
def test_wrong_values_and_lambdas_are_refused_by_name(arguments: Any, message: str) -> None:
    mdp = td.FiniteMDP(STAY_OR_LEAVE, [1.0, 0], discount=0.9, terminal=[1])
    exact = mdp.under()
    for call in (exact.lambda_return, exact.target_error, exact.target_error_gradient, exact.meta_minimizer):
        with pytest.raises(ValueError, match=message):
            call(*arguments)


def test_wrong_options_are_refused_by_name() -> None:
    mdp: Any = td.FiniteMDP(STAY_OR_LEAVE, [1.0, 0], discount=0.9, terminal=[1])
    with pytest.raises(ValueError, match=r"method must be .*guess"):
        mdp.v(method="guess")
    with pytest.raises(ValueError, match=r"method must be .*guess"):
        mdp.under().state_distribution(method="guess")
    with pytest.raises(ValueError, match="theta must be positive"):
        mdp.v(method="iterative", theta=0.0)
    with pytest.raises(ValueError, match="theta must be positive"):
        mdp.v(method="iterative", theta=NAN)
    with pytest.raises(ValueError, match=r"correction must be .*none"):
        mdp.under().lambda_return(0.0, 0.5, correction="none")
    with pytest.raises(ValueError, match=r"kind must be .*exact"):
        mdp.under().target_error_gradient(0.0, 0.5, kind="exact")
    with pytest.raises(ValueError, match="horizon must be at least 1; got 0"):
        mdp.under().target_error_gradient(0.0, 0.5, horizon=0)
    with pytest.raises(TypeError, match="horizon must be an integer"):
        mdp.under().target_error_gradient(0.0, 0.5, horizon=1.5)
    with pytest.raises(ValueError, match=r"horizon must be 1 or None with .*derived.*one-step"):
        mdp.under().target_error_gradient(0.0, 0.5, kind="derived", horizon=2)
    with pytest.raises(ValueError, match="weights of state 0 is -1"):
        mdp.under().target_error(0.0, 0.5, weights=[-1.0, 0])
    with pytest.raises(ValueError, match="seed must be at least 0"):
        mdp.under().sampler(seed=-1)
    with pytest.raises(TypeError, match="steps must be an integer"):
        mdp.under().sampler().take(1.5)


def test_inputs_are_not_changed_and_not_kept() -> None:
    raw = raw_mdp(8)
    copies = [x.copy() for x in (raw.P, raw.R, raw.R2, raw.gamma, raw.terminal, raw.start, raw.pi)]
    mdp = raw.mdp()
    before = mdp.v(raw.pi)
    mdp.under(raw.pi, raw.b).return_variance()
    for x, y in zip((raw.P, raw.R, raw.R2, raw.gamma, raw.terminal, raw.start, raw.pi), copies, strict=True):
        np.testing.assert_array_equal(x, y)
    raw.P[:], raw.R[:], raw.gamma[:], raw.terminal[:], raw.start[:] = 0, 0, 0, True, 0
    np.testing.assert_array_equal(mdp.v(raw.pi), before)

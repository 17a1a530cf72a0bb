"""Drawn transitions: frequencies against the table, exact ratios, and the same trajectory every time."""

from concurrent.futures import ThreadPoolExecutor

import gymnasium as gym
import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from random_mdps import SEEDS, raw_mdp, walk
from scipy import stats
from searching import examples

import tdlambda as td
from tdlambda.mdp import Transitions

COLUMNS = ("obs", "action", "reward", "next_obs", "gamma", "rho", "terminated", "truncated")
GOLDEN_LAKE = [0, 0, 0, 0, 0, 0, 4, 4, 0, 0, 0, 0]
GOLDEN_WALK = [5, 4, 5, 6, 7, 6, 5, 6, 7, 6, 5, 4]
"""The first 12 states with seed 7, found with plain-Python integers and running sums."""


def equal(one: Transitions, other: Transitions) -> None:
    for name in COLUMNS:
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))


def chi_square(counts: np.ndarray, p: np.ndarray) -> float:
    """The p-value of counts against probabilities; nothing may happen where p = 0."""
    assert counts[p == 0].sum() == 0
    counts, p = counts[p > 0], p[p > 0]
    return 1.0 if p.size < 2 else float(stats.chisquare(counts, counts.sum() * p / p.sum()).pvalue)


def test_frequencies_against_the_table() -> None:
    raw = raw_mdp(31, n=5, actions=3)
    steps = raw.mdp().under(raw.pi, raw.b).sampler(seed=5).take(300_000)
    s, a, t = steps.obs, steps.action, steps.next_obs
    p_values = []
    for state in range(4):
        here = s == state
        p_values.append(chi_square(np.bincount(a[here], minlength=3), raw.b[state]))
        for action in range(3):
            both = here & (a == action)
            p_values.append(chi_square(np.bincount(t[both], minlength=5), raw.P[state, action]))
    starts = np.append(True, steps.terminated[:-1])
    p_values.append(chi_square(np.bincount(s[starts], minlength=5), raw.start))
    assert min(p_values) > 1e-4
    assert starts.sum() > 10_000
    # rewards: mean ± deviation, equally likely
    deviation = np.sqrt(np.maximum(raw.R2 - raw.R**2, 0))[s, a, t]
    np.testing.assert_allclose(np.abs(steps.reward - raw.R[s, a, t]), deviation, atol=1e-7)
    up = (steps.reward > raw.R[s, a, t])[deviation > 1e-6]
    assert abs(up.mean() - 0.5) < 4 * 0.5 / np.sqrt(up.size)


def test_every_column_follows_from_the_model() -> None:
    raw = raw_mdp(32, n=6, actions=2)
    raw.gamma = np.linspace(0.5, 1.0, 6)
    steps = raw.mdp().under(raw.pi, raw.b).sampler(seed=1).take(20_000)
    np.testing.assert_array_equal(steps.rho, (raw.pi / raw.b)[steps.obs, steps.action])
    np.testing.assert_array_equal(steps.gamma, raw.g()[steps.next_obs])
    np.testing.assert_array_equal(steps.terminated, raw.terminal[steps.next_obs])
    assert not steps.truncated.any()
    assert len(steps) == 20_000
    goes_on = ~steps.terminated[:-1]
    np.testing.assert_array_equal(steps.obs[1:][goes_on], steps.next_obs[:-1][goes_on])
    assert not raw.terminal[steps.obs].any()
    assert (raw.mdp().under(raw.pi).sampler(seed=1).take(1000).rho == 1).all()


@examples(20)
@given(SEEDS, st.integers(0, 300), st.integers(0, 300))
def test_chunks_make_no_difference(seed: int, first: int, second: int) -> None:
    raw = raw_mdp(seed)
    mdp = raw.mdp()
    whole = mdp.under(raw.pi, raw.b).sampler(seed).take(first + second)
    sampler = mdp.under(raw.pi, raw.b).sampler(seed)
    parts = sampler.take(first), sampler.take(second)
    for name in COLUMNS:
        joined = np.concatenate([getattr(part, name) for part in parts])
        np.testing.assert_array_equal(getattr(whole, name), joined)
    equal(whole, mdp.under(raw.pi, raw.b).sampler(seed).take(first + second))


def test_take_500_twice_is_take_1000_and_seeds_differ() -> None:
    mdp = walk()
    sampler = mdp.under([0.35, 0.65], [0.4, 0.6]).sampler(seed=9)
    one, two = sampler.take(500), sampler.take(500)
    whole = mdp.under([0.35, 0.65], [0.4, 0.6]).sampler(seed=9).take(1000)
    np.testing.assert_array_equal(np.concatenate((one.obs, two.obs)), whole.obs)
    other = mdp.under([0.35, 0.65], [0.4, 0.6]).sampler(seed=10).take(1000)
    assert (other.obs != whole.obs).any()


def test_first_states_are_the_same_on_any_machine() -> None:
    lake = td.FiniteMDP.from_table(gym.make("FrozenLake-v1"), discount=0.95)
    steps = lake.under([0.2, 0.3, 0.3, 0.2], [0.25] * 4).sampler(seed=7).take(12)
    assert steps.obs.tolist() == GOLDEN_LAKE
    assert walk().under([0.35, 0.65], [0.4, 0.6]).sampler(seed=7).take(12).obs.tolist() == GOLDEN_WALK


def test_only_what_can_happen_happens() -> None:
    """Rows whose sums round below 1, zeros in front, between and behind."""
    n = 13
    P = np.zeros((n, 2, n))
    P[:, 0, [2, 4, 7]] = 1 / 3
    P[:, 1, [1, 3, 5, 6, 8, 9, 10]] = 1 / 7
    b = np.tile([0.1 + 0.2, 0.7 - 5e-17], (n, 1))
    mdp = td.FiniteMDP(P, np.zeros(n), discount=0.9, start=[0, 0.5, 0, 0.5] + [0] * 9)
    steps = mdp.under(b).sampler(seed=3).take(200_000)
    assert (P[steps.obs, steps.action, steps.next_obs] > 0).all()
    assert set(np.unique(steps.next_obs)) == {1, 2, 3, 4, 5, 6, 7, 8, 9, 10}
    never = mdp.under([0.0, 1.0]).sampler(seed=3).take(50_000)
    assert (never.action == 1).all()


def test_threads_do_not_disturb_each_other() -> None:
    mdp = walk()

    def run(seed: int) -> Transitions:
        return mdp.under([0.35, 0.65], [0.4, 0.6]).sampler(seed).take(20_000)

    alone = [run(seed) for seed in range(8)]
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(run, range(8)))
    for one, other in zip(alone, together, strict=True):
        equal(one, other)


def test_exact_answers_from_several_threads() -> None:
    mdp = walk()
    policies = [[x, 1 - x] for x in np.linspace(0.1, 0.9, 8)]
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(lambda p: mdp.under(p, [0.5, 0.5]).return_variance(), policies))
    for policy, variance in zip(policies, together, strict=True):
        np.testing.assert_array_equal(variance, mdp.under(policy, [0.5, 0.5]).return_variance())


def test_a_sampler_says_what_it_samples() -> None:
    assert repr(td.make("RingWorld-v0").sampler()) == "<TableSampler: 11 states, 2 actions>"

"""Each task against what is known of it from elsewhere."""

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.envs.toy_text.frozen_lake import FrozenLakeEnv

import tdlambda as td
from tdlambda.tasks.garnet import Garnet
from tdlambda.tasks.mountain_car import GOAL, HIGH, LOW, MountainCar, PumpPolicy, _cosine, move
from tdlambda.tasks.task_registry import make


def exact(name: str, preset: str | None = None) -> td.FiniteMDP:
    mdp = make(name, preset).mdp
    assert mdp is not None
    return mdp


def test_ring_world_by_difference_equation() -> None:
    """v(s) = γ (p v(s-1) + (1-p) v(s+1)) has the general solution c₁ r₁ˢ + c₂ r₂ˢ, with ∓1/γ beyond the ends."""
    for preset, left in (("0.4/0.35", 0.35), ("0.3/0.25", 0.25), ("0.2/0.15", 0.15), ("0.15/0.15", 0.15)):
        gamma = 0.95
        roots = np.roots([gamma * (1 - left), -1, gamma * left])
        ends = np.array([roots**0, roots**10])
        c = np.linalg.solve(ends, [-1 / gamma, 1 / gamma])
        expected = (roots ** np.arange(11)[:, None]) @ c
        expected[[0, 10]] = 0
        task = make("RingWorld-v0", preset)
        np.testing.assert_allclose(exact("RingWorld-v0", preset).v([left, 1 - left]), expected, atol=1e-12)
        assert task.target(3)[0] == left


def test_ring_world_presets_and_weights() -> None:
    assert list(td.tasks.TASKS["RingWorld-v0"].presets) == [
        "0.4/0.35", "0.3/0.25", "0.2/0.15", "0.35/0.35", "0.25/0.25", "0.15/0.15"
    ]  # fmt: skip
    task = make("RingWorld-v0")
    assert task.behavior(1)[0] == 0.4
    assert exact("RingWorld-v0").under(task.target).error_weights().sum() == pytest.approx(0.938, abs=5e-4)
    assert [make("RingWorld-v0", p).on_policy for p in td.tasks.TASKS["RingWorld-v0"].presets] == [False] * 3 + [
        True
    ] * 3


def test_frozen_lake_against_a_table_built_by_hand() -> None:
    desc = ["SFFF", "FHFH", "FFFH", "HFFG"]
    P, R = np.zeros((16, 4, 16)), np.zeros((16, 4, 16))
    moves = {0: (0, -1), 1: (1, 0), 2: (0, 1), 3: (-1, 0)}
    for s in range(16):
        row, column = divmod(s, 4)
        for a in range(4):
            for slip in (-1, 0, 1):
                dr, dc = moves[(a + slip) % 4]
                to = min(max(row + dr, 0), 3) * 4 + min(max(column + dc, 0), 3)
                P[s, a, to] += 1 / 3
                R[s, a, to] = float(to == 15)
    terminal = [s for s in range(16) if desc[s // 4][s % 4] in "HG"]
    by_hand = td.FiniteMDP(P, R, discount=0.95, terminal=terminal, start=0)
    task = make("FrozenLake-v0")
    mdp = exact("FrozenLake-v0")
    np.testing.assert_allclose(mdp.q(task.target), by_hand.q(task.target), atol=1e-14)
    assert mdp.v(task.target)[0] == pytest.approx(0.0102, abs=5e-5)
    assert mdp.under(task.target).error_weights().sum() == pytest.approx(0.876, abs=5e-4)


def test_frozen_lake_features_are_the_thesis_ones() -> None:
    task = make("FrozenLake-v0")
    mdp = exact("FrozenLake-v0")
    X = task.features.matrix(np.arange(16))
    assert X.shape == (16, 12)
    assert (X.sum(axis=1) == 4).all()
    inner = X[~mdp.terminal]
    assert np.linalg.matrix_rank(X) == 9
    v, w = mdp.v(task.target)[~mdp.terminal], mdp.under(task.target).error_weights()[~mdp.terminal]
    best = np.linalg.lstsq(np.sqrt(w)[:, None] * inner, np.sqrt(w) * v, rcond=None)[0]
    assert (w * (inner @ best - v) ** 2).sum() == pytest.approx(1.14e-4, rel=0.01)
    assert mdp.under(task.target).value_error(0.0, half=False) == pytest.approx(2.65e-3, rel=0.01)


def test_frozen_lake_maps() -> None:
    assert exact("FrozenLake-v0", "8x8").n_states == 64
    task = make("FrozenLake-v0", map=["SFF", "FHG"], slippery=False)
    assert task.features.size == 6
    assert make("FrozenLake-v0", "on-policy").on_policy
    assert make("FrozenLake-v0", "one-hot").features == td.features.OneHot(16)
    own = FrozenLakeEnv(desc=["SFF", "FHG"], is_slippery=False)
    assert task.mdp is not None
    assert task.mdp.optimal().v[0] == pytest.approx(0.95**2)
    assert own.nrow == 2


def test_random_walk_is_linear() -> None:
    v = exact("RandomWalk-v0").v()
    np.testing.assert_allclose(v[1:-1], np.arange(-18, 20, 2) / 20, atol=1e-12)
    np.testing.assert_allclose(exact("RandomWalk-v0", "5").v()[1:-1], np.arange(1, 6) / 6, atol=1e-12)


def test_boyan_is_linear_in_its_features() -> None:
    for preset, n in (("13", 13), ("101", 101)):
        task = make("BoyanChain-v0", preset)
        mdp = exact("BoyanChain-v0", preset)
        np.testing.assert_allclose(mdp.v(), -2.0 * np.arange(n), atol=1e-10)
        X = task.features.matrix(np.arange(n))
        for lam in (0.0, 0.5, 1.0):
            w = mdp.under().td_fixed_point(X, lam)
            np.testing.assert_allclose(X @ w, -2.0 * np.arange(n), atol=1e-8)
    rows = [[4, 0, 0, 0], [3, 1, 0, 0], [2, 2, 0, 0], [1, 3, 0, 0], [0, 4, 0, 0], [0, 0, 1, 3]]
    np.testing.assert_allclose(make("BoyanChain-v0").features.matrix([12, 11, 10, 9, 8, 1]), np.array(rows) / 4)


def test_baird_diverges_in_expectation_and_gtd_has_a_fixed_point() -> None:
    task = make("Baird-v0")
    mdp = exact("Baird-v0")
    X = task.features.matrix(np.arange(7))
    system = mdp.under(task.target, task.behavior).linear_system(X, 0.0)
    assert np.linalg.eigvals(system.A).real.min() < -1e-3
    np.testing.assert_allclose(mdp.under(task.behavior).state_distribution(), np.full(7, 1 / 7))
    np.testing.assert_allclose(X @ system.gtd_fixed_point(), 0, atol=1e-9)
    on_policy = mdp.under(task.behavior).linear_system(X, 0.0)
    assert np.linalg.eigvals(on_policy.A).real.min() > -1e-9


def test_two_state_by_hand() -> None:
    """γ = .9, end with ½: v(B) = .5/(1 - .5·.81) and v(A) = .9 v(B)."""
    v = exact("TwoState-v0").v([0.5, 0.5])
    np.testing.assert_allclose(v, [0.45 / 0.595, 0.5 / 0.595, 0], atol=1e-14)
    # visits in an episode: A and B twice each, the end once
    np.testing.assert_allclose(exact("TwoState-v0").under([0.5, 0.5]).state_distribution(), [0.4, 0.4, 0.2], atol=1e-14)
    # G = .9^(2k+1) from A with probability ½^(k+1): E[G²] = .81·½/(1 - ½·.9⁴)
    second = 0.405 / (1 - 0.5 * 0.9**4)
    assert exact("TwoState-v0").under([0.5, 0.5]).return_variance()[0] == pytest.approx(second - v[0] ** 2, abs=1e-14)


def test_garnet_is_the_same_for_the_same_seed() -> None:
    a, b, c = (Garnet(seed=seed, features=8) for seed in (5, 5, 6))
    np.testing.assert_array_equal(a.mdp.outcomes.reward, b.mdp.outcomes.reward)
    np.testing.assert_array_equal(a.target.probabilities, b.target.probabilities)
    assert a.features == b.features
    assert not np.array_equal(a.mdp.outcomes.reward, c.mdp.outcomes.reward)
    assert (a.features.matrix(np.arange(30)).sum(axis=1) == 4).all()
    np.testing.assert_array_equal(np.bincount(a.mdp.outcomes.state), 12)
    assert a.mdp.outcomes.next_state[:6].tolist() == GARNET_5
    assert exact("Garnet-v0", "episodic").terminal.sum() == 2


def test_trajectories_do_not_change() -> None:
    """Golden: these numbers are the same on every machine, or a version must change."""
    assert make("RingWorld-v0").sampler(seed=1).take(12).obs.tolist() == RING_1
    assert make("FrozenLake-v0").sampler(seed=1).take(12).obs.tolist() == LAKE_1
    car = make("MountainCar-v0").sampler(seed=1).take(5000)
    assert [x.hex() for x in car.next_obs[-1].tolist()] == CAR_1


def test_cosine_is_a_cosine() -> None:
    x = np.linspace(-3.6, 1.8, 2001)
    assert max(abs(_cosine(t) - np.cos(t)) for t in x) < 2e-15


def test_mountain_car_moves_as_gymnasium_does() -> None:
    """Without noise, step by step from the same place, until either reaches the goal."""
    theirs = gym.make("MountainCar-v0").unwrapped
    theirs.reset(seed=0)
    rng = np.random.default_rng(1)
    for _ in range(300):
        theirs.state = (rng.uniform(LOW, HIGH), rng.uniform(-0.07, 0.07))  # type: ignore[attr-defined]
        position, velocity = theirs.state  # type: ignore[attr-defined]
        action = int(rng.integers(3))
        obs = theirs.step(action)[0]
        np.testing.assert_allclose(move(position, velocity, action), obs, atol=1e-7)  # theirs is single precision
    assert move(LOW, -0.05, 0) == (LOW, 0.0)


def test_mountain_car_noise_start_and_rewards() -> None:
    car = MountainCar(noise=0.2, target_epsilon=1.0)
    steps = car.sampler(seed=9).take(60_000)
    fresh = np.append(True, (steps.terminated | steps.truncated)[:-1])
    assert (steps.obs[fresh, 1] == 0).all()
    assert steps.reward[steps.terminated].tolist() == [0.0] * steps.terminated.sum()
    assert (steps.reward[~steps.terminated] == -1).all()
    np.testing.assert_array_equal(steps.next_obs[:, 0] >= GOAL, steps.terminated)
    # the action that was carried out shows in the change of speed; it is the chosen one with .8 + .2/3
    free = (np.abs(steps.next_obs[:, 1]) < 0.069) & (steps.next_obs[:, 0] > LOW) & (steps.next_obs[:, 0] < HIGH)
    pull = 0.0025 * np.cos(3 * steps.obs[:, 0])
    done = np.round((steps.next_obs[:, 1] - steps.obs[:, 1] + pull) / 0.001 + 1).astype(int)
    share = (done[free] == steps.action[free]).mean()
    assert share == pytest.approx(0.8 + 0.2 / 3, abs=4 * np.sqrt(0.87 * 0.13 / free.sum()))


def test_mountain_car_limit_is_a_truncation() -> None:
    car = MountainCar(limit=7)
    steps = car.sampler(seed=2).take(2000)
    assert steps.truncated.any()
    assert (steps.gamma[steps.truncated] == 1).all()
    assert not (steps.truncated & steps.terminated).any()
    ends = np.flatnonzero(steps.truncated | steps.terminated)
    assert np.diff(ends).max() == 7
    car.reset(seed=3)
    outcomes = [car.step(0) for _ in range(7)] if car.reset(seed=8)[0][0] < 0.3 else []
    assert outcomes
    assert [o[3] for o in outcomes] == [False] * 6 + [True]
    assert MountainCar().sampler(seed=2).take(2000).truncated.sum() == 0


def test_pump_policy() -> None:
    np.testing.assert_allclose(PumpPolicy(0.3)(np.array([0.0, -0.01])), [0.8, 0.1, 0.1])
    np.testing.assert_allclose(PumpPolicy(0.0)(np.array([0.0, 0.0])), [0, 0, 1])
    steps = MountainCar(target_epsilon=0.0).sampler(seed=1).take(500)
    assert (steps.action == np.where(steps.obs[:, 1] >= 0, 2, 0)).all()
    off = make("MountainCar-v0", "off-policy").sampler(seed=1).take(20_000)
    assert off.rho.mean() == pytest.approx(1, abs=0.02)


RING_1 = [5, 6, 7, 8, 9, 8, 9, 8, 9, 8, 7, 6]
LAKE_1 = [0, 1, 2, 2, 3, 0, 0, 4, 4, 0, 0, 4]
CAR_1 = ["0x1.c905937137655p-2", "0x1.676b6f10169e5p-7"]
GARNET_5 = [11, 19, 28, 14, 15, 21]

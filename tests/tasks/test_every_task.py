"""What holds for every task and every preset."""

import itertools
import pickle
import warnings
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from scipy import stats

import tdlambda as td
from tdlambda.tasks import TabularTask

PRESETS = [(name, preset) for name, entry in td.tasks.TASKS.items() for preset in (entry.presets or [None])]
FINITE = [(name, preset) for name, preset in PRESETS if td.make(name, preset).mdp is not None]


def table_of(task: td.tasks.Task[Any]) -> td.FiniteMDP:
    assert task.mdp is not None
    return task.mdp


@pytest.mark.parametrize(("name", "preset"), PRESETS)
def test_passes_gymnasium_checker(name: str, preset: str | None) -> None:
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*render.*")
        check_env(td.make(name, preset), skip_render_check=True)


@pytest.mark.parametrize("name", td.tasks.TASKS)
def test_is_registered_with_gymnasium(name: str) -> None:
    env: Any = gym.make(f"tdlambda/{name}")
    assert type(env.unwrapped) is td.tasks.TASKS[name].build
    assert td.make(f"tdlambda/{name}").id == name


@pytest.mark.parametrize(("name", "preset"), PRESETS)
def test_policies_are_distributions_and_features_fit(name: str, preset: str | None) -> None:
    task = td.make(name, preset)
    steps = task.sampler(seed=3).take(200)
    for obs in steps.obs:
        for policy in (task.target, task.behavior):
            assert policy(obs).sum() == pytest.approx(1)
        assert len(task.features.encode(obs)[0]) == task.features.active
    X = task.features.matrix(steps.obs)
    assert X.shape == (200, task.features.size)
    assert np.abs(X).sum(axis=1).all()


@pytest.mark.parametrize(("name", "preset"), PRESETS)
def test_sampler_is_the_same_in_chunks_threads_and_copies(name: str, preset: str | None) -> None:
    task = td.make(name, preset)
    whole = task.sampler(seed=11).take(600)

    def in_chunks(_: int) -> list[td.mdp.Transitions]:
        sampler = td.make(name, preset).sampler(seed=11)
        return [sampler.take(n) for n in (1, 199, 0, 400)]

    with ThreadPoolExecutor(4) as pool:
        for chunks in pool.map(in_chunks, range(4)):
            for column in ("obs", "action", "reward", "next_obs", "gamma", "rho", "terminated", "truncated"):
                joined = np.concatenate([getattr(chunk, column) for chunk in chunks])
                np.testing.assert_array_equal(joined, getattr(whole, column))
    assert not np.array_equal(whole.next_obs, task.sampler(seed=12).take(600).next_obs)


@pytest.mark.parametrize(("name", "preset"), PRESETS)
def test_sampler_columns_belong_together(name: str, preset: str | None) -> None:
    task = td.make(name, preset)
    steps = task.sampler(seed=5).take(3000)
    over = steps.terminated | steps.truncated
    np.testing.assert_array_equal(steps.obs[1:][~over[:-1]], steps.next_obs[:-1][~over[:-1]])
    assert (steps.gamma[steps.terminated] == 0).all()
    for obs, action, rho in zip(steps.obs[:300], steps.action, steps.rho, strict=False):
        assert rho == pytest.approx(task.target(obs)[action] / task.behavior(obs)[action], rel=1e-12)
    if task.on_policy:
        assert (steps.rho == 1).all()


@pytest.mark.parametrize(("name", "preset"), FINITE)
def test_sampler_follows_the_table(name: str, preset: str | None) -> None:
    """Chi-square of (s, a, s') counts given (s, a), and of a given s; nothing outside the table."""
    task = td.make(name, preset)
    assert isinstance(task, TabularTask)
    o, mdp = task.mdp.outcomes, task.mdp
    steps = task.sampler(seed=17).take(40_000)
    possible = set(zip(o.state, o.action, o.next_state, o.reward, strict=True))
    assert set(zip(steps.obs, steps.action, steps.next_obs, steps.reward, strict=True)) <= possible
    p_values = []
    for s in np.flatnonzero(~mdp.terminal):
        here = steps.obs == s
        p_values.append(chi_square(steps.action[here], task.behavior.probabilities[s]))
        for a in range(mdp.n_actions):
            pair = slice(*o.indptr[[s * mdp.n_actions + a, s * mdp.n_actions + a + 1]])
            expected = np.bincount(o.next_state[pair], weights=o.probability[pair], minlength=mdp.n_states)
            p_values.append(chi_square(steps.next_obs[here & (steps.action == a)], expected))
    firsts = np.append(0, 1 + np.flatnonzero(steps.terminated[:-1]))
    if mdp.terminal.any():
        p_values.append(chi_square(steps.obs[firsts], mdp.start))
    assert min(p_values) > 1e-3 / len(p_values)


@pytest.mark.parametrize(("name", "preset"), FINITE)
def test_environment_follows_the_table(name: str, preset: str | None) -> None:
    task = td.make(name, preset)
    mdp = table_of(task)
    triples, probability, mean, square = mdp.transition_moments()
    table = {tuple(t): (p, m, s) for t, p, m, s in zip(triples.tolist(), probability, mean, square, strict=True)}
    seen: dict[tuple[int, int], list[int]] = {}
    rng = np.random.default_rng(0)
    state, _ = task.reset(seed=23)
    for _ in range(3000):
        action = int(rng.integers(mdp.n_actions))
        next_state, reward, terminated, truncated, info = task.step(action)
        assert (state, action, next_state) in table
        assert info["discount"] == mdp.discount[next_state]
        assert terminated == mdp.terminal[next_state]
        assert not truncated
        if table[state, action, next_state][2] == pytest.approx(table[state, action, next_state][1] ** 2):
            assert reward == pytest.approx(table[state, action, next_state][1])
        seen.setdefault((state, action), []).append(next_state)
        state = task.reset()[0] if terminated else next_state
    p_values = []
    for (s, a), nexts in seen.items():
        expected = np.zeros(mdp.n_states)
        for (s0, a0, n0), (p, _, _) in table.items():
            expected[n0] += p * ((s0, a0) == (s, a))
        p_values.append(chi_square(np.array(nexts), expected))
    assert min(p_values) > 1e-3 / len(p_values)


def chi_square(drawn: np.ndarray[Any, Any], probability: np.ndarray[Any, Any]) -> float:
    """The p-value of the draws; 1 where there are too few to tell."""
    possible = probability > 0
    counts = np.bincount(drawn, minlength=probability.size)
    assert counts[~possible].sum() == 0
    if possible.sum() < 2 or drawn.size * probability[possible].min() < 5:
        return 1.0
    expected = drawn.size * probability[possible]
    return float(stats.chisquare(counts[possible], expected * counts.sum() / expected.sum()).pvalue)


@pytest.mark.parametrize(("name", "preset"), FINITE)
def test_state_frequencies_match_the_exact_distribution(name: str, preset: str | None) -> None:
    task = td.make(name, preset)
    mdp = table_of(task)
    steps = task.sampler(seed=29).take(200_000)
    visits = np.bincount(steps.obs, minlength=mdp.n_states) + np.bincount(
        steps.next_obs[steps.terminated], minlength=mdp.n_states
    )
    exact = mdp.under(task.behavior).state_distribution()
    np.testing.assert_allclose(visits / visits.sum(), exact, atol=0.01)


def test_environment_resets_by_seed_and_refuses_steps_after_the_end() -> None:
    for name in td.tasks.TASKS:
        task = td.make(name)
        with pytest.raises(RuntimeError, match="reset"):
            task.step(0)
        runs = []
        for _ in range(2):
            observed = [task.reset(seed=4)[0]]
            for _ in range(50):
                obs, _, terminated, truncated, _ = task.step(0)
                observed.append(task.reset()[0] if terminated or truncated else obs)
            runs.append(np.array(observed))
        np.testing.assert_array_equal(runs[0], runs[1])
        with pytest.raises((ValueError, TypeError), match="action"):
            task.step(7)


def test_make_says_what_is_wrong() -> None:
    with pytest.raises(ValueError, match="did you mean 'RingWorld-v0'"):
        td.make("Ringworld-v0")
    with pytest.raises(ValueError, match=r"no preset '0\.5/0\.5'; it has '0\.4/0\.35'"):
        td.make("RingWorld-v0", preset="0.5/0.5")
    with pytest.raises(ValueError, match="already registered"):
        td.tasks.register("RingWorld-v0")(td.tasks.TASKS["RingWorld-v0"].build)


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("RingWorld-v0", {"n": 10}, "n must be odd"),
        ("RingWorld-v0", {"n": 1}, "n must be at least 3"),
        ("RingWorld-v0", {"target_left": 1.5}, "target_left"),
        ("RingWorld-v0", {"discount": -0.1}, "discount"),
        ("RandomWalk-v0", {"n": 0}, "n must be"),
        ("BoyanChain-v0", {"n": 12}, "multiple of 4"),
        ("FrozenLake-v0", {"map": "5x5"}, "map"),
        ("FrozenLake-v0", {"map": ["SF", "G"]}, "map"),
        ("FrozenLake-v0", {"map": ["SX", "FG"]}, "map"),
        ("FrozenLake-v0", {"map": "8x8", "features": "tilings"}, "features"),
        ("FrozenLake-v0", {"target": [0.5, 0.5]}, "target"),
        ("FrozenLake-v0", {"behavior": [0, 0, 0.5, 0.5]}, "behavior"),
        ("Garnet-v0", {"branching": 31}, "branching"),
        ("Garnet-v0", {"terminal": 30}, "terminal"),
        ("MountainCar-v0", {"noise": 2}, "noise"),
        ("MountainCar-v0", {"limit": 0}, "limit"),
        ("MountainCar-v0", {"target_epsilon": -1}, "epsilon"),
        ("MountainCar-v0", {"behavior_epsilon": 0.0}, "behavior_epsilon"),
    ],
)
def test_bad_options_are_refused_by_name(name: str, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        td.make(name, **options).sampler()


def test_pickles() -> None:
    for name, preset in itertools.islice(PRESETS, None, None, 2):
        task = td.make(name, preset)
        again = pickle.loads(pickle.dumps(task))
        np.testing.assert_array_equal(again.sampler(seed=2).take(50).obs, task.sampler(seed=2).take(50).obs)

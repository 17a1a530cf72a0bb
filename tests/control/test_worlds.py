"""Compiled worlds: each makes the transitions of its Gymnasium counterpart; agents learn in it as they do in Python."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from pairing import COSTLY, SLOW
from registered import newest

import tdlambda as td
from tdlambda.control.exploration import draw
from tdlambda.control.lane import streams
from tdlambda.control.worlds import world_of
from tdlambda.randomness import stream, uniform
from tdlambda.tasks import WorldEnv

COUNTERPARTS = {"CartPole-v1": "state", "Acrobot-v1": "state", "MountainCar-v0": "state"}


def classic(name: str) -> Any:
    return world_of(td.make("MountainCar-v0", "gymnasium")) if name == "MountainCar-v0" else world_of(name, 1.0)


@pytest.mark.parametrize("name", COUNTERPARTS)
def test_classic_worlds_make_gymnasiums_transitions(name: str) -> None:
    """From the same states, by the same actions: observations, rewards, ends and limits."""
    world, env, rng = classic(name), gym.make(name), np.random.default_rng(0)
    inner: Any = env.unwrapped
    ended = 0
    for episode in range(40):
        obs, _ = env.reset(seed=episode)
        state, seen = np.array(inner.state, dtype=np.float64), np.zeros(world.width)
        for t in range(1, 600):
            # Pushing the way the thing moves gets the car and the acrobot to their ends.
            velocity = obs[1] if name == "MountainCar-v0" else -obs[4] if name == "Acrobot-v1" else rng.normal()
            action = (
                int(velocity >= 0) * (world.actions - 1) if rng.random() < 0.9 else int(rng.integers(world.actions))
            )
            obs, reward, terminated, truncated, _ = env.step(action)
            mine, gamma, over = world.move(world.numbers, state, action, stream(0))
            if world.observe is None:
                seen[:] = state
            else:
                world.observe(world.numbers, state, seen)
            np.testing.assert_allclose(seen, obs, atol=1e-5)
            assert (mine, over, t == world.limit and not over) == (reward, terminated, truncated)
            assert gamma == (0.0 if over else 1.0)
            state[:] = np.array(inner.state, dtype=np.float64)
            if terminated or truncated:
                ended += terminated
                break
    assert ended > 5


@pytest.mark.parametrize(
    ("name", "task"),
    [
        ("FrozenLake-v1", td.make("FrozenLake-v0", "one-hot")),
        (newest("CliffWalking"), td.make("CliffWalking-v0")),
    ],
)
def test_tables_are_gymnasiums(name: str, task: Any) -> None:
    P: Any = gym.make(name).unwrapped.P  # type: ignore[attr-defined]
    mdp = td.FiniteMDP.from_table(P, discount=float(task.mdp.discount.max()))
    start = 36 if name.startswith("Cliff") else 0
    np.testing.assert_allclose(task.mdp.optimal().v[start], mdp.optimal().v[start])
    uniform_policy = np.full(4, 0.25)
    np.testing.assert_allclose(task.mdp.v(uniform_policy)[start], mdp.v(uniform_policy)[start])


@pytest.mark.parametrize(
    "name", ["RingWorld-v0", "FrozenLake-v0", "CliffWalking-v0", "WindyGridworld-v0", "Bifurcation-v0"]
)
def test_finite_worlds_make_their_tasks_transitions(name: str) -> None:
    """The task draws from its own generator; given the same numbers, the world makes the same steps."""
    task, world, rng = td.make(name), world_of(name), np.random.default_rng(1)
    numbers = stream(5)

    class Same:
        def random(self) -> float:
            return float(uniform(numbers))

    other, state = stream(5), np.zeros(1)
    task.reset(seed=0)
    task._np_random = Same()  # type: ignore[assignment]
    obs, _ = task.reset()
    world.begin(world.numbers, state, other)
    for _ in range(400):
        assert int(state[0]) == obs
        action = int(rng.integers(world.actions))
        obs, reward, terminated, _, info = task.step(action)
        got = world.move(world.numbers, state, action, other)
        assert got == (reward, info["discount"], terminated)
        if terminated:
            obs, _ = task.reset()
            world.begin(world.numbers, state, other)


CART = td.features.TileCoder([-2.4, -3, -0.21, -3], [2.4, 3, 0.21, 3], tilings=4, tiles=4)
SWING = td.features.TileCoder([-1, -1, -1, -1, -12, -28], [1, 1, 1, 1, 12, 28], tilings=4, tiles=3)
FEATURES = {"CartPole-v1": CART, "Acrobot-v1": SWING}
RUNS: list[tuple[str, Any, int]] = [
    ("RingWorld-v0", lambda f, k: td.Sarsa(f, k, 0.1, 0.9), 400),
    ("CartPole-v1", lambda f, k: td.Sarsa(f, k, 0.05, 0.9, target="expected", trace_tolerance=0.0), 600),
]  # fmt: skip
MORE: list[tuple[str, Any, int]] = [
    ("Bifurcation-v0", lambda f, k: td.Sarsa(
        f, k, 0.1, 0.9, target="expected", correction="retrace", algorithm=td.TD, policy=td.control.EpsilonGreedy(0.1),
        behavior=td.control.EpsilonGreedy(td.control.Falling(1.0, 0.2, 0, by="episodes", after=5)),
        trace_tolerance=0.0), 2000),
    ("CliffWalking-v0", lambda f, k: td.Sarsa(f, k, 0.1, 0.8, target="expected", trace_tolerance=0.0), 2000),
    ("WindyGridworld-v0", lambda f, k: td.QLambda(f, k, 0.1, 0.8, trace_tolerance=0.0), 2000),
    ("Acrobot-v1", lambda f, k: td.Sarsa(f, k, 0.05, 0.9, trace_tolerance=0.0), 600),
    ("MountainCar-v0", lambda f, k: td.Sarsa(f, k, 0.05, td.rules.Meta(kappa=0.01), trace_tolerance=0.0), 600),
    ("MountainCar-v0", lambda f, k: td.QLambda(f, k, 0.05, 0.9, form="peng", trace_tolerance=0.0), 600),
    ("WindyGridworld-v0", lambda f, k: td.Sarsa(f, k, 0.1, "auto", trace_tolerance=0.0), 600),
    ("FrozenLake-v0", lambda _, k: td.Sarsa(td.features.OneHot(16), k, 0.1, np.linspace(0, 1, 16)), 600),
]  # fmt: skip
"""The same of further worlds, algorithms and rules: they compile for long."""


@pytest.mark.parametrize(
    ("name", "make", "steps"),
    [RUNS[0], pytest.param(*RUNS[1], marks=COSTLY), *(pytest.param(*case, marks=SLOW) for case in MORE)],
)
def test_the_engine_is_the_agent_step_by_step(name: str, make: Any, steps: int) -> None:
    """With the random numbers of the seed, `act` and `update` give what compiled code gives."""
    world = classic(name) if name in COUNTERPARTS else world_of(name)
    features = FEATURES.get(name) or td.make(name).features
    agent = make(features, world.actions)
    found = td.control.run(world, [agent], seeds=[3], steps=steps, points=4, keep=("weights", "episodes", "agents"))
    clone, (starts, rest) = agent.clone(), streams(3)
    state, seen, length, lengths, obs, action = np.zeros(world.size), np.zeros(world.width), -1, [], None, 0

    def observed() -> Any:
        if world.observe is not None:
            world.observe(world.numbers, state, seen)
            return seen.copy()
        return int(state[0]) if world.discrete else state.copy()

    for _ in range(steps):
        if length < 0:
            world.begin(world.numbers, state, starts)
            obs, length = observed(), 0
            action = draw(clone.behavior_at(obs), uniform(starts))
        reward, gamma, over = world.move(world.numbers, state, action, rest)
        after, length, u = observed(), length + 1, uniform(rest)
        cut = not over and length == world.limit
        chosen = 0 if over else draw(clone.behavior_at(after), u)
        clone.update(obs, action, reward, after, chosen, gamma, bool(over), cut)
        obs, action = after, chosen
        if over or cut:
            lengths.append(length)
            length = -1
    np.testing.assert_allclose(found.weights[0][0], clone.weights, rtol=1e-9, atol=1e-9)
    assert found.episodes[0][0][:, 1].tolist() == lengths
    again: Any = found.agents[0][0]
    assert (again.steps, again.episodes) == (clone.steps, clone.episodes)
    assert again.diverged_at is None


def begin_hall(numbers: Any, state: Any, random: Any) -> None:  # noqa: ARG001
    state[0] = 0.0


def move_hall(numbers: Any, state: Any, action: int, random: Any) -> tuple[float, float, bool]:
    state[0] = max(0.0, state[0] + (1.0 if td.tasks.uniform(random) < numbers[action] else -1.0))
    return -1.0, 0.95, state[0] >= 6.0


def test_a_world_from_a_script_runs_everywhere() -> None:
    world = td.tasks.World(begin_hall, move_hall, [0.3, 0.9], size=1, actions=2, limit=200, space=td.tasks.states(7))
    agents = {f"λ = {lam}": td.Sarsa(td.features.OneHot(7), 2, 0.2, lam) for lam in (0.0, 0.9)}
    found = td.control.run(world, agents, seeds=3, steps=3000, keep=("policy", "lambdas"))
    assert np.array(found.policy)[:, :, 1:6].mean() > 0.9
    assert np.array(found.lambdas).shape == (2, 3, 7, 2)
    assert isinstance(world.env(), WorldEnv)
    agent = td.Sarsa(td.features.OneHot(7), 2, 0.2)
    curve = td.train(world.env(), agent, steps=3000, seed=0, evaluate_every=3000)
    assert [agent.greedy(s) for s in range(2, 6)] == [1] * 4
    assert curve.evaluations[0, 1] > -12


def test_agents_that_do_not_fit_are_named() -> None:
    ring = td.make("RingWorld-v0")
    for agent, message in [
        (td.Sarsa(ring.features, 3, 0.1), "has 3 actions, but the world has 2"),
        (td.Sarsa(ring.features, 2, 0.1, policy=[0.5, 0.5]), "policy and behavior must be"),
        (td.Sarsa(CART, 2, 0.1), "features must encode states"),
    ]:
        with pytest.raises(ValueError, match=message):
            td.control.run(ring, [agent], 1, 10)
    with pytest.raises(TypeError, match="begin must be a plain function"):
        td.tasks.World(3, move_hall, [], 1, 2)  # type: ignore[arg-type]

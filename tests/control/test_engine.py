"""The compiled engine is its agents, driven step by step; whatever the threads, the order and the neighbours."""

import threading
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from pairing import COSTLY, SLOW, cases

import tdlambda as td
from tdlambda.control.lane import streams
from tdlambda.lab.reproduction import PublishedMeta
from tdlambda.randomness import uniform
from tdlambda.tasks.mountain_car import GOAL, move, perturbed, start
from tdlambda.tasks.task import Task
from tdlambda.tasks.world import World

CAR = td.make("MountainCar-v0", limit=150)
STEPS = 1200


def clip(value: Any, most: Any) -> Any:
    """Not the `clip` of rules: each of them is copied into the same module."""
    return min(max(value, -most), most)


class Capped(td.Algorithm):
    """An algorithm of a user's: TD(λ) with errors cut at ±cap, and momentum."""

    trace_rows, parameters = "e m", "cap"
    cap = 1.5
    dots = {"v": "w.x", "v_next": "w.x'"}
    keeps = {"last": 0.0}
    updates = """
        e  = keep e + rho x
        m  = half m + along e
        w += m
    """

    @staticmethod
    def step(v, v_next, last, cap, alpha, reward, gamma_next, rho, lam_next):  # type: ignore[no-untyped-def]
        along, half = alpha * clip(reward + gamma_next * v_next - v, cap), 0.5
        keep, last = rho * last, gamma_next * lam_next
        return keep, along, half, last


class ByError(td.Rule):
    """A rule of a user's: λ is high where the last errors were large."""

    parameters = "rate"
    dots = {"v": "V.x", "v_next": "V.x'"}
    keeps = {"error": 0.0}

    @staticmethod
    def step(v, v_next, error, rate, reward, gamma_next):  # type: ignore[no-untyped-def]
        error = error + rate * (abs(reward + gamma_next * v_next - v) - error)
        lam_next = error / (1 + error)
        return lam_next, error

    def values(self, seen: Any) -> Any:
        return np.full(len(seen.index), seen.numbers["error"])


class Given:
    """A generator that hands out numbers from one of the seed's streams."""

    def __init__(self, stream: Any) -> None:
        self.stream = stream

    def random(self) -> float:
        return float(uniform(self.stream))


def by_hand(agent: td.ActorCritic, seed: int, steps: int, noise: float, limit: int | None) -> Any:
    """The same interaction in plain Python: the agent, its episodes [return, length, end], and returns at each step."""
    agent = agent.clone()
    starts, rest = map(Given, streams(seed))
    episodes, total, length, so_far = [], 0.0, 0, []
    s = None
    for t in range(1, steps + 1):
        if s is None:
            s, total, length = (start(-1.2, 0.6, starts.random()), 0.0), 0.0, 0
        action = agent.act(np.array(s), rest)  # type: ignore[arg-type]
        after = move(*s, perturbed(action, noise, rest.random(), rest.random()))
        length += 1
        over = after[0] >= GOAL
        cut = not over and length == limit
        reward, gamma = (0.0, 0.0) if over else (-1.0, 1.0)
        agent.update(np.array(s), action, reward, np.array(after), None, gamma, over, cut)
        total += reward
        so_far.append(total)
        s = None if over or cut else after
        if s is None:
            episodes.append((total, length, t))
        if agent.diverged_at is not None:
            break
    return agent, np.array(episodes).reshape(-1, 3), so_far


def curve(episodes: Any, so_far: Any, points: Any) -> Any:
    """What the returns at the points are, by their definition."""
    out, before, last = [], 0, None
    for point in points:
        inside = [total for total, _, end in episodes if before < end <= point]
        if inside:
            last = float(np.mean(inside))
        out.append(so_far[point - 1] if last is None else last)
        before = point
    return np.array(out)


def agent(critic: Any = td.TrueOnlineTD, lam: Any = 0.9, alpha: Any = 0.002, **options: Any) -> td.ActorCritic:
    tiles = options.pop("tiles", 8)
    features = td.features.TileCoder([-1.2, -0.07], [0.6, 0.07], 8, tiles, hash_size=options.pop("hash_size", None))
    features = options.pop("features", features)
    bound = options.pop("critic_bound", 1e3)
    values = critic(features, alpha, lam, on_divergence="flag", bound=bound, trace_tolerance=0.0)
    chosen = {"eta": 0.01, "lam": None, "warm_up": STEPS // 3} | options
    return td.ActorCritic(values, td.control.Softmax(3), **chosen)


AGENTS = {
    "GTD 0.9": agent(td.TrueOnlineGTD),
    "GTD 1": agent(td.TrueOnlineGTD, lam=1.0),
    "GTD 0": agent(td.TrueOnlineGTD, lam=0.0),
    "TD trace": agent(lam=0.8),
    "conventional": agent(td.TD, lam=0.7, entropy=0.01),
    "gradient": agent(td.GTD, lam=0.5, weighting="plain"),
    "few": agent(lam=0.9, tiles=3),
    "hashed": agent(td.TrueOnlineGTD, hash_size=300),
    "greedy": agent(td.TrueOnlineGTD, lam=td.rules.Greedy(warm_up=100)),
    "META": agent(lam=td.rules.Meta(warm_up=100)),
    "META GTD": agent(td.TrueOnlineGTD, lam=td.rules.Meta(warm_up=100)),
    "META thesis": agent(td.TrueOnlineGTD, lam=td.rules.Meta.thesis(1e-3, warm_up=100)),
    "META published": agent(td.TrueOnlineGTD, lam=PublishedMeta(1e-3, warm_up=100), td_error="after"),
    "counting": agent(lam=td.rules.Counting(20.0)),
    "auto": agent(lam="auto"),
    "cosines": agent(td.GTD, lam=0.8, features=td.features.Fourier([-1.2, -0.07], [0.6, 0.07], 11)),
    "visits": agent(alpha=td.steps.OneOver("visits", 0.1, 10.0)),
}
AGENTS["own"] = td.ActorCritic(agent(Capped, lam=ByError(rate=0.1)).critic, td.control.Softmax(3), 0.002, "critic")
AGENTS["shared"] = td.ActorCritic(AGENTS["GTD 0.9"].critic, td.control.Softmax(3), 0.002, "critic")
AGENTS["own trace"] = td.ActorCritic(
    AGENTS["META GTD"].critic, td.control.Softmax(3), td.steps.OneOver("steps", 0.5), 0.5
)

COMPILED = ("TD trace", "META")
"""Agents that `make test` compiles, too."""


@pytest.fixture(scope="module")
def found(request: pytest.FixtureRequest) -> Any:
    asked = {name for item in request.session.items for name in AGENTS if f"[{name}]" in item.name}
    some = {name: one for name, one in AGENTS.items() if name in asked}
    keep = ("weights", "theta", "episodes", "lambdas", "agents")
    return td.control.run(CAR, some, seeds=[3, 8], steps=STEPS, points=9, keep=keep, threads=1)


@pytest.mark.parametrize("name", cases(AGENTS, COMPILED, SLOW))
def test_the_engine_is_the_agents_step_by_step(found: Any, name: str) -> None:
    place = found.names.index(name)
    for k, seed in enumerate(found.seeds):
        reference, episodes, so_far = by_hand(AGENTS[name], seed, STEPS, 0.2, 150)
        np.testing.assert_allclose(found.weights[place][k], reference.critic.weights, rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(found.theta[place][k], reference.theta, rtol=1e-12, atol=1e-12)
        np.testing.assert_array_equal(found.episodes[place][k], episodes)
        np.testing.assert_allclose(found.returns[place, k], curve(episodes, so_far, found.points))
        lambdas: Any = reference.critic
        np.testing.assert_allclose(found.lambdas[place][k], lambdas.lambdas(found.observations), atol=1e-11)
        assert found.diverged_at[place, k] == -1
        assert found.agents[place][k].steps == STEPS
        assert np.abs(reference.theta).max() > 1e-3


def test_agents_go_on_from_where_they_are() -> None:
    begun, _, _ = by_hand(AGENTS["META"], 5, 300, 0.2, 150)
    begun.reset()
    found = td.control.run(CAR, [begun], seeds=[2], steps=400)
    reference, _, _ = by_hand(begun, 2, 400, 0.2, 150)
    np.testing.assert_allclose(found.theta[0][0], reference.theta, rtol=1e-12, atol=1e-12)
    assert begun.steps == 300


def test_neither_threads_nor_order_nor_company_matter(found: Any) -> None:
    names = list(found.names)[::-1]
    other = td.control.run(
        CAR, {name: AGENTS[name] for name in names}, seeds=[8, 1, 3], steps=STEPS, points=9, threads=3
    )
    alone = td.control.run(CAR, [AGENTS["META"]], seeds=[8], steps=STEPS, points=9, threads=1)
    for name in names:
        a, b = found.names.index(name), other.names.index(name)
        for seed in (3, 8):
            k, j = found.seeds.index(seed), other.seeds.index(seed)
            assert found.returns[a, k].tobytes() == other.returns[b, j].tobytes()
            assert found.theta[a][k].tobytes() == other.theta[b][j].tobytes()
            assert found.weights[a][k].tobytes() == other.weights[b][j].tobytes()
    assert alone.weights[0][0].tobytes() == found.weights[found.names.index("META")][1].tobytes()


def test_chunks_do_not_matter(found: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tdlambda.control.engine.CHUNK", 7)
    monkeypatch.setattr("tdlambda.control.engine.PIECE", 1)
    same = {name: AGENTS[name] for name in found.names}
    other = td.control.run(CAR, same, seeds=[3], steps=STEPS, points=9, keep=("theta", "episodes"))
    np.testing.assert_array_equal(other.returns, found.returns[:, :1])
    assert all((a[0] == b[0]).all() for a, b in zip(other.theta, found.theta, strict=True))
    assert all((a[0] == b[0]).all() for a, b in zip(other.episodes, found.episodes, strict=True))


def test_what_diverges_is_frozen_and_harms_nobody() -> None:
    wild = {"critic": agent(td.TD, lam=0.9, alpha=2.0), "policy": agent(eta=1.0, bound=0.5), "calm": agent()}
    found = td.control.run(CAR, wild, seeds=3, steps=STEPS, points=6, threads=2)
    calm = td.control.run(CAR, {"calm": wild["calm"]}, seeds=3, steps=STEPS, points=6, threads=1)
    assert found.returns[2].tobytes() == calm.returns[0].tobytes()
    assert (found.diverged_at[:2] > 0).all()
    assert (found.diverged_at[2] == -1).all()
    assert repr(found).endswith("6 diverged>")
    one = td.control.run(CAR, [agent()], seeds=1, steps=100)
    assert repr(one) == "<1 agent × 1 seed × 100 steps, 0 diverged>"
    for place, name in enumerate(("critic", "policy")):
        for seed in range(3):
            reference, episodes, so_far = by_hand(wild[name], seed, STEPS, 0.2, 150)
            at = found.diverged_at[place, seed]
            assert at == reference.diverged_at
            before = found.points[found.points < at]
            np.testing.assert_allclose(found.returns[place, seed, : before.size], curve(episodes, so_far, before))
            assert (found.returns[place, seed, before.size :] == -np.inf).all()
            np.testing.assert_allclose(found.theta[place][seed], reference.theta, rtol=1e-12, atol=1e-12)
    assert (found.error[:2, :, -1] == np.inf).all()


@pytest.mark.parametrize(
    ("critic", "lam", "options"),
    [
        (td.TrueOnlineTD, 0.9, {}), pytest.param(td.TrueOnlineTD, 1.0, {"hash_size": 200}, marks=COSTLY),
        (td.TrueOnlineTD, 0.0, {}),
        (td.TrueOnlineTD, td.rules.Meta(warm_up=100), {}), pytest.param(td.TrueOnlineGTD, 1.0, {}, marks=COSTLY),
        pytest.param(td.TrueOnlineGTD, td.rules.Meta(warm_up=100), {}, marks=COSTLY),
        pytest.param(td.TrueOnlineTD, td.rules.Greedy(), {}, marks=COSTLY),
    ],
)  # fmt: skip
def test_divergence_is_noticed_at_the_step_at_which_it_happens(critic: Any, lam: Any, options: Any) -> None:
    """The engine looks at weights only where a bound on them says so; a bound that is soon met is met all the same."""
    for bound in (3e-4, 3e-3, 0.1):
        one = agent(critic, lam=lam, alpha=0.02, critic_bound=bound, **options)
        found = td.control.run(CAR, [one], seeds=2, steps=600, points=6)
        for seed in range(2):
            reference, _, _ = by_hand(one, seed, 600, 0.2, 150)
            assert found.diverged_at[0, seed] == (reference.diverged_at or -1)
            np.testing.assert_allclose(found.weights[0][seed], reference.critic.weights, rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("lam", [0.4, 0.9, pytest.param(td.rules.Meta.thesis(1e-3, warm_up=100), marks=COSTLY)])
def test_dropped_traces_hardly_matter(lam: Any) -> None:
    exact = agent(lam=lam, warm_up=STEPS)
    usual = td.ActorCritic(
        td.TrueOnlineTD(exact.features, 0.002, lam), td.control.Softmax(3), 0.01, None, warm_up=STEPS
    )
    found = td.control.run(CAR, [exact, usual], seeds=[1], steps=STEPS)
    np.testing.assert_allclose(found.weights[0][0], found.weights[1][0], atol=1e-6)


@pytest.mark.parametrize("limit", [None, 1, 40])
def test_limits_truncate(limit: int | None) -> None:
    car = td.make("MountainCar-v0", limit=limit, noise=0.5)
    meta = agent(lam=td.rules.Meta(warm_up=100))
    found = td.control.run(car, [meta], seeds=[4], steps=700, points=7, keep=("episodes", "weights"))
    reference, episodes, so_far = by_hand(meta, 4, 700, 0.5, limit)
    np.testing.assert_array_equal(found.episodes[0][0], episodes)
    np.testing.assert_allclose(found.weights[0][0], reference.critic.weights, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(found.returns[0, 0], curve(episodes, so_far, found.points))
    if limit is not None:
        assert (found.episodes[0][0][:, 1] <= limit).all()


def test_a_limit_is_no_end() -> None:
    """Bootstrapping at a limit, V goes on falling below what an episode of that length can bring."""
    car = td.make("MountainCar-v0", limit=20)
    found = td.control.run(car, [agent(lam=0.9, alpha=0.05, eta=1e-9)], seeds=1, steps=20_000)
    assert 8 * found.weights[0][0].min() < -40


def test_all_agents_of_a_seed_begin_their_episodes_alike() -> None:
    frozen = [agent(warm_up=STEPS), agent(td.TD, lam=0.0, warm_up=STEPS)]
    car = td.make("MountainCar-v0", limit=30)
    found = td.control.run(car, frozen, seeds=2, steps=STEPS, keep=("episodes",))
    for a, b in zip(*found.episodes, strict=True):
        np.testing.assert_array_equal(a, b)  # frozen policies: the very same trajectory
        assert len(set(a[:, 1])) > 1
    assert not np.array_equal(found.episodes[0][0], found.episodes[0][1])


def test_it_stops_and_tells_of_finished_seeds() -> None:
    stop, seen = threading.Event(), []

    def note(result: Any) -> None:
        seen.append(result.seeds[0])
        if len(seen) == 2:
            stop.set()

    found = td.control.run(CAR, [agent()], seeds=50, steps=50_000, threads=1, on_seed=note, stop=stop)
    assert found.interrupted
    assert 2 <= len(found.seeds) < 50
    assert list(found.seeds) == seen
    assert found.returns.shape[:2] == (1, len(seen))


FAR = 3.0


def begin(numbers: Any, state: Any, random: Any) -> None:
    """Named like a function of the actor's."""
    state[0] = numbers[0] * td.tasks.uniform(random)


def move_along(numbers: Any, state: Any, action: Any, random: Any) -> Any:  # noqa: ARG001
    u, w = uniform(random), uniform(random)
    state[0] = state[0] + (action - 0.4) * u + 0.1 * w
    over = state[0] >= FAR
    return (5.0 if over else -0.1), 0.9 + 0.1 * w, over


class Corridor(Task[Any]):
    """A task of a user's with a compiled world."""

    def __init__(self) -> None:
        self.features = td.features.TileCoder([-1.0], [4.0], 4, 50)
        self.target = self.behavior = None
        self.observation_space = gym.spaces.Box(np.array([-1.0]), np.array([4.0]), dtype=np.float64)

    def sampler(self, seed: int = 0) -> Any:
        raise NotImplementedError(seed)

    def world(self) -> World:
        return World(begin, move_along, np.array([0.5]), size=1, actions=2, limit=60)


@COSTLY
def test_a_world_of_ones_own() -> None:
    task = Corridor()
    one = td.ActorCritic(td.TrueOnlineTD(task.features, 0.02, 0.9), td.control.Softmax(2), 0.05, weighting="plain")
    found = td.control.run(task, [one], seeds=[7], steps=500, points=5, keep=("weights", "theta", "episodes"))
    reference, world = one.clone(), task.world()
    starts, rest = map(Given, streams(7))
    state, length, lengths = np.zeros(1), -1, []
    for _ in range(500):
        if length < 0:
            world.begin(world.numbers, state, starts.stream)
            length = 0
        before = state.copy()
        action = reference.act(before, rest)  # type: ignore[arg-type]
        reward, gamma, over = world.move(world.numbers, state, action, rest.stream)
        length += 1
        reference.update(before, action, reward, state.copy(), None, gamma, over, not over and length == 60)
        if over or length == 60:
            lengths.append(length)
            length = -1
    np.testing.assert_allclose(found.weights[0][0], reference.critic.weights, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(found.theta[0][0], reference.theta, rtol=1e-12, atol=1e-12)
    assert found.episodes[0][0][:, 1].tolist() == lengths
    assert len(lengths) > 10


def test_observations_that_features_refuse_are_named() -> None:
    narrow = td.features.TileCoder([-0.6, -0.07], [0.4, 0.07], 8, 8, outside="raise")
    with pytest.raises(ValueError, match="outside"):
        td.control.run(CAR, [agent(features=narrow)], 1, 5000, threads=1)


@pytest.mark.parametrize(
    ("agents", "what"),
    [
        ([], "agents must not be empty"),
        ([3], "must be an agent, such as td.Sarsa"),
        (
            [td.ActorCritic(td.TrueOnlineTD(td.features.OneHot(3), 0.1), td.control.Softmax(3), 0.1)],
            "features must encode vectors of 2",
        ),
        (
            [td.ActorCritic(td.TrueOnlineTD(CAR.features, 0.1), td.control.Softmax(2), 0.1)],
            r"policy must be td.control.Softmax\(3\)",
        ),
        (
            [td.ActorCritic(td.MonteCarlo(CAR.features, 0.1), td.control.Softmax(3), 0.1)],
            "critic must be a learner with",
        ),
        ([td.ActorCritic(agent().critic, td.control.Softmax(3), 0.1, behavior=[0.2, 0.3, 0.5])], "without a behavior"),
        ([td.ActorCritic(agent().critic, td.control.Softmax(3, agent(tiles=4).features), 0.1)], "same features"),
    ],
)
def test_what_has_no_compiled_form_is_refused(agents: Any, what: str) -> None:
    with pytest.raises((TypeError, ValueError), match=what):
        td.control.run(CAR, agents, 1, 10)


def test_other_mistakes_are_named() -> None:
    with pytest.raises(ValueError, match="no compiled world"):
        td.control.run(gym.make("Pendulum-v1"), [agent()], 1, 10)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="keep: choose from"):
        td.control.run(CAR, [agent()], 1, 10, keep=("weight",))
    with pytest.raises(ValueError, match="seeds must be different"):
        td.control.run(CAR, [agent()], [1, 1], 10)


@pytest.mark.parametrize("after", [-1, 10])
def test_an_area_needs_a_point(after: int) -> None:
    found = td.control.run(CAR, [agent()], 1, 10, points=2)
    with pytest.raises(ValueError, match="after must be from 0 to 9"):
        found.area(after)


def test_levels_are_finite() -> None:
    with pytest.raises(ValueError, match="end must be finite; got nan"):
        td.control.Falling(1.0, float("nan"), over=10)

"""Question 4: critics that need no small step size, beside META-assisted ones, λ-greedy, fixed λ and Sarsa(λ).

A method has a grid of settings and, where the library offers any, default settings. The best of the grid is chosen by
the final return on some seeds and reported on others, as the defaults are. Step sizes are in units of 1/|x|².
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from itertools import product
from typing import Any

import numpy as np
from control_page import charts, tables
from frame import Rows, Unit

import tdlambda as td
from tdlambda.arrays import Floats
from tdlambda.control.actor_critic import OWN_LAMBDA
from tdlambda.control.defaults import ACTOR, CRITIC
from tdlambda.control.lane import streams
from tdlambda.control.worlds import world_of
from tdlambda.randomness import uniform
from tdlambda.tasks.classic import acrobot, cart_pole
from tdlambda.tasks.world import World

__all__ = ["charts", "tables", "units"]
TUNING = 1000
"""The first of the seeds that settings are chosen on; reports are of seeds 0, 1, 2, …"""
TAIL = 0.2
"""The final return is the mean over the episodes that end in this last share of the steps."""
POINTS = 40
"""Of a learning curve."""


@dataclass(frozen=True)
class Task:
    """A world, its features, how long to learn, and what counts."""

    world: World
    features: td.Encoder
    steps: int
    level: float
    recent: int
    """The level is reached when the mean of so many episodes is at it."""
    worst: float
    """What a run that diverged counts as."""
    by_length: float
    """What each step of an episode counts; 0 where it is the discounted return that counts."""

    @property
    def unit(self) -> float:
        """|x|²: every encoder here has binary features."""
        return float(self.features.active)


@cache
def task(name: str) -> Task:
    """A task by its name."""
    if name == "MountainCar":
        car = td.make("MountainCar-v0", limit=500)
        return Task(world_of(car), car.features, 50_000, -120.0, 20, -500.0, -1.0)
    if name == "CartPole":
        box = [2.4, 3, 0.21, 3]
        poles = td.features.TileCoder([-b for b in box], box, tilings=8, tiles=4, offsets="asymmetric")
        return Task(cart_pole(discount=0.99), poles, 40_000, 400.0, 20, 0.0, 1.0)
    if name == "Acrobot":
        box = [1, 1, 1, 1, 12.6, 28.3]
        limbs = td.features.TileCoder(
            [-b for b in box], box, tilings=16, tiles=[3, 3, 3, 3, 4, 4], hash_size=8192, offsets="asymmetric"
        )
        return Task(acrobot(discount=0.99), limbs, 30_000, -120.0, 20, -500.0, -1.0)
    lake = td.make("FrozenLake-v0", "one-hot")
    return Task(world_of(lake), lake.features, 50_000, 0.8 * float(lake.mdp.optimal().v[0]), 100, 0.0, 0.0)


TASKS = ("MountainCar", "CartPole", "FrozenLake", "Acrobot")


# ---- methods ------------------------------------------------------------------------------------------------------

ALPHA, ETA = (0.0001, 0.001, 0.01, 0.05, 0.2, 0.5), (0.02, 0.1, 0.5, 2.0)
STANDARD = {"alpha": CRITIC, "eta": ACTOR}


@dataclass(frozen=True)
class Method:
    """How an agent is built from settings, which settings to try, and the default ones."""

    build: Callable[..., Any]
    grid: Mapping[str, tuple[Any, ...]]
    default: Mapping[str, Any] | None

    def settings(self, full: bool) -> list[dict[str, Any]]:
        """All of the grid; reduced, the first and last value of each."""
        values = [v if full else (v[0], v[-1])[: len(v)] for v in self.grid.values()]
        return [dict(zip(self.grid, row, strict=True)) for row in product(*values)]


def actor(of: Task, critic: td.Learner, eta: float, lam: Any = "fixed") -> td.ActorCritic:
    """An actor with a trace on this critic; its λ is the critic's, or 0.9 where that one is learned."""
    return td.ActorCritic(critic, td.control.Softmax(of.world.actions), eta / of.unit, lam, weighting="plain")


def with_lambda(of: Task, alpha: float, eta: float, lam: Any) -> td.ActorCritic:
    """A critic with this step size and λ."""
    return actor(of, td.TrueOnlineTD(of.features, alpha / of.unit, lam), eta)


def without_bootstrapping(of: Task, alpha: float, eta: float) -> td.ActorCritic:
    """λ = 1 in the critic alone; the actor's is 0.9, as on critics that learn λ."""
    return actor(of, td.TrueOnlineTD(of.features, alpha / of.unit, 1.0), eta, OWN_LAMBDA)


def assisted(of: Task, alpha: float, eta: float, kappa: float) -> td.ActorCritic:
    """The thesis' agent."""
    return td.control.meta_actor_critic(of.features, of.world.actions, alpha / of.unit, kappa, of.steps, eta / of.unit)


def unassisted(of: Task, alpha: float, eta: float, lam: float) -> td.ActorCritic:
    """The thesis' agent with a fixed λ: no trace in the actor, a first half in which the policy is frozen."""
    critic = td.TrueOnlineGTD(of.features, alpha / of.unit, lam)
    return td.ActorCritic(critic, td.control.Softmax(of.world.actions), eta / of.unit, None, warm_up=of.steps // 2)


def with_steps(of: Task, eta: float, rule: str) -> td.ActorCritic:
    """A critic whose step sizes adapt, with λ = 0.9."""
    algorithm = td.TrueOnlineTD if rule == "Swift" else td.TD
    return actor(of, algorithm(of.features, getattr(td.steps, rule)(), 0.9), eta)


def with_auto_td(of: Task, eta: float) -> td.ActorCritic:
    """A critic with neither α nor λ."""
    return actor(of, td.AutoTD(of.features), eta)


def sarsa(of: Task, alpha: float | None = None, lam: float = 0.9) -> td.Sarsa:
    """Action values; ε falls from 0.1 to 0 over 20 000 steps."""
    return td.Sarsa(of.features, of.world.actions, None if alpha is None else alpha / of.unit, lam)


METHODS: dict[str, Method] = {
    "fixed λ": Method(with_lambda, {"alpha": ALPHA, "eta": ETA, "lam": (0.0, 0.8, 0.9, 1.0)}, STANDARD | {"lam": 0.9}),
    "λ = 1 in the critic": Method(without_bootstrapping, {"alpha": ALPHA, "eta": ETA}, STANDARD),
    "λ-greedy": Method(with_lambda, {"alpha": ALPHA, "eta": ETA, "lam": ("greedy",)}, STANDARD | {"lam": "greedy"}),
    "META-assisted": Method(assisted, {"alpha": ALPHA, "eta": ETA, "kappa": (1e-6, 1e-4, 1e-2)}, None),
    "fixed λ, the thesis' actor": Method(unassisted, {"alpha": ALPHA, "eta": ETA, "lam": (0.0, 0.8, 0.9, 1.0)}, None),
    "META": Method(with_lambda, {"alpha": ALPHA, "eta": ETA, "lam": ("meta",)}, STANDARD | {"lam": "meta"}),
    "auto λ": Method(with_lambda, {"alpha": ALPHA, "eta": ETA, "lam": ("auto",)}, STANDARD | {"lam": "auto"}),
    "Swift": Method(with_steps, {"eta": ETA, "rule": ("Swift",)}, {"eta": ACTOR, "rule": "Swift"}),
    "Intentional": Method(with_steps, {"eta": ETA, "rule": ("Intentional",)}, {"eta": ACTOR, "rule": "Intentional"}),
    "AutoTD": Method(with_auto_td, {"eta": ETA}, {"eta": ACTOR}),
    "Sarsa(λ)": Method(sarsa, {"alpha": ALPHA[2:], "lam": (0.0, 0.8, 0.9, 0.95)}, {}),
}


def units(full: bool) -> list[Unit]:
    """One for each task and method; the slow ones last."""
    tasks, methods = (TASKS, METHODS) if full else (("FrozenLake",), ("AutoTD", "META-assisted", "fixed λ", "Sarsa(λ)"))
    pairs = sorted(product(tasks, methods), key=lambda pair: pair[1] == "AutoTD")
    return [Unit(f"{t}-{m}", compared, {"name": t, "method": m, "full": full, **size(m, full)}) for t, m in pairs]


def size(method: str, full: bool) -> dict[str, Any]:
    """How many seeds to choose on and to report, and how long; AutoTD, which runs in Python, has fewer."""
    if not full:
        return {"tuning": 2, "seeds": 4, "steps": 3000}
    return (
        {"tuning": 3, "seeds": 16, "steps": None} if method == "AutoTD" else {"tuning": 5, "seeds": 40, "steps": None}
    )


# ---- measuring ----------------------------------------------------------------------------------------------------


def compared(name: str, method: str, full: bool, tuning: int, seeds: int, steps: int | None) -> Rows:
    """Choose on tuning seeds, report the choice and the defaults on others."""
    of, how = task(name), METHODS[method]
    of = of if steps is None else replace(of, steps=steps)
    steps, settings = of.steps, how.settings(full)
    tried = episodes_of(of, [how.build(of, **s) for s in settings], range(TUNING, TUNING + tuning), steps)
    scores = np.array([[scored(of, run, steps)["final"] for run in runs] for runs in tried])
    about: dict[str, Any] = {"task": name, "method": method, "steps": steps}
    rows = [
        about | texts(setting) | {"kind": "tuning", "seed": TUNING + k, "final": score, "diverged": runs[k][1]}
        for setting, row, runs in zip(settings, scores, tried, strict=True)
        for k, score in enumerate(row)
    ]
    chosen = {"best": settings[int(scores.mean(axis=1).argmax())]}
    if how.default is not None:
        chosen["default"] = dict(how.default)
    runs: list[Run] = []
    for choice, setting in chosen.items():
        if not runs or setting != chosen["best"]:
            [runs] = episodes_of(of, [how.build(of, **setting)], range(seeds), steps)
        here = about | texts(setting) | {"choice": choice, "settings": len(settings)}
        rows += [
            here | {"kind": "report", "seed": k, "diverged": run[1], **scored(of, run, steps)}
            for k, run in enumerate(runs)
        ]
        curves = np.array([curve(of, run, steps) for run in runs])
        off = 1.96 * curves.std(axis=0, ddof=1) / np.sqrt(len(runs))
        rows += [
            here | {"kind": "curve", "step": (i + 1) * steps // POINTS, "mean": m, "low": m - o, "high": m + o}
            for i, (m, o) in enumerate(zip(curves.mean(axis=0).tolist(), off.tolist(), strict=True))
        ]
    return rows


def texts(setting: Mapping[str, Any]) -> dict[str, Any]:
    """Settings as columns; λ is a number or a rule's name, so it is text."""
    return {key: str(value) if key in ("lam", "rule") else value for key, value in setting.items()}


Run = tuple[Floats, bool]
"""Episodes [value, end], and whether the agent diverged."""


def episodes_of(of: Task, agents: list[Any], seeds: range, steps: int) -> list[list[Run]]:
    """[agent][seed], from the compiled engine where it can run the agent; all meet the same chance on a seed."""
    if isinstance(getattr(agents[0], "critic", None), td.AutoTD):
        return [[valued(of, *by_hand(of.world, agent, seed, steps)) for seed in seeds] for agent in agents]
    found = td.control.run(of.world, agents, list(seeds), steps, points=1, keep=("episodes",), threads=1)
    return [
        [valued(of, run, at >= 0) for run, at in zip(runs, stops, strict=True)]
        for runs, stops in zip(found.episodes, found.diverged_at, strict=True)
    ]


def valued(of: Task, episodes: Floats, diverged: bool) -> Run:
    """What counts of each episode, and when it ended."""
    value = of.by_length * episodes[:, 1] if of.by_length else episodes[:, 0]
    return np.stack([value, episodes[:, 2]], axis=1), bool(diverged)


class Drawn:
    """A generator that hands out numbers of one of a seed's streams."""

    def __init__(self, stream: Any) -> None:
        self.stream = stream

    def random(self) -> float:
        """The next number."""
        return float(uniform(self.stream))


def by_hand(world: World, agent: td.ActorCritic, seed: int, steps: int) -> tuple[Floats, bool]:
    """What `td.control.run` does, for critics that it cannot compile: episodes, and whether the agent diverged."""
    agent = agent.clone()
    starts, rest = streams(seed)
    state, out = np.zeros(world.size), np.zeros(world.width)
    episodes, length, total, discount = [], 0, 0.0, 1.0

    def seen() -> Any:
        if world.observe is not None:
            world.observe(world.numbers, state, out)
            return out.copy()
        return int(state[0]) if world.discrete else state.copy()

    for t in range(1, steps + 1):
        if length == 0:
            world.begin(world.numbers, state, starts)
            obs, total, discount = seen(), 0.0, 1.0
        action = agent.act(obs, Drawn(rest))  # type: ignore[arg-type]
        reward, gamma, terminated = world.move(world.numbers, state, action, rest)
        after, length = seen(), length + 1
        truncated = not terminated and length == world.limit
        agent.update(obs, action, reward, after, None, gamma, bool(terminated), truncated)
        obs, total, discount = after, total + discount * reward, discount * gamma
        if terminated or truncated:
            episodes.append((total, length, t))
            length = 0
    return np.array(episodes, dtype=np.float64).reshape(-1, 3), agent.diverged_at is not None


def scored(of: Task, run: Run, steps: int) -> dict[str, float]:
    """The final return, the mean over the run, and the steps until the level is reached (all of them if it is not)."""
    episodes, diverged = run
    if diverged:
        return {"final": of.worst, "area": of.worst, "reached": float(steps)}
    last = episodes[episodes[:, 1] > (1 - TAIL) * steps, 0]
    final = last.mean() if last.size else episodes[-1, 0] if len(episodes) else of.worst
    sums = np.cumsum(np.append(0.0, episodes[:, 0]))
    at = np.flatnonzero(sums[of.recent :] - sums[: -of.recent] >= of.recent * of.level)
    reached = episodes[at[0] + of.recent - 1, 1] if at.size else steps
    return {"final": float(final), "area": float(curve(of, run, steps).mean()), "reached": float(reached)}


def curve(of: Task, run: Run, steps: int) -> Floats:
    """The mean of the episodes that ended in each stretch; where none did, what it was before."""
    episodes, diverged = run
    place = np.minimum(((episodes[:, 1] - 1) * POINTS // steps).astype(int), POINTS - 1)
    count, total = np.bincount(place, minlength=POINTS), np.bincount(place, episodes[:, 0], minlength=POINTS)
    out, last = np.empty(POINTS), of.worst
    for i in range(POINTS):
        last = of.worst if diverged else total[i] / count[i] if count[i] else last
        out[i] = last
    return out

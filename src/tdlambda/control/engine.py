"""Many agents, each in a world of its own, on threads: one compiled call for thousands of steps."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np

from tdlambda.arrays import Floats, Ints, integer
from tdlambda.control.actor_critic import ActorCritic
from tdlambda.control.lane import Lane, check_agent, form_of
from tdlambda.control.result import ControlResult
from tdlambda.control.worlds import world_of
from tdlambda.engine.by_seed import by_seed, processors
from tdlambda.engine.job import chosen, moments_of, points_at, seed_numbers
from tdlambda.engine.progress import Progress
from tdlambda.tasks import make
from tdlambda.tasks.base import Task
from tdlambda.tasks.world import World

CHUNK = 16_384
"""Steps of a compiled call: between two of them a run can be stopped."""
PIECE = 8
"""Agents of one seed that a thread takes at a time."""
KEEP = ("weights", "theta", "lambdas", "episodes", "agents")
GRID = 8
"""λ is looked at on a grid of so many values along each dimension of the observations."""


@dataclass(frozen=True)
class Job:
    """A run as it was asked for, checked."""

    world: World
    agents: dict[str, ActorCritic]
    seeds: tuple[int, ...]
    steps: int
    points: Ints
    keep: tuple[str, ...]
    observations: Floats
    follow: tuple[int, ...] = ()
    """Seeds of which λ is kept on the way."""
    stop: threading.Event = field(default_factory=threading.Event)

    @property
    def total(self) -> int:
        """Steps of all seeds."""
        return self.steps * len(self.seeds)


@dataclass
class Found:
    """What one agent leaves of one seed."""

    curve: Floats
    diverged_at: int
    kept: dict[str, Any]
    motion: Floats | None = None


def run(
    task: Task[Any] | str,
    agents: Mapping[str, ActorCritic] | Sequence[ActorCritic],
    seeds: int | Sequence[int],
    steps: int,
    *,
    points: int | Sequence[int] | None = None,
    seed: int = 0,
    keep: Sequence[str] = ("weights", "theta", "lambdas"),
    follow: Sequence[int] = (),
    threads: int | None = None,
    progress: bool | Progress | None = None,
    on_seed: Callable[[ControlResult], None] | None = None,
    hold: bool = True,
    stop: threading.Event | None = None,
) -> ControlResult:
    """Let many agents act and learn, each from the state it is given in, on each seed; none is changed.

    What comes out is what `ActorCritic.act` and `update` would give with the same random numbers, and does not depend
    on the number of threads. For one seed, all agents meet the same starts of episodes and the same noise.

    Parameters
    ----------
    task
        A task with a compiled world (`world()`; MountainCar-v0 has one), or its id.
    agents
        Agents by name; a sequence is named by their place. The critic has traces, its λ is a number or learnt, the
        policy is a softmax, and all are linear in the same features, such as `td.TileCoder`.
    seeds
        How many, numbered from `seed`; or their numbers.
    steps
        Of each agent on each seed, over all its episodes.
    points
        How many times to read the curve of returns, evenly up to the last step, 100 by default; or after which steps.
    keep
        Which of "weights", "theta", "lambdas", "episodes", "agents" to return.
    follow
        Seeds of which the critics' λ is kept on the way, at up to 48 of the points: `ControlResult.motion`.
    threads
        As many as there are processors by default.
    progress
        Show progress; by default if somebody is watching (standard error is a terminal). Or a bar of several runs.
    on_seed
        Called with the result of each seed as it is finished.
    hold
        Whether to hold on to what `on_seed` was given; if not, the result that is returned is without seeds.
    stop
        When it is set, the run ends soon and returns the seeds finished so far, `interrupted`. Given one, Ctrl-C is
        left to the caller; otherwise it raises `td.Interrupted`, whose `result` they are.

    Examples
    --------
    >>> import tdlambda as td
    >>> car = td.make("MountainCar-v0", limit=500)
    >>> agents = {
    ...     f"λ = {lam}": td.ActorCritic(td.TrueOnlineTD(car.features, 0.01, lam), td.Softmax(3), eta=0.01)
    ...     for lam in (0.0, 0.9)}
    >>> found = td.control.run(car, agents, seeds=4, steps=20_000)
    >>> found
    <2 agents × 4 seeds × 20,000 steps, 0 diverged>
    >>> found.best(), bool(found.tail().max() > -200)
    ('λ = 0.9', True)
    """
    job = checked(task, agents, seeds, steps, points, seed, keep, follow)
    threads = processors() if threads is None else integer(threads, "threads", 1)
    for agent in {form_of(agent, job.world): agent for agent in job.agents.values()}.values():
        Lane(agent, job.world, 0, job.points)  # compiles, or loads
    return by_seed(
        job, len(job.agents), _pieces(job), partial(_result, job), threads, progress, on_seed, hold, stop
    )  # fmt: skip


def checked(task: Any, agents: Any, seeds: Any, steps: Any, points: Any, seed: Any, keep: Any, follow: Any = ()) -> Job:
    """Validate the arguments."""
    if isinstance(task, str):
        task = make(task)
    if not isinstance(task, Task):
        raise TypeError(f"task must be a task or the id of one; got {task!r}")
    world = world_of(task)
    named = dict(agents) if isinstance(agents, Mapping) else {str(k): agent for k, agent in enumerate(agents)}
    if not named:
        raise ValueError("agents: there is none")
    for name, agent in named.items():
        if not isinstance(agent, ActorCritic):
            raise TypeError(f"agents: {name!r} must be an ActorCritic; got {agent!r}")
        check_agent(agent, world, name)
    steps = integer(steps, "steps", 1)
    numbers, at = seed_numbers(seeds, seed), points_at(points, steps)
    return Job(world, named, numbers, steps, at, chosen(keep, KEEP), observation_grid(task), tuple(follow))


def observation_grid(task: Task[Any]) -> Floats:
    """Where λ is looked at [observation, dimension], the last dimension first to change."""
    space: Any = task.observation_space
    axes = [np.linspace(low, high, GRID) for low, high in zip(space.low, space.high, strict=True)]
    return np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, len(axes))


def _pieces(job: Job) -> Iterator[tuple[int, Callable[[Progress], dict[int, Found]]]]:
    """A seed, and the work on some agents; seed by seed."""
    places = list(range(len(job.agents)))
    for number in job.seeds:
        for begin in range(0, len(places), PIECE):
            yield number, partial(_work, job, number, places[begin : begin + PIECE])


def _work(job: Job, seed: int, places: list[int], bar: Progress) -> dict[int, Found]:
    """Some agents on one seed, one after the other; nothing if it was stopped on the way."""
    found, agents, log = {}, list(job.agents.values()), np.zeros((CHUNK, 3))
    for place in places:
        lane, motion = Lane(agents[place], job.world, seed, job.points), []
        moments = job.points[moments_of(job.points)].tolist() if seed in job.follow else []
        stops = sorted({*range(CHUNK, job.steps, CHUNK), *moments, job.steps})
        for begin, end in pairwise([0, *stops]):
            if job.stop.is_set():
                return {}
            lane.advance(end - begin, log)
            bar.advance(end - begin, 0)
            if end in moments:
                critic: Any = lane.snapshot().critic
                motion.append(critic.lambdas(job.observations))
        bar.advance(0, int(lane.diverged_at >= 0))
        found[place] = Found(lane.curve, lane.diverged_at, _kept(job, lane), np.array(motion) if moments else None)
    return found


def _kept(job: Job, lane: Lane) -> dict[str, Any]:
    """What was asked for of an agent's final state."""
    critic: Any = lane.close().critic
    makers: dict[str, Callable[[], Any]] = {
        "weights": lambda: np.array(critic.weights),
        "theta": lambda: np.array(lane.agent.theta),
        "lambdas": lambda: critic.lambdas(job.observations),
        "episodes": lane.finished_episodes,
        "agents": lambda: lane.agent,
    }
    return {name: makers[name]() for name in job.keep}


def _result(
    job: Job, seeds: tuple[int, ...], done: dict[int, dict[int, Found]], interrupted: bool, seconds: float
) -> ControlResult:
    places, n = range(len(job.agents)), len(seeds)
    rows = [[done[number][place] for number in seeds] for place in places]
    curves = np.array([[one.curve for one in row] for row in rows]).reshape(len(rows), n, job.points.size)
    at = np.array([[one.diverged_at for one in row] for row in rows], dtype=np.int64).reshape(len(rows), n)
    kept: dict[str, list[Any]] = {name: [[one.kept[name] for one in row] for row in rows] for name in job.keep}
    arrays = {name: [np.array(row) for row in kept[name]] for name in ("weights", "theta", "lambdas") if name in kept}
    return ControlResult(
        tuple(job.agents), seeds, job.points, curves, at, job.observations, **arrays,
        episodes=kept.get("episodes", []), agents=kept.get("agents", []), moments=job.points[moments_of(job.points)],
        motion={number: [done[number][place].motion for place in places] for number in seeds if number in job.follow},
        interrupted=interrupted, seconds=seconds, lane_steps=len(rows) * n * job.steps,
    )  # fmt: skip

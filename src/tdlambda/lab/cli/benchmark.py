"""Benchmarks of the engine against lower bounds and alternatives measured in the same run, as ratios."""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

import numba
import numpy as np

from tdlambda.algorithms import ETD, GTD, GTD2, HTD, TDRC, TrueOnlineETD, TrueOnlineGTD, TrueOnlineTD
from tdlambda.arrays import Floats, Ints, aligned
from tdlambda.compiled import kernel, lanewise
from tdlambda.engine.plan import WIDTH
from tdlambda.engine.run_learners import run
from tdlambda.features import OneHot
from tdlambda.lab.reproduction import PublishedMeta
from tdlambda.learners.learner import Learner
from tdlambda.rules import Greedy, Meta
from tdlambda.tasks import make

Key = TypeVar("Key")
LAMBDAS = (0.0, 0.4, 0.8, 0.9, 0.95, 0.975, 0.99, 1.0)


@dataclass(frozen=True)
class BenchmarkRow:
    """One line of the table: a measured ratio and its target."""

    work: str
    beside: str
    ratio: float
    wanted: str
    good: bool
    detail: str = ""


def bench(share: float = 1.0, say: Callable[[str], None] = lambda _: None) -> dict[str, Any]:
    """Run all benchmarks.

    Parameters
    ----------
    share
        Share of the work, in (0, 1]; a tenth is fast but noisy.
    say
        Called with a description of the next benchmark.

    Returns
    -------
    "machine", "rows" (see `BenchmarkRow`), "speed" (lane-steps per second on one core) and "tables" (hours on
    two cores for the four tables of Zhao (2020), at those speeds).
    """
    rows = []
    parts = (_bounds, _rules, _threads, _usual_way, _lanes, _seeds, _steps, _features, _neighbours)
    for part in parts:
        say((part.__doc__ or "").splitlines()[0])
        rows += list(part(share))
    say("Lane-steps per second.")
    speed = _speed(share)
    return {"machine": machine(), "rows": rows, "speed": speed, "tables": _tables(speed)}


def machine() -> dict[str, Any]:
    """The machine, and the versions of packages."""
    name = platform.processor() or platform.machine()
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            name = next(line.split(":")[1].strip() for line in file if line.startswith("model name"))
    except (OSError, StopIteration):
        pass
    return {
        "processor": name, "processors": os.cpu_count(), "python": platform.python_version(),
        "numpy": np.__version__, "numba": numba.__version__, "system": platform.platform(),
    }  # fmt: skip


def _row(work: str, beside: str, ratio: float, wanted: str, detail: str = "") -> BenchmarkRow:
    """A row whose target is a sign and a number, such as "≤ 1.1"."""
    sign, limit = wanted.split()
    return BenchmarkRow(
        work, beside, ratio, wanted, (ratio <= float(limit)) if sign == "≤" else ratio >= float(limit), detail
    )


def _alphas(n: int) -> Floats:
    return np.geomspace(1e-5, 0.05, n)


def _fixed(task: Any, kind: type[Any], n: int) -> list[Learner]:
    return [kind(task.features, alpha, LAMBDAS[k % 8]) for k, alpha in enumerate(_alphas(n))]


def _with(task: Any, kind: type[Any], rule: Callable[[], Any], n: int) -> list[Learner]:
    return [kind(task.features, alpha, rule()) for alpha in _alphas(n)]


def _per_lane_step(task: Any, learners: list[Learner], steps: int, **options: Any) -> float:
    """The seconds per lane-step of one run."""
    given: dict[str, Any] = {"seeds": 1, "threads": 1, "points": 10, "keep": ()} | options
    found = run(task, learners, steps=steps, **given)
    return found.seconds / found.lane_steps


def _best(work: Mapping[Key, Callable[[], float]], rounds: int = 7) -> dict[Key, float]:
    """The shortest times over several rounds, interleaved because the machine's speed varies over time."""
    least = dict.fromkeys(work, np.inf)
    for _ in range(rounds):
        for name, measure in work.items():
            least[name] = min(least[name], measure())
    return least


@lanewise
def _two(e: Floats, w: Floats, keep: Floats, along: Floats) -> None:
    for k in range(e.size):
        now = e[k] * keep[k]
        e[k] = now
        w[k] += along[k] * now


@lanewise
def _three(e: Floats, w: Floats, h: Floats, keep: Floats, along: Floats) -> None:
    for k in range(e.size):
        now = e[k] * keep[k]
        e[k] = now
        w[k] += along[k] * now
        h[k] += along[k] * now


@lanewise
def _four(e: Floats, w: Floats, e_b: Floats, h: Floats, keep: Floats, along: Floats) -> None:
    for k in range(e.size):
        now = e[k] * keep[k]
        e[k] = now
        w[k] += along[k] * now
        h[k] += along[k] * now
        e_b[k] *= keep[k]


@lanewise
def _five(e: Floats, w: Floats, g: Floats, e_h: Floats, h: Floats, keep: Floats, along: Floats) -> None:
    for k in range(e.size):
        now = e[k] * keep[k]
        e[k] = now
        w[k] += along[k] * now
        now = e_h[k] * keep[k]
        e_h[k] = now
        h[k] += along[k] * now
        g[k] *= keep[k]


@kernel
def _pass_two(F: Floats, keep: Floats, along: Floats, live: Ints, steps: int) -> None:
    for _ in range(steps):
        for f in live:
            _two(F[f, 1], F[f, 0], keep, along)


@kernel
def _pass_three(F: Floats, keep: Floats, along: Floats, live: Ints, steps: int) -> None:
    for _ in range(steps):
        for f in live:
            _three(F[f, 2], F[f, 0], F[f, 1], keep, along)


@kernel
def _pass_four(F: Floats, keep: Floats, along: Floats, live: Ints, steps: int) -> None:
    for _ in range(steps):
        for f in live:
            _four(F[f, 2], F[f, 0], F[f, 3], F[f, 1], keep, along)


@kernel
def _pass_five(F: Floats, keep: Floats, along: Floats, live: Ints, steps: int) -> None:
    for _ in range(steps):
        for f in live:
            _five(F[f, 2], F[f, 0], F[f, 3], F[f, 4], F[f, 1], keep, along)


def bound(features: int, rows: int, n: int, steps: int) -> float:
    """The seconds per lane-step of the bare pass: decay all traces and add them to the weights."""
    F, keep, along = map(aligned, (np.ones((features, rows, n)), np.full(n, 1 - 1e-9), np.full(n, 1e-9)))
    live = np.arange(features)
    bare = {2: _pass_two, 3: _pass_three, 4: _pass_four, 5: _pass_five}[rows]
    begun = time.perf_counter()
    bare(F, keep, along, live, steps)
    return (time.perf_counter() - begun) / steps / n


def _bounds(share: float) -> Iterable[BenchmarkRow]:
    """Learners compared with a bare pass over their arrays."""
    steps = int(200_000 * share)
    ring, lake = make("RingWorld-v0"), make("FrozenLake-v0")
    cases = (
        ("true online TD, 11 one-hot", ring, TrueOnlineTD, 2, 0.65),
        ("true online GTD, 12 features, 4 active", lake, TrueOnlineGTD, 5, 0.55),
        ("GTD, 12 features, 4 active", lake, GTD, 3, 0.55),
        ("GTD2, 12 features, 4 active", lake, GTD2, 3, 0.55),
        ("TDRC, 12 features, 4 active", lake, TDRC, 3, 0.55),
        ("HTD, 12 features, 4 active", lake, HTD, 4, 0.55),
        ("ETD, 11 one-hot", ring, ETD, 2, 0.65),
        ("true online ETD, 11 one-hot", ring, TrueOnlineETD, 2, 0.65),
    )
    for name, task, kind, rows, wanted in cases:
        learners = _fixed(task, kind, 2 * WIDTH)
        bound(2, rows, 4, 1)
        ours = partial(_per_lane_step, task, learners, steps)
        times = _best({"ours": ours, "bound": partial(bound, task.features.size, rows, WIDTH, steps)})
        ratio = times["bound"] / times["ours"]
        detail = f"{1e9 * times['ours']:.2f} ns per lane-step, bound {1e9 * times['bound']:.2f}"
        yield _row(name, "its bare pass", ratio, f"≥ {wanted}", detail)


def _rules(share: float) -> Iterable[BenchmarkRow]:
    """META compared with four learners of its kind."""
    steps = int(100_000 * share)
    cases = (
        ("META on TD, RingWorld", make("RingWorld-v0"), TrueOnlineTD),
        ("META on GTD, FrozenLake", make("FrozenLake-v0"), TrueOnlineGTD),
    )
    for name, task, kind in cases:
        one, four = _fixed(task, kind, WIDTH), _with(task, kind, Meta, WIDTH)
        times = _best(
            {what: partial(_per_lane_step, task, some, steps) for what, some in (("one", one), ("META", four))}
        )
        detail = f"{1e9 * times['META']:.1f} ns per lane-step"
        yield _row(name, "4 × the learner", times["META"] / (4 * times["one"]), "≤ 1.3", detail)


def _threads(share: float) -> Iterable[BenchmarkRow]:
    """Two threads compared with one."""
    ring = make("RingWorld-v0")
    learners, steps = _fixed(ring, TrueOnlineTD, 2 * WIDTH), int(120_000 * share)
    measure = partial(_per_lane_step, ring, learners, steps, seeds=4)
    times = _best({"one": partial(measure, threads=1), "two": partial(measure, threads=2)}, 15)
    yield _row("2 threads", "1 thread", times["one"] / times["two"], "≥ 1.85")


def _one_by_one(task: Any, learner: Learner, steps: int, seed: int) -> float:
    """Seconds per step of a Python loop: step an environment, encode, one compiled update per step."""
    rng = np.random.default_rng(seed)
    target, behavior = np.asarray(task.target.probabilities), np.asarray(task.behavior.probabilities)
    obs, _ = task.reset(seed=seed)
    begun = time.perf_counter()
    for _ in range(steps):
        p = behavior[obs]
        action = int(rng.choice(p.size, p=p))
        after, reward, terminated, truncated, info = task.step(action)
        rho = target[obs, action] / p[action]
        learner.update(obs, reward, after, info["discount"], rho, terminated, truncated)
        obs = task.reset()[0] if terminated or truncated else after
    return (time.perf_counter() - begun) / steps


def _usual_way(share: float) -> Iterable[BenchmarkRow]:
    """The engine compared with a Python loop over a Gymnasium environment."""
    ring, steps = make("RingWorld-v0"), int(200_000 * share)
    learners, single = _fixed(ring, TrueOnlineTD, WIDTH), TrueOnlineTD(ring.features, 0.01, 0.9)
    ours = partial(_per_lane_step, ring, learners, steps)
    times = _best({"ours": ours, "usual": partial(_one_by_one, ring, single, max(2000, steps // 20), 0)}, 5)
    detail = f"{1e6 * times['usual']:.1f} µs per step"
    yield _row("true online TD, RingWorld", "a Python loop", times["usual"] / times["ours"], "≥ 1000", detail)


def _scaling(name: str, small: Callable[[], float], large: Callable[[], float]) -> BenchmarkRow:
    times = _best({"small": small, "large": large}, 5)
    return _row(name, "linear cost", times["large"] / times["small"], "≤ 1.1")


def _lanes(share: float) -> Iterable[BenchmarkRow]:
    """Scaling with the number of lanes."""
    ring, steps = make("RingWorld-v0"), int(50_000 * share)
    few, many = _fixed(ring, TrueOnlineTD, 64), _fixed(ring, TrueOnlineTD, 4096)
    yield _scaling(
        "lanes 64 → 4096",
        lambda: float(np.mean([_per_lane_step(ring, few, steps) for _ in range(10)])),
        lambda: _per_lane_step(ring, many, steps),
    )


def _seeds(share: float) -> Iterable[BenchmarkRow]:
    """Scaling with the number of seeds."""
    ring, steps = make("RingWorld-v0"), int(20_000 * share)
    learners = _fixed(ring, TrueOnlineTD, WIDTH)
    yield _scaling(
        "seeds 1 → 240",
        lambda: float(np.mean([_per_lane_step(ring, learners, steps) for _ in range(40)])),
        lambda: _per_lane_step(ring, learners, steps, seeds=240),
    )


def _steps(share: float) -> Iterable[BenchmarkRow]:
    """Scaling with the number of steps, in time and memory."""
    import resource  # not on every system

    ring = make("RingWorld-v0")
    learners = _fixed(ring, TrueOnlineTD, WIDTH)
    long = int(10_000_000 * share)
    yield _scaling(
        f"steps 10⁴ → {long / 4:.1e}".replace("e+0", "·10^"),
        lambda: _per_lane_step(ring, learners, 10_000, seeds=20),
        lambda: _per_lane_step(ring, learners, long // 4),
    )
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    _per_lane_step(ring, learners[:8], long)
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    yield BenchmarkRow(f"memory of {long:,} steps", "before", 1.0, "flat", grown < 16, f"+{grown:.1f} MiB")


def _features(share: float) -> Iterable[BenchmarkRow]:
    """Scaling with the number of features, few of which have live traces: a long walk."""
    steps = int(50_000 * share)
    work: dict[int, Callable[[], float]] = {}
    for n in (11, 101, 1001, 10_001):
        walk = make("RandomWalk-v0", n=n)
        learners: list[Learner] = [TrueOnlineTD(walk.features, alpha, 0.9) for alpha in _alphas(WIDTH)]
        some = np.linspace(1, n, 9).astype(np.int64)  # few states, so that computing errors takes little time
        weights = np.isin(np.arange(walk.mdp.n_states), some).astype(np.float64)
        work[n] = partial(_per_lane_step, walk, learners, steps, points=1, weights=weights)
    times = _best(work, 3)
    for n in (101, 1001, 10_001):
        longer = times[n] / times[11]
        yield _row(f"features 11 → {n}", "linear cost", longer / (n / 11), "≤ 1", f"{longer:.2f} × as long")


def _neighbours(share: float) -> Iterable[BenchmarkRow]:
    """Lanes next to others that diverge, and lanes whose traces underflow."""
    lake, steps = make("FrozenLake-v0"), int(200_000 * share)
    calm: list[Any] = [TrueOnlineTD(lake.features, alpha, 0.9) for alpha in _alphas(WIDTH)]
    wild = [TrueOnlineTD(lake.features, 10.0, 0.9) if k % 8 == 0 else one for k, one in enumerate(calm)]
    faint = [TrueOnlineTD(lake.features, one.alpha, 1e-9 if k % 2 else 0.02) for k, one in enumerate(calm)]
    cases = {"calm": calm, "overflow in an eighth of the lanes": wild, "traces that underflow": faint}
    times = _best({name: partial(_per_lane_step, lake, some, steps) for name, some in cases.items()}, 7)
    for name in ("overflow in an eighth of the lanes", "traces that underflow"):
        yield _row(name, "without", times[name] / times["calm"], "≤ 1.1")


def _speed(share: float) -> dict[str, float]:
    steps = int(100_000 * share)
    ring, lake = make("RingWorld-v0"), make("FrozenLake-v0")
    states = OneHot(16)
    cases: dict[str, tuple[Any, list[Learner]]] = {
        "RingWorld, TD, fixed": (ring, _fixed(ring, TrueOnlineTD, 168)),
        "RingWorld, TD, greedy": (ring, _with(ring, TrueOnlineTD, Greedy, WIDTH)),
        "RingWorld, TD, META": (ring, _with(ring, TrueOnlineTD, Meta, 128)),
        "RingWorld, GTD, META as published": (ring, _with(ring, TrueOnlineGTD, PublishedMeta, 128)),
        "FrozenLake, GTD, fixed": (lake, _fixed(lake, TrueOnlineGTD, 168)),
        "FrozenLake, GTD, greedy": (lake, _with(lake, TrueOnlineGTD, Greedy, WIDTH)),
        "FrozenLake, GTD, META": (lake, _with(lake, TrueOnlineGTD, Meta, 128)),
        "FrozenLake, GTD, META np": (lake, _with(lake, TrueOnlineGTD, lambda: Meta(features=states), 128)),
    }
    work = {name: partial(_per_lane_step, task, some, steps) for name, (task, some) in cases.items()}
    return {name: 1 / seconds for name, seconds in _best(work, 3).items()}


def _tables(speed: dict[str, float]) -> dict[str, float]:
    """Hours on two cores for the tables of Zhao (2020): 21 α, 240 seeds, 10⁶ steps, 8 fixed λ, greedy, 7 κ of META."""
    each = 21 * 240 * 1e6 / 2 / 3600
    seconds = {name: 1 / value for name, value in speed.items()}
    ring = 8 * seconds["RingWorld, TD, fixed"] + seconds["RingWorld, TD, greedy"]
    ring += 7 * seconds["RingWorld, GTD, META as published"]
    lake = 8 * seconds["FrozenLake, GTD, fixed"] + seconds["FrozenLake, GTD, greedy"]
    lake += 7 * (seconds["FrozenLake, GTD, META"] + seconds["FrozenLake, GTD, META np"])
    return {"each of three RingWorlds": each * ring, "FrozenLake": each * lake, "all four": each * (3 * ring + lake)}

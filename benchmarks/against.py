"""Two versions of the library, a commit and the working tree, measured in turns: every result is a ratio of times.

    python benchmarks/against.py [--base COMMIT] [--rounds N] [--only WORD ...] [--json] [--compile]

The ratio is base / new: above 1, the working tree is faster. Each version runs in a process of its own; N rounds or
more alternate between them, and the least processor time of each counts. `--only` takes the cases that contain all of
its words, as whole words; repeat it for more cases. `--compile` measures wall seconds from the start of a process to
its first result, with empty caches of machine code and with warm ones.

The working tree is copied at the start: edits during the run change nothing. Sources and machine code stay in
out/against-cache, so a second run does not compile again; run one at a time.
"""

import argparse
import importlib
import json
import math
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from functools import partial
from itertools import product, starmap
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
CACHE = ROOT / "out" / "against-cache"
CORES = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []
LAMBDAS = (0.0, 0.4, 0.8, 0.9, 0.95, 0.975, 0.99, 1.0)
QUIETLY: dict[str, Any] = {"seeds": 1, "keep": (), "threads": 1, "progress": False}
Work = tuple[int, Callable[[], object]]
"""How many steps a piece of work has, and the work."""
Cases = dict[tuple[str, str], Callable[[Any], Work]]
"""By group and name: what prepares the work, given a version of the library."""


def find(td: Any, name: str) -> Any:
    """A public name, wherever this version keeps it."""
    for place in (td, *(getattr(td, part, None) for part in ("rules", "features", "steps", "control", "mdp"))):
        if hasattr(place, name):
            return getattr(place, name)
    raise AttributeError(f"this version has no {name}")


def stream(td: Any, features: str, n: int) -> tuple[Any, Any]:
    """An encoder and n transitions: of RingWorld for one-hot features, else of a random walk in the unit box."""
    if features == "one-hot":
        ring = td.make("RingWorld-v0")
        return ring.features, ring.sampler(seed=0).take(n)
    tiles, dimensions, pace = partial(find(td, "TileCoder"), [0, 0], [1, 1]), 2, 0.05
    if features == "4 dense":
        encoder, dimensions = find(td, "Dense")(4), 4
    elif features == "8 tilings + bias":
        encoder = tiles(tilings=8, tiles=8, bias=True)
    else:  # "1000 features": 10 of them active, and a step is half a tile
        side = int((int(features.split()[0]) / 10) ** 0.5)
        encoder, pace = tiles(tilings=10, tiles=side), 0.5 / side
    rng = np.random.default_rng(0)
    point = np.abs(np.cumsum(rng.normal(size=(n + 1, dimensions)) * pace, axis=0) % 2 - 1)
    no, action, reward, gamma = np.zeros(n, bool), np.zeros(n, np.int64), rng.normal(size=n), np.full(n, 0.99)
    return encoder, find(td, "Transitions")(point[:-1], action, reward, point[1:], gamma, np.ones(n), no, no)


def learner(td: Any, kind: str, encoder: Any, lam: Any) -> Any:
    return td.AutoTD(encoder) if kind == "AutoTD" else find(td, kind)(encoder, 0.001, lam)


def online(way: str, kind: str, features: str, lam: Any, n: int, td: Any) -> Work:
    """`update`, `update_many` or `predict`; the loop is the one that costs least."""
    encoder, steps = stream(td, features, n)
    v = learner(td, kind, encoder, lam)
    if way == "update_many":
        return n, lambda: v.update_many(steps)
    columns = [getattr(steps, c) for c in ("obs", "reward", "next_obs", "gamma", "rho", "terminated")]
    lists = [c.tolist() if c.ndim == 1 else list(c) for c in columns]
    if way == "predict":
        v.update_many(steps)
        return n, lambda: deque(map(v.predict, lists[0]), maxlen=0)
    rows = list(zip(*lists, strict=True))
    return n, lambda: deque(starmap(v.update, rows), maxlen=0)


def lanes(name: str, kind: str, rule: str, steps: int, td: Any, n: int = 96) -> Work:
    """Many learners in the engine, on one thread."""
    task, given = td.make(f"{name}-v0"), {"kappa": 1e-3} if rule == "Meta" else {}
    lams = [LAMBDAS[k % 8] if rule == "fixed" else find(td, rule)(**given) for k in range(n)]
    some = [find(td, kind)(task.features, 1e-5 * 1000 ** (k / n), lam) for k, lam in enumerate(lams)]
    return n * steps, lambda: td.engine.run(task, some, steps=steps, points=min(10, steps), **QUIETLY)


def control(name: str, steps: int, td: Any) -> Work:
    """Actor-critic on MountainCar, as in the study `mountaincar`, on one thread."""
    car, half = td.make("MountainCar-v0", limit=500), steps // 2
    rules: dict[str, Callable[[], Any]] = {
        "Greedy": lambda: find(td, "Greedy")(warm_up=half),
        "Meta": lambda: find(td, "Meta")(kappa=1e-5, warm_up=half),
        "Meta of the thesis": lambda: find(td, "Meta").thesis(1e-5, warm_up=half),
    }
    lam = rules[name]() if name in rules else float(name)
    critic = find(td, "TrueOnlineGTD")(car.features, 1e-5, lam)
    agent = td.ActorCritic(critic, find(td, "Softmax")(3), 1.0, None, warm_up=half)
    return steps, lambda: td.control.run(car, [agent], steps=steps, points=1, **QUIETLY)


def action_values(place: str, rule: str, steps: int, td: Any) -> Work:
    """Sarsa(λ) in a compiled world, as in `benchmarks/action_values.py`, on one thread."""
    boxes = {
        "MountainCar-v0": ([-1.2, -0.07], [0.6, 0.07], 8, 8),
        "CartPole-v1": ([-2.4, -3, -0.21, -3], [2.4, 3, 0.21, 3], 8, 4),
        "Acrobot-v1": ([-1, -1, -1, -1, -12.6, -28.3], [1, 1, 1, 1, 12.6, 28.3], 16, 4),
    }
    presets = {"MountainCar-v0": ["gymnasium"], "FrozenLake-v0": ["one-hot"]}
    classic = getattr(td.tasks, "WORLDS", {}).get(place)
    task: Any = classic(discount=1.0) if classic else td.make(place, *presets.get(place, []))
    features = find(td, "TileCoder")(*boxes[place]) if place in boxes else task.features
    actions = {"CartPole-v1": 2, "Acrobot-v1": 3}.get(place) or int(task.action_space.n)
    lam = find(td, "Meta")(kappa=1e-3) if rule == "Meta" else float(rule)
    policy = find(td, "EpsilonGreedy")(0.1)
    agent = td.Sarsa(features, actions, 0.1 / features.active, lam, policy=policy, on_divergence="flag")
    return steps, lambda: td.control.run(task, [agent], steps=steps, points=1, **QUIETLY)


def first(kind: str, lam: Any, td: Any) -> Work:
    """The first update of a learner."""
    v = learner(td, kind, find(td, "OneHot")(11), lam)
    return 1, lambda: v.update(0, 1.0, 1, 0.9)


def speed() -> Cases:
    found: Cases = {}
    boxes = ("4 dense", "8 tilings + bias")
    for way, n, few in (("update", 10_000, 10_000), ("update_many", 200_000, 20_000), ("predict", 10_000, 10_000)):
        rows: list[tuple[str, str, Any, int]] = [("TrueOnlineTD", "one-hot", 0.9, n), ("AutoTD", "one-hot", "", n // 5)]
        rows += [("TrueOnlineTD", features, 0.9, n // 2) for features in boxes]
        rows += [("AutoTD", features, "", few // 2) for features in boxes]
        if way != "predict":
            rows += [(kind, "one-hot", 0.9, n) for kind in ("TD", "GTD", "TrueOnlineGTD", "VTD", "DirectVTD")]
            true_online = ("TrueOnlineTD", "TrueOnlineGTD")
            rows += [(kind, "one-hot", lam, n) for kind, lam in product(true_online, ("greedy", "meta", "auto"))]
            rows += [("TrueOnlineTD", features, "auto", few) for features in boxes]
            rows += [("TrueOnlineTD", f"{10**k} features", 0.9, few) for k in (3, 4, 5, 6)]
        for kind, features, lam, steps in rows:
            name = ", ".join(str(word) for word in (kind, features, lam) if word)
            found[way, name] = partial(online, way, kind, features, lam, steps)
    rules = {"fixed": 300_000, "Greedy": 100_000, "Meta": 100_000, "ValueErrorGreedy": 100_000}
    for task, kind, rule in product(("RingWorld", "FrozenLake"), ("TrueOnlineTD", "TrueOnlineGTD", "TD", "GTD"), rules):
        found["engine", f"{task}, {kind}, {rule}"] = partial(lanes, task, kind, rule, rules[rule])
    found["engine", "RingWorld, TD, fixed, one step"] = partial(lanes, "RingWorld", "TD", "fixed", 1)  # the setup
    for rule in ("0.0", "0.9", "1.0", "Greedy", "Meta", "Meta of the thesis"):
        found["control", f"MountainCar, {rule}"] = partial(control, rule, 100_000)
    tables = ("RingWorld-v0", "FrozenLake-v0", "CliffWalking-v0", "WindyGridworld-v0", "Bifurcation-v0")
    for place, rule in product((*tables, "MountainCar-v0", "CartPole-v1", "Acrobot-v1"), ("0.9", "Meta")):
        found["control", f"Sarsa, {place}, {rule}"] = partial(action_values, place, rule, 400_000)
    return found


def beginnings() -> Cases:
    return {
        ("first", "import alone"): lambda _: (1, lambda: None),
        ("first", "update, TrueOnlineTD"): partial(first, "TrueOnlineTD", 0.9),
        ("first", "update, TrueOnlineTD, meta"): partial(first, "TrueOnlineTD", "meta"),
        ("first", "update, AutoTD"): partial(first, "AutoTD", ""),
        ("first", "engine, RingWorld"): lambda td: lanes("RingWorld", "TrueOnlineTD", "fixed", 1000, td, n=8),
    }


def serve() -> None:
    """Time the case that each line names; a new line prepares it, and runs it once before, which compiles it."""
    answers, cases, now, pads = os.fdopen(os.dup(1), "w"), speed() | beginnings(), "", []
    os.dup2(2, 1)  # what the library prints must not mix with the answers
    work: Callable[[], object] | None = None
    for line in sys.stdin:
        try:
            if line != now or work is None:
                now, work = line, None  # the last one's memory is free again
                group, name, preparation = json.loads(line)
                if preparation is not None and CORES:  # all versions on the same one, since another may be busy
                    os.sched_setaffinity(0, {CORES[preparation % len(CORES)]})
                td: Any = importlib.import_module("tdlambda")
                if Path(td.__file__).parents[1] != Path(os.environ["PYTHONPATH"]):
                    raise ImportError(f"tdlambda came from {td.__file__}")
                # Arrays that lie across cache lines can cost 1.6 × the time: each preparation is elsewhere in memory.
                pads.append(bytearray(random.randrange(1 << 16)))
                steps, work = cases[group, name](td)
                work()
            begun = time.process_time()  # of all threads: the engine works on one of its own
            work()
            answer: dict[str, Any] = {"seconds": (time.process_time() - begun) / steps}
        except Exception as error:
            answer = {"error": ": ".join([type(error).__name__, *str(error).strip().splitlines()[:1]])}
        print(json.dumps(answer), file=answers, flush=True)


class Worker:
    """A process with one version of the library, which starts when it is asked, and again after a crash."""

    def __init__(self, source: Path, cache: Path) -> None:
        folders = {"PYTHONPATH": source, "NUMBA_CACHE_DIR": cache / "numba", "TDLAMBDA_CACHE": cache / "tdlambda"}
        one = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "TDLAMBDA_QUIET"), "1")
        self.env = os.environ | one | {"PYTHONHASHSEED": "0"} | {name: str(path) for name, path in folders.items()}
        self.source = source
        self.process: Any = None

    def seconds(self, case: tuple[str, str], turn: int) -> float:
        """Processor seconds for a step; every other turn the case is prepared anew, on the next core."""
        return self.ask(case, turn // 2)

    def first(self, case: tuple[str, str], _: int) -> float:
        """Wall seconds from the start of a process to the first result."""
        begun = time.perf_counter()
        try:
            self.ask(case, None)
            return time.perf_counter() - begun
        finally:
            self.close()

    def ask(self, case: tuple[str, str], preparation: int | None) -> float:
        if self.process is None:
            self.process = subprocess.Popen(
                [sys.executable, "-P", __file__, "--serve"], env=self.env, text=True,
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True,  # Ctrl-C is the parent's
            )  # fmt: skip
        with suppress(BrokenPipeError):
            print(json.dumps([*case, preparation]), file=self.process.stdin, flush=True)
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(f"the process ended with code {self.close()}")
        answer = json.loads(line)
        if "error" in answer:
            raise RuntimeError(answer["error"])
        return float(answer["seconds"])

    def close(self) -> int | None:
        """End the process; its exit code."""
        process, self.process = self.process, None
        if process is None:
            return None
        with suppress(BrokenPipeError):
            process.stdin.close()
        with suppress(subprocess.TimeoutExpired):
            return int(process.wait(3))
        process.kill()
        return int(process.wait())


@dataclass
class Row:
    """One case: seconds in each version, for a step or to the first result, or why there are none."""

    group: str
    case: str
    seconds: dict[str, float] = field(default_factory=dict)
    errors: dict[str, str] = field(default_factory=dict)
    ratio: float | None = None

    def take_turns(self, measure: dict[str, Callable[[int], float]], rounds: int, least: float) -> None:
        """Measure all versions so many rounds, and so many seconds, and keep the least; who begins alternates."""
        turn, until = 0, 0.0
        while turn < rounds or time.perf_counter() < until:
            for v in sorted(measure.keys() - self.errors.keys(), reverse=turn % 2 == 1):
                try:
                    self.seconds[v] = min(measure[v](turn), self.seconds.get(v, math.inf))
                except RuntimeError as error:
                    self.errors[v] = str(error)
                    self.seconds.pop(v, None)
            turn, until = turn + 1, until or time.perf_counter() + least * (not self.errors)
        if not self.errors:
            self.ratio = self.seconds["base"] / self.seconds["new"]

    def __str__(self) -> str:
        times = [readable(self.seconds[v]) if v in self.seconds else "failed" for v in ("base", "new")]
        ratio = f"{self.ratio:.2f}" if self.ratio else ""
        return f"{times[0]:>10}{times[1]:>10}{ratio:>8}" + "".join(f"\n    {v}: {e}" for v, e in self.errors.items())


def readable(seconds: float) -> str:
    unit, name = (1e-9, "ns") if seconds < 1e-6 else (1e-6, "µs") if seconds < 1e-3 else (1, "s")
    return f"{seconds / unit:.3g} {name}"


def version(commit: str | None) -> Worker:
    """A commit, or the working tree as it is now; each time in the same place, since Numba's cache goes by the path."""
    folder = CACHE / (commit[:12] if commit else "tree")
    place = folder / "src"
    if commit is None:
        shutil.rmtree(place, ignore_errors=True)
        shutil.copytree(ROOT / "src", place, ignore=shutil.ignore_patterns("*.nb?"))
    elif not place.exists():
        folder.mkdir(parents=True, exist_ok=True)
        archive = subprocess.check_output(["git", "-C", ROOT, "archive", commit, "src"])
        with tempfile.TemporaryDirectory(dir=folder) as new:
            subprocess.run(["tar", "x", "-C", new], input=archive, check=True)
            Path(new, "src").rename(place)
    subprocess.run([sys.executable, "-m", "compileall", "-qq", place], check=False)  # byte code is not what is measured
    return Worker(place, folder)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--base", metavar="COMMIT", default="d9a73f8")
    parser.add_argument("--rounds", metavar="N", type=int, default=8)
    parser.add_argument("--only", metavar="WORD", nargs="+", action="append", default=[])
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--compile", action="store_true")
    given = parser.parse_args()
    words = [[re.compile(rf"(?<!\w){re.escape(word)}(?!\w)", re.I) for word in some] for some in given.only]
    every = beginnings() if given.compile else speed()
    cases = [c for c in every if not words or any(all(w.search(", ".join(c)) for w in some) for some in words)]
    command = ["git", "-C", ROOT, "rev-parse", "--verify", "--quiet", given.base + "^{commit}"]
    commit = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False).stdout.strip()
    if not cases or not commit or given.rounds < 1:
        parser.error("no such case" if not cases else "no such commit" if not commit else "--rounds is at least 1")
    workers = {"base": version(commit), "new": version(None)}
    rows: list[Row] = []

    def say(*what: object, end: str = "\n") -> None:
        if not given.json:
            print(*what, end=end, flush=True)

    def measure(row: Row, ways: dict[str, Callable[[int], float]], rounds: int, least: float = 0.0) -> None:
        say(f"{row.group + ', ' + row.case:<60}", end="")
        row.take_turns(ways, rounds, least)
        rows.append(row)
        say(row)

    what = "wall time to the first result" if given.compile else "processor time for a step"
    say(f"base: {commit[:12]}; new: the working tree; {what}\n\n{'':<60}{'base':>10}{'new':>10}{'ratio':>8}")
    code = 0
    try:
        for case in cases:
            if not given.compile:
                measure(Row(*case), {v: partial(one.seconds, case) for v, one in workers.items()}, given.rounds, 0.5)
                continue
            with tempfile.TemporaryDirectory() as folder:
                fresh = {v: Worker(worker.source, Path(folder, v)) for v, worker in workers.items()}
                ways: dict[str, Callable[[int], float]] = {v: partial(one.first, case) for v, one in fresh.items()}
                measure(Row("empty caches", case[1]), ways, 1)
                measure(Row("warm caches", case[1]), ways, min(given.rounds, 3))
    except KeyboardInterrupt:
        say("interrupted")
        code = 130
    finally:
        for worker in workers.values():
            worker.close()
    if given.json:
        print(json.dumps([asdict(row) for row in rows], indent=2))
    for group in dict.fromkeys(row.group for row in rows):
        found = [(row.ratio, row.case) for row in rows if row.group == group and row.ratio is not None]
        say(f"\nleast ratio of {group}: " + ("{:.2f} ({})".format(*min(found)) if found else "none"), end="")
    say()
    return code


if __name__ == "__main__":
    if sys.argv[1:] == ["--serve"]:
        serve()
    else:
        sys.exit(main())

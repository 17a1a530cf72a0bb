"""What a Horde costs beside a bare pass over its arrays, and beside learners on their own, in one run.

    python benchmarks/streams.py [--questions 1000] [--steps 2000] [--repeats 3] [--json]

"lane pass": the engine's lanes on one stream with one reward, γ and ρ for all. "bare pass": decay the traces of all
lanes and add them to the weights, over all features, and nothing else. "update" and "update_many": as many separate
learners, each fed the same rows, step by step or in one call each; measured on fifty of them. "update of 24": one row
at a time, tile-coded, beside 24 learners that each encode it. Times are processor time, the least of several repeats
taken in turn. The last lines are the costs of a row by default, with one question about ten columns, beside its AutoTD
alone, and the largest memory of a fresh process that learns rows × 2 columns by default.
"""

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np

import tdlambda as td
from tdlambda.engine.block import Block
from tdlambda.engine.plan import WIDTH, plan
from tdlambda.engine.trajectory import contiguous
from tdlambda.lab.cli.benchmark import bound

FEATURES, SOME = 32, 50


def least(ways: dict[str, Callable[[], Callable[[], Any]]], repeats: int) -> dict[str, float]:
    """Seconds of each; what a way returns is measured."""
    best = dict.fromkeys(ways, np.inf)
    for _ in range(repeats):
        for name, prepare in ways.items():
            work = prepare()
            begun = time.process_time()
            work()
            best[name] = min(best[name], time.process_time() - begun)
    return best


def make(x: Any) -> Any:
    """The learner of every question."""
    return td.TrueOnlineTD(x, 0.001, 0.9)


def questions(n: int) -> dict[str, td.Question]:
    """So many, of all columns and of many horizons."""
    return {f"{k}": td.Question(k % FEATURES, horizon=2 + k % 97) for k in range(n)}


def horde(X: Any, n: int, kind: Any = make) -> Callable[[], Any]:
    """A Horde that has compiled, about to learn."""
    made = td.Horde(td.features.Dense(FEATURES), questions(n), kind).learn(X[:50])
    return lambda: made.learn(X)


def alone(X: Any, n: int, many: bool, kind: Any = make) -> Callable[[], Any]:
    """As many separate learners, about to learn."""
    asked = list(questions(n).values())
    learners = [kind(td.features.Dense(FEATURES)) for _ in asked]
    given = [(learner, int(q.cumulant), float(q.discount)) for learner, q in zip(learners, asked, strict=True)]  # type: ignore[arg-type]
    for learner, c, gamma in given:
        learner.update(X[0], float(X[1, c]), X[1], gamma)
        learner.update_many(X[:2], X[1:3, c], X[1:3], gamma)

    def run() -> None:
        if many:
            for learner, c, gamma in given:
                learner.update_many(X[:-1], X[1:, c], X[1:], gamma)
            return
        for t in range(len(X) - 1):
            for learner, c, gamma in given:
                learner.update(X[t], float(X[t + 1, c]), X[t + 1], gamma)

    return run


def one_row(rows: Any, together: bool) -> Callable[[], Any]:
    """24 predictions from tile-coded rows, one row at a time."""
    coder, asked = (
        td.features.TileCoder([-3.0] * 4, [3.0] * 4, tiles=4, tilings=8),
        [(k % 4, 1 - 1 / (2 + k)) for k in range(24)],
    )
    if together:
        made = td.Horde(coder, [td.Question(c, gamma=g) for c, g in asked], lambda x: td.TrueOnlineTD(x, 0.01, 0.9))
        made.learn(rows[:3])
        return lambda: _each(made.update, ((row,) for row in rows))
    learners = [(td.TrueOnlineTD(coder, 0.01, 0.9), c, g) for c, g in asked]
    for v, c, g in learners:
        v.update(rows[0], float(rows[1, c]), rows[1], g)
    steps = [(x, float(y[c]), y, g, v) for x, y in pairwise(rows) for v, c, g in learners]
    return lambda: [v.update(x, r, y, g) for x, r, y, g, v in steps]  # type: ignore[func-returns-value]


def _each(function: Callable[..., Any], arguments: Any) -> None:
    for given in arguments:
        function(*given)


def lane_pass(X: Any, n: int) -> Callable[[], Any]:
    """The engine's lanes with one reward, γ and ρ for all."""
    x, at, no = contiguous(td.features.Dense(FEATURES), X), np.arange(len(X) - 1), np.zeros(len(X) - 1, dtype=bool)
    numbers = (X[1:, 0].copy(), np.full(len(at), 0.9), np.ones(len(at)), no, no)
    blocks = [Block(group, share=False) for group in plan([make(td.features.Dense(FEATURES)) for _ in range(n)])[0]]

    def run() -> None:
        for block in blocks:
            block.advance(*x, *x, block.group.lam_table(X), at, at + 1, *numbers, 0, len(at))

    blocks[0].advance(*x, *x, blocks[0].group.lam_table(X), at, at + 1, *numbers, 0, 1)
    return run


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--questions", type=int, default=1000)
    parser.add_argument("--steps", type=int, default=2000)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    n, steps = given.questions, given.steps
    X = np.random.default_rng(0).normal(size=(steps, FEATURES)) / 4
    long = np.tile(X, (10, 1))
    rows = np.clip(np.random.default_rng(1).normal(size=(400, 4)), -2.9, 2.9)
    bound(2, 2, 4, 1)
    t = least(
        {
            "horde": lambda: horde(X, n), "half": lambda: horde(X, n // 2), "one": lambda: horde(long, 1),
            "bare": lambda: lambda: [bound(FEATURES, 2, WIDTH, steps) for _ in range(max(1, n // WIDTH))],
            "update": lambda: alone(X[: steps // 10], SOME, False), "many": lambda: alone(X, SOME, True),
            "alone": lambda: alone(long, 1, True), "24": lambda: one_row(rows, True),
            "24 alone": lambda: one_row(rows, False),
            "lanes": lambda: lane_pass(X, n), "auto": lambda: horde(X, 1, td.AutoTD),
            "auto alone": lambda: alone(X, 1, True, td.AutoTD),
        },
        given.repeats,
    )  # fmt: skip
    bare, per = t["bare"] * n / (WIDTH * max(1, n // WIDTH)), 1e9 / n / steps
    found = {
        "a lane pass": (t["horde"] / t["lanes"], "≤ 3", f"{per * t['horde']:.1f} ns a question and step"),
        "a bare pass": (t["horde"] / bare, "", f"bare {per * bare:.1f} ns"),
        f"{n} learners, update": (10 * t["update"] * n / SOME / t["horde"], "≥ 20", "times faster"),
        f"{n} learners, update_many": (t["many"] * n / SOME / t["horde"], "", "times faster"),
        "half the questions": (t["horde"] / t["half"], "about 2", "linear"),
        "one question: AutoTD, update_many": (t["auto"] / t["auto alone"], "about 1", ""),
        "one question: TrueOnlineTD, update_many": (
            t["one"] / t["alone"],
            "about 1",
            f"{1e6 * (t['one'] - t['alone']) / len(long):.2f} µs a row for reading",
        ),
        "update of 24: 24 learners": (t["24 alone"] / t["24"], "", f"{1e6 * t['24'] / 400:.0f} µs a row"),
    }
    sizes = [_memory(k) for k in (n // 4, n // 2, n)]
    if given.json:
        print(json.dumps({"ratios": {k: v[0] for k, v in found.items()}, "bytes": sizes}, indent=2))
        return
    print(f"A Horde of {n} questions, {FEATURES} features, {steps} rows\n\n{'beside':38} {'ratio':>7} {'wanted':>8}")
    for name, (ratio, wanted, more) in found.items():
        print(f"{name:38} {ratio:7.2f} {wanted:>8}  {more}")
    print(f"memory of {n // 4}, {n // 2}, {n} questions: {', '.join(f'{size / 1e6:.2f} MB' for size in sizes)}")
    print(", ".join(f"{way} {1e6 * cost:.0f} µs" for way, cost in by_default().items()))
    for way in ("learn", "prequential"):
        print(f"{way}: {_peak(50_000, way)} MB for 50,000 rows × 2, {_peak(500, way)} MB for 500")


def by_default(rows: int = 6000, some: int = 1000) -> dict[str, float]:
    """Seconds a row of `learn`, `prequential` and `update` with ten columns, and of the same AutoTD alone."""
    rng, t = np.random.default_rng(0), np.arange(rows)
    data = {f"c{k}": np.sin(t / (3 + k)) + rng.normal(0, 0.3, rows) for k in range(10)}
    first = {name: column[:600] for name, column in data.items()}
    dicts = [{name: float(column[i]) for name, column in data.items()} for i in range(600, 600 + some)]

    def new(**more: Any) -> Any:
        return td.Horde(None, td.Question("c0", horizon=24), **more).learn(first)

    one = new()
    auto, X = next(iter(one.learners.values())).learner, rng.normal(size=(some + 1, one.features.size))
    ways: dict[str, Callable[[], Callable[[], Any]]] = {
        "learn": lambda: partial(new().learn, data),
        "prequential": lambda: partial(td.streams.prequential, new(intervals=True), data, baselines=[]),
        "update": lambda: partial(_each, new().update, ((row,) for row in dicts)),
        "AutoTD.update_many": lambda: partial(auto.update_many, X[:-1], X[1:, 0], X[1:], 0.95),
        "AutoTD.update": lambda: partial(
            _each, auto.update, ((X[i], float(X[i + 1, 0]), X[i + 1], 0.95) for i in range(some))
        ),
    }
    seconds = least(ways, 2)
    return {way: cost / (rows if way in ("learn", "prequential") else some) for way, cost in seconds.items()}


def _memory(n: int) -> int:
    X = np.random.default_rng(0).normal(size=(4, FEATURES))
    made = td.Horde(td.features.Dense(FEATURES), questions(n), make).learn(X)
    teams = made._at_work("memory").crews[None].teams
    return sum(array.nbytes for team in teams for array in team.block.memory.arrays[:3])


def _peak(rows: int, way: str) -> str:
    """The largest memory of a process that learns so many rows × 2 columns with the default features and learners."""
    code = f"""
import numpy as np, tdlambda as td
y = np.sin(np.arange({rows}) / 20) + np.random.default_rng(0).normal(size=(2, {rows}))
horde, data = td.Horde(None, td.Question("a", horizon=12)), dict(a=y[0], b=y[1])
horde.learn(data) if "{way}" == "learn" else td.streams.prequential(horde, data, baselines=[])
print(round(int(open("/proc/self/status").read().split("VmHWM:")[1].split()[0]) / 1024))
"""  # not ru_maxrss, which begins with that of the process that started this one
    subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)  # compiles
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout.strip()


if __name__ == "__main__":
    main()

"""Why the published numbers are what they are: each suspected cause, with it and without it, beside the printed cell.

    python experiments/thesis/causes.py [--seeds 96] > experiments/thesis/results/causes.md

All runs are 10⁶ steps; errors are means over the last points, as in the tables.
"""

import argparse
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from variants import Variant

import tdlambda as td
from tdlambda.lab.reproduction import PublishedGreedy, PublishedMeta, PublishedTrueOnlineGTD, thesis_truth
from tdlambda.lab.reproduction.published import thesis_tables

PRINTED = {(c.table, c.method, c.alpha, c.lam): c for c in thesis_tables()}
WHEN = {"warm_up": 0.1, "length": 10**6}
TASKS = {
    "frozenlake": ("FrozenLake", td.make("FrozenLake-v0")),
    "ringworld_04_035": ("RingWorld", td.make("RingWorld-v0", preset="0.4/0.35")),
    "ringworld_02_015": ("RingWorld 0.2/0.15", td.make("RingWorld-v0", preset="0.2/0.15")),
}


class Side(NamedTuple):
    """How to build a learner; whether its error is against the thesis' v; whether its curve ends a point early."""

    make: Callable[[Any], td.Learner]
    wrong: bool = False
    early: bool = True


class Case(NamedTuple):
    """A cause at one printed cell, with it and without."""

    cause: str
    cell: tuple[str, str, float, float | None]
    note: str
    sides: dict[str, Side]


def cases() -> Iterator[Case]:
    """All of them."""
    gtd, totd, published = td.TrueOnlineGTD, td.TrueOnlineTD, PublishedMeta
    ring: str = "ringworld_04_035"
    for a, z in ((1e-5, 0.8), (1e-5, 0.9), (1e-5, 1.0), (1e-2, 0.9)):
        yield Case("the curves begin at step 0, so they end a point early", ("ringworld_02_015", "fixed", a, z), "", {
            "with": Side(lambda x, a=a, z=z: totd(x, a, z)),
            "without": Side(lambda x, a=a, z=z: totd(x, a, z), early=False)})  # fmt: skip
    for a, z in ((1e-5, 0.0), (5e-4, 0.0), (1e-2, 0.4)):
        yield Case("the gradient correction acts on terminal features", ("frozenlake", "fixed", a, z), "", {
            "with": Side(lambda x, a=a, z=z: PublishedTrueOnlineGTD(x, a, z), True),
            "without": Side(lambda x, a=a, z=z: gtd(x, a, z), True)})  # fmt: skip
    for a, z in ((5e-5, 1.0), (1e-3, 0.4)):
        yield Case("v is that of a model whose corners lose probability", ("frozenlake", "fixed", a, z), "", {
            "with": Side(lambda x, a=a, z=z: PublishedTrueOnlineGTD(x, a, z), True),
            "without": Side(lambda x, a=a, z=z: PublishedTrueOnlineGTD(x, a, z))})  # fmt: skip
    for a, k in ((1e-3, 1e-3), (1e-2, 1e-2), (5e-2, 1e-1)):
        yield Case("META alone runs on GTD, the others on TD", (ring, "META", a, None), f", κ = {k:g}", {
            "with": Side(lambda x, a=a, k=k: gtd(x, a, published(k, **WHEN))),
            "without": Side(lambda x, a=a, k=k: totd(x, a, published(k, **WHEN)))})  # fmt: skip
    for a, k in ((2e-5, 1e-7), (3e-5, 1e-7)):
        yield Case("META's variance is learned from V's own errors", (ring, "META", a, None), f", κ = {k:g}", {
            "with": Side(lambda x, a=a, k=k: gtd(x, a, published(k, **WHEN))),
            "without": Side(lambda x, a=a, k=k: gtd(x, a, Variant(k, from_v=False, **WHEN)))})  # fmt: skip
    for a, k in ((1e-3, 1e-3), (5e-2, 1e-1)):
        yield Case("META descends with the printed sign", (ring, "META", a, None), f", κ = {k:g}", {
            "with": Side(lambda x, a=a, k=k: gtd(x, a, published(k, **WHEN))),
            "without": Side(lambda x, a=a, k=k: gtd(x, a, Variant(k, printed=False, **WHEN)))})  # fmt: skip
    for a in (1e-5, 5e-5, 1e-3):
        yield Case("λ-greedy's variance: V's own errors, a trace that stays", (ring, "greedy", a, None), "", {
            "with": Side(lambda x, a=a: totd(x, a, PublishedGreedy(**WHEN))),
            "without": Side(lambda x, a=a: totd(x, a, td.rules.Greedy(**WHEN)))})  # fmt: skip
    for a in (1e-5, 5e-5):
        yield Case("λ-greedy waits for a tenth of the steps", (ring, "greedy", a, None), "", {
            "with": Side(lambda x, a=a: totd(x, a, PublishedGreedy(**WHEN))),
            "without": Side(lambda x, a=a: totd(x, a, PublishedGreedy()))})  # fmt: skip


def measured(listed: list[Case], seeds: int, steps: int) -> dict[tuple[int, str], Any]:
    """Final errors of every case and side: all that share a task and a truth run on the same trajectories."""
    found = {}
    for table, (name, task) in TASKS.items():
        for wrong in (False, True):
            some = {
                (k, which): side
                for k, case in enumerate(listed)
                for which, side in case.sides.items()
                if case.cell[0] == table and side.wrong == wrong
            }
            if some:
                truth = thesis_truth(task) if wrong else None
                learners = [side.make(task.features) for side in some.values()]
                n = 26 if name == "FrozenLake" else 101
                error = td.engine.run(task, learners, seeds, steps, points=1000, truth=truth, keep=()).error
                for curve, (key, side) in zip(error, some.items(), strict=True):
                    found[key] = (curve[:, -n - 1 : -1] if side.early else curve[:, -n:]).mean(axis=1)
    return found


def main() -> None:
    """Run them all and print the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=96)
    parser.add_argument("--steps", type=int, default=10**6)
    parser.add_argument("--only", default="", help="causes whose name has this in it")
    options = parser.parse_args()
    listed = [case for case in cases() if options.only in case.cause]
    if not listed:
        known = "\n  ".join(dict.fromkeys(case.cause for case in cases()))
        parser.error(f"--only: no cause has {options.only!r} in its name; there are\n  {known}")
    if options.seeds < 2:
        parser.error(f"--seeds must be at least 2, for a standard error; got {options.seeds}")
    runs = measured(listed, options.seeds, options.steps)
    print("# Causes, one at a time\n")
    print("Made by `python experiments/thesis/causes.py`:")
    print(f"{options.seeds} runs of {options.steps:,} steps each; z against the printed number in brackets.\n")
    print("| suspected cause | cell | thesis | with it | without it |\n| --- | --- | --- | --- | --- |")
    for k, case in enumerate(listed):
        table, method, alpha, lam = case.cell
        printed, shown = PRINTED[case.cell], []
        for side in ("with", "without"):
            errors = runs[k, side]
            apart = np.hypot(errors.std(ddof=1) / np.sqrt(errors.size), printed.std / np.sqrt(240))
            shown.append(f"{errors.mean():.3g} ({(errors.mean() - printed.mean) / apart:+.1f})")
        where = f"{TASKS[table][0]}, {method}, α = {alpha:g}" + ("" if lam is None else f", λ = {lam:g}")
        print("| " + " | ".join([case.cause, where + case.note, f"{printed.mean:.3g}", *shown]) + " |")


if __name__ == "__main__":
    main()

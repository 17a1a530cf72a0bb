"""Why the published numbers are what they are: each suspected cause, with it and without it, beside the printed cell.

    python docs/results/causes.py [--seeds 96] > docs/results/causes.md

All runs are 10⁶ steps; errors are means over the last points, as in the tables.
"""

import argparse
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

import tdlambda as td
from tdlambda.published import thesis_tables
from tdlambda.studies.building import thesis_truth

PRINTED = {(c.table, c.method, c.alpha, c.lam): c for c in thesis_tables()}
WHEN = {"warm_up": 0.1, "length": 10**6}
TASKS = {"frozenlake": "FrozenLake-v0", "ringworld_04_035": "RingWorld-v0"}


class Case(NamedTuple):
    """A cause at one printed cell: (how to build the learner, measured against the thesis' v?) with it and without."""

    cause: str
    cell: tuple[str, str, float, float | None]
    note: str
    sides: dict[str, tuple[Callable[[Any], td.Learner], bool]]


def cases() -> Iterator[Case]:
    """All of them."""
    gtd, totd, published = td.TrueOnlineGTD, td.TrueOnlineTD, td.Meta.published
    ring: str = "ringworld_04_035"
    for a, z in ((1e-5, 0.0), (5e-4, 0.0), (1e-2, 0.4)):
        yield Case("the gradient correction acts on terminal features", ("frozenlake", "fixed", a, z), "", {
            "with": (lambda x, a=a, z=z: gtd(x, a, z, last_discount=0.95), True),
            "without": (lambda x, a=a, z=z: gtd(x, a, z), True)})  # fmt: skip
    for a, z in ((5e-5, 1.0), (1e-3, 0.4)):
        yield Case("v is that of a model whose corners lose probability", ("frozenlake", "fixed", a, z), "", {
            "with": (lambda x, a=a, z=z: gtd(x, a, z, last_discount=0.95), True),
            "without": (lambda x, a=a, z=z: gtd(x, a, z, last_discount=0.95), False)})  # fmt: skip
    for a, k in ((1e-3, 1e-3), (1e-2, 1e-2), (5e-2, 1e-1)):
        yield Case("META alone runs on GTD, the others on TD", (ring, "META", a, None), f", κ = {k:g}", {
            "with": (lambda x, a=a, k=k: gtd(x, a, published(k, **WHEN)), False),
            "without": (lambda x, a=a, k=k: totd(x, a, published(k, **WHEN)), False)})  # fmt: skip
    for a, k in ((2e-5, 1e-7), (3e-5, 1e-7)):
        yield Case("META's variance is learnt from V's own errors", (ring, "META", a, None), f", κ = {k:g}", {
            "with": (lambda x, a=a, k=k: gtd(x, a, published(k, **WHEN)), False),
            "without": (lambda x, a=a, k=k: gtd(x, a, published(k, value_delta=False, **WHEN)), False)})  # fmt: skip
    for a, k in ((1e-3, 1e-3), (5e-2, 1e-1)):
        yield Case("META descends with the printed sign", (ring, "META", a, None), f", κ = {k:g}", {
            "with": (lambda x, a=a, k=k: gtd(x, a, published(k, **WHEN)), False),
            "without": (lambda x, a=a, k=k: gtd(x, a, published(k, gradient="derived", **WHEN)), False)})  # fmt: skip
    for a in (1e-5, 5e-5, 1e-3):
        yield Case("λ-greedy's variance: V's own errors, a trace that stays", (ring, "greedy", a, None), "", {
            "with": (lambda x, a=a: totd(x, a, td.Greedy.published(**WHEN)), False),
            "without": (lambda x, a=a: totd(x, a, td.Greedy(**WHEN)), False)})  # fmt: skip
    for a in (1e-5, 5e-5):
        yield Case("λ-greedy waits for a tenth of the steps", (ring, "greedy", a, None), "", {
            "with": (lambda x, a=a: totd(x, a, td.Greedy.published(**WHEN)), False),
            "without": (lambda x, a=a: totd(x, a, td.Greedy.published()), False)})  # fmt: skip


def measured(listed: list[Case], seeds: int, steps: int) -> dict[tuple[int, str], Any]:
    """Final errors of every case and side: all that share a task and a truth run on the same trajectories."""
    found = {}
    for table, name in TASKS.items():
        task = td.make(name)
        for wrong in (False, True):
            some = {
                (k, side): make(task.features)
                for k, case in enumerate(listed)
                for side, (make, against) in case.sides.items()
                if case.cell[0] == table and against == wrong
            }
            if some:
                truth = thesis_truth(task) if wrong else None
                runs = td.engine.run(
                    task, list(some.values()), seeds, steps, points=1000, truth=truth, keep=()
                )  # fmt: skip
                found |= dict(zip(some, runs.tail(0.101 if name == "RingWorld-v0" else 0.026), strict=True))
    return found


def main() -> None:
    """Run them all and print the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=96)
    parser.add_argument("--steps", type=int, default=10**6)
    options = parser.parse_args()
    listed = list(cases())
    runs = measured(listed, options.seeds, options.steps)
    print("# Causes, one at a time\n")
    print("Made by `python docs/results/causes.py`:")
    print(f"{options.seeds} runs of {options.steps:,} steps each; in brackets z against the printed number.\n")
    print("| suspected cause | cell | thesis | with it | without it |\n| --- | --- | --- | --- | --- |")
    for k, case in enumerate(listed):
        table, method, alpha, lam = case.cell
        printed, shown = PRINTED[case.cell], []
        for side in ("with", "without"):
            errors = runs[k, side]
            apart = np.hypot(errors.std(ddof=1) / np.sqrt(errors.size), printed.std / np.sqrt(240))
            shown.append(f"{errors.mean():.3g} ({(errors.mean() - printed.mean) / apart:+.1f})")
        where = f"{TASKS[table].removesuffix('-v0')}, {method}, α = {alpha:g}" + (
            "" if lam is None else f", λ = {lam:g}"
        )
        print("| " + " | ".join([case.cause, where + case.note, f"{printed.mean:.3g}", *shown]) + " |")


if __name__ == "__main__":
    main()

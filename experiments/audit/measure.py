"""How often the intervals of `td.audit` hold the truth, and how often it picks the better critic, beside others.

    python experiments/audit/measure.py --out out/audit [--draws 200] [--only "ring"] [--table]

25 finite tasks with exact values, CartPole and MountainCar with networks for critics and Monte Carlo truth; none of
them was used to choose anything. In each draw, all critics of a task are audited on new episodes; the differences of
all pairs are compared with the truth. Results of a task are a file in the folder, and a task that has one is skipped:
the command can be stopped, repeated, and run several times at once. `--table` prints the tables of what is there.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from pathlib import Path
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
from finite_tasks import fresh_tasks
from physics import physical_tasks
from rivals import numbers, return_errors

import tdlambda as td

SIZES = (50, 200)
SETTINGS = ("on", "off", "limit", "stream on", "stream off")
SAID = {
    "on": "on-policy",
    "off": "off-policy",
    "limit": "time limits",
    "stream on": "stream, on-policy",
    "stream off": "stream, off-policy",
}
RATIOS = (1.05, 1.5, 4.0)
"""Bounds of the classes of pairs, by the ratio of their errors."""
OTHERS = ("return error", "TD error²", "mean TD error", "LSTD tournament", "explained variance")


def draw(task: Any, seed: int, size: int) -> dict[str, Any]:
    """Audit new data: what was estimated for every pair, whether intervals hold the truth, and what was picked."""
    pairs, sample = task.data(seed, size)
    steps = sample.options()
    report = td.audit(pairs, **steps)
    old = return_errors(pairs, steps, 20 if "stream" in task.setting else 0)
    i, j = np.triu_indices(len(task.names), 1)
    true = task.errors[i] - task.errors[j]
    low, high = old.interval(0.95)
    out = {
        "covered": _holds(report.low, report.high, task)[i, j],
        "return error covered": _holds(low, high, task)[i, j],
        "estimate": report.difference[i, j], "return error estimate": old.value[i, j],
        "picked": (report.difference[i, j] > 0) == (true > 0),
        "return error": (old.value[i, j] > 0) == (true > 0),
        "error": report.error, "error covered": (report.error_low <= task.errors) & (task.errors <= report.error_high),
        "remarks": float(len(report.remarks) > 0),
    }  # fmt: skip
    return out | {name: (x[i] > x[j]) == (true > 0) for name, x in numbers(pairs, steps).items()}


def _holds(low: Any, high: Any, task: Any) -> Any:
    """Whether intervals hold the true differences; that of a Monte Carlo truth is itself uncertain."""
    true, half = task.errors[:, None] - task.errors, np.hypot((high - low) / 2, 1.96 * task.doubt)
    return np.abs((low + high) / 2 - true) <= half


def measured(task: Any, draws: int) -> list[dict[str, Any]]:
    """One row for each size."""
    task.prepare()
    i, j = np.triu_indices(len(task.names), 1)
    true, ratio = task.errors[i] - task.errors[j], np.maximum(task.errors[i], task.errors[j])
    kind = np.digitize(ratio / np.maximum(np.minimum(task.errors[i], task.errors[j]), 1e-300), RATIOS)
    rows = []
    for size in SIZES:
        start = time.perf_counter()
        found = [draw(task, 50_000 + 11 * k, size) for k in range(draws)]
        every = {name: np.array([one[name] for one in found]) for name in found[0]}
        mse = {name: ((every[name] - true) ** 2).mean(0) for name in ("estimate", "return error estimate")}
        rows.append({
            "task": task.name, "setting": task.setting, "size": size, "draws": draws, "critics": len(task.names),
            "covered": float(every["covered"].mean()), "worst pair": float(every["covered"].mean(0).min()),
            "return error covered": float(every["return error covered"].mean()),
            "efficiency": float(np.exp(np.median(np.log(mse["return error estimate"] / mse["estimate"])))),
            "picks": {name: [_mean(every[name][:, kind == k]) for k in (1, 2, 3)] for name in ("picked", *OTHERS)},
            "absolute": float(np.median(every["error"].mean(0) / task.errors)),
            "absolute covered": float(every["error covered"].mean()), "remarks": float(every["remarks"].mean()),
            "seconds": time.perf_counter() - start,
        })  # fmt: skip
    return rows


def _mean(x: Any) -> float | None:
    return float(x.mean()) if x.size else None


def _percent(some: list[float | None]) -> str:
    there = [x for x in some if x is not None]
    return f"{100 * np.mean(there):.0f}" if there else "–"


def tables(rows: list[dict[str, Any]]) -> str:
    """Coverage and picks by setting, and the tasks one by one."""
    lines = [
        "| data | tasks | size | intervals hold the truth | worst task | return error's intervals | efficiency |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    for setting in SETTINGS:
        for size in SIZES:
            some = [row for row in rows if (row["setting"], row["size"]) == (setting, size)]
            if some:
                gain = np.exp(np.mean([np.log(row["efficiency"]) for row in some]))
                lines.append(
                    f"| {SAID[setting]} | {len(some)} | {size} | {_percent([r['covered'] for r in some])} % | "
                    f"{100 * min(r['covered'] for r in some):.0f} % | "
                    f"{_percent([r['return error covered'] for r in some])} % | {gain:.2g} |"
                )
    heads = ("audit", *OTHERS)
    lines += ["", f"| data | size | errors apart | {' | '.join(heads)} |", "| --- " * (len(heads) + 3) + "|"]
    for setting in SETTINGS:
        for size in SIZES:
            some = [row for row in rows if (row["setting"], row["size"]) == (setting, size)]
            for k, apart in ((1, "1.5 to 4 ×"), (2, "> 4 ×")) if some else ():
                cells = [_percent([r["picks"][name][k] for r in some]) for name in ("picked", *OTHERS)]
                lines.append(f"| {SAID[setting]} | {size} | {apart} | {' | '.join(cells)} |")
    lines += [
        "",
        "| task | data | hold, 50 | hold, 200 | picks, 1.5 to 4 ×, 200 | efficiency, 200 | error² / true, 200 |",
        "| --- " * 7 + "|",
    ]
    for name in dict.fromkeys(row["task"] for row in rows):
        small, large = (next(r for r in rows if r["task"] == name and r["size"] == size) for size in SIZES)
        lines.append(
            f"| {name} | {SAID[small['setting']]} | {100 * small['covered']:.0f} % | {100 * large['covered']:.0f} % | "
            f"{_percent([large['picks']['picked'][1]])} % | {large['efficiency']:.2g} | {large['absolute']:.2f} |"
        )
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("out/audit"), help="folder of the results")
    parser.add_argument("--draws", type=int, default=200, help="data sets for each task and size")
    parser.add_argument("--only", default="", help="only tasks whose name contains this")
    parser.add_argument("--table", action="store_true", help="print the tables and stop")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    every = [*fresh_tasks(), *physical_tasks()]
    files = {task.name: options.out / f"{task.name.replace('/', '-')}.json" for task in every}
    if not options.table:
        for task in every:
            claimed = files[task.name].with_suffix(".working")
            if options.only not in task.name or files[task.name].exists() or claimed.exists():
                continue
            claimed.touch()
            try:
                rows = measured(task, options.draws)
                files[task.name].write_text(json.dumps(rows, indent=1), encoding="utf-8")
                print(
                    f"{task.name}: {[round(r['covered'], 3) for r in rows]} {sum(r['seconds'] for r in rows):.0f} s",
                    flush=True,
                )
            finally:
                claimed.unlink()
    print(tables([row for file in files.values() if file.exists() for row in json.loads(file.read_text("utf-8"))]))


if __name__ == "__main__":
    main()

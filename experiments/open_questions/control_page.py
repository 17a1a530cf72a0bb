"""What question 4's rows say: returns, steps to a level, paired differences, and returns over the step size."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import altair as alt
import numpy as np
import polars as pl
from frame import mean_interval, runs_needed, table

from tdlambda.arrays import Floats
from tdlambda.charts import lines
from tdlambda.charts.style import finished, setting, settings

METAS = ("META-assisted", "META")
COLOURS = {
    "fixed λ": "#4d4d4d", "λ = 1 in the critic": "#999999", "λ-greedy": "#56b4e9", "META-assisted": "#d55e00",
    "fixed λ, the thesis' actor": "#b8860b", "META": "#e69f00", "auto λ": "#0072b2", "Swift": "#009e73",
    "Intentional": "#8c564b", "AutoTD": "#d6006d", "Sarsa(λ)": "#cc79a7",
}  # fmt: skip
SIZED = ("fixed λ", "λ = 1 in the critic", "λ-greedy", "META-assisted", "fixed λ, the thesis' actor", "META", "auto λ")
"""Methods whose critic is given a step size."""
DRAWN = ("fixed λ", "λ-greedy", "META-assisted", "META", "auto λ", "Swift", "AutoTD", "Sarsa(λ)")
"""Whose learning curves are shown."""


class Results:
    """The rows of all tasks and methods."""

    def __init__(self, data: pl.DataFrame) -> None:
        self.data = data
        self.report, self.tuning, self.curve = (
            data.filter(pl.col("kind") == kind) for kind in ("report", "tuning", "curve")
        )
        self.tasks = self.report["task"].unique(maintain_order=True).to_list()
        there = set(self.report["method"].unique())
        self.methods = [name for name in COLOURS if name in there]

    def runs(self, task: str, method: str, choice: str, what: str = "final") -> Floats:
        """One number for each seed; none where there is no such run."""
        rows = self.rows(task, method, choice).sort("seed")
        return rows[what].to_numpy()

    def rows(self, task: str, method: str, choice: str) -> pl.DataFrame:
        """Reported runs."""
        return self.report.filter(task=task, method=method, choice=choice)

    def ends(self, choice: str) -> str:
        """Final returns: mean and interval of each task."""
        body = [
            [name, *(self._end(task, name, choice) for task in self.tasks)]
            for name in self.methods
            if any(len(self.runs(task, name, choice)) for task in self.tasks)
        ]
        return table([{"best": "best of its grid", "default": "default settings"}[choice], *self.tasks], body)

    def _end(self, task: str, method: str, choice: str) -> str:
        rows = self.rows(task, method, choice)
        if not len(rows):
            return "–"
        lost = int(rows["diverged"].sum())
        said = spread(*mean_interval(rows["final"])) + (f", {lost} of {len(rows)} diverged" if lost else "")
        return said + (f"; {self.chosen(rows)}" if choice == "best" else "")

    @staticmethod
    def chosen(rows: pl.DataFrame) -> str:
        """The settings of a method, as they were chosen."""
        row, names = rows.row(0, named=True), ("alpha", "lam", "eta", "kappa")
        found = {name: row[name] for name in names if row.get(name) is not None}
        if found.get("lam") in ("auto", "meta", "greedy") or row["method"] == "λ = 1 in the critic":
            found.pop("lam", None)
        return settings({k: float(v) for k, v in found.items()})

    def levels(self) -> str:
        """Median steps to each task's level, and how many of the runs reached it."""
        body = []
        for name in self.methods:
            for choice in ("best", "default"):
                some = [self.rows(task, name, choice) for task in self.tasks]
                if any(len(rows) for rows in some):
                    body.append([name, choice, *(reached(rows) for rows in some)])
        return table(["method", "settings", *self.tasks], body)

    def differences(self, pairs: Sequence[tuple[str, str]], head: str, choice: str, what: str = "final") -> str:
        """What the first has less what the second has, seed by seed; named by the one that changes."""
        same = pairs[0][0] == pairs[-1][0]
        body = []
        for one, other in pairs:
            both = [[self.runs(task, name, choice, what) for name in (one, other)] for task in self.tasks]
            if all(map(len, both[0])):
                body.append([other if same else one, *(verdict(a, b) for a, b in both)])
        return table([head, *self.tasks], body)

    def less(self, one: str, choice: str, what: str = "final") -> str:
        """One method less each that is no META."""
        pairs = [(one, name) for name in self.methods if name not in METAS]
        return self.differences(pairs, f"{one} less …", choice, what)

    def beyond(self, other: str, choice: str) -> str:
        """Each method less one."""
        return self.differences([(name, other) for name in self.methods if name != other], f"… less {other}", choice)

    def by_alpha(self, task: str, method: str, most: float = 1.0) -> pl.DataFrame:
        """For each α the best mean return over the other settings on the tuning seeds, and the share that diverged.

        Of fixed λ those up to `most` alone.
        """
        rows = self.tuning.filter(task=task, method=method)
        if method.startswith("fixed"):
            rows = rows.filter(pl.col("lam").cast(float) <= most)
        means = rows.group_by("alpha", "eta", "lam", "kappa").agg(pl.col("final").mean(), pl.col("diverged").mean())
        return means.group_by("alpha").agg(pl.col("final").max(), pl.col("diverged").mean()).sort("alpha")

    def divergence(self) -> str:
        """Shares of tuning runs that diverged, by α."""
        body = []
        for task in self.tasks:
            for name in SIZED:
                shares = self.by_alpha(task, name, most=0.9)["diverged"]
                words = name.replace("fixed λ", "fixed λ ≤ 0.9")
                body.append([task, words, *(f"{100 * share:.0f} %" if share else "–" for share in shares)])
        alphas = self.tuning.filter(method="fixed λ")["alpha"].unique().sort()
        body = [row for row in body if set(row[2:]) != {"–"}]
        return table(["task", "method", *(f"α = {setting(a)}/∣x∣²" for a in alphas)], body)


def spread(mean: float, low: float, high: float) -> str:
    """A mean and its interval, with as many digits as the numbers need."""
    size = max(map(abs, (mean, low, high)))
    digits = 3 if size < 1 else 0 if size >= 200 else 1
    return f"{mean:,.{digits}f} ({low:,.{digits}f} to {high:,.{digits}f})"


def reached(rows: pl.DataFrame) -> str:
    """Median steps, and how many runs they are of; where half of them never arrive, there is no median."""
    if not len(rows):
        return "–"
    there = int((rows["reached"] < rows["steps"]).sum())
    median = f"{rows['reached'].median():,.0f}" if 2 * there > len(rows) else "–"
    return f"{median}, {there} of {len(rows)}"


def verdict(a: Floats, b: Floats) -> str:
    """The mean difference of paired runs: bold where its interval excludes 0, else how many runs would decide."""
    n = min(len(a), len(b))
    differences = a[:n] - b[:n]
    if not np.any(differences):
        return "0"
    mean, low, high = mean_interval(differences)
    text = spread(mean, low, high)
    return f"**{text}**" if low * high > 0 else f"{text}, undecided: {runs_needed(differences):,} runs would decide"


def tables(data: pl.DataFrame) -> dict[str, str]:
    """All of the page's."""
    found = Results(data)
    return {
        "control-best": found.ends("best"),
        "control-default": found.ends("default"),
        "control-levels": found.levels(),
        "control-beyond": found.beyond("fixed λ", "default"),
        "control-meta-assisted": found.less("META-assisted", "best"),
        "control-meta": found.less("META", "best"),
        "control-meta-default": found.less("META", "default"),
        "control-meta-levels": found.less("META", "best", "reached"),
        "control-divergence": found.divergence(),
    }


def charts(data: pl.DataFrame) -> dict[str, Any]:
    """Learning curves, and returns over the critic's α."""
    found = Results(data)
    return {"control": curves(found), "control-alpha": over_alpha(found)}


def curves(found: Results) -> Any:
    """Learning curves of the best of each grid."""
    panels = []
    for task in found.tasks:
        some = found.curve.filter(pl.col("method").is_in(DRAWN), task=task, choice="best").sort("step")
        rows = [
            look(row["method"], row["step"], row["mean"]) | {"low": row["low"], "high": row["high"]}
            for row in some.iter_rows(named=True)
        ]
        panels.append(panel(rows, "steps", f"{task}: return", log=False))
    return grid(panels)


def over_alpha(found: Results) -> Any:
    """Final returns on the tuning seeds, every other setting at its best for that α."""
    panels = []
    for task in found.tasks:
        rows = [
            look(name, row["alpha"], row["final"]) | {"diverged": row["diverged"]}
            for name in SIZED
            if name in found.methods
            for row in found.by_alpha(task, name).iter_rows(named=True)
        ]
        panels.append(panel(rows, "α ∣x∣² of the critic", f"{task}: final return", log=True))
    return grid(panels)


def look(method: str, x: float, mean: float) -> dict[str, Any]:
    """A point of a method's line."""
    return {
        "series": method,
        "x": x,
        "mean": mean,
        "colour": COLOURS[method],
        "width": 1.9,
        "shape": "circle",
        "dash": [],
    }


def panel(rows: Sequence[dict[str, Any]], x: str, title: str, log: bool) -> Any:
    """One task; names at the ends do not stretch the axis."""
    up = [row["mean"] for row in rows]
    domain = [min(up), max(up) + 0.02 * (max(up) - min(up))]
    return lines(rows, x, title, log=(log, False), dots=log, fade=False, size=(270, 210), domain=(None, domain))


def grid(panels: Sequence[Any]) -> Any:
    """Two in a row."""
    rows = [alt.hconcat(*panels[k : k + 2], spacing=24) for k in range(0, len(panels), 2)]
    return finished(alt.vconcat(*rows, spacing=16))

"""What question 3's rows say: rank correlations of objectives with outcomes, and what a choice of λ by each costs."""

from __future__ import annotations

import warnings
from typing import Any

import altair as alt
import numpy as np
import polars as pl
from frame import runs_needed, table
from scipy.stats import rankdata

from tdlambda.arrays import Floats
from tdlambda.charts import lines
from tdlambda.charts.style import OKABE_ITO, finished, number, setting

OBJECTIVES = {
    "target": "target error J",
    "bias": "its squared bias",
    "variance": "its variance",
    "one": "one update ahead, table",
    "many": "1/α updates ahead, table",
    "exact_one": "one update ahead, exact",
    "exact_horizon": "1/α updates of each state ahead, exact",
    "exact_end": "as many updates ahead as the run has, exact",
    "settled": "variance at V = v",
    "target_at_end": "target error J at the end, of V as learned",
}
OUTCOMES = {"half": "steps to ½", "tenth": "steps to 10 %", "area": "area", "final": "final error"}
LABELS = {
    "target": "target error", "one": "one update ahead", "exact_horizon": "1/α updates ahead",
    "exact_end": "the run's updates ahead", "settled": "variance at V = v",
}  # fmt: skip
"""In the figure."""
RESAMPLES = 300


class Results:
    """Objectives [task, α, λ] by name, and outcomes [outcome, task, α, λ, seed]."""

    def __init__(self, data: pl.DataFrame, table: bool) -> None:
        some = data.filter(pl.col("table") == table)
        objective, outcome = (some.filter(pl.col("kind") == kind) for kind in ("objective", "outcome"))
        self.tasks = objective["task"].unique(maintain_order=True).to_list()
        self.alphas, self.lambdas = (objective[name].unique().sort().to_numpy() for name in ("alpha", "lam"))
        shape = (len(self.tasks), len(self.alphas), len(self.lambdas))
        order = pl.DataFrame({"task": self.tasks, "place": range(len(self.tasks))})
        objective = objective.join(order, on="task").sort("place", "alpha", "lam")
        outcome = outcome.join(order, on="task").sort("place", "alpha", "lam", "seed")
        cell = ["place", "alpha", "lam"]
        ends = outcome.group_by(cell).agg(pl.col("target_at_end").mean()).sort(cell)
        objective = objective.drop("target_at_end", strict=False).with_columns(ends["target_at_end"])
        self.objectives = np.stack([objective[name].to_numpy().reshape(shape) for name in OBJECTIVES])
        self.outcomes = np.stack([outcome[name].to_numpy().reshape(*shape, -1) for name in OUTCOMES])

    def summaries(self, seeds: Any = slice(None)) -> Floats:
        """Each outcome over these seeds [outcome, task, α, λ]: the median of steps, the mean of errors."""
        some = self.outcomes[..., seeds]
        return np.concatenate([np.median(some[:2], axis=-1), some[2:].mean(axis=-1)])

    def correlations(self, seeds: Any = slice(None)) -> Floats:
        """Spearman's, over λ [objective, outcome, task, α]; NaN where either is the same for every λ."""
        return spearman(self.objectives[:, None], self.summaries(seeds)[None])

    def resampled(self) -> Floats:
        """Correlations of resampled seeds of resampled tasks [resample, objective, outcome, task, α]."""
        rng, (n, seeds) = np.random.default_rng(0), (len(self.tasks), self.outcomes.shape[-1])
        drawn = (self.correlations(rng.integers(seeds, size=seeds)) for _ in range(RESAMPLES))
        return np.stack([found[:, :, rng.integers(n, size=n)] for found in drawn])

    def costs(self) -> Floats:
        """Each outcome at the λ with the least objective, over that at its best λ [objective, outcome, task, α]."""
        found, best = self.summaries(), self.objectives.argmin(axis=-1)
        chosen = np.take_along_axis(found[None], best[:, None, ..., None], axis=-1)[..., 0]
        with np.errstate(invalid="ignore"):
            return chosen / found.min(axis=-1)


def spearman(a: Floats, b: Floats) -> Floats:
    """Rank correlation along the last axis."""
    ranks = [rankdata(x, axis=-1) for x in (a, b)]
    x, y = (r - r.mean(axis=-1, keepdims=True) for r in ranks)
    with np.errstate(invalid="ignore", divide="ignore"):
        return (x * y).sum(axis=-1) / np.sqrt((x**2).sum(axis=-1) * (y**2).sum(axis=-1))


def interval(draws: Floats) -> tuple[float, float]:
    """95 %."""
    low, high = np.nanquantile(draws, [0.025, 0.975])
    return float(low), float(high)


def correlation(mean: float, draws: Floats) -> str:
    """A mean correlation and its interval, bold where it excludes 0."""
    if np.isnan(mean):
        return "–"
    low, high = interval(draws)
    text = f"{mean:.2f} ({low:.2f} to {high:.2f})"
    return f"**{text}**" if low * high > 0 else text


def overall(found: Results) -> str:
    """Mean over tasks and α; then how much larger the mean of some is than that of the target error."""
    rho, draws = found.correlations(), found.resampled()
    columns = range(len(OUTCOMES))
    body = [
        [words, *(correlation(mean(rho[i, j]), mean(draws[:, i, j])) for j in columns)]
        for i, words in enumerate(OBJECTIVES.values())
    ]
    for name in ("one", "exact_horizon", "exact_end"):
        more, drawn = (x - y for x, y in zip((rho[at(name)], draws[:, at(name)]), (rho[0], draws[:, 0]), strict=True))
        cells = [correlation(mean(more[j]), mean(drawn[:, j])) + needed(more[j], drawn[:, j]) for j in columns]
        body.append([f"*{OBJECTIVES[name]}, less target error J*", *cells])
    return table(["objective, at V = 0 unless it says so", *OUTCOMES.values()], body)


def at(name: str) -> int:
    """The place of an objective."""
    return list(OBJECTIVES).index(name)


def mean(rho: Floats) -> Any:
    """Over tasks and α, the last two axes."""
    return np.nanmean(rho, axis=(-2, -1))


def needed(more: Floats, drawn: Floats) -> str:
    """Where a sign is undecided, how many tasks would decide it."""
    low, high = interval(mean(drawn))
    by_task = np.array([np.nanmean(row) for row in more if np.isfinite(row).any()])
    decided = low * high > 0 or len(by_task) < 2
    return "" if decided else f", undecided: {runs_needed(by_task):,} tasks would decide"


def by_task(found: Results) -> str:
    """Of each task, mean over α; intervals over seeds."""
    rho, rng, seeds = found.correlations(), np.random.default_rng(0), found.outcomes.shape[-1]
    draws = np.stack([found.correlations(rng.integers(seeds, size=seeds)) for _ in range(RESAMPLES)])
    which = [(i, j) for j in ("tenth", "final") for i in ("target", "exact_horizon", "settled")]
    places = [(at(i), list(OUTCOMES).index(j)) for i, j in which]
    body = [
        [name, *(correlation(mean(rho[i, j, k : k + 1]), mean(draws[:, i, j, k : k + 1])) for i, j in places)]
        for k, name in enumerate(found.tasks)
    ]
    return table(["task", *(f"{OBJECTIVES[i]}: {OUTCOMES[j]}" for i, j in which)], body)


def choices(found: Results) -> str:
    """What choosing λ by each objective costs."""
    body = [[words, *map(cost, row)] for words, row in zip(OBJECTIVES.values(), found.costs(), strict=True)]
    return table(["λ chosen by", *OUTCOMES.values()], body)


def cost(ratios: Floats) -> str:
    """The geometric mean and the worst; how often the level was never reached, or the learner diverged."""
    there = ratios[np.isfinite(ratios)]
    never = int((ratios == np.inf).sum())
    said = (
        f"{number(float(np.exp(np.log(there).mean())))}, at worst {number(float(there.max()))}" if there.size else "–"
    )
    return said + (f"; {never} never" if never else "")


def best_lambda(found: Results) -> str:
    """The mean over tasks of the λ that is best, by α: for objectives and outcomes."""
    rows = [
        [words, *(f"{found.lambdas[best].mean():.2f}" for best in values.argmin(axis=-1).T)]
        for words, values in [
            *((OBJECTIVES[name], found.objectives[at(name)]) for name in LABELS),
            *((f"*measured:* {words}", values)
              for words, values in zip(OUTCOMES.values(), found.summaries(), strict=True)),
        ]
    ]  # fmt: skip
    return table(["mean of the best λ over tasks", *(f"α = {setting(float(a))}" for a in found.alphas)], rows)


def shared(data: pl.DataFrame) -> str:
    """The task whose states share their feature."""
    rows = data.filter(pl.col("kind") == "shared").sort("alpha")
    body = [
        [setting(r["alpha"]), *(number(r[name]) for name in ("target", "before", "one", "exact_one"))]
        for r in rows.iter_rows(named=True)
    ]
    return table(["α", "target error", "value error before", "after, by the table's formula", "after, exactly"], body)


def independence(found: Results) -> str:
    """The measured final error over that of independent updates, where both are finite: medians by λ."""
    final, exact = found.summaries()[-1], found.objectives[at("exact_end")]
    with np.errstate(invalid="ignore"):
        ratio = final / exact
    rows = [
        [f"α = {setting(float(a))}", *(number(float(np.nanmedian(ratio[:, i, k]))) for k in range(len(found.lambdas)))]
        for i, a in enumerate(found.alphas)
    ]
    return table(["", *(f"λ = {setting(float(lam))}" for lam in found.lambdas)], rows)


def quiet(function: Any) -> Any:
    """Without warnings about tasks in which nothing reaches the level."""

    def inner(data: pl.DataFrame) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)
            return function(data)

    return inner


@quiet
def tables(data: pl.DataFrame) -> dict[str, str]:
    """All of the page's."""
    plain, features = Results(data, True), Results(data, False)
    return {
        "efficiency-tables": overall(plain),
        "efficiency-features": overall(features),
        "efficiency-choices": choices(plain),
        "efficiency-choices-features": choices(features),
        "efficiency-best": best_lambda(plain),
        "efficiency-tasks": by_task(plain),
        "efficiency-tasks-features": by_task(features),
        "efficiency-shared": shared(data),
        "efficiency-independence": independence(plain),
    }


@quiet
def charts(data: pl.DataFrame) -> dict[str, Any]:
    """Rank correlations over α, a panel for each outcome."""
    found = Results(data, True)
    rho, draws = found.correlations(), found.resampled()
    panels = []
    for j, words in enumerate(OUTCOMES.values()):
        rows = []
        for place, name in enumerate(LABELS):
            i = at(name)
            for k, alpha in enumerate(found.alphas):
                low, high = interval(np.nanmean(draws[:, i, j, :, k], axis=1))
                rows.append({
                    "series": OBJECTIVES[name], "x": float(alpha), "mean": float(np.nanmean(rho[i, j, :, k])),
                    "low": low, "high": high, "colour": OKABE_ITO[place], "width": 1.9,
                    "label": LABELS[name] if j % 2 else "",
                })  # fmt: skip
        title = f"rank correlation over λ with {words}"
        panels.append(lines(rows, "α", title, log=(True, False), fade=False, size=(270, 210), domain=(None, [-1, 1])))
    rows_of = [alt.hconcat(*panels[:2], spacing=20), alt.hconcat(*panels[2:], spacing=20)]
    return {"efficiency": finished(alt.vconcat(*rows_of, spacing=16))}

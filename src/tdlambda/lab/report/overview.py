"""Summary of a study's results: everything that a page or a figure shows, small enough to embed."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from tdlambda import auto
from tdlambda.arrays import Floats, Ints
from tdlambda.charts.style import named, settings
from tdlambda.charts.tidy import band, mean_over_runs
from tdlambda.lab.report.families import by_family
from tdlambda.lab.reproduction.cells import methods_of, table_of
from tdlambda.lab.reproduction.published import mountaincar_figure, thesis_tables
from tdlambda.lab.studies.statistics import Comparison, Summary, compare, rank, sensitivity, summary
from tdlambda.lab.studies.store import load_motion, load_results, load_study
from tdlambda.lab.studies.study import Study
from tdlambda.showing import hint

MEASURES = ("tail", "area")
"""The final error, and the area under the curve."""
PRINTED_STEPS = 1_000_000
"""Steps of each run behind the thesis' tables."""


@dataclass(frozen=True)
class CellView:
    """One cell of a study: `settings` has the values of α, λ, κ … that its method varies."""

    method: str
    settings: dict[str, Any]
    n: int
    diverged: int
    tail: Summary
    area: Summary
    curve: Floats
    curve_error: Floats
    lambdas: Floats
    runs: dict[str, Floats]
    """Seeds, measures and curves [seed, point] of the runs."""
    motion: Floats | None = None
    """λ over time, [moment, observation], if it was recorded."""
    policy: Ints | None = None
    """In a control study, the most frequent greedy action over seeds at each observation, if recorded."""
    agreed: Floats | None = None
    """Share of seeds with that greedy action."""

    def measured(self, measure: str) -> Summary:
        """The final error ("tail") or the area under the curve ("area")."""
        found: Summary = getattr(self, measure)
        return found

    def rank(self, measure: str = "tail") -> tuple[bool, float]:
        """The sort key for the best cell in hindsight; cells without divergence come first."""
        return rank(self.diverged, self.measured(measure).mean)

    def curve_band(self, log: bool) -> tuple[Floats, Floats]:
        """The curve's 95 % interval by Student's t."""
        return band(self.curve, self.curve_error, self.n - self.diverged, log)

    @property
    def alpha(self) -> float | None:
        """Step size, if the method varies it."""
        return self.settings.get("alpha")

    def described(self, without: Collection[str] = ()) -> str:
        """The settings as text, such as "α = 0.01, κ = 10⁻³"."""
        return settings(self.settings, without)


@dataclass(frozen=True)
class Printed:
    """A published number and the study's method that it corresponds to; or a point read off a published figure.

    A point has no `std` over runs, but an `uncertainty` of the reading.
    """

    alpha: float
    method: str
    lam: float | None
    mean: float
    std: float | None
    uncertainty: float = 0.0

    @property
    def by_eye(self) -> bool:
        """Whether it was read off a figure; it is then shown, but not used to count agreement."""
        return self.std is None


@dataclass(frozen=True)
class Overview:
    """The summary of a study.

    Attributes
    ----------
    study
        The declared study; a method whose `lam` mixes numbers and rule names such as "auto" is split into one method
        for the fixed λ and one for each rule.
    seeds
        Seeds that at least one method has finished.
    done, wanted
        Number of finished units, and of all units of methods that were started; the others are `not_run`.
    curve_steps
        Steps at which learning curves were read.
    cells
        Cells, in the order of the study.
    published
        The thesis' numbers if the study is one of its tables, or points of its figure.
    """

    study: Study
    seeds: list[int]
    done: int
    wanted: int
    curve_steps: Ints
    cells: list[CellView]
    published: list[Printed]

    @cached_property
    def positive(self) -> bool:
        """Whether all errors are positive, so that ratios and logarithms exist; costs (minus the return) may not be."""
        means = [mean for c in self.cells for mean in (c.tail.mean, c.area.mean, *c.curve)]
        return self.study.kind == "prediction" or min(filter(np.isfinite, means), default=1.0) > 0

    @property
    def by_eye(self) -> bool:
        """Whether the published numbers were read off a figure."""
        return any(printed.by_eye for printed in self.published)

    @property
    def printed_steps(self) -> int:
        """Steps of the runs behind the published numbers; the figure counts episodes, so any length matches."""
        return self.study.length if self.by_eye else PRINTED_STEPS

    @property
    def alphas(self) -> list[float]:
        """Step sizes, in order."""
        return sorted({cell.alpha for cell in self.cells if cell.alpha is not None})

    def kind(self, method: str) -> str:
        """The source of a method's λ: "fixed", "tuned" by itself, or "other" if it has none."""
        declared, cell = self.study.methods[method], self.study.cells(method)[0]  # the same for all its cells
        if declared.fixed_lam(cell):
            return "fixed"
        named = declared.rule is not None or "lam" in {**declared.options, **cell}
        return "tuned" if named or declared.learner.rpartition(":")[2] in auto.__all__ else "other"

    def named(self, method: str) -> str:
        """The display name of a method."""
        declared, name = self.study.methods[method], named(method)
        published = "Published" in f"{declared.learner} {declared.rule}" and "published" not in name
        return f"{name}, as published" if published else name

    def rule(self, method: str) -> str | None:
        """The name of the rule for λ; None if there is none."""
        declared = self.study.methods[method]
        lam = {**declared.options, **self.study.cells(method)[0]}.get("lam")
        return lam if isinstance(lam, str) else declared.rule

    def of(self, method: str, alpha: float | None = None) -> list[CellView]:
        """The cells of a method, at one `alpha` (None: at any)."""
        return [c for c in self.cells if c.method == method and (alpha is None or c.alpha == alpha)]

    def at(self, method: str, alpha: float | None) -> list[CellView]:
        """The cells of a method at a step size, or all of them if the method does not vary α."""
        return [c for c in self.of(method) if c.alpha is None or c.alpha == alpha]

    def best(self, method: str, alpha: float | None = None, measure: str = "tail") -> CellView:
        """The best cell of a method in hindsight, at one `alpha` (None: at any)."""
        return min(self.of(method, alpha), key=lambda c: c.rank(measure))

    def compare(self, a: CellView, b: CellView, measure: str = "tail") -> Comparison:
        """The comparison of two cells seed by seed, on the seeds that both have."""
        mine, theirs = paired(a, b, measure)
        return compare(mine, theirs) if mine.size else Comparison(0, 0, *(np.nan,) * 6)

    def sensitivity(self, method: str, measure: str = "tail") -> float:
        """The number of decades of α over which the method's error stays within twice its best."""
        best = [self.best(method, alpha, measure).measured(measure).mean for alpha in self._alphas_of(method)]
        return sensitivity(self._alphas_of(method), best)

    def plot(self, figure: str = "u", path: str | Path | None = None, **choice: Any) -> Any:
        """One of the study's charts: "u", "best", "learning", "lambda", "paired", …; `plot("u.svg")` writes "u".

        Parameters
        ----------
        figure
            Name of the chart, or a file name ending in .svg, .png or .pdf to write "u" to.
        path
            File to write the chart to; optional.
        choice
            What to show: `group`, `measure`, `alpha`, and options of the chart.
        """
        if path is None and Path(figure).suffix:
            figure, path = "u", figure

        from tdlambda.charts.plotting import plotted  # Altair is slow to import

        def draw() -> Any:
            from tdlambda.lab.report.figures import chart

            return chart(self, figure, **choice)

        return plotted(path, draw)

    def only(self, methods: Sequence[str]) -> Overview:
        """The overview of a subset of the methods."""
        unknown = [name for name in methods if name not in self.study.methods]
        if unknown:
            known = hint(unknown[0], self.study.methods, "it has {}")
            raise ValueError(f"methods: the study has no method {unknown[0]!r}{known}")
        study = replace(self.study, methods={name: self.study.methods[name] for name in methods})
        return replace(self, study=study, cells=[cell for cell in self.cells if cell.method in methods],
                       published=[p for p in self.published if p.method in methods])  # fmt: skip

    @property
    def not_run(self) -> list[str]:
        """Methods of the study without results."""
        return [name for name in self.study.methods if not self.of(name)]

    def _alphas_of(self, method: str) -> list[float]:
        return sorted({c.alpha for c in self.of(method) if c.alpha is not None})


def paired(a: CellView, b: CellView, measure: str) -> tuple[Floats, Floats]:
    """The errors of two cells on the seeds that both have."""
    _, mine, theirs = np.intersect1d(a.runs["seed"], b.runs["seed"], return_indices=True)
    return a.runs[measure][mine], b.runs[measure][theirs]


def measure_name(study: Study, measure: str) -> str:
    """The name of a measure, with an explanation if it is a cost."""
    return explained(study, f"final {study.quantity}" if measure == "tail" else "area under the curve")


def explained(study: Study, words: str) -> str:
    """The name of a measured quantity, with an explanation if it is a cost."""
    return f"{words} (minus the return)" if study.kind == "control" else words


def overview(directory: str | Path) -> Overview:
    """Summarise the results in a directory, finished or not."""
    declared, results = load_study(directory), load_results(directory)
    study, where = by_family(declared)
    done = results.select("method", "seed").unique().height
    wanted = len(study.numbers) * results["method"].n_unique()
    return Overview(
        study, sorted(results["seed"].unique().to_list()), done, wanted,
        study.read_at[study.stored_points], list(_cells(study, where, results, _motions(directory, declared))),
        list(_printed(study)),
    )  # fmt: skip


def _printed(study: Study) -> Iterator[Printed]:
    """Yield the thesis' numbers at the step sizes of the study; none if the study measures another error."""
    if study.score != "value" or study.average is not None or study.episodes is not None:
        return
    table, some = table_of(study), study.grid.get("alpha", [])
    under = methods_of(table, "published") if table else {}
    for c in thesis_tables() if table else ():
        if c.table == table and c.alpha in some:
            yield Printed(c.alpha, under[c.method], c.lam, c.mean, c.std)
    for r in mountaincar_figure() if study.name.removesuffix("-quick") == "mountaincar" else ():
        if r.figure == "fig_mountaincar" and r.alpha in some:
            yield Printed(r.alpha, r.method, r.lam, -r.value, None, r.uncertainty)


Motions = dict[tuple[str, frozenset[tuple[str, Any]]], Floats]
"""λ over time, by method and the settings of its cell."""


def _motions(directory: str | Path, study: Study) -> Motions:
    return {
        (method, frozenset(cell.items())): motion
        for method, motions in load_motion(directory).items()
        for cell, motion in zip(study.cells(method), motions, strict=True)
    }


def _cells(
    study: Study, where: dict[str, tuple[str, str | None]], results: pl.DataFrame, motions: Motions
) -> Iterator[CellView]:
    for method, declared in study.methods.items():
        under, lam = where[method]
        mine = results.filter(pl.col("method") == under).sort("seed")
        if mine.is_empty():
            continue  # its axes may have no column
        mine = mine if lam is None else mine.filter(pl.col("lam") == lam)
        grouped = mine.group_by(list(declared.over) or "method", maintain_order=True)
        parts = {tuple(map(_plain, key)): part for key, part in grouped}
        for cell in study.cells(method):
            part = parts.get(tuple(map(_plain, cell.values())) or (under,))
            if part is not None:
                whole = frozenset((cell if lam is None else cell | {"lam": lam}).items())
                yield _cell(method, cell, part, motions.get((under, whole)))


def _plain(value: Any) -> Any:
    """A value of the grid for comparison; numbers are stored as text in a column that also has names."""
    try:
        return float(value)
    except ValueError:
        return value


def _cell(method: str, cell: dict[str, Any], part: pl.DataFrame, motion: Floats | None) -> CellView:
    curves = np.array(part["curve"].to_list(), dtype=np.float64)
    curves = np.where(np.isfinite(curves), curves, np.nan)
    mean, error, _ = mean_over_runs(curves)
    tail, area = (summary(part[name].to_numpy()) for name in MEASURES)
    alive_lambdas = part.filter(pl.col("diverged_at") < 0)["lambdas"].to_list() or part["lambdas"].to_list()
    lambdas = np.array(alive_lambdas, dtype=np.float64).mean(axis=0)
    runs = {name: part[name].to_numpy() for name in ("seed", *MEASURES)} | {"curve": curves}
    lost = int((part["diverged_at"] >= 0).sum())
    found_policy = _most(part.filter(pl.col("diverged_at") < 0)) if "policy" in part.columns else (None, None)
    return CellView(method, cell, part.height, lost, tail, area, mean, error, lambdas, runs, motion, *found_policy)


def _most(part: pl.DataFrame) -> tuple[Ints, Floats] | tuple[None, None]:
    """The most frequent action over runs at each observation (the first in a tie), and its share of runs."""
    actions = np.array(part["policy"].drop_nulls().to_list(), dtype=np.int64)
    if actions.size == 0:
        return None, None
    shares = np.array([(actions == action).mean(axis=0) for action in range(int(actions.max()) + 1)])
    return shares.argmax(axis=0), shares.max(axis=0)

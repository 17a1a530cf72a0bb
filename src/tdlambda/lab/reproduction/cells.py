"""The thesis' tables, reproduced cell by cell and compared with the printed numbers, under one of two protocols.

    published      as in the thesis: its learners, the printed sign, κ chosen in hindsight among runs that did not
                   diverge, curves that begin with a point at step 0 and therefore end one point early
    like-for-like  the same learner for all methods, the derived sign, κ and the best λ chosen on a quarter of the seeds
                   and reported on the others, with the default `td.rules.Meta()` for comparison

A cell's `mean` is the mean over runs of the error averaged over the last points. Its `std` is, as in print, the mean
over those points of the standard deviation over runs. `z` is the difference from the printed mean, divided by its
standard error (std² / n + printed std² / 240)^½.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from tdlambda.arrays import Floats
from tdlambda.lab.reproduction.published import TABLES, PublishedCell, thesis_tables
from tdlambda.lab.studies.statistics import Comparison, choose, compare, hindsight, summary
from tdlambda.lab.studies.study import Study

PUBLISHED_RUNS = 240

_RING = {"fixed": "fixed", "greedy": "greedy"}
PROTOCOLS: dict[str, dict[str, dict[str, str]]] = {
    "published": {
        "ringworld": {"fixed": "fixed", "greedy": "greedy_published", "META": "META"},
        "frozenlake": {
            "fixed": "fixed_published", "greedy": "greedy_published", "META": "META", "META_np": "META_np",
        },
    },
    "like-for-like": {
        "ringworld": {**_RING, "META": "META_derived", "META_default": "META_default"},
        "frozenlake": {
            **_RING, "META": "META_derived", "META_np": "META_np_derived", "META_default": "META_default",
        },
    },
}  # fmt: skip
"""By protocol and kind of table: the method of the study that corresponds to each printed name."""


@dataclass(frozen=True)
class Cell:
    """One cell of a table, with the printed cell if there is one."""

    alpha: float
    method: str
    lam: float | None
    kappa: float | None
    learner: str
    mean: float
    std: float
    n: int
    diverged: int
    published_mean: float | None
    published_std: float | None
    z: float | None
    error: float
    low: float
    high: float

    @property
    def agrees_in_print(self) -> bool:
        """Whether it is within three standard errors of a number that rounds to the printed one."""
        if self.z is None or self.published_mean is None:
            return False
        apart = abs(self.mean - self.published_mean)
        rounding = 0.5 * 10 ** (np.floor(np.log10(self.published_mean)) - 2)
        return bool(max(apart - rounding, 0.0) <= 3 * apart / abs(self.z)) if self.z else True


@dataclass(frozen=True)
class Verdict:
    """Whether `method` beats `other` at this α: in print, and here, compared seed by seed.

    `reproduced` is "yes" or "no" if the 95 % interval of the ratio of means excludes 1, otherwise "undecided".
    """

    alpha: float
    method: str
    other: str
    published: bool | None
    reproduced: str
    ratio: float
    low: float
    high: float
    better: float


@dataclass(frozen=True)
class Reproduction:
    """A reproduced table."""

    table: str
    protocol: str
    study: str
    steps: int
    seeds: int
    cells: list[Cell]
    verdicts: list[Verdict]

    @property
    def compared(self) -> list[Cell]:
        """The cells that have a printed counterpart."""
        return [cell for cell in self.cells if cell.z is not None]

    @property
    def agree(self) -> int:
        """Number of compared cells within three standard errors of the printed ones."""
        return sum(abs(cell.z) <= 3 for cell in self.compared if cell.z is not None)

    @property
    def agree_in_print(self) -> int:
        """Number of compared cells that agree when allowing for the rounding of the printed numbers to three digits."""
        return sum(cell.agrees_in_print for cell in self.compared)

    def rows(self, text: Callable[[Cell, bool], str]) -> tuple[list[str], list[list[str]]]:
        """Names of columns, and one row for each α; `text` writes a cell, and is told whether it is the best there."""
        columns = list(dict.fromkeys((cell.method, cell.lam) for cell in self.cells))
        rows = []
        for alpha in dict.fromkeys(cell.alpha for cell in self.cells):
            line = {(cell.method, cell.lam): cell for cell in self.cells if cell.alpha == alpha}
            best = min(line.values(), key=lambda cell: cell.mean)
            rows.append([f"{alpha:g}", *(text(line[c], line[c] is best) for c in columns)])
        return ["α", *(f"λ = {lam:g}" if method == "fixed" else method for method, lam in columns)], rows


def table_named(name: str) -> str:
    """The name of a table, given its own name or that of its study."""
    for table, study in TABLES.items():
        if name in (table, study):
            return table
    raise ValueError(f"table must be one of {', '.join(TABLES.values())}, mountaincar, or all; got {name!r}")


def table_of(study: Study) -> str | None:
    """The table that a study, or its quick version, reproduces; None if there is none."""
    name = study.name.removesuffix("-quick")
    return next((table for table, remade in TABLES.items() if remade == name), None)


def methods_of(table: str, protocol: str) -> dict[str, str]:
    """The method of the study that corresponds to each printed name."""
    if protocol not in PROTOCOLS:
        raise ValueError(f"protocol must be one of {', '.join(PROTOCOLS)}; got {protocol!r}")
    return PROTOCOLS[protocol][table.partition("_")[0]]


def tuning_seeds(n: int) -> int:
    """The number of tuning seeds among `n` ≥ 4 seeds: a quarter."""
    if n < 4:
        raise ValueError(f"seeds must be at least 4, to choose and report on different seeds; got {n}")
    return n // 4


def reproduce(table: str, protocol: str, study: Study, results: pl.DataFrame) -> Reproduction:
    """A table, reproduced from a study's results."""
    printed = {(c.method, c.alpha, c.lam): c for c in thesis_tables() if c.table == table}
    methods = methods_of(table, protocol)
    seeds = _finished(study, list(methods.values()), results)
    fair, n = protocol == "like-for-like", len(seeds)
    runs = {name: _Runs(study, method, results, seeds, early=not fair) for name, method in methods.items()}
    tuning = tuning_seeds(n) if fair else 0
    cells: list[Cell] = []
    verdicts: list[Verdict] = []
    for alpha in study.grid["alpha"]:
        chosen: dict[str, Floats] = {}
        for name, run in runs.items():
            errors = run.errors(alpha)
            if fair:
                best, chosen[name] = choose(errors, range(tuning))
            else:
                best, chosen[name] = hindsight(errors, drop_diverged=True)
            for k in range(len(errors)) if name == "fixed" else [best]:
                setting = run.settings[k]
                beside = printed.get((name, alpha, setting.get("lam")))
                cells.append(_cell(run, alpha, name, k, tuning, beside))
        at = {key[0]: key for key in printed if key[1] == alpha and key[0] != "fixed"}
        best_printed = min((c.mean for (m, a, _), c in printed.items() if m == "fixed" and a == alpha), default=None)
        for name in runs:
            if name.startswith("META"):
                mine = printed[at[name]].mean if name in at else None
                rival = printed[at["greedy"]].mean if "greedy" in at else None
                for other, theirs in (("fixed", best_printed), ("greedy", rival)):
                    published = None if mine is None or theirs is None else mine < theirs
                    verdicts.append(_verdict(alpha, name, other, published, compare(chosen[name], chosen[other])))
    return Reproduction(table, protocol, study.name, study.length, n, cells, verdicts)


def _finished(study: Study, methods: list[str], results: pl.DataFrame) -> list[int]:
    """The seeds that all of these methods have run in all their cells."""
    seeds = set(study.numbers)
    for method in methods:
        count = results.filter(pl.col("method") == method).group_by("seed").len()
        seeds &= set(count.filter(pl.col("len") == len(study.cells(method)))["seed"].to_list())
        if not seeds:
            raise ValueError(f"results: {method} and the other methods have no finished seed in common")
    return sorted(seeds)


class _Runs:
    """A method's results as arrays: for each α, [setting, seed, …] with the seeds in order.

    With `early`, each of the curve's last points is replaced by the point before it.
    """

    def __init__(self, study: Study, method: str, results: pl.DataFrame, seeds: list[int], early: bool) -> None:
        self.learner = study.methods[method].learner
        axes = [axis for axis in study.methods[method].over if axis != "alpha"]
        self.settings: list[dict[str, Any]] = [
            dict(row) for row in dict.fromkeys(tuple((a, cell[a]) for a in axes) for cell in study.cells(method))
        ]
        mine = results.filter((pl.col("method") == method) & pl.col("seed").is_in(seeds)).sort("seed")
        self._axes, self._tail, self._points = axes, {}, {}
        for key, rows in mine.group_by("alpha", *axes, maintain_order=True):
            tail, curve = rows["tail"].to_numpy(), np.array(rows["curve"].to_list(), dtype=np.float64)
            self._points[key] = points = one_point_early(curve, study) if early else curve[:, -study.tail_points :]
            self._tail[key] = np.where(np.isfinite(tail), points.mean(axis=1), np.inf) if early else tail

    def key(self, alpha: float, k: int) -> tuple[Any, ...]:
        return (alpha, *(self.settings[k][axis] for axis in self._axes))

    def errors(self, alpha: float) -> Floats:
        """Final errors [setting, seed]."""
        return np.stack([self._tail[self.key(alpha, k)] for k in range(len(self.settings))])

    def point_std(self, alpha: float, k: int, first: int) -> float:
        """The standard deviation over runs that did not diverge, averaged over the last points."""
        points = self._points[self.key(alpha, k)][first:]
        points = points[np.isfinite(points).all(axis=1)]
        return float(points.std(axis=0, ddof=1).mean()) if len(points) > 1 else float("nan")


def one_point_early(curve: Floats, study: Study) -> Floats:
    """The point before each point of the tail [curve, point]; the first is interpolated if it was not stored."""
    n, kept = study.tail_points, study.read_at[study.stored_points]
    at = np.interp(np.concatenate([[0], study.read_at])[-n - 1], kept, np.arange(len(kept)))
    low, high = int(np.floor(at)), int(np.ceil(at))
    with np.errstate(invalid="ignore"):
        first = curve[:, low] ** (1 + low - at) * curve[:, high] ** (at - low)  # errors fall exponentially
    return np.column_stack([first, curve[:, -n:-1]])


def _cell(run: _Runs, alpha: float, name: str, k: int, first: int, beside: PublishedCell | None) -> Cell:
    setting, found = run.settings[k], summary(run.errors(alpha)[k, first:])
    std = run.point_std(alpha, k, first)
    z = None
    if beside is not None:
        ours = std / np.sqrt(max(found.n - found.diverged, 1)) if np.isfinite(std) else 0.0  # one run is left, or none
        z = float((found.mean - beside.mean) / np.hypot(ours, beside.std / np.sqrt(PUBLISHED_RUNS)))
    return Cell(
        alpha, name, setting.get("lam"), setting.get("kappa"), run.learner, found.mean, std, found.n, found.diverged,
        None if beside is None else beside.mean, None if beside is None else beside.std, z,
        found.error, found.low, found.high,
    )  # fmt: skip


def _verdict(alpha: float, name: str, other: str, published: bool | None, found: Comparison) -> Verdict:
    reproduced = "yes" if found.ratio_high < 1 else "no" if found.ratio_low > 1 else "undecided"
    return Verdict(
        alpha, name, other, published, reproduced, found.ratio, found.ratio_low, found.ratio_high, found.better
    )


def colours(values: Sequence[float]) -> list[tuple[int, int, int]]:
    """The thesis' colours: blue for the smallest error of a table, white for the median, red for the largest."""
    blue_white_red = np.array([[90, 138, 198], [252, 252, 255], [248, 105, 107]])
    some = np.where(np.isfinite(values), values, np.inf)
    finite = some[np.isfinite(some)]
    low, middle, high = (finite.min(), np.median(finite), finite.max()) if finite.size else (0.0, 0.0, 0.0)
    at = [low, middle, max(high, np.nextafter(middle, np.inf))]
    channels = [np.interp(some, at, channel).round().astype(int).tolist() for channel in blue_white_red.T]
    return list(zip(*channels, strict=True))


def tally(verdicts: Sequence[Verdict]) -> Mapping[str, dict[str, list[float]]]:
    """For each claim ("META beats the best fixed λ"): the α at which it is printed, reproduced, or not."""
    names = {"fixed": "the best fixed λ", "greedy": "λ-greedy"}
    found: dict[str, dict[str, list[float]]] = {}
    for v in verdicts:
        entry = found.setdefault(
            f"{v.method} beats {names[v.other]}", {"published": [], "yes": [], "no": [], "undecided": [], "printed": []}
        )
        entry[v.reproduced].append(v.alpha)
        if v.published is not None:
            entry["printed"].append(v.alpha)
            if v.published:
                entry["published"].append(v.alpha)
    return found

"""The comparison behind a study's headline: the best method against the best fixed λ."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np

from tdlambda.charts.style import setting
from tdlambda.lab.report.overview import CellView, Overview, paired
from tdlambda.lab.reproduction.cells import PROTOCOLS, methods_of, table_of, tuning_seeds
from tdlambda.lab.studies.statistics import Comparison, choose, compare, mean_interval

CLOSE, NEAR = 1.25, 1.1
"""An interval within [1/CLOSE, CLOSE] that contains 1 means "matched"; one within (1, NEAR] means "nearly"."""
MANY, FEW = 10, 6
"""Smallest numbers of pairs for "sure" and for any verdict; five pairs may agree by chance."""
_PROTOCOL_NAMES = {"published": "As published", "like-for-like": "Like for like"}


@dataclass(frozen=True)
class Side:
    """One side of a comparison: its best cell in hindsight, out of `cells`; its name and other settings."""

    name: str
    settings: str
    cell: CellView
    cells: list[CellView]

    @property
    def lost(self) -> bool:
        """Whether every run of this cell, and therefore of all cells, diverged."""
        return self.cell.diverged == self.cell.n

    def __str__(self) -> str:
        """The name with the settings."""
        return f"{self.name} ({self.settings})" if self.settings else self.name


@dataclass(frozen=True)
class Margin:
    """The margin between two sides: the ratio of their mean errors or, if it does not exist, their difference.

    It has a 95 % interval over `n` pairs of runs, without the `diverged` ones. Errors of 0 and negative costs have no
    ratio.
    """

    n: int
    diverged: int
    value: float
    low: float
    high: float
    relative: bool

    @property
    def verdict(self) -> str:
        """Result for the first side: "better", "worse", "nearly", "matched" or "undecided"."""
        even, close, near = (1.0, CLOSE, NEAR) if self.relative else (0.0, 0.0, 0.0)
        if self.n < FEW:
            return "undecided"
        if self.high < even:
            return "better"
        if self.low > even:
            return "nearly" if self.high <= near else "worse"
        least = 1 / close if self.relative else 0.0
        return "matched" if least <= self.low and self.high <= close else "undecided"


@dataclass(frozen=True)
class Contest:
    """The two sides that a study's headline is about, compared seed by seed.

    Attributes
    ----------
    method
        The best method whose λ is not fixed; the best of all methods if all have a fixed λ, or none has.
    rival
        The best fixed λ, or else the second-best method; None if there is no other.
    between
        What is compared: "fixed and others", "fixed" (one λ with another) or "others" (one method with another).
    among
        Number of methods, or of values of λ, among which `method` is the best.
    compared, margin
        The comparison and its margin; None without a rival.
    left_out
        Methods that are not compared, because their errors are measured against another truth.
    """

    method: Side
    rival: Side | None
    between: str
    among: int
    compared: Comparison | None
    margin: Margin | None
    left_out: list[str]

    @property
    def verdict(self) -> str:
        """Result for `method`: that of the margin, or "alone" if no rival. A side loses if all its runs diverged."""
        if self.rival is None or self.margin is None:
            return "alone"
        ours, theirs = self.method.lost, self.rival.lost
        if ours or theirs:
            return "undecided" if ours and theirs else "worse" if ours else "better"
        return self.margin.verdict

    @property
    def winner(self) -> Side | None:
        """The winning side; None if there is no rival or the comparison is undecided."""
        return {"better": self.method, "worse": self.rival, "nearly": self.rival}.get(self.verdict)


def groups(view: Overview) -> dict[str, list[str]]:
    """Groups of methods by name: the protocols of the thesis' tables, and all methods."""
    run = [name for name in view.study.methods if view.of(name)]
    found: dict[str, list[str]] = {}
    table = table_of(view.study)
    for protocol in PROTOCOLS if table else ():
        assert table is not None
        wanted = methods_of(table, protocol).values()
        some = [name for name in run if name in wanted]
        if len({view.kind(name) == "fixed" for name in some}) == 2:
            found[_PROTOCOL_NAMES[protocol]] = some
    return found | {"All methods": run}


def contest(view: Overview, methods: Sequence[str], measure: str = "tail") -> Contest:
    """The comparison of two sides, by the final error ("tail") or the area under the curve ("area")."""
    same = _same_truth(view, methods)
    left_out = [name for name in methods if name not in same]
    fixed = [name for name in same if view.kind(name) == "fixed"]
    others = [_side(view.named(name), view.of(name), measure) for name in same if name not in fixed]
    if fixed and others:
        between, cells = "fixed and others", [cell for name in fixed for cell in view.of(name)]
        first, rival = (
            _ranked(others, measure)[0],
            _side("the best fixed λ", cells, measure, view if len(fixed) > 1 else None),
        )
    else:
        between, some = ("fixed", _each_lambda(view, fixed, measure)) if fixed else ("others", others)
        first, *rest = _ranked(some, measure)
        if not rest:
            return Contest(first, None, between, 1, None, None, left_out)
        others, rival = some, rest[0]
    compared = view.compare(first.cell, rival.cell, measure)
    return Contest(
        first, rival, between, len(others), compared, _margin(compared, first.cell, rival.cell, measure), left_out
    )


def held_out(ours: Sequence[CellView], theirs: Sequence[CellView], measure: str = "tail") -> Comparison | None:
    """The comparison on three quarters of the seeds of cells chosen on the others; None with fewer than 8 seeds."""
    seeds = reduce(np.intersect1d, [cell.runs["seed"] for cell in (*ours, *theirs)])
    if seeds.size < 8:
        return None
    errors = [np.array([c.runs[measure][np.isin(c.runs["seed"], seeds)] for c in cells]) for cells in (ours, theirs)]
    tuning = range(tuning_seeds(seeds.size))
    return compare(choose(errors[0], tuning)[1], choose(errors[1], tuning)[1])


def _same_truth(view: Overview, methods: Sequence[str]) -> list[str]:
    """The methods that can be compared: those with the most common truth, or the exact one in a tie."""
    truths = [view.study.methods[name].truth for name in methods]
    most = max(truths, key=lambda truth: (truths.count(truth), truth == "exact"))
    return [name for name, truth in zip(methods, truths, strict=True) if truth == most]


def _each_lambda(view: Overview, fixed: Sequence[str], measure: str) -> list[Side]:
    """One side for each λ of each method."""
    found: dict[str, list[CellView]] = {}
    for name in fixed:
        for cell in view.of(name):
            lam = f"λ = {setting(cell.settings['lam'])}" if "lam" in cell.settings else ""
            parts = [view.named(name)] * (len(fixed) > 1 or not lam) + [lam] * bool(lam)
            found.setdefault(", ".join(parts), []).append(cell)
    return [_side(name, cells, measure, without=("lam",)) for name, cells in found.items()]


def _side(
    name: str, cells: list[CellView], measure: str, view: Overview | None = None, without: Sequence[str] = ()
) -> Side:
    """The side with the best of several cells; with a `view`, its description names the cell's method."""
    best = min(cells, key=lambda cell: cell.rank(measure))
    said = [view.named(best.method)] if view is not None else []
    said.append(best.described(without))
    return Side(name, ", ".join(filter(None, said)), best, cells)


def _ranked(sides: Sequence[Side], measure: str) -> list[Side]:
    """The sides, best first."""
    return sorted(sides, key=lambda side: side.cell.rank(measure))


def _margin(compared: Comparison, a: CellView, b: CellView, measure: str) -> Margin:
    pairs, lost = compared.n, compared.diverged
    if np.isfinite(compared.ratio_low) or (pairs == 1 and 0 < compared.ratio < np.inf):
        return Margin(pairs, lost, compared.ratio, compared.ratio_low, compared.ratio_high, True)
    return difference(compared, a, b, measure)


def difference(compared: Comparison, a: CellView, b: CellView, measure: str) -> Margin:
    """The paired difference of two cells."""
    mine, theirs = paired(a, b, measure)
    both = np.isfinite(mine) & np.isfinite(theirs)
    apart = mine[both] - theirs[both]
    mean = float(apart.mean()) if apart.size else np.nan
    low, high = mean_interval(apart) if apart.size > 1 else (np.nan, np.nan)
    return Margin(compared.n, compared.diverged, mean, low, high, False)

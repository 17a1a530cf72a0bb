"""Rows of the figure "each method at its best": settings chosen on a quarter of the seeds, curves of the others."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tdlambda.charts.style import colour
from tdlambda.charts.tidy import band, mean_over_runs
from tdlambda.lab.report.overview import CellView, Overview
from tdlambda.lab.report.tidy_rows import Row
from tdlambda.lab.reproduction.cells import tuning_seeds
from tdlambda.lab.studies.statistics import choose, hindsight

FEWEST = 8
"""With fewer seeds, settings are chosen on the seeds that are shown, and the label says so."""


def at_best(view: Overview, methods: Sequence[str], measure: str, kept: Sequence[int]) -> list[Row]:
    """One row per method and point of its curve, on the seeds that did not choose its settings."""
    rows: list[Row] = []
    for name in methods:
        cells = view.of(name)
        best, seeds, apart = _chosen(cells, measure)
        curves = best.runs["curve"][seeds]
        alive = np.isfinite(curves).all(axis=1)
        lost, steps = int((~alive).sum()), view.curve_steps[list(kept)]
        if not alive.any():
            continue
        mean, error, n = mean_over_runs(curves[alive][:, list(kept)])
        low, high = band(mean, error, n, view.positive)
        said = [f"{view.named(name)}: {best.described()}".removesuffix(": ")]
        said += [f"{lost} of {len(seeds)} runs diverged"] * bool(lost) + ["chosen in hindsight"] * (not apart)
        look = {"series": ", ".join(said), "method": name, "colour": colour(name, list(view.study.methods))}
        rows += [
            look | {"step": step, "mean": m, "low": a, "high": b, "measure": measure, "n": int(alive.sum())}
            for step, m, a, b in zip(steps.tolist(), mean.tolist(), low.tolist(), high.tolist(), strict=True)
        ]
    return rows


def _chosen(cells: Sequence[CellView], measure: str) -> tuple[CellView, list[int], bool]:
    """The best cell, the places of the seeds to report it on, and whether others chose it."""
    seeds = sorted(set.intersection(*(set(cell.runs["seed"].tolist()) for cell in cells)))
    place = [{seed: k for k, seed in enumerate(cell.runs["seed"].tolist())} for cell in cells]
    errors = [[cell.runs[measure][where[seed]] for seed in seeds] for cell, where in zip(cells, place, strict=True)]
    if len(seeds) >= FEWEST:
        tuning = tuning_seeds(len(seeds))
        best, reported = choose(errors, range(tuning))[0], seeds[tuning:]
    else:
        best, reported = hindsight(errors)[0], seeds
    return cells[best], [place[best][seed] for seed in reported], len(seeds) >= FEWEST

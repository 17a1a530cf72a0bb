"""What the page shows of a study, as plain data: aggregated, rounded, and small enough to embed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import astuple
from typing import Any

import numpy as np
from matplotlib import colormaps
from matplotlib.colors import to_hex, to_rgb

from tdlambda.arrays import Floats
from tdlambda.report.contest import groups
from tdlambda.report.findings import findings, z_of
from tdlambda.report.motion import Layout, Motion, layout, motions
from tdlambda.report.overview import MEASURES, CellView, Overview
from tdlambda.report.palette import colour, shades
from tdlambda.report.wording import AXES, explained, measure_name, settings_of
from tdlambda.studies.statistics import sensitivity

CURVE_POINTS = 64


def page_data(view: Overview, manifest: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """One study as data for the page; `manifest` is that of its directory, for the versions and the machine."""
    study = view.study
    methods = [name for name in study.methods if view.of(name)]
    kept = _thinned(view.curve_steps, study.length)
    lam_layout, moved = _learned(view, methods)
    return {
        "name": study.name, "title": study.title, "task": study.task, "preset": study.preset, "steps": study.length,
        "unit": study.unit, "score": study.score,
        "seeds": len(view.seeds), "done": view.done, "wanted": view.wanted,
        "warmUp": round(study.warm_up * study.steps), "tailPoints": study.tail_points, "points": study.points,
        "printedSteps": view.printed_steps, "byEye": view.by_eye,
        "control": study.kind == "control", "quantity": study.quantity, "explained": explained(study, ""),
        "measures": {measure: measure_name(study, measure) for measure in MEASURES},
        "alphas": view.alphas, "axes": {axis: AXES.get(axis, axis) for axis in study.grid},
        "methods": [_method(view, name) for name in methods],
        "lambdaColours": _lambda_colours(view),
        "curveSteps": view.curve_steps[kept].tolist(),
        "cells": [_cell(view, cell, kept, lam_layout) for cell in view.cells],
        "published": list(_published(view)),
        "groups": [
            {"name": name, "methods": some, "found": {measure: _found(view, some, measure) for measure in MEASURES}}
            for name, some in groups(view).items()
        ],
        "comparisons": [row for measure in MEASURES for row in _comparisons(view, methods, measure)],
        "stretches": [row for measure in MEASURES for row in _stretches(view, methods, measure)],
        "layout": _plain_layout(lam_layout),
        "motions": [_motion(motion) for motion in moved],
        "about": _about(view, manifest or {}),
    }  # fmt: skip


def short(x: float, digits: int = 6) -> float | None:
    """A number with so many digits; None where there is none.

    >>> short(0.123456789), short(float("inf"))
    (0.123457, None)
    """
    return float(f"{x:.{digits}g}") if np.isfinite(x) else None


def _method(view: Overview, name: str) -> dict[str, Any]:
    declared, cells = view.study.methods[name], view.of(name)
    light = colour(name, list(view.study.methods))
    return {
        "name": name, "about": declared.about, "learner": declared.learner, "rule": view.rule(name),
        "truth": declared.truth, "kind": view.kind(name), "axes": list(declared.over), "colour": [light, dark(light)],
        "seeds": max(cell.n for cell in cells), "runs": sum(cell.n for cell in cells),
        "diverged": sum(cell.diverged for cell in cells),
    }  # fmt: skip


def _cell(view: Overview, cell: CellView, kept: list[int], lam_layout: Layout | None) -> dict[str, Any]:
    live = lam_layout.live if lam_layout and view.kind(cell.method) == "tuned" else []
    return {
        "m": cell.method, "s": cell.settings, "n": cell.n, "d": cell.diverged,
        **{measure: [short(x) for x in astuple(cell.measured(measure))] for measure in MEASURES},
        "c": [short(x, 5) for x in cell.curve[kept]], "e": [short(x, 3) for x in cell.curve_half[kept]],
        "l": [short(x, 3) for x in cell.lambdas[live]],
    }  # fmt: skip


def _published(view: Overview) -> Iterator[dict[str, Any]]:
    for printed in view.published:
        beside = z_of(view, printed)
        yield {
            "m": printed.method, "alpha": printed.alpha, "lam": printed.lam, "mean": printed.mean,
            "spread": printed.uncertainty if printed.by_eye else printed.std,
            "z": short(beside[1], 3) if beside and view.study.steps == view.printed_steps else None,
        }  # fmt: skip


def _found(view: Overview, methods: Sequence[str], measure: str) -> dict[str, Any]:
    found = findings(view, methods, measure)
    return {
        "verdict": found.contest.verdict, "headline": found.headline,
        "which": vars(found.which), "better": vars(found.better), "sure": vars(found.sure),
        "best": found.best.method, "alpha": found.contest.method.cell.alpha or found.best.alpha,
    }  # fmt: skip


def _comparisons(view: Overview, methods: Sequence[str], measure: str) -> Iterator[dict[str, Any]]:
    """Each method against those before it with the same truth: both at their best, at one α and over all."""
    for alpha in (None, *view.alphas):
        best = {name: view.best(name, alpha, measure) for name in methods if view.of(name, alpha)}
        for place, (a, one) in enumerate(best.items()):
            for b, two in list(best.items())[:place]:
                if view.study.methods[a].truth == view.study.methods[b].truth:
                    n, lost, *rest = astuple(view.compare(one, two, measure))
                    yield {
                        "measure": measure, "alpha": alpha, "a": a, "b": b, "n": n, "d": lost,
                        "r": [short(x, 4) for x in rest],
                    }  # fmt: skip


def _stretches(view: Overview, methods: Sequence[str], measure: str, factor: float = 2.0) -> Iterator[dict[str, Any]]:
    """For each method, from where to where in α its best cell stays within `factor` of its best."""
    for name in methods:
        alphas = sorted({c.alpha for c in view.of(name) if c.alpha is not None})
        if len(alphas) < 2 or alphas[0] <= 0:
            continue
        means = [view.best(name, alpha, measure).measured(measure).mean for alpha in alphas]
        best = int(np.argmin(means))
        within = [np.isfinite(mean) and mean <= factor * means[best] for mean in means]
        first = last = best
        while first > 0 and within[first - 1]:
            first -= 1
        while last < len(alphas) - 1 and within[last + 1]:
            last += 1
        yield {
            "measure": measure, "m": name, "best": alphas[best], "first": alphas[first], "last": alphas[last],
            "decades": short(sensitivity(alphas, means, factor), 4),
        }  # fmt: skip


def _learned(view: Overview, methods: Sequence[str]) -> tuple[Layout | None, list[Motion]]:
    """How λ lies, and how it moved at the best cell of each method that tunes it."""
    cells = [view.best(name) for name in methods if view.kind(name) == "tuned"]
    if not cells:
        return None, []
    where = layout(view.study, cells[0].method, cells[0].lambdas.size)
    try:
        return where, motions(view.study, cells, where.live)
    except (ImportError, TypeError, ValueError):  # its task or learner is not to be had here
        return where, []


def _plain_layout(where: Layout | None) -> dict[str, Any] | None:
    if where is None:
        return None
    points = None if where.points is None else [[short(x, 4) for x in point] for point in where.points]
    return {
        "kind": where.kind,
        "live": where.live,
        "columns": where.columns,
        "points": points,
        "axes": where.axes,
        "tile": where.tile,
    }


def _motion(motion: Motion) -> dict[str, Any]:
    return {
        "m": motion.cell.method, "at": settings_of(motion.cell), "seed": motion.seed, "steps": motion.steps.tolist(),
        "l": [[short(x, 3) for x in row] for row in motion.lambdas],
    }  # fmt: skip


def _about(view: Overview, manifest: Mapping[str, Any]) -> dict[str, str]:
    versions, machine = manifest.get("versions", {}), manifest.get("machine", {})
    said = {
        "study": view.study.name,
        "task": view.study.task + (f", {view.study.preset}" if view.study.preset else ""),
        "runs": f"{len(view.seeds)} of {view.study.seeds} seeds, {view.study.length:,} {view.study.unit} each",
        "state": f"{view.done:,} of {view.wanted:,} units done (a unit is a method on a seed)"
        + (f"; not run: {', '.join(view.not_run)}" if view.not_run else ""),
        "begun with": ", ".join(f"{name} {number}" for name, number in versions.items()),
        "machine": ", ".join(str(value) for value in machine.values()),
        "manifest of": str(manifest.get("written", "")),
        "source": str(manifest.get("source", "")),
    }
    return {name: text for name, text in said.items() if text}


def _lambda_colours(view: Overview) -> list[list[Any]]:
    """Each fixed λ with a colour on light and one on dark ground."""
    values = sorted({c.settings["lam"] for c in view.cells if isinstance(c.settings.get("lam"), int | float)})
    on_dark = [to_hex(colormaps["viridis"](x)) for x in np.linspace(0.3, 1.0, len(values))]
    return [list(row) for row in zip(values, shades(values), on_dark, strict=True)]


def dark(light: str) -> str:
    """The same colour for a dark ground: mixed with white until it stands out.

    >>> dark("#000000"), dark("#56B4E9")
    ('#b8b8b8', '#56b4e9')
    """
    r, g, b = to_rgb(light)
    luminance = 0.2126 * r + 0.7152 * g + 0.0722 * b
    share = min(0.8, 1.6 * max(0.0, (0.45 - luminance) / (1 - luminance)))
    return to_hex((r + share * (1 - r), g + share * (1 - g), b + share * (1 - b)))


def _thinned(steps: Any, last: int) -> list[int]:
    """Which points of the learning curve to embed: at most so many, closer together in the beginning, and the last."""
    if len(steps) <= CURVE_POINTS:
        return list(range(len(steps)))
    wanted: Floats = last * np.linspace(0, 1, CURVE_POINTS) ** 1.5
    return sorted({int(np.abs(steps - at).argmin()) for at in wanted})

"""A study's results as tidy rows for charts and tables, for every group, measure and α."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import astuple
from typing import Any

import numpy as np

from tdlambda.charts.style import AXES, number, setting
from tdlambda.lab.report.contest import difference, groups
from tdlambda.lab.report.findings import z_of
from tdlambda.lab.report.observation_layout import ObservationLayout
from tdlambda.lab.report.overview import MEASURES, CellView, Overview, Printed
from tdlambda.lab.report.series import Series, by_lambda, look, series_of
from tdlambda.lab.studies.statistics import sensitivity, stretch


def places(view: Overview) -> list[float | None]:
    """The step sizes; [None] if the study does not vary α."""
    return [*view.alphas] or [None]


BEST = "best"
"""Stands for α where each method is taken at its own best."""
Row = dict[str, Any]


def errors(view: Overview) -> list[Row]:
    """A row for each group, measure, series and α."""
    printed = {(p.method, p.alpha, p.lam): p for p in view.published}
    return [
        _error(view, group, measure, one, alpha, cell, printed)
        for group, methods in groups(view).items()
        for one in series_of(view, methods)
        for measure in MEASURES
        for alpha in places(view)
        if (cell := one.at(alpha, measure)) is not None
    ]


def _error(
    view: Overview, group: str, measure: str, one: Series, alpha: float | None, cell: CellView,
    printed: dict[tuple[str, float, float | None], Printed],
) -> Row:  # fmt: skip
    found = cell.measured(measure)
    return {
        "group": group, "measure": measure, "key": one.key, "series": one.label, "label": one.label,
        "method": cell.method, "own": one.method is not None, **one.look, "x": alpha,
        "at": "–" if alpha is None else setting(alpha),
        "tuned": one.method is not None and view.kind(cell.method) == "tuned", "cell": view.cells.index(cell),
        **{axis: cell.settings.get(axis) for axis in view.study.grid}, "alpha": alpha,
        **measured(cell, measure), "std": found.std,
        **(_published(view, one, alpha, printed) if measure == "tail" else _NONE),
    }  # fmt: skip


_NONE: Row = {"published": None, "spread": None, "off": None, "z": None, "old": None, "printed": None}


def _published(
    view: Overview, one: Series, alpha: float | None,
    printed: dict[tuple[str, float, float | None], Printed],
) -> Row:  # fmt: skip
    """The published value of a series at an α."""
    lam = one.cells[0].settings.get("lam") if one.method and by_lambda(view, one.method) else None
    found = printed.get((one.method or "", alpha or 0.0, lam))
    if found is None:
        return _NONE
    beside = z_of(view, found)
    z = beside[1] if beside and view.study.length == view.printed_steps else None
    spread = found.uncertainty if found.by_eye or found.std is None else found.std
    said = f"{number(found.mean)} ± {number(spread)}" + ("" if z is None else f" (z = {z:.1f})")
    off = spread if found.by_eye else None
    return {"published": found.mean, "spread": spread, "off": off, "z": z, "old": number(found.mean), "printed": said}


def measured(cell: CellView, measure: str) -> Row:
    """The mean of a cell with its interval, as numbers and as text."""
    found, lost = cell.measured(measure), cell.diverged
    there = np.isfinite(found.low)
    return {
        "n": cell.n, "diverged": lost, "mean": found.mean, "low": found.low, "high": found.high,
        "text": "∞" if np.isinf(found.mean) else number(found.mean), "settings": cell.described(),
        "interval": f"{number(found.low)} to {number(found.high)}" if there else None,
        "lost": f"{lost} of {cell.n}, left out" if lost else None,
    }  # fmt: skip


def parameters(view: Overview) -> list[Row]:
    """A row for the best cell at each value of each parameter of a method other than α and λ, such as κ."""
    out: list[Row] = []
    for axis in (name for name in view.study.grid if name not in ("alpha", "lam")):
        varied = [m for m in view.study.methods if axis in view.study.methods[m].over and view.of(m)]
        for method in varied:
            for alpha in places(view):
                here = view.at(method, alpha)
                values = sorted({v for c in here if isinstance(v := c.settings[axis], int | float)})
                for value, measure in ((v, m) for v in values if len(values) > 1 for m in MEASURES):
                    cell = min((c for c in here if c.settings[axis] == value), key=lambda c: c.rank(measure))
                    out.append(_at_value(view, axis, value, method, alpha, measure, cell))
        out += list(_beside(view, axis, varied, [row["value"] for row in out if row["parameter"] == axis]))
    return out


def _beside(view: Overview, axis: str, varied: Sequence[str], values: Sequence[float]) -> Iterator[Row]:
    """Horizontal lines for methods without the parameter."""
    for method in (m for m in view.study.methods if m not in varied and view.of(m) and values):
        for alpha in places(view):
            here = view.at(method, alpha)
            for measure in MEASURES if here else ():
                cell = min(here, key=lambda c: c.rank(measure))
                for value in sorted({min(values), max(values)}):
                    row = _at_value(view, axis, value, method, alpha, measure, cell)
                    yield row | {"dash": [2, 3], "width": 1.5}


def _at_value(
    view: Overview, axis: str, value: float, method: str, alpha: float | None, measure: str, cell: CellView
) -> Row:
    name = label(view, method)
    return {
        "parameter": axis, "name": AXES.get(axis, axis), "value": value, "x": value, "key": method, "method": method,
        "series": name, "label": name, **look(view, method), "alpha": alpha, "measure": measure,
        **measured(cell, measure), "std": cell.measured(measure).std,
    }  # fmt: skip


def comparisons(view: Overview, methods: Sequence[str]) -> Iterator[Row]:
    """A row for each ordered pair of methods with the same truth: at each α, and each method at its best."""
    for measure in MEASURES:
        for alpha in (None, *view.alphas):
            best = {name: view.best(name, alpha, measure) for name in methods if view.of(name, alpha)}
            for a, one in best.items():
                for b, two in best.items():
                    if a != b and view.study.methods[a].truth == view.study.methods[b].truth:
                        yield _compared(view, measure, BEST if alpha is None else alpha, (a, one), (b, two))


def _compared(view: Overview, measure: str, at: Any, a: tuple[str, CellView], b: tuple[str, CellView]) -> Row:
    compared = view.compare(a[1], b[1], measure)
    n, lost, ratio, low, high, better, b_low, b_high = astuple(compared)
    if not view.positive:
        apart = difference(compared, a[1], b[1], measure)
        ratio, low, high = apart.value, apart.low, apart.high
    bound = _bound if view.positive else float
    there, sure = np.isfinite(ratio), np.isfinite(low)
    said = f"{number(ratio)} ({number(low)} to {number(high)}), better in {better:.0%}"
    alone = (f"{number(ratio)}, " if there else "") + f"no interval (n = {n})"
    return {
        "measure": measure, "at": at, "method": a[0], "reference": b[0], "key": a[0], "series": label(view, a[0]),
        "label": label(view, a[0]), "against": label(view, b[0]), **look(view, a[0]), "shape": shape(view, a[0]),
        "mid": bound(ratio), "low": bound(low) if sure else None, "high": bound(high) if sure else None,
        "text": said if sure else alone, "short": said.partition(",")[0] if sure else alone,
        "ratio": ratio, "ratio_low": low, "ratio_high": high,
        "interval": f"{number(low)} to {number(high)}" if sure else None, "better": f"{better:.0%}" if there else None,
        "share": better, "share_low": b_low, "share_high": b_high, "n": n, "diverged": lost,
        "lost": f"{lost}, left out" if lost else None,
    }  # fmt: skip


def stretches(view: Overview, methods: Sequence[str], factor: float = 2.0) -> Iterator[Row]:
    """For each method, the range of α within which its error stays within `factor` (at least 1) times its best."""
    for name in methods if view.positive else ():
        alphas = sorted({c.alpha for c in view.of(name) if c.alpha is not None})
        if len(alphas) < 2 or alphas[0] <= 0:
            continue
        for measure in MEASURES:
            means = [view.best(name, alpha, measure).measured(measure).mean for alpha in alphas]
            first, best, last = stretch(np.array(means), factor)
            decades = sensitivity(alphas, means, factor)
            yield {
                "measure": measure, "method": name, "key": name, "series": label(view, name),
                "label": label(view, name),
                **look(view, name), "shape": shape(view, name), "low": alphas[first], "mid": alphas[best],
                "high": alphas[last], "open_low": first == 0, "open_high": last == len(alphas) - 1, "decades": decades,
                "text": f"{number(10**decades)}-fold ({decades:.2f} decades)",
                "short": f"{number(10**decades)}-fold", "best": setting(alphas[best]),
                "about": f"α from {setting(alphas[first])} to {setting(alphas[last])}",
            }  # fmt: skip


def diverged(view: Overview, methods: Sequence[str]) -> Iterator[Row]:
    """The share of diverged runs, for each method and each α with any."""
    lost = [name for name in methods if any(cell.diverged for cell in view.of(name))]
    for alpha in places(view):
        here = {name: view.at(name, alpha) for name in lost}
        if any(cell.diverged for cells in here.values() for cell in cells):
            for name, cells in here.items():
                d, n = sum(c.diverged for c in cells), sum(c.n for c in cells)
                yield {
                    "method": name, "key": name, "series": view.named(name), "alpha": alpha,
                    "at": "–" if alpha is None else setting(alpha), "diverged": d, "runs": n, "share": d / max(n, 1),
                    "text": f"{d} of {n}",
                }  # fmt: skip


def motions(view: Overview, where: ObservationLayout | None, methods: Sequence[str]) -> Iterator[Row]:
    """λ over time, as recorded, of the best cell of each method that tunes λ."""
    steps = view.study.moments
    evenly, by_ratio = (steps[1:] + steps[:-1]) / 2, np.sqrt(1.0 * steps[1:] * steps[:-1])
    begins = [0.0, *evenly.tolist()] if view.study.warm_up else [float(steps[0]), *by_ratio.tolist()]
    ends = [*begins[1:], float(steps[-1])]
    for name in methods if where else ():
        cell = view.best(name)
        if cell.motion is None or view.kind(name) != "tuned":
            continue
        one = {"method": name, "key": name, "series": view.named(name), "label": view.named(name), **look(view, name)}
        one |= {"settings": cell.described(), "seed": view.study.numbers[0]}
        assert where is not None
        for k, (step, lams) in enumerate(zip(steps.tolist(), cell.motion[:, where.live], strict=True)):
            if many(where):
                low, mid, high = np.quantile(lams, (0.1, 0.5, 0.9))
                yield one | {"step": step, "x": step, "mean": mid, "low": low, "high": high}
            else:
                for state, lam in zip(where.live, lams.tolist(), strict=True):
                    yield one | {"step": step, "begin": begins[k], "end": ends[k], "state": state, "lam": round(lam, 3)}


def policies(view: Overview, methods: Sequence[str]) -> Iterator[Row]:
    """The best cell of each method at each α, whose policy is shown, in studies that recorded policies."""
    for name in methods:
        for alpha in places(view):
            here = [c for c in view.at(name, alpha) if c.policy is not None]
            for measure in MEASURES if here else ():
                cell = min(here, key=lambda c: c.rank(measure))
                yield {
                    "measure": measure, "method": name, "key": name, "series": label(view, name), "alpha": alpha,
                    "settings": cell.described(), "runs": cell.n - cell.diverged, "cell": view.cells.index(cell),
                }  # fmt: skip


def many(where: ObservationLayout) -> bool:
    """Whether there are too many observations for one row each."""
    return len(where.live) > 40


def _bound(ratio: float) -> float | None:
    return min(max(ratio, 0.01), 100.0) if ratio > 0 else None


def label(view: Overview, method: str) -> str:
    """The name of a method in charts that show only its best cell."""
    return f"best {view.named(method)}" if by_lambda(view, method) else view.named(method)


def shape(view: Overview, method: str) -> str:
    """The shape of a method's points."""
    some = [one for one in series_of(view, [m for m in view.study.methods if view.of(m)]) if one.key == method]
    return str(some[0].look["shape"]) if some else "circle"

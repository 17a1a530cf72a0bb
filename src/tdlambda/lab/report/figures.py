"""The charts of a study: their rows, the choices they depend on, and drawing them for a page or for print.

from tdlambda.lab.report.overview import overview
from tdlambda.lab.report.figures import chart, write_figures

view = overview("results/ringworld-0.40-0.35")
chart(view, "u", measure="area")                        # displayed by a notebook
write_figures(view, Path("figures"), "pdf")             # all of them
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from tdlambda import charts
from tdlambda.charts.saving import FORMATS
from tdlambda.lab.report import tidy_rows
from tdlambda.lab.report.at_best_rows import at_best
from tdlambda.lab.report.contest import groups
from tdlambda.lab.report.findings import findings
from tdlambda.lab.report.observation_layout import ObservationLayout, layout
from tdlambda.lab.report.overview import MEASURES, CellView, Overview, explained, measure_name
from tdlambda.lab.report.series import series_of
from tdlambda.lab.report.tidy_rows import BEST, Row

CURVE_POINTS = 64
SIZED = ("best", "u", "learning")
"""Figures whose width can be chosen."""
LISTED = {"keys": "key", "methods": "method"}
"""Choices that select several values, and the column of those values."""


@dataclass(frozen=True)
class Figure:
    """A figure of a study.

    Attributes
    ----------
    data
        Name of its rows; figures with the same rows share them.
    rows
        All rows, to choose from.
    follows
        Choices that select rows: "group", "measure", "alpha", "at", "reference", and `LISTED`.
    chart
        Function that draws the chosen rows; None for a table that the page writes itself.
    columns
        Headings and columns of its table and its CSV file.
    panels
        Column with a separate chart for each value.
    lists
        Columns that contain lists: the name of an item, and the place of the list, `cells` or `constants`.
    """

    data: str
    rows: list[Row]
    follows: tuple[str, ...]
    chart: Callable[..., Any] | None
    columns: Mapping[str, str]
    panels: str = ""
    lists: Mapping[str, str] = field(default_factory=dict)
    constants: Mapping[str, list[Any]] = field(default_factory=dict)
    only: str = ""
    """Column that must be true in the rows shown; "" for all rows."""

    def chosen(self, choice: Mapping[str, Any], cells: Mapping[int, Row]) -> list[Row]:
        """The rows of a choice, with lists expanded into rows."""
        some = [row for row in self.rows if all(_fits(row, name, choice[name]) for name in self.follows)]
        return [one for row in some if not self.only or row[self.only] for one in self._items(row, cells)]

    def _items(self, row: Row, cells: Mapping[int, Row]) -> Iterator[Row]:
        if not self.lists:
            yield row
            return
        held = {**cells[row["cell"]], **self.constants}
        for items in zip(*(held[source] for source in self.lists.values()), strict=True):
            yield row | dict(zip(self.lists, items, strict=True))


def _fits(row: Row, name: str, wanted: Any) -> bool:
    return row[LISTED[name]] in wanted if name in LISTED else bool(row[name] == wanted)


@dataclass(frozen=True)
class DrawnFigures:
    """All figures of a study, by name, and the cells whose curves and λ they show."""

    view: Overview
    where: ObservationLayout | None
    points: list[int]
    figures: dict[str, Figure]
    cells: dict[int, Row]

    def choice(self, group: str | None = None, measure: str = "tail", alpha: float | None = None) -> dict[str, Any]:
        """The initial choice: the first group, at the α of its headline."""
        if measure not in MEASURES:
            raise ValueError(f"measure must be one of {', '.join(MEASURES)}; got {measure!r}")
        some = groups(self.view)
        name = next(iter(some)) if group is None else group
        if name not in some:
            raise ValueError(f"group must be one of {', '.join(some)}; got {name!r}")
        found = findings(self.view, some[name], measure)
        if alpha is None:
            alpha = found.contest.method.cell.alpha or found.best.alpha
        return {
            "group": name, "measure": measure, "alpha": alpha, "at": BEST, "reference": found.best.method,
            "keys": [one.key for one in series_of(self.view, some[name])], "methods": list(some[name]),
        }  # fmt: skip

    def chart(self, name: str, choice: Mapping[str, Any], **options: Any) -> Any | None:
        """The chart of a figure for a choice; None if there is nothing to draw. `options` are passed to the chart."""
        figure = self.figures[name]
        some = figure.chosen(choice, self.cells)
        if figure.chart is None or not some:
            return None
        if self.view.study.length != self.view.printed_steps:  # the published values are for runs of another length
            some = [row | {"published": None, "old": None} for row in some]
        if name == "paired":
            options["reference"] = some[0]["against"]
        return charts.panels(figure.chart, some, figure.panels) if figure.panels else figure.chart(some, **options)


def drawn(view: Overview) -> DrawnFigures:
    """All figures of a study."""
    run = [name for name in view.study.methods if view.of(name)]
    where = _where(view, run)
    points, errors = _thinned(view.curve_steps, view.study.length), tidy_rows.errors(view)
    shown = sorted({row["cell"] for row in errors})
    cells = {k: _cell(view, view.cells[k], points, where) for k in shown}
    return DrawnFigures(view, where, points, dict(_figures(view, run, errors, points, where)), cells)


BY_ERROR = ("group", "measure", "keys")
"""The controls that figures of errors follow."""
NUMBERS = {name: name for name in ("n", "diverged", "mean", "low", "high")}


def _figures(
    view: Overview, run: list[str], errors: list[Row], points: list[int], where: ObservationLayout | None
) -> Iterator[tuple[str, Figure]]:
    """Every figure of a study by name, in the order of the page."""
    yield from _of_errors(view, run, errors, points)
    if where is not None:
        yield from _of_states(view, run, errors, where)
    yield from _of_comparisons(view, run)


def _of_errors(view: Overview, run: list[str], errors: list[Row], points: list[int]) -> Iterator[tuple[str, Figure]]:
    """Errors at the end and in time."""
    study, axes = view.study, list(dict.fromkeys(["alpha", *view.study.grid]))
    final = measure_name(study, "tail")
    own = {axis: axis for axis in axes}
    spread = "published_uncertainty" if view.by_eye else "published_std"
    full = {"series": "series", "method": "method", **own, "measure": "measure", **NUMBERS, "std": "std",
            "published_mean": "published", spread: "spread", "z": "z"}  # fmt: skip
    log, over_alpha = view.positive, bool(view.alphas) and view.alphas[0] > 0
    u: Callable[[list[Row]], Any] = (
        partial(charts.u_curves, y=final, log=log) if over_alpha else partial(_without_alpha, x=final, log=log)
    )
    best = [row for measure in MEASURES for row in at_best(view, run, measure, points)]
    yield "best", Figure(
        "best", best, ("methods", "measure"),
        partial(charts.at_best, y=explained(study, study.quantity), unit=study.unit, log=log),
        {"method": "method", "settings": "series", "measure": "measure", "n": "n", "step": "step", "mean": "mean",
         "low": "low", "high": "high"},
    )  # fmt: skip
    yield "u", Figure("errors", errors, BY_ERROR, u, full)
    yield "learning", Figure(
        "errors", errors, (*BY_ERROR, "alpha"),
        partial(charts.learning_curves, y=explained(study, study.quantity), unit=study.unit, log=(False, log),
                warm_up=round(study.warm_up * study.length)),
        {"series": "series", "method": "method", **own, "n": "n", "diverged": "diverged", "step": "step",
         "mean": "mean", "low": "low", "high": "high"},
        lists={"step": "steps", "mean": "curve", "low": "curve_low", "high": "curve_high"},
        constants={"steps": view.curve_steps[points].tolist()},
    )  # fmt: skip
    yield "heat", Figure("errors", errors, BY_ERROR, charts.error_table, full, only="own")


def _of_states(
    view: Overview, run: list[str], errors: list[Row], where: ObservationLayout
) -> Iterator[tuple[str, Figure]]:
    """Policies and λ by state."""
    study = view.study
    place = "state" if where.axes is None else "observation"
    tuned = {"method": "method", "alpha": "alpha", "settings": "settings", "n": "n", place: "state", "lambda": "lam"}
    tiles, size = where.kind == "map", (250, where.height)
    sides = {} if where.tiles is None else dict(
        zip(("left", "right", "low", "high"), where.tiles.T.tolist(), strict=True))  # fmt: skip
    sides |= {} if where.ends is None else {"ends": where.ends}
    held = {"state": "places", **{side: f"tile_{side}" for side in sides}}
    constants = {"places": where.names, **{f"tile_{side}": some for side, some in sides.items()}}
    acted = list(tidy_rows.policies(view, run)) if where.kind != "observations" else []
    if acted:
        yield "policy", Figure(
            "policies", acted, ("methods", "measure", "alpha"),
            partial(charts.policy_tiles, actions=where.actions, axes=where.axes, size=size) if tiles
            else partial(charts.policy_states, actions=where.actions),
            {"method": "method", "alpha": "alpha", "settings": "settings", "n": "runs", place: "state",
             "action": "action", "agreed": "agreed"},
            panels="series", lists=held | {"action": "policy", "agreed": "agreed"}, constants=constants,
        )  # fmt: skip
    if any(row["tuned"] for row in errors) and where.live:
        yield "lambda", Figure(
            "errors", errors, (*BY_ERROR, "alpha"),
            partial(charts.lambda_map, axes=where.axes, size=size) if tiles else charts.lambda_states, tuned,
            panels="series" if tiles else "", only="tuned", lists=held | {"lam": "lambdas"}, constants=constants,
        )  # fmt: skip
    strip: Callable[[list[Row]], Any] = partial(
        charts.lambda_in_time, log=not study.warm_up, warm_up=round(study.warm_up * study.length),
        size=(280, int(np.clip(17 * len(where.live), 60, 300))),
    )  # fmt: skip
    moved, several = list(tidy_rows.motions(view, where, run)), tidy_rows.many(where)
    values = {"median": "mean", "low": "low", "high": "high"} if several else {"state": "state", "lambda": "lam"}
    yield "motion", Figure(
        "motions", moved, ("methods",), partial(charts.median_in_time, log=not study.warm_up) if several else strip,
        {"method": "method", "settings": "settings", "seed": "seed", "step": "step", **values},
        panels="" if several else "series",
    )  # fmt: skip


def _of_comparisons(view: Overview, run: list[str]) -> Iterator[tuple[str, Figure]]:
    """Sensitivity to parameters, paired comparisons, divergence."""
    study, log = view.study, view.positive
    final = measure_name(study, "tail")
    varied, margin = tidy_rows.parameters(view), "ratio" if log else "difference"
    yield "kappa", Figure(
        "parameters", varied, ("methods", "measure", "alpha"), partial(_over_parameter, y=final, log=log),
        {"parameter": "parameter", "value": "value", "method": "series", "alpha": "alpha", "measure": "measure",
         **NUMBERS, "std": "std"}, panels="name",
    )  # fmt: skip
    yield "paired", Figure(
        "comparisons", list(tidy_rows.comparisons(view, run)), ("methods", "measure", "at", "reference"),
        partial(charts.paired, x=f"mean {study.quantity}", relative=log),
        {"method": "method", "reference": "reference", "alpha": "at", "measure": "measure", "n": "n",
         "diverged": "diverged", margin: "ratio", f"{margin}_low": "ratio_low", f"{margin}_high": "ratio_high",
         "better": "share", "better_low": "share_low", "better_high": "share_high"},
    )  # fmt: skip
    yield "sensitivity", Figure(
        "stretches", list(tidy_rows.stretches(view, run)), ("methods", "measure"),
        partial(charts.stretches, alphas=view.alphas),
        {"method": "method", "measure": "measure", "best_alpha": "mid", "from_alpha": "low", "to_alpha": "high",
         "decades": "decades"},
    )  # fmt: skip
    yield "diverged", Figure(
        "diverged", list(tidy_rows.diverged(view, run)), ("methods",), charts.divergence,
        {"method": "method", "alpha": "alpha", "diverged": "diverged", "runs": "runs"},
    )  # fmt: skip


def _over_parameter(some: list[Row], y: str, log: bool) -> Any:
    return charts.sensitivity(some, some[0]["parameter"], y, log)


def _without_alpha(some: list[Row], x: str, log: bool) -> Any:
    """A chart for studies that do not vary α: each method's best cell."""
    from tdlambda.charts.ranges import ranges
    from tdlambda.charts.style import finished
    from tdlambda.charts.u_curves import TIPS

    return finished(ranges([row | {"mid": row["mean"]} for row in some], x, tips=TIPS, log=log))


def _where(view: Overview, run: list[str]) -> ObservationLayout | None:
    shown = [name for name in run if view.kind(name) == "tuned"] or run[:1] * (view.study.kind == "control")
    if not shown:
        return None
    where = layout(view.study, shown[0], view.of(shown[0])[0].lambdas.size)
    most = max((int(cell.policy.max()) for cell in view.cells if cell.policy is not None), default=-1)
    return replace(where, actions=where.actions or [str(action) for action in range(most + 1)])


def _cell(view: Overview, cell: CellView, points: list[int], where: ObservationLayout | None) -> Row:
    """The lists of a cell: its curve with an interval, its λ, and its policy."""
    low, high = cell.curve_band(view.positive)
    curves = {"curve": cell.curve, "curve_low": low, "curve_high": high}
    found: Row = {name: curve[points].tolist() for name, curve in curves.items()}
    known = where.values(cell.lambdas.tolist()) if where is not None else []
    found["lambdas"] = [None if lam is None else round(lam, 3) for lam in known]
    if where is not None and cell.policy is not None and cell.agreed is not None:
        found["policy"] = where.values([where.actions[action] for action in cell.policy])
        found["agreed"] = where.values(cell.agreed.round(3).tolist())
    return found


def _thinned(steps: Any, last: int) -> list[int]:
    """Indices of the points of the learning curve to show: denser at the beginning, and always the last."""
    if len(steps) <= CURVE_POINTS:
        return list(range(len(steps)))
    wanted = last * np.linspace(0, 1, CURVE_POINTS) ** 1.5
    return sorted({int(np.abs(steps - at).argmin()) for at in wanted})


NAMES = {
    "best": "each-method-at-its-best", "u": "u-curves", "learning": "learning-curves", "heat": "error-table",
    "policy": "policy",
    "lambda": "lambda-states", "motion": "lambda-in-time", "kappa": "sensitivity", "paired": "paired",
    "sensitivity": "alpha-sensitivity", "diverged": "divergence",
}  # fmt: skip
"""File names of the figures, without suffix."""


def chart(
    view: Overview, figure: str = "u", group: str | None = None, measure: str = "tail", alpha: float | None = None
) -> Any:
    """One of a study's charts, as the page shows it initially.

    Parameters
    ----------
    view
        The study's results, finished or not.
    figure
        "u", "best", "learning", "heat", "policy", "lambda", "motion", "kappa", "paired", "sensitivity" or "diverged".
    group
        Group of methods, such as "As published"; by default the first.
    measure
        "tail" (the final error) or "area" (under the learning curve).
    alpha
        Step size α, for charts of a single one; positive, and in the study's grid. Default: that of the headline.
    """
    if figure not in NAMES:
        raise ValueError(f"figure must be one of {', '.join(NAMES)}; got {figure!r}")
    made = drawn(view)
    found = made.chart(figure, made.choice(group, measure, alpha)) if figure in made.figures else None
    if found is None:
        raise ValueError(f"figure: the study has no data for the figure {figure!r}")
    return found


def write_figures(
    view: Overview,
    directory: Path,
    format: str,  # noqa: A002, the option's own word
    width: int | None = None,
) -> list[Path]:
    """Draw all charts of a study, for both measures, and write a file for each.

    Parameters
    ----------
    view
        The study's results, finished or not.
    directory
        Output directory; it is created if necessary, and files of the same name are overwritten.
    format
        "pdf", "svg" or "png".
    width
        Width of the plot of "best", "u" and "learning", in pixels; None for their own.

    Returns
    -------
    The files: `u-curves-tail.pdf` and so on; with several groups of methods, `u-curves-as-published-…`.
    """
    suffix = str(format).lower()
    if suffix not in FORMATS:
        raise ValueError(f"format must be one of {', '.join(FORMATS)}; got {format!r}")
    directory = Path(directory)
    directory.mkdir(parents=True, exist_ok=True)
    all_of_them, paths, some = drawn(view), [], groups(view)
    for group in some:
        for measure in MEASURES:
            choice = all_of_them.choice(group, measure)
            for name, figure in all_of_them.figures.items():
                if measure != MEASURES[0] and "measure" not in figure.follows:
                    continue
                sized = {} if width is None or name not in SIZED else {"size": (width, round(0.6 * width))}
                made = all_of_them.chart(name, choice, **sized)
                if made is not None:
                    parts = [NAMES[name], *([_slug(group)] if len(some) > 1 else [])]
                    parts += [measure] if "measure" in figure.follows else []
                    paths.append(charts.save(made, directory / f"{'-'.join(parts)}.{suffix}"))
    return paths


def _slug(name: str) -> str:
    return re.sub(r"\W+", "-", name.lower()).strip("-")

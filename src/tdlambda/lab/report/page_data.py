"""The data of the page: a study's text, its rows, and the specifications of its charts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import altair as alt

from tdlambda.charts.lines import LIMIT
from tdlambda.charts.style import setting
from tdlambda.charts.tidy import plain
from tdlambda.lab.report.contest import groups
from tdlambda.lab.report.figures import LISTED, DrawnFigures, Figure, drawn
from tdlambda.lab.report.findings import findings
from tdlambda.lab.report.overview import MEASURES, Overview
from tdlambda.lab.report.series import series_of
from tdlambda.lab.report.tidy_rows import Row, label
from tdlambda.lab.report.words import words

HEIGHTS = {"u": 440, "learning": 380}
"""Heights of figures on the page, in pixels; the others are as high as in print."""


def page_data(view: Overview, manifest: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """The page data of one study; `manifest` has the versions and the machine."""
    study, made = view.study, drawn(view)
    with alt.data_transformers.enable("default", consolidate_datasets=False):
        figures = {name: _figure(made, name, figure) for name, figure in made.figures.items()}
    return {
        "name": study.name, "quantity": study.quantity, "alphas": view.alphas,
        "alphaNames": list(map(setting, view.alphas)),
        "printing": bool(view.published), "published": study.length == view.printed_steps,
        "groups": [_group(made, name, methods) for name, methods in groups(view).items()],
        "figures": figures,
        "rows": {figure.data: columns_of(figure.rows) for figure in made.figures.values()},
        "cells": {str(k): {name: plain(some, 5) for name, some in cell.items()} for k, cell in made.cells.items()},
        "about": _about(view, manifest or {}),
        "declared": {view.named(name): _declared(view, name) for name in study.methods if view.of(name)},
    }  # fmt: skip


def columns_of(rows: list[Row]) -> dict[str, Any]:
    """Rows as columns, which is half as long; a constant column becomes one value.

    >>> columns_of([{"a": 1, "b": 2.0}, {"a": 1, "b": 3.0}])
    {'n': 2, 'same': {'a': 1}, 'columns': {'b': [2.0, 3.0]}}
    """
    names = list(rows[0]) if rows else []
    table = {name: [plain(row[name]) for row in rows] for name in names}
    same = {name: some[0] for name, some in table.items() if all(value == some[0] for value in some)}
    return {"n": len(rows), "same": same, "columns": {k: v for k, v in table.items() if k not in same}}


def _group(made: DrawnFigures, name: str, methods: list[str]) -> dict[str, Any]:
    series = [
        {"key": one.key, "label": one.label, "method": one.method, **one.look} for one in series_of(made.view, methods)
    ]
    found: dict[str, Any] = {}
    for measure in MEASURES:
        first = made.choice(name, measure)
        alpha = made.view.alphas.index(first["alpha"]) if first["alpha"] in made.view.alphas else 0
        said = words(made, methods, measure)
        verdict = findings(made.view, methods, measure).contest.verdict
        found[measure] = {"words": said, "verdict": verdict, "alpha": alpha, "reference": first["reference"]}
    labels = {method: label(made.view, method) for method in methods}
    return {"name": name, "series": series, "methods": labels, "found": found}


def _figure(made: DrawnFigures, name: str, figure: Figure) -> dict[str, Any]:
    """A figure with its specification; the reader's choices are parameters of it."""
    out: dict[str, Any] = {
        "data": figure.data, "follows": figure.follows, "columns": figure.columns, "panels": figure.panels,
        "lists": figure.lists, "constants": plain(figure.constants), "only": figure.only, "spec": None,
    }  # fmt: skip
    some = figure.chosen(made.choice(), made.cells) or list(figure.rows)
    if name == "heat" or figure.chart is None or not some:
        return out  # the page writes an HTML table, which scrolls better than SVG
    if figure.panels:
        some = [row for row in some if row[figure.panels] == some[0][figure.panels]]
    draw: Any = figure.chart
    chart = draw(some, alpha=some[0]["alpha"]) if name == "u" and made.view.alphas else draw(some)
    spec = fluid(chart) | {"data": {"name": "rows"}}
    if isinstance(spec["height"], dict):  # height per series
        out["step"] = spec.pop("height")["step"]
    if name in HEIGHTS:
        spec["height"] = HEIGHTS[name]
    spec["transform"] = [*_transforms(name, figure), *spec.get("transform", [])]
    known = {param["name"] for param in spec.get("params", [])}
    wanted = [*figure.follows, *(["published"] if name == "u" else []), *(["panel"] if figure.panels else [])]
    spec["params"] = [{"name": n, "value": None} for n in wanted if n not in known] + spec.get("params", [])
    spec["params"] += [{"name": n, "value": plain(some)} for n, some in figure.constants.items()]
    return out | {"spec": spec}


def fluid(chart: Any) -> dict[str, Any]:
    """The specification of a chart that fills the width of its container."""
    spec: dict[str, Any] = chart.to_dict(validate=False)
    for part in ("config", "$schema"):
        spec.pop(part, None)
    _narrow(spec)
    return spec | {"width": "container", "autosize": {"type": "fit-x", "contains": "padding"}}


def _transforms(name: str, figure: Figure) -> list[dict[str, Any]]:
    """Vega transforms that select the chosen rows and expand their lists."""
    tests = [f"datum.{one} === {one}" for one in figure.follows if one not in LISTED]
    tests += [f"indexof({one}, datum.{LISTED[one]}) >= 0" for one in figure.follows if one in LISTED]
    tests += [f"datum.{figure.only}"] * bool(figure.only) + [f"datum.{figure.panels} === panel"] * bool(figure.panels)
    out: list[dict[str, Any]] = [{"filter": " && ".join(tests)}]
    if name == "u":
        out.append({"calculate": "published ? datum.published : null", "as": "open"})
    if figure.lists:
        held = [source for source in figure.lists.values() if source not in figure.constants]
        out.append({"lookup": "cell", "from": {"data": {"name": "cells"}, "key": "cell", "fields": held}})
        out += [{"calculate": source, "as": source} for source in figure.constants]
        out.append({"flatten": list(figure.lists.values()), "as": list(figure.lists)})
    if name == "learning":
        tell = "format(datum.low, '.3~g') + ' to ' + format(datum.high, '.3~g')"
        out += [
            {"calculate": "datum.step", "as": "x"}, {"calculate": "format(datum.step, ',')", "as": "when"},
            {"calculate": "format(datum.mean, '.3~g')", "as": "text"}, {"calculate": tell, "as": "interval"},
        ]  # fmt: skip
    if name == "lambda" and not figure.panels:
        new = {"x": "datum.state", "mean": "datum.lam", "low": "null", "high": "null"}
        out += [{"calculate": value, "as": column} for column, value in new.items()]
    return out


def _narrow(spec: dict[str, Any]) -> None:
    """Limit the names of lines further on narrow screens."""
    for layer in spec.get("layer", []):
        if isinstance(layer.get("mark"), dict) and layer["mark"].get("limit") == LIMIT:
            layer["mark"]["limit"] = {"expr": f"width < 420 ? 96 : {LIMIT}"}


def _declared(view: Overview, name: str) -> str:
    method, rule = view.study.methods[name], view.rule(name)
    against = "" if method.truth == "exact" else f"measured against the values of the {method.truth}"
    parts = [method.about, method.learner + (f" with {rule}" if rule else ""), against]
    return "; ".join(filter(None, [*parts, f"{max(cell.n for cell in view.of(name))} seeds", f"in the study: {name}"]))


def _about(view: Overview, manifest: Mapping[str, Any]) -> dict[str, str]:
    versions, machine = manifest.get("versions", {}), manifest.get("machine", {})
    said = {
        "study": view.study.name,
        "task": view.study.task + (f", {view.study.preset}" if view.study.preset else ""),
        "runs": f"{len(view.seeds)} of {len(view.study.numbers)} seeds, {view.study.length:,} {view.study.unit} each",
        "state": f"{view.done:,} of {view.wanted:,} units done (a unit is a method on a seed)"
        + (f"; not run: {', '.join(map(view.named, view.not_run))}" if view.not_run else ""),
        "versions": ", ".join(f"{name} {number}" for name, number in versions.items()),
        "machine": ", ".join(str(value) for value in machine.values()),
        "manifest written": str(manifest.get("written", "")),
        "source": str(manifest.get("source", "")),
    }
    return {name: text for name, text in said.items() if text}

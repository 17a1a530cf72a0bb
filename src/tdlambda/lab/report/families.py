"""Methods by the source of their λ: the grid of `lam` may mix numbers and names of rules such as "auto"."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from tdlambda.lab.studies.method import Method
from tdlambda.lab.studies.study import Study


def by_family(study: Study) -> tuple[Study, dict[str, tuple[str, str | None]]]:
    """The study with each method that mixes them split into one for the fixed λ and one for each rule.

    Also the source of the results of each: the name of the original method, and the named λ.

    >>> study = Study("walk", "RandomWalk-v0", {"TD": Method("TD", over=("lam",))}, grid={"lam": ["auto", "greedy"]})
    >>> apart, where = by_family(study)
    >>> where
    {'auto': ('TD', 'auto'), 'greedy': ('TD', 'greedy')}
    >>> apart.methods["auto"].options
    {'lam': 'auto'}
    """
    rules = {method: _rules(study, method) for method in study.methods}
    mixed = [method for method, names in rules.items() if names and len(study.grid["lam"]) > 1]
    stay = [m for m in study.methods if m not in mixed or len(rules[m]) < len(study.grid["lam"])]
    methods: dict[str, Method] = {}
    where: dict[str, tuple[str, str | None]] = {}
    for method, declared in study.methods.items():
        if method in stay:
            methods[method], where[method] = declared, (method, None)
        for lam in rules[method] if method in mixed else ():
            name = lam if len(mixed) == 1 else f"{method}-{lam}"
            while name in stay or name in methods:
                name = f"{method}-{name}"
            methods[name], where[name] = _with(declared, lam), (method, lam)
    return replace(study, methods=methods, grid=dict(_grid(study, bool(mixed)))), where


def _rules(study: Study, method: str) -> list[str]:
    """The values of a method's `lam` that are names of rules."""
    cells = study.cells(method) if "lam" in study.methods[method].over else []
    return list(dict.fromkeys(cell["lam"] for cell in cells if not study.methods[method].fixed_lam(cell)))


def _with(declared: Method, lam: str) -> Method:
    """The method with this λ only."""
    over = tuple(axis for axis in declared.over if axis != "lam")
    return replace(declared, over=over, options={**declared.options, "lam": lam})


def _grid(study: Study, mixed: bool) -> Iterator[tuple[str, list[Any]]]:
    """The grid; if rules have become methods of their own, `lam` keeps only its numbers."""
    for axis, values in study.grid.items():
        left = [value for value in values if not isinstance(value, str)] if mixed and axis == "lam" else values
        if left:
            yield axis, left

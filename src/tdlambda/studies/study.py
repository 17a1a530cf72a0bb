"""A study: a task, ways to learn it over grids of parameters, how often, how long, and what is measured."""

from __future__ import annotations

import hashlib
import importlib
import json
import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from difflib import get_close_matches
from functools import cached_property
from importlib.resources import files
from itertools import product
from pathlib import Path
from typing import Any, Self

import numpy as np

from tdlambda.arrays import Ints, integer
from tdlambda.engine.truth import Truth
from tdlambda.learners.base import Learner
from tdlambda.studies.building import build_learner, build_truth
from tdlambda.tasks import make
from tdlambda.tasks.base import Task

FORMAT = 1
"""Of the files; results of another format are not read."""
COLUMNS = ("method", "learner", "rule", "seed", "diverged_at", "tail", "area", "final", "curve", "lambdas")
_NAME = re.compile(r"[\w.+-]+")


@dataclass(frozen=True)
class Method:
    """One way to learn, over a grid.

    Parameters
    ----------
    learner
        The name of a learner, such as "TrueOnlineTD"; or "module:name" of one of yours.
    rule
        The name of a rule for λ, such as "Greedy" or "Meta.thesis"; without one, λ is the learner's `lam`.
    over
        Names from the study's grid: a cell for each combination of their values.
    options
        Further arguments of the learner and the rule. A name that both have is written "rule.name" or "learner.name".
        An encoder or a schedule is a table with its type: `{type = "OneHot", n = 16}`.
    truth
        What the error is measured against: "exact" (sampled, where there is no model), or "thesis" (as published).
    about
        A line for people.
    """

    learner: str
    rule: str | None = None
    over: tuple[str, ...] = ()
    options: Mapping[str, Any] = field(default_factory=dict)
    truth: str = "exact"
    about: str = ""


@dataclass(frozen=True)
class Study:
    """An experiment as it is declared.

    Parameters
    ----------
    name
        Letters, digits and . + - _: it names the directory of the results.
    task, preset, task_options
        As for `td.make`.
    methods
        By name.
    grid
        Values by the name of a parameter, for the methods that are declared over it.
    seeds, seed
        How many trajectories, and the number of the first.
    steps
        Transitions of each.
    points
        How many times the error is read, evenly up to the last step.
    tail
        The share of the points, at the end, whose mean is the final error.
    curve
        How many points of the learning curve are kept, evenly; all points of the tail are.
    warm_up
        The share of the steps in which rules that adapt leave λ as it is.
    title
        For people.
    modules
        Python modules to import first: those that register tasks of yours.
    quick
        What a small version changes: any of `seeds`, `steps`, `points`, `grid`, `methods` (names).

    Examples
    --------
    >>> import tdlambda as td
    >>> study = td.Study(
    ...     "walk", task="RandomWalk-v0", seeds=4, steps=5_000,
    ...     grid={"alpha": [0.01, 0.1], "lam": [0.0, 0.9]},
    ...     methods={"fixed": td.Method("TrueOnlineTD", over=("alpha", "lam"))})
    >>> study
    <study walk: RandomWalk-v0, fixed 4 cells; 4 seeds × 5,000 steps>
    >>> td.Study.load("ringworld-0.40-0.35").seeds
    240
    """

    name: str
    task: str
    methods: Mapping[str, Method]
    preset: str | None = None
    task_options: Mapping[str, Any] = field(default_factory=dict)
    grid: Mapping[str, list[Any]] = field(default_factory=dict)
    seeds: int = 30
    seed: int = 0
    steps: int = 100_000
    points: int = 100
    tail: float = 0.1
    curve: int = 100
    warm_up: float = 0.0
    title: str = ""
    modules: tuple[str, ...] = ()
    quick: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Refuse what cannot be, naming the field."""
        if not isinstance(self.name, str) or not _NAME.fullmatch(self.name):
            raise ValueError(f"name must be letters, digits and . + - _, it names a directory; got {self.name!r}")
        for name, low in (("seeds", 1), ("seed", 0), ("steps", 1), ("points", 1), ("curve", 1)):
            integer(getattr(self, name), name, low)
        if self.points > self.steps:
            raise ValueError(f"points must be at most steps, {self.steps}; got {self.points}")
        if not 0 < self.tail <= 1:
            raise ValueError(f"tail must be a share of the points, in (0, 1]; got {self.tail!r}")
        if not 0 <= self.warm_up < 1:
            raise ValueError(f"warm_up must be a share of the steps, in [0, 1); got {self.warm_up!r}")
        if not self.methods:
            raise ValueError("methods: there is none")
        object.__setattr__(self, "modules", tuple(self.modules))
        object.__setattr__(self, "grid", {name: _values(name, some) for name, some in self.grid.items()})
        for name, method in self.methods.items():
            if not isinstance(method, Method):
                raise TypeError(f"methods: {name!r} must be a Method; got {method!r}")
            if not _NAME.fullmatch(name):
                raise ValueError(f"methods: a name must be letters, digits and . + - _; got {name!r}")
            for axis in method.over:
                if axis not in self.grid:
                    raise ValueError(f"methods.{name}.over: the grid has no {axis!r}; it has {_listed(self.grid)}")

    @classmethod
    def load(cls, source: str | Path) -> Self:
        """A study from a TOML file, or a bundled one by its name: see `td.studies.bundled`."""
        return cls.from_dict(_read(source))

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """A study from plain data, as in its TOML file."""
        data = dict(data)
        _known(data, cls, "the study")
        for needed in ("name", "task", "methods"):
            if needed not in data:
                raise ValueError(f"{needed}: the study has none")
        if not isinstance(data["methods"], Mapping):
            raise TypeError("methods must be tables, [methods.NAME]")
        methods = {}
        for name, entry in data["methods"].items():
            if not isinstance(entry, Mapping):
                raise TypeError(f"methods.{name} must be a table; got {entry!r}")
            _known(entry, Method, f"methods.{name}")
            if "learner" not in entry:
                raise ValueError(f"methods.{name}.learner: there is none")
            methods[name] = Method(**{**entry, "over": tuple(entry.get("over", ()))})
        return cls(**{**data, "methods": methods})

    def to_dict(self) -> dict[str, Any]:
        """Plain data, from which `from_dict` makes the same study."""
        plain = {f.name: getattr(self, f.name) for f in fields(self)}
        plain["methods"] = {
            name: {f.name: getattr(method, f.name) for f in fields(method)} for name, method in self.methods.items()
        }
        data: dict[str, Any] = json.loads(json.dumps(plain, default=_listable))
        return data

    def but(
        self, *, methods: Iterable[str] | None = None, grid: Mapping[str, Any] | None = None, **changes: Any
    ) -> Self:
        """The same study with other sizes, some of the methods alone, or other values in the grid."""
        if methods is not None:
            names = list(methods)
            for name in names:
                if name not in self.methods:
                    raise ValueError(f"methods: {self.name} has no {name!r}; it has {_listed(self.methods)}")
            changes["methods"] = {name: method for name, method in self.methods.items() if name in names}
        if grid:
            for name in grid:
                if name not in self.grid:
                    raise ValueError(f"grid: {self.name} has no {name!r}; it has {_listed(self.grid)}")
            changes["grid"] = {**self.grid, **grid}
        return replace(self, **changes)

    def small(self) -> Self:
        """The quick version, under a name of its own; refused if the study declares none."""
        if not self.quick:
            raise ValueError(f"quick: {self.name} declares no quick version")
        return self.but(**{"name": f"{self.name}-quick", "quick": {}, **self.quick})

    @cached_property
    def environment(self) -> Task[Any]:
        """The task itself."""
        for module in self.modules:
            importlib.import_module(module)
        return make(self.task, self.preset, **self.task_options)

    def cells(self, method: str) -> list[dict[str, Any]]:
        """What each cell of a method's grid sets."""
        over = self.methods[method].over
        return [dict(zip(over, values, strict=True)) for values in product(*(self.grid[axis] for axis in over))]

    def learners(self, method: str) -> list[Learner]:
        """The learner of each cell."""
        declared, warm_up = self.methods[method], (self.warm_up, self.steps)
        try:
            return [
                build_learner(self.environment, declared.learner, declared.rule, {**declared.options, **cell}, warm_up)
                for cell in self.cells(method)
            ]
        except (TypeError, ValueError) as error:
            raise type(error)(f"methods.{method}: {error}") from error

    def truth(self, method: str) -> Truth:
        """What the method's error is measured against."""
        name = self.methods[method].truth
        if name not in self._truths:
            self._truths[name] = build_truth(self.environment, name)
        return self._truths[name]

    @cached_property
    def _truths(self) -> dict[str, Truth]:
        return {}

    def key(self, method: str) -> str:
        """A hash of all that the method's results depend on, but for the seed."""
        from tdlambda import __version__

        declared = self.methods[method]
        content = {
            "format": FORMAT, "version": __version__, "task": self.task, "preset": self.preset,
            "task_options": self.task_options, "modules": self.modules, "learner": declared.learner,
            "rule": declared.rule, "options": declared.options, "truth": declared.truth, "cells": self.cells(method),
            "steps": self.steps, "points": self.points, "tail": self.tail, "curve": self.curve,
            "warm_up": self.warm_up,
        }  # fmt: skip
        text = json.dumps(content, sort_keys=True, default=_listable)
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    @property
    def numbers(self) -> range:
        """The seeds."""
        return range(self.seed, self.seed + self.seeds)

    @property
    def read_at(self) -> Ints:
        """The steps after which the error is read."""
        n = self.points
        return np.unique(np.round(np.linspace(self.steps / n, self.steps, n)).astype(np.int64))

    @property
    def tail_points(self) -> int:
        """How many of them are the tail."""
        return max(1, round(self.tail * self.points))

    @property
    def kept(self) -> Ints:
        """Which of them the curve keeps: some of them evenly, and the whole tail."""
        n = self.points
        evenly = np.round(np.linspace(n / min(self.curve, n), n, min(self.curve, n))).astype(np.int64) - 1
        return np.unique(np.concatenate([evenly, np.arange(n - self.tail_points, n)]))

    def __repr__(self) -> str:
        """In a line."""
        what = ", ".join(f"{name} {len(self.cells(name))} cells" for name in self.methods)
        return f"<study {self.name}: {self.task}, {what}; {self.seeds} seeds × {self.steps:,} steps>"


def bundled() -> dict[str, Study]:
    """The studies that come with the package.

    >>> sorted(bundled())[:2]
    ['frozenlake', 'frozenlake-on']
    """
    names = sorted(entry.name.removesuffix(".toml") for entry in _BUNDLED.iterdir() if entry.name.endswith(".toml"))
    return {name: Study.load(name) for name in names}


_BUNDLED = files("tdlambda.studies").joinpath("bundled")


def _read(source: str | Path) -> dict[str, Any]:
    """A study's plain data, with what it extends."""
    entry: Any = _BUNDLED.joinpath(f"{source}.toml")
    if isinstance(source, Path) or not entry.is_file():
        entry = Path(source)
        if not entry.is_file():
            known = [e.name.removesuffix(".toml") for e in _BUNDLED.iterdir() if e.name.endswith(".toml")]
            near = get_close_matches(str(source), known, n=1)
            hint = f"did you mean {near[0]!r}?" if near else f"bundled are {_listed(sorted(known))}"
            raise ValueError(f"study: there is neither a file nor a bundled study {str(source)!r}; {hint}")
    try:
        data = tomllib.loads(entry.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"study: {source} is not TOML: {error}") from error
    base = data.pop("extends", None)
    return data if base is None else {**_read(base), **data}


def _known(data: Mapping[str, Any], kind: type, where: str) -> None:
    names = [f.name for f in fields(kind)]
    for name in data:
        if name not in names:
            near = get_close_matches(name, names, n=1)
            hint = f"did you mean {near[0]!r}?" if near else f"there are {_listed(names)}"
            raise ValueError(f"{where}: nothing is called {name!r}; {hint}")


def _values(name: str, values: Any) -> list[Any]:
    if name in COLUMNS:
        raise ValueError(f"grid: {name!r} is a column of the results; write rule.{name} or learner.{name}")
    if isinstance(values, str) or not isinstance(values, Iterable) or not list(values):
        raise ValueError(f"grid.{name} must be a list of values, at least one; got {values!r}")
    plain = [value.item() if isinstance(value, np.generic) else value for value in values]
    for value in plain:
        if not isinstance(value, int | float | str | bool):
            raise TypeError(f"grid.{name}: values must be numbers or names; got {value!r}")
    if len(set(plain)) < len(plain):
        raise ValueError(f"grid.{name}: a value occurs twice")
    if any(isinstance(value, float) for value in plain) and not any(isinstance(v, str | bool) for v in plain):
        plain = [float(value) for value in plain]
    return plain


def _listable(value: Any) -> Any:
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, tuple | np.ndarray):
        return list(value)
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"a study holds plain data only, so that it can be written down; got {value!r}")


def _listed(names: Iterable[str]) -> str:
    return ", ".join(names) or "none"

"""What a study declares: its fields, their validation, and the numbers that follow from them without a task."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import partial
from pathlib import Path
from typing import Any, Self, cast

import numpy as np

from tdlambda.arrays import Ints, integer
from tdlambda.engine.score import SCORES
from tdlambda.lab.studies import field_checks, sizes
from tdlambda.lab.studies.field_checks import Check, listable, listed, one_of, optional, plain, share, text
from tdlambda.lab.studies.method import Method
from tdlambda.lab.studies.toml_files import merged, read
from tdlambda.runner.job import moments_of
from tdlambda.showing import says_arguments

OF_PREDICTION: dict[str, Any] = {"score": "value", "average": None, "episodes": None}
"""Fields that only prediction has, with their defaults; default values are not part of a study's definition."""
_STEPS = 100_000
"""Length of a run by default."""
_WORDS = {"value": "error", "rmsve": "RMSVE", "rms": "RMS error", "rmspbe": "RMSPBE"}
"""Short names of the errors."""
_CHECKS: dict[str, Check] = {
    "name": field_checks.file_name, "task": text, "title": text, "preset": optional(text),
    "seeds": field_checks.seeds, "steps": optional(partial(integer, low=1, high=sizes.STEPS)),
    "episodes": optional(partial(integer, low=1, high=sizes.STEPS)),
    "points": partial(integer, low=1, high=sizes.POINTS), "curve": partial(integer, low=1),
    "tail": share(lambda tail: 0 < tail <= 1, "a share of the points, in (0, 1]"),
    "warm_up": share(lambda warm_up: 0 <= warm_up < 1, "a share of the steps, in [0, 1)"),
    "score": one_of(*SCORES), "average": optional(one_of("before", "after")), "follow": field_checks.flag,
    "kind": one_of("prediction", "control"), "methods": field_checks.table, "grid": field_checks.grid,
    "task_options": plain, "agent": plain, "quick": field_checks.quick, "modules": field_checks.names,
    "folders": field_checks.names,
}  # fmt: skip


@says_arguments
@dataclass(frozen=True)
class StudyDeclaration:
    """The fields of a study, which `Study` describes."""

    name: str
    task: str
    methods: Mapping[str, Method]
    preset: str | None = None
    task_options: Mapping[str, Any] = field(default_factory=dict)
    grid: Mapping[str, list[Any]] = field(default_factory=dict)
    seeds: int | str | Sequence[int] = 30
    steps: int | None = None
    episodes: int | None = None
    points: int = 100
    tail: float = 0.1
    curve: int = 100
    score: str = "value"
    average: str | None = None
    follow: bool = True
    warm_up: float = 0.0
    kind: str = "prediction"
    agent: Mapping[str, Any] = field(default_factory=dict)
    title: str = ""
    modules: tuple[str, ...] = ()
    quick: Mapping[str, Any] = field(default_factory=dict)
    folders: tuple[str, ...] = field(default=(), compare=False)
    trusted: bool = field(default=True, compare=False)

    def __post_init__(self) -> None:
        """Validate the fields; errors name the field."""
        field_checks.validate(self, _CHECKS)
        if self.steps is not None and self.episodes is not None:
            raise ValueError(f"give either steps or episodes; got steps = {self.steps}, episodes = {self.episodes}")
        if self.agent and self.kind != "control":
            raise ValueError('agent: only a study of kind "control" has actors; leave it out')
        for name, default in OF_PREDICTION.items():
            if self.kind == "control" and getattr(self, name) != default:
                raise ValueError(f'{name}: only a study of kind "prediction" has one; leave it out')
        if self.episodes is not None:
            object.__setattr__(self, "points", min(self.points, self.episodes))
            if self.warm_up:
                raise ValueError(
                    f"warm_up is a share of the steps, whose number a study of episodes does not know; "
                    f"got {self.warm_up}: give the rule a warm_up of its own, in steps"
                )
        if self.points > self.length:
            raise ValueError(f"points must be at most the number of {self.unit}, {self.length}; got {self.points}")
        if not self.methods:
            raise ValueError("methods is empty; write at least one, [methods.NAME]")
        for name, method in self.methods.items():
            field_checks.file_name(name, "methods: a name")
            if not isinstance(method, Method):
                raise TypeError(f"methods: {name!r} must be a Method; got {method!r}")
            method.check(f"methods.{name}", self.grid)
            sizes.check_cells(method.over, self.grid, self.points, f"methods.{name}")

    @classmethod
    def load(cls, source: str | Path) -> Self:
        """Load a study from a TOML file, or a bundled study by name: see `td.studies.bundled`."""
        data, folders = read(source)
        return cls.from_dict({"folders": folders, **data})

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Build a study from plain data, as in its TOML file."""
        field_checks.check_fields(cls, data, "", besides=["trusted"])
        if not isinstance(data["methods"], Mapping):
            raise TypeError(f"methods must be tables, [methods.NAME]; got {data['methods']!r}")
        methods = {}
        for name, entry in data["methods"].items():
            field_checks.check_fields(Method, field_checks.table(entry, f"methods.{name}"), f"methods.{name}")
            with field_checks.saying(f"methods.{name}"):
                methods[name] = Method(**entry)
        return cls(**{**data, "methods": methods})

    def to_dict(self) -> dict[str, Any]:
        """Plain data from which `from_dict` builds the same study."""
        given = {name: value for name, value in _fields(self).items() if name != "trusted"}
        methods = {name: _fields(method) for name, method in self.methods.items()}
        seeds = f"{self.seeds.start}:{self.seeds.stop}" if isinstance(self.seeds, range) else self.seeds
        plain_data = given | {"methods": methods, "seeds": seeds}
        data: dict[str, Any] = json.loads(json.dumps(plain_data, default=listable))
        return data

    def but(
        self, *, methods: Iterable[str] | None = None, grid: Mapping[str, Any] | None = None, **changes: Any
    ) -> Self:
        """A copy with other sizes, a subset of the methods, or other grid values."""
        if methods is not None:
            names = field_checks.names(methods, "methods")
            for name in names:
                if name not in self.methods:
                    raise ValueError(f"methods: {self.name} has no {name!r}; it has {listed(self.methods)}")
            changes["methods"] = {name: method for name, method in self.methods.items() if name in names}
        if grid:
            for name in grid:
                if name not in self.grid:
                    raise ValueError(f"grid: {self.name} has no {name!r}; it has {listed(self.grid)}")
            changes["grid"] = {**self.grid, **grid}
        return replace(self, **merged({}, changes))

    def small(self) -> Self:
        """The quick version, under its own name; ValueError if the study declares none."""
        if not self.quick:
            raise ValueError(f"quick: {self.name} declares no quick version")
        return self.but(**{"name": f"{self.name}-quick", "quick": {}, **self.quick})

    @property
    def numbers(self) -> Sequence[int]:
        """The seeds."""
        return range(self.seeds) if isinstance(self.seeds, int) else cast("Sequence[int]", self.seeds)

    @property
    def quantity(self) -> str:
        """Short name of what is measured: an error or, in control, a cost."""
        return "cost" if self.kind == "control" else _WORDS[self.score]

    @property
    def unit(self) -> str:
        """Unit of the run length: "steps" or "episodes"."""
        return "steps" if self.episodes is None else "episodes"

    @property
    def length(self) -> int:
        """Length of a run in that unit."""
        return self.steps or self.episodes or _STEPS

    @property
    def read_at(self) -> Ints:
        """Steps or episodes after which the error is read."""
        n = self.points
        return np.unique(np.round(np.linspace(self.length / n, self.length, n)).astype(np.int64))

    @property
    def moments(self) -> Ints:
        """Steps or episodes after which λ of a followed seed is recorded."""
        return self.read_at[moments_of(self.read_at)]

    @property
    def tail_points(self) -> int:
        """Number of points in the tail."""
        return max(1, round(self.tail * self.points))

    @property
    def area_points(self) -> int:
        """Number of points in the area: all; in control those after the warm-up, before which methods are equal."""
        if self.kind == "prediction":
            return self.points
        return max(1, int((self.read_at > int(self.warm_up * self.length)).sum()))

    @property
    def stored_points(self) -> Ints:
        """Indices of the points that the learning curve stores, ascending.

        With m = min(curve, points): for each k = 1 … m the point nearest to k · points / m (either one in a tie), and
        every point of the tail.
        """
        n = self.points
        evenly = np.round(np.linspace(n / min(self.curve, n), n, min(self.curve, n))).astype(np.int64) - 1
        return np.unique(np.concatenate([evenly, np.arange(n - self.tail_points, n)]))


def _fields(record: Any) -> dict[str, Any]:
    return {f.name: getattr(record, f.name) for f in fields(record)}

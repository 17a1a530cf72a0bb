"""A study: a task, methods over grids of parameters, seeds, run length, and what is measured."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from itertools import product
from pathlib import Path
from typing import Any, Self

import gymnasium as gym
import numpy as np

from tdlambda.arrays import Ints, choice
from tdlambda.control import engine as control
from tdlambda.control.worlds import EnvTask
from tdlambda.engine.episodes import episode_ends
from tdlambda.engine.job import checked, moments_of
from tdlambda.engine.plan import WIDTH
from tdlambda.engine.score import SCORES
from tdlambda.engine.truth import Truth
from tdlambda.learners.base import Learner
from tdlambda.studies import sizes
from tdlambda.studies.building import build_agent, build_learner, build_truth, no_truth
from tdlambda.studies.checks import (
    check_known,
    check_name,
    check_over,
    check_plain,
    check_quick,
    check_table,
    check_text,
    grid_values,
    listable,
    listed,
    names_in,
    saying,
    share,
    whole,
)
from tdlambda.studies.method import Method
from tdlambda.studies.reading import bundled_names, read
from tdlambda.studies.sources import code, imported
from tdlambda.tasks import TASKS, WORLDS, make
from tdlambda.tasks.base import Task
from tdlambda.tasks.registry import NAMESPACE

FORMAT = 1
"""Version of the file format; results of another version are not read."""
_SEEDS = 2**32
"""Seeds from here on are reserved for sampled truths and speed measurements."""
_OF_PREDICTION: dict[str, Any] = {"score": "value", "average": None, "episodes": None}
"""Fields that only prediction has, with their defaults; default values are not part of a study's definition."""
_WORDS = {"value": "error", "rmsve": "RMSVE", "rms": "RMS error", "rmspbe": "RMSPBE"}
"""Short names of the errors."""


@dataclass(frozen=True)
class Study:
    """The declaration of an experiment.

    Parameters
    ----------
    name
        Name of the study and of its results directory: letters, digits and . + - _, beginning with a letter or digit.
    task, preset, task_options
        As for `td.make`.
    methods
        Methods by name.
    grid
        Values of each grid parameter, for the methods declared over it.
    seeds, seed
        Number of trajectories, and the first seed.
    steps
        Length of each trajectory, in transitions.
    episodes
        Length of each trajectory in episodes, instead of steps. Points are then episodes, at most one per episode.
    points
        Number of points at which the error is read, evenly spaced up to the last step.
    score
        Error measure: "value", "rmsve", "rms" or "rmspbe", as for `td.engine.run`.
    average
        "before" or "after": each point is the mean error over all steps since the last point, before or after each
        update, and `area` is the mean over all steps. By default a point is the error at that step.
    tail
        Share of the points, in (0, 1], at the end of the run; the final error is the mean over them.
    curve
        Number of points of the learning curve to store, evenly spaced; all points of the tail are stored too.
    follow
        Whether to record λ of the first seed over time, at up to 48 of the points, for the report; one byte each.
    warm_up
        Share of the steps, in [0, 1), during which adaptive rules keep λ fixed and, in control, policies are frozen.
    kind
        "prediction" measures value errors; "control" lets agents act and measures a cost, minus the return.
    agent
        In control, options of every agent: those of `td.ActorCritic`, such as `{"eta": 1.0, "lam": "none"}`, or of
        `td.Sarsa` or `td.QLambda` for methods whose learner is one of these.
    title
        Title for the report.
    modules
        Python modules to import first, for example those that register your tasks.
    quick
        Changes for the small version: any of `seeds`, `steps`, `episodes`, `points`, `grid`, `methods` (names).
    folders
        Folders searched first for your modules; for a study read from a file, the file's folder.
    trusted
        Whether its modules may be imported; False for a study from `td.studies.load_study`, until it is run.

    Examples
    --------
    >>> import tdlambda as td
    >>> study = td.studies.Study(
    ...     "walk", task="RandomWalk-v0", seeds=4, steps=5_000,
    ...     grid={"alpha": [0.01, 0.1], "lam": [0.0, 0.9]},
    ...     methods={"fixed": td.studies.Method("TrueOnlineTD", over=("alpha", "lam"))})
    >>> study
    <study walk: RandomWalk-v0, fixed 4 cells; 4 seeds × 5,000 steps>
    >>> td.studies.Study.load("ringworld-0.40-0.35").seeds
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
        check_name(self.name, "name")
        if not isinstance(self.task, str):
            raise TypeError(f"task must be the id of one; got {self.task!r}")
        check_text(self.title, "title")
        if self.preset is not None:
            check_text(self.preset, "preset")
        limits = {"seeds": (1, sizes.SEEDS), "seed": (0, None), "steps": (1, sizes.STEPS), "curve": (1, None)}
        for name, (low, high) in (limits | {"points": (1, sizes.POINTS)}).items():
            object.__setattr__(self, name, whole(getattr(self, name), name, low, high))
        if self.seed + self.seeds > _SEEDS:
            raise ValueError(f"seed: the last must be below {_SEEDS}; got {self.seeds} from {self.seed}")
        self._check_measure()
        object.__setattr__(self, "tail", share(self.tail, "tail", False, True, "points"))
        object.__setattr__(self, "warm_up", share(self.warm_up, "warm_up", True, False, "steps"))
        if not isinstance(self.follow, bool):
            raise TypeError(f"follow must be true or false; got {self.follow!r}")
        check_table(self.methods, "methods")
        check_table(self.grid, "grid")
        check_plain(self.task_options, "task_options")
        check_plain(self.agent, "agent")
        check_quick(self.quick)
        if self.kind not in ("prediction", "control"):
            raise ValueError(f'kind must be "prediction" or "control"; got {self.kind!r}')
        if self.agent and self.kind != "control":
            raise ValueError('agent: only a study of kind "control" has actors')
        if not self.methods:
            raise ValueError("methods: there is none")
        object.__setattr__(self, "modules", names_in(self.modules, "modules"))
        object.__setattr__(self, "folders", names_in(self.folders, "folders"))
        object.__setattr__(self, "grid", {name: grid_values(name, some) for name, some in self.grid.items()})
        for name, method in self.methods.items():
            check_name(name, "methods: a name")
            if not isinstance(method, Method):
                raise TypeError(f"methods: {name!r} must be a Method; got {method!r}")
            where = f"methods.{name}"
            method.check(where)
            check_over(method.over, method.options, self.grid, where)
            sizes.check_cells(method.over, self.grid, self.points, where)

    def _check_measure(self) -> None:
        """Validate the fields that say what is measured, and when."""
        choice(self.score, "score", *SCORES)
        if self.average is not None:
            choice(self.average, "average", "before", "after")
        if self.kind == "control":
            for name, default in _OF_PREDICTION.items():
                if getattr(self, name) != default:
                    raise ValueError(f'{name}: only a study of kind "prediction" has one; leave it out')
        if self.episodes is not None:
            object.__setattr__(self, "episodes", whole(self.episodes, "episodes", 1, sizes.STEPS))
            object.__setattr__(self, "points", min(self.points, self.episodes))
            if self.warm_up:
                raise ValueError(
                    f"warm_up is a share of the steps, and a study of episodes does not know them; got {self.warm_up}: "
                    "give the rule a warm_up of its own, in steps"
                )
        if self.points > self.length:
            raise ValueError(f"points must be at most {self.unit}, {self.length}; got {self.points}")

    @classmethod
    def load(cls, source: str | Path) -> Self:
        """Load a study from a TOML file, or a bundled study by name: see `td.studies.bundled`."""
        data, folders = read(source)
        return cls.from_dict({"folders": folders, **data})

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Build a study from plain data, as in its TOML file."""
        data = dict(data)
        check_known(data, _declared(cls), "the study")
        for needed in ("name", "task", "methods"):
            if needed not in data:
                raise ValueError(f"{needed}: the study has none")
        if not isinstance(data["methods"], Mapping):
            raise TypeError("methods must be tables, [methods.NAME]")
        methods = {}
        for name, entry in data["methods"].items():
            if not isinstance(entry, Mapping):
                raise TypeError(f"methods.{name} must be a table; got {entry!r}")
            check_known(entry, [f.name for f in fields(Method)], f"methods.{name}")
            if "learner" not in entry:
                raise ValueError(f"methods.{name}.learner: there is none")
            methods[name] = Method(**entry)
        return cls(**{**data, "methods": methods})

    def to_dict(self) -> dict[str, Any]:
        """Return plain data from which `from_dict` builds the same study."""
        plain = {name: getattr(self, name) for name in _declared(type(self))}
        plain["methods"] = {
            name: {f.name: getattr(method, f.name) for f in fields(method)} for name, method in self.methods.items()
        }
        data: dict[str, Any] = json.loads(json.dumps(plain, default=listable))
        return data

    def but(
        self, *, methods: Iterable[str] | None = None, grid: Mapping[str, Any] | None = None, **changes: Any
    ) -> Self:
        """Return a copy with other sizes, a subset of the methods, or other grid values."""
        if methods is not None:
            names = names_in(methods, "methods")
            for name in names:
                if name not in self.methods:
                    raise ValueError(f"methods: {self.name} has no {name!r}; it has {listed(self.methods)}")
            changes["methods"] = {name: method for name, method in self.methods.items() if name in names}
        if grid:
            for name in grid:
                if name not in self.grid:
                    raise ValueError(f"grid: {self.name} has no {name!r}; it has {listed(self.grid)}")
            changes["grid"] = {**self.grid, **grid}
        return replace(self, **changes)

    def small(self) -> Self:
        """Return the quick version, under its own name; raise ValueError if the study declares none."""
        if not self.quick:
            raise ValueError(f"quick: {self.name} declares no quick version")
        return self.but(**{"name": f"{self.name}-quick", "quick": {}, **self.quick})

    @cached_property
    def environment(self) -> Task[Any]:
        """The task."""
        self._import_modules()
        with saying("task"):
            if self.kind == "control" and self._task_id not in TASKS:
                if self.task in WORLDS and not self.preset:
                    made: Any = WORLDS[self.task](**self.task_options).env()
                    made.id = self.task
                    return made
                if self.task in gym.registry:
                    found: Any = EnvTask(self.task, dict(self.task_options))
                    return found
            if self._task_id not in TASKS and self.task in gym.registry:
                raise ValueError(
                    f"{self.task} is an environment of Gymnasium, without a policy to evaluate or values to compare "
                    f"with; write one of {listed(TASKS)}, register your own with @td.tasks.register in one of the "
                    "study's modules, or train an agent in the environment itself: td.train"
                )
            return make(self.task, self.preset, **self.task_options)

    @property
    def _task_id(self) -> str:
        return self.task.removeprefix(f"{NAMESPACE}/")

    def cells(self, method: str) -> list[dict[str, Any]]:
        """Return the parameter values of each cell of a method's grid."""
        over = self.methods[method].over
        return [dict(zip(over, values, strict=True)) for values in product(*(self.grid[axis] for axis in over))]

    def fixed_lam(self, method: str, cell: Mapping[str, Any]) -> bool:
        """Return whether λ in this cell of a method is given and constant.

        >>> import tdlambda as td
        >>> both = td.studies.Method("TD", over=("lam",), options={"alpha": 0.1})
        >>> study = td.studies.Study("walk", "RandomWalk-v0", {"both": both}, grid={"lam": [0.5, "auto"]})
        >>> [(cell["lam"], study.fixed_lam("both", cell)) for cell in study.cells("both")]
        [(0.5, True), ('auto', False)]
        """
        return self.methods[method].fixed_lam(cell)

    def family(self, method: str, cell: Mapping[str, Any]) -> str:
        """Return how this cell chooses λ: "fixed λ", "tunes itself", or "other" for a learner without λ."""
        return self.methods[method].family(cell)

    def stored(self, cell: Mapping[str, Any]) -> dict[str, Any]:
        """Return a cell as results store it: a parameter with text among its values is stored as text throughout."""
        return {axis: str(value) if axis in self._text else value for axis, value in cell.items()}

    def stored_cells(self, method: str) -> list[dict[str, Any]]:
        """Return all cells of a method as results store them, in order."""
        return [self.stored(cell) for cell in self.cells(method)]

    @cached_property
    def _text(self) -> set[str]:
        return {axis for axis, values in self.grid.items() if any(isinstance(value, str) for value in values)}

    def agents(self, method: str) -> list[Any]:
        """Return the agent of each cell, in control; raise an error if one does not fit the task."""
        self._import_those_of(method)
        declared, warm_up, task = self.methods[method], (self.warm_up, self.steps), self.environment
        with saying(f"methods.{method}"):
            built = self._of_each(
                method, lambda cell: build_agent(task, declared.learner, *declared.settings(cell), warm_up, self.agent)
            )
            control.checked(task, built, [self.seed], self.steps, self.read_at, 0, ())
        return built

    def learners(self, method: str) -> list[Learner]:
        """Return the learner of each cell; raise an error if one does not fit the task."""
        if self.kind == "control":
            raise ValueError(f"kind: {self.name} is a study of control, which has `agents`")
        self._import_those_of(method)
        declared, warm_up, task = self.methods[method], (self.warm_up, self.steps), self.environment
        truth = self.truth(method)
        with saying(f"methods.{method}"):
            built = self._of_each(
                method, lambda cell: build_learner(task, declared.learner, *declared.settings(cell), warm_up)
            )
            given = None if self.score in ("rms", "rmspbe") else truth
            checked(task, built, [self.seed], 1, [1], 0, None, given, (), WIDTH, self.score, self.average)
        return built

    def _of_each(self, method: str, build: Callable[[Mapping[str, Any]], Any]) -> list[Any]:
        """Build something for each cell; raise an error after the first if memory does not suffice for all."""
        first, *rest = self.cells(method)
        built = [build(first)]
        sizes.check_memory(built[0].features.size, 1 + len(rest))
        return built + [build(cell) for cell in rest]

    def truth(self, method: str) -> Truth:
        """Return the true values that the method's error is measured against; none in control."""
        if self.kind == "control":
            return no_truth()
        name = self.methods[method].truth
        if name not in self._truths:
            task = self.environment
            with saying(f"methods.{method}"):
                self._truths[name] = build_truth(task, name, self.score)
        return self._truths[name]

    @cached_property
    def _truths(self) -> dict[str, Truth]:
        return {}

    def key(self, method: str) -> str:
        """Return a hash of everything except the seed that the results depend on: the declaration and the program."""
        return _hash({"declared": self.definition(method), "code": self.code(method) if self.trusted else None})

    def definition(self, method: str) -> str:
        """Return a hash of what the study declares about a method, independent of the program."""
        declared = self.methods[method]
        chosen = {name: getattr(self, name) for name in _OF_PREDICTION if getattr(self, name) != _OF_PREDICTION[name]}
        return _hash(chosen | {
            "format": FORMAT, "kind": self.kind, "task": self.task, "preset": self.preset,
            "task_options": self.task_options, "modules": self.modules, "learner": declared.learner,
            "rule": declared.rule, "options": declared.options, "truth": declared.truth, "cells": self.cells(method),
            "steps": self.steps if self.episodes is None else None, "points": self.points, "tail": self.tail,
            "curve": self.curve, "warm_up": self.warm_up, "agent": self.agent,
        })  # fmt: skip

    def code(self, method: str) -> dict[str, str]:
        """Return the program that computes a method's results: package versions, and digests of its modules."""
        self._import_modules()
        self._import_those_of(method)
        known = TASKS.get(self._task_id)
        return code([*self.modules, *self.methods[method].modules.values()], known.build.__module__ if known else None)

    def _import_modules(self) -> None:
        """Import `modules`, unless the study is not trusted; the task must then be registered already."""
        with saying("modules"):
            for module in self.modules if self.trusted else ():
                imported(module, self.folders)

    def _import_those_of(self, method: str) -> None:
        """Import the modules of a method's learner and rule; raise an error if the study is not trusted."""
        for what, module in self.methods[method].modules.items():
            with saying(f"methods.{method}: {what}"):
                if not self.trusted:
                    raise ValueError(f"{module} is not imported to look at results; td.studies.run_study does so")
                imported(module, self.folders)

    @property
    def numbers(self) -> range:
        """The seeds."""
        return range(self.seed, self.seed + self.seeds)

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
        return self.steps if self.episodes is None else self.episodes

    @cached_property
    def run_steps(self) -> int:
        """Number of transitions of a run; if measured in episodes, of the first seed's run."""
        if self.episodes is None:
            return self.steps
        return int(episode_ends(self.environment, self.seed, self.episodes)[-1])

    @property
    def read_at(self) -> Ints:
        """Steps or episodes after which the error is read."""
        n = self.points
        return np.unique(np.round(np.linspace(self.length / n, self.length, n)).astype(np.int64))

    @property
    def moments(self) -> Ints:
        """Steps or episodes after which λ of a followed seed is recorded."""
        return self.read_at[moments_of(self.read_at)]

    def followed(self, method: str) -> tuple[int, ...]:
        """Return the seeds for which a method's λ is recorded: the first one, if any cell tunes λ."""
        moves = any(not self.fixed_lam(method, cell) for cell in self.cells(method))
        return (self.seed,) if self.follow and moves else ()

    @property
    def tail_points(self) -> int:
        """Number of points in the tail."""
        return max(1, round(self.tail * self.points))

    @property
    def area_points(self) -> int:
        """Number of points in the area: all; in control those after the warm-up, before which methods are equal."""
        if self.kind == "prediction":
            return self.points
        return max(1, int((self.read_at > int(self.warm_up * self.steps)).sum()))

    @property
    def kept(self) -> Ints:
        """Indices of the points that the learning curve stores, ascending.

        With m = min(curve, points): for each k = 1 … m the point nearest to k · points / m (either one in a tie), and
        every point of the tail.
        """
        n = self.points
        evenly = np.round(np.linspace(n / min(self.curve, n), n, min(self.curve, n))).astype(np.int64) - 1
        return np.unique(np.concatenate([evenly, np.arange(n - self.tail_points, n)]))

    def __repr__(self) -> str:
        """Return a one-line summary."""
        what = ", ".join(f"{name} {len(self.cells(name))} cells" for name in self.methods)
        return f"<study {self.name}: {self.task}, {what}; {self.seeds} seeds × {self.length:,} {self.unit}>"


def _hash(content: Any) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True, default=listable).encode()).hexdigest()[:16]


def _declared(cls: type[Study]) -> list[str]:
    """Return the fields that are stored with a study."""
    return [f.name for f in fields(cls) if f.name != "trusted"]


def bundled() -> dict[str, Study]:
    """Return the studies that come with the package, by name.

    >>> sorted(bundled())[:2]
    ['every-step-size', 'frozenlake']
    """
    return {name: Study.load(name) for name in bundled_names()}

"""A study: a task, methods over grids of parameters, seeds, run length, and what is measured."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from functools import cached_property, partial
from itertools import product
from typing import Any

import gymnasium as gym

from tdlambda.control import control_job
from tdlambda.control.worlds import EnvTask, classic_world
from tdlambda.engine.episodes import episode_ends
from tdlambda.engine.prediction_job import checked
from tdlambda.lab.studies import sizes
from tdlambda.lab.studies.building import build_agent, build_learner, build_truth, no_truth, policy_task
from tdlambda.lab.studies.declaration import OF_PREDICTION, StudyDeclaration
from tdlambda.lab.studies.field_checks import listable, saying
from tdlambda.lab.studies.sources import code, imported
from tdlambda.lab.studies.toml_files import bundled_names
from tdlambda.learners.learner import Learner
from tdlambda.runner.truth import Truth
from tdlambda.showing import counted, hint
from tdlambda.tasks import TASKS, WORLDS, make
from tdlambda.tasks.task import Task
from tdlambda.tasks.task_registry import NAMESPACE

FORMAT = 1
"""Version of the file format; results of another version are not read."""


class Study(StudyDeclaration):
    """The declaration of an experiment.

    Parameters
    ----------
    name
        Name of the study and of its results directory: letters, digits and . + - _, beginning with a letter or digit.
    task, preset, task_options
        As for `td.make`. For an environment of Gymnasium, `task_options` has the `policy` to evaluate and the other
        arguments of `td.engine.PolicyTask`.
    methods
        Methods by name.
    grid
        Values of each grid parameter, for the methods declared over it.
    seeds
        Number of trajectories, from 1 to 10⁶, with seeds counted from 0 (30 by default); or the seeds themselves, each
        from 0 to 2³² - 1: a list, a range, or text such as "100:130" (130 excluded).
    steps, episodes
        Length of each trajectory, in transitions or in episodes, from 1 to 10¹⁵; give one of the two (100,000 steps by
        default).
    points
        Number of points at which the error is read, evenly spaced up to the last step, from 1 to the number of steps
        and at most 10⁶ (100 by default). With `episodes`, points are episodes, at most one per episode.
    score
        Error measure: "value" (the default), "rmsve", "rms" or "rmspbe", as for `td.engine.run`.
    average
        "before" or "after": each point is the mean error over all steps since the last point, before or after each
        update, and `area` is the mean over all steps. By default a point is the error at that step.
    tail
        Share of the points, in (0, 1], at the end of the run; the final error is the mean over them (0.1 by default).
    curve
        Number of points of the learning curve to store, evenly spaced, at least 1 (100 by default); all points of the
        tail are stored too.
    follow
        Whether to record λ of the first seed over time, at up to 48 of the points, for the report; one byte each.
    warm_up
        Share of the steps, in [0, 1), during which adaptive rules keep λ fixed and, in control, policies are frozen
        (0 by default).
    kind
        "prediction" (the default) measures value errors; "control" lets agents act and measures a cost, minus the
        return.
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

    @cached_property
    def environment(self) -> Task[Any]:
        """The task."""
        self._import_modules()
        with saying("task"):
            if self.kind == "control" and self._task_id not in TASKS:
                if self.task in WORLDS and not self.preset:
                    made: Any = classic_world(self.task, self.task_options).env()
                    made.id = self.task
                    return made
                if self.task in gym.registry:
                    found: Any = EnvTask(self.task, self.task_options)
                    return found
            if self._task_id not in TASKS and self.task in gym.registry:
                return self._evaluated()
            if self._task_id not in TASKS:
                known = [*TASKS, *WORLDS] if self.kind == "control" else [*TASKS]
                raise ValueError(f"unknown task {self.task!r}{hint(self._task_id, known, 'choose from {}')}")
            return make(self.task, self.preset, **self.task_options)

    def _evaluated(self) -> Task[Any]:
        """An environment of Gymnasium with the policy of `task_options`."""
        if "policy" not in self.task_options:
            raise ValueError(
                f"{self.task} is an environment of Gymnasium, without a policy to evaluate; write task_options = "
                '{ policy = [0.5, 0.5], discount = 0.99 } (or policy = "module:function"), or kind = "control" to '
                "train agents in it"
            )
        options = dict(self.task_options)
        for name in ("policy", "behavior"):
            if isinstance(options.get(name), str):
                options[name] = self._function(name, options[name])
        return policy_task(self.task, options)

    def _function(self, name: str, path: str) -> Any:
        """A function of a user's module, "module:function"."""
        module, _, function = path.partition(":")
        if not (module and function):
            raise ValueError(f'{name} must be probabilities or "module:function"; got {path!r}')
        if not self.trusted:
            raise ValueError(f"{module} is not imported to look at results; td.studies.run_study does so")
        found = getattr(imported(module, self.folders), function, None)
        if not callable(found):
            raise ValueError(f"{name}: {module} has no function {function!r}")
        return found

    @property
    def _task_id(self) -> str:
        return self.task.removeprefix(f"{NAMESPACE}/")

    def cells(self, method: str) -> list[dict[str, Any]]:
        """Parameter values of each cell of a method's grid."""
        over = self.methods[method].over
        return [dict(zip(over, values, strict=True)) for values in product(*(self.grid[axis] for axis in over))]

    def stored_cells(self, method: str) -> list[dict[str, Any]]:
        """All cells of a method as results store them: a parameter with text among its values is text throughout."""
        texts = {axis for axis, values in self.grid.items() if any(isinstance(value, str) for value in values)}
        return [{axis: str(v) if axis in texts else v for axis, v in cell.items()} for cell in self.cells(method)]

    def agents(self, method: str) -> list[Any]:
        """The agent of each cell, in control; an agent that does not fit the task raises an error."""
        built = self._of_each_cell(method, partial(build_agent, shared=self.agent))
        with saying(f"methods.{method}"):
            control_job.checked(self.environment, built, self.numbers[:1], self.length, self.read_at, ())
        return built

    def learners(self, method: str) -> list[Learner]:
        """The learner of each cell; a learner that does not fit the task raises an error."""
        if self.kind == "control":
            raise ValueError(f"kind: {self.name} is a study of control; write agents({method!r})")
        built, truth = self._of_each_cell(method, build_learner), self.truth(method)
        given = None if self.score in ("rms", "rmspbe") else truth
        with saying(f"methods.{method}"):
            measured = {"score": self.score, "average": self.average}
            checked(self.environment, built, self.numbers[:1], 1, [1], None, given, (), **measured)
        return built

    def _of_each_cell(self, method: str, build: Callable[..., Any]) -> list[Any]:
        """Build something for each cell; raise an error after the first if memory does not suffice for all."""
        self._import_those_of(method)
        declared, task, cells = self.methods[method], self.environment, self.cells(method)
        built: list[Any] = []
        with saying(f"methods.{method}"):
            for cell in cells:
                built.append(build(task, declared.learner, *declared.settings(cell), (self.warm_up, self.length)))
                if len(built) == 1:
                    sizes.check_memory(built[0].features.size, len(cells))
        return built

    def truth(self, method: str) -> Truth:
        """True values that the method's error is measured against; none in control."""
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
        """Hash of everything except the seed that the results depend on: the declaration and the program."""
        return _hash({"declared": self.definition(method), "code": self.code(method) if self.trusted else None})

    def definition(self, method: str) -> str:
        """Hash of what the study declares about a method, independent of the program."""
        declared = self.methods[method]
        chosen = {name: getattr(self, name) for name in OF_PREDICTION if getattr(self, name) != OF_PREDICTION[name]}
        return _hash(chosen | {
            "format": FORMAT, "kind": self.kind, "task": self.task, "preset": self.preset,
            "task_options": self.task_options, "modules": self.modules, "learner": declared.learner,
            "rule": declared.rule, "options": declared.options, "truth": declared.truth, "cells": self.cells(method),
            "steps": self.length if self.episodes is None else None, "points": self.points, "tail": self.tail,
            "curve": self.curve, "warm_up": self.warm_up, "agent": self.agent,
        })  # fmt: skip

    def code(self, method: str) -> dict[str, str]:
        """The program that computes a method's results: package versions, and digests of its modules."""
        self._import_modules()
        self._import_those_of(method)
        known = TASKS.get(self._task_id)
        named = [self.task_options.get(name) for name in ("policy", "behavior")]
        policies = [path.partition(":")[0] for path in named if isinstance(path, str) and known is None]
        modules = [*self.modules, *policies, *self.methods[method].modules.values()]
        return code(modules, known.build.__module__ if known else None)

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

    @cached_property
    def run_steps(self) -> int:
        """Number of transitions of a run; if measured in episodes, of the first seed's run."""
        if self.episodes is None:
            return self.length
        return int(episode_ends(self.environment, self.numbers[0], self.episodes)[-1])

    def followed(self, method: str) -> tuple[int, ...]:
        """Seeds for which a method's λ is recorded: the first one, if any cell tunes λ."""
        moves = any(not self.methods[method].fixed_lam(cell) for cell in self.cells(method))
        return (self.numbers[0],) if self.follow and moves else ()

    def __repr__(self) -> str:
        """One-line summary."""
        what = ", ".join(f"{name} {counted(len(self.cells(name)), 'cell')}" for name in self.methods)
        seeds = counted(len(self.numbers), "seed")
        return f"<study {self.name}: {self.task}, {what}; {seeds} × {self.length:,} {self.unit}>"


def _hash(content: Any) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True, default=listable).encode()).hexdigest()[:16]


def bundled() -> dict[str, Study]:
    """Studies that come with the package, by name.

    >>> sorted(bundled())[:2]
    ['every-step-size', 'frozenlake']
    """
    return {name: Study.load(name) for name in bundled_names()}

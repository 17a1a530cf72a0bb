"""The registry of tasks by versioned id. The version changes whenever results change."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, TypeAlias, TypeVar, overload

import gymnasium as gym

from tdlambda.showing import hint
from tdlambda.tasks.task import TabularTask, Task

_AnyTask = TypeVar("_AnyTask", bound=type[Task[Any]])
NAMESPACE = "tdlambda"


@dataclass(frozen=True)
class TaskEntry:
    """A registered task: how to build it, and its presets."""

    id: str
    build: type[Task[Any]]
    presets: Mapping[str, Mapping[str, Any]]

    @property
    def summary(self) -> str:
        """The first line of the task's docstring."""
        return (self.build.__doc__ or "").strip().partition("\n")[0]


TASKS: dict[str, TaskEntry] = {}
"""Every task by id, in the order of registration."""


def register(name: str, presets: Mapping[str, Mapping[str, Any]] | None = None) -> Callable[[_AnyTask], _AnyTask]:
    """Register a class as a task, here and with Gymnasium (as "tdlambda/" + name); the first preset is the default.

    Parameters
    ----------
    name
        Versioned id, such as "RingWorld-v0".
    presets
        Constructor arguments of each preset, by its name.

    Examples
    --------
    >>> import tdlambda as td
    >>> @td.tasks.register("Coin-v0", {"fair": {"p": 0.5}})
    ... class Coin(td.tasks.TabularTask):
    ...     def __init__(self, p):
    ...         mdp = td.FiniteMDP.from_rows([(0, 0, 1, 1, p), (0, 0, 1, 0, 1 - p)], terminal=[1])
    ...         super().__init__(mdp, [1.0], None, td.features.OneHot(2))
    >>> td.make("Coin-v0").mdp.v()
    array([0.5, 0. ])
    >>> del td.tasks.TASKS["Coin-v0"]
    """

    def add(build: _AnyTask) -> _AnyTask:
        if name in TASKS:
            raise ValueError(f"name: a task {name!r} is already registered; choose another name or version")
        build.id = name
        TASKS[name] = TaskEntry(name, build, dict(presets or {}))
        if f"{NAMESPACE}/{name}" not in gym.registry:  # tdlambda's own tasks are registered before they are imported
            gym.register(f"{NAMESPACE}/{name}", entry_point=partial(make, name))
        return build

    return add


Tabular: TypeAlias = Literal[
    "Aliased-v0", "Baird-v0", "Bifurcation-v0", "BoyanChain-v0", "CliffWalking-v0", "Collision-v0", "FrozenLake-v0",
    "Garnet-v0", "RandomMRP-v0", "RandomWalk-v0", "RingWorld-v0", "TwoChoice-v0", "TwoState-v0", "WindyGridworld-v0",
]  # fmt: skip
"""Ids of tasks with an exact model, for type checkers."""


@overload
def make(id: Tabular, preset: str | None = None, **options: Any) -> TabularTask: ...
@overload
def make(id: str, preset: str | None = None, **options: Any) -> Task[Any]: ...
def make(id: str, preset: str | None = None, **options: Any) -> Task[Any]:  # noqa: A002, Gymnasium's own name for it
    """Build a task, by default with its first preset.

    Parameters
    ----------
    id
        Versioned id, such as "RingWorld-v0"; `td.tasks.TASKS` has all of them.
    preset
        Name of a preset; None for the first one.
    options
        Arguments of the task's constructor, which override the preset.

    Examples
    --------
    >>> import tdlambda as td
    >>> ring = td.make("RingWorld-v0", preset="0.3/0.25")
    >>> ring.target(5), ring.behavior(5)
    (array([0.25, 0.75]), array([0.3, 0.7]))
    >>> td.make("RingWorld-v0", n=19).mdp.n_states
    19
    """
    if not isinstance(id, str):
        raise TypeError(f'id must be the id of a task, such as "RingWorld-v0"; got {id!r}')
    name = id.removeprefix(f"{NAMESPACE}/")
    if name not in TASKS:
        raise ValueError(f"id: unknown task {id!r}{hint(name, TASKS, 'td.tasks.TASKS and `tdlambda tasks` list all')}")
    entry = TASKS[name]
    if preset is not None and preset not in entry.presets:
        known = ", ".join(repr(p) for p in entry.presets) or "none"
        raise ValueError(f"preset: {name} has no preset {preset!r}; it has {known}")
    chosen = entry.presets.get(preset or next(iter(entry.presets), ""), {})
    options.pop("render_mode", None)
    return entry.build(**{**chosen, **options})

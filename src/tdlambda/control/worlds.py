"""The compiled worlds of tasks."""

from __future__ import annotations

from typing import Any

from tdlambda.tasks.base import Task
from tdlambda.tasks.world import World


def world_of(task: Task[Any]) -> World:
    """The compiled world of a task; an error if there is none.

    >>> import tdlambda as td
    >>> world_of(td.make("MountainCar-v0", limit=500)).limit
    500
    """
    if not hasattr(task, "world"):
        raise ValueError(f"task: {task!r} has no compiled world yet; td.train runs it step by step")
    return task.world()

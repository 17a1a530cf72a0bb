"""One file a task: environment, policies, features and truth. `make` builds one, `TASKS` lists them."""

from tdlambda.tasks import (
    aliased,
    baird,
    boyan,
    collision,
    frozen_lake,
    garnet,
    mountain_car,
    random_mrp,
    random_walk,
    ring_world,
    two_choice,
    two_state,
)
from tdlambda.tasks.base import TabularTask, Task
from tdlambda.tasks.registry import TASKS, TaskEntry, make, task

__all__ = [
    "TASKS",
    "TabularTask",
    "Task",
    "TaskEntry",
    "aliased",
    "baird",
    "boyan",
    "collision",
    "frozen_lake",
    "garnet",
    "make",
    "mountain_car",
    "random_mrp",
    "random_walk",
    "ring_world",
    "task",
    "two_choice",
    "two_state",
]

"""One file a task: environment, policies, features and truth. `make` builds one, `TASKS` lists them."""

from tdlambda.tasks import baird, boyan, frozen_lake, garnet, mountain_car, random_walk, ring_world, two_state
from tdlambda.tasks.base import TabularTask, Task
from tdlambda.tasks.registry import TASKS, TaskEntry, make, task

__all__ = [
    "TASKS",
    "TabularTask",
    "Task",
    "TaskEntry",
    "baird",
    "boyan",
    "frozen_lake",
    "garnet",
    "make",
    "mountain_car",
    "random_walk",
    "ring_world",
    "task",
    "two_state",
]

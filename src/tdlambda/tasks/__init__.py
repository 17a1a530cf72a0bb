"""Tasks, one per file: environment, policies, features and exact values. `make` builds one, `TASKS` lists them."""

from tdlambda.randomness import uniform
from tdlambda.tasks import (
    aliased,
    baird,
    boyan,
    classic,
    collision,
    frozen_lake,
    garnet,
    gridworlds,
    mountain_car,
    random_mrp,
    random_walk,
    ring_world,
    two_choice,
    two_state,
)
from tdlambda.tasks.table_world import table_world
from tdlambda.tasks.task import TabularTask, Task
from tdlambda.tasks.task_registry import TASKS, TaskEntry, make, register
from tdlambda.tasks.world import WORLDS, Plane, World, WorldEnv, states

__all__ = [
    "TASKS", "WORLDS", "Plane", "TabularTask", "Task", "TaskEntry", "World", "WorldEnv", "aliased", "baird", "boyan",
    "classic", "collision", "frozen_lake", "garnet", "gridworlds", "make", "mountain_car", "random_mrp", "random_walk",
    "register", "ring_world", "states", "table_world", "two_choice", "two_state", "uniform",
]  # fmt: skip

"""TD(λ) that tunes its own λ: prediction with eligibility traces, and the exact answers to judge it by."""

from tdlambda.features import Custom, Dense, Encoder, Fourier, GridTilings, OneHot, Table, TileCoder
from tdlambda.mdp import FiniteMDP, LambdaReturn, TabularPolicy, Transitions
from tdlambda.tasks import TASKS, Task, make, task

__version__ = "0.1.0"

__all__ = [
    "TASKS",
    "Custom",
    "Dense",
    "Encoder",
    "FiniteMDP",
    "Fourier",
    "GridTilings",
    "LambdaReturn",
    "OneHot",
    "Table",
    "TabularPolicy",
    "Task",
    "TileCoder",
    "Transitions",
    "make",
    "task",
]

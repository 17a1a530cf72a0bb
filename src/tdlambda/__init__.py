"""TD(λ) that tunes its own λ: prediction with eligibility traces, and the exact answers to judge it by."""

from tdlambda.features import Custom, Dense, Encoder, Fourier, GridTilings, OneHot, Table, TileCoder
from tdlambda.lambdas import Fixed, PerState
from tdlambda.learners import GTD, TD, VTD, DirectVTD, Diverged, Learner, OneOver, TrueOnlineGTD, TrueOnlineTD
from tdlambda.mdp import FiniteMDP, LambdaReturn, TabularPolicy, Transitions
from tdlambda.tasks import TASKS, Task, make, task

__version__ = "0.1.0"

__all__ = [
    "GTD",
    "TASKS",
    "TD",
    "VTD",
    "Custom",
    "Dense",
    "DirectVTD",
    "Diverged",
    "Encoder",
    "FiniteMDP",
    "Fixed",
    "Fourier",
    "GridTilings",
    "LambdaReturn",
    "Learner",
    "OneHot",
    "OneOver",
    "PerState",
    "Table",
    "TabularPolicy",
    "Task",
    "TileCoder",
    "Transitions",
    "TrueOnlineGTD",
    "TrueOnlineTD",
    "make",
    "task",
]

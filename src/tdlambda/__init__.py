"""TD(λ) that tunes its own λ: prediction with eligibility traces, and the exact answers to judge it by."""

from tdlambda import memory
from tdlambda.features import Custom, Dense, Encoder, Fourier, GridTilings, OneHot, Table, TileCoder
from tdlambda.lambdas import Counting, Fixed, Greedy, Meta, PerState
from tdlambda.learners import (
    GTD,
    LSTD,
    TD,
    VTD,
    DirectVTD,
    Diverged,
    Evaluation,
    LambdaReturn,
    Learner,
    MonteCarlo,
    NStepTD,
    OneOver,
    TrueOnlineGTD,
    TrueOnlineTD,
    check_learner,
    evaluate,
    from_log,
    lambda_returns,
    load,
)
from tdlambda.mdp import FiniteMDP, LambdaMoments, TabularPolicy, Transitions
from tdlambda.tasks import TASKS, Task, make, task

__version__ = "0.1.0"

__all__ = [
    "GTD",
    "LSTD",
    "TASKS",
    "TD",
    "VTD",
    "Counting",
    "Custom",
    "Dense",
    "DirectVTD",
    "Diverged",
    "Encoder",
    "Evaluation",
    "FiniteMDP",
    "Fixed",
    "Fourier",
    "Greedy",
    "GridTilings",
    "LambdaMoments",
    "LambdaReturn",
    "Learner",
    "Meta",
    "MonteCarlo",
    "NStepTD",
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
    "check_learner",
    "evaluate",
    "from_log",
    "lambda_returns",
    "load",
    "make",
    "memory",
    "task",
]

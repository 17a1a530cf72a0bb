"""TD(λ) that tunes its own λ: prediction with eligibility traces, and the exact answers to judge it by."""

from tdlambda import engine, memory, studies
from tdlambda.auto import AutoTD
from tdlambda.control import ActorCritic, Gaussian, LearningCurve, Softmax, meta_actor_critic, train
from tdlambda.features import Custom, Dense, Encoder, Fourier, GridTilings, OneHot, Table, TileCoder
from tdlambda.interruption import Interrupted
from tdlambda.lambdas import Counting, Fixed, Greedy, Meta, OfflineMeta, PerState, ValueErrorGreedy, offline_meta
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
from tdlambda.report import History, follow
from tdlambda.studies import Method, Study, load_results, run_study
from tdlambda.tasks import TASKS, Task, make, task

__version__ = "0.1.0"

__all__ = [
    "GTD",
    "LSTD",
    "TASKS",
    "TD",
    "VTD",
    "ActorCritic",
    "AutoTD",
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
    "Gaussian",
    "Greedy",
    "GridTilings",
    "History",
    "Interrupted",
    "LambdaMoments",
    "LambdaReturn",
    "Learner",
    "LearningCurve",
    "Meta",
    "Method",
    "MonteCarlo",
    "NStepTD",
    "OfflineMeta",
    "OneHot",
    "OneOver",
    "PerState",
    "Softmax",
    "Study",
    "Table",
    "TabularPolicy",
    "Task",
    "TileCoder",
    "Transitions",
    "TrueOnlineGTD",
    "TrueOnlineTD",
    "ValueErrorGreedy",
    "check_learner",
    "engine",
    "evaluate",
    "follow",
    "from_log",
    "lambda_returns",
    "load",
    "load_results",
    "make",
    "memory",
    "meta_actor_critic",
    "offline_meta",
    "run_study",
    "studies",
    "task",
    "train",
]

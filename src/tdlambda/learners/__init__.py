"""The objects a user holds: learners with traces (`Algorithm`), and those that are no declarations."""

from tdlambda.learners.algorithm import Algorithm
from tdlambda.learners.base import LEARNERS, Diverged, Learner
from tdlambda.learners.checks import check_learner
from tdlambda.learners.evaluation import Evaluation, evaluate
from tdlambda.learners.lambda_return import LambdaReturn, lambda_returns
from tdlambda.learners.log import from_log
from tdlambda.learners.lstd import LSTD
from tdlambda.learners.monte_carlo import MonteCarlo
from tdlambda.learners.n_step import NStepTD
from tdlambda.learners.step_size import OneOver
from tdlambda.learners.storage import load

__all__ = [
    "LEARNERS",
    "LSTD",
    "Algorithm",
    "Diverged",
    "Evaluation",
    "LambdaReturn",
    "Learner",
    "MonteCarlo",
    "NStepTD",
    "OneOver",
    "check_learner",
    "evaluate",
    "from_log",
    "lambda_returns",
    "load",
]

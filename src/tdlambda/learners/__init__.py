"""One file an algorithm: its mathematics, compiled, and the object a user holds."""

from tdlambda.learners import driver
from tdlambda.learners.base import LEARNERS, Diverged, Learner
from tdlambda.learners.checks import check_learner
from tdlambda.learners.direct_vtd import DirectVTD
from tdlambda.learners.evaluation import Evaluation, evaluate
from tdlambda.learners.gtd_lambda import GTD
from tdlambda.learners.lambda_return import LambdaReturn, lambda_returns
from tdlambda.learners.log import from_log
from tdlambda.learners.lstd import LSTD
from tdlambda.learners.monte_carlo import MonteCarlo
from tdlambda.learners.n_step import NStepTD
from tdlambda.learners.step_size import OneOver
from tdlambda.learners.storage import load
from tdlambda.learners.td_lambda import TD
from tdlambda.learners.trace_learner import TraceLearner
from tdlambda.learners.true_online_gtd import TrueOnlineGTD
from tdlambda.learners.true_online_td import TrueOnlineTD
from tdlambda.learners.vtd import VTD

__all__ = [
    "GTD",
    "LEARNERS",
    "LSTD",
    "TD",
    "VTD",
    "DirectVTD",
    "Diverged",
    "Evaluation",
    "LambdaReturn",
    "Learner",
    "MonteCarlo",
    "NStepTD",
    "OneOver",
    "TraceLearner",
    "TrueOnlineGTD",
    "TrueOnlineTD",
    "check_learner",
    "driver",
    "evaluate",
    "from_log",
    "lambda_returns",
    "load",
]

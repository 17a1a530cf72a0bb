"""Learners: `Algorithm`, the base of those declared by equations, and learners of other kinds."""

from tdlambda.learners.algorithm import Algorithm
from tdlambda.learners.allstd import LambdaChoice, choose_lambda
from tdlambda.learners.checks import check_learner
from tdlambda.learners.discrepancy import LambdaDiscrepancy
from tdlambda.learners.expected_trace import ExpectedTrace
from tdlambda.learners.lambda_return import LambdaReturn
from tdlambda.learners.learner import LEARNERS, Diverged, Learner
from tdlambda.learners.log import learn_from_log
from tdlambda.learners.lspe import LSPE
from tdlambda.learners.lstd import LSTD
from tdlambda.learners.monte_carlo import MonteCarlo
from tdlambda.learners.n_step import NStepTD
from tdlambda.learners.recursive_lstd import RecursiveLSTD
from tdlambda.learners.step_size import OneOver

__all__ = [
    "LEARNERS", "LSPE", "LSTD", "Algorithm", "Diverged", "ExpectedTrace", "LambdaChoice", "LambdaDiscrepancy",
    "LambdaReturn", "Learner", "MonteCarlo", "NStepTD", "OneOver", "RecursiveLSTD", "check_learner", "choose_lambda",
    "learn_from_log",
]  # fmt: skip

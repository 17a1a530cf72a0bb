"""The engine: many learners on one stream, in compiled blocks."""

from tdlambda.engine.declaration_checks import check_algorithm, check_rule
from tdlambda.engine.run_learners import run
from tdlambda.engine.score import SCORES, Score
from tdlambda.runner.policy_task import PolicyTask
from tdlambda.runner.result import Result
from tdlambda.runner.truth import Truth, exact_truth, sampled_truth

__all__ = [
    "SCORES", "PolicyTask", "Result", "Score", "Truth", "check_algorithm", "check_rule", "exact_truth", "run",
    "sampled_truth",
]  # fmt: skip

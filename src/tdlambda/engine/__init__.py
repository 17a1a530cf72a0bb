"""The engine: many learners on one stream, in compiled blocks."""

from tdlambda.engine import running
from tdlambda.engine.checks import check_algorithm, check_rule
from tdlambda.engine.running import run
from tdlambda.engine.score import SCORES, Score
from tdlambda.runner.result import Result
from tdlambda.runner.truth import Truth, exact_truth, sampled_truth

__all__ = [
    "SCORES", "Result", "Score", "Truth", "check_algorithm", "check_rule", "exact_truth", "run", "running",
    "sampled_truth",
]  # fmt: skip

"""Rules for λ: a constant, a table over states, or a rule that learns λ alongside the value."""

from tdlambda.rules.counting import Counting
from tdlambda.rules.fixed import Fixed, PerState
from tdlambda.rules.greedy import Greedy
from tdlambda.rules.lambda_mixture import LambdaMixture
from tdlambda.rules.lambda_rule import Adaptive, Rule, Seen, WithEstimates
from tdlambda.rules.meta import Meta
from tdlambda.rules.naming import NAMED, Lam, as_rule
from tdlambda.rules.offline import OfflineMeta, offline_meta
from tdlambda.rules.value_error_greedy import ValueErrorGreedy

__all__ = [
    "NAMED",
    "Adaptive",
    "Counting",
    "Fixed",
    "Greedy",
    "Lam",
    "LambdaMixture",
    "Meta",
    "OfflineMeta",
    "PerState",
    "Rule",
    "Seen",
    "ValueErrorGreedy",
    "WithEstimates",
    "as_rule",
    "offline_meta",
]

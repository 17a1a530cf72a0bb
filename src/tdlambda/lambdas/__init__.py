"""Where λ comes from: a number, a table over states, or a rule that learns it."""

from tdlambda.lambdas.adaptive import Adaptive, WithEstimates
from tdlambda.lambdas.counting import Counting
from tdlambda.lambdas.fixed import Fixed, PerState, Rule
from tdlambda.lambdas.greedy import Greedy
from tdlambda.lambdas.meta import Meta
from tdlambda.lambdas.naming import NAMED, as_rule
from tdlambda.lambdas.offline import OfflineMeta, offline_meta
from tdlambda.lambdas.value_error_greedy import ValueErrorGreedy

__all__ = [
    "NAMED",
    "Adaptive",
    "Counting",
    "Fixed",
    "Greedy",
    "Meta",
    "OfflineMeta",
    "PerState",
    "Rule",
    "ValueErrorGreedy",
    "WithEstimates",
    "as_rule",
    "offline_meta",
]

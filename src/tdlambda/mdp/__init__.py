"""A finite MDP, and all that can be computed from one exactly."""

from tdlambda.mdp.distribution import DistributionMismatch
from tdlambda.mdp.finite import FiniteMDP
from tdlambda.mdp.objective import BestLambda
from tdlambda.mdp.policy import TabularPolicy
from tdlambda.mdp.returns import LambdaMoments
from tdlambda.mdp.sampler import TableSampler, Transitions

__all__ = [
    "BestLambda",
    "DistributionMismatch",
    "FiniteMDP",
    "LambdaMoments",
    "TableSampler",
    "TabularPolicy",
    "Transitions",
]

"""Finite MDPs and their exact solutions."""

from tdlambda.mdp.average import AverageReward, DifferentialFixedPoint
from tdlambda.mdp.corrections import TraceCorrection
from tdlambda.mdp.distribution import DistributionMismatch
from tdlambda.mdp.emphasis import Emphasis
from tdlambda.mdp.finite import FiniteMDP
from tdlambda.mdp.fixed_points import LinearSystem
from tdlambda.mdp.objective import BestLambda, meta_derivative, meta_minimizer
from tdlambda.mdp.operators import TraceOperator
from tdlambda.mdp.policies import TabularPolicy
from tdlambda.mdp.return_statistics import LambdaMoments
from tdlambda.mdp.sampler import TableSampler, Transitions
from tdlambda.mdp.view import PolicyView

__all__ = [
    "AverageReward", "BestLambda", "DifferentialFixedPoint", "DistributionMismatch", "Emphasis", "FiniteMDP",
    "LambdaMoments", "LinearSystem", "PolicyView", "TableSampler", "TabularPolicy", "TraceCorrection", "TraceOperator",
    "Transitions", "meta_derivative", "meta_minimizer",
]  # fmt: skip

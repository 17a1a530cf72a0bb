"""Targets and advantages of trajectories: λ-returns, GAE, V-trace and Retrace, and checks of anybody's own."""

from tdlambda.returns.checking import check_returns
from tdlambda.returns.rollouts import check_rollout
from tdlambda.returns.targets import Advantages, gae, lambda_returns, retrace, vtrace

__all__ = ["Advantages", "check_returns", "check_rollout", "gae", "lambda_returns", "retrace", "vtrace"]

"""Returns of trajectories: λ-returns, generalised advantage estimates, V-trace and Retrace, and checks of your own."""

from tdlambda.returns.targets import Advantages, gae, lambda_returns, retrace, vtrace

__all__ = ["Advantages", "gae", "lambda_returns", "retrace", "vtrace"]

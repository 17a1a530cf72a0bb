"""Networks as experts of AutoTD: the same network with several λ, each predicting with its averaged parameters."""

from __future__ import annotations

from tdlambda.algorithms import TD
from tdlambda.features import Network
from tdlambda.learners.learner import Learner
from tdlambda.steps import IntentionalRMS

LAMBDAS = (0.0, 0.5, 0.8, 0.95)
ETA = 0.3


def networks(network: Network) -> list[Learner]:
    """An expert for each λ, from the same initial parameters."""
    return [TD(network, IntentionalRMS(ETA), lam) for lam in LAMBDAS]

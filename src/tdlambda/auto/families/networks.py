"""Networks as experts of AutoTD: the same network with several λ, each predicting with its averaged parameters.

Without other experts they are `lam="auto"` on a network.
"""

from __future__ import annotations

import inspect
from typing import Any

from tdlambda.algorithms import TD
from tdlambda.features import Network
from tdlambda.learners.learner import Learner
from tdlambda.rules import as_rule
from tdlambda.steps import IntentionalRMS

LAMBDAS = (0.0, 0.5, 0.8, 0.95)
ETA = 0.3


def networks(network: Network) -> list[Learner]:
    """An expert for each λ, from the same initial parameters."""
    return [TD(network, IntentionalRMS(ETA), lam) for lam in LAMBDAS]


def with_each_lambda(kind: type[Learner], given: tuple[Any, ...], options: dict[str, Any]) -> tuple[Any, list[Learner]]:
    """The network in these arguments of a learner, and a learner for each λ of the rule that is its `lam`."""
    arguments = inspect.signature(kind).bind(*given, **options).arguments
    lams = as_rule(arguments.pop("lam")).lams  # type: ignore[attr-defined]
    return arguments["features"], [kind(**arguments, lam=lam) for lam in lams]

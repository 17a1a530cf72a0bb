"""Networks as experts of AutoTD: the same network with several λ, each predicting with its averaged parameters.

Without other experts they are `lam="auto"` on a network.
"""

from __future__ import annotations

import inspect
from typing import Any

from tdlambda.algorithms import TD
from tdlambda.features import Network
from tdlambda.learners.learner import Learner
from tdlambda.steps import IntentionalRMS

LAMBDAS, ALONE = (0.0, 0.5, 0.8, 0.95), (0.0, 0.5, 0.8, 0.9, 0.95, 1.0)
"""λ beside other experts, and of networks alone."""
ETA = 0.3


def networks(network: Network) -> list[Learner]:
    """An expert for each λ, from the same initial parameters."""
    return [TD(network, IntentionalRMS(ETA), lam) for lam in LAMBDAS]


def with_each_lambda(kind: type[Learner], given: tuple[Any, ...], options: dict[str, Any]) -> tuple[Any, list[Learner]]:
    """The network in these arguments of a learner, and a learner for each λ.

    The λ are those of a `td.rules.LambdaMixture` or, for "auto", `ALONE`. Each network has initial parameters of its
    own, so that the mixture averages over these too.
    """
    arguments = inspect.signature(kind).bind(*given, **options).arguments
    network, rule = arguments.pop("features"), arguments.pop("lam")
    lams = ALONE if isinstance(rule, str) else rule.lams
    seeds = range(network.seed * len(lams), (network.seed + 1) * len(lams))
    each = [Network(**network.get_params() | {"seed": seed}) for seed in seeds]
    return network, [kind(own, lam=lam, **arguments) for own, lam in zip(each, lams, strict=True)]

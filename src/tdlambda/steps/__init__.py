"""Step sizes α: schedules, and adaptive step sizes, one for all features or one per feature."""

from tdlambda.learners.step_size import OneOver, StepSize
from tdlambda.steps.adagrad import AdaGrad
from tdlambda.steps.autostep import Autostep
from tdlambda.steps.implicit import Implicit
from tdlambda.steps.intentional import Intentional
from tdlambda.steps.intentional_rms import IntentionalRMS
from tdlambda.steps.obgd import ObGD
from tdlambda.steps.swift import Swift
from tdlambda.steps.tidbd import TIDBD

__all__ = [
    "TIDBD", "AdaGrad", "Autostep", "Implicit", "Intentional", "IntentionalRMS", "ObGD", "OneOver", "StepSize",
    "Swift",
]  # fmt: skip

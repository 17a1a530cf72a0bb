"""Where α comes from: schedules, and step sizes that adapt, one for all features or one for each."""

from tdlambda.learners.step_size import OneOver, StepSize
from tdlambda.steps.adagrad import AdaGrad
from tdlambda.steps.autostep import Autostep
from tdlambda.steps.implicit import Implicit
from tdlambda.steps.intentional import Intentional
from tdlambda.steps.obgd import ObGD
from tdlambda.steps.swift import Swift
from tdlambda.steps.tidbd import TIDBD

__all__ = ["TIDBD", "AdaGrad", "Autostep", "Implicit", "Intentional", "ObGD", "OneOver", "StepSize", "Swift"]

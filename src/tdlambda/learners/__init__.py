"""One file an algorithm: its mathematics, compiled, and the object a user holds."""

from tdlambda.learners import driver
from tdlambda.learners.base import LEARNERS, Diverged, Learner
from tdlambda.learners.direct_vtd import DirectVTD
from tdlambda.learners.gtd_lambda import GTD
from tdlambda.learners.step_size import OneOver
from tdlambda.learners.td_lambda import TD
from tdlambda.learners.trace_learner import TraceLearner
from tdlambda.learners.true_online_gtd import TrueOnlineGTD
from tdlambda.learners.true_online_td import TrueOnlineTD
from tdlambda.learners.vtd import VTD

__all__ = [
    "GTD",
    "LEARNERS",
    "TD",
    "VTD",
    "DirectVTD",
    "Diverged",
    "Learner",
    "OneOver",
    "TraceLearner",
    "TrueOnlineGTD",
    "TrueOnlineTD",
    "driver",
]

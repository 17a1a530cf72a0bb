"""One declaration a file: an algorithm as its equations, and the learner that runs it."""

from tdlambda.algorithms.gtd import GTD
from tdlambda.algorithms.td import TD
from tdlambda.algorithms.true_online_gtd import TrueOnlineGTD
from tdlambda.algorithms.true_online_td import TrueOnlineTD
from tdlambda.algorithms.variance import VTD, DirectVTD, VarianceLearner

__all__ = ["GTD", "TD", "VTD", "DirectVTD", "TrueOnlineGTD", "TrueOnlineTD", "VarianceLearner"]

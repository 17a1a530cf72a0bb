"""TD algorithms, one per file: each class declares its equations and is the learner that runs them."""

from tdlambda.algorithms.differential import DifferentialTD
from tdlambda.algorithms.etd import ETD, TrueOnlineETD
from tdlambda.algorithms.gtd import GTD
from tdlambda.algorithms.gtd2 import GTD2
from tdlambda.algorithms.htd import HTD
from tdlambda.algorithms.pgtd2 import PGTD2
from tdlambda.algorithms.td import TD
from tdlambda.algorithms.tdrc import TDRC
from tdlambda.algorithms.true_online_gtd import TrueOnlineGTD
from tdlambda.algorithms.true_online_td import TrueOnlineTD
from tdlambda.algorithms.variance import VTD, DirectVTD, VarianceLearner

__all__ = [
    "ETD",
    "GTD",
    "GTD2",
    "HTD",
    "PGTD2",
    "TD",
    "TDRC",
    "VTD",
    "DifferentialTD",
    "DirectVTD",
    "TrueOnlineETD",
    "TrueOnlineGTD",
    "TrueOnlineTD",
    "VarianceLearner",
]

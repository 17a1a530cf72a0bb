"""Where transitions come from, who learns from them, and what is recorded: one loop over environments."""

from tdlambda.runner.curve import LearningCurve
from tdlambda.runner.learning import LearningRun, learn

__all__ = ["LearningCurve", "LearningRun", "learn"]

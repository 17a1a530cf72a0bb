"""Prediction without a step size or λ to choose: a bank of learners that is mixed by what it sees of their errors."""

from tdlambda.auto.auto_td import AutoTD
from tdlambda.auto.explanation import Expert, Explanation

__all__ = ["AutoTD", "Expert", "Explanation"]

"""Prediction without choosing a step size or λ: a bank of learners, mixed by their estimated errors."""

from tdlambda.auto.auto_td import AutoTD
from tdlambda.auto.explanation import Expert, Explanation

__all__ = ["AutoTD", "Expert", "Explanation"]

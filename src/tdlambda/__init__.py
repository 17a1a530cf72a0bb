"""TD(λ) that tunes its own λ."""

from tdlambda.mdp import FiniteMDP, TabularPolicy

__version__ = "0.1.0"

__all__ = ["FiniteMDP", "TabularPolicy"]

"""What a learner did, recorded and drawn."""

from tdlambda.report.history import History, follow

__all__ = ["History", "follow"]

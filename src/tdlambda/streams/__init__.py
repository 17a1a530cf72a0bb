"""Streams of rows: questions about them, learners for all questions, and how good the predictions are."""

from tdlambda.streams.evaluation import Prequential, prequential
from tdlambda.streams.front import Alarm
from tdlambda.streams.horde import Horde
from tdlambda.streams.question import Question
from tdlambda.streams.stacking import Stacking

__all__ = ["Alarm", "Horde", "Prequential", "Question", "Stacking", "prequential"]

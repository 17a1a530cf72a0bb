"""C99 from the same operations as the schedules: a learner that goes on learning on a device."""

from tdlambda.core.c.functions import NoCError
from tdlambda.core.c.printer import Exported, generate, members

__all__ = ["Exported", "NoCError", "generate", "members"]

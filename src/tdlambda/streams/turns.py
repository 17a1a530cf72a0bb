"""Which steps of a stream are sampled."""

import math

from tdlambda.compiled import kernel

IRRATIONAL = 0.382


@kernel
def is_turn(t: float, stride: float) -> bool:
    """Whether step t is sampled: one of about `stride`, at every phase of a season alike, whatever its period."""
    if stride <= 1.0:
        return True
    every = stride - IRRATIONAL
    return math.floor((t + 1.0) / every) > math.floor(t / every)

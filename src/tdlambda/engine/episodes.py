"""Runs measured in episodes: the steps at which a seed's episodes end."""

from __future__ import annotations

from typing import Any

import numpy as np

from tdlambda.arrays import Ints
from tdlambda.engine.trajectory import CHUNK
from tdlambda.tasks.task import Task

ENDLESS = 10_000_000
"""Steps after which an episode is considered endless."""


def episode_ends(task: Task[Any], seed: int, episodes: int) -> Ints:
    """The steps after which the first episodes of a seed's trajectory end.

    The trajectory does not depend on the learner, so one pass over it finds them; it is generated again when learners
    run on it. Truncation also ends an episode.

    >>> import tdlambda as td
    >>> episode_ends(td.make("TwoState-v0"), seed=1, episodes=3)
    array([ 2,  4, 12])
    """
    sampler, begin, found = task.sampler(seed), 0, np.zeros(0, dtype=np.int64)
    size = 256
    while found.size < episodes:
        steps = sampler.take(size)
        over = np.flatnonzero(steps.terminated | steps.truncated) + begin + 1
        found = np.concatenate([found, over])
        begin += size
        if found.size < episodes and begin - (found[-1] if found.size else 0) > ENDLESS:
            raise ValueError(
                f"episodes: in {task.id} with seed {seed}, episode {found.size + 1} has not ended after "
                f"{ENDLESS:,} steps; give steps instead"
            )
        size = min(2 * size, CHUNK)
    return found[:episodes]

"""One seed's trajectory, generated in chunks and encoded once for all blocks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tdlambda.arrays import Floats, Ints, plain
from tdlambda.features import Encoder
from tdlambda.features.encoder import first_misfit
from tdlambda.mdp import Transitions
from tdlambda.tasks.task import Task

CHUNK = 16384
"""Number of transitions generated at a time."""


@dataclass(frozen=True)
class TrajectoryChunk:
    """Transitions whose observations are given by their rows in a table of observations."""

    transitions: Transitions
    observations: Any
    at: Ints
    next_at: Ints


class Stream:
    """Chunks of one seed's trajectory. For a finite task, the table of observations is the list of its states."""

    def __init__(self, task: Task[Any], seed: int) -> None:
        self.sampler = task.sampler(seed)
        self.states = None if task.mdp is None else np.arange(task.mdp.n_states)

    def take(self, steps: int) -> TrajectoryChunk:
        """The next transitions."""
        c = self.sampler.take(steps)
        if self.states is not None:
            at: Any = (c.obs, c.next_obs)
            return TrajectoryChunk(c, self.states, *at)
        n = np.arange(steps)
        return TrajectoryChunk(c, np.concatenate([c.obs, c.next_obs]), n, n + steps)


def contiguous(encoder: Encoder, observations: Any) -> tuple[Ints, Floats]:
    """Indices and values [observation, active], contiguous and with validated indices."""
    index, value = encoder.encode_batch(observations)
    index, value = plain(index, np.int64), plain(value, np.float64)
    row = first_misfit(index, value, encoder.size)
    if row >= 0:
        raise ValueError(
            f"features: {encoder!r} must give indices from 0 to {encoder.size - 1} and values with a finite |x|²; got "
            f"{index[row]} and {value[row]}"
        )
    return index, value


class EncodedChunks:
    """Features of a chunk's observations; those of a finite task's states are computed once."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[Any, tuple[Ints, Floats]]] = {}

    def __call__(self, encoder: Encoder, observations: Any) -> tuple[Ints, Floats]:
        """Indices and values [observation, active]."""
        last, features = self._known.get(id(encoder), (None, None))
        if features is None or last is not observations:
            features = contiguous(encoder, observations)
            self._known[id(encoder)] = (observations, features)
        return features

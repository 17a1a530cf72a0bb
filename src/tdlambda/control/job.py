"""The description of a run of agents."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import Any

from tdlambda.arrays import Ints


@dataclass(frozen=True)
class Job:
    """A validated run."""

    world: Any
    """A `World` to run compiled, or an `EnvTask` to run in processes."""
    agents: dict[str, Any]
    seeds: tuple[int, ...]
    steps: int
    points: Ints
    keep: tuple[str, ...]
    observations: Any
    follow: tuple[int, ...] = ()
    """Seeds for which λ is recorded over time."""
    stop: threading.Event = field(default_factory=threading.Event)

    @property
    def total(self) -> int:
        """Number of steps of one agent over all seeds."""
        return self.steps * len(self.seeds)

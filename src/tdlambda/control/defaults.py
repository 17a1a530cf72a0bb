"""Step sizes that need no choice."""

from __future__ import annotations

from tdlambda.features import Encoder


def step_size(features: Encoder) -> float:
    """Placeholder."""
    return 0.5 / features.active

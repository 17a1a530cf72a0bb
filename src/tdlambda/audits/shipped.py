"""A rollout that comes with the package, to try audits and returns on."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray


def cartpole_rollout() -> dict[str, NDArray[Any]]:
    """A rollout of PPO on CartPole: 256 steps of 16 environments, arrays [T, N] with time first.

    `value` and `value_next` are the critic as it was when the rollout was collected, `old_value` and `old_value_next`
    the one of two updates before. `obs` and `next_obs` have one axis more. Next observations and values are those
    before a reset. Episodes are truncated after 200 steps. The discount is 0.99.

    >>> import tdlambda as td
    >>> rollout = td.audits.cartpole_rollout()
    >>> rollout["reward"].shape, rollout["obs"].shape
    ((256, 16), (256, 16, 4))
    """
    with np.load(Path(__file__).with_name("cartpole.npz")) as file:
        return dict(file)

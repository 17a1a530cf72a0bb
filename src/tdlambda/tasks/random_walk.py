"""Random walks: Sutton & Barto (2018), examples 6.2 and 7.1; off-policy with features, Sutton et al. (2009)."""

import numpy as np

from tdlambda.arrays import Floats, choice, integer
from tdlambda.features import Encoder, OneHot, Table
from tdlambda.tasks.ring_world import chain, left
from tdlambda.tasks.task import TabularTask
from tdlambda.tasks.task_registry import register

_OFF_POLICY = {"n": 5, "target_left": 0.4, "behavior_left": 0.5}


@register(
    "RandomWalk-v0",
    {
        "19": {"n": 19},
        "5": {"n": 5, "left_reward": 0.0},
        "tabular": _OFF_POLICY,
        "inverted": _OFF_POLICY | {"features": "inverted"},
        "dependent": _OFF_POLICY | {"features": "dependent"},
    },
)
class RandomWalk(TabularTask):
    """Random walk over n states between two terminal ones, γ = 1: reward -1 at the left end, +1 at the right end.

    The presets "tabular", "inverted" and "dependent" are the three off-policy walks of Ghiassian et al. (2020),
    "Gradient temporal-difference learning with regularized corrections": five states, a symmetric behaviour policy,
    and a target policy that goes left with probability 0.4. The behaviour policy spends (1, 2, 3, 2, 1)/9 of its time
    in the states.

    Parameters
    ----------
    n
        Number of non-terminal states, odd and at least 1; the terminal states are 0 and n + 1.
    left_reward, right_reward
        Rewards on reaching either end, any finite numbers.
    target_left, behavior_left
        Probability in [0, 1] of going left under the target and the behaviour policy; equal by default.
    features
        "one-hot"; "inverted", ½ for every state but its own; or "dependent", (n + 1)/2 features, of which neighbours
        share all but one: for n = 5 (1,0,0), (1,1,0), (1,1,1), (0,1,1), (0,0,1), each divided by its norm.

    Examples
    --------
    >>> RandomWalk(n=3).mdp.v()
    array([ 0. , -0.5,  0. ,  0.5,  0. ])
    >>> RandomWalk(n=5, features="dependent").features.dense(2).round(3)
    array([0.707, 0.707, 0.   ])
    """

    def __init__(
        self,
        n: int = 19,
        left_reward: float = -1.0,
        right_reward: float = 1.0,
        target_left: float = 0.5,
        behavior_left: float | None = None,
        features: str = "one-hot",
    ) -> None:
        if integer(n, "n", 1) % 2 == 0:
            raise ValueError(f"n must be odd, because the walk starts in the middle; got {n}")
        choice(features, "features", "one-hot", "inverted", "dependent")
        mdp = chain(n + 2, left_reward, right_reward, discount=1.0)
        behavior = None if behavior_left is None else left(behavior_left, "behavior_left")
        encoder: Encoder = OneHot(n + 2)
        if features != "one-hot":
            X = (1 - np.eye(n)) / 2 if features == "inverted" else _dependent(n)
            encoder = Table(np.pad(X, ((1, 1), (0, 0))))
        super().__init__(mdp, left(target_left, "target_left"), behavior, encoder)


def _dependent(n: int) -> Floats:
    """State i, from 0, has feature j if j ≤ i ≤ j + (n - 1)/2; rows of norm 1."""
    lag = np.arange(n)[:, None] - np.arange((n + 1) // 2)
    X = ((lag >= 0) & (lag <= (n - 1) // 2)).astype(float)
    rows: Floats = X / np.linalg.norm(X, axis=1, keepdims=True)
    return rows

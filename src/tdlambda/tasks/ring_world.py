"""RingWorld: a chain with a loss at one end and a win at the other (White & White 2016; Zhao 2020, chapter 5)."""

import numpy as np

from tdlambda.arrays import integer
from tdlambda.features import OneHot
from tdlambda.mdp import FiniteMDP
from tdlambda.tasks.task import TabularTask
from tdlambda.tasks.task_registry import register

_PAIRS = ((0.4, 0.35), (0.3, 0.25), (0.2, 0.15))
_PRESETS = {f"{b:g}/{t:g}": {"behavior_left": b, "target_left": t} for b, t in _PAIRS} | {
    f"{t:g}/{t:g}": {"behavior_left": t, "target_left": t} for _, t in _PAIRS
}


@register("RingWorld-v0", _PRESETS)
class RingWorld(TabularTask):
    """RingWorld: a chain of n states, started in the middle; reward -1 at the left end, +1 at the right end.

    The actions are left (0) and right (1). Presets are named behaviour/target, after the probabilities of going left:
    three off-policy pairs and three on-policy ones with the same target policies.

    Parameters
    ----------
    n
        Number of states, both ends included; odd and at least 3.
    target_left, behavior_left
        Probability in [0, 1] of going left under the target and the behaviour policy; equal by default.
    discount
        Discount γ in [0, 1].

    Examples
    --------
    >>> RingWorld(behavior_left=0.4, target_left=0.35).mdp.v([0.35, 0.65]).round(3)
    array([ 0.   , -0.317,  0.054,  0.258,  0.388,  0.49 ,  0.584,  0.683,
            0.791,  0.913,  0.   ])
    """

    def __init__(
        self, n: int = 11, target_left: float = 0.35, behavior_left: float | None = None, discount: float = 0.95
    ) -> None:
        if integer(n, "n", 3) % 2 == 0:
            raise ValueError(f"n must be odd, because the walk starts in the middle; got {n}")
        behavior_left = target_left if behavior_left is None else behavior_left
        target, behavior = left(target_left, "target_left"), left(behavior_left, "behavior_left")
        mdp = chain(n, left=-1.0, right=1.0, discount=discount)
        super().__init__(mdp, target, behavior, OneHot(n))


def chain(n: int, left: float, right: float, discount: float) -> FiniteMDP:
    """A chain of states 0 to n-1 with actions left and right, from the middle to two terminal ends with rewards."""
    inner = np.arange(1, n - 1)
    nothing = np.zeros(n - 2)
    to_left = np.column_stack((inner, nothing, inner - 1, np.where(inner == 1, left, 0.0), nothing + 1))
    to_right = np.column_stack((inner, nothing + 1, inner + 1, np.where(inner == n - 2, right, 0.0), nothing + 1))
    rows = np.concatenate((to_left, to_right))
    return FiniteMDP.from_rows(rows, n_states=n, discount=discount, terminal=[0, n - 1], start=n // 2)


def left(probability: float, name: str) -> list[float]:
    """The policy that goes left with this probability."""
    if not 0 <= probability <= 1:
        raise ValueError(f"{name} must be a probability, in [0, 1]; got {probability}")
    return [probability, 1 - probability]

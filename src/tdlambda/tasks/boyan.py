"""Boyan's chain (Boyan 2002, "Technical update: least-squares temporal difference learning")."""

import numpy as np

from tdlambda.arrays import integer
from tdlambda.features import Table
from tdlambda.mdp import FiniteMDP
from tdlambda.tasks.task import TabularTask
from tdlambda.tasks.task_registry import register


@register("BoyanChain-v0", {"13": {"n": 13}, "101": {"n": 101}, "13, no last jump": {"n": 13, "last_jump": False}})
class BoyanChain(TabularTask):
    """Boyan's chain: from state n-1 down to 0 by one or two states, reward -3 per step, -2 for the last; v(s) = -2s.

    The values are linear in the features, which interpolate between anchors four states apart, the first at state n-1.

    Ghiassian et al. (2020) use the chain of 13 states. The public program of that paper simulates a chain whose state 2
    (10 in their order, which counts up) always moves to state 1. That is `last_jump=False`, where v(2) = -5 and values
    are no longer linear. The program computes errors from a third model: the same row moves to 1 with probability 1
    *and* to 0 with ½ (a sum of 1.5) with reward -2, and all 13 states, including the terminal one with its features,
    have equal weight. The fixed point of that model is Boyan's (-24, -16, -8, 0), to which learners on the simulated
    chain do not converge: TD(0) converges to (-24.667, -16.667, -8.680, -0.256), whose RMSPBE in that model is 0.0825.

    Parameters
    ----------
    n
        Number of states, at least 5; n - 1 must be a multiple of 4. State 0 is terminal.
    last_jump
        Whether state 2 may jump over state 1.

    Examples
    --------
    >>> boyan = BoyanChain()
    >>> boyan.mdp.v()[12], boyan.features.dense(11)
    (np.float64(-24.0), array([0.75, 0.25, 0.  , 0.  ]))
    """

    def __init__(self, n: int = 13, last_jump: bool = True) -> None:
        if integer(n, "n", 5) % 4 != 1:
            raise ValueError(f"n must be one more than a multiple of 4, such as 13; got {n}")
        rows = [(s, 0, s - k, -3, 0.5) for s in range(3, n) for k in (1, 2)] + [(1, 0, 0, -2, 1)]
        rows += [(2, 0, 1, -3, 0.5), (2, 0, 0 if last_jump else 1, -3, 0.5)]
        mdp = FiniteMDP.from_rows(rows, terminal=[0], start=n - 1)
        anchors = np.arange(n - 1, -1, -4)
        X = np.maximum(0, 1 - np.abs(np.arange(n)[:, None] - anchors) / 4)
        super().__init__(mdp, [1.0], None, Table(X))

"""Boyan's chain (Boyan 2002, "Technical update: least-squares temporal difference learning")."""

import numpy as np

from tdlambda.arrays import integer
from tdlambda.features import Table
from tdlambda.mdp import FiniteMDP
from tdlambda.tasks.base import TabularTask
from tdlambda.tasks.registry import task


@task("BoyanChain-v0", {"13": {"n": 13}, "101": {"n": 101}})
class BoyanChain(TabularTask):
    """From state n-1 down to 0 by one or two, -3 a step and -2 for the last; v(s) = -2s, linear in the features.

    Features interpolate between anchors that stand four states apart, the first at state n-1.

    Parameters
    ----------
    n
        States; n - 1 is a multiple of 4. State 0 is terminal.

    Examples
    --------
    >>> boyan = BoyanChain()
    >>> boyan.mdp.v()[12], boyan.features.dense(11)
    (np.float64(-24.0), array([0.75, 0.25, 0.  , 0.  ]))
    """

    def __init__(self, n: int = 13) -> None:
        if integer(n, "n", 5) % 4 != 1:
            raise ValueError(f"n must be one more than a multiple of 4; got {n}")
        rows = [(s, 0, s - k, -3, 0.5) for s in range(2, n) for k in (1, 2)] + [(1, 0, 0, -2, 1)]
        mdp = FiniteMDP.from_rows(rows, terminal=[0], start=n - 1)
        anchors = np.arange(n - 1, -1, -4)
        X = np.maximum(0, 1 - np.abs(np.arange(n)[:, None] - anchors) / 4)
        super().__init__(mdp, [1.0], None, Table(X))

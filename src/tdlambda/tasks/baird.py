"""Baird's counterexample (Baird 1995; Sutton & Barto 2018, section 11.2)."""

import numpy as np

from tdlambda.features import Table
from tdlambda.mdp import FiniteMDP
from tdlambda.tasks.task import TabularTask
from tdlambda.tasks.task_registry import register


@register("Baird-v0", {"uniform": {}, "seventh": {"start": 6}})
class Baird(TabularTask):
    """Baird's counterexample: seven states, eight features, no reward; off-policy TD diverges, gradient TD does not.

    Action 0 ("dashed") leads to one of the states 0 to 5, action 1 ("solid") to state 6. The target policy always
    takes the solid action, the behaviour policy takes it with probability 1/7. The task is continuing, γ = 0.99.
    `initial_weights` are the weights that the counterexample starts from. The preset "seventh" starts in state 6, as
    in Ghiassian et al. (2020); the state distribution, 1/7 each, is the same.

    Parameters
    ----------
    discount
        Discount γ in [0, 1].
    start
        Initial state, 0 to 6; uniform over the seven states by default.

    Examples
    --------
    >>> Baird().features.dense(0)
    array([2., 0., 0., 0., 0., 0., 0., 1.])
    """

    initial_weights = (1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 10.0, 1.0)

    def __init__(self, discount: float = 0.99, start: int | None = None) -> None:
        rows = [(s, 0, k, 0, 1 / 6) for s in range(7) for k in range(6)] + [(s, 1, 6, 0, 1) for s in range(7)]
        mdp = FiniteMDP.from_rows(rows, discount=discount, start=start)
        X = np.zeros((7, 8))
        X[np.arange(6), np.arange(6)] = 2
        X[:6, 7] = 1
        X[6, 6], X[6, 7] = 1, 2
        super().__init__(mdp, [0.0, 1.0], [6 / 7, 1 / 7], Table(X))

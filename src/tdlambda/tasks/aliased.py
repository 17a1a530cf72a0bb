"""A task with aliased states, where TD(λ) depends on λ although features are one-hot (Allen et al. 2024)."""

import numpy as np

from tdlambda.features import Table
from tdlambda.mdp import FiniteMDP
from tdlambda.tasks.task import TabularTask
from tdlambda.tasks.task_registry import register


@register("Aliased-v0")
class Aliased(TabularTask):
    """Episodes start in A or B (½ each) and pass an aliased middle state; the reward is +1 after A and -1 after B.

    States 0 and 1 are A and B, states 2 and 3 the middle after each, state 4 is terminal; γ = 1. The features are
    one-hot observations A, B, m; states 2 and 3 are both observed as m. TD(λ) converges to v(A) = λ, v(B) = -λ,
    v(m) = 0: λ = 1 is right about A and B, λ = 0 is not. The λ-discrepancy between λ = 1 and λ = 0, ‖v₁ - v₀‖ with
    weight ¼ for each state, is √½.

    Examples
    --------
    >>> task = Aliased()
    >>> X = task.features.matrix(range(5))
    >>> task.mdp.under().td_fixed_point(X, 0.3)[:2].round(6)
    array([ 0.3, -0.3])
    """

    def __init__(self) -> None:
        rows = [(0, 0, 2, 0, 1), (1, 0, 3, 0, 1), (2, 0, 4, 1, 1), (3, 0, 4, -1, 1)]
        mdp = FiniteMDP.from_rows(rows, terminal=[4], start=[0.5, 0.5, 0, 0, 0])
        X = np.zeros((5, 3))
        X[[0, 1, 2, 3], [0, 1, 2, 2]] = 1
        super().__init__(mdp, [1.0], None, Table(X))

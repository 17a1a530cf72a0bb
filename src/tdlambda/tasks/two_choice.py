"""The two-choice MDP (Naik et al. 2019; Wan, Naik & Sutton 2021, "Learning and planning in average-reward MDPs")."""

from tdlambda.features import OneHot
from tdlambda.mdp import FiniteMDP
from tdlambda.tasks.task import TabularTask
from tdlambda.tasks.task_registry import register


@register("TwoChoice-v0")
class TwoChoice(TabularTask):
    """Two-choice MDP: two loops of five steps from state 0; one pays 1 at its start, the other 2 at its end.

    The first loop passes states 1 to 4, the second states 5 to 8. Both actions are equally likely. The average reward
    is 0.3 per step; state 0 takes 0.2 of the time, each other state 0.1. The differential values with mean 0 are
    (-.2, -1.4, -1.1, -.8, -.5, .6, .9, 1.2, 1.5). These values and the average reward do not depend on the discount,
    which only discounted values need; differential learners ignore it.

    Parameters
    ----------
    discount
        Discount γ in [0, 1] of the discounted values, which exist only for γ < 1.

    Examples
    --------
    >>> loops = TwoChoice()
    >>> loops.exact.state_distribution().round(3)
    array([0.2, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1])
    """

    def __init__(self, discount: float = 0.9) -> None:
        rows = [(0, 0, 1, 1, 1), (0, 1, 5, 0, 1)]
        rows += [(s, a, 0 if s in (4, 8) else s + 1, 2 * (s == 8), 1) for s in range(1, 9) for a in (0, 1)]
        mdp = FiniteMDP.from_rows(rows, discount=discount)
        super().__init__(mdp, [0.5, 0.5], None, OneHot(9))

"""Two states and a terminal one: small enough to solve by hand."""

from tdlambda.features import OneHot
from tdlambda.mdp import FiniteMDP
from tdlambda.tasks.task import TabularTask
from tdlambda.tasks.task_registry import register


@register("TwoState-v0", {"on-policy": {}, "off-policy": {"behavior_end": 0.25}})
class TwoState(TabularTask):
    """Two states: A leads to B; B leads back to A (action 0, reward 0) or to the end (action 1, reward 1).

    With p the probability of action 1, v(A) = γ v(B) and v(B) = p + (1-p) γ v(A), so v(B) = p / (1 - (1-p) γ²).

    Parameters
    ----------
    end, behavior_end
        Probability in [0, 1] of action 1 under the target and the behaviour policy; equal by default.
    discount
        Discount γ in [0, 1].

    Examples
    --------
    >>> TwoState(end=0.5, discount=1.0).mdp.v()
    array([1., 1., 0.])
    """

    def __init__(self, end: float = 0.5, behavior_end: float | None = None, discount: float = 0.9) -> None:
        for name, value in (("end", end), ("behavior_end", behavior_end)):
            if value is not None and not 0 <= value <= 1:
                raise ValueError(f"{name} must be a probability, in [0, 1]; got {value}")
        rows = [(0, 0, 1, 0, 1), (0, 1, 1, 0, 1), (1, 0, 0, 0, 1), (1, 1, 2, 1, 1)]
        mdp = FiniteMDP.from_rows(rows, discount=discount, terminal=[2], start=0)
        behavior = None if behavior_end is None else [1 - behavior_end, behavior_end]
        super().__init__(mdp, [1 - end, end], behavior, OneHot(3))

"""The random walk of Sutton & Barto (2018), examples 6.2 and 7.1."""

from tdlambda.arrays import integer
from tdlambda.features import OneHot
from tdlambda.tasks.base import TabularTask
from tdlambda.tasks.registry import task
from tdlambda.tasks.ring_world import chain


@task("RandomWalk-v0", {"19": {"n": 19}, "5": {"n": 5, "left_reward": 0.0}})
class RandomWalk(TabularTask):
    """A symmetric walk over n states between two terminal ones, γ = 1: -1 on the left, +1 on the right.

    Parameters
    ----------
    n
        Non-terminal states, odd; the terminal ones are 0 and n + 1.
    left_reward, right_reward
        Rewards on leaving at either end.

    Examples
    --------
    >>> RandomWalk(n=3).mdp.v()
    array([ 0. , -0.5,  0. ,  0.5,  0. ])
    """

    def __init__(self, n: int = 19, left_reward: float = -1.0, right_reward: float = 1.0) -> None:
        if integer(n, "n", 1) % 2 == 0:
            raise ValueError(f"n must be odd, the walk starts in the middle; got {n}")
        mdp = chain(n + 2, left_reward, right_reward, discount=1.0)
        super().__init__(mdp, [0.5, 0.5], None, OneHot(n + 2))

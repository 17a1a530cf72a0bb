"""Random MDPs, "Garnet" (Archibald, McKinnon & Thomas 1995; Bhatnagar et al. 2009)."""

import numpy as np

from tdlambda.arrays import Floats, integer
from tdlambda.features import Encoder, OneHot, Table
from tdlambda.mdp import FiniteMDP
from tdlambda.randomness import stream, uniform
from tdlambda.tasks.task import TabularTask
from tdlambda.tasks.task_registry import register


@register(
    "Garnet-v0", {"continuing": {}, "episodic": {"terminal": 2, "discount": 1.0}, "on-policy": {"on_policy": True}}
)
class Garnet(TabularTask):
    """A random "Garnet" MDP: each action leads to `branching` random states; rewards and policies are random.

    Parameters
    ----------
    seed
        Seed of the MDP, at least 0; the MDP is the same on every machine.
    n
        Number of states, at least 2.
    actions
        Number of actions, at least 1.
    branching
        Number of successors of each state-action pair, from 1 to n.
    discount
        Discount γ in [0, 1].
    terminal
        Number of terminal states (the last ones), from 0 to n - 1; 0 for a continuing task.
    features
        Number of random binary features, at least 2, about half of them active in each state; one-hot by default.
    on_policy
        Whether the behaviour policy is the target policy.

    Examples
    --------
    >>> Garnet(seed=3).mdp
    FiniteMDP(30 states, 4 actions, 360 outcomes, 0 terminal)
    """

    def __init__(
        self,
        seed: int = 0,
        n: int = 30,
        actions: int = 4,
        branching: int = 3,
        discount: float = 0.95,
        terminal: int = 0,
        features: int | None = None,
        on_policy: bool = False,
    ) -> None:
        integer(n, "n", 2), integer(actions, "actions", 1)
        integer(branching, "branching", 1, n), integer(terminal, "terminal", 0, n - 1)
        self._rng = stream(integer(seed, "seed", 0))
        rows = []
        for s in range(n):
            for a in range(actions):
                successors = np.argsort(self._random(n), kind="stable")[:branching]
                p = np.diff(np.concatenate(([0.0], np.sort(self._random(branching - 1)), [1.0])))
                r = 2 * self._random(branching) - 1
                rows += [(s, a, *x) for x in zip(successors, r, p, strict=True)]
        mdp = FiniteMDP.from_rows(
            rows, n_states=n, n_actions=actions, discount=discount, terminal=np.arange(n - terminal, n)
        )
        target, behavior = (self._policy(n, actions) for _ in range(2))
        encoder: Encoder = OneHot(n) if features is None else Table(self._binary(n, integer(features, "features", 2)))
        super().__init__(mdp, target, None if on_policy else behavior, encoder)

    def _random(self, count: int) -> Floats:
        return np.array([uniform(self._rng) for _ in range(count)])

    def _policy(self, n: int, actions: int) -> Floats:
        """A random policy, uniform in [0.1, 1.1) before normalisation, so that no ratio is extreme."""
        p = 0.1 + self._random(n * actions).reshape(n, actions)
        return p / p.sum(axis=1, keepdims=True)

    def _binary(self, n: int, size: int) -> Floats:
        """For each state, half of the features, drawn without replacement."""
        X = np.zeros((n, size))
        for row in X:
            row[np.argsort(self._random(size), kind="stable")[: size // 2]] = 1
        return X

"""Collision, a task for comparing off-policy prediction algorithms (Ghiassian & Sutton 2021, arXiv 2106.00922)."""

import numpy as np

from tdlambda.arrays import Floats, integer
from tdlambda.features import Table
from tdlambda.mdp import FiniteMDP
from tdlambda.randomness import stream, uniform
from tdlambda.tasks.task import TabularTask
from tdlambda.tasks.task_registry import register

STATES, FEATURES, ONES = 8, 6, 3


@register("Collision-v0")
class Collision(TabularTask):
    """Collision: drive forward through eight states to a reward of 1; from state 4 on, the behaviour may turn away.

    Episodes start in one of the states 0 to 3. Action 0 ("forward") leads to the next state, and from state 7 to the
    end with reward 1. Action 1 ("turn") ends the episode with reward 0. The target policy always goes forward. The
    behaviour policy goes forward in states 0 to 3, where ρ = 1, and turns with probability ½ elsewhere, where ρ is 2
    or 0. With γ = 0.9, v(s) = 0.9^(7-s). The behaviour policy spends (2, 4, 6, 8, 8, 4, 2, 1)/35 of its time in the
    states. State 8 is terminal.

    Each state has six binary features, three of them 1, drawn uniformly. Two states may have equal features, and in
    about a third of the draws the rank of the features is below 6.

    Parameters
    ----------
    features_seed
        Seed of the features, at least 0; they are the same on every machine. The paper draws new features for each run.

    Examples
    --------
    >>> Collision().mdp.v([1.0, 0.0]).round(4)
    array([0.4783, 0.5314, 0.5905, 0.6561, 0.729 , 0.81  , 0.9   , 1.    ,
           0.    ])
    >>> Collision(features_seed=3).features.dense(0)
    array([1., 1., 1., 0., 0., 0.])
    """

    def __init__(self, features_seed: int = 0) -> None:
        end = STATES
        rows = [(s, 0, s + 1, float(s + 1 == end), 1) for s in range(STATES)]
        rows += [(s, 1, end, 0, 1) for s in range(STATES)]
        start = np.where(np.arange(STATES + 1) < 4, 0.25, 0.0)
        mdp = FiniteMDP.from_rows(rows, discount=0.9, terminal=[end], start=start)
        behavior = np.where(np.arange(STATES + 1)[:, None] < 4, [1.0, 0.0], [0.5, 0.5])
        X = np.vstack((drawn_features(features_seed), np.zeros(FEATURES)))
        super().__init__(mdp, [1.0, 0.0], behavior, Table(X))


def drawn_features(seed: int) -> Floats:
    """The features of each of the eight states: three ones in six places."""
    rng = stream(integer(seed, "features_seed", 0))
    X = np.zeros((STATES, FEATURES))
    for row in X:
        row[np.argsort([uniform(rng) for _ in range(FEATURES)], kind="stable")[:ONES]] = 1
    return X

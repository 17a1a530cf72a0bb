"""The random Markov reward processes of van Seijen et al. (2016), "True online temporal-difference learning".

They are drawn as in the paper's public program, from NumPy's legacy generator, which gives the same numbers on every
machine and in every version: individual numbers of that program are reproduced to all digits.
"""

import numpy as np

from tdlambda.arrays import Floats, choice, integer, not_negative
from tdlambda.features import Encoder, OneHot, Table
from tdlambda.mdp import FiniteMDP
from tdlambda.tasks.task import TabularTask
from tdlambda.tasks.task_registry import register

_SIZES = {
    "small": {"n": 10, "branching": 3, "noise": 0.1},
    "large": {"n": 100, "branching": 10, "noise": 0.1},
    "deterministic": {"n": 100, "branching": 3, "noise": 0.0},
}
_PRESETS = {
    f"{size}, {kind}": options | {"features": kind}
    for size, options in _SIZES.items()
    for kind in ("one-hot", "binary", "normal")
}


@register("RandomMRP-v0", _PRESETS)
class RandomMRP(TabularTask):
    """A random Markov reward process: `branching` successors per state, normal rewards, no actions, continuing.

    Numbers are drawn from `numpy.random.RandomState(seed)` in this order: n² uniform numbers that are not used; for
    each state its successors, `choice(range(n), branching, replace=False)`, then branching - 1 uniform numbers that cut
    [0, 1] into their probabilities; n² standard normal rewards r(s, s'); n uniform numbers that are not used; for
    normal features, their n × `size` entries. The paper's runs start in state 0 and last 100 steps (small) or 1,000.
    Its error compares the values with the least-squares fit of the true ones, relative to the error of w = 0.

    Parameters
    ----------
    seed
        Seed of the process, from 0 to 2³² - 1; the paper uses 1000.
    n
        Number of states, at least 2.
    branching
        Number of successors of each state, from 1 to n.
    noise
        Standard deviation ≥ 0 of the noise added to each reward. A finite MDP has finitely many rewards, so the noise
        is ± `noise` with probability ½ each, in place of the paper's normal noise: mean and variance are the same.
    features
        "one-hot"; "binary", the digits of s + 1; or "normal", `size` standard normal numbers. Rows have norm 1.
    size
        Number of normal features, at least 1.
    discount
        Discount γ in [0, 1].

    Examples
    --------
    >>> mrp = RandomMRP(n=10, branching=3, features="binary")
    >>> mrp.mdp, mrp.features.dense(2).round(3)
    (FiniteMDP(10 states, 1 actions, 60 outcomes, 0 terminal), array([0.   , 0.   , 0.707, 0.707]))
    """

    def __init__(
        self,
        seed: int = 1000,
        n: int = 10,
        branching: int = 3,
        noise: float = 0.1,
        features: str = "one-hot",
        size: int = 5,
        discount: float = 0.99,
    ) -> None:
        integer(n, "n", 2), integer(branching, "branching", 1, n), integer(size, "size", 1)
        choice(features, "features", "one-hot", "binary", "normal")
        not_negative(noise, "noise")
        draw = np.random.RandomState(integer(seed, "seed", 0, 2**32 - 1))
        draw.uniform(size=n * n)
        P = np.zeros((n, n))
        for row in P:
            successors = draw.choice(range(n), branching, replace=False)
            row[successors] = np.diff(np.concatenate(([0.0], np.sort(draw.uniform(size=branching - 1)), [1.0])))
        R = draw.normal(size=(n, n))
        draw.uniform(size=n)
        mdp = FiniteMDP(P, R, R**2 + noise**2 if noise else None, discount=discount, start=0)
        encoder: Encoder = OneHot(n)
        if features != "one-hot":
            encoder = Table(_of_norm_1(_digits(n) if features == "binary" else draw.normal(size=(n, size))))
        super().__init__(mdp, [1.0], None, encoder)


def _digits(n: int) -> Floats:
    """The binary digits of 1 to n, most significant first."""
    places = np.arange(n.bit_length())[::-1]
    return (np.arange(1, n + 1)[:, None] >> places & 1).astype(np.float64)


def _of_norm_1(X: Floats) -> Floats:
    rows: Floats = X / np.linalg.norm(X, axis=1, keepdims=True)
    return rows

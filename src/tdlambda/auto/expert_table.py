"""The table of expert families: which experts stand in an AutoTD follows from its features.

| family | file | sparse features | vectors of readings |
| --- | --- | --- | --- |
| least squares | `least_squares` | up to MANY: 3 λ × 5 ridges | up to FEW: 3 λ × 3 windows; up to MANY: λ = 0.8 |
| each observation | `least_squares`, on the features of `observations` | up to MANY, several active: 2 λ × 5 ridges | |
| random cosines | `least_squares`, on the features of `readings` | | up to FEW: 2 λ × 2 ridges × 3 nested sets |
| running means | `means` | all | all |
| learners | `linear` | 6 α × 4 λ | above FEW, or with a named algorithm |
| averaged copies | `averaged` | of each learner | of each learner |
| the user's own | | each | each |

A family is a file with plain functions `values` and `learn` on a tuple of its arrays; `transition` calls them. The
functions here say which experts it has, with -log of their prior weights as (a, b, unit): a + b log(1 + t/unit).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tdlambda.arrays import aligned
from tdlambda.auto.changes import COUNTERS, PAST_MORE, ROOM, Changes
from tdlambda.auto.families import linear, means
from tdlambda.auto.families.least_squares import BLOCK, Systems
from tdlambda.auto.families.linear import Lanes
from tdlambda.auto.families.means import Means
from tdlambda.auto.families.observations import OBSERVATIONS, Observations
from tdlambda.auto.modules import lanes_type
from tdlambda.core.names import words
from tdlambda.core.records import named
from tdlambda.core.runtime import DENSE_SIZE

FEW, MANY = 64, 256
"""Largest numbers of features: of vectors with every expert; with least squares at all."""
LAMBDAS, RIDGES, OF_LAMBDA = (0.0, 0.8, 1.0), (0.01, 0.1, 1.0, 10.0, 100.0), (-1.5, -0.5, 1.5)
"""λ and ridges of least squares for sparse features, and the prior penalties of λ."""
OF_READINGS, WINDOWS, RIDGE = (0.0, 0.8, 1.0), (np.inf, 100.0, 20.0), 3.0
"""λ, windows in steps per feature, and ridge of least squares for vectors of readings."""
COSINES, SETS, COSINE_LAMBDAS, COSINE_RIDGES = 160, (0, 40, 160), (0.0, 0.95), (10.0, 300.0)
"""Number of random cosines, their nested sets, and λ and ridges of the systems with cosines."""
APPROXIMATION = 4.0
"""Squared approximation error of shared features over the mean squared difference of LSTD(1) and LSTD(0)."""
MEANS = (np.inf, 1000.0, 100.0, 10.0, 1.0, 0.0)
"""Windows of running means, in steps; 0 stands for the constant prediction 0."""
OF_OBSERVATIONS = 0.5
"""Prior penalty for a feature for each observation."""
LAST_LAMBDA, OF_WINDOW, OF_MEAN, OF_ALL, OF_ZERO, OF_COSINES, OF_LEARNERS = 2.0, 1.2, 1.0, 0.5, 0.5, 1.5, 2.0
"""Prior penalties: for λ = 1; for each factor e in t/window; for a mean; for each factor e in t, for the mean of all
steps and for 0; for 0, in addition to a mean's; for cosines; for learners on readings."""


class System(NamedTuple):
    """One least-squares system: λ, window, features, and its experts as (leading features, ridge, prior)."""

    lam: float
    window: float
    size: int
    experts: list[tuple[int, float, tuple[float, float, float]]]


def systems_of(size: int, vectors: bool, cosines: int, shared: bool) -> list[System]:
    """The systems for this number of features, which states may share; for vectors, of readings."""
    if size > MANY:
        return []
    if not vectors:
        whole = size + OBSERVATIONS
        kinds = [(lam, size, a) for lam, a in zip(LAMBDAS, OF_LAMBDA, strict=True)]
        kinds += [(lam, whole, a + OF_OBSERVATIONS) for lam, _, a in kinds[:2] if shared]
        return [System(lam, np.inf, n, [(n, r, (a, 0.0, 1.0)) for r in RIDGES]) for lam, n, a in kinds]
    D = size + 1
    found = []
    for lam in OF_READINGS if size <= FEW else OF_READINGS[1:2]:
        for w in WINDOWS if size <= FEW else WINDOWS[:1]:
            prior = (LAST_LAMBDA * (lam == 1.0), 0.0 if w == np.inf else OF_WINDOW, w * D)
            found.append(System(lam, w * D, D, [(D, RIDGE, prior)]))
    if cosines and size <= FEW:
        sets = sorted({min(k, cosines) for k in SETS} | {cosines})
        for lam in COSINE_LAMBDAS:
            each = [(D + k, r, (OF_COSINES * (1.0 - k / cosines), 0.0, 1.0)) for r in COSINE_RIDGES for k in sets]
            found.append(System(lam, np.inf, D + cosines, each))
    return found


def first_systems(every: list[System], ordered: bool, features: int) -> Systems:
    """The arrays of untrained systems; each of these features has a penalty, even if no system uses it."""
    S, n = len(every), max((s.size for s in every), default=0)
    experts = [(k, leading, ridge) for k, s in enumerate(every) for leading, ridge, _ in s.experts]
    of, leading, ridge = np.array(experts, dtype=np.float64).reshape(-1, 3).T
    sizes = np.array([s.size for s in every], dtype=np.int64)
    first = (every[0].size if ordered else n) if every else 0
    q = np.ones(features)
    q[:1] = 0.0 if ordered else 1.0
    return Systems(
        lam=np.array([s.lam for s in every]), growth=np.array([1 / (1 - 1 / s.window) for s in every]),
        size=sizes.copy(), stride=sizes,
        start=np.concatenate([[0], np.cumsum(sizes**2)])[:S].astype(np.int64), of=of.astype(np.int64),
        leading=leading.astype(np.int64), ridge=ridge.copy(), weight=np.ones(S), age=np.zeros(S), due=np.zeros(S),
        z=aligned(np.zeros((S, n))), A=aligned(np.zeros(int((sizes**2).sum()))), b=aligned(np.zeros((S, n))),
        w=aligned(np.zeros((len(experts), n))), q=q,
        prior=np.array([prior[0] for s in every for _, _, prior in s.experts]),
        S=np.zeros((first, first)), block=aligned(np.zeros((1 + S, BLOCK * ordered, n))),
        filled=np.zeros(1 + S, np.int64), scratch=aligned(np.zeros((n, n))),
    )  # fmt: skip


def first_observations(active: int, shared: bool) -> Observations:
    """The arrays of the distinct observations, of which there are none yet."""
    rows = (2, active + 1) if shared else (0, 0)
    return Observations(
        np.zeros(OBSERVATIONS * shared), np.zeros(1, np.int64), np.zeros(rows, np.int64), np.zeros(rows)
    )  # fmt: skip


def first_changes(size: int, active: int, own: int, vectors: bool, shared: bool) -> Changes:
    """The arrays of the test for changes, for features of states or of observations; empty if there are others."""
    states = 0 if vectors else OBSERVATIONS if shared else size * (active == 1)
    room = ROOM if states else 0
    return Changes(
        past=np.zeros((room, PAST_MORE + 2 * active + 2 * own)), rows=np.zeros((room, 1 + 2 * active), np.int64),
        before=np.zeros((2, states)), recent=np.zeros((3, states)), mean=np.zeros(1),
        counts=np.zeros(COUNTERS, np.int64),
    )  # fmt: skip


def first_means(size: int, windows: tuple[float, ...]) -> tuple[Means, list[tuple[float, float, float]]]:
    """The arrays of untrained means with these windows, and their priors."""
    prior = []
    for w in windows:
        falls = (OF_ALL, 10.0 * (size + 1)) if w in (0, np.inf) else (OF_WINDOW, w)
        prior.append((OF_MEAN + OF_ZERO * (w == 0), *falls))
    return Means(np.array(windows), np.zeros((means.ROWS, len(windows))), np.zeros(1)), prior


def first_lanes(algorithm: Any, module: Any, size: int) -> Lanes:
    """The arrays of untrained learners and copies."""
    # A large prediction does not count as divergence: the mixture clips it and gives the learner no weight.
    numbers = {"tolerance": 1e-8, "bound": linear.BOUND, "allowed": np.inf, "allowed_square": np.inf}
    numbers |= {name: float(getattr(algorithm, name)) for name in words(algorithm.parameters)}
    rows, n = len(algorithm.row_names()), len(linear.PAIRS)
    state = np.zeros(1, named(lanes_type(algorithm)))
    state["size"], state["sparse"] = size, size > DENSE_SIZE
    lane = np.zeros((linear.ROWS, n))
    lane[linear.ALPHA], lane[linear.LAM] = np.transpose(linear.PAIRS)
    return Lanes(
        F=aligned(np.zeros((size, rows, n))),
        N=aligned(np.array([np.full(n, numbers.get(name, 0.0)) for name in module.NAMES])),
        U=np.zeros((0, 0, n)), order=np.zeros(size, dtype=np.int64), listed=np.zeros(size, dtype=np.int64), state=state,
        lane=aligned(lane), counts=np.zeros(linear.COUNTS), copies=aligned(np.zeros((size, 1, n))),
        synced=np.zeros(size), visits=np.zeros(size),
    )  # fmt: skip

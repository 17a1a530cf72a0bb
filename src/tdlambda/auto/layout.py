"""The constants of the bank (docs/how-we-chose.md), and the names of its state.

A *lane* is one learner of the bank. Each has an *averaged copy*, its weights averaged over time. Both are *experts*; in
rows of experts, all learners come first, then all copies.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tdlambda.arrays import Floats, Ints
from tdlambda.compiled import numba
from tdlambda.learners.base import Array

ALPHAS = (0.3, 0.1, 0.03, 0.01, 0.003, 0.001)
"""Step sizes for |x|² = 1."""
MOST_REWARD = 1e100
"""Largest |reward|: a return may be 10^16 times as large, and its squared error must be finite."""
BEYOND, LEAST_ALPHA, LARGEST_ALPHA = 3.0, 1e-7, 1.0
"""The factor by which the grid of step sizes moves, and the smallest and largest step size."""
LEADING, IDLE, SERIOUS = 0.5, 0.01, 0.05
"""The grid moves if one end has more than LEADING of the learners' weight, the other end less than IDLE, and all
learners together more than SERIOUS of the total weight."""
LAMBDAS = (0.0, 0.4, 0.8, 0.95)
PAIRS = tuple((alpha, lam) for alpha in ALPHAS for lam in LAMBDAS)
"""(α, λ) of each lane."""
LANES = len(PAIRS)
EXPERTS = 2 * LANES
EVERY = 100
"""Steps between weight updates."""
WINDOW = 4.0
"""At step t, an observation of step s has the weight (s/t)^WINDOW."""
SURE = 6.0
"""Standard errors at which an averaged copy restarts, or a short window replaces the long one."""
SCALES = 6
"""Number of short windows beside the long one; all windows end at the current step."""
FIRST_SCALE, SCALE_RATIO = 5, 4
"""Lengths of the short windows in weight updates: 5, 20, 80, …"""
LEAST_STEP = 0.1
"""Smallest step size of the regression of z on the features."""
BEST_LAMBDA, BEST_ALPHA, PACE = 0.4, 0.1, 2.0
"""The prior prefers averaged copies, this λ, and α = PACE / √(steps/features), at most BEST_ALPHA."""
RAW, FAR_ALPHA, FAR_LAMBDA = 2.0, 2.0, 8.0
"""Prior penalties: for experts that are not averaged; for each factor e in α; for a difference of 1 in λ."""
BOUND = 1e100
"""A learner with a weight beyond this is dropped."""

ENERGY, GAIN, NOISE = range(3)
"""Rows of sums over a window, of each expert: Σ c², Σ δẑ, Σ (δẑ)²."""
STATE = np.dtype(
    [
        # rows of lanes: α (0 once dropped) and λ, λ' of this step, weight updates since the averaged copy began
        *((name, "f8", LANES) for name in ("alpha", "lam", "lam_next", "age")),
        ("dropped", "i8", LANES),
        # the mixture's prediction at x and what followed it: ρ, R, γ'
        *((name, "f8") for name in ("u", "rho", "reward", "gamma")),
        # the largest |R|, γ and |x|² so far; the discounted length of the episode, and the largest
        *((name, "f8") for name in ("most_reward", "most_gamma", "most_norm", "length", "longest")),
        # steps in the long window, and the sums of the windows' weights
        ("window", "f8"), ("count", "f8"), ("short_count", "f8", SCALES),
        *((name, "i8") for name in ("updates", "restarts", "changes", "drops", "moves")),
    ]
)  # fmt: skip
"""The state of the bank that belongs to no single feature or expert."""
DERIVED = ("lam", "lam_next")
"""Names of `STATE` that are computed from the rest at each step, or are constant."""


def record(kind: np.dtype[Any]) -> Array:
    """A structured array of one record of zeros, on which `s = array[0]; s.name += 1` works compiled and uncompiled."""
    return np.zeros(1, np.dtype((np.record, kind)) if numba.config.DISABLE_JIT else kind)


class Systems(NamedTuple):
    """The arrays of the least-squares experts, see `systems`: L values of λ, R ridges, n features; L and R may be 0."""

    lam: Floats
    """[L]"""
    ridge: Floats
    """κ [R]"""
    prior: Floats
    """-log of the prior, [L R]."""
    due: Floats
    """The step at which to solve next [L]."""
    age: Floats
    """Number of steps that each system remembers [L]."""
    moments: Floats
    """[3]"""
    ratio: Floats
    """σ²/τ² [L]"""
    trace: Floats
    """[L, n]"""
    A: Floats
    """Σ ρ (x - γ'x') zᵀ [L, n, n], the transpose of A, so that the entries that a step changes are contiguous."""
    b: Floats
    """Σ ρ z r [L, n]"""
    C: Floats
    """Σ ρ² z² [L, n]"""
    solved: Floats
    """Weights [n, 1, L R]."""
    room: Floats
    """Buffer of the solver [3 n + 2, n]."""


class Memory(NamedTuple):
    """All arrays of a bank. Those up to `state` belong to the learners' lanes: see `core.schedules.lanes`."""

    F: Floats
    N: Floats
    U: Floats
    order: Ints
    listed: Ints
    state: Array
    copies: Floats
    """The learners' weights averaged over time, [feature, 1, lane]."""
    expected: Floats
    """Weights of the expected trace ẑ(s) = E[z | s], [feature, 1, expert]."""
    visits: Floats
    """Number of visits of each feature, each weighted by the feature's share of |x|²."""
    synced: Ints
    """The weight update up to which each feature's copies are averaged."""
    weight: Floats
    """p of each expert in the mixture."""
    value: Floats
    """Each expert's prediction at x, then its distance c from the mixture's."""
    z: Floats
    """ẑ(x) of each expert."""
    score: Floats
    """-log p up to a constant."""
    since: Floats
    """Sums since the last weight update, [3, expert]."""
    long: Floats
    """Sums over the long window, [3, expert]."""
    short: Floats
    """Sums over each short window, [window, 3, expert]."""
    own: Floats
    """Predictions of the user's own experts at x and, if the episode is truncated, at x' [2, own]."""
    errors: Floats
    """See `errors`."""
    recent: Ints
    """Feature indices of some recent observations [RECENT, active]."""
    recent_value: Floats
    """Feature values of these observations [RECENT, active]."""
    systems: Systems
    """The least-squares experts."""
    bank: Array
    """One record of `STATE`."""
    counts: Array
    """Counters of every `BatchLearner`."""

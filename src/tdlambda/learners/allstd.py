"""The choice of λ by leave-one-trajectory-out cross-validation: ALLSTD, Mann, Penedones, Mannor & Hester (2016).

LSTD(λ) is solved without trajectory i, and its values are compared with the returns of i. The chosen λ minimises the
mean of

    (G_{i,t} - w₋ᵢ·x_{i,t})²          G_t = ρ_t (r_{t+1} + γ_{t+1} G_{t+1})

A trajectory has few rows, so w₋ᵢ follows from the solution for all trajectories (Woodbury): with the rows e of
trajectory i in Eᵢ, its rows x - γ'x' in Yᵢ, its rewards in rᵢ, and B = (A + ridge I)⁻¹ of all trajectories,

    w₋ᵢ = [B + B Eᵢᵀ (I - Yᵢ B Eᵢᵀ)⁻¹ Yᵢ B] (b - Eᵢᵀ rᵢ)

E, A, b and B depend on λ. The mean is over all steps; if all trajectories have the same length, it is also the mean
over trajectories (which of the two the paper means otherwise was not checked). The paper is on-policy. Off-policy, ρ
enters e and G. E[G | x] is still the value, so the loss is a value error plus noise that λ does not influence.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy
from numpy.typing import ArrayLike

from tdlambda.arrays import Bools, Floats, not_negative, real
from tdlambda.compiled import kernel
from tdlambda.features import Encoder
from tdlambda.learners.lstd import LSTD, solve
from tdlambda.mdp import Transitions
from tdlambda.mdp.sampler import require_numbers
from tdlambda.showing import PrintedTable

_GRID = 11
"""Values of λ tried first; the search continues between the neighbours of the best one."""
_PRECISION = 1e-3
"""Precision of the chosen λ."""


@dataclass(frozen=True, eq=False, repr=False)
class LambdaChoice(PrintedTable):
    """The result of `choose_lambda`: the chosen λ and the losses that decided it.

    Attributes
    ----------
    lam
        The λ with the smallest loss.
    lams, loss
        All λ that were tried, in increasing order, and the loss of each: the mean squared difference between the
        returns of a trajectory and the values solved without it.
    learner
        `td.LSTD` with the chosen λ, trained on all trajectories.
    episodes
        Number of episodes.

    Examples
    --------
    >>> import tdlambda as td
    >>> walk = td.make("RandomWalk-v0")
    >>> found = td.learners.choose_lambda(walk.sampler(seed=1).take(3000), walk.features, lams=[0.0, 0.5, 1.0])
    >>> found.lams, found.loss.shape
    (array([0. , 0.5, 1. ]), (3,))
    """

    lam: float
    lams: Floats
    loss: Floats
    learner: LSTD
    episodes: int


def choose_lambda(
    transitions: Transitions, features: Encoder, lams: ArrayLike | None = None, ridge: float = 1e-6
) -> LambdaChoice:
    """The λ for LSTD(λ) that leave-one-trajectory-out cross-validation chooses (ALLSTD), and the learner with it.

    One λ costs O(size³ + steps · size · (size + length)), plus O(size³) for each trajectory with more steps than
    features. All traces, steps · size numbers, are in memory at once.

    Parameters
    ----------
    transitions
        One stream that starts with an episode; steps after the last complete episode are ignored. A truncated episode
        has no return: it is learned from, but not used for the loss.
    features
        Encoder of observations.
    lams
        Candidates, in [0, 1]. By default 0, 0.1, …, 1, followed by a search between the neighbours of the best one.
    ridge
        Number ≥ 0 that LSTD adds to A's diagonal.

    Examples
    --------
    >>> import tdlambda as td
    >>> walk = td.make("RandomWalk-v0")
    >>> found = td.learners.choose_lambda(walk.sampler(seed=1).take(3000), walk.features)
    >>> 0 <= found.lam <= 1, found.learner.lambda_at(0) == found.lam
    (True, True)
    """
    given = None if lams is None else np.unique(real(lams, "lams"))
    if given is not None and (given.size == 0 or not ((given >= 0) & (given <= 1)).all()):
        raise ValueError(f"lams must be one or more numbers in [0, 1]; got {lams!r}")
    ridge = not_negative(ridge, "ridge")
    episodes = Trajectories(transitions, features, ridge)
    losses: dict[float, float] = {}

    def loss(lam: float) -> float:
        losses[float(lam)] = found = episodes.loss(float(lam))
        return found

    grid = np.linspace(0, 1, _GRID) if given is None else given
    best = int(np.argmin([loss(lam) for lam in grid]))
    if given is None:
        around = (grid[max(best - 1, 0)], grid[min(best + 1, _GRID - 1)])
        scipy.optimize.minimize_scalar(loss, bounds=around, method="bounded", options={"xatol": _PRECISION})
    tried = sorted(losses)
    lam = min(tried, key=losses.__getitem__)
    learner = LSTD(features, lam, ridge, max_size=max(features.size, 5000))
    learner.update_many(episodes.transitions)
    return LambdaChoice(lam, np.array(tried), np.array([losses[key] for key in tried]), learner, len(episodes.ends))


@kernel
def write_traces(E: Floats, X: Floats, decay: Floats, rho: Floats) -> None:
    """Write the rows of E: e = ρ (decay e⁻ + x), with decay = γλ of x, and 0 where an episode starts."""
    for t in range(rho.size):
        for f in range(X.shape[1]):
            before = decay[t] * E[t - 1, f] if decay[t] != 0 else 0.0
            E[t, f] = rho[t] * (before + X[t, f])


@kernel
def write_returns(G: Floats, reward: Floats, gamma: Floats, rho: Floats, last: Bools) -> None:
    """Write the returns G = ρ (r' + γ' G'), with G' = 0 after the last step of an episode."""
    after = 0.0
    for t in range(G.size - 1, -1, -1):
        after = rho[t] * (reward[t] + (0.0 if last[t] else gamma[t] * after))
        G[t] = after


class Trajectories:
    """Complete episodes as rows over the features, with everything that does not depend on λ."""

    def __init__(self, transitions: Transitions, features: Encoder, ridge: float) -> None:
        if not isinstance(transitions, Transitions):
            raise TypeError(f"transitions must be td.mdp.Transitions; got {type(transitions).__name__}")
        if not isinstance(features, Encoder):
            raise TypeError(f"features must be an encoder such as td.features.OneHot(11); got {features!r}")
        ends = np.flatnonzero(transitions.terminated | transitions.truncated) + 1
        scored = transitions.terminated[ends - 1]
        if len(ends) < 2 or not scored.any():
            raise ValueError(
                "transitions must have at least two finished episodes, at least one of them terminated; got "
                f"{len(ends)} finished, {int(scored.sum())} of them terminated"
            )
        n, self.ends, self.ridge = int(ends[-1]), ends.tolist(), ridge
        self.transitions = c = transitions[:n]
        require_numbers(c)
        gamma = np.where(c.terminated, 0.0, c.gamma)
        self.X = _dense(features, c.obs)
        self.Y = self.X - gamma[:, None] * _dense(features, c.next_obs)
        last = c.terminated | c.truncated
        self.before = np.concatenate([[0.0], np.where(last, 0.0, gamma)[:-1]])  # γ of x; 0 where an episode starts
        self.G: Floats = np.empty(n)
        write_returns(self.G, c.reward, gamma, c.rho, last)
        self.scored = scored.tolist()

    def traces(self, lam: float) -> Floats:
        """The traces e, one row for each step."""
        E = np.empty_like(self.X)
        write_traces(E, self.X, lam * self.before, self.transitions.rho)
        return E

    def loss(self, lam: float) -> float:
        """The mean squared error over steps; infinite if it overflows or is NaN."""
        E, reward = self.traces(lam), self.transitions.reward
        eye = np.eye(self.X.shape[1])
        A, b = E.T @ self.Y + self.ridge * eye, E.T @ reward
        B: Floats | None
        try:
            B = np.asarray(np.linalg.inv(A), dtype=np.float64)
        except np.linalg.LinAlgError:
            B = None
        total, steps, start = 0.0, 0, 0
        for end, counts in zip(self.ends, self.scored, strict=True):
            rows = slice(start, end)
            if counts:
                w = self._without(A, b, B, E[rows], self.Y[rows], reward[rows])
                total += float(((self.G[rows] - self.X[rows] @ w) ** 2).sum())
                steps += end - start
            start = end
        return total / steps if np.isfinite(total) else np.inf

    def _without(self, A: Floats, b: Floats, B: Floats | None, E: Floats, Y: Floats, reward: Floats) -> Floats:
        """The weights without one trajectory."""
        rest = b - E.T @ reward
        if B is not None and self.ridge > 0 and len(E) < len(b):
            BE, Bb = B @ E.T, B @ rest
            try:
                return np.asarray(Bb + BE @ np.linalg.solve(np.eye(len(E)) - Y @ BE, Y @ Bb))
            except np.linalg.LinAlgError:
                pass
        return solve(A - E.T @ Y, rest, exact=self.ridge > 0)


def _dense(features: Encoder, observations: Any) -> Floats:
    """The feature vectors x(s) as rows; equal indices add."""
    index, value = features.encode_batch(observations)
    X = np.zeros((len(index), features.size))
    np.add.at(X, (np.arange(len(index))[:, None], index), value)
    return X

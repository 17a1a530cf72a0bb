"""Baselines: simple predictions that use only what was known at each step.

Each takes a question's rewards and realised returns and predicts the return of every step. A return is used only once
it is known, and the reward of a step only after the step.
"""

from __future__ import annotations

from importlib.util import find_spec
from itertools import pairwise
from typing import Any

import numpy as np

from tdlambda.arrays import Bools, Floats
from tdlambda.extras import MissingExtraError
from tdlambda.streams.question import Question
from tdlambda.streams.returns import Realised

PENALTIES = (1e-3, 1.0, 30.0, 1000.0)
REFITS, BOOSTINGS = 40, 6
"""How often regressions are refitted, at geometrically spaced steps."""
NAMES = ("running mean", "last value", "seasonal", "ridge", "gradient boosting")
OF_X = NAMES[3:]
"""Baselines that read the observations."""


def available(period: int | None, dense: bool) -> list[str]:
    """The available baselines."""
    found = ["running mean", "last value"] + ["seasonal"] * (period is not None) + ["ridge"] * dense
    return found + ["gradient boosting"] * (dense and find_spec("sklearn") is not None)


def predictions(
    name: str, question: Question, reward: Floats, gamma: Floats, ended: Bools, G: Realised, X: Floats,
    period: int | None,
) -> Floats:  # fmt: skip
    """One baseline's prediction of the return at every step; a missing reward repeats the one before."""
    reward = _held(reward)
    if question.window:
        return _window(name, question, reward, G, X, period)
    horizon = _horizon(gamma, ended, G)
    if name == "running mean":
        return _before(np.cumsum(reward) / np.arange(1, reward.size + 1)) * horizon
    if name == "last value":
        return _before(reward) * horizon
    if name == "seasonal":
        assert period is not None
        return _seasonal(reward, gamma, period, horizon)
    return _regression(X, G, _before(np.cumsum(reward) / np.arange(1, reward.size + 1)) * horizon, name)


def _held(reward: Floats) -> Floats:
    """Rewards with each missing one replaced by the one before it; 0 before the first."""
    lost = np.isnan(reward)
    if not lost.any():
        return reward
    last = np.maximum.accumulate(np.where(lost, -1, np.arange(reward.size)))
    return np.where(last >= 0, reward[np.maximum(last, 0)], 0.0)


def _window(name: str, question: Question, reward: Floats, G: Realised, X: Floats, period: int | None) -> Floats:
    """Baselines of a window: mean of the known answers, the last value throughout, the answer of the last season."""
    n, length = reward.size, max(1, round(3 * float(G.horizon[0]))) if reward.size else 1
    total, count = np.zeros((2, n + 1))
    at = np.minimum(G.known_at[G.known] + 1, n)
    np.add.at(total, at, G.value[G.known])
    np.add.at(count, at, 1.0)
    mean = np.cumsum(total)[:-1] / np.maximum(np.cumsum(count)[:-1], 1)
    last = _before(reward)
    if question.exceeds is not None:
        last = (last > question.exceeds).astype(np.float64)
    elif question.of == "sum":
        last = last * length
    if name == "last value":
        return last
    if name == "seasonal":
        assert period is not None
        back = period * -(-length // period)
        old = np.concatenate([np.full(min(back, n), np.nan), np.where(G.known, G.value, np.nan)[: max(0, n - back)]])
        return np.where(np.isnan(old), last, old)
    return mean if name == "running mean" else _regression(X, G, mean, name)


def _before(known: Floats) -> Floats:
    """The value known before each step; 0 before the first."""
    return np.concatenate([[0.0], known[:-1]])


def _horizon(gamma: Floats, ended: Bools, G: Realised) -> Floats:
    """The effective number of rewards in a return: 1/(1 - γ) for constant γ, else the mean over known returns."""
    if gamma.size and np.ptp(gamma) == 0 and gamma[0] < 1 and not ended.any():
        return np.full(gamma.size, 1 / (1 - gamma[0]))
    total, count = np.zeros((2, gamma.size + 1))
    known = G.known
    np.add.at(total, np.minimum(G.known_at[known] + 1, gamma.size), G.horizon[known])
    np.add.at(count, np.minimum(G.known_at[known] + 1, gamma.size), 1.0)
    total, count = np.cumsum(total)[:-1], np.cumsum(count)[:-1]
    return np.where(count > 0, total / np.maximum(count, 1), 1.0)


def _seasonal(reward: Floats, gamma: Floats, period: int, horizon: Floats) -> Floats:
    """The last period, repeated for ever: Σ_k<p γ^k r_{i-p+k} / (1 - γ^p), with the mean γ."""
    g = float(gamma.mean()) if gamma.size else 0.0
    powers = g ** np.arange(period)
    total = np.convolve(reward, powers[::-1])[: reward.size]  # at i: Σ_k γ^k r_{i-p+1+k}
    scale = 1 / (1 - g**period) if g < 1 else horizon / period
    found = _before(total) * scale
    found[: period + 1] = (_before(reward) * horizon)[: period + 1]
    return found


def _regression(X: Floats, G: Realised, start: Floats, name: str) -> Floats:
    """Regression of the known returns on the features, refitted now and then; before the first fit, `start`."""
    n, found = len(X), start.copy()
    least = 2 * X.shape[1] + 20
    times = REFITS if name == "ridge" else BOOSTINGS
    known_by = np.maximum.accumulate(np.where(G.known, G.known_at, -1))
    ready = int(np.searchsorted(known_by, 0)) if n else 0
    first = min(n, max(least, ready) + least)
    if first >= n:
        return found
    points = np.unique(np.geomspace(first, n, times).astype(np.int64))
    for begin, end in pairwise(points):
        some = np.flatnonzero(G.known[:begin] & (G.known_at[:begin] < begin))
        if some.size >= least:
            found[begin:end] = _fitted(name, X[some], G.value[some], X[begin:end])
    return found


def _fitted(name: str, X: Floats, y: Floats, new: Floats) -> Floats:
    if name == "gradient boosting":
        if find_spec("sklearn") is None:
            raise MissingExtraError("gradient boosting needs scikit-learn: pip install scikit-learn", name="sklearn")
        from sklearn.ensemble import HistGradientBoostingRegressor
        from threadpoolctl import threadpool_limits

        model: Any = HistGradientBoostingRegressor(max_iter=60, random_state=0)
        with threadpool_limits(1):  # its threads would busy-wait for each other
            return np.asarray(model.fit(X, y).predict(new), dtype=np.float64)
    scale = X.std(axis=0)
    moves = scale > 1e-12 * np.abs(X).max(axis=0, initial=0.0)
    place = lambda some: ((some - X.mean(axis=0)) / np.where(moves, scale, 1.0))[:, moves]  # noqa: E731
    Z, mean = place(X), y.mean()
    cut = int(0.8 * len(y))  # choose the penalty on the last fifth
    losses = [np.mean((Z[cut:] @ _ridge(Z[:cut], y[:cut] - mean, p) + mean - y[cut:]) ** 2) for p in PENALTIES]
    return place(new) @ _ridge(Z, y - mean, PENALTIES[int(np.argmin(losses))]) + mean


def _ridge(Z: Floats, y: Floats, penalty: float) -> Floats:
    return np.asarray(np.linalg.solve(Z.T @ Z + penalty * np.eye(Z.shape[1]), Z.T @ y), dtype=np.float64)

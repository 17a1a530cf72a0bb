"""Streams in which γ, λ, ρ and episodes vary, and the linear systems of LSTD written out in plain NumPy."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import tdlambda as td

Array = NDArray[Any]


class Stream(NamedTuple):
    """Rows of features, one for each state; λ of each; columns for `update_many`."""

    X: Array
    lam: Array
    columns: tuple[Array, ...]


def stream(seed: int, T: int = 40, states: int | None = None, size: int = 4, on_policy: bool = False) -> Stream:
    """Each step in a state of its own, or through `states` of them."""
    rng = np.random.default_rng(seed)
    n = T + 1 if states is None else states
    X = rng.normal(size=(n, size)) * (rng.random((n, size)) < 0.7)
    lam = rng.choice([0.0, 0.3, 0.8, 1.0], size=n)
    gamma = rng.choice([0.0, 0.5, 0.9, 1.0], size=T, p=[0.1, 0.2, 0.4, 0.3])
    s, ends = np.arange(T + 1) if states is None else rng.integers(n, size=T + 1), rng.random((2, T)) < 0.1
    rho = np.ones(T) if on_policy else rng.choice([0.0, 0.4, 1.0, 1.7], size=T)
    return Stream(X, lam, (s[:-1], rng.normal(size=T), s[1:], gamma, rho, ends[0], ends[1]))


def rows_of(stream: Stream, interest: Array | None = None) -> list[tuple[Array, Array, float]]:
    """E, x - γ'x' and r' of each step; the trace as a sum over the steps before, emphatic if there is an interest."""
    X, lam, (s, r, s_next, gamma, rho, terminated, truncated) = stream
    gamma, out, start = np.where(terminated, 0.0, gamma), [], 0
    for t in range(len(r)):
        emphasis = []
        for k in range(start, t + 1):
            if interest is None:
                emphasis.append(1.0)
                continue
            i = interest[s[start : k + 1]]
            follow_on = sum(i[j] * np.prod(rho[start + j : k] * gamma[start + j : k]) for j in range(len(i)))
            emphasis.append(lam[s[k]] * i[-1] + (1 - lam[s[k]]) * follow_on if k > start else i[-1])
        weights = [np.prod(rho[k : t + 1]) * np.prod(gamma[k:t] * lam[s[k + 1 : t + 1]]) for k in range(start, t + 1)]
        e = np.array(weights) * emphasis @ X[s[start : t + 1]]
        out.append((e, X[s[t]] - gamma[t] * X[s_next[t]], r[t]))
        if terminated[t] or truncated[t]:
            start = t + 1
    return out


def repeated() -> td.features.TileCoder:
    """Observations in [0, 1] with four active features of which some are the same."""
    coder = td.features.TileCoder([0], [1], tilings=4, tiles=20, hash_size=6)
    index = coder.encode_batch(np.linspace(0, 1, 50)[:, None])[0]
    assert any(len(set(row)) < 4 for row in index.tolist())
    return coder

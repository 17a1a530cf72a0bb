"""An agent and its world in one compiled call for many steps: act, move, learn, keep account of returns.

What is drawn belongs to the seed, not to the agent: the k-th episode of each agent begins alike, and at the t-th step
of each the same numbers decide what the world does and which share of π(·|x) the action is taken from.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tdlambda import randomness
from tdlambda.arrays import Bools, Floats, Ints
from tdlambda.compiled import inlined, kernel
from tdlambda.control import actor, lazy, softmax, worlds
from tdlambda.features import box, hashing, tiling
from tdlambda.learners import driver
from tdlambda.memory import ALGORITHM, DECAY, DELTA, DIVERGED_AT, FIRST_BLOCK, STEPS, TRUE_ONLINE_GTD, WEIGHT_ROWS, dot

LENGTH, POINT, ENDED, COUNTED = range(4)
"""C: steps of the episode under way (-1: none is), points passed, episodes ended, and those since the last point."""
COUNTERS = 4
RETURN, GAIN, SUM, LAST = range(4)
"""E: of the episode under way, the return so far and the discount since it began; the sum of the returns since the
last point; the value of the curve there."""
ACCOUNTS = 4
SHARED, AFTER, LAZY = range(3)
"""O: whether the actor's trace decays by the critic's γλ; whether δ is of after the critic has learnt; whether the
critic learns as `lazy` has it."""

_uniform, _begin, _move = randomness.uniform, worlds.begin, worlds.move
_unit, _cell, _hash = box.unit, tiling.cell, hashing.hash_tiles
_distribution, _climb, _choose, _factors = actor.distribution, actor.climb, softmax.choose, softmax.factors
_advance, _value, _update = lazy.advance, lazy.value, driver.update


@inlined
def encode(
    s: Floats, at: Floats, bounds: Floats, tiles: Ints, offsets: Floats, last: int, owner: Ints, x: Ints
) -> None:
    """The active features of a state: those of `TileCoder`."""
    for i in range(at.size):
        at[i] = _unit(s[i], bounds[0, i], bounds[1, i])
    for k in range(offsets.shape[0]):
        x[k] = k
    for i in range(at.size):
        point, n = at[i], float(tiles[i])
        for k in range(offsets.shape[0]):
            x[k] = x[k] * tiles[i] + int(_cell(point, n, offsets[k, i]))
    if x.size > offsets.shape[0]:
        x[x.size - 1] = last
    if owner.size:
        _hash(x, x.size, offsets.shape[0], owner)


@kernel
def interact(
    first: int, end: int, world: int, P: Floats, limit: int, s: Floats, R: NDArray[np.uint64],
    bounds: Floats, tiles: Ints, offsets: Floats, last: int, owner: Ints, at: Floats, x: Ints, y: Ints, ones: Floats,
    F: Floats, M: Floats, I: Ints, A: Floats, N: Floats, J: Ints, S: Floats, O: Bools, lam: float, actor_lam: float,
    V: Floats, Z: Floats, L: Ints, G: Floats, T: Floats,
    C: Ints, E: Floats, points: Ints, curve: Floats, log: Floats,
) -> tuple[int, int]:  # fmt: skip
    """Steps first to end (not included). How many were made, fewer if the agent diverged; and episodes in the log.

    F, M, I are the critic's memory, A, N, J, S the actor's; V, Z, L, G and T are for `lazy`. x is kept between
    calls: the features of s.
    """
    logged, n, gradient, times = 0, x.size, I[ALGORITHM] == TRUE_ONLINE_GTD, x.size if owner.size else 1
    for t in range(first, end):
        if C[LENGTH] < 0:
            _begin(world, P, s, _uniform(R[0]))
            encode(s, at, bounds, tiles, offsets, last, owner, x)
            C[LENGTH], E[RETURN], E[GAIN] = 0, 0.0, 1.0
        _distribution(A, N, J, S, x, ones)
        action = _choose(S, J[WEIGHT_ROWS], _uniform(R[1]))
        reward, gamma, terminated = _move(world, P, s, action, _uniform(R[1]), _uniform(R[1]))
        C[LENGTH] += 1
        truncated = not terminated and C[LENGTH] == limit
        encode(s, at, bounds, tiles, offsets, last, owner, y)
        if O[LAZY]:
            within = _advance(F, V, M, I, Z, L, G, T, ones, x, y, times, reward, gamma, lam, terminated, truncated)
        else:
            ended = (1 if terminated else 0) + (2 if truncated else 0)
            within = _update(F, M, I, x, ones, y, ones, y, ones, reward, gamma, 1.0, lam, ended) == driver.OK
        if not within:
            J[DIVERGED_AT] = J[STEPS] + 1
            return t + 1 - first, logged
        delta = M[FIRST_BLOCK + DELTA]
        if O[AFTER]:
            v, v_next = dot(F[0], x, ones, n), dot(F[0], y, ones, n)
            if O[LAZY]:
                v, v_next = _value(V, gradient, Z[0], x), _value(V, gradient, Z[0], y)
            delta = reward + (0.0 if terminated else gamma * v_next) - v
        follow = M[FIRST_BLOCK + DECAY] if O[SHARED] else gamma * actor_lam
        _factors(action, S, J[WEIGHT_ROWS], N[actor.ENTROPY] > 0.0)
        if not _climb(A, N, J, S, x, ones, delta, 1.0, gamma, follow, terminated, truncated):
            return t + 1 - first, logged
        E[RETURN] += E[GAIN] * reward
        E[GAIN] *= gamma
        if terminated or truncated:
            log[logged, 0], log[logged, 1], log[logged, 2] = E[RETURN], C[LENGTH], t + 1
            logged += 1
            E[SUM] += E[RETURN]
            C[COUNTED] += 1
            C[ENDED] += 1
            C[LENGTH] = -1
        else:
            for j in range(n):
                x[j] = y[j]
        if C[POINT] < points.size and t + 1 == points[C[POINT]]:
            mark(C, E, curve)
    return end - first, logged


@kernel
def mark(C: Ints, E: Floats, curve: Floats) -> None:
    """A point of the curve: the mean return since the last one, else what it was there, else the return so far."""
    if C[COUNTED] > 0:
        E[LAST] = E[SUM] / C[COUNTED]
    elif C[ENDED] == 0:
        E[LAST] = E[RETURN]
    curve[C[POINT]] = E[LAST]
    C[POINT] += 1
    C[COUNTED], E[SUM] = 0, 0.0


def tile_arguments(features: Any) -> tuple[Floats, Ints, Floats, int, Ints]:
    """What `encode` must know of a `TileCoder`; the owners of slots are the lane's own."""
    bounds = np.stack([features.low, features.high])
    owner = np.full(features.hash_size or 0, -1, dtype=np.int64)
    return bounds, features._tile_counts, features._offsets, features.size - 1, owner

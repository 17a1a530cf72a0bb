"""True values that errors are measured against, with the weights of the observations."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from tdlambda.arrays import Bools, Floats, integer, per_state
from tdlambda.compiled import compiled
from tdlambda.tasks.task import Task


@dataclass(frozen=True)
class Truth:
    """True values v at some observations, and the weights of Σ weight (V - v)².

    `error` is the standard error of v, 0 if v is exact.

    Examples
    --------
    >>> import tdlambda as td
    >>> truth = td.engine.exact_truth(td.make("RingWorld-v0"))
    >>> truth.values.round(2)
    array([-0.32,  0.05,  0.26,  0.39,  0.49,  0.58,  0.68,  0.79,  0.91])
    """

    observations: Any
    values: Floats
    weights: Floats
    error: Floats


def exact_truth(task: Task[Any], weights: ArrayLike | None = None) -> Truth:
    """The exact values of a finite task at its non-terminal states.

    Parameters
    ----------
    task
        A task with finitely many states.
    weights
        Weight of each state, at least 0: a number or one for each state. None gives the weights of Zhao (2020).
    """
    mdp = task.mdp
    if weights is None:
        d = mdp.under(task.target).error_weights()
    else:
        d = np.where(mdp.terminal, 0.0, per_state(weights, mdp.n_states, "weights", 0))
    states = np.flatnonzero(~mdp.terminal)
    return Truth(states, mdp.v(task.target)[states], d[states], np.zeros(states.size))


def sampled_truth(task: Task[Any], observations: int = 200, steps: int = 1_000_000, seed: int = 2**32) -> Truth:
    """Monte-Carlo values of a task without a model, at observations drawn from its stream.

    The value at an observation is the mean return of all visits with the same features, the best that any function of
    the features can do. Returns use per-decision importance sampling. Weights are relative visit frequencies.
    Truncated episodes have no known return and are left out.

    Parameters
    ----------
    task
        The task; its features define which observations are the same.
    observations
        Number of observations to draw, at least 1, evenly spaced along the stream.
    steps
        Number of transitions to average over, at least `observations`.
    seed
        Seed of the stream, at least 0; no learner should use the same one.
    """
    n = integer(observations, "observations", 1)
    c = task.sampler(seed).take(integer(steps, "steps", n))
    returns, whole = discounted_returns(c.reward, c.gamma, c.rho, c.terminated, c.truncated)
    known = np.flatnonzero(whole)
    if known.size < n:
        raise ValueError(
            f"steps must include at least {n} transitions of terminated episodes; got {known.size} in {steps} steps. "
            "Give more steps"
        )
    index, _ = task.features.encode_batch(c.obs[known])
    rows = np.ascontiguousarray(index).view(np.dtype((np.void, index.dtype.itemsize * index.shape[1]))).ravel()
    _, first, home = np.unique(rows, return_index=True, return_inverse=True)
    count = np.bincount(home)
    mean = np.bincount(home, returns[known]) / count
    square = np.bincount(home, (returns[known] - mean[home]) ** 2)
    error = np.sqrt(np.divide(square, count * (count - 1.0), out=np.full(count.size, np.inf), where=count > 1))
    cells, times = np.unique(home[np.linspace(0, known.size - 1, n).astype(np.int64)], return_counts=True)
    return Truth(c.obs[known[first[cells]]], mean[cells], times / n, error[cells])


@compiled
def discounted_returns(
    reward: Floats, gamma: Floats, rho: Floats, terminated: Bools, truncated: Bools
) -> tuple[Floats, Bools]:
    """G_t = ρ (r' + γ' G_{t+1}) of each transition, and whether its episode terminated."""
    returns, known = np.empty_like(reward), np.empty(reward.size, dtype=np.bool_)
    after, whole = 0.0, False
    for t in range(reward.size - 1, -1, -1):
        if terminated[t] or truncated[t]:
            after, whole = 0.0, bool(terminated[t])
        after = rho[t] * (reward[t] + gamma[t] * after)
        returns[t], known[t] = after, whole
    return returns, known

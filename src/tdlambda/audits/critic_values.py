"""The values of critics: arrays, functions of observations, numbers, or learners that go on learning."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tdlambda.learners.learner import Learner
from tdlambda.returns.kinds import to_numpy
from tdlambda.returns.shaping import Form

Array = NDArray[Any]
Pair = tuple[Array, Array]
CALLED = 1 << 14
"""Observations given to a function at a time."""


def values_of(
    critic: Any, name: str, form: Form, observations: tuple[Any, Any], step: dict[str, Array]
) -> tuple[Pair, str]:
    """V(s_t) and V(s_{t+1}) as [T, N], and a remark about the critic, or nothing."""
    if isinstance(critic, Learner):
        return _prequential(critic.clone(), name, form, observations, step), _trained(critic, name, form)
    if callable(critic):
        here, after = (_called(critic, name, form, obs) for obs in _observations(observations, name))
        return (here, after), ""
    if isinstance(critic, int | float) and not isinstance(critic, bool):
        critic = (critic, critic)
    if not isinstance(critic, tuple | list) or len(critic) != 2:
        raise TypeError(
            f"{name} must be a pair (V(s_t), V(s_t+1)), a function of observations, a learner or a number; "
            f"got {type(critic).__name__}"
        )
    here, after = (
        form.steps(x, f"{side} of {name}", _kept(x)) for x, side in zip(critic, ("value", "value_next"), strict=True)
    )
    return (here, after), ""


def _kept(given: Any) -> Any:
    """Single precision stays as it is, to save memory."""
    return np.float32 if "float32" in str(getattr(given, "dtype", "")) else np.float64


def _observations(observations: tuple[Any, Any], name: str) -> tuple[Any, Any]:
    if any(one is None for one in observations):
        raise TypeError(f"{name} is evaluated at observations: pass obs=… and next_obs=… (before any reset)")
    return observations


def _called(critic: Callable[[Any], Any], name: str, form: Form, observations: Any) -> Array:
    """The values of a function of a batch of observations."""
    if form.lengths:
        parts = [_at(critic, name, one, n) for one, n in zip(observations, form.lengths, strict=True)]
        return np.concatenate(parts).reshape(form.grid)
    _check_leading(observations, form)
    n = form.grid[0] * form.grid[1]
    flat = observations.reshape(n, *observations.shape[len(form.shape) :])
    parts = [_at(critic, name, flat[k : k + CALLED], min(CALLED, n - k)) for k in range(0, n, CALLED)]
    return np.concatenate(parts).reshape(form.grid)


def _at(critic: Callable[[Any], Any], name: str, observations: Any, n: int) -> Array:
    out = to_numpy(critic(observations), name)
    if out.size != n:
        raise ValueError(f"{name} must return one value for each of {n} observations; got shape {out.shape}")
    return out.reshape(-1).astype(np.float64)


def _check_leading(observations: Any, form: Form) -> None:
    shape = tuple(getattr(observations, "shape", ()))
    if shape[: len(form.shape)] != form.shape:
        raise ValueError(f"obs and next_obs must have shape {form.shape} and then that of an observation; got {shape}")


def _flat(observations: Any, form: Form) -> Any:
    """Observations of one environment after the other."""
    if form.lengths:
        return np.concatenate([to_numpy(one, "obs") for one in observations])
    array = to_numpy(observations, "obs")
    _check_leading(array, form)
    array = array.reshape(*form.grid, *array.shape[len(form.shape) :])
    return np.moveaxis(array, 1, 0).reshape(-1, *array.shape[2:])


def _prequential(
    learner: Learner, name: str, form: Form, observations: tuple[Any, Any], step: dict[str, Array]
) -> Pair:
    """The predictions of a learner, each made before its update."""
    obs, next_obs = (_flat(one, form) for one in _observations(observations, name))
    columns = {key: np.ascontiguousarray(x.T).reshape(-1).tolist() for key, x in step.items()}
    here, after = np.empty(len(obs)), np.empty(len(obs))
    learner.reset()
    rows = zip(*columns.values(), strict=True)
    for t, (reward, gamma, rho, terminated, truncated) in enumerate(rows):
        here[t], after[t] = learner.predict(obs[t]), 0.0 if terminated else learner.predict(next_obs[t])
        learner.update(obs[t], reward, next_obs[t], gamma, rho, terminated, truncated)
    T, N = form.grid
    return here.reshape(N, T).T, after.reshape(N, T).T


def _trained(learner: Learner, name: str, form: Form) -> str:
    """A remark about a learner that may have learned from the audited steps."""
    steps, n = int(getattr(learner, "steps", 0)), form.grid[0] * form.grid[1]
    if not steps:
        return ""
    same = "as many as are audited, so probably these" if steps == n else "from others, it is to be hoped"
    return (
        f"{name} had learned from {steps:,} steps before ({same}). A critic trained on the audited episodes looks "
        f"better than it is: pass {name} as it was before them"
    )

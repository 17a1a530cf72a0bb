"""Agents with action values in files: a zip of plain arrays with a JSON header. Nothing in it is ever executed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

import tdlambda
from tdlambda.control.greedy import Boltzmann, EpsilonGreedy, Falling
from tdlambda.control.value_state import AGENTS, ValueState
from tdlambda.learners import LEARNERS, storage

_POLICIES: dict[str, Any] = {kind.__name__: kind for kind in (EpsilonGreedy, Boltzmann, Falling)}


def save(agent: ValueState, path: str | Path) -> None:
    """Save an agent to exactly this path, atomically: on failure an existing file stays unchanged."""
    kind = type(agent)
    if AGENTS.get(kind.__name__) is not kind or LEARNERS.get(agent.algorithm.__name__) is not agent.algorithm:
        raise TypeError(f"agent and algorithm must be of known classes to be saved; got {kind} and {agent.algorithm}")
    given = agent.get_params() | {"alpha": agent.learner.alpha}  # the default may change with the version
    params = {name: _plain(name, value) for name, value in given.items()}
    header, state = {"agent": kind.__name__, "params": params}, agent._state()
    storage._require_finite(agent.learner, state)
    _build(header, state)  # do not write what could not be loaded
    storage.write(path, header, state)


def read(header: dict[str, Any], state: dict[str, Any]) -> ValueState:
    """Read an agent that `save` wrote."""
    agent = _build(header, state)
    storage._require_finite(agent.learner, state)
    return agent


def _plain(name: str, value: Any) -> Any:
    """A parameter in a form that JSON can hold."""
    if name == "algorithm":
        return value.__name__
    if type(value) in _POLICIES.values():
        return {"type": type(value).__name__, "params": {k: _plain(k, v) for k, v in value.get_params().items()}}
    if name in ("policy", "behavior"):
        if callable(value):
            raise TypeError(f"{name}: a function cannot be saved, because files hold no code; give a table instead")
        value = None if value is None else np.asarray(value).tolist()
    return storage._plain(name, value)


def _part(value: Any, allowance: int) -> Any:
    """A parameter from its plain form."""
    if isinstance(value, dict) and value.get("type") in _POLICIES:
        return _POLICIES[value["type"]](**{k: _part(v, allowance) for k, v in value["params"].items()})
    return storage._part(value, allowance)


def _build(header: dict[str, Any], state: dict[str, Any]) -> Any:
    """Build the agent that a header and arrays describe, if the sizes in the header match the arrays."""
    kind = AGENTS[header["agent"]]
    held = sum(array.nbytes for array in state.values())
    allowance = max(storage._LEAST_ALLOWANCE, held)
    given = dict(header["params"])
    name = given.pop("algorithm")
    getattr(tdlambda, name) if isinstance(name, str) and name in tdlambda.__all__ else None  # imports it, if it is ours
    if name not in LEARNERS:
        raise ValueError(f"unknown algorithm {name!r}; if it is your own, import its module first")
    params = {key: _part(value, allowance) for key, value in given.items()}
    if 4 * params["features"].size * params["actions"] > held or params["features"].active > allowance:
        raise ValueError(f"its parameters ask for more features than its arrays hold, {held} bytes in total")
    agent = kind(algorithm=LEARNERS[name], **params)
    agent._restore(state)
    return agent

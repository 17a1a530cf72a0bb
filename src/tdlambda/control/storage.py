"""Agents in files: a zip of plain arrays with a JSON header, as for learners. Nothing in a file is ever executed.

header.json          format, version of tdlambda, parameters; the critic's and the policy's within them
critic.<name>.npy    the arrays of the critic's state
actor.<name>.npy     the arrays of the actor's state
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from tdlambda.control.actor_critic import ActorCritic
from tdlambda.control.gaussian import Gaussian
from tdlambda.control.policy import Policy
from tdlambda.control.softmax import Softmax
from tdlambda.learners import LEARNERS, storage
from tdlambda.learners.base import Array

_POLICIES: dict[str, type[Policy]] = {"Softmax": Softmax, "Gaussian": Gaussian}


def save(agent: ActorCritic, path: str | Path) -> None:
    """Save an agent to exactly this path, atomically: on failure an existing file stays unchanged.

    Examples
    --------
    >>> import tempfile, tdlambda as td
    >>> agent = td.ActorCritic(td.TrueOnlineTD(td.features.OneHot(3), alpha=0.1), td.control.Softmax(2), eta=0.1)
    >>> agent.update(0, 1, 1.0, 1, gamma=1.0)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     agent.save(f"{folder}/agent")
    ...     td.load(f"{folder}/agent").policy_at(0).round(3)
    array([0.475, 0.525])
    """
    critic, policy = agent.critic, agent.policy
    if LEARNERS.get(type(critic).__name__) is not type(critic) or type(policy) not in _POLICIES.values():
        raise TypeError(f"critic and policy must be of known classes to be saved; got {critic!r} and {policy!r}")
    if callable(agent.behavior):
        raise TypeError("behavior: a function cannot be saved, because files hold no code; give a table instead")
    own = {name: value for name, value in agent.get_params().items() if name not in ("critic", "policy")}
    params = {name: _plain(name, value) for name, value in own.items()}
    params["critic"] = {"learner": type(critic).__name__, "params": _all_plain(critic.get_params())}
    params["policy"] = {"type": type(policy).__name__, "params": _all_plain(policy.get_params())}
    state = {f"critic.{name}": array for name, array in critic._state().items()}
    state |= {f"actor.{name}": array for name, array in agent.actor.memory.state_dict().items()}
    header = {"agent": "ActorCritic", "params": params}
    read(header, state)  # do not write what could not be loaded
    storage.write(path, header, state)


def _plain(name: str, value: Any) -> Any:
    """A parameter in a form that JSON can hold; a table becomes a list of rows."""
    return storage._plain(name, np.asarray(value).tolist() if name == "behavior" and value is not None else value)


def _all_plain(params: dict[str, Any]) -> dict[str, Any]:
    return {name: storage._plain(name, value) for name, value in params.items()}


def read(header: dict[str, Any], state: dict[str, Array]) -> ActorCritic:
    """Build the agent that a header and arrays describe, if the sizes in the header match the arrays."""
    parts = {part: _under(f"{part}.", state) for part in ("critic", "actor")}
    if len(state) > sum(map(len, parts.values())):
        raise ValueError("it has arrays other than critic.* and actor.*")
    if "emphasis" in parts["actor"]:
        raise ValueError("its actor was saved by version 0.2 of tdlambda; train it again, or load it with that version")
    params = dict(header["params"])
    critic = storage._build(params.pop("critic"), parts["critic"])
    critic._restore({name: array.copy() for name, array in parts["critic"].items()})
    given, held = params.pop("policy"), sum(array.nbytes for array in parts["actor"].values())
    allowance = max(storage._LEAST_ALLOWANCE, held)
    arguments = {name: storage._part(value, allowance) for name, value in given["params"].items()}
    policy = _POLICIES[given["type"]](**arguments)
    if 8 * policy.rows * (policy.features or critic.features).size > held:
        raise ValueError(f"its policy asks for more parameters than its arrays hold, {held} bytes in total")
    agent = ActorCritic(critic, policy, **{name: storage._part(value, allowance) for name, value in params.items()})
    agent.actor.memory.load(parts["actor"])
    whose: dict[str, Any] = {"critic": critic, "actor": agent}
    for part, arrays in parts.items():
        storage._require_finite(whose[part], arrays)
    return agent


def _under(prefix: str, state: dict[str, Array]) -> dict[str, Array]:
    """The arrays whose names begin with the prefix, by the rest of their names."""
    return {name.removeprefix(prefix): array for name, array in state.items() if name.startswith(prefix)}

"""Programs: generated modules, their entry points bound to the arrays they work on, and what their status codes mean.

An update takes less than a microsecond, so an entry point is looked up once: its first call compiles it, and puts the
machine code with its leading arguments filled in into its place.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from types import ModuleType
from typing import Any

import numpy as np

from tdlambda.compiled import entry
from tdlambda.core import runtime
from tdlambda.core.model import Model
from tdlambda.core.schedules import lanes, network, one
from tdlambda.core.source import load
from tdlambda.features.network import NetworkForm

ANY_VECTOR = np.zeros((2, 2))[:, 0]
"""A vector with any stride, for which entry points are compiled."""
OBSERVATION_CODES = (runtime.OBS, runtime.NEXT_OBS, runtime.OBS_VALUES, runtime.NEXT_OBS_VALUES)
"""Status codes for observations that the features cannot encode."""
_MESSAGES = {
    runtime.REWARD: "reward must be finite; got {reward}",
    runtime.GAMMA_RANGE: "gamma must be in [0, 1]; got {gamma}",
    runtime.RHO_RANGE: "rho must be finite and not negative; got {rho}",
    runtime.OBS: "obs: a feature index must be from 0 to {last}; got {obs}",
    runtime.NEXT_OBS: "next_obs: a feature index must be from 0 to {last}; got {next_obs}",
    runtime.OBS_VALUES: "obs: feature values and |x|² must be finite; got {obs}",
    runtime.NEXT_OBS_VALUES: "next_obs: feature values and |x|² must be finite; got {next_obs}",
}
_known: dict[Any, Any] = {}


@cache
def learner_module(model: Model, sparse: bool, encode: Any = None) -> ModuleType:
    """The module of one learner; `encode` is the compiled form of its encoder, if it has one."""
    return load(f"one_{'sparse' if sparse else 'dense'}_{model.name}", one.generate(model, sparse, encode))


@cache
def network_module(model: Model, form: NetworkForm, heads: Model | None = None) -> ModuleType:
    """The module of one learner whose value is a network; `heads` is the model of a rule for λ, without V."""
    found = None
    if heads is not None:
        name = learner_module(heads, one.always_sparse(heads)).__name__
        found = network.Heads(name, network.values_for(heads))
    return load(f"network_{model.name if heads is None else heads.name}", network.generate(model, form, found))


@cache
def lanes_module(model: Model, one_hot: bool, one_z: bool, per_lane: tuple[str, ...] = ()) -> ModuleType:
    """The module of many learners on one stream."""
    return load(f"lanes_{model.name}", lanes.generate(model, one_hot, one_z, per_lane))


def machine_code(module: ModuleType, name: str, *examples: Any) -> Any:
    """The machine code of an entry point for arguments of these types.

    Numba is slow to recognise the types of NumPy records, so each combination of types is looked up once.
    """
    key = (module, name, *map(_kind, examples))
    if key not in _known:
        _known[key] = entry(getattr(module, name), *examples)
    return _known[key]


def _kind(example: Any) -> Any:
    """A key that differs between arguments of different types."""
    if isinstance(example, tuple):
        return tuple(map(_kind, example))
    if isinstance(example, np.ndarray):
        return example.dtype, example.ndim, example.flags.c_contiguous
    return type(example)


def bound(module: ModuleType, name: str, arrays: tuple[Any, ...], *examples: Any) -> Callable[..., Any]:
    """An entry point as a function of the arguments that follow `arrays`; `examples` have their types."""
    return partial(machine_code(module, name, *arrays, *examples), *arrays)


def at_first_call(owner: Any, name: str, make: Callable[..., Callable[..., Any]]) -> None:
    """Give `owner` a function that makes itself when it is first called, by `make` of its arguments."""

    def first(*arguments: Any) -> Any:
        made = make(*arguments)
        setattr(owner, name, made)
        return made(*arguments)

    setattr(owner, name, first)


def refuse(status: int, size: int, where: str = "", **given: Any) -> None:
    """Raise the ValueError of a status code about an argument; `size` is the number of features."""
    raise ValueError(_MESSAGES[status].format(last=size - 1, **given) + where)

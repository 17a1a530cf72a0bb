"""Objects that are described by the arguments of their constructor: `get_params`, equality, `repr`."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from functools import cache
from typing import Any, ClassVar

import numpy as np

from tdlambda.showing import call


class Parametrised:
    """An object that keeps the arguments of its constructor as attributes of the same names.

    >>> class Point(Parametrised):
    ...     def __init__(self, x, y=0.0):
    ...         self.x, self.y = x, y
    >>> Point(1.0).get_params()
    {'x': 1.0, 'y': 0.0}
    """

    kept_as: ClassVar[Mapping[str, str]] = {}
    """Arguments that are kept as attributes of another name."""

    @classmethod
    def parameter_names(cls) -> tuple[str, ...]:
        """The names of the constructor's arguments."""
        kind: Any = cls
        return _named(kind)

    def get_params(self) -> dict[str, Any]:
        """The constructor's arguments, by name; arrays and tuples as lists."""
        return {name: plain(getattr(self, self.kept_as.get(name, name))) for name in self.parameter_names()}


class ByParameters(Parametrised):
    """An object that equals every other of its class with the same arguments, and is shown as its call.

    >>> class Point(ByParameters):
    ...     def __init__(self, x, y=0.0):
    ...         self.x, self.y = x, y
    >>> Point(1.0) == Point(1.0, 0.0), Point(1.0)
    (True, Point(x=1.0))
    """

    def __eq__(self, other: object) -> bool:
        """Whether the other is of the same class with the same parameters."""
        return type(self) is type(other) and self.get_params() == other.get_params()

    def __hash__(self) -> int:
        """A hash of class and parameters: equal objects have equal hashes."""
        return hash(repr(self))

    def __repr__(self) -> str:
        """The call that builds an equal object."""
        return call(self, self.get_params())


@cache
def _named(kind: type[Any]) -> tuple[str, ...]:
    parameters = inspect.signature(kind).parameters.values()
    return tuple(p.name for p in parameters if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD))


def plain(value: Any) -> Any:
    """An argument with lists in place of arrays and tuples."""
    if isinstance(value, np.ndarray):
        return value.tolist()
    return [plain(inner) for inner in value] if isinstance(value, tuple) else value

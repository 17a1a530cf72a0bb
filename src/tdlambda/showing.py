"""`repr` of objects (arguments that differ from the defaults) and of results (a small table)."""

from __future__ import annotations

import inspect
from collections.abc import Collection
from dataclasses import fields
from difflib import get_close_matches
from typing import Any

import numpy as np

_ELSEWHERE = {
    "gamma": "pass gamma to update",
    "epsilon": "exploration is a policy or behavior, such as td.control.EpsilonGreedy(0.1)",
}
_LONG = 16
"""Lists of more numbers are not written out."""


def call(thing: Any, arguments: dict[str, Any]) -> str:
    """The call that builds an equal object: required arguments and those that differ from the defaults."""
    defaults = {name: p.default for name, p in inspect.signature(type(thing)).parameters.items()}
    differ = {k: v for k, v in arguments.items() if not _same(v, defaults.get(k, inspect.Parameter.empty))}
    shown = (f"{k}={_argument(v)}" for k, v in differ.items())
    return f"{type(thing).__name__}({', '.join(shown)})"


def _argument(value: Any) -> str:
    """An argument of a call; a long list of numbers by its length and range."""
    if isinstance(value, list) and len(value) > _LONG and all(isinstance(one, float) for one in value):
        return f"<{_summary(np.array(value))}>"
    return value.__name__ if isinstance(value, type) else repr(value)


def counted(n: int, what: str) -> str:
    """A number of things.

    >>> counted(1, "seed"), counted(2000, "seed")
    ('1 seed', '2,000 seeds')
    """
    return f"{n:,} {what}{'' if n == 1 else 's'}"


def no_argument(owner: str, name: str, known: Collection[str]) -> str:
    """The message for an argument that does not exist."""
    near = get_close_matches(name, known, n=1)
    hint = f"did you mean {near[0]}?" if near else f"its arguments are {', '.join(known)}"
    return f"{owner} has no argument {name}; {_ELSEWHERE.get(name, hint)}"


def _same(value: Any, default: Any) -> bool:
    if isinstance(value, list | np.ndarray) and isinstance(default, int | float):  # one default for all
        return bool((np.asarray(value) == default).all())
    return type(value) is type(default) and repr(value) == repr(default)


class Table:
    """A dataclass that prints as a table, one field per line; arrays are shown by shape and range.

    Declare the dataclass with `repr=False`.
    """

    def __repr__(self) -> str:
        """The table as text."""
        rows = [(f.name, _summary(getattr(self, f.name))) for f in fields(self) if f.repr]  # type: ignore[arg-type]
        width = max(len(name) for name, _ in rows)
        return "\n".join([type(self).__name__, *(f"  {name:{width}}  {text}".rstrip() for name, text in rows)])


def _summary(value: Any) -> str:
    if isinstance(value, np.ndarray):
        sizes = " × ".join(map(str, value.shape))
        if value.size == 0 or value.dtype.kind not in "fiub":
            return f"[{sizes}]"
        if value.dtype.kind == "b":
            return f"[{sizes}]  {int(value.sum())} true"
        return f"[{sizes}]  {value.min():.4g} to {value.max():.4g}"
    if isinstance(value, float):
        return f"{value:.6g}"
    return repr(value)

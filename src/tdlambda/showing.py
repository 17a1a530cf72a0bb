"""`repr` of objects (arguments that differ from the defaults) and of results (a small table)."""

from __future__ import annotations

import inspect
from dataclasses import fields
from typing import Any

import numpy as np


def call(thing: Any, arguments: dict[str, Any]) -> str:
    """The call that builds an equal object: required arguments and those that differ from the defaults."""
    defaults = {name: p.default for name, p in inspect.signature(type(thing)).parameters.items()}
    differ = {k: v for k, v in arguments.items() if not _same(v, defaults.get(k, inspect.Parameter.empty))}
    shown = (f"{k}={v.__name__ if isinstance(v, type) else repr(v)}" for k, v in differ.items())
    return f"{type(thing).__name__}({', '.join(shown)})"


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

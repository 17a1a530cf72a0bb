"""Records of named numbers: `state[0].name` works in compiled code, and in plain Python with compilation off."""

from __future__ import annotations

from functools import cache
from operator import itemgetter
from typing import Any

import numpy as np

from tdlambda.compiled import numba


@cache
def _attributes(names: tuple[str, ...]) -> type:
    """Records with these fields as attributes; in `np.record`, a field `size` would be hidden by NumPy's attribute."""

    def attribute(name: str) -> property:
        return property(itemgetter(name), lambda record, value: record.__setitem__(name, value))

    return type("Named", (np.void,), {name: attribute(name) for name in names})


def named(kind: Any) -> Any:
    """The type of a record as the generated code needs it: unchanged unless compilation is off (NUMBA_DISABLE_JIT).

    >>> np.zeros(1, named([("size", "i8")]))["size"]
    array([0])
    """
    kind = np.dtype(kind)
    if not numba.config.DISABLE_JIT:
        return kind
    fields: Any = [(name, named(kind[name]) if kind[name].names else kind[name]) for name in kind.names or ()]
    return np.dtype((_attributes(kind.names or ()), fields))

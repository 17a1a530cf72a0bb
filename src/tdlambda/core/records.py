"""Records of named numbers: `state[0].name` works in compiled code, and in plain Python with compilation off."""

from __future__ import annotations

from typing import Any

import numpy as np

from tdlambda.compiled import numba


class Named(np.void):  # type: ignore[misc]  # NumPy's types call it final
    """A record with its fields as attributes; in `np.record`, a field `size` would be hidden by NumPy's attribute."""

    def __getattribute__(self, name: str) -> Any:
        """The field, if there is one of this name."""
        own = np.void.__getattribute__(self, "dtype").fields
        return self[name] if name in own else np.void.__getattribute__(self, name)

    def __setattr__(self, name: str, value: Any) -> None:
        """Set the field."""
        self[name] = value


def named(kind: Any) -> Any:
    """The type of a record as the generated code needs it: unchanged unless compilation is off (NUMBA_DISABLE_JIT).

    >>> np.zeros(1, named([("size", "i8")]))["size"]
    array([0])
    """
    kind = np.dtype(kind)
    if not numba.config.DISABLE_JIT:
        return kind
    fields: Any = [(name, named(kind[name]) if kind[name].names else kind[name]) for name in kind.names or ()]
    return np.dtype((Named, fields))

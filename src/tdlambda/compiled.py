"""The one place where Python functions become machine code."""

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba

_Function = TypeVar("_Function", bound=Callable[..., Any])


def compiled(function: _Function) -> _Function:
    """Compile with Numba: cached on disk, without the GIL, IEEE arithmetic (no fused or reordered sums).

    Only module-level functions that call module-level functions are cached, so pass integers that choose
    an algorithm, never a compiled function.
    """
    return cast(_Function, numba.njit(cache=True, nogil=True, error_model="numpy")(function))

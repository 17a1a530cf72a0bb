"""Numba's compiler with less work: passes that kernels need, each operation typed once, no garbage collection.

Of the time until a first update, more than half is spent in Numba's own Python code; this saves a quarter of it.
"""

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from numba.core import types
from numba.core.compiler import DefaultPassBuilder
from numba.core.compiler_machinery import PassManager
from numba.core.typed_passes import (
    IRLegalization,
    NativeLowering,
    NoPythonBackend,
    NopythonTypeInference,
    PreLowerStripPhis,
)
from numba.core.untyped_passes import (
    FixupArgs,
    GenericRewrites,
    IRProcessing,
    ReconstructSSA,
    RewriteSemanticConstants,
    TranslateByteCode,
)

_PASSES: tuple[Any, ...] = (
    TranslateByteCode, FixupArgs, IRProcessing, RewriteSemanticConstants, GenericRewrites, ReconstructSSA,
    NopythonTypeInference, PreLowerStripPhis, IRLegalization, NativeLowering, NoPythonBackend,
)  # fmt: skip
"""What loops over numbers and arrays need: no closures, generators, context managers or array expressions."""
_typed: dict[Any, Any] = {}


def pipelines(state: Any) -> list[Any]:
    """The passes for a kernel; Numba's own, if these cannot compile it."""
    make: Any = PassManager  # it has no types
    manager = make("lean")
    for each in _PASSES:
        manager.add_pass(each, each.__name__)
    manager.finalize()
    full: Any = DefaultPassBuilder
    return [manager, full.define_nopython_pipeline(state)]


class Typing:
    """Numba's typing context; an operation on the same types is looked up once, among hundreds of candidates."""

    def __init__(self, context: Any) -> None:
        self._context = context

    def __getattr__(self, name: str) -> Any:
        """Whatever else the context has."""
        return getattr(self._context, name)

    def resolve_function_type(self, function: Any, args: Any, kws: Any) -> Any:
        """The signature of a function for these types of arguments."""
        if kws or isinstance(function, types.Dispatcher | types.BoundFunction | types.RecursiveCall):
            return self._context.resolve_function_type(function, args, kws)
        key = (function, tuple(args))
        found = _typed.get(key)
        if found is None:
            found = self._context.resolve_function_type(function, args, kws)
            if found is not None:
                _typed[key] = found
        return found


@contextmanager
def uncollected() -> Iterator[None]:
    """Without garbage collection, which visits all of Numba's objects again and again."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()

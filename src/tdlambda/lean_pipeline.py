"""Numba's compiler with less work: passes that kernels need, each operation typed once, no garbage collection.

Of the time until a first update, more than half is spent in Numba's own Python code; this saves a third of it.
"""

import gc
import importlib
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

from llvmlite.binding import ffi
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
from numba.core.types.functions import BaseFunction
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
_refreshed: dict[Any, tuple[int, int]] = {}
_functions: Any = BaseFunction
_looked_up = _functions.get_call_type


def pipelines(state: Any) -> list[Any]:
    """The passes for a kernel; Numba's own, if these cannot compile it."""
    make: Any = PassManager  # it has no types
    manager = make("lean")
    for each in _PASSES:
        manager.add_pass(each, each.__name__)
    manager.finalize()
    manager._ENFORCING = False  # the liveness of variables is computed once, by the pass that needs it
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
        """The signature of a function for these types of arguments.

        Our own functions are compiled once for all integers, and not again for each constant that they are called with.
        """
        if isinstance(function, types.Dispatcher):
            args = tuple(map(types.unliteral, args))
        if kws or isinstance(function, types.Dispatcher | types.BoundFunction | types.RecursiveCall):
            return self._context.resolve_function_type(function, args, kws)
        key = (function, tuple(args))
        found = _typed.get(key)
        if found is None:
            found = self._context.resolve_function_type(function, args, kws)
            if found is not None:
                _typed[key] = found
        return found


def _get_call_type(function: Any, context: Any, args: Any, kws: Any) -> Any:
    """The signature of a function of Numba's for these types of arguments."""
    key = (function, tuple(args))
    found = None if kws else _typed.get(key)
    if found is None:
        found = _looked_up(function, context, args, kws)
        if found is not None and not kws:
            _typed[key] = found
    return found


@contextmanager
def settled(typing: Any, target: Any) -> Iterator[None]:
    """Numba's contexts look for new implementations of operations only when there may be some.

    These come with imported modules, and with intrinsics, which add theirs to a registry when they are typed.
    Otherwise, contexts would look whenever they miss one. Contexts copied from these do the same.
    """

    def sizes() -> tuple[int, int]:
        return len(sys.modules), sum(len(registry.functions) for registry in target._registries)

    def refreshed(refresh: Any) -> Any:
        def one() -> None:
            if _refreshed.get(refresh) != sizes():
                refresh()
                _refreshed[refresh] = sizes()

        return one

    _import_arrays()
    for each in (typing, target):
        each.refresh = refreshed(each.refresh)
    try:
        yield
    finally:
        for each in (typing, target):
            del each.refresh


@cache
def _import_arrays() -> None:
    """Import Numba's functions of arrays, but not SciPy's linear algebra, which takes a third of a second.

    Numba imports that to see whether there is a BLAS; whatever uses it imports it again.
    """
    linalg: Any = importlib.import_module("numba.np.linalg")
    usual = linalg.ensure_blas
    linalg.ensure_blas = lambda: None
    try:
        importlib.import_module("numba.np.arraymath")
    finally:
        linalg.ensure_blas = usual


@contextmanager
def undisturbed() -> Iterator[None]:
    """Without garbage collection, which visits all of Numba's objects again and again, and without timers of LLVM.

    Numba reports each call of LLVM to the timers of all compilations under way.
    """
    enabled, lock, usual = gc.isenabled(), ffi.lib._lock, _functions.get_call_type
    callbacks, lock._cblist = lock._cblist, []
    _functions.get_call_type = _get_call_type
    gc.disable()
    try:
        yield
    finally:
        lock._cblist, _functions.get_call_type = callbacks, usual
        if enabled:
            gc.enable()

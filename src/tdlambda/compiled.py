"""Compilation of Python functions to machine code, with Numba."""

import ctypes
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, TypeVar, cast

import numba as _numba
from llvmlite import ir
from numba.core import event
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler, Flags
from numba.core.compiler_lock import global_compiler_lock

from tdlambda.code_cache import cached
from tdlambda.compile_notice import CompileNotice
from tdlambda.lean_pipeline import Typing, pipelines, settled, undisturbed

numba: Any = _numba  # its type stubs lack `_nrt` and `config`
event.register("numba:compile", CompileNotice())
_Function = TypeVar("_Function", bound=Callable[..., Any])
IS_COMPILED = not numba.config.DISABLE_JIT
"""Whether functions are compiled at all; False with NUMBA_DISABLE_JIT=1."""
GENERATED = "tdlambda.generated."
"""Prefix of generated modules. Each contains all it calls and is named by its digest, so its cache is never stale."""
RUNTIME = "tdlambda.core.runtime"
"""Name of the module whose functions they import."""


def compiled(function: _Function) -> _Function:
    """Compile with Numba: cached on disk, without the GIL, with IEEE arithmetic (no fused or reordered operations).

    Only module-level functions that call module-level functions can be cached. To choose an algorithm, pass an integer,
    never a compiled function.
    """
    return _compile(function)


def kernel(function: _Function) -> _Function:
    """Compile without reference counting, for code that allocates no arrays; several times faster on small views."""
    return _compile(function, _nrt=False)


def brief(function: _Function) -> _Function:
    """Compile a kernel that keeps the GIL; releasing and reacquiring it would cost more than one update."""
    return _compile(function, _nrt=False, nogil=False)


def inlined(function: _Function) -> _Function:
    """Compile a kernel into its callers, because a call with several arrays costs more than a short kernel itself.

    Only compiled code can call it. Omitting the CPython wrapper halves the compile time.
    """
    return _compile(function, _nrt=False, forceinline=True, no_cpython_wrapper=True)


def part(function: _Function) -> _Function:
    """Compile an inlined kernel with few callers: only the callers' machine code is cached, which is much faster."""
    return _compile(function, _nrt=False, forceinline=True, no_cpython_wrapper=True, part=True)


def outlined(function: _Function) -> _Function:
    """Compile a kernel that only compiled code calls, without forcing it into its callers.

    It is optimised once, with the entry point that calls it; a `kernel` would be optimised again in each caller.
    """
    return _compile(function, _nrt=False, no_cpython_wrapper=True, part=True)


def seldom(function: _Function) -> _Function:
    """Compile a kernel that only compiled code calls, and that need not be fast: small code, in one place only."""
    return _compile(function, _nrt=False, no_cpython_wrapper=True, part=True, pipeline_class=_Seldom)


def lanewise(function: _Function) -> _Function:
    """Compile an inlined kernel whose arrays never overlap, so that the compiler can vectorise its loops."""
    dispatcher: Any = inlined(function)
    if not numba.config.DISABLE_JIT:
        dispatcher._compiler._customize_flags = _without_overlap
    dispatcher.lanewise = True
    return cast(_Function, dispatcher)


def summing(function: _Function) -> _Function:
    """Compile as `lanewise`, and let sums be reordered and contracted, so that loops that add are vectorised too.

    NaN and infinities keep their meaning.
    """
    dispatcher: Any = _compile(
        function, _nrt=False, forceinline=True, no_cpython_wrapper=True, fastmath={"reassoc", "nsz", "contract", "arcp"}
    )
    if not numba.config.DISABLE_JIT:
        dispatcher._compiler._customize_flags = _without_overlap
    dispatcher.decorator = "summing"
    return cast(_Function, dispatcher)


def loop(function: _Function) -> _Function:
    """Compile a loop over time whose arrays never overlap, so that scalars stay in registers while arrays change.

    Loops over a few active features stay scalar, which is faster than gathering vectors; `lanewise` parts are
    vectorised.
    """
    dispatcher: Any = _compile(function, _nrt=False, pipeline_class=_Loop)
    if not numba.config.DISABLE_JIT:
        dispatcher._compiler._customize_flags = _without_overlap
    return cast(_Function, dispatcher)


class _Flags(Flags):
    """Flags with a proper hash; Numba's all hash alike, so a lookup in a cache keyed by them compares every entry."""

    def __eq__(self, other: object) -> bool:
        return self._values == other._values if isinstance(other, _Flags) else bool(super().__eq__(other))

    def __hash__(self) -> int:
        return hash(tuple(self._values))


def _without_overlap(flags: Any) -> Any:
    own: Any = _Flags(flags)
    own.noalias = True
    return own


def entry(function: _Function, *examples: Any) -> _Function:
    """The machine code for arguments of these types, without Numba's dispatch at each call.

    Scalars are converted (an int for a float is fine). Arrays are not checked, so they must have exactly these types.
    """
    if numba.config.DISABLE_JIT:
        return function
    types = tuple(map(numba.typeof, examples))
    dispatcher: Any = function
    with global_compiler_lock, undisturbed():  # also while Numba reads the code from its cache
        dispatcher.compile(types)
    return cast(_Function, dispatcher.overloads[types].entry_point)


def called(function: int, argument: int) -> float:
    """The result of a C function of one pointer; `function` and `argument` are addresses."""
    return float(ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_void_p)(function)(argument))


def _called(_: Any, function: Any, argument: Any) -> Any:  # noqa: ARG001
    """The same as a Numba intrinsic: its signature, and the function that emits its code."""

    def code(context: Any, builder: Any, signature: Any, given: Any) -> Any:  # noqa: ARG001
        pointer = ir.IntType(8).as_pointer()
        at = builder.inttoptr(given[0], ir.FunctionType(ir.DoubleType(), [pointer]).as_pointer())
        return builder.call(at, [builder.inttoptr(given[1], pointer)])

    return numba.float64(numba.int64, numba.int64), code


if IS_COMPILED:
    called = numba.extending.intrinsic(_called)


def _compile(function: _Function, **options: Any) -> _Function:
    if numba.config.DISABLE_JIT:
        return function
    options = {"nogil": True, "no_cfunc_wrapper": True} | options
    generated = function.__module__.startswith(GENERATED)
    brought = generated or function.__module__ == RUNTIME
    is_part = options.pop("part", False) or (brought and options.get("forceinline", False))
    usual = _Part if is_part else _Usual if options.get("_nrt", True) else _Kernel
    options = {"pipeline_class": usual} | options
    dispatcher: Any = numba.njit(error_model="numpy", **options)(function)
    dispatcher._compiler._customize_flags = _Flags
    if not is_part:
        dispatcher._cache = cached(function, (0, 0) if generated else _package_stamp())
    return cast(_Function, dispatcher)


class _KernelLibrary(JITCodeLibrary):
    """Machine code without reference counts, so that LLVM optimises it once, not before and after pruning them."""

    vectors = True
    """Whether loops are vectorised."""

    def _optimize_functions(self, ll_module: Any) -> None:
        """Simplify each function that has a body; Numba makes new passes for each, and for declarations too."""
        ll_module.data_layout = self._codegen._data_layout
        passes, builder = self._codegen._function_pass_manager()
        for function in ll_module.functions:
            if not function.is_declaration:
                passes.run(function, builder)

    def _optimize_final_module(self) -> None:
        passes, builder = self._codegen._module_pass_manager(loop_vectorize=self.vectors)
        passes.run(self._final_module, builder)


class _LoopLibrary(_KernelLibrary):
    """A loop over time: see `loop`."""

    vectors = False


class _PartLibrary(_KernelLibrary):
    """Code that is inlined into its callers; no separate machine code is generated."""

    vectorised = False

    def _optimize_final_module(self) -> None:
        if self.vectorised:
            super()._optimize_final_module()

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        self._verify_declare_only_symbols()
        self._finalized = True

    def get_pointer_to_function(self, name: str) -> int:  # noqa: ARG002
        """0: there is no machine code to point to."""
        return 0

    @property
    def codegen(self) -> Any:
        """A code generator without environments, which only functions called from Python need."""
        return _WITHOUT_ENVIRONMENT


class _SeldomLibrary(_PartLibrary):
    """Code that is small rather than fast, and never inlined."""

    def add_ir_module(self, ir_module: Any) -> None:
        """Add the code of a function."""
        for function in ir_module.functions:
            if not function.is_declaration and "alwaysinline" not in function.attributes:
                function.attributes.add("noinline")
                function.attributes.add("optsize")
        super().add_ir_module(ir_module)


class _Usual(Compiler):
    """Compiles a function that may allocate."""

    def __init__(self, typing: Any, target: Any, *given: Any) -> None:
        with settled(typing, target):
            super().__init__(typing, target, *given)

    def _compile_core(self) -> Any:
        self.state.typingctx = Typing(self.state.typingctx)
        with undisturbed():
            return super()._compile_core()


class _Kernel(_Usual):
    """Compiles a function without reference counts."""

    library: type[JITCodeLibrary] = _KernelLibrary

    def define_pipelines(self) -> Any:
        """Passes without those that kernels do not need."""
        return pipelines(self.state)

    def _compile_core(self) -> Any:
        state = self.state
        if state.library is None:
            state.library = self.library(state.targetctx.codegen(), state.func_id.func_qualname)
            state.library.enable_object_caching()
        return super()._compile_core()


class _Loop(_Kernel):
    """Compiles a loop over time."""

    library = _LoopLibrary


class _Part(_Kernel):
    """Compiles functions that only compiled functions call, in half the time."""

    library = _PartLibrary

    def define_pipelines(self) -> Any:
        """The same passes; loops over lanes are vectorised here, where it is still known that no arrays overlap."""
        if self.state.library is not None:
            self.state.library.vectorised = self.state.flags.noalias
        return super().define_pipelines()


class _Seldom(_Part):
    """Compiles functions that run seldom."""

    library = _SeldomLibrary


class _WithoutEnvironment:
    def set_env(self, name: str, env: Any) -> None:
        """Do nothing: only exceptions and Python objects use the environment."""


_WITHOUT_ENVIRONMENT = _WithoutEnvironment()


@cache
def _package_stamp() -> tuple[int, int]:
    """A stamp that changes when any source file with kernels changes."""
    every = sorted(Path(__file__).parent.rglob("*.py"))
    sources = [file for file in every if b"tdlambda.compiled import" in file.read_bytes()]
    files = [file.stat() for file in [Path(__file__), *sources]]
    return max(s.st_mtime_ns for s in files), hash(tuple((s.st_mtime_ns, s.st_size) for s in files))

"""The one place where Python functions become machine code."""

import ctypes
import hashlib
import os
import warnings
from collections.abc import Callable
from functools import cache
from glob import escape
from pathlib import Path
from typing import Any, TypeVar, cast

import numba as _numba
from llvmlite import ir
from numba.core import event
from numba.core.caching import IndexDataCacheFile
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler, Flags

from tdlambda.compile_notice import CompileNotice

numba: Any = _numba  # its types know neither `_nrt` nor `config`
event.register("numba:compile", CompileNotice())
_Function = TypeVar("_Function", bound=Callable[..., Any])
IS_COMPILED = not numba.config.DISABLE_JIT
"""Whether functions become machine code at all: not with NUMBA_DISABLE_JIT=1."""
GENERATED = "tdlambda.generated."
"""Modules that hold the source of all they call and are named after a digest of it: they are never stale."""


def compiled(function: _Function) -> _Function:
    """Compile with Numba: cached on disk, without the GIL, IEEE arithmetic (no fused or reordered sums).

    Only module-level functions that call module-level functions are cached, so pass integers that choose
    an algorithm, never a compiled function.
    """
    return _compile(function)


def kernel(function: _Function) -> _Function:
    """Compile without reference counts: for code that makes no array. It runs several times faster on small views."""
    return _compile(function, _nrt=False)


def brief(function: _Function) -> _Function:
    """A kernel that keeps the GIL: to let it go and take it again costs more than one update."""
    return _compile(function, _nrt=False, nogil=False)


def inlined(function: _Function) -> _Function:
    """A kernel compiled into its callers: a call with a few arrays costs more than a short kernel does.

    Compiled code alone can call it: without a door for Python it compiles twice as fast.
    """
    return _compile(function, _nrt=False, forceinline=True, no_cpython_wrapper=True)


def part(function: _Function) -> _Function:
    """An inlined kernel of a few callers: only their machine code is made and cached, which compiles much faster."""
    return _compile(function, _nrt=False, forceinline=True, no_cpython_wrapper=True, part=True)


def lanewise(function: _Function) -> _Function:
    """An inlined kernel whose arrays never overlap; the compiler is told, and lets its loops run as vectors."""
    dispatcher: Any = inlined(function)
    if not numba.config.DISABLE_JIT:
        dispatcher._compiler._customize_flags = _without_overlap
    dispatcher.lanewise = True
    return cast(_Function, dispatcher)


def loop(function: _Function) -> _Function:
    """A kernel that steps through time and whose arrays never overlap: numbers stay in registers while arrays change.

    Its loops along a few active features stay scalar, which is faster than gathering vectors; `lanewise` parts do not.
    """
    dispatcher: Any = _compile(function, _nrt=False, pipeline_class=_Loop)
    if not numba.config.DISABLE_JIT:
        dispatcher._compiler._customize_flags = _without_overlap
    return cast(_Function, dispatcher)


class _Flags(Flags):
    """Flags with a hash of their own: Numba's all hash alike, so a cache keyed by them compares every entry."""

    def __eq__(self, other: object) -> bool:
        return self._values == other._values if isinstance(other, _Flags) else bool(super().__eq__(other))

    def __hash__(self) -> int:
        return hash(tuple(self._values))


def _without_overlap(flags: Any) -> Any:
    own: Any = _Flags(flags)
    own.noalias = True
    return own


def entry(function: _Function, *examples: Any) -> _Function:
    """The machine code itself for arguments of these types, without the search for it that each call would begin with.

    It takes whatever converts: an int for a float is fine. So the arrays must be the caller's own, of just these types.
    """
    if numba.config.DISABLE_JIT:
        return function
    types = tuple(map(numba.typeof, examples))
    dispatcher: Any = function
    dispatcher.compile(types)
    return cast(_Function, dispatcher.overloads[types].entry_point)


def called(function: int, argument: int) -> float:
    """The number that a function of C gives for one pointer; function and pointer are addresses."""
    return float(ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_void_p)(function)(argument))


def _called(_: Any, function: Any, argument: Any) -> Any:  # noqa: ARG001
    """The same as machine code: its type, and what writes it."""

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
    is_part = options.pop("part", False) or (generated and options.get("forceinline", False))
    if is_part or generated:
        options = {"pipeline_class": _Part if is_part else _Kernel} | options
    dispatcher: Any = numba.njit(error_model="numpy", **options)(function)
    dispatcher._compiler._customize_flags = _Flags
    if not is_part:
        _cache_on_disk(dispatcher, (0, 0) if generated else _package_stamp())
    return cast(_Function, dispatcher)


class _KernelLibrary(JITCodeLibrary):
    """Machine code without reference counts: LLVM optimises it once, not before and after they are removed."""

    vectors = True
    """Whether loops become vectors."""

    def _optimize_final_module(self) -> None:
        passes, builder = self._codegen._module_pass_manager(loop_vectorize=self.vectors)
        passes.run(self._final_module, builder)


class _LoopLibrary(_KernelLibrary):
    """A loop through time: see `loop`."""

    vectors = False


class _PartLibrary(_KernelLibrary):
    """Code to be linked into that of callers, who optimise it; no machine code is made of it."""

    vectorised = False

    def _optimize_final_module(self) -> None:
        if self.vectorised:
            super()._optimize_final_module()

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        self._verify_declare_only_symbols()
        self._finalized = True

    def get_pointer_to_function(self, name: str) -> int:  # noqa: ARG002
        """There is none."""
        return 0

    @property
    def codegen(self) -> Any:
        """The code generator, but for the environment of a function that can be called from Python."""
        return _WITHOUT_ENVIRONMENT


class _Kernel(Compiler):
    """Compiles a function of a generated module."""

    library: type[JITCodeLibrary] = _KernelLibrary

    def _compile_core(self) -> Any:
        state = self.state
        if state.library is None:
            state.library = self.library(state.targetctx.codegen(), state.func_id.func_qualname)
            state.library.enable_object_caching()
        return super()._compile_core()


class _Loop(_Kernel):
    """Compiles a loop through time."""

    library = _LoopLibrary


class _Part(_Kernel):
    """Compiles what other compiled functions alone call: half of the work is saved."""

    library = _PartLibrary

    def define_pipelines(self) -> Any:
        """Numba's; loops along lanes are vectorised at once, where it is known that nothing overlaps."""
        if self.state.library is not None:
            self.state.library.vectorised = self.state.flags.noalias
        return super().define_pipelines()


class _WithoutEnvironment:
    def set_env(self, name: str, env: Any) -> None:
        """Nobody reads it: it is for exceptions and Python objects."""


_WITHOUT_ENVIRONMENT = _WithoutEnvironment()


def _cache_on_disk(dispatcher: Any, stamp: tuple[int, int]) -> None:
    try:
        dispatcher.enable_caching()
    except RuntimeError:  # Numba finds no directory that it can write
        _warn_that_nothing_is_cached()
        return
    # Numba's cache watches the file of a kernel, not those of the kernels it calls: an edit there would leave stale
    # machine code here. So every kernel is as old as the newest file with kernels in it.
    numbas = dispatcher._cache._cache_file
    base = numbas._index_name.removesuffix(".nbi")
    dispatcher._cache._cache_file = _CacheFile(numbas._cache_path, base, stamp)


@cache
def _warn_that_nothing_is_cached() -> None:
    now = os.environ.get("NUMBA_CACHE_DIR")
    warnings.warn(
        "tdlambda cannot keep its machine code: neither the package's directory nor the user's cache can be written, "
        "so every process compiles again, a minute or more. Set NUMBA_CACHE_DIR to a directory that can be written"
        + (f"; now it is {now!r}." if now else "."),
        RuntimeWarning,
        stacklevel=2,
    )


class _CacheFile(IndexDataCacheFile):
    """A kernel's machine code on disk, for processes that compile at once.

    Numba writes the index first and numbers the data files 1, 2, 3: who reads in between gets the old source's code,
    and of two who write, one may get the other's. Here a data file is named after what is in it, and written first.
    """

    def save(self, key: Any, data: Any) -> None:
        """Keep one, if the disk takes it."""
        try:
            self._save(key, data)
        except OSError:
            _warn_that_nothing_is_cached()

    def _save(self, key: Any, data: Any) -> None:
        digest = hashlib.sha256(repr((self._source_stamp, key)).encode()).hexdigest()
        name = self._data_name(int(digest[:15], 16))
        self._save_data(name, data)
        index = self._load_index() | {key: name}
        self._save_index(index)
        for old in Path(self._cache_path).glob(f"{escape(self._index_name.removesuffix('.nbi'))}.*.nbc"):
            if old.name not in index.values():  # of an older source; who misses it compiles again
                old.unlink(missing_ok=True)


@cache
def _package_stamp() -> tuple[int, int]:
    """Changes when any source file that holds kernels does."""
    every = sorted(Path(__file__).parent.rglob("*.py"))
    sources = [file for file in every if b"tdlambda.compiled import" in file.read_bytes()]
    files = [file.stat() for file in [Path(__file__), *sources]]
    return max(s.st_mtime_ns for s in files), hash(tuple((s.st_mtime_ns, s.st_size) for s in files))

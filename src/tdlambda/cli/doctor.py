"""`tdlambda doctor`."""

import os
import platform
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Annotated, Any

import typer

import tdlambda
from tdlambda.cli.output import print_json, print_table
from tdlambda.extras import EXTRAS, missing

_PACKAGES = ("numpy", "scipy", "numba", "llvmlite", "gymnasium")


def doctor(json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False) -> None:
    """Report versions, cores and the state of the compile cache.

    Example: [bold]tdlambda doctor --json[/bold]
    """
    report = {
        "tdlambda": tdlambda.__version__,
        "python": platform.python_version(),
        **{name: _version(name) for name in _PACKAGES},
        "extras": ", ".join(extra for extra in EXTRAS if not missing(extra)),
        "machine": f"{platform.system()} {platform.machine()}",
        "cpu": _cpu(),
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        **_cache(),
    }
    if json:
        print_json(report)
    else:
        print_table("tdlambda doctor", ["what", "value"], [[k.replace("_", " "), str(v)] for k, v in report.items()])


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "missing"


def _cpu() -> str:
    import llvmlite.binding as llvm

    features = llvm.get_host_cpu_features()
    widest = next((f for f in ("avx512f", "avx2", "avx", "neon") if features.get(f)), "unknown SIMD")
    return f"{llvm.get_host_cpu_name()}, {widest}"


def _cache() -> dict[str, Any]:
    """The location of the compile cache, whether it is writable, and its size."""
    from tdlambda.randomness import uniform  # Numba is slow to import

    dispatcher: Any = uniform
    if not hasattr(dispatcher, "stats"):
        return {"cache": "compilation is off (NUMBA_DISABLE_JIT)", "executable": sys.executable}
    if dispatcher.stats.cache_path is None:
        nowhere = "none: no directory is writable, so every process compiles again; set NUMBA_CACHE_DIR"
        return {"cache": nowhere, "cache_writable": False, "executable": sys.executable}
    path = Path(dispatcher.stats.cache_path)
    files = list(path.parent.rglob("*.nb[ic]")) if path.parent.exists() else []
    return {
        "cache": str(path),
        "cache_writable": os.access(path if path.exists() else path.parent, os.W_OK),
        "cache_files": len(files),
        "cache_bytes": sum(f.stat().st_size for f in files),
        "executable": sys.executable,
    }

"""`tdlambda doctor`."""

import os
import platform
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import tdlambda
from tdlambda.extras import EXTRAS, missing
from tdlambda.lab.cli.options import Json
from tdlambda.lab.cli.output import print_json, print_table

_PACKAGES = ("numpy", "scipy", "numba", "llvmlite", "gymnasium")


def doctor(json: Json = False) -> None:
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
    """Where machine code is cached, that of the package and that of generated modules; whether, and how much."""
    from tdlambda.code_cache import WHAT_TO_DO  # Numba is slow to import
    from tdlambda.core.source import folder_of_generated
    from tdlambda.randomness import uniform

    dispatcher: Any = uniform
    if not hasattr(dispatcher, "stats"):
        return {"cache": "compilation is off (NUMBA_DISABLE_JIT)", "executable": sys.executable}
    nowhere = f"none: every process compiles again, because no directory is writable and yours alone. {WHAT_TO_DO}"
    package, generated = dispatcher.stats.cache_path, folder_of_generated()
    folders = [folder for folder in (Path(package).parent if package else None, generated) if folder is not None]
    files = {file for folder in folders if folder.exists() for file in folder.rglob("*.nb[ic]")}
    return {
        "cache": package or nowhere,
        "cache_of_generated_code": str(generated or nowhere),
        "cache_writable": package is not None and generated is not None and os.access(package, os.W_OK),
        "cache_files": len(files),
        "cache_bytes": sum(f.stat().st_size for f in files),
        "executable": sys.executable,
    }

"""The code that a study's numbers depend on: the user's modules, this package, and numerical packages.

Modules are imported only to run a study; a study read from a results directory has `trusted=False`.
"""

from __future__ import annotations

import ast
import hashlib
import importlib
import site
import sys
import sysconfig
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from importlib.util import find_spec, resolve_name
from pathlib import Path
from types import ModuleType
from typing import Any

import tdlambda

COMPUTE = ("numpy", "numba", "llvmlite", "scipy")
"""Packages whose version may affect the results."""
_COMPUTING = {
    Path("lab", "studies", "building.py"),
    Path("lab", "reproduction", "declarations.py"),
    Path("lab", "reproduction", "thesis_values.py"),
}
"""Files of the laboratory that compute results; its others only run, record and show them."""
_INSTALLED = {
    Path(path).resolve()
    for path in (
        *(sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")),
        *site.getsitepackages(), site.getusersitepackages(),
    )
}  # fmt: skip


@dataclass(frozen=True)
class Source:
    """A module's file when it was imported: its digest, and the names that it imports."""

    spec: Any
    digest: str
    imports: frozenset[str]


def imported(name: str, folders: Sequence[str] = ()) -> ModuleType:
    """Import a user's module; `folders` are searched first."""
    for folder in reversed(folders):
        if folder not in sys.path:
            sys.path.insert(0, folder)
    try:
        module = importlib.import_module(name)
    except Exception as error:
        raise ValueError(f"{name} cannot be imported: {type(error).__name__}: {error}") from error
    top = name.partition(".")[0]
    places = [Path(folder, file) for folder in folders for file in (f"{top}/__init__.py", f"{top}.py")]
    meant, found = next(filter(Path.is_file, places), None), _file(top)
    if meant and found and meant.resolve() != found.resolve():
        raise ValueError(f"{top} was already imported from {found}, not from {meant}; run it in a separate process")
    return module


def code(modules: Sequence[str], task: str | None = None) -> dict[str, str]:
    """The versions of packages and digests of sources that results depend on, by name.

    Parameters
    ----------
    modules
        Imported modules that a method names. Modules that they import are included if they are not installed, or belong
        to the same package.
    task
        Module of the task; a task defined interactively, without a file, is not covered.
    """
    if task is not None and _file(task) is not None:
        modules = [*modules, task]
    found = {"tdlambda": f"{tdlambda.__version__} {package_digest()}"} | {name: _version(name) for name in COMPUTE}
    return found | {f"module {name}": source.digest for name, source in sorted(_sources(modules).items())}


def differences(old: Mapping[str, str] | None, new: Mapping[str, str]) -> list[str]:
    """The names of the parts that differ between two programs."""
    if old is None:
        return ["tdlambda"]  # before version 0.2, programs were not recorded
    return [name for name in {**old, **new} if old.get(name) != new.get(name)]


@cache
def package_digest(root: Path = Path(tdlambda.__file__).parent) -> str:
    """A digest of this package's computing sources; edits of a report or a command do not change it."""
    digest = hashlib.sha256()
    for file in sorted(root.rglob("*.py")):
        place = file.relative_to(root)
        if place.parts[0] != "lab" or place in _COMPUTING:
            digest.update(place.as_posix().encode() + b"\0" + file.read_bytes() + b"\0")
    return digest.hexdigest()[:16]


def _sources(modules: Sequence[str]) -> dict[str, Source]:
    """The named modules, and the user's own among the modules that they import."""
    packages = {name.partition(".")[0] for name in modules}
    found: dict[str, Source] = {}
    todo = list(modules)
    while todo:
        name = todo.pop()
        top = name.partition(".")[0]
        if name in found or top == "tdlambda" or (top not in packages and _is_installed(top)):
            continue
        file = _file(name)
        if file is not None:
            found[name] = _source(name, file)
            todo += found[name].imports
        elif name in modules and not hasattr(sys.modules[name], "__path__"):
            raise ValueError(f"{name} has no file, so changes of it cannot be detected; write it to a file")
    return found


def _source(name: str, file: Path) -> Source:
    """A module's source as it was first read; it is read again if the module was reloaded."""
    spec = getattr(sys.modules.get(name), "__spec__", None)
    known = _READ.get(name)
    if known is None or spec is None or known.spec is not spec:
        content = file.read_bytes()
        is_package = file.name == "__init__.py"
        names = frozenset(_imports(content, name if is_package else name.rpartition(".")[0]))
        _READ[name] = Source(spec, hashlib.sha256(content).hexdigest()[:16], names)
    return _READ[name]


_READ: dict[str, Source] = {}


def _imports(content: bytes, package: str) -> Iterator[str]:
    """Yield every module that a source may import anywhere, and their packages."""
    try:
        tree = ast.parse(content)
    except (SyntaxError, ValueError):  # not Python source, such as machine code
        return
    for node in ast.walk(tree):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            relative = "." * node.level + (node.module or "")
            base = resolve_name(relative, package) if node.level else relative
            names = [base, *(f"{base}.{alias.name}" for alias in node.names)]
        for name in names:
            parts = name.split(".")
            yield from (".".join(parts[: k + 1]) for k in range(len(parts)))


def _file(name: str) -> Path | None:
    """The file of a module; None if it is not a module or has no file."""
    try:
        module = sys.modules.get(name)
        place = getattr(module, "__file__", None) if module else getattr(find_spec(name), "origin", None)
    except (ImportError, ValueError, AttributeError):  # an object in a module, not a module
        return None
    return Path(place) if place and Path(place).is_file() else None


def _is_installed(top: str) -> bool:
    """Whether a package came with Python or was installed."""
    file = _file(top)
    return top in sys.stdlib_module_names or (file is not None and not _INSTALLED.isdisjoint(file.resolve().parents))


@cache
def _version(name: str) -> str:
    return version(name)

"""Modules whose classes a file or a study may name, though the code that reads the name lies below them.

A folder imports nothing from folders that build on it. The package lists such modules here, as text, and `find` imports
them when a name is looked up.
"""

from importlib import import_module
from typing import Any

MODULES: list[str] = []
"""Modules to search, in order; their `__all__` lists the names that they offer."""


def find(name: str) -> Any:
    """The object that a registered module offers under this name; None if there is none."""
    for path in MODULES:
        module = import_module(path)
        if name in module.__all__:
            return getattr(module, name)
    return None

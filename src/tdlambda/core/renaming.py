"""An algorithm's declaration with other names for its numbers, where a rule for λ uses the same names."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

from tdlambda.core import source
from tdlambda.core.declare import AlgorithmDeclaration
from tdlambda.core.names import words

_NAMES = ("sizes", "parameters", "of_value", "correcting", "trace_scale")
_OTHERS = (
    "weight_rows", "trace_rows", "lasting_rows", "dots", "keeps", "holds", "starts", "center", "before_at",
    "reads_terminal",
)  # fmt: skip


def apart(algorithm: type[AlgorithmDeclaration], taken: set[str], estimates: tuple[str, ...]) -> dict[str, str]:
    """New names for the numbers of an algorithm whose names, in small letters, are taken or begin with an estimate's.

    `alpha` keeps its name, which every rule knows.
    """
    prefixes, names = tuple(f"{k}_" for k in estimates), {}
    used = {*taken, *(name.lower() for name in algorithm.known_names()), *algorithm.row_names()}
    for name in algorithm.number_names():
        if name.lower() in taken or name.startswith(prefixes):
            new = f"algorithm_{name}"
            while new.lower() in used:
                new = f"algorithm_{new}"
            names[name] = new
    return names


@cache
def renamed(base: type[AlgorithmDeclaration], names: tuple[tuple[str, str], ...]) -> type[AlgorithmDeclaration]:
    """The same declaration with other names of its numbers."""
    new = dict(names)
    members: dict[str, Any] = {name: getattr(base, name) for name in _OTHERS} | {"__doc__": base.__doc__}
    members |= {part: " ".join(new.get(n, n) for n in words(getattr(base, part))) for part in _NAMES}
    members["updates"] = re.sub(r"\w+", lambda found: new.get(found[0], found[0]), base.updates)
    functions = {"step": base.step, "before": base.before, "feature": base.feature}
    members |= {part: staticmethod(_function(f, new)) for part, f in functions.items() if f is not None}
    return type(base.__name__, (AlgorithmDeclaration,), members)


def _function(function: Callable[..., Any], names: Mapping[str, str]) -> Callable[..., Any]:
    """A function whose arguments and variables have other names."""
    node = source.tree(function)
    for part in ast.walk(node):
        if isinstance(part, ast.Name):
            part.id = names.get(part.id, part.id)
        elif isinstance(part, ast.arg):
            part.arg = names.get(part.arg, part.arg)
    return source.function_from(ast.unparse(node), function.__globals__, f"{function.__qualname__}, renamed")

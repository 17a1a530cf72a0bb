"""Validation of names and functions in declarations."""

from __future__ import annotations

import keyword
from typing import Any

from tdlambda.core import source
from tdlambda.core.runtime import COUNTERS, LIMITS
from tdlambda.core.vectors import elements

IN_LANES = frozenset(
    ["allowed", "beyond", "bound", "by", "cut", "lane", "prediction", "top", "trace_top", "weight_top", "x1", "y1"]
)
"""Names that generated loops over lanes use themselves; no declaration may use them."""
IN_ROWS = frozenset(
    [
        "f",
        "fresh",
        "i",
        "j",
        "limit",
        "listed",
        "live",
        "n",
        "n_live",
        "n_next",
        "order",
        "own",
        "rows",
        "s",
        "state",
        "value",
        "within",
        "x",
        "x_next",
        "xv",
        "y",
        "yv",
        "z",
        "zv",
    ]
)
"""Names that generated code uses itself, so that rows and step sizes may not have them."""
IN_STATE = frozenset([*COUNTERS, *LIMITS, "offset", "power"])
"""Names of numbers that every learner has, so that parameters may not have them."""


def words(text: str) -> list[str]:
    """The names in a text, which are separated by blanks; a vector name[n] stands for n of them (`core.vectors`)."""
    return [name for word in text.split() for name in elements(word)] if "[" in text else text.split()


def require_names(names: list[str]) -> None:
    """Validate that these can be names of variables in generated code."""
    bad = [n for n in names if not n.isidentifier() or keyword.iskeyword(n) or n.endswith("_") or n.startswith("_")]
    if bad:
        raise TypeError(f"{', '.join(map(repr, bad))}: a name must be a Python identifier without _ at its ends")
    require_free(names, IN_LANES)


def require_free(names: list[str], reserved: frozenset[str]) -> None:
    """Validate that none of these is reserved."""
    taken = [name for name in names if name in reserved]
    if taken:
        raise TypeError(f"{', '.join(map(repr, taken))}: generated code uses this name itself; choose another")


def require_plain(name: str, function: Any) -> None:
    """Validate that this is a plain function whose source can be read."""
    try:
        node = source.tree(function)
    except (OSError, TypeError) as error:
        raise TypeError(
            f"{name} must be a plain function (def) whose source is in a file or a notebook: {error}"
        ) from None
    args = node.args
    if args.vararg or args.kwarg or args.kwonlyargs or args.defaults or args.posonlyargs:
        raise TypeError(f"{name} must have plain arguments: no defaults, no * and no **")
    if args.args and args.args[0].arg == "self":
        raise TypeError(f"{name} must be a @staticmethod: a pure function of numbers, without self")

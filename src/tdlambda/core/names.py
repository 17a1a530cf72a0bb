"""Validation of names and functions in declarations."""

from __future__ import annotations

import builtins
import keyword
import re
import unicodedata
from collections.abc import Iterable
from typing import Any

from tdlambda.core import source
from tdlambda.core.runtime import COUNTERS, LIMITS
from tdlambda.core.vectors import elements

EVERYWHERE = frozenset(name for name in dir(builtins) if name.islower()) | frozenset(
    ["before", "encode", "feature", "names", "one", "step", "terminated", "truncated"]
)
"""Names of Python's and of generated functions, which a variable would hide; and of what every step has."""
PREFIXES = ("at_", "here_", "next_", "own_", "row_", "rule_")
"""Generated code combines these with the names of a declaration."""
OF_ROWS = ("0", "_at", "_at_x", "_at_next", "_by", "_top", "_x", "_x_next")
"""Endings of names that generated code makes from the name of a row."""
IN_LANES = frozenset(
    ["allowed", "beyond", "bound", "by", "cut", "lane", "prediction", "top", "trace_top", "weight_top", "x1", "y1"]
)
"""Names that generated loops over lanes use themselves; no declaration may use them."""
IN_RULES = frozenset(
    """
    again allowed_square apply check clear confine cross dot enliven first_bad gathered increasing learn mean_visits
    mixed norm numbers ok prune repeated rows scheduled size squared value_at
    """.split()  # noqa: SIM905
)
"""Functions and constants of generated modules, which a number of a rule would hide: it has no estimate's name before
it."""
IN_ROWS = frozenset(
    """
    f fresh i j limit listed live n n_live n_next order own rows s state value within x x_next xv y yv z zv
    """.split()  # noqa: SIM905
)
"""Names that generated code uses itself, so that rows and step sizes may not have them."""
IN_STATE = frozenset([*COUNTERS, *LIMITS, "offset", "power", "allowed_square", "largest", "limit", "out", "zeros"])
"""Names of numbers that every learner or block of lanes has, so that parameters may not have them."""
IN_MIXTURES = frozenset(["ahead", "here", "over"])
"""Names of numbers that every mixture has in lanes, so that parameters of algorithms may not have them."""


def words(text: str) -> list[str]:
    """The names in a text, which are separated by blanks; a vector name[n] stands for n of them (`core.vectors`)."""
    return [name for word in text.split() for name in elements(word)] if "[" in text else text.split()


def require_names(names: list[str], rows: list[str], dots: Iterable[str] = ()) -> None:
    """Validate that these can be names of variables in generated code, beside rows of these names and dot products."""
    prefixed = {name.lower() for name in names if name.lower().startswith(PREFIXES) or name.startswith("V_")}
    prefixed |= {name.lower() for name in names if re.fullmatch(r"(reward|gamma_next|rho|lam_next)_\d+", name.lower())}
    bad = [n for n in names if not n.isidentifier() or keyword.iskeyword(n) or n.endswith("_") or n.startswith("_")]
    if bad:
        raise TypeError(f"{', '.join(map(repr, bad))}: a name must be a Python identifier without _ at its ends")
    for name in names:
        read = unicodedata.normalize("NFKC", name)
        if read != name:
            raise TypeError(f"{name!r}: Python reads this name as {read!r}; write it so, or choose another")
    made = {f"{row}{ending}" for row in rows for ending in OF_ROWS}
    made |= {dot.replace(".", "_").replace("'", "_next") for dot in dots}
    require_free(names, EVERYWHERE | IN_LANES | prefixed | {name.lower() for name in made})


def require_apart(names: set[str]) -> None:
    """Validate that no two of these differ in case only: generated code has constants in capital letters."""
    by_case: dict[str, str] = {}
    for name in sorted(names):
        if by_case.setdefault(name.lower(), name) != name:
            raise TypeError(f"{by_case[name.lower()]}, {name}: these names differ only in case; choose another")


def require_free(names: list[str], reserved: frozenset[str]) -> None:
    """Validate that none of these is reserved, in small or capital letters."""
    taken = [name for name in names if name.lower() in reserved]
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

"""Validation of a study's fields; errors name the field."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from contextlib import contextmanager
from difflib import get_close_matches
from itertools import islice
from typing import Any

import numpy as np

from tdlambda.arrays import integer
from tdlambda.rules import as_rule
from tdlambda.studies.sizes import CELLS

COLUMNS = ("method", "learner", "rule", "seed", "diverged_at", "tail", "area", "final", "curve", "lambdas")
"""Of the results, beside the grid's."""
_NAME = re.compile(r"\w[\w.+-]{,99}")
_QUICK = ("seeds", "steps", "episodes", "points", "grid", "methods")


def check_name(name: Any, where: str) -> None:
    """Validate a name that can be a directory name on every machine."""
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise ValueError(
            f"{where} must be letters, digits and . + - _, beginning with a letter or digit, at most 100; got {name!r}"
        )


def whole(value: Any, name: str, low: int, high: int | None = None) -> int:
    """Validate an integer; other numbers and text raise an error.

    >>> whole(1e3, "steps", 1)
    Traceback (most recent call last):
    TypeError: steps must be an integer; got 1000.0: write 1_000
    """
    if isinstance(value, bool | np.bool_):
        raise TypeError(f"{name} must be an integer; got {value!r}")
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e18:
        raise TypeError(f"{name} must be an integer; got {value!r}: write {int(value):_}")
    return integer(value, name, low, high)


def check_text(value: Any, where: str) -> None:
    """Validate text."""
    if not isinstance(value, str):
        raise TypeError(f'{where} must be text, in quotes: "…"; got {value!r}')


def names_in(value: Any, where: str) -> tuple[str, ...]:
    """Validate a list of names."""
    if isinstance(value, str) or not isinstance(value, Iterable):
        raise TypeError(f"{where} must be a list of names; got {value!r}")
    names = tuple(value)
    if not all(isinstance(name, str) for name in names):
        raise TypeError(f"{where} must be a list of names; got {value!r}")
    return names


def check_known(names: Iterable[str], known: Sequence[str], where: str) -> None:
    """Validate that all names are known."""
    for name in names:
        if name not in known:
            near = get_close_matches(str(name), known, n=1)
            hint = f"did you mean {near[0]!r}?" if near else f"there are {listed(known)}"
            raise ValueError(f"{where}: nothing is called {name!r}; {hint}")


def check_table(table: Any, where: str) -> None:
    """Validate a table of values by name."""
    if not isinstance(table, Mapping) or not all(isinstance(name, str) for name in table):
        raise TypeError(f"{where} must be a table, values by name; got {table!r}")


def check_plain(table: Any, where: str) -> None:
    """Validate a table of values that can be written as TOML and JSON."""
    check_table(table, where)
    with saying(where):
        json.dumps(table, default=listable)


def check_quick(quick: Any) -> None:
    """Validate the changes of the quick version."""
    check_plain(quick, "quick")
    check_known(quick, _QUICK, "quick")
    with saying("quick"):
        for name in ("seeds", "steps", "episodes", "points"):
            whole(quick.get(name, 1), name, 1)
        names_in(quick.get("methods", ()), "methods")
        check_table(quick.get("grid", {}), "grid")
        for name, values in quick.get("grid", {}).items():
            grid_values(name, values)


def share(value: Any, name: str, low: bool, high: bool, of: str) -> float:
    """Validate a number from 0 to 1; `low` and `high` say whether 0 and 1 are allowed."""
    number = isinstance(value, int | float) and not isinstance(value, bool)
    good = number and (0 < value < 1 or (low and value == 0) or (high and value == 1))
    if not good:
        raise ValueError(f"{name} must be a share of the {of}, in {'(['[low]}0, 1{')]'[high]}; got {value!r}")
    return float(value)


def grid_values(name: str, values: Any) -> list[Any]:
    """Validate the values of a grid parameter: not empty, of one type, unique; λ may mix numbers and rule names."""
    if name in COLUMNS:
        raise ValueError(f"grid: {name!r} is a column of the results; write rule.{name} or learner.{name}")
    ordered = isinstance(values, Iterable) and not isinstance(values, str | bytes | Mapping | Set)
    some = list(islice(values, CELLS + 1)) if ordered else []
    if not some:
        raise ValueError(f"grid.{name} must be a list of values, at least one; got {values!r}")
    if len(some) > CELLS:
        raise ValueError(f"grid.{name} has too many values: a method may have {CELLS:,} cells")
    plain = [value.item() if isinstance(value, np.generic) else value for value in some]
    kinds = {float if type(value) is int else type(value) for value in plain}
    if kinds == {float, str} and name in ("lam", "learner.lam"):
        with saying(f"grid.{name}"):
            for value in plain:
                as_rule(value)
        plain = [value if isinstance(value, str) else float(value) for value in plain]
    elif kinds not in ({float}, {str}, {bool}):
        raise TypeError(f"grid.{name}: values must be all numbers, all names, or true and false; got {plain}")
    if len(set(plain)) < len(plain):
        raise ValueError(f"grid.{name}: a value occurs twice")
    return [float(value) for value in plain] if kinds == {float} and float in map(type, plain) else plain


def check_over(over: Any, options: Any, grid: Mapping[str, Any], where: str) -> None:
    """Validate names from the grid that are not also given as options."""
    check_plain(options, f"{where}.options")
    if not isinstance(over, tuple) or not all(isinstance(axis, str) for axis in over):
        raise TypeError(f"{where}.over must be a list of names from the grid; got {over!r}")
    for axis in over:
        if axis not in grid:
            raise ValueError(f"{where}.over: the grid has no {axis!r}; it has {listed(grid)}")
        if axis in options or over.count(axis) > 1:
            raise ValueError(f"{where}: {axis!r} is given twice")


@contextmanager
def saying(where: str) -> Iterator[None]:
    """Prefix errors with their place in the study."""
    try:
        yield
    except TypeError as error:
        raise TypeError(f"{where}: {error}") from error
    except ValueError as error:
        raise ValueError(f"{where}: {error}") from error
    except MemoryError as error:
        raise ValueError(f"{where}: there is not the memory for it: {error}") from error


def listable(value: Any) -> Any:
    """Convert a value to a type that JSON supports."""
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, tuple | np.ndarray):
        return list(value)
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"a study holds plain data only, so that it can be written down; got {value!r}")


def listed(names: Iterable[str]) -> str:
    """Return names as a readable list."""
    return ", ".join(names) or "none"

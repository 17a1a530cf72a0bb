"""What a study may hold, checked as it is declared; a mistake is named by its field."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from contextlib import contextmanager
from difflib import get_close_matches
from typing import Any

import numpy as np

from tdlambda.lambdas import as_rule

COLUMNS = ("method", "learner", "rule", "seed", "diverged_at", "tail", "area", "final", "curve", "lambdas")
"""Of the results, beside the grid's."""
_NAME = re.compile(r"\w[\w.+-]*")


def check_name(name: Any, where: str) -> None:
    """Something that can name a directory, here and on other machines."""
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise ValueError(f"{where} must be letters, digits and . + - _, beginning with a letter or digit; got {name!r}")


def check_known(names: Iterable[str], known: Sequence[str], where: str) -> None:
    """No name that means nothing."""
    for name in names:
        if name not in known:
            near = get_close_matches(str(name), known, n=1)
            hint = f"did you mean {near[0]!r}?" if near else f"there are {listed(known)}"
            raise ValueError(f"{where}: nothing is called {name!r}; {hint}")


def check_table(table: Any, where: str) -> None:
    """Values by name."""
    if not isinstance(table, Mapping):
        raise TypeError(f"{where} must be a table, values by name; got {table!r}")


def share(value: Any, name: str, low: bool, high: bool, of: str) -> float:
    """A number from 0 to 1, `low` and `high` saying whether these are themselves allowed."""
    good = isinstance(value, int | float) and (0 < value < 1 or (low and value == 0) or (high and value == 1))
    if not good:
        raise ValueError(f"{name} must be a share of the {of}, in {'(['[low]}0, 1{')]'[high]}; got {value!r}")
    return float(value)


def grid_values(name: str, values: Any) -> list[Any]:
    """The values of one parameter: some, of one kind, each once. λ alone may have both numbers and names of rules."""
    if name in COLUMNS:
        raise ValueError(f"grid: {name!r} is a column of the results; write rule.{name} or learner.{name}")
    ordered = isinstance(values, Iterable) and not isinstance(values, str | bytes | Mapping | Set)
    plain = [value.item() if isinstance(value, np.generic) else value for value in values] if ordered else []
    if not plain:
        raise ValueError(f"grid.{name} must be a list of values, at least one; got {values!r}")
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
    """Names from the grid, none of them given otherwise as well."""
    check_table(options, f"{where}.options")
    if not isinstance(over, tuple):
        raise TypeError(f"{where}.over must be a list of names from the grid; got {over!r}")
    for axis in over:
        if axis not in grid:
            raise ValueError(f"{where}.over: the grid has no {axis!r}; it has {listed(grid)}")
        if axis in options or over.count(axis) > 1:
            raise ValueError(f"{where}: {axis!r} is given twice")


@contextmanager
def saying(where: str) -> Iterator[None]:
    """Say where in a study a mistake is."""
    try:
        yield
    except TypeError as error:
        raise TypeError(f"{where}: {error}") from error
    except ValueError as error:
        raise ValueError(f"{where}: {error}") from error


def listable(value: Any) -> Any:
    """What JSON does not know, as what it does."""
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, tuple | np.ndarray):
        return list(value)
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"a study holds plain data only, so that it can be written down; got {value!r}")


def listed(names: Iterable[str]) -> str:
    """Names, for people."""
    return ", ".join(names) or "none"

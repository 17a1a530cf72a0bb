"""Validation of a study's fields; errors name the field.

A check is a function of a value and its place in the study, such as "methods.TD.about". It gives the value in the type
that the study keeps, or raises TypeError or ValueError.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from contextlib import contextmanager
from dataclasses import MISSING, fields
from functools import partial
from itertools import islice
from typing import Any, TypeVar

import numpy as np

from tdlambda.arrays import choice, integer
from tdlambda.lab.studies.sizes import CELLS
from tdlambda.rules import as_rule
from tdlambda.runner.job import seed_numbers
from tdlambda.showing import hint

_Kind = TypeVar("_Kind")
Check = Callable[[Any, str], Any]
COLUMNS = ("method", "learner", "rule", "seed", "diverged_at", "tail", "area", "final", "curve", "lambdas")
"""Columns of the results besides those of the grid."""
_NAMES = 1000
"""Largest number of names in a list, which may be endless."""
_BYTES = 180
"""Largest length of a name of a file in UTF-8: file systems allow 255, of which a unit that is set aside needs 60."""
_SPAN = '"100:130"'
"""A range of seeds, as in a TOML file."""


def validate(record: Any, checks: Mapping[str, Check], where: str = "") -> None:
    """Validate the fields of a frozen dataclass, and convert them to the types that it keeps."""
    for name, check in checks.items():
        object.__setattr__(record, name, check(getattr(record, name), where + name))


def check_fields(kind: Any, data: Mapping[str, Any], where: str, besides: Sequence[str] = ()) -> None:
    """Validate the names of a dataclass's fields in plain data: all known, and none of the required ones missing."""
    check_known(data, [f.name for f in fields(kind) if f.name not in besides], where or "the study")
    for f in fields(kind):
        if f.name not in data and f.default is MISSING and f.default_factory is MISSING:
            raise ValueError(f"{where}{'.' * bool(where)}{f.name} is missing")


def check_known(names: Iterable[str], known: Sequence[str], where: str) -> None:
    """Validate that all names are known."""
    for name in names:
        if name not in known:
            more = f" Write seeds = 30, [3, 5, 8] or {_SPAN}" if name == "seed" and "seeds" in known else ""
            raise ValueError(f"{where}: unknown field {name!r}{hint(name, known, 'the fields are {}')}{more}")


def optional(check: Check) -> Check:
    """The check of a field that may be None."""
    return lambda value, where: None if value is None else check(value, where)


def one_of(*words: str) -> Check:
    """Validate a field that takes one of several strings."""
    return lambda value, where: choice(value, where, *words)


def that(holds: Callable[[Any], Any], what: str, error: type[Exception] = TypeError) -> Check:
    """The check of a field that must be something, in words; it keeps the value as it is."""

    def check(value: Any, where: str) -> Any:
        if not holds(value):
            raise error(f"{where} must be {what}; got {value!r}")
        return value

    return check


text = that(lambda value: isinstance(value, str), 'text, in quotes: "…"')
flag = that(lambda value: isinstance(value, bool), "true or false")
file_name = that(  # valid on every system, also with a key, a seed and a time appended
    lambda value: isinstance(value, str) and re.fullmatch(r"\w[\w.+-]{,99}", value) and len(value.encode()) <= _BYTES,
    f"letters, digits and . + - _, beginning with a letter or digit, at most 100 and at most {_BYTES} bytes",
    ValueError,
)  # fmt: skip
table = that(lambda value: isinstance(value, Mapping) and _all_text(value), "a table, values by name")


def share(inside: Callable[[float], bool], what: str) -> Check:
    """The check of a number inside an interval."""
    number = that(lambda value: isinstance(value, int | float) and not isinstance(value, bool) and inside(value), what,
                  ValueError)  # fmt: skip
    return lambda value, where: float(number(value, where))


def seeds(value: Any, where: str) -> int | range | tuple[int, ...]:
    """Validate a number of seeds, counted from 0, or the seeds themselves: in a list, or as text such as "100:130".

    >>> seeds(30, "seeds"), seeds("100:130", "seeds"), seeds([5, 3], "seeds")
    (30, range(100, 130), (5, 3))
    """
    if isinstance(value, str) and (ends := re.fullmatch(r"([0-9]{1,18}):([0-9]{1,18})", value)):
        value = range(int(ends[1]), int(ends[2]))
    some = seed_numbers(value, where, _SPAN)
    span = range(some[0], some[0] + len(some))
    if some != tuple(span):
        return some
    return span if some[0] else len(some)


def names(value: Any, where: str) -> tuple[str, ...]:
    """Validate a list of names; sets are rejected, because they have no order."""
    ordered = isinstance(value, Iterable) and not isinstance(value, str | set | frozenset)
    some = tuple(islice(value, _NAMES + 1)) if ordered else (None,)
    if len(some) > _NAMES or not _all_text(some):
        raise TypeError(f"{where} must be a list of names{f', at most {_NAMES}' * (len(some) > _NAMES)}; got {value!r}")
    return some


def _all_text(names: Iterable[Any]) -> bool:
    return all(isinstance(name, str) for name in names)


def plain(value: Any, where: str) -> Any:
    """Validate a table of values that can be written as TOML and JSON."""
    table(value, where)
    with saying(where):
        json.dumps(value, default=listable)
    return value


def grid(value: Any, where: str) -> dict[str, list[Any]]:
    """Validate the values of each grid parameter."""
    return {name: _grid_values(name, values, where) for name, values in table(value, where).items()}


def _grid_values(name: str, values: Any, where: str) -> list[Any]:
    """Validate values: at least one, of one type, unique; λ may mix numbers and rule names."""
    if name in COLUMNS:
        raise ValueError(f"{where}: {name!r} is a column of the results; write rule.{name} or learner.{name}")
    where = f"{where}.{name}"
    ordered = isinstance(values, Iterable) and not isinstance(values, str | bytes | Mapping | Set)
    some = list(islice(values, CELLS + 1)) if ordered else []
    if not some:
        raise ValueError(f"{where} must be a list of values, at least one; got {values!r}")
    if len(some) > CELLS:
        raise ValueError(f"{where} has too many values: a method may have {CELLS:,} cells")
    found = [value.item() if isinstance(value, np.generic) else value for value in some]
    kinds = {float if type(value) is int else type(value) for value in found}
    if kinds == {float, str} and name in ("lam", "learner.lam"):
        with saying(where):
            for value in found:
                as_rule(value)
        found = [value if isinstance(value, str) else float(value) for value in found]
    elif kinds not in ({float}, {str}, {bool}):
        raise TypeError(f"{where}: values must be all numbers, all names, or true and false; got {found}")
    if len(set(found)) < len(found):
        raise ValueError(f"{where}: a value occurs twice")
    return [float(value) for value in found] if kinds == {float} and float in map(type, found) else found


def quick(value: Any, where: str) -> Any:
    """Validate the changes of the quick version."""
    check_known(plain(value, where), list(_QUICK), where)
    with saying(where):
        for name, change in value.items():
            _QUICK[name](change, name)
    return value


_SIZES = dict.fromkeys(("steps", "episodes", "points"), partial(integer, low=1))
_QUICK: dict[str, Check] = {**_SIZES, "seeds": seeds, "grid": grid, "methods": names}


def check_over(over: Sequence[str], options: Any, grid: Mapping[str, Any], where: str) -> None:
    """Validate names from the grid that are not also given as options."""
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
        raise ValueError(f"{where}: not enough memory: {error}") from error


def listable(value: Any) -> Any:
    """A value in a type that JSON supports."""
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, tuple | np.ndarray):
        return list(value)
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"a study may hold plain data only: numbers, text, lists and tables; got {value!r}")


def listed(names: Iterable[str]) -> str:
    """Names as a readable list."""
    return ", ".join(names) or "none"

"""Docstrings of classes that repeat parameters of another class: written once, shown everywhere."""

from __future__ import annotations

import inspect
import re
import sys
from typing import Any

_SECTION = re.compile(r"^Parameters\n-+\n(.*?)\n*(?=^\w[^\n]*\n---|\Z)", re.S | re.M)
_ENTRY = re.compile(r"^(\w[^\n]*)\n((?:(?:    [^\n]*)?(?:\n|\Z))+)", re.M)
_SEE = re.compile(r"\s*See `(\w+)`\.\s*")


def complete(kind: type[Any]) -> None:
    """Replace entries "See `Base`." of a class's docstring by the descriptions of these parameters in `Base`.

    The name "options" stands for all parameters of the signature that the docstring does not describe.
    """
    doc = vars(kind).get("__doc__")
    text = inspect.cleandoc(doc) if isinstance(doc, str) else ""
    section, own = _SECTION.search(text), entries(text)
    if section is None or not any(_SEE.fullmatch(said) for said in own.values()):
        return
    described = {name for names, said in own.items() if not _SEE.fullmatch(said) for name in names.split(", ")}
    order = [*inspect.signature(kind).parameters]
    found: list[tuple[str, str]] = []
    for names, said in own.items():
        see = _SEE.fullmatch(said)
        base = _class_named(kind, see[1]) if see else None
        if base is None:
            found.append((names, said))
            continue
        wanted = order if "options" in names.split(", ") else names.split(", ")
        for theirs, description in entries(inspect.cleandoc(base.__doc__ or "")).items():
            if some := [name for name in theirs.split(", ") if name in wanted and name not in described]:
                found.append((", ".join(some), description))
                described |= set(some)
    found.sort(key=lambda entry: order.index(first) if (first := entry[0].split(", ")[0]) in order else len(order))
    lines = "\n".join(line for entry in found for line in entry)
    kind.__doc__ = text[: section.start(1)] + lines + text[section.end(1) :]


def entries(text: str) -> dict[str, str]:
    """The entries of the section "Parameters" of a clean docstring: names, as written, and descriptions."""
    section = _SECTION.search(text)
    return {names: said.rstrip() for names, said in _ENTRY.findall(section[1])} if section else {}


def _class_named(kind: type[Any], name: str) -> type[Any] | None:
    """The class of this name with described parameters: a base of `kind`, or another class that its module knows."""
    known = [*kind.__mro__[1:], getattr(sys.modules.get(kind.__module__), name, None)]
    same = (one for one in known if isinstance(one, type) and one.__name__ == name)
    return next((one for one in same if entries(inspect.cleandoc(one.__doc__ or ""))), None)

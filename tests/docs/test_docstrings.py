"""Docstrings follow one style, and give the range or unit of every number."""

import ast
import inspect
import re
from collections.abc import Iterator
from dataclasses import is_dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

import tdlambda as td

SOURCE = Path(td.__file__).parent
MODULES = ("tdlambda", *(f"tdlambda.{name}" for name in td._NAMES if name not in ("core", "interruption", "loading")))
NUMBERS = re.compile(r"\b(?:int|float|Number)\b")
RANGE = re.compile(
    r"\d|[∞≥≤]|(?:[Ss]ee|[Aa]s (?:in|for)) `|\b(?:[Pp]ositive|negative|[Nn]umber of|at (?:least|most)|[Ii]ndex|any"
    r"|[Ss]eed|seconds?|steps?|rows?|pixels|transitions|updates)\b"
)


def public() -> Iterator[tuple[str, Any]]:
    """Every public class and function, and the public methods that a class of ours defines, once."""
    seen: set[int] = set()
    for home in MODULES:
        module = import_module(home)
        for name in getattr(module, "__all__", ()):
            found = getattr(module, name)
            if not (inspect.isclass(found) or inspect.isfunction(found)) or id(found) in seen:
                continue
            seen.add(id(found))
            record = issubclass(found, tuple) or is_dataclass(found) if inspect.isclass(found) else False
            if not record or sections(
                inspect.getdoc(found) or ""
            ):  # users build no record whose fields are not described
                yield f"{home}.{name}", found
            if inspect.isclass(found):
                for member in vars(found):
                    method = inspect.unwrap(getattr(found, member)) if not member.startswith("_") else None
                    if inspect.isfunction(method) or inspect.ismethod(method):
                        yield f"{home}.{name}.{member}", method


def sections(doc: str) -> dict[str, str]:
    """The description of each parameter in a numpydoc section "Parameters"; several names may share one."""
    found: dict[str, str] = {}
    here = re.search(r"^Parameters\n-+\n(.*?)(?=^\w[^\n]*\n---|\Z)", doc, re.S | re.M)
    for names, text in re.findall(r"^(\*{0,2}\w[^\n]*)\n((?:(?:    [^\n]*)?\n?)+)", here[1] if here else "", re.M):
        found |= dict.fromkeys((name.strip(" *") for name in names.split(":")[0].split(",")), text)
    return found


def numbers(call: Any) -> list[str]:
    """The parameters whose annotation names a number, an array of numbers aside."""
    try:
        given = inspect.signature(call).parameters.values()
    except (TypeError, ValueError):
        return []
    return [p.name for p in given if isinstance(p.annotation, str) and NUMBERS.search(p.annotation)]


def descriptions(found: Any) -> tuple[dict[str, str], str]:
    """The descriptions of parameters, and the whole text; those of a class may be in a base's docstring."""
    docs = (
        [vars(base).get("__doc__") or "" for base in found.__mro__[::-1]] if inspect.isclass(found) else [found.__doc__]
    )
    texts = [inspect.cleandoc(doc or "") for doc in docs]
    return {name: text for doc in texts for name, text in sections(doc).items()}, "\n".join(texts)


@pytest.mark.parametrize(("name", "found"), [pytest.param(*some, id=some[0]) for some in public()])
def test_every_number_has_a_range_or_a_unit(name: str, found: Any) -> None:
    parts, whole = descriptions(found)
    lacking = [p for p in numbers(found) if not RANGE.search(parts.get(p, whole if f"`{p}`" in whole else ""))]
    assert lacking == [], f"{name}: say the range or the unit of {lacking}"


def classes() -> list[Any]:
    """Public classes whose parameters are described; those of `reproduction` refer to the classes they imitate."""
    some = [pytest.param(found, id=name) for name, found in public() if inspect.isclass(found)]
    return [one for one in some if sections(inspect.getdoc(one.values[0]) or "") and "reproduction" not in str(one.id)]


@pytest.mark.parametrize("kind", classes())
def test_help_describes_every_parameter_of_the_signature(kind: Any) -> None:
    doc = inspect.getdoc(kind) or ""
    described = sections(doc)
    assert [
        name for name in inspect.signature(kind).parameters if name not in described and f"`{name}`" not in doc
    ] == []
    assert [name for name, text in described.items() if text.strip().startswith("See `")] == []


def test_descriptions_are_taken_from_the_class_that_is_named() -> None:
    class Mine(td.TD):
        """Mine.

        Parameters
        ----------
        bound
            Another one.
        features, options
            See `Algorithm`.

        Notes
        -----
        None.
        """

    ours, theirs = sections(Mine.__doc__ or ""), sections(inspect.getdoc(td.Algorithm) or "")
    assert ours["bound"].strip() == "Another one."
    assert [ours[name].split() for name in ("features", "initial")] == [
        theirs[name].split() for name in ("features", "initial")
    ]
    assert (Mine.__doc__ or "").startswith("Mine.\n\nParameters\n")
    assert (Mine.__doc__ or "").endswith("\n\nNotes\n-----\nNone.")


def test_the_first_line_says_what_a_thing_is_or_does() -> None:
    wrong = []
    for path in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef | ast.ClassDef | ast.Module):
                first = (ast.get_docstring(node) or "").partition("\n")[0]
                if re.match(r"Returns?\b|This (?:class|function|module)\b|Refuse\b", first):
                    wrong.append(f"{path.relative_to(SOURCE)}: {first}")
    assert wrong == []

"""The shape of the package: names occur once, functions stay short, and no floor reaches up."""

import ast
import re
from collections import Counter
from functools import cache
from pathlib import Path

SRC = Path(__file__).parent.parent / "src" / "tdlambda"
LINES, ARGUMENTS = 60, 12
DECLARED = ("algorithms/", "rules/", "steps/", "lab/reproduction/declarations.py")
"""Declarations: their functions take as many numbers as their equations have."""
COMMANDS = "lab/cli/"
"""Commands: an argument is an option with its help, so only their bodies count."""
STEPS = {"auto/transition.py advance", "control/driver.py learn"}
"""Compiled steps that read every part of a transition and of a learner: tuples would be built and taken apart again."""
LAZY = {"__init__.py", "registry.py", "lab/reproduction/__init__.py"}
"""Tables of names that are imported on first use."""


@cache
def parsed() -> list[tuple[str, ast.Module]]:
    return [
        (path.relative_to(SRC).as_posix(), ast.parse(path.read_text(encoding="utf-8")))
        for path in sorted(SRC.rglob("*.py"))
    ]


def test_a_file_name_occurs_once() -> None:
    names = Counter(path.name for path in SRC.rglob("*.py") if path.name != "__init__.py")
    assert [name for name, times in names.items() if times > 1] == []


def test_a_class_name_occurs_once() -> None:
    names = Counter(node.name for _, tree in parsed() for node in tree.body if isinstance(node, ast.ClassDef))
    assert [name for name, times in names.items() if times > 1] == []


def test_functions_are_short_and_take_few_arguments() -> None:
    found = []
    for place, tree in parsed():
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef) and not place.startswith(DECLARED):
                first, command = node.body[0], place.startswith(COMMANDS)
                lines = (node.end_lineno or 0) - (first.lineno if command else node.lineno) + 1
                if ast.get_docstring(node) is not None:
                    lines -= (first.end_lineno or 0) - first.lineno + 1
                arguments = len(node.args.posonlyargs) + len(node.args.args)
                many = arguments > ARGUMENTS and not command and f"{place} {node.name}" not in STEPS
                if lines > LINES or many:
                    found.append(f"{place}:{node.lineno} {node.name}: {lines} lines, {arguments} arguments")
    assert not found, "\n".join(found)


def test_modules_are_imported_by_statements_that_the_linter_sees() -> None:
    found = [
        f"{place}:{node.lineno} {ast.unparse(node)}"
        for place, tree in parsed() if place not in LAZY
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("import_module")
        and node.args and "tdlambda" in ast.unparse(node.args[0])
    ]  # fmt: skip
    assert not found, "\n".join(found)


def test_documents_and_examples_import_no_module_inside_a_package() -> None:
    root = SRC.parent.parent
    pages = [root / "README.md", *(root / "docs").rglob("*.md"), *(root / "examples").glob("*.py")]
    private = re.compile(r"(?:from|import) (tdlambda(?:\.\w+)+)")
    found = [
        f"{page.relative_to(root)}: {name}"
        for page in pages
        for name in private.findall(page.read_text(encoding="utf-8"))
        if not SRC.joinpath(*name.split(".")[1:], "__init__.py").exists()
    ]
    assert not found, "\n".join(found)

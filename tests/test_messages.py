"""No message points at a file that an installed package does not have."""

import ast
import re
from pathlib import Path

import tdlambda

SOURCE = Path(tdlambda.__file__).parent
FILE = re.compile(r"\b(?:docs|experiments|benchmarks|examples|tests|tools)/[\w*]|\b[A-Z]{5,}\.md\b")


def said(path: Path) -> list[str]:
    """The texts of a module that are no docstrings of private things: all strings, and help that commands print."""
    nodes = list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
    bare = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
    texts = [node.value for node in nodes if isinstance(node, ast.Constant) and id(node) not in bare]
    public = [n for n in nodes if isinstance(n, ast.FunctionDef | ast.ClassDef) and not n.name.startswith("_")]
    return [text for text in texts if isinstance(text, str)] + [ast.get_docstring(node) or "" for node in public]


def test_messages_and_help_name_files_of_the_package_only() -> None:
    lost = {
        f"{path.relative_to(SOURCE)}: {found[0]}"
        for path in SOURCE.rglob("*.py")
        for text in said(path)
        for found in FILE.finditer(text)
    }
    assert lost == set()

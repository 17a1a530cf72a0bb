"""No message points at a file that an installed package does not have."""

import ast
import re
from pathlib import Path

import tdlambda

SOURCE = Path(tdlambda.__file__).parent
FILE = re.compile(r"\b(?:docs|experiments|benchmarks|examples|tests|tools)/[\w*]|\b[A-Z]{5,}\.md\b")


def said(path: Path) -> list[str]:
    """The texts of a module that are no docstrings of private things: all strings, and help that commands print."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    bare = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    found = [
        n for n in ast.walk(tree) if isinstance(n, ast.Constant) and isinstance(n.value, str) and id(n) not in bare
    ]
    texts = [str(node.value) for node in found]
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and not node.name.startswith("_"):
            texts.append(ast.get_docstring(node) or "")
    return texts


def test_messages_and_help_name_files_of_the_package_only() -> None:
    lost = {
        f"{path.relative_to(SOURCE)}: {found[0]}"
        for path in SOURCE.rglob("*.py")
        for text in said(path)
        for found in FILE.finditer(text)
    }
    assert lost == set()

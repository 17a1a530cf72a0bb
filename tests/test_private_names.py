"""No folder reads private attributes that another folder defines: only `core` knows how a learner's arrays lie."""

import ast
from pathlib import Path

SRC = Path(__file__).parent.parent / "src" / "tdlambda"
PROTOCOL = {"_state", "_restore", "_params_in_files", "_least_bytes"}
"""Methods of everything that is saved, which storage, copies and containers call."""
OF_OTHERS = {"_asdict", "_fields", "_make", "_replace", "_processes"}
"""Public names of named tuples, and the processes of a pool, which nobody may stop otherwise before Python 3.14."""
NUMBA = {"compiled.py", "code_cache.py", "lean_pipeline.py", "tables.py"}
"""They use Numba's internals, as their docstrings say."""


def defined(tree: ast.AST) -> set[str]:
    """The private names that a file defines: functions, and attributes of `self`."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            found.add(node.name)
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) and ast.unparse(node.value) == "self":
            found.add(node.attr)
    return {name for name in found if name.startswith("_")}


def accesses(path: Path, tree: ast.AST, allowed: set[str]) -> list[str]:
    """The attributes `x._name` in a file, where x is not `self`, `cls` or `super()`."""
    return [
        f"{path.relative_to(SRC)}:{node.lineno} {ast.unparse(node)}"
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute)
        and node.attr.startswith("_")
        and not node.attr.startswith("__")
        and ast.unparse(node.value) not in ("self", "cls", "super()")
        and node.attr not in allowed
    ]


def test_no_folder_reads_private_attributes_of_another() -> None:
    found = []
    for folder in [SRC, *(path for path in sorted(SRC.iterdir()) if path.is_dir())]:
        files = folder.glob("*.py") if folder == SRC else folder.rglob("*.py")
        trees = {path: ast.parse(path.read_text(encoding="utf-8")) for path in files if path.name not in NUMBA}
        own = set().union(*map(defined, trees.values()))
        for path, tree in trees.items():
            found += accesses(path, tree, own | PROTOCOL | OF_OTHERS)
    assert not found, f"{len(found)} accesses to private attributes of other folders:\n" + "\n".join(found)

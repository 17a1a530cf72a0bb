"""No object reads the private attributes of another: only `core.memory` knows how a learner's numbers are laid out."""

import ast
from pathlib import Path

SRC = Path(__file__).parent.parent / "src" / "tdlambda"
OF_PYTHON = {"_asdict", "_fields", "_replace"}
"""Public names of named tuples."""
OF_POOLS = {"_processes"}
"""The processes of `concurrent.futures.ProcessPoolExecutor`, which Python lets nobody stop before version 3.14."""
MAKERS = ("cls", "cls.__new__", "object.__new__")
"""Calls that make a new object, which a class method may then fill."""
PROTOCOL = {"_state", "_restore", "_params_in_files", "_least_bytes"}
"""Methods that every saved object has and only storage, copies and containers of such objects call."""
NUMBA = {"compiled.py"}
"""Uses Numba's internals, as its docstring says."""


def private_accesses(path: Path) -> list[str]:
    """The attributes `x._name` in a file, where x is neither `self`, `cls` nor an object that the function made."""
    tree, found = ast.parse(path.read_text(encoding="utf-8")), []
    made = {
        target.id
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign)
        and ast.unparse(node.value).split("(")[0] in ("cls", "cls.__new__", "object.__new__")
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    for function in ast.walk(tree):
        if not isinstance(function, ast.Attribute) or not function.attr.startswith("_") or function.attr[:2] == "__":
            continue
        owner = function.value
        itself = isinstance(owner, ast.Name) and owner.id in {"self", "cls", *made}
        parent = isinstance(owner, ast.Call) and isinstance(owner.func, ast.Name) and owner.func.id == "super"
        if not itself and not parent and function.attr not in OF_PYTHON | OF_POOLS | PROTOCOL:
            found.append(f"{path.relative_to(SRC)}:{function.lineno} {ast.unparse(function)}")
    return found


def test_no_object_reads_the_private_attributes_of_another() -> None:
    files = [path for path in sorted(SRC.rglob("*.py")) if str(path.relative_to(SRC)) not in NUMBA]
    found = [access for path in files for access in private_accesses(path)]
    assert not found, f"{len(found)} accesses to private attributes of other objects:\n" + "\n".join(found)

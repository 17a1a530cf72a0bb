"""Public names of the algorithms, from the declarations themselves.

    python tools/exports.py            adds every algorithm of src/tdlambda/algorithms to the exports
    python tools/exports.py --check    fails if one is missing

A class of `algorithms/*.py` is an algorithm if it is a `td.Algorithm`: not one with `base=True`, and not a declaration
that an algorithm stands for (`declare.AlgorithmDeclaration`). It is exported by `tdlambda.algorithms`, and by
`tdlambda` unless others of its file build on it.
"""

import argparse
import ast
import re
import subprocess
import sys
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[1] / "src" / "tdlambda"
FOLDER = SOURCE / "algorithms"


def declared(folder: Path = FOLDER) -> dict[str, tuple[str, bool]]:
    """Each algorithm with its module, and whether no other class of its file builds on it."""
    bases: dict[str, tuple[str, list[str], bool]] = {}
    for path in sorted(folder.glob("*.py")):
        if path.name == "__init__.py":
            continue
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef):
                names = [base.id for base in node.bases if isinstance(base, ast.Name)]
                bases[node.name] = (path.stem, names, any(word.arg == "base" for word in node.keywords))

    def is_algorithm(name: str) -> bool:
        return name == "Algorithm" or (name in bases and any(map(is_algorithm, bases[name][1])))

    found = {name: module for name, (module, _, base) in bases.items() if is_algorithm(name) and not base}
    return {
        name: (module, not any(name in names for other, names, _ in bases.values() if other == module))
        for name, module in found.items()
    }


def listed(path: Path) -> list[str]:
    """The `__all__` of a module."""
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and node.targets[0].id == "__all__":
            return [str(name) for name in ast.literal_eval(node.value)]
    raise ValueError(f"{path} has no __all__")


def missing(folder: Path = FOLDER, package: Path = SOURCE / "__init__.py") -> list[str]:
    """What is declared but not exported."""
    here, top = set(listed(folder / "__init__.py")), set(listed(package))
    names = declared(folder)
    return [f"tdlambda.algorithms.{name}" for name in names if name not in here] + [
        f"tdlambda.{name}" for name, (_, public) in names.items() if public and name not in top
    ]


def write(folder: Path = FOLDER, package: Path = SOURCE / "__init__.py") -> None:
    """Renew both modules; Ruff sorts the names."""
    names = declared(folder)
    head = (folder / "__init__.py").read_text(encoding="utf-8").partition('"""\n')[0] + '"""\n\n'
    imports = "".join(f"from tdlambda.algorithms.{module} import {name}\n" for name, (module, _) in names.items())
    exported = "".join(f'    "{name}",\n' for name in names)
    (folder / "__init__.py").write_text(f"{head}{imports}\n__all__ = [\n{exported}]\n", encoding="utf-8")
    public = [name for name, (_, top) in names.items() if top]
    text = package.read_text(encoding="utf-8")
    of_types = f"from tdlambda.algorithms import {', '.join(public)}\n"
    text = re.sub(r"from tdlambda\.algorithms import (\([^)]*\)|[^(\n]*)\n", of_types, text, count=1)
    quoted = ", ".join(f'"{name}"' for name in sorted(public))
    rows = re.sub(r"(.{80,100}?,) ", "\\1\n        ", quoted)
    text = re.sub(r'"algorithms": \([^)]*\),', f'"algorithms": (\n        {rows},\n    ),', text, count=1)
    new = "".join(f'    "{name}",\n' for name in public if name not in listed(package))
    text = text.replace("__all__ = [\n", f"__all__ = [\n{new}", 1)
    package.write_text(text, encoding="utf-8")
    files = [str(folder / "__init__.py"), str(package)]
    for command in (["check", "--fix", "--quiet"], ["format", "--quiet"]):
        subprocess.run([sys.executable, "-m", "ruff", *command, *files], check=True)


def main() -> None:
    """Renew the exports, or name what is missing."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="change nothing; exit 1 if a name is missing")
    if parser.parse_args().check:
        sys.exit("\n".join(f"{name} is not exported: run tools/exports.py" for name in missing()) or 0)
    write()


if __name__ == "__main__":
    main()

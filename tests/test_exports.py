"""Algorithms are exported because they are declared: `tools/exports.py`."""

import runpy
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import tdlambda as td

ROOT = Path(__file__).resolve().parents[1]
TOOL: dict[str, Any] = runpy.run_path(str(ROOT / "tools" / "exports.py"))


def test_every_declared_algorithm_is_exported() -> None:
    assert TOOL["missing"]() == [], "run python tools/exports.py"
    assert {name for name, (_, top) in TOOL["declared"]().items() if top} <= set(td.__all__)
    assert set(TOOL["declared"]()) == set(td.algorithms.__all__)


def test_a_new_file_is_found_and_exported(tmp_path: Path) -> None:
    """In a copy: a base class and a declaration that an algorithm stands for are not exported, an algorithm is."""
    folder = shutil.copytree(ROOT / "src" / "tdlambda" / "algorithms", tmp_path / "algorithms")
    package = Path(shutil.copy(ROOT / "src" / "tdlambda" / "__init__.py", tmp_path / "__init__.py"))
    text = "class Half(Algorithm, base=True): ...\nclass Mine(Half): ...\n"
    text += "class MineOther(declare.AlgorithmDeclaration): ...\n"
    (folder / "mine.py").write_text(text, encoding="utf-8")
    assert TOOL["missing"](folder, package) == ["tdlambda.algorithms.Mine", "tdlambda.Mine"]
    TOOL["write"](folder, package)
    assert TOOL["missing"](folder, package) == []
    assert set(TOOL["listed"](package)) == {*td.__all__, "Mine"}
    names = package.read_text(encoding="utf-8").partition('"algorithms": (')[2].partition(")")[0]
    assert '"Mine"' in names
    command = [sys.executable, "-m", "ruff", "check", "--quiet", "--select", "I,RUF022", str(package)]
    assert subprocess.run(command, check=False).returncode == 0

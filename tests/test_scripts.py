"""Every script explains itself with `--help`, and does nothing else then."""

import ast
import os
import runpy
import sys
from pathlib import Path
from unittest import mock

import pytest

ROOT = Path(__file__).parent.parent
FOLDERS = [ROOT / name for name in ("tools", "experiments", "benchmarks", "docs")]
FILES = [file for folder in FOLDERS for file in sorted(folder.rglob("*.py"))]
SCRIPTS = [str(file.relative_to(ROOT)) for file in FILES if '__name__ == "__main__"' in file.read_text("utf-8")]


@pytest.mark.parametrize("script", SCRIPTS)
def test_help(script: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    file = ROOT / script
    monkeypatch.setattr(sys, "argv", [script, "--help"])
    monkeypatch.syspath_prepend(str(file.parent))
    # In this process, since a new one would spend most of its time on importing Numba.
    with mock.patch.dict(os.environ), pytest.raises(SystemExit) as end:
        runpy.run_path(str(file), run_name="__main__")
    for name, module in list(sys.modules.items()):  # folders have modules of the same name
        if any(folder in Path(getattr(module, "__file__", None) or "/").parents for folder in FOLDERS):
            del sys.modules[name]
    assert end.value.code == 0
    said = capsys.readouterr().out
    about = ast.get_docstring(ast.parse(file.read_text("utf-8"))) or ""
    usage, _, rest = said.partition("\n\n")
    assert usage.startswith("usage: ")
    assert rest.split()[:5] == about.split()[:5]


@pytest.mark.interpreted
def test_a_users_script_over_the_whole_interface_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    runpy.run_path(str(ROOT / "tests/typing/user_script.py"))


def test_the_release_measures_the_size_that_the_documentation_states() -> None:
    check_size = runpy.run_path(str(ROOT / "tools" / "release.py"))["check_size"]
    check_size(459)
    for other in (364, 600):  # without bytecode; with another dependency
        with pytest.raises(SystemExit, match=f"says that a plain install takes 459 MB; it takes {other}"):
            check_size(other)

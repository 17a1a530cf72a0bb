"""The page "On a device": its learner is trained and exported, and its program compiled and run."""

import re
import runpy
import subprocess
from pathlib import Path

import pytest
from c_learner import needs_compiler
from pages import ROOT

from tdlambda.learners.c_library import compiler

PAGE = (ROOT / "docs" / "on-a-device.md").read_text(encoding="utf-8")


def block(kind: str) -> str:
    found = re.search(rf"^```{kind}\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
    assert found is not None
    return found[1]


@needs_compiler
def test_the_program_of_the_page_prints_what_the_page_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.py").write_text(block("python"), encoding="utf-8")
    runpy.run_path(str(tmp_path / "train.py"))
    folder = tmp_path / "device"
    (folder / "device.c").write_text(block("c"), encoding="utf-8")
    compile_it, run_it = block("sh").splitlines()
    assert compile_it.startswith("gcc ")
    command = [str(compiler()), "-Wall", "-Wextra", "-Werror", *compile_it.split()[1:]]
    subprocess.run(command, cwd=folder, check=True)
    said = subprocess.run([run_it], cwd=folder, check=True, capture_output=True, text=True).stdout
    assert said == block("text")

"""The commands of experiments/family/results.md: each runs in its quick form, and all that it says must hold does."""

import re
import runpy
import sys
from pathlib import Path
from typing import Any

import pytest
from pages import ROOT

FOLDER = ROOT / "experiments" / "family"
PAGE = FOLDER / "results.md"
SLOW = ("baird", "collision", "random_mrps", "random_walk_figures", "tdrc_problems")


def run(name: str, monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    """The command as `python experiments/family/name.py --quick …`, in this process; its status."""
    monkeypatch.syspath_prepend(str(FOLDER))
    monkeypatch.setattr(sys, "argv", [f"{name}.py", "--quick", *arguments])
    with pytest.raises(SystemExit) as end:
        runpy.run_path(str(FOLDER / f"{name}.py"), run_name="__main__")
    return int(end.value.code or 0)


@pytest.mark.parametrize("name", ["daley", *(pytest.param(name, marks=pytest.mark.slow) for name in SLOW)])
def test_what_must_hold_holds(name: str, monkeypatch: pytest.MonkeyPatch, capsys: Any, tmp_path: Path) -> None:
    status = run(name, monkeypatch, "--json", str(tmp_path / "found.json"), "--figures", str(tmp_path))
    said = capsys.readouterr().out
    assert status == 0, said
    assert "- holds: " in said
    assert "does not hold" not in said
    assert (tmp_path / "found.json").stat().st_size > 0


def test_the_page_names_every_command_and_uses_every_figure() -> None:
    text = PAGE.read_text(encoding="utf-8")
    commands = {path.name for path in FOLDER.glob("*.py")} - {"outside.py"}
    assert set(re.findall(r"experiments/family/(\w+\.py)", text)) == commands
    assert set(re.findall(r"\(figures/([\w.-]+\.svg)\)", text)) == {x.name for x in PAGE.parent.glob("figures/*.svg")}


def test_a_verdict_that_fails_is_said_and_ends_with_an_error(monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    monkeypatch.syspath_prepend(str(FOLDER))
    verdicts = runpy.run_path(str(FOLDER / "outside.py"))["verdicts"]
    assert verdicts({"one": True, "two": True})
    assert not verdicts({"one": True, "two": False})
    assert "- **does not hold**: two" in capsys.readouterr().out

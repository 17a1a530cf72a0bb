"""The examples of each kind of user run in an empty folder, and their notebooks are the same programs."""

import json
import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
TOOL = runpy.run_path(str(ROOT / "tools" / "notebooks.py"))
SAYS = {
    "student": ["largest difference", "λ =  0.8", "AutoTD after 2000 steps"],
    "researcher": ["MyTDRC over TD, paired: 1."],
    "engineer": ["flow, next day: R² ", "'flow, next hours': "],
}


@pytest.mark.parametrize("name", SAYS)
def test_it_runs_and_says_what_its_text_promises(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    found = runpy.run_path(str(ROOT / "examples" / f"{name}.py"))
    said = capsys.readouterr().out
    assert [words for words in SAYS[name] if words not in said] == []
    if name == "student":
        assert abs(found["w"] - found["v"].weights).max() < 1e-12  # its own lines are the library's TD(λ)
        assert found["error"].min(axis=1).argmin() in (2, 3)  # an intermediate λ is best


@pytest.mark.parametrize("name", SAYS)
def test_its_notebook_is_the_same_program(name: str) -> None:
    text = (ROOT / "examples" / f"{name}.ipynb").read_text(encoding="utf-8")
    assert text == TOOL["written"](name), "run python tools/notebooks.py"
    code = "\n".join("".join(cell["source"]) for cell in json.loads(text)["cells"] if cell["cell_type"] == "code")
    compile(code, name, "exec")

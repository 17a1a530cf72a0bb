"""The commands that make the pages of results in experiments/: without what a page is made of they say what to run."""

import importlib
from pathlib import Path
from typing import Any

import pytest

import tdlambda as td

EXPERIMENTS = Path(__file__).parents[2] / "experiments"


@pytest.fixture
def said(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Any:
    """Run a command that fails, in an empty directory: what it says on standard error, and nothing elsewhere."""
    for folder in ("auto_td", "thesis"):
        monkeypatch.syspath_prepend(str(EXPERIMENTS / folder))
    monkeypatch.chdir(tmp_path)

    def run(script: str, *arguments: Any) -> str:
        monkeypatch.setattr("sys.argv", [f"{script}.py", *map(str, arguments)])
        with pytest.raises(SystemExit) as end:
            importlib.import_module(script).main()
        printed = capsys.readouterr()
        assert end.value.code
        assert printed.out == ""
        assert not list(tmp_path.glob("**/*.md"))
        return str(end.value.code) + printed.err

    return run


def test_missing_results_are_named_with_the_commands_that_make_them(said: Any) -> None:
    studies = [name for name in td.studies.bundled() if name.startswith("self-tuning")]
    for text in (said("self_tuning"), said("self_tuning", "results/self-tuning*")):
        assert "holds no results" in text
        assert all(f"tdlambda run {name} --out results/{name}\n" in text + "\n" for name in studies)
    one = said("self_tuning", "elsewhere/self-tuning-boyan")
    assert one.endswith("Results are made by\n  tdlambda run self-tuning-boyan --out elsewhere/self-tuning-boyan")
    car = said("mountaincar")
    for name in ("mountaincar", "mountaincar-small-eta"):
        assert f"tdlambda run {name} --out results/{name}" in car


def test_results_of_another_study_are_refused(said: Any, ring: Path, car: Path, tmp_path: Path) -> None:
    assert "is not a study of control" in said("mountaincar", ring, ring)
    methods = {"TD": td.studies.Method("TD", options={"alpha": 0.1})}
    td.studies.run_study(
        td.studies.Study("lone", "RandomWalk-v0", methods, seeds=1, steps=20, points=2), tmp_path / "lone"
    )
    assert f"{tmp_path / 'lone'}: nothing to compare" in said("self_tuning", car, tmp_path / "lone")


@pytest.mark.parametrize(
    ("script", "arguments", "words"),
    [
        ("causes", ["--only", "nonsense"], "no cause has 'nonsense' in its name; there are"),
        ("causes", ["--seeds", "1"], "--seeds must be at least 2"),
        ("best_fixed", ["--steps", "9999"], "--steps must be at least 10000; got 9999"),
        ("best_fixed", ["--seeds", "0"], "--seeds must be at least 1"),
    ],
)
def test_no_table_is_empty(said: Any, script: str, arguments: list[str], words: str) -> None:
    assert words in said(script, *arguments)

"""The equations on the pages are those of the declarations that the code is generated from."""

import re
import runpy
import sys
from typing import Any

import pytest
from pages import ROOT

import tdlambda as td

SCRIPT, PAGES = ROOT / "docs" / "equations.py", ROOT / "docs" / "algorithms"


@pytest.fixture(scope="module")
def script() -> dict[str, Any]:
    return runpy.run_path(str(SCRIPT))


def test_pages_show_the_declarations(script: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", [str(SCRIPT), "--check"])
    with pytest.raises(SystemExit) as ended:
        script["main"]()
    assert ended.value.code == 0, f"{ended.value.code}\nrenew them: .venv/bin/python docs/equations.py"


def test_every_declared_algorithm_and_rule_is_on_a_page(script: dict[str, Any]) -> None:
    shown = {name for page in script["pages"]().values() for name in re.findall(r"<!-- equations: ([\w.]+) -->", page)}
    assert shown == set(script["SHOWN"])
    declared = {name for name in td.algorithms.__all__ if hasattr(getattr(td.algorithms, name), "step")}
    rules = {name for name in td.rules.__all__ if isinstance(getattr(td.rules, name), type)}
    declared |= {
        name for name in rules if issubclass(getattr(td.rules, name), td.Rule) and getattr(td.rules, name).learns()
    }
    assert declared <= shown


def test_a_page_that_differs_is_noticed(script: dict[str, Any]) -> None:
    page = script["renewed"]("<!-- equations: TD -->\n<!-- end -->\n")
    assert "w ← w + along e" in page
    assert script["renewed"](page) == page
    assert script["renewed"](page.replace("γλ ← γ' λ'", "γλ ← γ λ")) == page


def test_the_index_has_a_row_for_every_learner() -> None:
    rows = dict(
        re.findall(r"^\| \[`td\.(\w+)`\]\(([\w-]+\.md)\)", (PAGES / "README.md").read_text("utf-8"), re.MULTILINE)
    )
    learners = {
        name for name in td.__all__
        if isinstance(kind := getattr(td, name), type) and issubclass(kind, td.Learner)
        and kind not in (td.Learner, td.Algorithm, td.AutoTD)
    }  # fmt: skip
    assert set(rows) == learners
    for name, page in rows.items():
        assert f"td.{name}" in (PAGES / page).read_text("utf-8"), f"{page} does not mention td.{name}"

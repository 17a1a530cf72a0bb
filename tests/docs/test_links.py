"""The documents: links lead somewhere, figures are used, measured tables are those that were measured."""

import csv
import re
import subprocess
import sys
from pathlib import Path

import pytest
from pages import PAGES, READ, ROOT, words

FIGURES = ROOT / "docs" / "figures"
TABLES = ROOT / "experiments" / "figures" / "tables"
LINK = re.compile(r"!?\[[^\]]*\]\(([^()\s]+)\)")
MEASURED = re.compile(r"<!-- measured: (\S+) -->\n(.*?)\n<!-- end -->", re.DOTALL)
CODE = re.compile(r"```.*?```|`[^`\n]*`", re.DOTALL)
TEST = re.compile(r"`(tests/[\w/]+\.py)(?:::(\w+))?`")


def links(page: Path) -> list[str]:
    """What a page links to within the repository."""
    found = LINK.findall(CODE.sub("", page.read_text(encoding="utf-8")))
    return [link for link in found if not re.match(r"[a-z]+:", link)]


def headings(page: Path) -> set[str]:
    """The anchors of a page, as GitHub makes them."""
    lines = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", line.lower()).replace(" ", "-") for line in lines}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_leads_somewhere(page: Path) -> None:
    for link in links(page):
        path, _, anchor = link.partition("#")
        goal = (page.parent / path).resolve() if path else page
        assert goal.exists(), f"{link} does not exist"
        assert not anchor or anchor in headings(goal), f"{link}: no such heading"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_test_that_a_page_names_exists(page: Path) -> None:
    for path, name in TEST.findall(page.read_text(encoding="utf-8")):
        assert (ROOT / path).exists(), f"{path} does not exist"
        assert not name or f"def {name}(" in (ROOT / path).read_text(encoding="utf-8"), f"{path} has no {name}"


def test_a_reader_reads_fewer_than_50000_words() -> None:
    assert sum(words(page.read_text(encoding="utf-8")) for page in READ) < 50_000


def test_every_figure_is_used() -> None:
    used = {(page.parent / link).resolve() for page in PAGES for link in links(page)}
    figures = sorted(FIGURES.glob("*.svg"))
    assert figures
    assert [figure.name for figure in figures if figure.resolve() not in used] == []


def test_measured_tables_are_those_that_were_measured() -> None:
    shown = [(page, *found) for page in PAGES for found in MEASURED.findall(page.read_text(encoding="utf-8"))]
    assert shown
    for page, name, text in shown:
        rows = [re.findall(r"\| (.*?) (?=\|)", line) for line in text.splitlines() if line and "| ---" not in line]
        with (TABLES / f"{name}.csv").open(encoding="utf-8", newline="") as file:
            assert rows == [row for row in csv.reader(file) if row], f"{page}: {name}"


@pytest.mark.slow
def test_figures_can_be_made(tmp_path: Path) -> None:
    for script in ("pages.py", "control.py", "networks.py", "thesis.py", "what_lambda_does.py"):
        command = [sys.executable, str(ROOT / "experiments" / "figures" / script), "--quick", "--out", str(tmp_path)]
        subprocess.run(command, check=True, capture_output=True, text=True, timeout=600)
    made = {path.stem for path in tmp_path.glob("*.svg")}
    studies = ROOT / "src" / "tdlambda" / "lab" / "studies" / "bundled"
    of_studies = {path.stem for path in studies.glob("*.toml")}  # made by `tdlambda report`, as the file says
    assert made == {path.stem for path in FIGURES.glob("*.svg")} - of_studies

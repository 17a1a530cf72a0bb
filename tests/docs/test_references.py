"""Whoever is cited is on the page of references, and whoever is there is cited."""

import re

from pages import PAGES, ROOT

PAGE = ROOT / "docs" / "references.md"
NAME = r"(?:[Vv]an |De )?[A-ZÉ][\w-]+"
CITED = re.compile(rf"((?:{NAME}, )*{NAME}(?: & {NAME}| et al\.)?),? \(?((?:19|20)\d\d)\b(?! ?[/:\-])")
ENTRY = re.compile(r"^- (.+?) \((\d{4})\)\. \*(.+?)\*", re.MULTILINE)
METHODS = {"ALLSTD", "Oct", "TD", "VTD"}
"""Words before a comma and the authors that are none."""


def entries() -> list[tuple[str, str]]:
    """Authors and year of each reference."""
    return [(authors, year) for authors, year, _ in ENTRY.findall(PAGE.read_text(encoding="utf-8"))]


def citations() -> set[tuple[str, str]]:
    """Authors and year, as pages and modules cite them."""
    files = [page for page in PAGES if page != PAGE] + sorted((ROOT / "src").rglob("*.py"))
    texts = (" ".join(path.read_text(encoding="utf-8").split()) for path in files)
    return {found for text in texts for found in CITED.findall(text)}


def surnames(authors: str) -> list[str]:
    return [
        name.removeprefix("van ").removeprefix("Van ")
        for name in re.split(r", | & | et al\.", authors)
        if name and name not in METHODS
    ]


def test_whoever_is_cited_is_on_the_page() -> None:
    known = entries()
    assert len(known) == len(PAGE.read_text(encoding="utf-8").split("\n- ")) - 1
    lost = [
        f"{authors} ({year})"
        for authors, year in sorted(citations())
        if not any(year == when and all(name in who for name in surnames(authors)) for who, when in known)
    ]
    assert lost == []


def test_whoever_is_on_the_page_is_cited() -> None:
    cited = citations()
    unused = [
        f"{who} ({when})"
        for who, when in entries()
        if not any(year == when and all(name in who for name in surnames(authors)) for authors, year in cited)
    ]
    assert unused == []

"""The page of the thesis names everything that the thesis numbers."""

import re

import pytest
from pages import ROOT

PAGE = (ROOT / "docs" / "thesis.md").read_text(encoding="utf-8")
NUMBERED = {
    "algorithm": [("", 11)], "theorem": [("", 6)], "proposition": [("", 4)], "definition": [("", 15)],
    "fact": [("", 6)], "table": [("5.", 4)], "figure": [("2.", 2), ("4.", 2), ("5.", 3)],
    "equation": [("2.", 27), ("3.", 1)],
}  # fmt: skip
"""The prefix of the numbers, and the last of them."""


def named(kind: str) -> set[str]:
    """What the page names, as "algorithms 8 and 9" or "(2.1) to (2.4)"."""
    number = r"\(\d\.\d+\)" if kind == "equation" else r"\d+(?:\.\d+)?"
    several = rf"({number}(?:(?:, | and | to ){number})*)"
    found: set[str] = set()
    for text in re.findall(several if kind == "equation" else rf"(?i:{kind})s? {several}", PAGE):
        for part in re.split(", | and ", re.sub(r"[()]", "", text)):
            first, _, last = part.partition(" to ")
            prefix, _, begin = first.rpartition(".")
            end = (last or first).rpartition(".")[2]
            found |= {f"{prefix}.{n}".lstrip(".") for n in range(int(begin), int(end) + 1)}
    return found


@pytest.mark.parametrize("kind", NUMBERED)
def test_everything_that_the_thesis_numbers_is_on_the_page(kind: str) -> None:
    expected = {f"{prefix}{n}" for prefix, last in NUMBERED[kind] for n in range(1, last + 1)}
    assert expected - named(kind) == set()
